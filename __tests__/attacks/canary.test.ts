// The attacker reads what a host keeps and shows beside the protocol's own answers: its logs, its database or a backup of it,
// the text of every refusal. They did not get any value there that opens anything: each secret is marked as it appears, and
// looked for, whole or in part, plain or encoded.
import { generateKeyPairSync, randomBytes, scryptSync } from "node:crypto";
import { inspect } from "node:util";
import type { Express, Response as ExpressResponse } from "express";
import request from "supertest";
import {
  type AuthServerOptions,
  type Client,
  createAuthServer,
  memoryStorage,
  type Storage,
} from "../../lib";
import { encode, type Fields, formFields } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  clients,
  type ClientName,
  codeVerifier,
  credentials,
  machineSecret,
  otherSecret,
  type Pair,
  pairPath,
  signedIn,
  signedOut,
  testHost,
  type TestHost,
  webSecret,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  postToken,
  redeem,
  refresh,
  type Tokens,
} from "../fixture/journey";
import { listen, type ListeningApp, type Question } from "../fixture/listening";

const partLength = 16;

/** Every part of a text that is long enough to be no accident. */
function* partsOf(text: string): Iterable<string> {
  for (let at = 0; at + partLength <= text.length; at += 1) yield text.slice(at, at + partLength);
}

function writings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
  return [secret, encodeURIComponent(secret), ...encoded];
}

interface Secrets {
  /** Remembers a secret; gives it back. */
  mark(kind: string, secret: string): string;
  /** The kinds of secrets that the text holds, in whole or in part. */
  findIn(text: string): readonly string[];
  readonly kinds: () => readonly string[];
}

function newSecrets(): Secrets {
  const kindByPart = new Map<string, string>();
  return {
    mark(kind, secret) {
      if (secret.length < partLength) throw new Error(`too short to be found: ${kind}`);
      for (const writing of writings(secret)) {
        for (const part of partsOf(writing)) if (!kindByPart.has(part)) kindByPart.set(part, kind);
      }
      return secret;
    },
    findIn(text) {
      const found = new Set<string>();
      for (const part of partsOf(text)) {
        const kind = kindByPart.get(part);
        if (kind !== undefined) found.add(kind);
      }
      return [...found];
    },
    kinds: () => [...new Set(kindByPart.values())],
  };
}

interface Written {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What is random of a code or refresh token; of a JWT its signature: only that is no one else's to make. */
function secretHalf(token: string): string {
  return token.split(".").at(-1) ?? "";
}

/** Parts of an answer that carry a secret of their own to the one it is for. */
function markAnswer(secrets: Secrets, { status, headers, body }: Written): void {
  const code = /[?&]code=([^&]+)/.exec(String(headers["location"]))?.[1];
  if (code !== undefined) secrets.mark("code", secretHalf(code));
  for (const cookie of [headers["set-cookie"] ?? []].flat() as string[]) {
    const signature = /=s:[^.]+\.([^;]+)/.exec(cookie)?.[1];
    if (signature !== undefined) secrets.mark("interaction cookie", decodeURIComponent(signature));
  }
  const formToken = /name="form_token" value="([^"]+)"/.exec(body)?.[1];
  if (formToken !== undefined) secrets.mark("form token", formToken);
  if (status !== 200 || !body.startsWith('{"access_token"')) return;
  const tokens = JSON.parse(body) as Tokens;
  secrets.mark("access token", secretHalf(tokens.access_token));
  if (tokens.refresh_token !== undefined) secrets.mark("refresh token", secretHalf(tokens.refresh_token));
}

/** A page may be shown again with the form token and the cookie that it had. */
const mayComeAgain = ["form token", "interaction cookie"];

function leaksOf(secrets: Secrets, written: Written): readonly string[] {
  const { status, headers, body } = written;
  const refused = status >= 400 || /[?&]error=/.test(String(headers["location"]));
  const found = secrets.findIn(`${JSON.stringify(headers)}\n${body}`);
  return found.filter((kind) => refused || !mayComeAgain.includes(kind));
}

