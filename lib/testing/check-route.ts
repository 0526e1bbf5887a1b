/** Checks that a route of the host is protected: the good token first, then everything that it must refuse. RFC 6750 §3, §3.1; 9470 §3. */
import type { Api, Issuer } from "../protocol/issuer";
import { hostMistake } from "../protocol/mistake";
import { testKey, type TestProof } from "./test-key";
import {
  type MintToken,
  namedScopes,
  type RefusedKind,
  refusedKinds,
  type TestTokenRequest,
} from "./token-request";

/** An answer of `fetch`, supertest or light-my-request. */
export interface RouteAnswer {
  /** The status, as `fetch` and supertest call it. */
  readonly status?: number;
  /** The status, as light-my-request calls it. */
  readonly statusCode?: number;
  /** The headers: an object by lower-case names, or `Headers`. */
  readonly headers: object;
}

/** Sends a request with these headers to the route: `(headers) => request(app).get("/orders").set(headers)`. */
export type SendRequest = (
  headers: Readonly<Record<string, string>>,
) => RouteAnswer | PromiseLike<RouteAnswer>;

/** What to check a route with. */
export interface TestRouteRequest extends TestTokenRequest {
  /**
   * The request that `send` sends, with its whole URL as clients know it: then the tokens are bound to a key, and come with proofs. Needed
   * where `dpop.tokens` of the API is `"required"`.
   */
  readonly route?: Omit<TestProof, "token">;
}

/** One request: what its token is, and how the route must answer. */
interface Trial {
  readonly what: string;
  /** Left out: a request without a token. */
  readonly token?: () => Promise<string>;
  /** `true`: sent as a bearer token, whatever the others are. */
  readonly asBearer?: boolean;
  readonly status: 401 | 403;
  /** What `WWW-Authenticate` must say. */
  readonly error?: "invalid_token" | "insufficient_scope" | "insufficient_user_authentication";
}

interface Checked {
  readonly mints: Readonly<Record<RefusedKind | "issue" | "unbound", MintToken>>;
  readonly issuers: readonly Issuer[];
  readonly storage: { readonly clients: object };
}

function statusOf({ status, statusCode }: RouteAnswer): number {
  const found = status ?? statusCode;
  if (typeof found === "number") return found;
  throw hostMistake(
    "answer-without-status",
    "tokens.checkRoute: send must return the answer of fetch, supertest or light-my-request, which has a status.",
  );
}

function challengeIn({ headers }: RouteAnswer): string {
  const name = "www-authenticate";
  const value: unknown =
    "get" in headers && typeof headers.get === "function"
      ? (headers.get as (name: string) => unknown).call(headers, name)
      : Reflect.get(headers, name);
  return typeof value === "string" ? value : "";
}

function apiOf(request: TestTokenRequest, issuers: readonly Issuer[]): Api | undefined {
  return issuers.find(({ api }) => api.apiId === request.api)?.api;
}

/** The scopes without one of them, for each that no other one implies. */
function lackingOne(request: TestTokenRequest, issuers: readonly Issuer[]): readonly (readonly string[])[] {
  const scopes = namedScopes(request.scope) ?? [];
  const implied = apiOf(request, issuers)?.impliedScopes;
  return scopes.flatMap((one) => {
    const rest = scopes.filter((other) => other !== one);
    return rest.some((other) => implied?.get(other)?.includes(one)) ? [] : [rest];
  });
}

/** Sign-ins that are not enough, for a route that asks for `acr` or `maxAge`: then the good token names its own. */
function weakSignIns({ issue }: Checked["mints"], request: TestTokenRequest): readonly Trial[] {
  const { acr, ...withoutAcr } = request;
  const trial = (what: string, weaker: TestTokenRequest): Trial => ({
    what,
    token: () => issue(weaker),
    status: 401,
    error: "insufficient_user_authentication",
  });
  return [
    acr === undefined ? [] : trial("the token without acr", withoutAcr),
    request.authTime === undefined ? [] : trial("the token of an old sign-in", { ...request, authTime: 0 }),
  ].flat();
}

