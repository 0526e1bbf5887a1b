/** `authmount check`: what is refused, what is weak, and what clients find; and it never prints a secret. RFC 8414 §3.1, 9728 §3.1. */
import { generateKeyPairSync } from "node:crypto";
import { type HostFolder, hostFolder, jsonOf, optionsModule } from "../servers/command-line";

let host: HostFolder;

beforeAll(async () => {
  host = await hostFolder();
});
afterAll(() => host.remove());

interface Checked {
  readonly ok: boolean;
  readonly production: boolean;
  readonly problems: readonly { readonly path: string; readonly message: string }[];
  readonly weaknesses: readonly { readonly code: string; readonly path: string }[];
  readonly documents?: readonly { readonly url: string; readonly of: string; readonly document: object }[];
  readonly keys?: readonly object[];
  readonly assessment?: {
    readonly items: readonly {
      readonly section: string;
      readonly state: string;
      readonly by: readonly object[];
    }[];
  };
  readonly notes: readonly string[];
}

async function check(text: string, args: readonly string[] = []): Promise<Checked & { code: number | null }> {
  await host.write("checked.mjs", text);
  const ended = await host.run(["check", "checked.mjs", "--json", ...args]);
  return { ...(jsonOf(ended) as Checked), code: ended.code };
}

const sqlite = `storage: Object.fromEntries(Object.entries(storage).map(([name, port]) => [name, { ...port }])),`;

