/** The endpoints that clients call, in front of the host's app. RFC 6749 §3.2; 7009 §2; 7662 §2; 8414 §3. */
import type { RequestListener } from "node:http";
import { clientRoutes } from "./client-route";
import type { ServeOptions } from "./exchange";
import { placesOf } from "./places";
import { readPath } from "./read-request";
import { serve } from "./serve";

/**
 * A listener that answers clients itself and hands everything else to the app: the pages, which need the host's sessions, too.
 *
 * @param mountPath the path of `baseUrl`, without a slash at its end.
 */
export function listenInFront(
  options: ServeOptions,
  { app, mountPath }: { app: RequestListener; mountPath: string },
): RequestListener {
  const places = placesOf(options.issuers, clientRoutes);
  return (req, res) => {
    const path = readPath(req);
    const place = path.startsWith(mountPath) ? places.get(path.slice(mountPath.length)) : undefined;
    if (!place) return app(req, res);
    serve(options, { req, res, place }).catch(() => res.destroy());
  };
}
