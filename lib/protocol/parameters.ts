/** Decoding of query strings and form bodies: repeated and empty parameters. RFC 6749 §3.1, §3.2, §10, Appendix B. */

/** The parameters of a request. */
export interface Parameters {
  /** The value, copied out of the request, or `undefined` when the parameter is absent, empty or unusable. */
  get(name: string): string | undefined;
  /** Names that came more than once, or whose value is not UTF-8 text. The caller refuses them where they matter. */
  readonly unusable: ReadonlySet<string>;
}

/**
 * The same text in separate memory. In V8, a slice of a string is a view of the whole string. A slice that is kept, for example
 * as the key of a cache, would keep the whole body or URL that it came from in memory.
 */
export function ownText(text: string): string {
  // concatenation copies; the extra character is then cut off
  return ` ${text}`.slice(1);
}

const longestQuote = 200;

/** Text from outside as a reason may quote it: in visible ASCII, and not too long. */
export function quoted(text: string): string {
  const safe = JSON.stringify(text.slice(0, longestQuote + 1)).slice(1, -1);
  const ascii = safe.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return ['"', ascii.slice(0, longestQuote), ascii.length > longestQuote ? "…" : "", '"'].join("");
}

/** The same of a URI, without user name, query and fragment: apps send their own address with a code in it. */
export function quotedUri(uri: string): string {
  return quoted(
    uri.replace(/[?#][^]*/, (end) => `${end.charAt(0)}...`).replace(/^([^/]*\/\/)[^/]*@/, "$1...@"),
  );
}

function decode(text: string): string | undefined {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

const none: ReadonlySet<string> = new Set();

/** A parameter as it came. Its value is `undefined` when it is not text. */
type Pair = readonly [name: string, value: string | undefined];

function collect(pairs: readonly Pair[]): Parameters {
  // every name that came, with its value as long as that can be trusted
  const values = new Map<string, string | undefined>();
  let unusable: Set<string> | undefined;
  for (const [name, value] of pairs) {
    const isUsable = value !== undefined && !values.has(name);
    values.set(name, isUsable && value !== "" ? value : undefined);
    if (!isUsable) unusable = (unusable ?? new Set()).add(name);
  }
  return {
    get(name) {
      const value = values.get(name);
      return value === undefined ? undefined : ownText(value);
    },
    unusable: unusable ?? none,
  };
}

/** Parameters from `application/x-www-form-urlencoded` text: a query string without `?`, or a form body. @rfc 6749 Appendix B */
export function parseParameters(encoded: string): Parameters {
  const pairs: Pair[] = [];
  for (const text of encoded.split("&")) {
    if (text === "") continue;
    const at = text.indexOf("=");
    const name = decode(at < 0 ? text : text.slice(0, at));
    // a name that is not UTF-8 cannot be one that the server reads
    if (name !== undefined) pairs.push([name, at < 0 ? "" : decode(text.slice(at + 1))]);
  }
  return collect(pairs);
}

const nothing = parseParameters("");

/** The parameters in the query of a URL. */
export function parametersOfUrl(url: string): Parameters {
  const query = url.indexOf("?");
  return query < 0 ? nothing : parseParameters(url.slice(query + 1));
}

/** Parameters from an object that the host's body parser created. A list or a nested object is unusable. */
export function parametersFromObject(body: object): Parameters {
  const pairs = Object.entries(body) as readonly (readonly [string, unknown])[];
  return collect(pairs.map(([name, value]) => [name, typeof value === "string" ? value : undefined]));
}
