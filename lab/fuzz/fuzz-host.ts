/** The host that the fuzz tests ask, and the good requests that they begin with. */
import type { Server } from "node:http";
import express, { type ErrorRequestHandler, type Express, type Request } from "express";
import { type AuthServerOptions, memoryStorage } from "../../lib";
import { type Pair as ApiPair, pairPath } from "../../__tests__/hosts/apis";
import { authorizationParameters, codeVerifier } from "../../__tests__/browser/authorization-request";
import { authorize } from "../../__tests__/browser/authorize";
import { formFields } from "../../__tests__/browser/browser";
import { assertionOf, keyed } from "../../__tests__/requests/client-assertions";
import {
  basic,
  type ClientName,
  clients,
  credentials,
  machineSecret,
  otherSecret,
  webSecret,
} from "../../__tests__/hosts/clients";
import { bytesOf, type FuzzRequest, pairsOf } from "./fuzz-requests";
import { signedIn, signedOut, type TestHost, testHost } from "../../__tests__/hosts/host";
import { listeners } from "../../__tests__/hosts/in-front";
import { obtainCode, obtainTokens } from "../../__tests__/browser/journey";
import type { WireAnswer } from "./fuzz-connection";
import { listening } from "./fuzz-listening";
import { apisWithRegistration, nativeMetadata, webMetadata } from "../../__tests__/requests/registration";

/** A host on a port. */
export interface FuzzHost {
  readonly host: TestHost;
  readonly server: Server;
  /** Replaces words such as `~code~`, in the same way for the same number. */
  fill(text: string, number: number): string;
  /** What must not stand in any answer but those that give it. */
  readonly secrets: readonly string[];
  /** Where answers may lead beside redirect URIs, with a state behind. */
  readonly targets?: readonly string[];
  /** What this host alone finds wrong with a request and its answer. */
  offenceOf?(sent: string, answer: WireAnswer): Promise<string | undefined>;
  close(): Promise<void>;
}

const sealing = "the secret of the host of the fuzz tests";
const each = 8;

/** Who the person is, by their cookie. */
export function sessionOf({ headers: { cookie = "" } }: Request) {
  if (cookie.includes("session=alice")) return { ...signedIn, authTime: Math.floor(Date.now() / 1000) - 100 };
  return cookie.includes("session=denied") ? ({ kind: "denied" } as const) : signedOut;
}

function newHost(options: Partial<AuthServerOptions>): TestHost {
  const method = {
    authenticate({ req, reauthenticate }: { req: Request; reauthenticate: boolean }) {
      return reauthenticate ? signedOut : sessionOf(req);
    },
  };
  const host = testHost({
    apis: apisWithRegistration({}),
    authMethods: { password: method, otp: method, sso: method },
    secrets: [sealing],
    storage: memoryStorage({ clients: [...Object.values(clients), keyed] }),
    before: (app) => void app.disable("x-powered-by"),
    ...options,
  });
  const { app, auth } = host;
  app.post("/own/allow", express.urlencoded({ extended: false }), (req, res) => auth.approve(req, res));
  app.all("/own/deny", express.urlencoded({ extended: false }), (req, res) => auth.deny(req, res));
  app.all("/own/resume", (req, res) => auth.resume(req, res));
  app.all("/own/question", async (req, res) => void res.json((await auth.interaction(req)) ?? {}));
  endOf(app);
  return host;
}

const refuse: ErrorRequestHandler = (error: Error & { status?: number }, _req, res, next) => {
  if (res.headersSent) next(error);
  else res.status(error.status ?? 500).json({ host: error.message });
};

/** The last handlers: those of Express would repeat the path. */
export function endOf(app: Express): void {
  app.use((_req, res) => void res.status(404).json({ host: "nothing here" }));
  app.use(refuse);
}

/** A browser of Alice. */
export function signedInBrowser(host: TestHost) {
  const browser = host.browser();
  browser.cookies.set("session", "alice");
  return browser;
}

/** A page that is shown, and the cookie of its browser. */
async function shownPage(host: TestHost) {
  const browser = signedInBrowser(host);
  const page = await authorize(browser, { client: "web", fields: { prompt: "consent" } });
  const { interaction = "", form_token: form = "" } = formFields(page.text);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { interaction, form, cookie };
}

/** A question that has led to the sign-in page. */
async function pendingSignIn(host: TestHost) {
  const browser = host.browser();
  const { headers } = await authorize(browser, { client: "web" });
  const { searchParams } = new URL(headers["location"] as string, "https://host.example");
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { interaction: searchParams.get("interaction") ?? "", cookie: `session=alice; ${cookie}` };
}

