/** Claims that the host adds to access tokens. RFC 9068 §2.2, §2.2.3; 7519 §4.2, §4.3. */
import { frozen } from "./host-json";

declare global {
  /** Types that a host extends by interface merging. */
  namespace Authmount {
    /**
     * The claims that `tokens.decide` adds to access tokens. Declare yours once:
     * `declare global { namespace Authmount { interface Claims { readonly org: string } } }`.
     */
    interface Claims {}
  }
}

/** The claims that the host has added to an access token, by their names. */
// eslint-disable-next-line typescript/no-generated-empty-object-type -- the host fills it in
export type HostClaims = object & Readonly<Partial<Authmount.Claims>>;

/**
 * Names that the host cannot set: the claims of RFC 7519, 9068 and 9396, the members of RFC 7662, proof of possession, delegation,
 * and the library's own. Each has a meaning that only the server may state.
 */
const reserved = new Set(
  (
    "iss sub aud exp nbf iat jti client_id scope auth_time acr amr active username token_type " +
    "authorization_details cnf act may_act authorization_id authorization_scope client_end_mark api_end_mark __proto__"
  ).split(" "),
);

/** Of the JSON text of all claims. Tokens are sent with every request, and servers limit the size of headers. */
const maxBytes = 4_096;

/** Claims that gateways read: lists of names. @rfc 9068 §2.2.3.1 */
const nameLists = ["roles", "groups", "entitlements"];

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= 255;
}

/** True for a list of at most 100 names. SCIM also has objects in it, which gateways do not read. */
function isNameList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= 100 && value.every(isName);
}

/** What is wrong with claims that the host wants to add, or `undefined` when nothing is. */
export function hostClaimsProblem(claims: HostClaims): string | undefined {
  const taken = Object.keys(claims).find((name) => reserved.has(name));
  if (taken !== undefined)
    return `claims.${taken} is a claim that only the server may set (docs/tokens.md lists them)`;
  const wrongList = nameLists.find((name) => name in claims && !isNameList(Reflect.get(claims, name)));
  if (wrongList !== undefined)
    return `claims.${wrongList} must be a list of at most 100 texts of 1 to 255 characters (RFC 9068 §2.2.3.1)`;
  return Buffer.byteLength(JSON.stringify(claims)) > maxBytes
    ? `claims must not be larger than ${maxBytes} bytes as JSON`
    : undefined;
}

/** A frozen copy of claims that were stored with a token, or `undefined` when there are none. */
export function ownHostClaims(claims: object | undefined): HostClaims | undefined {
  if (claims === undefined || Object.keys(claims).length === 0) return undefined;
  return frozen(JSON.parse(JSON.stringify(claims)) as HostClaims);
}

/** The claims of a JWT payload that the host has added. */
export function hostClaimsIn(payload: Readonly<Record<string, unknown>>): HostClaims | undefined {
  let added: Record<string, unknown> | undefined;
  for (const name in payload) if (!reserved.has(name)) (added ??= {})[name] = payload[name];
  return added && frozen(added as HostClaims);
}
