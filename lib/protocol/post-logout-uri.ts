/** Where a person may be sent after they have signed out. OpenID Connect RP-Initiated Logout §3. */
import type { Client } from "./client";

declare const verified: unique symbol;

/** A URI that the client has registered for this. Only `verifyPostLogoutUri` makes one, so an open redirect does not compile. */
export interface PostLogoutTarget {
  readonly uri: string;
  readonly [verified]: true;
}

/**
 * The proven target, or `undefined`. URIs are compared character for character. A client that nobody registered has none: its document could
 * send people from this site to any other.
 *
 * @rfc OpenID Connect RP-Initiated Logout §3.1
 */
export function verifyPostLogoutUri(
  { postLogoutRedirectUris, selfDescription }: Client,
  uri: string,
): PostLogoutTarget | undefined {
  return !selfDescription && postLogoutRedirectUris?.includes(uri)
    ? ({ uri } as PostLogoutTarget)
    : undefined;
}
