/** The real router on a port, as the protocol model asks it. What must be true of every answer is checked here. */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Express, RequestHandler } from "express";
import type { AuthServerOptions, Storage, TokenAdapter } from "../../lib";
import { encode, type Fields, formFields } from "../../__tests__/browser/browser";
import type { Clock } from "../../__tests__/hosts/clock";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { type Answer, listen, type ListeningApp, type Question } from "../../__tests__/hosts/listening";
import type { Party } from "./protocol-clients";
import { adaptersOf, type HostWords, postJson, strangersDocument } from "./protocol-strangers";
import { basicOf, type Credentials, formProof, proofHeader } from "./protocol-proofs";
import type { Decision } from "./protocol-steps";
import { isRegistered } from "./protocol-visits";
import {
  apiFacts,
  contextOf,
  identityOf,
  lifetimeOptions,
  type PairName,
  pairs,
  type Person,
} from "./protocol-world";

const origin = "https://host.example";

/** The verifier of every challenge. */
export const verifier = "v".repeat(43);
/** Its challenge (RFC 7636 §4.2). */
export const challenge = createHash("sha256").update(verifier).digest("base64url");

/** The server of one sequence of steps. */
export interface ProtocolServer extends HostWords {
  readonly host: TestHost;
  readonly lagSeconds: number;
  readonly clock: Clock;
  /** Who is signed in in the browser that asks now. */
  person: Person;
  /** When they signed in; a sign-in page is where the host sends those who must sign in again. */
  signedInAt: number;
  /** The URL of the one document that describes a client. */
  readonly documentUrl: string;
  /** Puts another edition of it there. */
  publish(edition: number): void;
  /** Counts what has happened, in a few words. */
  note(words: string): void;
  send(question: Question): Promise<Answer>;
  /** POSTs JSON. */
  sendJson(path: string, value: object): Promise<Answer>;
  rotateKeys(): void;
  close(): Promise<void>;
}

/** How a server is made. */
export interface ServerOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly lagSeconds?: number;
  /** Put ahead of the router, to make it wrong. */
  readonly before?: (app: Express) => void;
  /** What is put in the place of the host's word on tokens, to make it wrong. */
  readonly tokens?: (right: TokenAdapter) => TokenAdapter;
  /** Every answer in a few words, and how often it came. */
  readonly seen: Map<string, number>;
}

/** The path of a pair's endpoint. */
export function pathOf(pair: PairName, endpoint: string): string {
  const [method = "", api = ""] = pair.split("/");
  return `/login/auth/${method}/api/${api}/${endpoint}`;
}

/** The identifier of a pair as an issuer. */
export function issuerOf(pair: PairName): string {
  return origin + pathOf(pair, "").slice(0, -1);
}

const freshKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
/** More than any sequence needs: making one takes time. */
const keys: readonly KeyObject[] = Array.from({ length: 5 }, freshKey);

function neededScopes(req: { readonly query: object }): readonly string[] {
  const need: unknown = Reflect.get(req.query, "need");
  return typeof need === "string" && need !== "" ? need.split(" ") : [];
}

const tellAuth: RequestHandler = (req, res) => void res.json(req.auth);

function bearerRoutes({ app, auth }: TestHost): void {
  for (const api of Object.keys(apiFacts)) {
    const path = `/needs/${api}`;
    const withScopes = auth.requireBearer({ api, scope: neededScopes });
    const any = auth.requireBearer({ api });
    // a function must name scopes: a route that needs none has no function
    const check: RequestHandler = (req, res, next) =>
      (neededScopes(req).length > 0 ? withScopes : any)(req, res, next);
    app.get(path, check, tellAuth);
  }
}

/** True of every answer of an endpoint: nobody may keep a copy (RFC 6749 §5.1, 9700 §4.3). */
function checkAlways({ path }: Question, { status, headers, body }: Answer): void {
  if (!path.startsWith("/login/")) return;
  // a path that is no endpoint is no answer of the protocol
  if (status !== 404 && headers["cache-control"] !== "no-store")
    throw new Error(`an answer without no-store: ${status} of ${path}`);
  const isError = typeof body["error"] === "string";
  if (isError && "access_token" in body) throw new Error(`an error with a token: ${path}`);
}

