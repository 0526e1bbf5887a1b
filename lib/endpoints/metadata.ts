/** The metadata of issuers and APIs. RFC 8414 §3, 9728 §3; 8615. */
import { type Issuer, serverMetadataUrl } from "../protocol/issuer";
import { protectedResourceMetadata } from "../protocol/protected-resource-metadata";
import { type JsonResponse, publicDocument } from "../protocol/protocol-response";
import { serverMetadata } from "../protocol/server-metadata";

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
    documents.set(serverMetadataUrl(issuer), serverMetadataEndpoint(issuer, jwksUri));
    documents.set(issuer.api.metadataUrl, publicDocument(protectedResourceMetadata(issuer.api)));
  }
  return documents;
}
