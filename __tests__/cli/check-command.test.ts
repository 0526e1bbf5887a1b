/** `authmount check`: what it prints of options, and what it asks of the world meanwhile. */
import type { AuthServerOptions } from "../../lib";
import { assess, assessmentText } from "../../lib/review/assess";
import { foundByClients, foundText } from "../../lib/cli/documents";
import { resolveOptions } from "../../lib/options/resolve";
import { rules, weaknessesOf, type WeaknessCode } from "../../lib/review/weaknesses";
import { goodKey, goodOptions, goodSecret } from "../records/options";
import { failed, now, ran, randomToken, ranWith } from "./world";

/** Storage that is not known to be in memory, and everything else that the rules ask for. */
const fine: AuthServerOptions = {
  ...goodOptions,
  storage: Object.fromEntries(
    Object.entries(goodOptions.storage).map(([name, port]) => [name, { ...(port as object) }]),
  ) as unknown as AuthServerOptions["storage"],
  apis: {
    orders: { ...goodOptions.apis["orders"], audience: "https://host.example/orders" },
  } as AuthServerOptions["apis"],
  onEvent: () => {
    throw new Error("the host heard of a server");
  },
};

const check = (options: unknown, args: readonly string[] = [], changes?: Parameters<typeof ran>[1]) =>
  ranWith({ options }, ["check", "a.js", ...args], changes);

function foundIn(options: AuthServerOptions): ReturnType<typeof foundByClients> {
  return foundByClients(resolveOptions(options, now), now);
}

/** What is printed between the weak spots and the last line: other tests say what is in it. */
function restOf(options: AuthServerOptions): string {
  return `${foundText(foundIn(options))}
Standards (docs/assessment.md explains each item):
${assessmentText(assess(options))}
`;
}

/** How a weak spot is printed, with its id. */
function textOf(code: WeaknessCode, path: string): string {
  const { problem, why, fix } = { why: "", fix: "", ...rules[code] };
  return `  - ${path} ${problem}. ${why}\n    ${fix} [${code}]\n`;
}

const slow = { ...fine, revocationLagSeconds: 60 };
const slowText = textOf("slow-revocation", "revocationLagSeconds");
const { onEvent, ...silent } = fine;
const silentText = textOf("no-event-handler", "onEvent");
const schemes = { ...silent, redirectSchemes: ["odd"] };
const schemesText = textOf("dotless-redirect-schemes", "redirectSchemes");

describe("authmount check of options that are accepted", () => {
  it.each([
    ["nothing is weak", fine, "", "no weak spots, no notes"],
    ["one thing is weak", slow, `Weak:\n${slowText}\n`, "1 weak spot, no notes"],
    ["one note", silent, `Notes:\n${silentText}\n`, "no weak spots, 1 note"],
    [
      "both, and two notes",
      { ...schemes, revocationLagSeconds: 60 },
      `Weak:\n${slowText}\nNotes:\n${schemesText}${silentText}\n`,
      "1 weak spot, 2 notes",
    ],
  ])("has exit code 0, and prints all of it: %s", async (_, options, weak, summary) => {
    expect(await check(options)).toEqual({
      exitCode: 0,
      stdout: `${weak}${restOf(options)}Checked for development: no problems, ${summary}.\n`,
      stderr: "",
    });
  });

  it("gives all of it as JSON", async () => {
    const { stdout, ...others } = await check(slow, ["--json"]);
    const { documents, jwksUri, keys } = foundIn(slow);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      production: false,
      problems: [],
      weaknesses: weaknessesOf(slow),
      documents,
      jwksUri,
      keys,
      assessment: assess(slow),
      notes: [],
    });
    expect(others).toEqual({ exitCode: 0, stderr: "" });
  });

  it.each([
    ["weak", slow, 1],
    ["only worth a note", silent, 0],
    ["fine", fine, 0],
  ])("with --strict, what is %s counts", async (_, options, exitCode) => {
    const { stdout, ...others } = await check(options, ["--strict", "--json"]);
    expect(others).toEqual({ exitCode, stderr: "" });
    expect(JSON.parse(stdout)).toHaveProperty("ok", exitCode === 0);
    const plain = await check(options, ["--strict"]);
    expect([plain.exitCode, plain.stdout]).toEqual([exitCode, (await check(options)).stdout]);
  });

  it("takes them from the export that is named", async () => {
    expect(await ranWith({ mine: fine }, ["check", "a.js", "--export", "mine"])).toEqual(await check(fine));
  });
});

