/** The pushed authorization request endpoint, and the requests that come back by their `request_uri`. Loaded only where an API has it. RFC 9126. */
import type { RecognitionPorts } from "../clients/recognise-client";
import { recogniseTarget } from "../clients/recognise-client";
import type { EmitEvent } from "../events/port";
import { type PushedRequest, sentParameters } from "../protocol/authorization-request";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import type { IdTokenVerifier } from "../protocol/openid";
import { type Parameters, parametersFromObject } from "../protocol/parameters";
import type { Clock, EpochSeconds } from "../protocol/time";
import { digestToken } from "../protocol/token-value";
import { checkAuthorizationRequest } from "../requests/check-authorization-request";
import { sealer, type Sealer } from "../signing/sealer";
import type { ClientEndpoint } from "./client-endpoint";

/** Refusals of pushed requests. */
export const pushedRequestReasons = {
  "pushed-request-too-long":
    "the parameters are longer than 2,400 bytes as JSON, and a cookie must hold them while the person signs in: send shorter ones, above all a shorter state",
  "dpop-jkt-of-another-key":
    "dpop_jkt is not the thumbprint of the key that the DPoP header proves (RFC 9449 §10.1): leave dpop_jkt out, or send that of the same key",
  "request-uri-not-ours":
    "no secret of this server has sealed this request_uri for this issuer and client_id: it was pushed at another pair, by another client, before secrets was changed, or at a process with other secrets (RFC 9126 §2.2): push the request again",
  "request-uri-expired": "the request was pushed more than 300 seconds ago (RFC 9126 §2.2): push it again",
} as const;

/** What a `request_uri` contains. Nothing of it is stored, because anyone can push. */
interface SealedRequest {
  /** Identifier of the issuer. */
  readonly issuer: string;
  /** 128 random bits: no two pushed requests are the same. */
  readonly id: string;
  /** The checked parameters, with the `client_id`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The person whom the client expects: the hint itself is not kept. */
  readonly hintedSubject: string | undefined;
  readonly expiresAt: EpochSeconds;
}

/** A request that has come back by its `request_uri`, to be checked like any other. */
export interface ReturnedRequest {
  readonly parameters: Parameters;
  readonly hintedSubject: string | undefined;
  readonly pushed: PushedRequest;
}

/** What pushed requests are made and opened with. */
export interface PushedRequestPorts extends RecognitionPorts {
  /** The first one seals, all of them open. */
  readonly secrets: readonly [string, ...string[]];
  readonly idTokens: IdTokenVerifier;
  /** Returns 128 random bits as base64url. */
  readonly randomId: () => string;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** Pushed authorization requests. */
export interface PushedRequests {
  readonly endpoint: ClientEndpoint;
  /**
   * The request that a `request_uri` stands for; `undefined` where the parameters have none of ours. All others in the URL are ignored.
   *
   * @throws OAuthError that only the person sees: nothing proves where else it could go
   * @rfc 9126 §4
   */
  open(sent: { readonly issuer: Issuer; readonly parameters: Parameters }): ReturnedRequest | undefined;
}

const urn = "urn:ietf:params:oauth:request_uri:";
const lifeSeconds = 300;
const maxBytes = 2_400;

function refused(description: string, code: "request-uri-not-ours" | "request-uri-expired"): OAuthError {
  const why = because(pushedRequestReasons, code);
  // where it is too old, the person has waited too long
  const situation = code === "request-uri-expired" ? ({ situation: "lost" } as const) : {};
  return new OAuthError("invalid_request_uri", { description, ...why, ...situation });
}

function pushedOf({ id, expiresAt }: Pick<SealedRequest, "id" | "expiresAt">): PushedRequest {
  return { key: digestToken(id), expiresAt };
}

/** What binds the code to the key that the request has proved. @rfc 9449 §10.1 */
function boundTo(key: string | undefined, parameters: Parameters): { readonly dpop_jkt?: string } {
  if (key === undefined) return {};
  if ((parameters.get("dpop_jkt") ?? key) === key) return { dpop_jkt: key };
  throw new OAuthError("invalid_dpop_proof", {
    description: "dpop_jkt is of another key than the proof.",
    ...because(pushedRequestReasons, "dpop-jkt-of-another-key"),
  });
}

/** The endpoint. Each check of the authorization endpoint but those of the person is made here too. @rfc 9126 §2.1 */
function pushEndpoint(ports: PushedRequestPorts, requests: Sealer<SealedRequest>): ClientEndpoint {
  return {
    refused: "push-refused",
    proofsFor: "pushed_authorization_request",
    grantParameters: "anyone",
    async answer(_, { issuer, client: asking, endMark, parameters, key, now }) {
      const registered = { client: asking, endMark };
      const { client, target } = await recogniseTarget(ports, { registered, issuer, parameters });
      const { identifier } = issuer;
      const { clientId } = client;
      const [id, expiresAt] = [ports.randomId(), now + lifeSeconds];
      const pushed = pushedOf({ id, expiresAt });
      const setting = { issuer, client, target, shown: undefined, idTokens: ports.idTokens, pushed };
      const { hintedSubject } = checkAuthorizationRequest(parameters, setting);
      const kept = { ...sentParameters(parameters), client_id: clientId, ...boundTo(key, parameters) };
      if (Buffer.byteLength(JSON.stringify(kept)) > maxBytes)
        throw new OAuthError("invalid_request", {
          description: "The authorization request is too long.",
          ...because(pushedRequestReasons, "pushed-request-too-long"),
        });
      const sealed = requests.seal({ issuer: identifier, id, parameters: kept, hintedSubject, expiresAt });
      ports.emit({ kind: "request-pushed", issuer: identifier, clientId });
      return { kind: "json", status: 201, body: { request_uri: urn + sealed, expires_in: lifeSeconds } };
    },
  };
}

/** Pushed requests of a server. A `request_uri` holds the whole request, sealed, so that any process can open it. */
export function pushedRequests(ports: PushedRequestPorts): PushedRequests {
  const requests = sealer<SealedRequest>("authmount pushed request", ports.secrets);
  return {
    endpoint: pushEndpoint(ports, requests),
    open({ issuer, parameters: sent }) {
      const uri = sent.get("request_uri");
      if (!issuer.api.pushedRequests || !uri?.startsWith(urn)) return undefined;
      const request = requests.open(uri.slice(urn.length));
      const { client_id: clientId } = request?.parameters ?? {};
      if (request?.issuer !== issuer.identifier || clientId !== sent.get("client_id"))
        throw refused("The request_uri is not known here.", "request-uri-not-ours");
      if (request.expiresAt <= ports.clock())
        throw refused("The request_uri has expired.", "request-uri-expired");
      const { parameters, hintedSubject } = request;
      return {
        parameters: parametersFromObject(parameters),
        hintedSubject,
        pushed: pushedOf(request),
      };
    },
  };
}