/** Hears every answer of the app before it is sent. */
function hearAnswers(app: Express, hear: (written: Written) => void): void {
  app.use((_req, res: ExpressResponse, next) => {
    const end = res.end.bind(res) as (...args: unknown[]) => ExpressResponse;
    res.end = ((...args: unknown[]) => {
      const [body] = args;
      const text = typeof body === "string" || Buffer.isBuffer(body) ? body.toString() : "";
      hear({ status: res.statusCode, headers: { ...res.getHeaders() }, body: text });
      return end(...args);
    }) as typeof res.end;
    next();
  });
}

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  answer?: unknown;
}

/** The same storage, with every argument and answer kept; `broken` makes one method fail as database drivers do. */
function recordCalls(storage: Storage, { calls, broken }: { calls: Call[]; broken?: string }): Storage {
  const ports = Object.entries(storage).map(([portName, port]) => {
    const methods = Object.entries(port as Record<string, (...args: unknown[]) => Promise<unknown>>);
    const recorded = methods.map(([methodName, method]) => [
      methodName,
      async (...args: unknown[]) => {
        const name = `${portName}.${methodName}`;
        const call: Call = { name, args: structuredClone(args) };
        calls.push(call);
        if (name === broken) {
          const cause = new Error(`constraint violated by ${JSON.stringify(args)}`);
          throw Object.assign(new Error(`${name}(${JSON.stringify(args)}) failed`, { cause }), { args });
        }
        const answer = await method(...args);
        call.answer = structuredClone(answer);
        return answer;
      },
    ]);
    return [portName, Object.fromEntries(recorded)];
  });
  return Object.fromEntries(ports) as Storage;
}

const methodNames = Object.entries(memoryStorage({ clients: [] })).flatMap(([portName, port]) =>
  Object.keys(port as object).map((methodName) => `${portName}.${methodName}`),
);

/** Everything of a value, with the message, stack and cause of every error in it. */
function deepText(value: unknown): string {
  const everything = {
    depth: Infinity,
    maxArrayLength: Infinity,
    maxStringLength: Infinity,
    showHidden: true,
  };
  return `${inspect(value, { ...everything, breakLength: Infinity })}\n${JSON.stringify(value)}`;
}

