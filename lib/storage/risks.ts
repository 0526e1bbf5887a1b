/** What a database may lose although it has acknowledged it, so that the host can be told. RFC 6749 §10.5. */

/** A setting of the database. */
export interface Risk {
  /** Which risk it is, in kebab case. It never changes its meaning. */
  readonly code: string;
  /** What is so. */
  readonly problem: string;
  /** What to set instead. */
  readonly fix: string;
}

/** What comes of every such setting. */
export const lossOfRecords =
  "A code or refresh token that was used can then be used again, and revocations are forgotten.";

// a registered symbol: a second copy of this package must find the risks too
const mark = Symbol.for("authmount.risks");

/** The same storage. `risks` is asked whenever somebody wants to know: the settings are known once the database has been asked. */
export function withRisks<S extends object>(storage: S, risks: () => readonly Risk[]): S {
  for (const port of Object.values(storage) as unknown[]) {
    // not enumerable: code that iterates over a port must find its methods only
    if (typeof port === "object" && port !== null) Object.defineProperty(port, mark, { value: risks });
  }
  return storage;
}

/** What is known about the database behind this port. */
export function risksOf(port: object): readonly Risk[] {
  const risks: unknown = Reflect.get(port, mark);
  return typeof risks === "function" ? (risks as () => readonly Risk[])() : [];
}

/** The risks as a sentence each, with the id in brackets at its end, without repetitions. */
export function warningsOf(risks: readonly Risk[]): readonly string[] {
  return [...new Set(risks.map(({ code, problem, fix }) => `${problem}. ${lossOfRecords} ${fix} [${code}]`))];
}
