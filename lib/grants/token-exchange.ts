/** The token exchange grant: an API calls another one for the person for whom it was called. RFC 8693 §2, §4.1, §5. */
import type { ClientRequest } from "../clients/authenticate-client";
import {
  type AccessToken,
  accessTokenType,
  exchangeResponse,
  type TokenResponse,
} from "../protocol/access-token";
import { mayPassOn } from "../protocol/actor";
import { type Authorization, isLive } from "../protocol/authorization";
import { exchangeGrant, registeredScopes } from "../protocol/client";
import {
  type Api,
  type ApiExchange,
  baseUrlOf,
  type ExchangeSource,
  issuerIdentifier,
} from "../protocol/issuer";
import type { TextParts } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { quoted } from "../protocol/parameters";
import { formatScope, intersect, parseScope } from "../protocol/scope";
import { digestToken } from "../protocol/token-value";
import { checkResource, invalidScope, requireParameter } from "../requests/check-parameters";
import { decideToken } from "../tokens/decide-token";
import { type AccessTokenIssue, issueAccessToken } from "../tokens/issue-tokens";
import { type InvalidTokenProblem, readAccessToken, validityOf } from "../tokens/read-access-token";
import { invalid } from "../tokens/verify-access-token";
import { checkAlive, type GrantPorts, tokenAnswer } from "./grant";

/** Refusals of exchanges. */
export const tokenExchangeReasons = {
  "exchange-of-other-kind":
    "subject_token_type, and requested_token_type if it is sent, must be urn:ietf:params:oauth:token-type:access_token, and actor_token is not read (RFC 8693 §2.1): the client that asks is the actor",
  "subject-token-not-exchangeable": ({ issuer: { api, authMethodId }, client }: ClientRequest): string =>
    `the subject token is unknown, or not of an API from which client ${client.clientId} may exchange, or its end user has not signed in by ${authMethodId} (RFC 8693 §2.1): compare apis.${api.apiId}.tokenExchange, and ask at the issuer of the same method`,
  "subject-token-ended": (why: string): string => `${why} (RFC 8693 §2.2.2)`,
  "subject-token-of-client":
    "the subject token is a client's own (client_credentials), so there is nobody to act for (RFC 8693 §1.1): let the client get a token of its own",
  "too-many-actors":
    "the subject token has passed through four clients (RFC 8693 §4.1): let an API before call this one",
  "exchange-without-scope": (held: string, apiId: string): string =>
    `nothing that ${held} becomes by apis.${apiId}.tokenExchange is asked for, and in the subscription (RFC 8693 §2.1): ask for less, or widen one of the two`,
} as const;

type SubjectProblem = Exclude<
  keyof typeof tokenExchangeReasons,
  "exchange-of-other-kind" | "exchange-without-scope"
>;

/** The refusal of a subject token: always in the same words, so that nobody can probe for tokens of others. @rfc 8693 §2.2.2 */
function invalidSubject<Code extends SubjectProblem>(
  code: Code,
  ...parts: TextParts<(typeof tokenExchangeReasons)[Code]>
): OAuthError {
  return new OAuthError("invalid_request", {
    description: "The subject token is not valid, or not for this client to exchange here.",
    ...because(tokenExchangeReasons, code, ...parts),
  });
}

/** @throws OAuthError for a form that asks for another exchange than this server has. @rfc 8693 §2.1 */
function checkForm({ parameters, issuer }: ClientRequest): void {
  const types = [requireParameter(parameters, "subject_token_type"), parameters.get("requested_token_type")];
  const isKnown = types.every((type) => type === undefined || type === accessTokenType);
  if (!isKnown || parameters.get("actor_token") !== undefined)
    throw new OAuthError("invalid_request", {
      description: "Only access tokens are exchanged, for access tokens, and without actor_token.",
      ...because(tokenExchangeReasons, "exchange-of-other-kind"),
    });
  checkResource(parameters.get("audience"), issuer);
}

/** What an exchange needs before it stores anything. */
type ExchangePorts = Pick<GrantPorts, "storage" | "clients" | "signer" | "tokens" | "emit">;

/** A token of another API, and what its scopes become. */
interface Exchangeable {
  readonly api: Api;
  readonly source: ExchangeSource;
  readonly accessToken: AccessToken;
}

/**
 * The subject token, if an API of the table has got it, and its end user has signed in by the authentication method of this issuer: else an
 * API that only takes a stronger one could be entered by a weaker. It may be bound to a key: whom it was sent to cannot have that.
 */