function trialsOf({ mints, issuers, storage }: Checked, request: TestTokenRequest): Trial[] {
  const { scope: _, ...others } = request;
  const without = [
    request.subject === undefined && "withdrawn",
    !("replace" in storage.clients) && "disabled",
  ];
  const kinds = refusedKinds.filter((kind) => !without.includes(kind));
  const trialOf = (kind: RefusedKind | "unbound"): Trial => {
    const token = (): Promise<string> => mints[kind](request);
    const asBearer = kind === "unbound";
    return { what: `the token that is ${kind}`, token, asBearer, status: 401, error: "invalid_token" };
  };
  const ofKinds = [...kinds.map(trialOf), ...(apiOf(request, issuers)?.dpop ? [trialOf("unbound")] : [])];
  const lacking = lackingOne(request, issuers).map((rest): Trial => {
    const less = rest.length === 0 ? others : { ...others, scope: rest };
    const what = `the token with ${rest.length === 0 ? "no scope" : `only the scope ${rest.join(" ")}`}`;
    return { what, token: () => mints.issue(less), status: 403, error: "insufficient_scope" };
  });
  return [{ what: "no token", status: 401 }, ...ofKinds, ...weakSignIns(mints, request), ...lacking];
}

/** The headers of a request with this token. */
type HeadersWith = (token: string) => Readonly<Record<string, string>>;

const bearer: HeadersWith = (token) => ({ authorization: `Bearer ${token}` });

async function faultOf(
  { what, token, asBearer, status, error }: Trial,
  { send, present }: { send: SendRequest; present: HeadersWith },
): Promise<string[]> {
  const answer = await send(token ? (asBearer ? bearer : present)(await token()) : {});
  const got = statusOf(answer);
  const said = error === undefined || challengeIn(answer).includes(`error="${error}"`);
  if (got === status && said && challengeIn(answer) !== "") return [];
  const wanted = `${status}${error === undefined ? "" : ` and error="${error}"`} in WWW-Authenticate`;
  return [`${what} was answered with ${got}, not with ${wanted}`];
}

/** The tokens to mint, and how to send them. */
function readRoute(
  { route, ...request }: TestRouteRequest,
  issuers: readonly Issuer[],
): { request: TestTokenRequest; present: HeadersWith } {
  if (route) {
    const key = request.key ?? testKey();
    return { request: { ...request, key }, present: (token) => key.headers({ ...route, token }) };
  }
  if (request.key === undefined && !apiOf(request, issuers)?.dpop?.required)
    return { request, present: bearer };
  throw hostMistake(
    "route-of-proofs-missing",
    'tokens.checkRoute: proofs name the request. Write route: { method: "GET", url: "https://api.example.com/orders" }, with the URL that clients use.',
  );
}

/** Why a route may refuse a good token. */
function hintFor(status: number): string {
  if (status === 401)
    return "Does the app have the signingKeys and the storage that testTokens was given, and does the route take tokens of this kind, with the acr and authTime that the route asks for?";
  if (status === 403) return "Which scopes does the route need?";
  return "Is this the route, and did the handler get what it needs?";
}

/**
 * Sends a good token, and everything that the route must refuse.
 *
 * @throws Error that lists what was answered in another way
 */
export async function checkRoute(
  checked: Checked,
  { request: given, send }: { request: TestRouteRequest; send: SendRequest },
): Promise<void> {
  if (typeof send !== "function")
    throw hostMistake(
      "send-not-a-function",
      'tokens.checkRoute: write a function that sends a request, such as (headers) => request(app).get("/orders").set(headers).',
    );
  const { request, present } = readRoute(given, checked.issuers);
  const good = statusOf(await send(present(await checked.mints.issue(request))));
  if (good >= 400)
    throw hostMistake(
      "route-refuses-good-token",
      `tokens.checkRoute: the good token was answered with ${good}. Nothing else was tried, as the route might refuse it for the same reason. ${hintFor(good)}`,
    );
  const faults: string[] = [];
  for (const trial of trialsOf(checked, request)) faults.push(...(await faultOf(trial, { send, present })));
  if (faults.length > 0) {
    const list = faults.map((one) => `- ${one}`).join("\n");
    throw hostMistake("route-answers-wrongly", `tokens.checkRoute:\n${list}`);
  }
}
