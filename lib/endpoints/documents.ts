/** The public documents: metadata of issuers and APIs, and the key set. RFC 8414 §3, §5, 9728 §3; 8615; 7517 §5. */
import { type Issuer, openidMetadataUrl, serverMetadataUrl } from "../protocol/issuer";
import { protectedResourceMetadata } from "../protocol/protected-resource-metadata";
import { type JsonResponse, publicDocument } from "../protocol/protocol-response";
import { serverMetadata } from "../protocol/server-metadata";
import type { Clock } from "../protocol/time";
import type { KeyRing } from "../signing/jwt-signer";
import { publicJwk } from "../signing/signing-key";

/** The metadata document of an issuer. @rfc 8414 §3 */
export function serverMetadataEndpoint(issuer: Issuer, jwksUri: string): JsonResponse {
  return publicDocument(serverMetadata(issuer, jwksUri));
}

/** URL → the document there. */
export type RootDocuments = ReadonlyMap<string, JsonResponse>;

/** The documents at the root of an origin: one for every issuer and one for every API. @rfc 8414 §3.1, 9728 §3.1 */
export function rootDocuments(issuers: readonly Issuer[], jwksUri: string): RootDocuments {
  const documents = new Map<string, JsonResponse>();
  for (const issuer of issuers) {
    const metadata = serverMetadataEndpoint(issuer, jwksUri);
    documents.set(serverMetadataUrl(issuer), metadata);
    if (issuer.api.openid) documents.set(openidMetadataUrl(issuer), metadata);
    documents.set(issuer.api.metadataUrl, publicDocument(protectedResourceMetadata(issuer.api)));
  }
  return documents;
}

/** The current key set: every key that verifies or will sign soon, without private parts. @rfc 7517 §5 */
export function keySetEndpoint(ring: Pick<KeyRing, "published">, clock: Clock): JsonResponse {
  return publicDocument({ keys: ring.published(clock()).map(publicJwk) });
}