async function findExchangeable(ports: ExchangePorts, request: ClientRequest): Promise<Exchangeable> {
  const { issuer, client, parameters, now } = request;
  const token = requireParameter(parameters, "subject_token");
  const digest = digestToken(token);
  const { authMethodId } = issuer;
  const { sources, apis } = issuer.api.tokenExchange as ApiExchange;
  const read = [...sources].map(async ([apiId, source]): Promise<readonly Exchangeable[]> => {
    const api = apis.get(apiId) as Api;
    const expected = issuerIdentifier(baseUrlOf(issuer), { authMethodId, apiId });
    // a method that the API has had before is none of its methods
    if (!api.issuers.includes(expected) || !source.clients.includes(client.clientId)) return [];
    const genuine = await readAccessToken(ports, { token, digest, api, now });
    if (typeof genuine === "string" || genuine.accessToken.issuer !== expected) return [];
    return [{ api, source, accessToken: genuine.accessToken }];
  });
  const [found] = (await Promise.all(read)).flat();
  if (!found) throw invalidSubject("subject-token-not-exchangeable", request);
  return found;
}

/** The same, valid and with the scopes that it still has, and the authorization that it descends from. */
type Subject = Exchangeable & { readonly authorization: Authorization };

async function findSubject(ports: ExchangePorts, request: ClientRequest): Promise<Subject> {
  const { now } = request;
  const found = await findExchangeable(ports, request);
  const { accessToken, api } = found;
  const { authorizationId, actor, expiresAt } = accessToken;
  const endedBy = (code: InvalidTokenProblem): OAuthError =>
    invalidSubject("subject-token-ended", invalid(code, accessToken).reason);
  if (expiresAt <= now) throw endedBy("token-expired");
  if (authorizationId === undefined) throw invalidSubject("subject-token-of-client");
  if (!mayPassOn(actor)) throw invalidSubject("too-many-actors");
  const [validity, authorization] = await Promise.all([
    validityOf(ports, { accessToken, api, now, fresh: true }),
    ports.storage.authorizations.find(authorizationId, now),
  ]);
  if (validity.kind === "ended") throw endedBy(validity.code);
  if (!isLive(authorization, now)) throw endedBy("token-authorization-ended");
  return { ...found, accessToken: validity.accessToken, authorization };
}

/** What each scope of the subject token becomes. */
function becoming({ source, accessToken }: Subject): readonly (readonly [string, readonly string[]])[] {
  return Object.entries(source.scopes).filter(([name]) => accessToken.scopes.includes(name));
}

/** The scopes that the subject token leads to, as far as they are asked for and the subscription has them. */
function checkScopes(subject: Subject, request: ClientRequest): readonly string[] {
  const { client, issuer, parameters } = request;
  const scope = parameters.get("scope");
  const targets = becoming(subject).flatMap(([, names]) => names);
  const asked = scope === undefined ? targets : parseScope(scope);
  if (!asked) throw invalidScope("scope-malformed", { scope, by: request });
  const scopes = intersect(intersect(registeredScopes(client, issuer), targets), asked);
  if (scopes.length > 0) return scopes;
  throw new OAuthError("invalid_scope", {
    description: "The subject token leads to none of these scopes.",
    ...because(
      tokenExchangeReasons,
      "exchange-without-scope",
      quoted(formatScope(subject.accessToken.scopes)),
      issuer.api.apiId,
    ),
  });
}

/** A token to be issued, whose authorization is of another client. */
type Exchange = AccessTokenIssue & { readonly authorization: Authorization };

/**
 * The token that the subject token is exchanged for, short of its text. Nothing is stored yet.
 *
 * @throws OAuthError when the exchange is refused. Rejects with whatever storage or the host's adapter rejects with.
 */
export async function prepareExchange(ports: ExchangePorts, request: ClientRequest): Promise<Exchange> {
  checkForm(request);
  const subject = await findSubject(ports, request);
  const { accessToken, authorization } = subject;
  const scopes = checkScopes(subject, request);
  const proposal = { grantType: exchangeGrant, request, authorization, scopes } as const;
  const asked = await decideToken(ports, proposal);
  const left = accessToken.expiresAt - request.now;
  const decided = { ...asked, accessTokenSeconds: Math.min(asked.accessTokenSeconds, left) };
  const used = becoming(subject).filter(([, names]) => names.some((name) => decided.scopes.includes(name)));
  const { actor: before, authorizationScopes = used.map(([name]) => name) } = accessToken;
  const actor = { subject: request.client.clientId, ...(before && { actor: before }) };
  return { request, authorization, decided, exchanged: { actor, authorizationScopes } };
}

/** Exchanges the token that an API was called with for one of this API. @rfc 8693 §2.1, §2.2 */
export async function exchangeToken(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const issue = await prepareExchange(ports, request);
  const { authorization, decided } = issue;
  // nothing is spent: what is refused now has stored nothing either
  checkAlive(ports, { request, decided });
  const accessToken = await issueAccessToken(ports, issue);
  ports.emit({
    kind: "token-issued",
    grantType: exchangeGrant,
    issuer: request.issuer.identifier,
    clientId: request.client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes: decided.scopes,
  });
  // no refresh token (RFC 8693 §2.2.1): the API exchanges the token of the next call
  return exchangeResponse(tokenAnswer(ports, { request, decided, accessToken, refreshToken: undefined }));
}
