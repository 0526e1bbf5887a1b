/** The key set: the public halves of the keys that verify access tokens. RFC 7517 §5. */
import { type JsonResponse, publicDocument } from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import type { KeyRing } from "../signing/jwt-signer";
import { publicJwk } from "../signing/signing-key";

/** The current key set: every key that verifies or will sign soon, without private parts. @rfc 7517 §5 */
export function keySetEndpoint(ring: Pick<KeyRing, "published">, clock: Clock): JsonResponse {
  return publicDocument({ keys: ring.published(clock()).map(publicJwk) });
}
