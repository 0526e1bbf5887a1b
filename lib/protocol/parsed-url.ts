/** Parses URLs. WHATWG URL §4.4 (URL parsing). */

/**
 * The URL that a text is, relative to `base` if that is given, or `undefined`. Not by `URL.canParse`: in Node 20 it reads Latin-1 text as UTF-8 once V8 has compiled its
 * caller, and takes URLs that `new URL` then refuses.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
