/** A host with `openid` and sign-out, and the good requests of relying parties: authorization, userinfo, the logout endpoint. */
import type { AddressInfo } from "node:net";
import express, { type Request } from "express";
import { memoryStorage, type SignOutAnswer, type SignOutRequest, type Storage } from "../../lib";
import { storagePortNames } from "../../lib/storage/port";
import { authorizationParameters, codeVerifier } from "../../__tests__/browser/authorization-request";
import { obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { apis, origin, pairPath } from "../../__tests__/hosts/apis";
import { push } from "../../__tests__/requests/pushed-requests";
import { clients, machineSecret, otherSecret, webSecret } from "../../__tests__/hosts/clients";
import { signedOut, testHost, type TestHost } from "../../__tests__/hosts/host";
import { listeners } from "../../__tests__/hosts/in-front";
import { type WireAnswer, valuesOf } from "./fuzz-connection";
import {
  endOf,
  from,
  type FuzzHost,
  get,
  post,
  sessionOf,
  several,
  signedInBrowser,
  type Word,
} from "./fuzz-host";
import { listening } from "./fuzz-listening";
import type { FuzzRequest } from "./fuzz-requests";
import { takeAdvice } from "./fuzz-run";

const sealing = "the secret of the host of the fuzz tests of openid";
const path = pairPath();
const reports = pairPath({ api: "reports" });

/** Where people may be led once they are signed out. */
const targets = ["https://web.example/bye?a=b", "https://other.example/bye?a=b"] as const;
const [ofWeb] = targets;
const scope = "openid email orders:read";

/** Storage that notes what is written. */
function notingStorage(): { readonly storage: Storage; readonly writes: string[] } {
  const web = { ...clients.web, postLogoutRedirectUris: [ofWeb] };
  const other = { ...clients.other, postLogoutRedirectUris: [targets[1]] };
  const storage = memoryStorage({ clients: Object.values({ ...clients, web, other }) });
  const writes: string[] = [];
  const ports = storagePortNames.map((port) => {
    const read = (target: object, name: string | symbol): unknown => {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== "function") return found;
      if (/^(?:find|list|is)/.test(String(name))) return found.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const answer: unknown = await Reflect.apply(found, target, args);
        // a request that was used before is refused by the step that would use it
        if (answer !== "taken") writes.push(`${port}.${String(name)}`);
        return answer;
      };
    };
    return [port, new Proxy(storage[port], { get: read })];
  });
  return { storage: Object.fromEntries(ports) as Storage, writes };
}

/** What is wrong with a question about signing out. */
function wrongQuestion({ client, subject, uiLocales = "" }: SignOutRequest): string | undefined {
  if (client && !Object.hasOwn(clients, client.clientId)) return "the host is asked about an unknown client";
  if (subject !== undefined && subject !== "alice") return "the host is asked about an unknown person";
  return uiLocales.length > 1_000 ? "the host is asked in too many languages" : undefined;
}

function authenticate({ req, reauthenticate }: { req: Request; reauthenticate: boolean }) {
  return reauthenticate ? signedOut : sessionOf(req);
}

function newHost(storage: Storage, troubles: string[]): TestHost {
  const signOut = (question: SignOutRequest): SignOutAnswer => {
    const wrong = wrongQuestion(question);
    if (wrong !== undefined) troubles.push(wrong);
    return (question.req.headers.cookie ?? "").includes("session=alice")
      ? { kind: "interaction", url: "/sign-out" }
      : { kind: "signed-out" };
  };
  const openid = { claims: async () => ({ email: "alice@example.org" }), idTokenAlgorithm: "ES256" } as const;
  const both = Object.fromEntries(
    ["orders", "reports"].map((id) => [
      id,
      { ...apis[id]!, redirectUri: "required" as const, openid, pushedRequests: "optional" as const },
    ]),
  );
  const host = testHost({
    storage,
    secrets: [sealing],
    authMethods: { password: { authenticate, signOut }, otp: { authenticate }, sso: { authenticate } },
    apis: { ...apis, ...both },
    before: (app) => void app.disable("x-powered-by"),
  });
  host.app.post("/own/sign-out", express.urlencoded({ extended: false }), (req, res) => {
    host.auth.resume(req, res, { otherwise: "/" });
  });
  endOf(host.app);
  return host;
}

/** A ticket of a sign-out under way. */
async function ticketOf(ask: (query: string) => Promise<Response>, hint: string): Promise<string> {
  const query = new URLSearchParams({
    id_token_hint: hint,
    post_logout_redirect_uri: ofWeb,
    state: "a",
  }).toString();
  const { headers } = await ask(`${path}/logout?${query}`);
  return new URL(headers.get("location") ?? "", origin).searchParams.get("interaction") ?? "";
}

