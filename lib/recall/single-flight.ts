/** Work that all who ask for it at the same time share: a flood must not multiply it. RFC 6749 §10.10. */

/** Work that is under way, and what else is known of it. */
export interface Flight<T> {
  readonly answer: Promise<T>;
}

/** What is under way, by keys. */
export interface Flights<Each extends Flight<unknown>> {
  readonly get: (key: string) => Each | undefined;
  readonly keys: () => readonly string[];
  /** Shows work to others until it has ended, or until other work takes its place. Gives it back. */
  readonly show: (key: string, flight: Each) => Each;
}

/** Nothing is under way yet. */
export function flights<Each extends Flight<unknown>>(): Flights<Each> {
  const underWay = new Map<string, Each>();
  return {
    get: (key) => underWay.get(key),
    keys: () => [...underWay.keys()],
    show(key, flight) {
      const end = (): void => void (underWay.get(key) === flight && underWay.delete(key));
      underWay.set(key, flight);
      flight.answer.then(end, end);
      return flight;
    },
  };
}

/**
 * The same work, done once: all who ask share it, and its answer is kept. After a failure, which all who wait for it get, the next one who
 * asks begins anew.
 */
export function onceDone<T>(work: () => Promise<T>): () => Promise<T> {
  let doing: Promise<T> | undefined;
  return () =>
    (doing ??= work().catch((failure: unknown) => {
      doing = undefined;
      throw failure;
    }));
}
