/** Tells whether a request presents a code or a refresh token of the client that it names. RFC 6749 §4.1.3, §6; 7009 §2.1. */
import { belongsTo } from "../protocol/authorization";
import type { Issuer } from "../protocol/issuer";
import type { Parameters } from "../protocol/parameters";
import type { EpochSeconds } from "../protocol/time";
import { parseTokenHandle } from "../protocol/token-value";
import type { Storage } from "../storage/port";

/** Where codes and refresh tokens are found. */
export type GrantStores = Pick<Storage, "authorizations" | "authorizationCodes" | "refreshTokens">;

/** A request of a client that has not been authenticated yet. */
export interface PresentedGrant {
  readonly issuer: Issuer;
  /** Those of the form. */
  readonly parameters: Parameters;
  /** Those that can contain a code or a refresh token at this endpoint. Empty where nothing may be fetched. */
  readonly grantParameters: readonly string[];
  /** The client that the request names. */
  readonly clientId: string;
  readonly now: EpochSeconds;
  readonly isVouchedFor?: IsVouchedFor | undefined;
}

/** Tells whether an identity provider of the issuer has signed this assertion for this client. */
export type IsVouchedFor = (presented: {
  readonly text: string;
  readonly issuer: Issuer;
  readonly clientId: string;
}) => Promise<boolean>;

/**
 * True when a presented code or refresh token was given to this client here. Only then is its metadata document fetched again: anyone can
 * name a URL, but a client with such a token was approved before. The id of the authorization is in access tokens and events, so it proves
 * nothing without the rest of the token. Whether the token is still good is checked later. One of several is enough: a worthless code
 * beside a refresh token must not keep the server from fetching, for what is remembered may have a key that the client has replaced. An
 * identity assertion for the client is as good: a provider that the host has listed vouches for it.
 */
export async function presentsOwnGrant(
  { authorizations, authorizationCodes, refreshTokens }: GrantStores,
  { issuer, parameters, grantParameters, clientId, now, isVouchedFor }: PresentedGrant,
): Promise<boolean> {
  const isOwn = async (name: string): Promise<boolean> => {
    const text = parameters.get(name) ?? "";
    if (name === "assertion") return isVouchedFor?.({ text, issuer, clientId }) ?? false;
    const handle = parseTokenHandle(text);
    if (!handle) return false;
    const [token, authorization] = await Promise.all([
      (name === "code" ? authorizationCodes : refreshTokens).find(handle, now),
      authorizations.find(handle.authorizationId, now),
    ]);
    if (!token || !authorization) return false;
    return authorization.clientId === clientId && belongsTo(authorization, issuer);
  };
  return (await Promise.all(grantParameters.map(isOwn))).includes(true);
}