/** Several of these, one after the other. */
export async function several<T>(make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let count = 0; count < each; count += 1) made.push(await make());
  return made;
}

/** The value of a word for an input with this number. */
export type Word = (number: number) => string;

/** One of them in turn. */
export function from(list: readonly string[]): Word {
  return (number) => list[number % list.length] ?? "";
}

/** The values of the words. */
async function wordsOf(host: TestHost): Promise<Readonly<Record<string, Word>>> {
  const opaquePair: ApiPair = { api: "reports" };
  const browser = signedInBrowser(host);
  const codes = await several(() => obtainCode(host, { client: "web", browser }));
  const tokens = await several(() => obtainTokens(host, { client: "web", browser }));
  const opaque = await several(() => obtainTokens(host, { client: "web", browser, pair: opaquePair }));
  const pages = await several(() => shownPage(host));
  const signIns = await several(() => pendingSignIn(host));
  return {
    code: from(codes),
    jwt: from(tokens.map(({ access_token: token }) => token)),
    refresh: from(tokens.map(({ refresh_token: token = "" }) => token)),
    opaque: from(opaque.map(({ access_token: token }) => token)),
    interaction: from(pages.map(({ interaction }) => interaction)),
    form: from(pages.map(({ form }) => form)),
    cookie: from(pages.map(({ cookie }) => cookie)),
    pending: from(signIns.map(({ interaction }) => interaction)),
    signin: from(signIns.map(({ cookie }) => cookie)),
    verifier: () => codeVerifier,
    secret: () => webSecret.secret,
    other: () => otherSecret.secret,
    machine: () => machineSecret.secret,
    basic: () => basic("web", webSecret.secret),
    assertion: () => assertionOf(),
  };
}

/** Such a host, asked in Express or in front of it. */
export async function fuzzHost(
  way: keyof typeof listeners = "in Express",
  options: Partial<AuthServerOptions> = {},
): Promise<FuzzHost> {
  const host = newHost(options);
  const words = await wordsOf(host);
  host.events.length = 0;
  const listened = await listening(listeners[way](host));
  const secrets = [sealing, codeVerifier, webSecret.secret, otherSecret.secret, machineSecret.secret];
  const fill = (text: string, number: number): string =>
    text.replaceAll(/~([a-z]+)~/g, (whole, word: string) => words[word]?.(number) ?? whole);
  return { ...listened, host, fill, secrets };
}

const formHeader = ["Content-Type", "application/x-www-form-urlencoded"] as const;

/** A GET with these fields in its query. */
export function get(
  path: string,
  fields: Readonly<Record<string, string>> = {},
  headers: FuzzRequest["headers"] = [],
): FuzzRequest {
  return { method: "GET", path, query: pairsOf(fields), headers, body: undefined };
}

/** A POST of this form. */
export function post(
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: FuzzRequest["headers"] = [],
): FuzzRequest {
  return { method: "POST", path, query: [], headers: [formHeader, ...headers], body: pairsOf(fields) };
}

const origin = ["Origin", "https://host.example"] as const;
const spaOrigin = ["Origin", "https://spa.example"] as const;
const alice = ["Cookie", "session=alice"] as const;
const path = pairPath();
const reports = pairPath({ api: "reports" });
const withWords: Partial<Record<ClientName, string>> = {
  web: "~secret~",
  other: "~other~",
  machine: "~machine~",
};

function proven(client: ClientName): Record<string, string> {
  const secret = withWords[client];
  return secret === undefined ? credentials(client) : { client_id: client, client_secret: secret };
}

const assertion = {
  client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  client_assertion: "~assertion~",
};
const redeemed = { grant_type: "authorization_code", code: "~code~", code_verifier: "~verifier~" };

const authorizations = (["web", "native", "spa", "machine"] as const).flatMap((client) => [
  get(`${path}/authorize`, authorizationParameters(client), [alice]),
  get(`${path}/authorize`, authorizationParameters(client)),
]);