/** A request that `web` has pushed. */
async function pushedRequest(host: TestHost): Promise<string> {
  const { body } = await push(host, { fields: { scope, nonce: "n" } });
  return (body as { request_uri: string }).request_uri;
}

type WithIdToken = Tokens & { readonly id_token?: string };

async function wordsOf(host: TestHost, ask: (query: string) => Promise<Response>) {
  const browser = signedInBrowser(host);
  const asked = { browser, fields: { scope } } as const;
  const codes = await several(() => obtainCode(host, { client: "web", ...asked }));
  const tokens: WithIdToken[] = await several(() => obtainTokens(host, { client: "web", ...asked }));
  const others: WithIdToken[] = await several(() => obtainTokens(host, { client: "other", ...asked }));
  const opaque = await several(() =>
    obtainTokens(host, { client: "web", browser, fields: { scope: "openid" }, pair: { api: "reports" } }),
  );
  const idTokens = tokens.map(({ id_token: token = "" }) => token);
  const tickets = await several(() => ticketOf(ask, idTokens[0] ?? ""));
  const requestUris = await several(() => pushedRequest(host));
  const words: Readonly<Record<string, Word>> = {
    code: from(codes),
    jwt: from(tokens.map(({ access_token: token }) => token)),
    refresh: from(tokens.map(({ refresh_token: token = "" }) => token)),
    opaque: from(opaque.map(({ access_token: token }) => token)),
    idtoken: from(idTokens),
    otherid: from(others.map(({ id_token: token = "" }) => token)),
    ticket: from(tickets),
    pushed: from(requestUris),
    verifier: () => codeVerifier,
    secret: () => webSecret.secret,
  };
  const texts = [...tokens, ...others, ...opaque].flatMap((each: WithIdToken) => [
    each.access_token,
    each.refresh_token ?? "",
    each.id_token ?? "",
  ]);
  return {
    words,
    secrets: [...new Set([...texts, ...codes, ...tickets, ...requestUris])].filter((text) => text !== ""),
  };
}

const isOwnStep = /^https:\/\/host\.example\/login\/auth\/\w+\/api\/\w+\/logout\/resume\?/;

/** How much of the request a ticket carries, in characters. */
function carriedBy(location: string): number {
  const [, text = ""] = /[?&]interaction=([\w-]+)\./.exec(location) ?? [];
  if (text === "") return 0;
  const ticket = JSON.parse(Buffer.from(text, "base64url").toString()) as Readonly<Record<string, string>>;
  return ["target", "state", "uiLocales"].reduce((sum, name) => sum + (ticket[name] ?? "").length, 0);
}

/** Where an answer of the logout endpoint leads in the end, for somebody who is signed out. */
async function endOfSignOut(ask: (query: string) => Promise<Response>, location: string): Promise<string> {
  let at = location;
  for (let turns = 0; turns < 3 && isOwnStep.test(at); turns += 1) {
    const { status, headers } = await ask(at.slice(origin.length));
    if (status >= 500) return `status ${status}`;
    at = headers.get("location") ?? "";
  }
  return at;
}