const humanSecret = randomBytes(24).toString("base64url");
const salt = randomBytes(16);
const hash = scryptSync(humanSecret, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
const human: Client = {
  ...clients.machine,
  clientId: "human",
  name: "Human",
  secretDigests: [`scrypt:ln=14,r=8,p=1:${salt.toString("base64url")}:${hash.toString("base64url")}`],
};

const signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const retiredKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

interface World extends TestHost {
  readonly secrets: Secrets;
  /** A new value that must not come out anywhere. */
  readonly canary: () => string;
  readonly calls: readonly Call[];
  /** Leaks of answers: what was found, and in which. */
  readonly leaks: object[];
  /** What the process has printed or warned of. */
  readonly printed: () => string;
}

interface WorldOptions extends Partial<AuthServerOptions> {
  readonly broken?: string;
  readonly records?: readonly Client[];
  readonly before?: (app: Express) => void;
}

function watchOutput(): () => string {
  const spies = [
    jest.spyOn(process.stdout, "write"),
    jest.spyOn(process.stderr, "write"),
    jest.spyOn(process, "emitWarning"),
    ...(["log", "info", "warn", "error", "debug", "trace", "dir"] as const).map((name) =>
      jest.spyOn(console, name),
    ),
  ];
  return () => spies.map(({ mock }) => deepText(mock.calls)).join("\n");
}

function newWorld({ broken, records, before, ...options }: WorldOptions = {}): World {
  stopClock();
  const printed = watchOutput();
  const secrets = newSecrets();
  for (const { secret } of [webSecret, otherSecret, machineSecret]) secrets.mark("client secret", secret);
  secrets.mark("client secret", humanSecret);
  secrets.mark("code verifier", codeVerifier);
  const sealing = [0, 1].map(() => secrets.mark("session secret", randomBytes(32).toString("base64url")));
  for (const key of [signingKey, retiredKey]) {
    const pem = key.export({ type: "pkcs8", format: "pem" }) as string;
    for (const line of pem.split("\n").filter((each) => each.length >= partLength && !each.startsWith("-"))) {
      secrets.mark("signing key", line);
    }
    secrets.mark("signing key", key.export({ format: "jwk" }).d ?? "");
  }
  const calls: Call[] = [];
  const leaks: object[] = [];
  const hear = (written: Written): void => {
    const found = leaksOf(secrets, written);
    if (found.length > 0) leaks.push({ found, ...written });
    markAnswer(secrets, written);
  };
  const memory = memoryStorage({ clients: records ?? [...Object.values(clients), human] });
  const host = testHost({
    secrets: sealing,
    signingKeys: [signingKey.export({ type: "pkcs8", format: "pem" }) as string, retiredKey],
    revocationLagSeconds: 0,
    ...options,
    storage: recordCalls(options.storage ?? memory, { calls, ...(broken !== undefined && { broken }) }),
    before(app) {
      hearAnswers(app, hear);
      before?.(app);
    },
  });
  const canary = (): string => secrets.mark("presented value", randomBytes(32).toString("base64url"));
  return Object.assign(host, { secrets, canary, calls, leaks, printed });
}

function expectNoLeak({ secrets, calls, leaks, printed, events }: World): void {
  expect(leaks).toEqual([]);
  expect(secrets.findIn(deepText(events))).toEqual([]);
  expect(secrets.findIn(deepText(calls))).toEqual([]);
  expect(secrets.findIn(printed())).toEqual([]);
}

afterEach(() => jest.restoreAllMocks());

const pairs: readonly Pair[] = [{}, { api: "reports", method: "otp" }];
const apiPath = ({ api = "orders" }: Pair): string => `/${api}`;

/** The whole life of an authorization; stops early where the server refuses. */
async function journey(world: World, { client, pair }: { client: ClientName; pair: Pair }): Promise<void> {
  const code = await obtainCode(world, { client, pair });
  const tokens = (await redeem(world, { client, code, pair })).body as Partial<Tokens>;
  await callApi(world, apiPath(pair), tokens.access_token ?? world.canary());
  if (tokens.refresh_token === undefined) return;
  const again = await refresh(world, { client, pair, refreshToken: tokens.refresh_token });
  await callApi(world, apiPath(pair), (again.body as Partial<Tokens>).access_token ?? world.canary());
}

function basic(id: string, secret: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` };
}

function post(
  world: World,
  { path, headers = {}, fields }: { path: string; headers?: object; fields: Fields },
) {
  return request(world.app)
    .post(path)
    .set(headers as Record<string, string>)
    .type("form")
    .send(encode(fields));
}

function forCredentials(clientId: string, secret: string): Fields {
  return { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
}

const tokenPath = `${pairPath()}/token`;

async function allGrants(world: World): Promise<void> {
  for (const client of ["web", "native", "spa"] as const) {
    for (const pair of pairs) await journey(world, { client, pair });
  }
  await post(world, { path: tokenPath, fields: forCredentials("human", humanSecret) });
  await post(world, { path: tokenPath, fields: forCredentials("machine", machineSecret.secret) });
  const fields = { grant_type: "client_credentials" };
  await post(world, { path: tokenPath, headers: basic("machine", machineSecret.secret), fields });
  await world.auth.consents.list("alice");
  await world.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
}

async function signIn(world: World): Promise<void> {
  const { session } = world;
  for (const [client, pair] of [
    ["web", {}],
    ["native", { api: "reports" }],
  ] as const) {
    world.session = signedOut;
    const browser = world.browser();
    const sentAway = await authorize(browser, { client, pair });
    await browser.follow(sentAway);
    const interaction = new URL(String(sentAway.headers["location"]), "https://x").searchParams.get(
      "interaction",
    );
    const back = await browser.post("/signin", { interaction: interaction ?? "", subject: "alice" });
    const page = await browser.follow(back);
    await browser.answer(page, client === "web" ? "approve" : "deny");
  }
  world.session = signedOut;
  const browser = world.browser();
  const sentAway = await authorize(browser, { client: "web" });
  const interaction = String(sentAway.headers["location"]).split("=")[1];
  await browser.post("/cancel", { interaction });
  await browser.get(`${pairPath()}/authorize/resume`, { interaction });
  world.session = session;
}

async function clientRefusals(world: World): Promise<void> {
  const wrong = world.canary();
  const code = await obtainCode(world, { client: "web" });
  const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
  for (const id of ["web", "human", "native", "spa", "nobody", "machine"]) {
    for (const secret of [wrong, webSecret.secret, humanSecret, otherSecret.secret]) {
      await post(world, { path: tokenPath, fields: { ...fields, client_id: id, client_secret: secret } });
      await post(world, { path: tokenPath, headers: basic(id, secret), fields });
      await post(world, { path: tokenPath, headers: basic("", secret), fields });
      await post(world, {
        path: tokenPath,
        headers: basic(id, secret),
        fields: { ...fields, ...credentials("web") },
      });
    }
  }
  const { secret } = webSecret;
  for (const value of [
    `Basic ${secret}`,
    `Basic ${secret}:`,
    `Bearer ${secret}`,
    secret,
    `Basic %${secret}`,
  ]) {
    await post(world, { path: tokenPath, headers: { Authorization: value }, fields });
  }
  await post(world, { path: `${tokenPath}?${encode(credentials("web"))}`, fields });
  await post(world, { path: `${tokenPath}?${encode(fields)}`, fields: credentials("web") });
  await post(world, {
    path: tokenPath,
    fields: { ...fields, ...credentials("web"), client_secret: [secret, secret] },
  });
  await Promise.all(
    Array.from({ length: 20 }, () =>
      post(world, { path: tokenPath, fields: forCredentials("human", world.canary()) }),
    ),
  );
}

async function codeRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const code = await obtainCode(world, { client: "web", pair });
    const attempts: readonly Fields[] = [
      { code_verifier: world.canary() },
      { code_verifier: undefined },
      { code_verifier: `${codeVerifier}!` },
      { code_verifier: codeVerifier.slice(0, 30) },
      { redirect_uri: "https://evil.example/" },
      { code: world.canary() },
      { code: `${code}x` },
      { code: [code, code] },
      { resource: "https://evil.example/" },
      credentials("other"),
      { grant_type: "password" },
      { grant_type: undefined },
      { grant_type: "refresh_token", refresh_token: code },
    ];
    for (const fields of attempts) await redeem(world, { client: "web", code, pair, fields });
    await redeem(world, { client: "web", code, pair: { method: "sso" } });
    await redeem(world, { client: "web", code, pair });
    await redeem(world, { client: "web", code, pair });
    const late = await obtainCode(world, { client: "native", pair });
    stopClock(1_800_000_060);
    await redeem(world, { client: "native", code: late, pair });
    stopClock();
  }
}

async function refreshRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const { refresh_token: refreshToken = "" } = await obtainTokens(world, { client: "native", pair });
    const attempts: readonly Fields[] = [
      { refresh_token: world.canary() },
      { refresh_token: `${refreshToken}x` },
      { refresh_token: [refreshToken, "x"] },
      { refresh_token: undefined },
      { scope: "orders:write" },
      { scope: `${refreshToken}"` },
      { client_secret: world.canary() },
      credentials("web"),
      { client_id: "spa" },
    ];
    for (const fields of attempts) await refresh(world, { client: "native", refreshToken, pair, fields });
    await refresh(world, { client: "native", refreshToken, pair: { method: "sso" } });
    await refresh(world, { client: "native", refreshToken, pair });
    await refresh(world, { client: "native", refreshToken, pair });
  }
}

