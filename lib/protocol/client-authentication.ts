/** How the client proves itself at the token endpoint: reading the credentials. RFC 6749 §2.3.1, §3.2.1; 7521 §4.2. */
import type { Parameters } from "./parameters";

export type ClientAuthentication =
  | { readonly kind: "client_secret_basic"; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: "client_secret_post"; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: "none"; readonly clientId: string }
  /** A signed assertion, which is not checked: it proves nothing. */
  | { readonly kind: "client_assertion"; readonly clientId: string }
  | { readonly kind: "malformed"; readonly problem: MalformedClientAuthentication };

export type MalformedClientAuthentication =
  "missing-client-id" | "several-methods" | "client-ids-differ" | "unreadable-authorization-header";

function malformed(problem: MalformedClientAuthentication): ClientAuthentication {
  return { kind: "malformed", problem };
}

/** Both halves are form-encoded before they are joined, so they are decoded the same way. */
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

function hasAssertion(parameters: Parameters): boolean {
  return ["client_assertion", "client_assertion_type"].some((name) => parameters.get(name) !== undefined);
}

/** Reads the one client authentication of a request. An empty secret in the body counts as absent. */
export function readClientAuthentication(
  parameters: Parameters,
  authorizationHeader: string | undefined,
): ClientAuthentication {
  const clientId = parameters.get("client_id");
  const clientSecret = parameters.get("client_secret");
  const isAsserted = hasAssertion(parameters);
  if (authorizationHeader === undefined) {
    if (!clientId) return malformed("missing-client-id");
    if (!clientSecret) return { kind: isAsserted ? "client_assertion" : "none", clientId };
    return isAsserted ? malformed("several-methods") : { kind: "client_secret_post", clientId, clientSecret };
  }
  const basic = readBasic(authorizationHeader);
  if (!basic) return malformed("unreadable-authorization-header");
  if (clientSecret || isAsserted) return malformed("several-methods");
  if (clientId && clientId !== basic.clientId) return malformed("client-ids-differ");
  return { kind: "client_secret_basic", ...basic };
}