/** Good requests, by what they are for. */
export const goodRequests = {
  authorize: [
    ...authorizations,
    post(`${path}/authorize`, authorizationParameters("web"), [alice, origin]),
    get(`${path}/authorize`, { ...authorizationParameters("web"), prompt: "none" }, [alice]),
    get(
      `${path}/authorize`,
      { ...authorizationParameters("web"), max_age: "10", ui_locales: "de en", login_hint: "a" },
      [alice],
    ),
    get(
      `${reports}/authorize`,
      { ...authorizationParameters("web"), scope: "reports:read", resource: "https://api.example/reports" },
      [alice],
    ),
  ],
  pages: [
    ...["approve", "deny", "switch"].map((decision) =>
      post(
        `${path}/authorize/consent`,
        { interaction: "~interaction~", form_token: "~form~", decision, scope_0: "on" },
        [["Cookie", "~cookie~"], origin],
      ),
    ),
    get(`${path}/authorize/resume`, { interaction: "~pending~" }, [["Cookie", "~signin~"]]),
    get("/own/question", { interaction: "~pending~" }, [["Cookie", "~signin~"]]),
    get("/own/resume", { interaction: "~pending~" }, [["Cookie", "~signin~"]]),
    ...["/own/allow", "/own/deny"].map((own) =>
      post(own, { interaction: "~interaction~" }, [["Cookie", "~cookie~"], origin]),
    ),
  ],
  token: [
    ...(["web", "native", "spa"] as const).map((client) =>
      post(`${path}/token`, { ...redeemed, ...proven(client) }),
    ),
    post(`${path}/token`, redeemed, [["Authorization", "~basic~"]]),
    post(`${path}/token`, {
      grant_type: "refresh_token",
      refresh_token: "~refresh~",
      scope: "orders:read",
      ...proven("web"),
    }),
    post(`${path}/token`, { grant_type: "client_credentials", ...proven("machine") }),
    post(`${path}/token`, { grant_type: "client_credentials", ...assertion }),
    post(`${path}/token`, {
      grant_type: "client_credentials",
      client_id: "keyed",
      scope: "orders:read",
      ...assertion,
    }),
    post(`${path}/token`, { ...redeemed, ...proven("spa") }, [spaOrigin]),
    {
      ...post(`${path}/token`, {}, [spaOrigin, ["Access-Control-Request-Method", "POST"]]),
      method: "OPTIONS",
    },
  ],
  introspect: ["~jwt~", "~opaque~", "~refresh~"].flatMap((token) => [
    post(`${path}/introspect`, { token, ...proven("web") }),
    post(`${reports}/introspect`, { token, token_type_hint: "access_token" }, [["Authorization", "~basic~"]]),
  ]),
  revoke: ["~jwt~", "~opaque~", "~refresh~"].flatMap((token) => [
    post(`${path}/revoke`, { token, ...proven("web") }),
    post(`${reports}/revoke`, { token, token_type_hint: "refresh_token", ...assertion }),
    post(`${path}/revoke`, { token, ...proven("spa") }, [spaOrigin]),
  ]),
  register: [
    webMetadata,
    nativeMetadata,
    {
      ...webMetadata,
      client_name: "é",
      scope: "orders:read",
      jwks: { keys: [{ kty: "EC" }] },
      token_endpoint_auth_method: "private_key_jwt",
    },
  ].map((metadata): FuzzRequest => ({
    method: "POST",
    path: `${path}/register`,
    query: [],
    headers: [["Content-Type", "application/json"]],
    body: bytesOf(
      JSON.stringify({
        client_name: 'A <x"> App',
        contacts: ["a@b.example"],
        response_types: ["code"],
        ...metadata,
      }),
    ),
  })),
  documents: [
    get(`${path}/.well-known/oauth-authorization-server`),
    get("/login/jwks"),
    get(`/.well-known/oauth-authorization-server${path}`),
    get("/.well-known/oauth-protected-resource/orders"),
    { ...get("/.well-known/oauth-protected-resource/reports", {}, [spaOrigin]), method: "HEAD" },
    { ...get("/.well-known/oauth-protected-resource/files", {}, [spaOrigin]), method: "OPTIONS" },
  ],
  bearer: ["/orders", "/reports", "/files", "/orders/changes"].flatMap((api) => [
    get(api, {}, [["Authorization", "Bearer ~jwt~"]]),
    get(api, {}, [["Authorization", "Bearer ~opaque~"]]),
    get(api, { access_token: "~jwt~" }),
    post(api, { access_token: "~jwt~" }, [["Authorization", "Bearer ~opaque~"]]),
    { ...get(api, {}, [spaOrigin, ["Access-Control-Request-Method", "GET"]]), method: "OPTIONS" },
  ]),
} as const satisfies Record<string, readonly FuzzRequest[]>;