async function authorizationRefusals(world: World): Promise<void> {
  const attempts: readonly Fields[] = [
    { client_id: "nobody" },
    { client_id: undefined },
    { redirect_uri: `https://evil.example/${world.canary()}` },
    { response_type: "token" },
    { scope: "unknown" },
    { code_challenge: codeVerifier.slice(1) },
    { code_challenge_method: "plain", code_challenge: codeVerifier },
    { prompt: "none" },
    { prompt: "login none" },
    { max_age: "x" },
    { resource: "x" },
    { nonce: ["x", "y"] },
    { state: "x".repeat(4_000) },
  ];
  for (const session of [signedIn, signedOut, { kind: "denied" } as const]) {
    world.session = session;
    for (const fields of attempts) await authorize(world.browser(), { client: "web", fields });
  }
}

async function consentRefusals(world: World): Promise<void> {
  const browser = world.browser();
  const page = await authorize(browser, { client: "web" });
  const form = formFields(page.text);
  const path = `${pairPath()}/authorize/consent`;
  const attempts: readonly Fields[] = [
    { form_token: world.canary() },
    { form_token: [form["form_token"] ?? "", "x"] },
    { interaction: world.canary() },
    { interaction: form["form_token"] },
    { decision: form["form_token"] },
    { decision: undefined },
  ];
  for (const fields of attempts) await browser.answer(page, "approve", fields);
  await browser.post(path, { ...form, decision: "approve" }, { Origin: "https://evil.example" });
  await browser.post(`${path}?${encode(form)}`, {});
  await browser.post("/allow", form);
  await browser.get("/allow", form);
  await world.browser().answer(page, "approve");
  const forged = { Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}x`).join("; ") };
  await browser.post(path, { ...form, decision: "approve" }, forged);
  world.session = { kind: "authenticated", subject: "bob" };
  await browser.answer(page, "approve");
  world.session = { kind: "authenticated", subject: "web" };
  await browser.answer(page, "approve");
}

async function bearerRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const { access_token: token, refresh_token: refreshToken = "" } = await obtainTokens(world, {
      client: "native",
      pair,
    });
    const path = apiPath(pair);
    const headers = [
      `Bearer ${token}x`,
      `Bearer ${token} x`,
      `Bearer "${token}"`,
      `bearer ${world.canary()}`,
    ];
    for (const value of [...headers, `Bearer,${token}`, `Basic ${token}`, token, `Token ${token}`]) {
      await request(world.app).get(path).set("Authorization", value);
    }
    await request(world.app).get(`${path}?access_token=${token}`);
    await request(world.app).get(`${path}?access_token=${token}`).set("Authorization", `Bearer ${token}`);
    await request(world.app).post(path).type("form").send(`access_token=${token}`);
    await callApi(world, path === "/orders" ? "/reports" : "/orders", token);
    await callApi(world, "/orders/changes", token);
    await refresh(world, { client: "native", pair, refreshToken });
    await refresh(world, { client: "native", pair, refreshToken });
    await callApi(world, path, token);
    stopClock(1_900_000_000);
    await callApi(world, path, token);
    stopClock();
  }
}

async function unreadableBodies(world: World): Promise<void> {
  const code = await obtainCode(world, { client: "web" });
  const fields = { ...credentials("web"), code, code_verifier: codeVerifier };
  for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
    await request(world.app).post(tokenPath).set("Content-Type", type).send(JSON.stringify(fields));
  }
  await post(world, { path: tokenPath, headers: { "Content-Encoding": "gzip" }, fields });
  await post(world, { path: tokenPath, fields: { ...fields, filler: "x".repeat(70_000) } });
  await request(world.app)
    .post(tokenPath)
    .type("form")
    .send(`${encode(fields)}&scope=%ff&%ff=x`);
  await request(world.app).put(tokenPath).type("form").send(encode(fields));
  await request(world.app).get(`${tokenPath}?${encode(fields)}`);
  await request(world.app)
    .post(`/login/auth/none/api/none/token?${encode(fields)}`)
    .type("form")
    .send(encode(fields));
}

/** Every way to ask about a token or to end it, the refused ones first. */
async function askAndRevoke(world: World, { pair, token }: { pair: Pair; token: string }): Promise<void> {
  const web = credentials("web");
  for (const endpoint of ["introspect", "revoke"]) {
    const path = `${pairPath(pair)}/${endpoint}`;
    const attempts: readonly Fields[] = [
      { token, client_id: "web", client_secret: world.canary() },
      { token, ...credentials("other") },
      { token: [token, "x"], ...web },
      { token, token_type_hint: token, ...credentials("native") },
      { token, token_type_hint: token, ...credentials("spa") },
      { token, token_type_hint: token, ...web },
    ];
    for (const fields of attempts) await post(world, { path, fields });
    await post(world, { path: `${path}?${encode({ token })}`, fields: web });
    await post(world, { path, headers: basic("web", webSecret.secret), fields: { token } });
  }
}

async function revocationAndIntrospection(world: World): Promise<void> {
  for (const pair of pairs) {
    for (const client of ["web", "native", "spa"] as const) {
      const code = await obtainCode(world, { client, pair });
      const { access_token, refresh_token = world.canary() } = await obtainTokens(world, { client, pair });
      const tokens = [code, world.canary(), `${access_token}x`, access_token, refresh_token];
      for (const token of tokens) await askAndRevoke(world, { pair, token });
    }
  }
}

const flows: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "every grant, client kind and token format": allGrants,
  "signing in and answering on pages": signIn,
  "refused clients": clientRefusals,
  "refused codes": codeRefusals,
  "refused refresh tokens": refreshRefusals,
  "refused authorization requests": authorizationRefusals,
  "refused answers to the consent page": consentRefusals,
  "refused access tokens": bearerRefusals,
  "bodies that cannot be read": unreadableBodies,
  "revocation and introspection, granted and refused": revocationAndIntrospection,
};

/** The same, where any step may end it. */
async function asFarAsItGoes(world: World): Promise<void> {
  for (const flow of [allGrants, signIn, bearerRefusals, refreshRefusals]) {
    await flow(world).catch(() => undefined);
  }
  const headers = { Origin: "https://spa.example" };
  await post(world, { path: tokenPath, headers, fields: credentials("spa") });
  const machine = credentials("machine");
  const own = await post(world, {
    path: tokenPath,
    fields: { grant_type: "client_credentials", ...machine },
  });
  const { access_token: token } = own.body as { access_token?: string };
  for (const path of ["introspect", "revoke"]) {
    await post(world, { path: `${pairPath()}/${path}`, fields: { token, ...machine } });
  }
  for (const client of ["web", "native", "spa"] as const) {
    for (const pair of pairs) await journey(world, { client, pair }).catch(() => undefined);
  }
}

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
    // only the host's own pages list consents
    expect({ failed, reported }).toEqual({
      failed: true,
      reported: !["consents.list", "consents.delete", "authorizations.revokeAll", "endMarks.save"].includes(
        broken,
      ),
    });
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

const holdable = [
  "client secret",
  "code verifier",
  "code",
  "refresh token",
  "access token",
  "form token",
] as const;
type Holdable = (typeof holdable)[number];

async function collect(world: World): Promise<Readonly<Record<Holdable, string>>> {
  const { access_token, refresh_token = "" } = await obtainTokens(world, { client: "native" });
  const page = await authorize(world.browser(), { client: "other" });
  return {
    "client secret": webSecret.secret,
    "code verifier": codeVerifier,
    code: await obtainCode(world, { client: "web" }),
    "refresh token": refresh_token,
    "access token": access_token,
    "form token": formFields(page.text)["form_token"] ?? "",
  };
}

describe("a secret in a place where it does not belong (RFC 6749 §2.3.1, 9700 §4.3)", () => {
  // not the state, which comes back, and not the challenge, which is kept: that is what they are for
  const atAuthorize = ["client_id", "response_type", "redirect_uri", "scope", "prompt", "resource"];
  const atToken = ["client_id", "grant_type", "scope", "resource", "redirect_uri", "code", "refresh_token"];

  it.each(holdable)("is repeated in no event and no refusal: %s", async (kind) => {
    const world = newWorld();
    const { [kind]: value } = await collect(world);
    const asked = world.calls.length;
    for (const name of [...atAuthorize, "code_challenge_method", "max_age", "unknown"]) {
      await authorize(world.browser(), { client: "web", fields: { [name]: value, prompt: "none" } });
      await authorize(world.browser(), { client: "native", fields: { [name]: value } });
    }
    for (const name of [...atToken, "code_verifier", "client_secret", "unknown"]) {
      const form = { grant_type: "authorization_code", ...credentials("web"), code: "x", [name]: value };
      await postToken(world, { fields: form });
      await postToken(world, { fields: { ...form, [name]: [value, value] } });
      await post(world, { path: `${tokenPath}?${encode({ [name]: value })}`, fields: form });
      await request(world.app).get(`/orders?${encode({ [name]: value })}`);
    }
    for (const endpoint of ["revoke", "introspect"]) {
      for (const name of ["token", "token_type_hint", "client_id", "client_secret", "unknown"]) {
        const fields = { ...credentials("other"), token: "x", [name]: value };
        await post(world, { path: `${pairPath()}/${endpoint}`, fields });
      }
    }
    await world.browser().get(`/login/auth/${value}/api/${value}/authorize`);
    await world.browser().get(`${pairPath()}/authorize/resume`, { interaction: value });
    expect(world.leaks).toEqual([]);
    expect(world.secrets.findIn(deepText(world.events))).toEqual([]);
    expect(world.secrets.findIn(world.printed())).toEqual([]);
    // a client is looked up by whatever the request says that it is; nothing else goes to storage as it comes
    const others = world.calls.slice(asked).filter(({ name }) => name !== "clients.find");
    expect(world.secrets.findIn(deepText(others))).toEqual([]);
  });
});

describe("mistakes of the host at the start (createAuthServer, memoryStorage)", () => {
  const secret = randomBytes(24).toString("base64url");
  const options: AuthServerOptions = {
    baseUrl: "https://host.example/login",
    storage: memoryStorage({ clients: [] }),
    authMethods: { password: { authenticate: () => signedIn } },
    apis: { orders: { audience: "https://api.example/orders", authMethods: ["password"], scopes: {} } },
    secrets: [randomBytes(32).toString("base64url")],
    signingKeys: [signingKey],
  };
  const pem = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`;
  const jwk = { ...signingKey.export({ format: "jwk" }), x: secret, d: secret } as { kty: string };

  it.each<readonly [string, () => unknown]>([
    ["a broken PEM", () => createAuthServer({ ...options, signingKeys: [pem] })],
    ["no PEM", () => createAuthServer({ ...options, signingKeys: [secret] })],
    ["a broken JWK", () => createAuthServer({ ...options, signingKeys: [jwk] })],
    ["a JWK of another kind", () => createAuthServer({ ...options, signingKeys: [{ ...jwk, kty: secret }] })],
    ["a secret for a list of keys", () => createAuthServer({ ...options, signingKeys: secret as never })],
    ["a short secret", () => createAuthServer({ ...options, secrets: [secret.slice(0, 31)] })],
    ["a secret for a list of secrets", () => createAuthServer({ ...options, secrets: secret as never })],
    ["a secret twice", () => createAuthServer({ ...options, secrets: [secret + secret, secret + secret] })],
    [
      "a client with a plain secret",
      () => memoryStorage({ clients: [{ ...clients.web, secretDigests: [secret] }] }),
    ],
    [
      "a client with a secret for a list",
      () => memoryStorage({ clients: [{ ...clients.web, secretDigests: secret as never }] }),
    ],
    [
      "a public client with a secret",
      () => memoryStorage({ clients: [{ ...clients.spa, secretDigests: [secret] } as Client] }),
    ],
    [
      "a user name and password in a URL",
      () => createAuthServer({ ...options, baseUrl: `https://x:${secret}@host.example` }),
    ],
  ])("are told without the secret: %s", (_, make) => {
    const secrets = newSecrets();
    secrets.mark("secret", secret);
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(secrets.findIn(deepText(thrown))).toEqual([]);
  });

  it("are warned of without the throw-away secrets", () => {
    const warn = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { secrets: _secrets, signingKeys: _signingKeys, ...without } = options;
    createAuthServer(without);
    const rest = "what was issued is worth nothing after a restart or in another process.";
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      `createAuthServer made throw-away secrets and signingKeys: ${rest}`,
    ]);
  });
});

