/** Decoding of query strings and form bodies: repeated and empty parameters. RFC 6749 §3.1, §3.2, Appendix B. */
import { ownText } from "./own";

export interface Parameters {
  /** The value, as a text of its own, or `undefined` when the parameter is absent, empty or unusable. */
  get(name: string): string | undefined;
  /** Names that came more than once, or whose value is not UTF-8 text. Their value must not be trusted. */
  readonly unusable: ReadonlySet<string>;
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

/** Parameters as they come in, one after the other. */
interface Collector {
  /** @param value `undefined` when it is no text. */
  readonly add: (name: string, value: string | undefined) => void;
  readonly parameters: () => Parameters;
}

function collector(): Collector {
  // every name that has come, with its value while that can be trusted
  const values = new Map<string, string | undefined>();
  let unusable: Set<string> | undefined;
  return {
    add(name, value) {
      const isUsable = value !== undefined && !values.has(name);
      values.set(name, isUsable && value !== "" ? value : undefined);
      if (!isUsable) unusable = (unusable ?? new Set()).add(name);
    },
    parameters: () => ({
      get(name) {
        const value = values.get(name);
        return value === undefined ? undefined : ownText(value);
      },
      unusable: unusable ?? none,
    }),
  };
}

/** Parameters from `application/x-www-form-urlencoded` text: a query string without `?`, or a form body. */
export function parseParameters(encoded: string): Parameters {
  const { add, parameters } = collector();
  for (const pair of encoded.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    if (name !== undefined) add(name, at < 0 ? "" : decode(pair.slice(at + 1)));
  }
  return parameters();
}

/** Parameters from an object that the host's body parser has made. A list or a nested object is unusable. */
export function parametersFromObject(body: object): Parameters {
  const { add, parameters } = collector();
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    add(name, typeof value === "string" ? value : undefined);
  }
  return parameters();
}