/** True for a page, or a target that a client has registered, with nothing but a state behind it. */
function isGoodEnd(at: string): boolean {
  const target = targets.find((each) => at.startsWith(each));
  return at === "" || (target !== undefined && /^(?:&state=[^&#]*)?$/.test(at.slice(target.length)));
}

/** A request for a page of signing out. */
const isSignOut = /^\S+ \/login\/auth\/password\/api\/\w+\/logout(?:\/resume)?[ ?]/;

/** Such a host on a port. */
export async function openidHost(): Promise<FuzzHost> {
  const { storage, writes } = notingStorage();
  const troubles: string[] = [];
  const host = newHost(storage, troubles);
  const listened = await listening(listeners["in Express"](host));
  const { port } = listened.server.address() as AddressInfo;
  const ask = (query: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${query}`, { redirect: "manual" });
  const { words, secrets: told } = await wordsOf(host, ask);
  const secrets = [sealing, webSecret.secret, otherSecret.secret, machineSecret.secret];
  const hidden = [...secrets, ...told];
  host.events.length = 0;
  writes.length = 0;
  takeAdvice();
  return {
    ...listened,
    host,
    secrets,
    targets,
    fill: (text, number) =>
      text.replaceAll(/~([a-z]+)~/g, (whole, word: string) => words[word]?.(number) ?? whole),
    async offenceOf(sent: string, answer: WireAnswer) {
      const [location = ""] = valuesOf(answer, "location");
      const written = writes.splice(0);
      // a code is given by what is stored
      if (written.length > 0 && !/[?&]code=/.test(location) && !answer.body.includes('name="code"'))
        return `${answer.status} has written ${written.join(", ")}`;
      if (isSignOut.test(sent)) {
        const isOwn = location.startsWith("/sign-out?interaction=");
        const at = isOwn ? "" : await endOfSignOut(ask, location);
        if (carriedBy(location) > 1_000) return `a ticket carries ${carriedBy(location)} characters`;
        if (!isGoodEnd(at)) return `signing out leads to ${at}`;
      }
      // the host is told which scopes the server does not know, whatever they are
      const events = host.events.filter(({ kind }) => kind !== "scopes-ignored");
      const said = [...events.map((event) => JSON.stringify(event)), ...takeAdvice()].join();
      const leak = hidden.find((text) => said.includes(text));
      if (leak !== undefined) return `an event or a warning has ${leak}: ${said}`;
      return troubles.splice(0)[0];
    },
  };
}

const alice = ["Cookie", "session=alice"] as const;
const evil = ["Origin", "https://evil.example"] as const;
const asWeb = { ...authorizationParameters("web"), scope };
const hinted = { id_token_hint: "~idtoken~", post_logout_redirect_uri: ofWeb };

const pushing = { client_id: "web", client_secret: "~secret~" };

const signOuts: readonly Readonly<Record<string, string>>[] = [
  {},
  { ...hinted, state: "a b", ui_locales: "de en" },
  { ...hinted, client_id: "web", logout_hint: "alice" },
  { ...hinted, id_token_hint: "~otherid~", state: "é" },
  { client_id: "web", state: "x" },
  // a little too long
  { ...hinted, state: "x".repeat(1_000) },
  { id_token_hint: "~jwt~", post_logout_redirect_uri: "https://evil.example/" },
];

/** Good requests of relying parties, by what they are for. */
export const openidRequests: Readonly<Record<string, readonly FuzzRequest[]>> = {
  userinfo: [path, reports].flatMap((at) => [
    get(`${at}/userinfo`, {}, [["Authorization", "Bearer ~jwt~"]]),
    get(`${at}/userinfo`, {}, [["Authorization", "Bearer ~opaque~"]]),
    get(`${at}/userinfo`, { access_token: "~jwt~" }),
    get(`${at}/userinfo`, {}, [["Authorization", "Bearer ~idtoken~"]]),
    post(`${at}/userinfo`, { access_token: "~opaque~" }),
    post(`${at}/userinfo`, { access_token: "~jwt~" }, [["Authorization", "Bearer ~jwt~"]]),
    post(`${at}/userinfo`, {}, [["Authorization", "bearer ~opaque~"], evil]),
  ]),
  "the logout endpoint": [
    ...signOuts.flatMap((fields) => [
      get(`${path}/logout`, fields, [alice]),
      get(`${path}/logout`, fields),
      post(`${path}/logout`, fields, [evil]),
    ]),
    get(`${path}/logout/resume`, { interaction: "~ticket~" }, [alice]),
    get(`${path}/logout/resume`, { interaction: "~ticket~" }),
    post("/own/sign-out", { interaction: "~ticket~" }),
  ],
  "the endpoint for pushed requests": [
    post(`${path}/par`, { ...asWeb, ...pushing }),
    post(`${path}/par`, { ...asWeb, ...pushing, id_token_hint: "~idtoken~", state: "x".repeat(2_000) }),
    post(`${path}/par`, { ...asWeb, ...pushing, request_uri: "~pushed~" }),
    post(`${path}/par`, { ...asWeb, client_id: "native" }, [evil]),
    get(`${path}/authorize`, { client_id: "web", request_uri: "~pushed~" }, [alice]),
    get(`${path}/authorize`, { client_id: "web", request_uri: "~pushed~", prompt: "none", state: "é" }),
    get(`${reports}/authorize`, { ...asWeb, request_uri: "~pushed~" }, [alice]),
  ],
  "authorize for a sign-in": [
    get(`${path}/authorize`, { ...asWeb, nonce: "n-0S6_WzA2Mj", max_age: "1000" }, [alice]),
    get(`${path}/authorize`, { ...asWeb, nonce: "a b", id_token_hint: "~idtoken~", prompt: "none" }, [alice]),
    get(`${path}/authorize`, { ...asWeb, max_age: "0", id_token_hint: "~idtoken~", prompt: "none" }, [alice]),
    get(`${path}/authorize`, { ...asWeb, max_age: "0", id_token_hint: "~otherid~", prompt: "none" }, [alice]),
    get(`${path}/authorize`, { ...asWeb, max_age: "10", ui_locales: "de", id_token_hint: "~jwt~" }),
    post(`${path}/authorize`, { ...asWeb, nonce: "a", max_age: "1000", id_token_hint: "~idtoken~" }, [alice]),
    get(`${reports}/authorize`, { ...asWeb, scope: "openid", nonce: "b", prompt: "none" }, [alice]),
  ],
};
