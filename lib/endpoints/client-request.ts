/** What the endpoints that a client calls by itself have in common: message, client authentication, refusal. RFC 6749 §3.2, §5.2. */
import type { NewEvent } from "../events/port";
import type { GrantContext, TokenRequest } from "../grants/grant";
import { formatChallenge } from "../protocol/bearer-token";
import type { Issuer } from "../protocol/issuer";
import { isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { authenticateClient } from "./authenticate-client";
import type { ClientSecretCheck } from "./client-secret-check";

export interface ClientRequestContext extends GrantContext {
  readonly checkSecret: ClientSecretCheck;
}

/** A request as it has come. */
export interface ClientRequest {
  readonly issuer: Issuer;
  /** The form body's. */
  readonly parameters: Parameters;
  /** The URL's, which must hold nothing of the request. */
  readonly urlParameters: Parameters;
  readonly authorizationHeader: string | undefined;
}

export interface ClientEndpoint {
  /** The event that tells of a refusal. */
  readonly refused: Extract<NewEvent, { error: unknown }>["kind"];
  /** The body of the answer to a client that has proved itself. @throws OAuthError */
  answer(context: ClientRequestContext, request: TokenRequest): Promise<object>;
}

const bodyOnly = [
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "code",
  "code_verifier",
  "refresh_token",
  "grant_type",
  "scope",
  "token",
];

function checkMessage({ parameters, urlParameters }: ClientRequest): void {
  if (bodyOnly.some((name) => urlParameters.get(name) !== undefined || urlParameters.unusable.has(name))) {
    throw new OAuthError("invalid_request", {
      description: "Parameters belong in the body, not in the URL.",
      reason: "URLs end up in logs (RFC 6749 §2.3.1, §3.2): send them in the form",
    });
  }
  if (parameters.unusable.size > 0) {
    throw new OAuthError("invalid_request", {
      description: "A parameter is repeated or is not UTF-8 text.",
      reason:
        "no parameter may come twice (RFC 6749 §3.2), and all are UTF-8 (Appendix B): send each once, percent-encoded",
    });
  }
}

/** @rfc 6749 §5.2, 9110 §10.2.3 */
function refusalHeaders(
  { code }: OAuthError,
  { issuer, authorizationHeader }: ClientRequest,
): Readonly<Record<string, string>> {
  if (code === "temporarily_unavailable") return { "Retry-After": "1" };
  if (code !== "invalid_client" || authorizationHeader === undefined) return {};
  return { "WWW-Authenticate": formatChallenge("Basic", { realm: issuer.identifier }) };
}

/** Answers a client; every refusal ends here. @rfc 6749 §5.2 */
export async function answerClient(
  context: ClientRequestContext,
  { endpoint, request }: { endpoint: ClientEndpoint; request: ClientRequest },
): Promise<JsonResponse> {
  const { issuer, parameters } = request;
  let clientId: string | undefined;
  try {
    checkMessage(request);
    const client = await authenticateClient(context, request);
    clientId = client.clientId;
    const body = await endpoint.answer(context, { issuer, client, parameters, now: context.now() });
    return { kind: "json", status: 200, body };
  } catch (thrown) {
    const error = toOAuthError(thrown);
    const subject = { issuer: issuer.identifier, ...(clientId !== undefined && { clientId }) };
    if (isFailure(error)) context.emit({ kind: "server-error", ...subject, cause: error.cause });
    else context.emit({ kind: endpoint.refused, ...subject, error: error.code, reason: error.reason });
    return jsonError(error, refusalHeaders(error, request));
  }
}
