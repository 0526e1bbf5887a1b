/** How the client proves itself at the token endpoint: reading the credentials. RFC 6749 §2.3.1, §3.2.1; 7521 §4.2. */
import {
  type ClientAssertion,
  jwtBearerType,
  parseClientAssertion,
  type UnreadableAssertion,
} from "./client-assertion";
import type { Parameters } from "./parameters";

/**
 * The methods of client authentication. The metadata publishes this list, and the types of presented credentials follow from it.
 *
 * @rfc 6749 §2.3.1, 8414 §2
 */
export const clientAuthenticationMethods = [
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt",
  "none",
] as const;

/** A method of client authentication. `none` is for public clients. */
export type ClientAuthenticationMethod = (typeof clientAuthenticationMethods)[number];

/** What each method presents besides the client id. */
interface Credentials {
  readonly client_secret_basic: { readonly clientSecret: string };
  readonly client_secret_post: { readonly clientSecret: string };
  readonly private_key_jwt: { readonly assertion: ClientAssertion };
  readonly none: object;
}

type PresentedBy<Method extends ClientAuthenticationMethod> = Credentials[Method] & {
  readonly kind: Method;
  readonly clientId: string;
};

/** What a client presents to prove its identity. */
export type PresentedClient = {
  [Method in ClientAuthenticationMethod]: PresentedBy<Method>;
}[ClientAuthenticationMethod];

/** The client authentication of a request, or why the request does not contain exactly one. */
export type ClientAuthentication =
  | PresentedClient
  | UnreadableAssertion
  | { readonly kind: "malformed"; readonly problem: MalformedClientAuthentication };

/** Why the client authentication of a request cannot be read. */
export type MalformedClientAuthentication =
  | "missing-client-id"
  | "several-authentication-methods"
  | "client-ids-differ"
  | "unreadable-authorization-header"
  | "unsupported-assertion-type"
  | "assertion-of-another-client";

/** The parameters that prove a client in the form. */
export const proofParameters: readonly string[] = [
  "client_secret",
  "client_assertion",
  "client_assertion_type",
];

function malformed(problem: MalformedClientAuthentication): ClientAuthentication {
  return { kind: "malformed", problem };
}

/** A decoded half of HTTP Basic: RFC 6749 §2.3.1 form-encodes the id and the secret before joining them. */
function decodeHalf(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function readBasic(header: string): { clientId: string; clientSecret: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  const clientId = decodeHalf(text.slice(0, colon));
  const clientSecret = decodeHalf(text.slice(colon + 1));
  return colon < 1 || !clientId || clientSecret === undefined ? undefined : { clientId, clientSecret };
}

/** The client is the one that `sub` names. `client_id` may be left out. @rfc 7521 §4.2, 7523 §2.2 */
function readAssertion(parameters: Parameters, clientId: string | undefined): ClientAuthentication {
  if (parameters.get("client_assertion_type") !== jwtBearerType)
    return malformed("unsupported-assertion-type");
  const assertion = parseClientAssertion(parameters.get("client_assertion") ?? "");
  if (assertion.kind === "unreadable") return assertion;
  const { sub } = assertion.claims;
  if ((clientId ?? sub) !== sub) return malformed("assertion-of-another-client");
  return { kind: "private_key_jwt", clientId: sub, assertion };
}

/** What the header presents, or the client that it only names. */
function readHeader(
  parameters: Parameters,
  authorizationHeader: string,
): ClientAuthentication | { readonly kind: "named"; readonly clientId: string } {
  const basic = readBasic(authorizationHeader);
  if (!basic) return malformed("unreadable-authorization-header");
  const isProof = basic.clientSecret !== "";
  if (isProof && proofParameters.some((name) => parameters.get(name) !== undefined))
    return malformed("several-authentication-methods");
  const clientId = parameters.get("client_id") ?? basic.clientId;
  if (clientId !== basic.clientId) return malformed("client-ids-differ");
  return isProof ? { kind: "client_secret_basic", ...basic } : { kind: "named", clientId };
}

/**
 * The client authentication of a request. Several at once are refused, because each could belong to a different client. An empty
 * secret is none, in the body and in Basic, which then only names the client.
 *
 * @rfc 6749 §2.3.1, 7521 §4.2
 */
export function readClientAuthentication(
  parameters: Parameters,
  authorizationHeader: string | undefined,
): ClientAuthentication {
  const header = authorizationHeader === undefined ? undefined : readHeader(parameters, authorizationHeader);
  if (header && header.kind !== "named") return header;
  const clientId = header?.clientId ?? parameters.get("client_id");
  const clientSecret = parameters.get("client_secret");
  const assertion = parameters.get("client_assertion") ?? parameters.get("client_assertion_type");
  if (assertion !== undefined)
    return clientSecret === undefined
      ? readAssertion(parameters, clientId)
      : malformed("several-authentication-methods");
  if (clientId === undefined) return malformed("missing-client-id");
  if (clientSecret === undefined) return { kind: "none", clientId };
  return { kind: "client_secret_post", clientId, clientSecret };
}
