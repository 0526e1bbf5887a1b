/** Takes the steps of clients with the model and with the server: tokens, revocation, introspection, and calls of an API. */
import { isDeepStrictEqual } from "node:util";
import type { Answer } from "../../__tests__/hosts/listening";
import type { Fields } from "../../__tests__/browser/browser";
import { decided, type HostAnswer, hostWords, laterSeconds, spoken } from "./protocol-decisions";
import { expectRefused, expectThat, type Of, type Run, sameScopes, scopesIn } from "./protocol-expect";
import {
  allowedOf,
  chosen,
  endOf,
  type Granted,
  grantedOf,
  isActive,
  isWithin,
  type Model,
  namedScopes,
  ownScopes,
  type Place,
  provenKey,
  type Refused,
} from "./protocol-model";
import { proofHeader, thumbprintOf } from "./protocol-proofs";
import { issuerOf, post, verifier } from "./protocol-server";
import {
  type Calling,
  callingOf,
  introspected,
  keepTokens,
  ownTokens,
  type Presented,
  redeemed,
  refreshed,
  revoked,
} from "./protocol-tokens";
import type { KeyName } from "./protocol-steps";
import { apiFacts, type ApiName, apiOf, identityOf, pairs } from "./protocol-world";

/** True of every answer with tokens, whatever the model says. */
function checkTokens(granted: Granted, answer: Answer): void {
  const { client, approval } = granted;
  const scopes = scopesIn(answer);
  expectThat(isWithin(scopes, ownScopes(granted)), { said: "no scope beyond the subscription", answer });
  if (approval) expectThat(isWithin(scopes, approval.scopes), { said: "scopes only shrink", answer });
  const holds = "refresh_token" in answer.body;
  if (client.kind === "browser")
    expectThat(!holds, { said: "a browser client never holds a refresh token", answer });
}

/** The host is asked about each token that it may decide about, once and with all that it may know, and about no other. */
function checkQuestions({ server }: Run, proposal: Granted | Refused, answer: Answer): void {
  const [asked, ...more] = server.questions;
  if (proposal.kind === "refused")
    return expectThat(asked === undefined, { said: "the host is not asked", answer });
  expectThat(asked !== undefined && more.length === 0, { said: "the host is asked once", answer });
  const { client, pair, approval, scopes } = proposal;
  const { subject, contextKey } = approval ? identityOf(approval.person) : {};
  const isRight =
    asked.client.clientId === client.id &&
    asked.client.selfDescribed?.by === client.self?.by &&
    asked.issuer === issuerOf(pair) &&
    asked.apiId === apiOf(pair) &&
    asked.subject === subject &&
    (asked.authorization?.context?.key ?? "") === (contextKey ?? "") &&
    sameScopes(asked.authorization?.grantedScopes ?? [], approval ? grantedOf(approval) : []) &&
    sameScopes(asked.scopes, scopes);
  expectThat(isRight, { said: `the host is asked about ${scopes.join(" ")} for ${client.id}`, answer });
}

function checkHostRefusal({ status, errors }: Refused, answer: Answer): void {
  expectRefused({ kind: "refused", status, errors }, answer);
  const retryAfter = answer.headers["retry-after"];
  if (status === 503) expectThat(retryAfter === String(laterSeconds), { said: "when to come again", answer });
}

function settleTokens(
  { server, model }: Run,
  { expected, answer }: { expected: Granted; answer: Answer },
): void {
  expectThat(answer.status === 200, { said: `tokens for ${expected.scopes.join(" ")}`, answer });
  checkTokens(expected, answer);
  const body = answer.body as { access_token: string; refresh_token?: string };
  const { access_token: access, refresh_token: refresh } = body;
  const { seconds } = expected;
  expectThat(answer.body["expires_in"] === seconds, { said: `expires_in ${seconds}`, answer });
  const type = expected.key ? "DPoP" : "bearer";
  expectThat(answer.body["token_type"] === type, { said: `token_type ${type}`, answer });
  expectThat(sameScopes(scopesIn(answer), expected.scopes), {
    said: `scope ${expected.scopes.join(" ")}`,
    answer,
  });
  const { refresh: which } = expected;
  if (which === "none") expectThat(refresh === undefined, { said: "no refresh token", answer });
  else if (which === "new") {
    const isNew = refresh !== undefined && !model.refreshTokens.some(({ text }) => text === refresh);
    expectThat(isNew, { said: "a new refresh token", answer });
  } else expectThat(refresh === which.text, { said: "the same refresh token again", answer });
  expectThat(!model.accessTokens.some(({ text }) => text === access), { said: "a new access token", answer });
  keepTokens(model, { granted: expected, access, refresh });
  server.note(`${expected.key ? "bound " : ""}tokens for ${expected.client.who}`);
  if (expected.key) server.note(`tokens for ${expected.client.who}`);
}