/** Every string in the value, however deep, keys as well. */
function collectStrings(value: unknown, into: Set<string>): Set<string> {
  if (typeof value === "string") into.add(value);
  if (typeof value !== "object" || value === null) return into;
  for (const [key, each] of Object.entries(value)) {
    into.add(key);
    collectStrings(each, into);
  }
  return into;
}

function loot(calls: readonly Call[]): readonly string[] {
  const strings = [...collectStrings(calls, new Set())];
  const ids = strings.filter((text) => /^[\w-]{22}$/.test(text));
  const digests = strings.filter((text) => /^[\w-]{43}$/.test(text));
  const joined = ids.flatMap((id) => digests.map((digest) => `${id}.${digest}`));
  const halves = strings.filter((text) => text.includes(":")).flatMap((text) => text.split(":"));
  return [...new Set([...strings, ...joined, ...halves])].filter((text) => text !== "");
}

/** Every way to present a stolen text. */
function presentations(text: string): readonly Question[] {
  const asToken = pairs.flatMap((pair) => {
    const path = `${pairPath(pair)}/token`;
    const forms = (["web", "native"] as const).flatMap((client) => [
      { grant_type: "authorization_code", code: text, code_verifier: codeVerifier, ...credentials(client) },
      { grant_type: "refresh_token", refresh_token: text, ...credentials(client) },
    ]);
    const call = { path: apiPath(pair), headers: { Authorization: `Bearer ${text}` } };
    const asked = ["introspect", "revoke"].map((endpoint) => ({
      path: `${pairPath(pair)}/${endpoint}`,
      form: { token: text, ...credentials("web") },
    }));
    return [call, ...asked, ...forms.map((form) => ({ path, form }))];
  });
  // the joined ones look like codes; as a secret they are no likelier than any other text
  const secretOf = text.includes(".") ? [] : ["web", "machine"];
  const chosen = /^scrypt:|^[\w-]{22,}$/.test(text) ? ["human"] : [];
  const asSecret = [...secretOf, ...chosen].map((id) => ({
    path: tokenPath,
    form: forCredentials(id, text),
  }));
  return [...asToken, ...asSecret];
}

