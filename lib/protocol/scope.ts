/** Scopes: parse, format, compare. RFC 6749 §3.3. */
import { ownText } from "./parameters";

const scopeList = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** The distinct scopes of a `scope` value in their order, or `undefined` when it is malformed. @rfc 6749 §3.3 */
export function parseScope(text: string): readonly string[] | undefined {
  // copies: a long list may repeat one scope, and a slice would keep all of it in memory
  return scopeList.test(text) ? [...new Set(text.split(" "))].map(ownText) : undefined;
}

/** The `scope` value of these scopes. */
export function formatScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

/** True when every one of the scopes is in the other list. */
export function isSubset(scopes: readonly string[], of: readonly string[]): boolean {
  return scopes.every((scope) => of.includes(scope));
}

/** The scopes that are also allowed, in their own order. */
export function intersect(scopes: readonly string[], allowed: readonly string[]): readonly string[] {
  return scopes.filter((scope) => allowed.includes(scope));
}