describe("options that nothing is wrong with", () => {
  it("exit code 0, and the documents at the very URLs where clients look", async () => {
    const { code, ok, problems, weaknesses, documents, keys } = await check(optionsModule(sqlite));
    expect([code, ok, problems, weaknesses]).toEqual([0, true, [], []]);
    const issuer = "https://host.example/login/auth/password/api/orders";
    expect(documents).toEqual([
      {
        url: "https://host.example/.well-known/oauth-authorization-server/login/auth/password/api/orders",
        of: "issuer",
        document: expect.objectContaining({ issuer, token_endpoint: `${issuer}/token` }) as object,
      },
      {
        url: "https://host.example/.well-known/oauth-protected-resource/orders",
        of: "api",
        document: expect.objectContaining({ authorization_servers: [issuer] }) as object,
      },
    ]);
    expect(keys).toEqual([{ kid: "first", algorithm: "ES256", state: "signs now" }]);
  });

  it("the same in words, without --json", async () => {
    await host.write("good.mjs", optionsModule(sqlite));
    const { code, stdout, stderr } = await host.run(["check", "./good.mjs"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(
      "    token_endpoint: https://host.example/login/auth/password/api/orders/token\n",
    );
    expect(stdout).toContain("  https://host.example/.well-known/oauth-protected-resource/orders\n");
    expect(stdout).toContain("    kid first, ES256, signs now\n");
    expect(stdout).toMatch(/Checked for development: no problems, no weak spots, no notes\.\n$/);
  });

  it("says what each key does: signs, will sign, only verifies, is left over", async () => {
    const keys = `signingKeys: [
      { key: { ...generateSigningKey(), kid: "next" }, signsFrom: ${Math.floor(Date.now() / 1000) + 9_000} },
      { key: { ...generateSigningKey(), kid: "now" }, signsFrom: ${Math.floor(Date.now() / 1000) - 60} },
      { key: { ...generateSigningKey(), kid: "before" }, signsFrom: ${Math.floor(Date.now() / 1000) - 9_000} },
      { ...generateSigningKey(), kid: "first" },
    ],`;
    const { keys: found } = await check(optionsModule(keys));
    expect(found).toMatchObject([
      { kid: "next", state: expect.stringMatching(/^signs from \d{4}-/) as string },
      { kid: "now", state: "signs now" },
      { kid: "before", state: "verifies only" },
      { kid: "first", state: expect.stringContaining("no longer published") as string },
    ]);
  });
});

/** A client with a scheme without a dot, as JavaScript. */
const oddClient = (id: string): string =>
  `{ clientId: "${id}", name: "N", confidential: false, platform: "native", redirectUris: ["odd:/"], subscriptions: {} }`;

describe("options that would be refused", () => {
  const manyMistakes = `
    baseUrl: "https://host.example/login/", typo: 1, revocationLagSeconds: -1,
    secrets: ["short", "short"], lifetimes: { refreshTokenSeconds: 5, consentSeconds: undefined },
    signingKeys: ["no key", generateSigningKey(), ""],
    apis: { orders: { audience: "http://api.example", authMethods: ["password", "none"], scopes: { "a b": "x" } } },`;

  it("all of them are told at once, with exit code 1", async () => {
    const { code, ok, problems, documents } = await check(optionsModule(manyMistakes));
    expect([code, ok, documents]).toEqual([1, false, undefined]);
    expect(problems.map(({ path }) => path)).toEqual([
      "typo",
      "revocationLagSeconds",
      "lifetimes.consentSeconds",
      "baseUrl",
      "secrets.0",
      "secrets.1",
      "secrets.1",
      "apis.orders.audience",
      "apis.orders.authMethods.1",
      "apis.orders.scopes.a b",
      "lifetimes.refreshTokenIdleSeconds",
      "signingKeys.0",
      "signingKeys.2",
    ]);
    for (const { path, message } of problems) expect(message.startsWith(`${path} `)).toBe(true);
  });

  it("clients of a list with a scheme that is not allowed", async () => {
    const { code, problems } = await check(
      optionsModule(`storage: memoryStorage({ clients: [${oddClient("one")}, ${oddClient("two")}] }),`),
    );
    expect(code).toBe(1);
    expect(problems.map(({ message }) => message.slice(0, 13))).toEqual(['client "one":', 'client "two":']);
  });

  it("--production adds what is refused there, and the module sees NODE_ENV", async () => {
    const temporary = optionsModule(
      `secrets: undefined, signingKeys: undefined, insecureLoopbackClients: process.env.NODE_ENV === "production",`,
    ).replace(/(?:secrets|signingKeys): (?:\[.*\]|undefined),/g, "");
    const before = await check(temporary);
    expect([before.code, before.production, before.problems]).toEqual([0, false, []]);
    expect(before.weaknesses.map((one) => one.code)).toEqual(
      expect.arrayContaining(["temporary-secrets", "temporary-signing-keys"]) as string[],
    );
    expect(before.keys).toEqual([]);
    const { code, production, problems } = await check(temporary, ["--production"]);
    expect([code, production]).toEqual([1, true]);
    expect(problems.map(({ path }) => path)).toEqual(["secrets", "signingKeys", "insecureLoopbackClients"]);
  });

  it("NODE_ENV=production counts without the flag", async () => {
    await host.write("checked.mjs", optionsModule("insecureLoopbackClients: true,"));
    const args = ["check", "checked.mjs", "--json"];
    const ended = await host.run(args, { env: { NODE_ENV: "production" } });
    expect([ended.code, (jsonOf(ended) as Checked).production]).toEqual([1, true]);
  });
});

describe("how the options stand to standards", () => {
  it("each item with --json, also after it was weakened (RFC 9700 §4.14.2)", async () => {
    const { code, assessment } = await check(
      optionsModule(`${sqlite} lifetimes: { refreshRetrySeconds: 9 },`),
    );
    expect(code).toBe(0);
    expect(assessment?.items.find(({ section }) => section === "4.14.2")).toMatchObject({
      state: "weakened",
      by: [{ code: "repeated-refresh-tokens", path: "lifetimes.refreshRetrySeconds" }],
    });
  });

  it("in short without it, and nothing while something is refused", async () => {
    await host.write("short.mjs", optionsModule(sqlite));
    const { stdout } = await host.run(["check", "short.mjs"]);
    expect(stdout).toMatch(/^Standards .*\n {2}RFC 9700: \d+ met, 0 weakened/m);
    expect(stdout).toContain("\n  ASVS 5.0: ");
    expect((await check(optionsModule("typo: 1,"))).assessment).toBeUndefined();
  });
});

describe("options that are weak", () => {
  const weak = optionsModule("revocationLagSeconds: 300, ");

  it("exit code 0, and 1 with --strict", async () => {
    const { code, ok, weaknesses } = await check(weak);
    expect([code, ok]).toEqual([0, true]);
    expect(weaknesses.map((one) => one.code)).toEqual(["storage-in-memory", "slow-revocation"]);
    expect(await check(weak, ["--strict"])).toMatchObject({ code: 1, ok: false });
  });

  it("notes alone are fine with --strict", async () => {
    const noted = optionsModule(`${sqlite} redirectSchemes: ["cursor"],`);
    expect(await check(noted, ["--strict"])).toMatchObject({
      code: 0,
      weaknesses: [{ code: "dotless-redirect-schemes" }],
    });
  });
});

it("no secret, key or digest is printed, whatever is right or wrong with it", async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { d = "" } = privateKey.export({ format: "jwk" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const canaries = ["canary-of-thirty-two-characters-or-more", d, pem.split("\n")[1] ?? "", "C".repeat(43)];
  const client = `{ clientId: "shop", name: "S", confidential: true, secretDigests: ["sha256:${canaries[3]}"], redirectUris: [], subscriptions: {} }`;
  const right = `secrets: ["${canaries[0]}"], signingKeys: [${JSON.stringify(pem)}], storage: memoryStorage({ clients: [${client}] }),`;
  const wrong = `secrets: ["${canaries[0]}", "${canaries[0]}"], signingKeys: [{ kty: "EC", d: "${d}" }, ${JSON.stringify(pem.slice(0, 90))}],`;
  const alike = `secrets: ["${canaries[0]}"], signingKeys: [${JSON.stringify(pem)}, ${JSON.stringify(pem)}],`;
  for (const changes of [right, wrong, alike]) {
    await host.write("canary.mjs", optionsModule(changes));
    for (const args of [[], ["--json"], ["--production"]]) {
      const { stdout, stderr } = await host.run(["check", "canary.mjs", ...args]);
      expect(stdout).toMatch(/signingKeys|ES256/);
      expect(canaries.filter((canary) => `${stdout}${stderr}`.includes(canary.slice(0, 16)))).toEqual([]);
    }
  }
});