/** An answer in a few words, such as `token 400 invalid_grant`. */
function wordsOf({ path }: Question, { status, headers, body }: Answer): string {
  const { pathname } = new URL(path, origin);
  const { location = "" } = headers;
  const error = /[?&]error=(\w+)/.exec(location)?.[1] ?? (location === "" ? body["error"] : "");
  const parts = [pathname.split("/")[pathname.startsWith("/login") ? 6 : 1], status, error];
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}

function signers(signFrom: readonly number[]): NonNullable<AuthServerOptions["signingKeys"]> {
  return keys
    .slice(0, signFrom.length)
    .map((key, index) => (index === 0 ? key : { key, signsFrom: signFrom[index] ?? 0 }));
}

/** Counts and checks every answer. */
function sending(
  listening: ListeningApp,
  note: ProtocolServer["note"],
): Pick<ProtocolServer, "send" | "sendJson"> {
  const checked = (question: Question, answer: Answer): Answer => {
    note(wordsOf(question, answer));
    checkAlways(question, answer);
    return answer;
  };
  return {
    send: async (question) => checked(question, await listening.send(question)),
    sendJson: async (path, value) =>
      checked({ path }, await postJson(listening.port, { path, text: JSON.stringify(value) })),
  };
}

function signInAs(host: TestHost, current: () => ProtocolServer): void {
  host.session = ({ reauthenticate }) => {
    const { person, signedInAt: authTime } = current();
    if (person === "nobody" || reauthenticate) return { kind: "interaction", url: "/signin" };
    const context = contextOf(person);
    const { subject } = identityOf(person);
    return { kind: "authenticated", subject, authTime, ...(context && { context }) };
  };
}

/** Starts a server over this storage, in which the clients of the world are registered. */
export async function startProtocolServer(options: ServerOptions): Promise<ProtocolServer> {
  const { storage, clock, lagSeconds = 0, before, tokens: wrong, seen } = options;
  const signFrom = [0];
  const stranger = await strangersDocument();
  const { apis, tokens } = adaptersOf(() => server);
  const host = testHost({
    storage,
    apis,
    tokens: wrong?.(tokens) ?? tokens,
    lifetimes: lifetimeOptions,
    revocationLagSeconds: lagSeconds,
    signingKeys: signers(signFrom),
    insecureLoopbackClients: true,
    ...(before && { before }),
  });
  bearerRoutes(host);
  signInAs(host, () => server);
  const listening = await listen(host.app);
  const note = (words: string): void => void seen.set(words, (seen.get(words) ?? 0) + 1);
  const server: ProtocolServer = {
    host,
    lagSeconds,
    clock,
    note,
    documentUrl: stranger.url,
    publish: (edition) => stranger.publish(edition),
    person: "nobody",
    signedInAt: clock.now(),
    decide: () => ({ kind: "issue" }),
    questions: [],
    approveClient: () => ({ kind: "approved" }),
    guestsAsked: 0,
    ...sending(listening, note),
    rotateKeys() {
      if (signFrom.length === keys.length) return;
      signFrom.push(clock.now() + 300);
      host.auth.rotateKeys(signers(signFrom));
    },
    async close() {
      await Promise.all([listening.close(), stranger.close()]);
    },
  };
  return server;
}

/** A pair whose issuer is another one. */
function anotherIssuer(pair: PairName): string {
  return issuerOf(pairs.find((other) => other !== pair) ?? pair);
}