/** Asks for tokens, lets the host have its say, and compares. */
async function takeTokens(
  run: Run,
  {
    proposal,
    host,
    calling,
    form,
  }: { proposal: Granted | Refused; host: HostAnswer; calling: Calling; form: Fields },
): Promise<Answer> {
  const { server, model } = run;
  const isAsked = proposal.kind === "granted";
  server.questions = [];
  server.decide = () => (isAsked ? spoken(model, { granted: proposal, answer: host }) : { kind: "issue" });
  const { pair } = calling;
  const answer = await post(server, { pair, endpoint: "token", credentials: calling, form });
  checkQuestions(run, proposal, answer);
  if (!isAsked) {
    expectRefused(proposal, answer);
    return answer;
  }
  const expected = decided(model, { granted: proposal, answer: host });
  server.note(`the host says ${host}`);
  if (expected.kind === "granted") settleTokens(run, { expected, answer });
  else checkHostRefusal(expected, answer);
  if (host === "a no" || host === "a no that revokes")
    expectThat(answer.body["error_description"] === hostWords, { said: "the words of the host", answer });
  return answer;
}

/** A verifier that does not fit, and one that is too short. */
const verifiers = { right: verifier, wrong: "w".repeat(43), short: "v".repeat(42), none: undefined };

/** A client redeems a code. */
export async function takeRedeem(run: Run, step: Of<"redeem">): Promise<void> {
  const approval = chosen(run.model.approvals, step.of);
  const calling = approval && callingOf(run.model, { step, owner: approval, bound: approval.key });
  if (!approval || !calling) return;
  const proposal = redeemed(run.model, { step, calling, approval });
  const uris = { none: undefined, right: approval.redirectUri, wrong: `${approval.redirectUri}x` };
  const form = {
    grant_type: "authorization_code",
    code: approval.code,
    code_verifier: verifiers[step.verifier],
    redirect_uri: uris[step.redirectUri],
  };
  await takeTokens(run, { proposal, host: step.host, calling, form });
}

/** A client refreshes. */
export async function takeRefresh(run: Run, step: Of<"refresh">): Promise<void> {
  const token = chosen(run.model.refreshTokens, step.of);
  const calling = token && callingOf(run.model, { step, owner: token.approval, bound: token.key });
  if (!token || !calling) return;
  const proposal = refreshed(run.model, { step, calling, token });
  const form = {
    grant_type: "refresh_token",
    refresh_token: token.text,
    scope: namedScopes(step.scope, token.approval.pair)?.join(" "),
  };
  const { status } = await takeTokens(run, { proposal, host: step.host, calling, form });
  const { key } = token;
  if (key) run.server.note(`a bound token is refreshed with ${keyWords(key, calling.proves)}: ${status}`);
}

/** A client asks for a token of its own. */
export async function takeCredentials(run: Run, step: Of<"credentials">): Promise<void> {
  const { pair, scope, host, proof, by, key: choice } = step;
  const client = run.model.parties.get(step.client);
  if (!client) return;
  const calling = { client, pair, proof, by, proves: provenKey(pair, { choice, bound: undefined }) };
  const proposal = ownTokens(run.model, { step, calling });
  const form = { grant_type: "client_credentials", scope: namedScopes(scope, pair)?.join(" ") };
  await takeTokens(run, { proposal, host, calling, form });
}

type Owned = Presented & { readonly text: string; readonly owner: Place };

function presentedBy(model: Model, { what, of }: Of<"revoke" | "introspect">): Owned | undefined {
  if (what === "nonsense") {
    const client = model.parties.get("web");
    const owner = client && ({ client, pair: "password/orders" } as const);
    return owner && { kind: "nonsense", text: "nonsense", owner };
  }
  if (what === "access") {
    const item = chosen(model.accessTokens, of);
    return item && { kind: "access", item, text: item.text, owner: item };
  }
  if (what === "refresh") {
    const item = chosen(model.refreshTokens, of);
    return item && { kind: "refresh", item, text: item.text, owner: item.approval };
  }
  const item = chosen(model.approvals, of);
  return item && { kind: "code", item, text: item.code, owner: item };
}