interface Refused {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

describe("authmount check of options that are refused", () => {
  it("tells all that is wrong, and looks for nothing else", async () => {
    const options = { ...fine, revocationLagSeconds: 60, typo: 1, secrets: ["short"] };
    const { stdout } = await check(options, ["--json"]);
    const { problems, ...others } = JSON.parse(stdout) as { problems: Refused[] };
    expect(others).toEqual({ ok: false, production: false, weaknesses: [], notes: [] });
    expect(problems.map(({ code, path }) => [code, path])).toEqual([
      ["option-unknown", "typo"],
      ["short-secret", "secrets.0"],
    ]);
    const lines = problems.map(({ code, message }) => `  - ${message} [${code}]\n`).join("");
    expect(await check(options)).toEqual({
      exitCode: 1,
      stdout: `createAuthServer would refuse:\n${lines}\nChecked for development: 2 problems. Fix them to see weak spots.\n`,
      stderr: "",
    });
  });

  it.each([
    ["an error of the server", new TypeError("createAuthServer: apis\nis odd."), "apis is odd."],
    ["the same words further on", new Error("in createAuthServer: odd."), "in createAuthServer: odd."],
    ["no error", "CANARY", "createAuthServer threw something that is not an Error"],
  ])("tells what only the server itself refuses: %s", async (_, error, message) => {
    const tryServer = (): never => {
      throw error;
    };
    expect(await check(fine, [], { tryServer })).toEqual({
      exitCode: 1,
      stdout: `createAuthServer would refuse:\n  - ${message} [server-refuses]\n\nChecked for development: 1 problem. Fix them to see weak spots.\n`,
      stderr: "",
    });
    const { stdout } = await check(fine, ["--json"], { tryServer });
    expect(JSON.parse(stdout)).toHaveProperty("problems.0.path", "options");
  });

  it("says when they cannot be read", async () => {
    const options = {
      get baseUrl(): string {
        throw new Error("in a getter");
      },
    };
    expect(await check(options)).toEqual(failed("The options could not be read: in a getter."));
  });
});

async function tried(options: AuthServerOptions): Promise<readonly AuthServerOptions[]> {
  const servers: AuthServerOptions[] = [];
  await check(options, [], { tryServer: (each) => void servers.push(each) });
  return servers;
}

describe("the server that authmount check tries", () => {
  it("has the options of the host, but tells it no event", async () => {
    const [server, ...others] = await tried(fine);
    expect(others).toEqual([]);
    expect([server?.baseUrl, server?.secrets, server?.signingKeys]).toEqual([
      fine.baseUrl,
      [goodSecret],
      [goodKey],
    ]);
    expect(server?.onEvent?.({} as never)).toBeUndefined();
    expect(fine.onEvent).toBe(onEvent);
  });

  it("has a secret and a key where the host has none, so that nothing is said of them", async () => {
    const { secrets: _, signingKeys: __, ...without } = fine;
    const [server] = await tried(without);
    expect(server?.secrets).toEqual([randomToken]);
    expect(server?.signingKeys).toEqual([expect.objectContaining({ kty: "EC" })]);
  });

  it("is not tried with options that the rules refuse", async () => {
    expect(await tried({ ...fine, secrets: ["short"] })).toEqual([]);
  });
});

describe("the world that authmount check meets", () => {
  it("is that of production with --production, before the module is loaded", async () => {
    const order: string[] = [];
    const world = {
      useProduction: () => void order.push("production"),
      isProduction: () => order.includes("production"),
    };
    const importFile = (): Promise<object> => {
      order.push("loaded");
      return Promise.resolve({ options: fine });
    };
    expect(await ran(["check", "a.js", "--production"], { ...world, importFile })).toEqual({
      exitCode: 0,
      stdout: `${restOf(fine)}Checked for production: no problems, no weak spots, no notes.\n`,
      stderr: "",
    });
    expect(order).toEqual(["production", "loaded"]);
    const { stdout } = await check(fine, ["--json"], world);
    expect(JSON.parse(stdout)).toHaveProperty("production", true);
  });

  it("is told on stderr, or among the notes, that the module listens on a port", async () => {
    const note =
      "The module listens on a port, so it starts a server. The check stops it. If the port is taken, the check fails: move the options to a separate module.";
    const world = { isListening: () => true };
    expect(await check(fine, [], world)).toEqual({ ...(await check(fine)), stderr: `${note}\n` });
    const { stdout, stderr } = await check(fine, ["--json"], world);
    expect([JSON.parse(stdout), stderr]).toEqual([expect.objectContaining({ notes: [note] }), ""]);
  });
});
