/** The context of an authorization: what the person chose along the way. RFC 6749 §1.3. */
import { parseHostObject } from "./host-json";

/** What the person chose along the way, such as an organization. It is fixed for the life of an authorization. */
export interface AuthorizationContext {
  /** Names the choice: 1 to 128 characters. Consents are remembered for each key. */
  readonly key: string;
  /** More about it for `tokens.decide`: a JSON object of at most 1 KB. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Of the JSON text of `data`. It is stored with every authorization. */
const maxDataBytes = 1_024;

/**
 * A frozen copy of a context that a host returned, or what is wrong with it. What is checked and used is the copy: the host's object may
 * give something else each time it is read.
 */
export function readContext(context: unknown): AuthorizationContext | string {
  const copy = parseHostObject(context);
  if (!copy) return "context must be { key } or { key, data }, as JSON";
  const { key, data, ...others } = copy;
  if (Object.keys(others).length > 0) return "context may only have key and data";
  if (typeof key !== "string" || key === "" || key.length > 128)
    return "context.key must be a string of 1 to 128 characters; leave context out when there is none";
  // no database stores these unchanged, and two organizations must not become one
  if (/[\0\p{Surrogate}]/u.test(key)) return "context.key must be well-formed Unicode without NUL";
  if (data === undefined) return Object.freeze({ key });
  if (typeof data !== "object" || data === null || Array.isArray(data))
    return "context.data must be a plain object";
  return Buffer.byteLength(JSON.stringify(data)) > maxDataBytes
    ? `context.data must not be larger than ${maxDataBytes} bytes as JSON`
    : Object.freeze({ key, data: data as Readonly<Record<string, unknown>> });
}
