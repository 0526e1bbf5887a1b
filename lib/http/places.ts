/** Which route of which issuer is at a path. RFC 6749 §3; 8414 §2. */
import type { Issuer } from "../protocol/issuer";
import type { HttpRequest, Route } from "./exchange";

/** A route of an issuer. */
export interface Place<Req extends HttpRequest> {
  readonly route: Route<Req>;
  readonly issuer: Issuer;
}

/** Path below the mount point → what is there. */
export type Places<Req extends HttpRequest> = ReadonlyMap<string, Place<Req>>;

export function placesOf<Req extends HttpRequest>(
  issuers: readonly Issuer[],
  routes: Readonly<Record<string, Route<Req>>>,
): Places<Req> {
  const entries = issuers.flatMap((issuer) =>
    Object.entries(routes).map(([name, route]) => {
      const path = `/auth/${issuer.authMethodId}/api/${issuer.api.apiId}/${name}`;
      return [path, { route, issuer }] as const;
    }),
  );
  return new Map(entries);
}