/** POSTs a form with these credentials to an endpoint of a pair (RFC 6749 §2.3.1). */
export async function post(
  server: ProtocolServer,
  {
    pair,
    endpoint,
    credentials,
    form,
  }: { pair: PairName; endpoint: string; credentials: Credentials; form: Fields },
): Promise<Answer> {
  const path = pathOf(pair, endpoint);
  const headers = proofHeader(credentials.proves, { method: "POST", url: origin + path });
  if (credentials.by === "Basic") {
    const basic = { ...headers, Authorization: basicOf(credentials) };
    const answer = await server.send({ path, headers: basic, form });
    if (answer.status === 401 && !answer.headers["www-authenticate"]?.startsWith("Basic "))
      throw new Error(`401 to Basic without its challenge (RFC 6749 §5.2): ${path}`);
    return answer;
  }
  const issuer = issuerOf(pair);
  const at = { issuer, another: anotherIssuer(pair), now: server.clock.now() };
  const own = formProof(credentials, at);
  if (credentials.proof === "used")
    await server.send({ path: pathOf(pair, "revoke"), form: { ...own, token: "nonsense" } });
  return server.send({ path, headers, form: { ...own, ...form } });
}

/** A consent page in a browser of its own. */
export interface OpenPage {
  readonly path: string;
  readonly cookie: string;
  readonly fields: Fields;
}

/** The cookies that an answer sets, as the browser sends them back. */
export function cookiesOf({ headers }: Answer): string {
  return (headers["set-cookie"] ?? []).map((line) => line.split(";")[0]).join("; ");
}

/** Comes back from the host's sign-in page. */
export function resume(
  server: ProtocolServer,
  { pair, interaction, cookie }: { pair: PairName; interaction: string; cookie: string },
): Promise<Answer> {
  const path = pathOf(pair, `authorize/resume?interaction=${interaction}`);
  return server.send({ path, headers: { Accept: "text/html", Cookie: cookie } });
}

/** GETs the authorization endpoint in a new browser. */
export function openAuthorize(
  server: ProtocolServer,
  { pair, fields }: { pair: PairName; fields: Fields },
): Promise<Answer> {
  const path = `${pathOf(pair, "authorize")}?${encode(fields)}`;
  return server.send({ path, headers: { Accept: "text/html" } });
}

/** The form of a consent page with the cookies that came with it; `undefined` when the answer is no such page. */
export function readPage(answer: Answer): OpenPage | undefined {
  const { status, text } = answer;
  const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1];
  if (status !== 200 || action === undefined) return undefined;
  const url = new URL(action.replaceAll("&amp;", "&"), origin);
  return { path: url.pathname + url.search, cookie: cookiesOf(answer), fields: formFields(text) };
}

/** Answers a consent page. */
export function answerPage(
  server: ProtocolServer,
  { path, cookie, fields, decision }: OpenPage & { decision: Decision },
): Promise<Answer> {
  const headers = { Accept: "text/html", Origin: origin, Cookie: cookie };
  const left = { approve: Infinity, "approve the first": 1, "approve nothing": 0, deny: Infinity }[decision];
  const isLeft = ([name]: [string, unknown]): boolean =>
    !/^scope_\d+$/.test(name) || Number(name.slice("scope_".length)) < left;
  const form = Object.fromEntries(Object.entries(fields).filter(isLeft));
  const button = decision === "deny" ? "deny" : "approve";
  return server.send({ path, headers, form: { ...form, decision: button } });
}

/** The parameters that a redirect brings to a registered URI of this client. Throws when it leads anywhere else (RFC 9700 §4.1). */
export function redirectedTo(
  { status, headers, text }: Answer,
  { uri, client }: { uri: string; client: Party },
): URLSearchParams {
  const { location } = headers;
  if (location === undefined || (status !== 302 && status !== 303))
    throw new Error(`no redirect to ${uri} but ${status}: ${text.slice(0, 300)}`);
  const separator = uri.includes("?") ? "&" : "?";
  if (!location.startsWith(uri + separator) || !isRegistered(uri, client))
    throw new Error(`a redirect to ${location}, and not to ${uri}`);
  return new URLSearchParams(location.slice(uri.length + 1));
}
