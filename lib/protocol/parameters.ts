/** Decoding of query strings and form bodies: repeated and empty parameters. RFC 6749 §3.1, §3.2, Appendix B. */

export interface Parameters {
  /** The value, or `undefined` when the parameter is absent, empty or unusable. */
  get(name: string): string | undefined;
  /** Names that came more than once, or whose value is not UTF-8 text. Their value must not be trusted. */
  readonly unusable: ReadonlySet<string>;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function collect(entries: Iterable<readonly [string, string | undefined]>): Parameters {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  const unusable = new Set<string>();
  for (const [name, value] of entries) {
    if (value === undefined || seen.has(name)) unusable.add(name);
    seen.add(name);
    if (value) values.set(name, value);
  }
  for (const name of unusable) values.delete(name);
  return { get: (name) => values.get(name), unusable };
}

function* encodedEntries(text: string): Iterable<readonly [string, string | undefined]> {
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    if (name !== undefined) yield [name, at < 0 ? "" : decode(pair.slice(at + 1))];
  }
}

/** Parameters from `application/x-www-form-urlencoded` text: a query string without `?`, or a form body. */
export function parseParameters(encoded: string): Parameters {
  return collect(encodedEntries(encoded));
}

/** Parameters from an object that the host's body parser has made. A list or a nested object is unusable. */
export function parametersFromObject(body: object): Parameters {
  return collect(
    Object.entries(body).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === "string" ? value : undefined,
    ]),
  );
}
