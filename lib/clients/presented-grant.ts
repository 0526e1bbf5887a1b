/** Tells whether a request presents a code or a refresh token of the client that it names. RFC 6749 §4.1.3, §6; 7009 §2.1. */
import { belongsTo } from "../protocol/authorization";
import type { Issuer } from "../protocol/issuer";
import type { Parameters } from "../protocol/parameters";
import type { EpochSeconds } from "../protocol/time";
import { parseTokenHandle } from "../protocol/token-value";
import type { Storage } from "../storage/port";

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
}

/**
 * True when the authorization of a presented code or refresh token was given to this client here. Only then is its metadata document
 * fetched again: anybody can name a URL, but who has such a token has been approved before. Whether the token itself is good is
 * checked later. One of several is enough: a worthless code beside a refresh token must not keep the server from fetching, for what is
 * remembered may have a key that the client has replaced.
 */
export async function presentsOwnGrant(
  { authorizations }: Pick<Storage, "authorizations">,
  { issuer, parameters, grantParameters, clientId, now }: PresentedGrant,
): Promise<boolean> {
  const handles = grantParameters.flatMap((name) => parseTokenHandle(parameters.get(name) ?? "") ?? []);
  const found = await Promise.all(
    handles.map(({ authorizationId }) => authorizations.find(authorizationId, now)),
  );
  return found.some(
    (authorization) =>
      authorization !== undefined && authorization.clientId === clientId && belongsTo(authorization, issuer),
  );
}
