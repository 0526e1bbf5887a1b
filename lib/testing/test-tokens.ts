/** Access tokens for the tests of a host: good ones, and ones with exactly one thing wrong. RFC 6750 §3.1. */
import { addClient } from "../clients/manage-clients";
import { checkOptions } from "../options/check";
import type { AuthServerOptions } from "../options/options";
import { type ResolvedOptions, resolveOptions } from "../options/resolve";
import type { AccessToken } from "../protocol/access-token";
import { type HostMistake, hostMistake } from "../protocol/mistake";
import { jwtSigner, keyRing } from "../signing/jwt-signer";
import { generateSigningKey, readSigningKey } from "../signing/signing-key";
import type { ClientRegistry } from "../storage/port";
import { type AccessTokenIssue, issueAccessToken } from "../tokens/issue-tokens";
import { checkRoute, type SendRequest, type TestRouteRequest } from "./check-route";
import { currentTime } from "./test-clock";
import { testKey } from "./test-key";
import { type MintToken, readTokenRequest, type RefusedKind, type TestTokenRequest } from "./token-request";
import { type Mint, mintOf, prepareToken, verdictOn } from "./mint";
import { refuseProduction } from "./production";

/** Tokens for the API routes of a host. */
export interface TestTokens {
  /** A good token. With a subject, `auth.authorizations` lists and ends what it descends from. */
  readonly issue: MintToken;
  /** A token that has expired two minutes ago. */
  readonly expired: MintToken;
  /** A token that was revoked itself (RFC 7009). */
  readonly revoked: MintToken;
  /** A token whose person has taken back what they allowed. It needs a subject. */
  readonly withdrawn: MintToken;
  /** A token of a disabled client: of a copy of yours, which stays in `storage.clients` under another id. That needs `replace` there. */
  readonly disabled: MintToken;
  /** A token that another server has issued: signed with a key that yours does not know, or not in your storage. */
  readonly foreign: MintToken;
  /** A token that is bound to a key that nobody has: somebody else sends it as a bearer token. The API must have `dpop`. */
  readonly unbound: MintToken;
  /**
   * Sends requests to a route, each with other headers. It passes when a good token is answered with less than 400, and when no token,
   * every refused kind that is possible, and a token that lacks one of the scopes are answered as RFC 6750 §3.1 says. As the good token
   * passes, the others are refused for what is wrong with them.
   *
   * @throws Error that lists each answer that was wrong.
   */
  readonly checkRoute: (request: TestRouteRequest, send: SendRequest) => Promise<void>;
}

type Spoil = (
  mint: Mint,
  one: { readonly issue: AccessTokenIssue; readonly good: string; readonly accessToken: AccessToken },
) => Promise<string>;

/** Beyond what a verifier may tolerate, and within the time that a database keeps records for slow clocks. */
const expiredForSeconds = 120;

const expired: Spoil = (mint, { issue }) => {
  const { request, decided } = issue;
  const now = request.now - decided.accessTokenSeconds - expiredForSeconds;
  return issueAccessToken(mint, { ...issue, request: { ...request, now } });
};

const revoked: Spoil = async ({ storage, now }, { accessToken: { tokenId, clientId, expiresAt }, good }) => {
  await storage.accessTokens.revoke({ tokenId, clientId, expiresAt }, now);
  return good;
};

const withdrawn: Spoil = async ({ storage, now }, { issue: { authorization }, good }) => {
  if (authorization) await storage.authorizations.revoke(authorization.authorizationId, now);
  return good;
};

// a client of its own: no other token of the test may be refused with it
const disabled: Spoil = async (mint, { issue }) => {
  const { storage, now, randomId } = mint;
  const client = { ...issue.request.client, clientId: randomId(), disabled: true };
  await addClient(storage.clients as ClientRegistry, client);
  const ids = { clientId: client.clientId, authorizationId: randomId() };
  const authorization = issue.authorization && { ...issue.authorization, ...ids };
  if (authorization) await storage.authorizations.create(authorization, now);
  const { actor, ...others } = issue.exchanged ?? {};
  const exchanged = actor && { ...others, actor: { ...actor, subject: client.clientId } };
  const request = { ...issue.request, client };
  return issueAccessToken(mint, { ...issue, authorization, exchanged, request } as AccessTokenIssue);
};

