// The attacker reads what a host keeps and shows beside the protocol's own answers: its logs, its database or a backup of it,
// the text of every refusal. They did not get any value there that opens anything: each secret is marked as it appears, and
// looked for, whole or in part, plain or encoded.
import { randomBytes } from "node:crypto";
import { memoryStorage } from "../../lib";
import { authorize } from "../browser/authorize";
import { allGrants, asFarAsItGoes, flows, signIn } from "./canary-flows";
import {
  expectNoLeak,
  forCredentials,
  methodNames,
  newWorld,
  post,
  tokenPath,
  type WorldOptions,
} from "../hosts/canary-host";
import { clients } from "../hosts/clients";
import { signedIn, type TestHost } from "../hosts/host";
import { callApi } from "../browser/journey";
import { deepText, newSecrets } from "../requests/marked-secrets";

afterEach(() => jest.restoreAllMocks());

function failing(): never {
  throw new Error("the host's own mistake");
}

describe("no secret in events, storage, refusals or output (RFC 6749 §10; 9700 §4.14; house rule on secrets)", () => {
  it.each(Object.entries(flows))("%s", async (_, flow) => {
    const world = newWorld();
    await flow(world);
    expect(world.events.length).toBeGreaterThan(0);
    expectNoLeak(world);
  });

  it("consent on the host's own page", async () => {
    const world = newWorld({ consent: { decide: () => ({ kind: "interaction", url: "/consent" }) } });
    for (const path of ["/allow", "/cancel"]) {
      const browser = world.browser();
      const asked = await authorize(browser, { client: "web" });
      const interaction = String(asked.headers["location"]).split("=")[1];
      await browser.post(path, { interaction }, { Origin: "https://evil.example" });
      await browser.post(path, { interaction });
      await browser.post(path, { interaction });
    }
    expectNoLeak(world);
  });

  it.each(methodNames)("storage that fails in %s and quotes what it was asked", async (broken) => {
    const world = newWorld({ broken });
    await asFarAsItGoes(world);
    const failed = world.calls.some(({ name }) => name === broken);
    const reported = world.events.some(({ kind }) => kind === "server-error");
    // only the host's own pages list and end
    const ofTheHost = /^(?:consents\.(?:list|delete)|authorizations\.(?:list|revokeAll|narrowAll|erase))$/;
    expect({ failed, reported }).toEqual({ failed: true, reported: !ofTheHost.test(broken) });
    expectNoLeak(world);
  });

  it.each<readonly [string, WorldOptions, TestHost["session"]]>([
    ["authenticate throws", {}, failing],
    ["authenticate rejects", {}, async () => failing()],
    ["authenticate answers nonsense", {}, { kind: "nonsense" } as never],
    ["authenticate answers with a client's name", {}, { kind: "authenticated", subject: "web" }],
    ["authenticate denies in wrong characters", {}, { kind: "denied", description: 'a "b"' }],
    ["decide throws", { consent: { decide: failing } }, signedIn],
    ["decide grants too much", { consent: { decide: () => ({ kind: "granted", scopes: ["x"] }) } }, signedIn],
    ["decide answers nonsense", { consent: { decide: () => ({ kind: "nonsense" }) as never } }, signedIn],
    ["onEvent throws", { onEvent: failing }, signedIn],
    ["onEvent rejects", { onEvent: async () => failing() }, signedIn],
  ])("%s", async (_, options, session) => {
    const world = newWorld(options);
    world.session = session;
    await asFarAsItGoes(world);
    expectNoLeak(world);
  });

  it("what a person knows a sign-in by: nobody but the host reads it, and it goes with the person (RFC 9700 §4.15)", async () => {
    const world = newWorld();
    const signedInFrom = world.secrets.mark("sign-in", randomBytes(24).toString("base64url"));
    world.session = { ...signedIn, signedInFrom };
    await allGrants(world);
    const stored = world.calls.filter(({ args }) => deepText(args).includes(signedInFrom));
    expect(new Set(stored.map(({ name }) => name))).toEqual(new Set(["authorizations.create"]));
    expect(world.leaks).toEqual([]);
    for (const seen of [deepText(world.events), deepText(world.published), world.printed()])
      expect(world.secrets.findIn(seen)).toEqual([]);
    // allGrants has erased her
    expect((await world.auth.authorizations.list("alice")).authorizations).toEqual([]);
  });

  it("a client table that holds secrets in plain text", async () => {
    const secret = randomBytes(24).toString("base64url");
    const memory = memoryStorage({ clients: [] });
    const careless = { ...clients.web, secretDigests: [secret] };
    const storage = { ...memory, clients: { ...memory.clients, find: async () => careless } };
    const world = newWorld({ storage });
    await post(world, { path: tokenPath, fields: forCredentials("web", secret) });
    await authorize(world.browser(), { client: "web" });
    world.secrets.mark("client secret", secret);
    expect(world.events.map(({ kind }) => kind)).toEqual(["server-error", "server-error"]);
    expect(world.secrets.findIn(deepText(world.events))).toEqual([]);
    expect(world.secrets.findIn(world.printed())).toEqual([]);
    expect(world.leaks).toEqual([]);
  });
});

describe("the search for secrets", () => {
  it("has seen every kind of them", async () => {
    const world = newWorld();
    await allGrants(world);
    await signIn(world);
    expect(world.secrets.kinds().toSorted()).toEqual([
      "access token",
      "client assertion",
      "client secret",
      "code",
      "code verifier",
      "device code",
      "form token",
      "interaction cookie",
      "presented value",
      "proof",
      "refresh token",
      "session secret",
      "signing key",
    ]);
  });

  it.each<readonly [string, (secret: string) => unknown]>([
    ["plain", (secret) => ({ event: secret })],
    ["in part", (secret) => [[`x${secret.slice(5, 21)}x`]]],
    ["in a URL", (secret) => `https://x.example/?x=${encodeURIComponent(secret)}`],
    ["in base64", (secret) => Buffer.from(secret).toString("base64")],
    ["in hex", (secret) => Buffer.from(secret).toString("hex")],
    ["in the message of an error", (secret) => new Error(secret)],
    ["in the cause of a cause", (secret) => new Error("x", { cause: new Error("y", { cause: secret }) })],
    ["in a property of an error", (secret) => Object.assign(new Error("x"), { detail: { secret } })],
    ["in a map", (secret) => ({ map: new Map([["x", { secret }]]) })],
  ])("finds one %s", (_, hide) => {
    const secrets = newSecrets();
    const secret = secrets.mark("secret", randomBytes(32).toString("base64url"));
    expect(secrets.findIn(deepText(hide(secret)))).toEqual(["secret"]);
  });

  it("finds one in an answer that refuses", async () => {
    const world = newWorld({
      before: (app) =>
        app.get("/careless", (req, res) => res.status(400).json({ said: req.headers.authorization })),
    });
    await callApi(world, "/careless", world.canary());
    expect(world.leaks).toEqual([expect.objectContaining({ found: ["presented value"], status: 400 })]);
  });
});