describe("a stolen copy of the storage (RFC 6749 §10.3, §10.4, §10.5; 9700 §4.14)", () => {
  interface Living {
    readonly client: ClientName;
    readonly pair: Pair;
    readonly code: string;
    readonly tokens: Tokens;
  }

  /** For each kind of client and token format: a code and tokens that are still good. */
  async function livingValues(host: TestHost): Promise<readonly Living[]> {
    const living: Living[] = [];
    for (const client of ["web", "native", "spa"] as const) {
      for (const pair of pairs) {
        const first = await obtainTokens(host, { client, pair });
        const refreshToken = first.refresh_token;
        const refreshed = refreshToken && (await refresh(host, { client, pair, refreshToken }));
        const tokens = refreshed ? (refreshed.body as Tokens) : first;
        living.push({ client, pair, tokens, code: await obtainCode(host, { client, pair }) });
      }
    }
    return living;
  }

  let app: ListeningApp;

  afterEach(() => app.close());

  it("redeems nothing: every string of it is refused as a code, a token and a secret", async () => {
    stopClock();
    const memory = memoryStorage({ clients: [...Object.values(clients), human] });
    const calls: Call[] = [];
    const host = testHost({ storage: recordCalls(memory, { calls }), revocationLagSeconds: 0 });
    const living = await livingValues(host);
    await request(host.app)
      .post(tokenPath)
      .type("form")
      .send(encode(forCredentials("human", humanSecret)));
    const strings = loot(calls);
    expect(strings.length).toBeGreaterThan(500);
    const attacked = testHost({ storage: memory, revocationLagSeconds: 0 });
    app = await listen(attacked.app);
    const won: object[] = [];
    for (const stolen of strings) {
      await Promise.all(
        presentations(stolen).map(async (question) => {
          const { status, body, text } = await app.send(question);
          const refusal = question.form ? /^invalid_(grant|client)$/ : /^invalid_(token|request)$/;
          const refused = (status === 400 || status === 401) && refusal.test(String(body["error"]));
          const saidNothing = status === 200 && (text === "{}" || text === '{"active":false}');
          if (!refused && !saidNothing) won.push({ question, status, body });
        }),
      );
    }
    expect(won).toEqual([]);
    expect(attacked.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    for (const { client, pair, code, tokens } of living) {
      expect((await callApi(attacked, apiPath(pair), tokens.access_token)).status).toBe(200);
      expect((await redeem(attacked, { client, pair, code })).status).toBe(200);
      if (tokens.refresh_token === undefined) continue;
      const refreshed = await refresh(attacked, { client, pair, refreshToken: tokens.refresh_token });
      expect(refreshed.status).toBe(200);
    }
  }, 60_000);
});

describe("the search for secrets", () => {
  it("has seen every kind of them", async () => {
    const world = newWorld();
    await allGrants(world);
    await signIn(world);
    expect(world.secrets.kinds().toSorted()).toEqual([
      "access token",
      "client secret",
      "code",
      "code verifier",
      "form token",
      "interaction cookie",
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