const foreign: Spoil = (mint, { issue }) => {
  if (issue.request.issuer.api.accessTokenFormat === "opaque") return Promise.resolve(mint.randomToken());
  const keys = [readSigningKey(generateSigningKey())];
  const signer = jwtSigner(keyRing({ keys, tokenSeconds: 1 }), mint.clock);
  return issueAccessToken({ ...mint, signer }, issue);
};

const unbound: Spoil = (mint, { issue }) =>
  issueAccessToken(mint, { ...issue, request: { ...issue.request, key: testKey().thumbprint } });

/** The kinds that every API has, and the one of APIs with `dpop`. */
type SpoiledKind = RefusedKind | "unbound";

const spoil: Readonly<Record<SpoiledKind, Spoil>> = {
  expired,
  revoked,
  withdrawn,
  disabled,
  foreign,
  unbound,
};

/** A good token, which the server would accept, and how it came to be. */
async function mintGood(
  options: ResolvedOptions,
  { by, request }: { by: string; request: TestTokenRequest },
): Promise<{ readonly mint: Mint } & Parameters<Spoil>[1]> {
  refuseProduction(by);
  const mint = mintOf(options, currentTime());
  const asked = readTokenRequest(request, { by, issuers: options.issuers, now: mint.now });
  if (by === "tokens.withdrawn" && asked.subject === undefined)
    throw hostMistake(
      "withdrawn-without-subject",
      `${by}: a person takes back what they allowed, and there is no subject. Write one.`,
    );
  const issue = await prepareToken(mint, asked);
  const good = await issueAccessToken(mint, issue);
  const verdict = await verdictOn(mint, { token: good, issue });
  if (verdict.kind === "valid") return { mint, issue, good, accessToken: verdict.accessToken };
  throw hostMistake(
    "good-token-refused",
    `${by}: a good token is refused with these options: ${verdict.reason}.`,
  );
}

/** A token that would be accepted, but for its kind. */
async function mintRefused(
  options: ResolvedOptions,
  { kind, request }: { kind: SpoiledKind; request: TestTokenRequest },
): Promise<string> {
  const by = `tokens.${kind}`;
  const asked = kind === "unbound" ? { key: testKey(), ...request } : request;
  const { mint, ...good } = await mintGood(options, { by, request: asked });
  const token = await spoil[kind](mint, good);
  const verdict = await verdictOn(mint, { token, issue: good.issue });
  if (verdict.kind === "invalid") return token;
  throw hostMistake(
    "spoiled-token-accepted",
    `${by}: the token is still accepted. Does the storage keep what it is told?`,
  );
}

function resolve(options: AuthServerOptions): ResolvedOptions {
  try {
    return resolveOptions(checkOptions(options), currentTime());
  } catch (error) {
    const { code, message } = error as HostMistake;
    const text = `testTokens takes the options of createAuthServer. ${message}`;
    throw hostMistake(code, text, { cause: error });
  }
}

/**
 * Mints access tokens for tests, from the options that your app gives to `createAuthServer`: with their signing keys, and into their
 * storage. So the real `requireBearer` decides about them, and no part of it is replaced. Pass the same storage and the same keys as
 * your app.
 *
 * @throws TypeError when the options are wrong, and in production.
 */
export function testTokens(options: AuthServerOptions): TestTokens {
  refuseProduction("testTokens");
  const resolved = resolve(options);
  const issue = async (request: TestTokenRequest): Promise<string> =>
    (await mintGood(resolved, { by: "tokens.issue", request })).good;
  const refused =
    (kind: SpoiledKind): MintToken =>
    (request) =>
      mintRefused(resolved, { kind, request });
  const mints = {
    issue,
    expired: refused("expired"),
    revoked: refused("revoked"),
    withdrawn: refused("withdrawn"),
    disabled: refused("disabled"),
    foreign: refused("foreign"),
    unbound: refused("unbound"),
  };
  return {
    ...mints,
    checkRoute: (request, send) => checkRoute({ mints, ...resolved }, { request, send }),
  };
}