/** The claims among members that mean something else; `undefined` for none. */
function claimsIn({ plan, seats }: Readonly<Record<string, unknown>>): object | undefined {
  const found = { ...(plan !== undefined && { plan }), ...(seats !== undefined && { seats }) };
  return Object.keys(found).length === 0 ? undefined : found;
}

function checkSaid(expected: ReturnType<typeof introspected>, answer: Answer): void {
  if (expected.kind === "refused") return expectRefused(expected, answer);
  const { about } = expected;
  if (!about.active) {
    const isInactive = answer.body["active"] === false && Object.keys(answer.body).length === 1;
    return expectThat(answer.status === 200 && isInactive, { said: "an inactive token", answer });
  }
  const { client, pair, subject, scopes, claims, expiresAt, key } = about;
  const said = JSON.stringify({ client: client.id, pair, subject, scopes, claims, expiresAt, key });
  const { active, client_id: clientId, sub, iss, exp, cnf } = answer.body;
  const isRight =
    active === true &&
    clientId === client.id &&
    sub === subject &&
    iss === issuerOf(pair) &&
    exp === expiresAt &&
    isDeepStrictEqual(cnf, key && { jkt: thumbprintOf(key) }) &&
    isDeepStrictEqual(claimsIn(answer.body), claims) &&
    sameScopes(scopesIn(answer), scopes);
  expectThat(answer.status === 200 && isRight, { said, answer });
}

/** A client asks about a token, or revokes one. */
export async function takeAbout({ server, model }: Run, step: Of<"revoke" | "introspect">): Promise<void> {
  const presented = presentedBy(model, step);
  const calling = presented && callingOf(model, { step, owner: presented.owner });
  if (!presented || !calling) return;
  const { do: endpoint } = step;
  const sent = { pair: calling.pair, endpoint, credentials: calling, form: { token: presented.text } };
  if (endpoint === "introspect") {
    const expected = introspected(model, { calling, presented });
    return checkSaid(expected, await post(server, sent));
  }
  const expected = revoked(model, { calling, presented });
  const answer = await post(server, sent);
  if (expected.kind === "refused") return expectRefused(expected, answer);
  expectThat(answer.status === 200 && answer.text === "{}", { said: "200 {}", answer });
}

/** Which key was proved where one was needed. */
function keyWords(needed: KeyName, proved: KeyName | undefined): string {
  return proved === undefined ? "none" : proved === needed ? "its key" : "another";
}

/** A client calls an API. */
export async function takeCall({ server, model }: Run, { of, at, need, key }: Of<"call">): Promise<void> {
  const token = chosen(model.accessTokens, of);
  if (!token) return;
  const names = Object.keys(apiFacts) as ApiName[];
  const own = apiOf(token.pair);
  const api = at === "own" ? own : (names.filter((name) => name !== own)[of % 2] ?? own);
  const needed = namedScopes(need, pairs.find((pair) => apiOf(pair) === api) ?? token.pair) ?? [];
  const proves = provenKey(token.pair, { choice: key, bound: token.key });
  const url = `https://api.example/needs/${api}`;
  const sent = {
    path: `/needs/${api}?need=${encodeURIComponent(needed.join(" "))}`,
    headers: {
      Authorization: `${proves ? "DPoP" : "Bearer"} ${token.text}`,
      ...proofHeader(proves, { method: "GET", url, token: token.text }),
    },
  };
  const answer = await server.send(sent);
  if (token.key) server.note(`a bound token is called with ${keyWords(token.key, proves)}: ${answer.status}`);
  const ended = endOf(token);
  const isLate = ended !== undefined && server.lagSeconds > 0 && model.now - ended <= server.lagSeconds;
  const passes = isWithin(needed, allowedOf(token)) ? 200 : 403;
  const allowed =
    at !== "own" || model.now >= token.expiresAt || proves !== token.key
      ? [401]
      : isLate
        ? [401, passes]
        : [isActive(model, token) ? passes : 401];
  expectThat(allowed.includes(answer.status), { said: `${allowed.join(" or ")} at ${api}`, answer });
  if (answer.status !== 200) return;
  if (proves) {
    const { status } = await server.send(sent);
    expectThat(status === 401, { said: `401 for a proof that was used, and not ${status}`, answer });
  }
  const { scopes, claims } = answer.body;
  expectThat(sameScopes(scopes as string[], allowedOf(token)), { said: "its scopes", answer });
  expectThat(isDeepStrictEqual(claims, token.claims), {
    said: `claims ${JSON.stringify(token.claims)}`,
    answer,
  });
}
