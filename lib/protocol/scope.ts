/** Scopes: parse, format, compare. RFC 6749 §3.3. */
import { ownText } from "./own";

const scopeList = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** The distinct scopes of a `scope` value in their order, or `undefined` when it is malformed. */
export function parseScope(text: string): readonly string[] | undefined {
  // each a text of its own: a long list may say one scope many times
  return scopeList.test(text) ? [...new Set(text.split(" "))].map(ownText) : undefined;
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

export function isSubset(scopes: readonly string[], of: readonly string[]): boolean {
  return scopes.every((scope) => of.includes(scope));
}

export function intersect(scopes: readonly string[], allowed: readonly string[]): readonly string[] {
  return scopes.filter((scope) => allowed.includes(scope));
}
