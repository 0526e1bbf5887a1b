/** A host whose rateLimit remembers what it was asked and told. */
import type { IncomingMessage } from "node:http";
import type { ClientAttempt, ClientOutcome, RateLimit, RateLimitDecision } from "../../lib";
import { memoryStorage } from "../../lib";
import { keyed } from "../requests/client-assertions";
import { clients } from "../hosts/clients";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { intercept } from "../storage/slow-storage";

/** A host, and what its hook has heard. */
export interface LimitedHost {
  readonly host: TestHost;
  readonly attempts: Omit<ClientAttempt, "req">[];
  readonly requests: IncomingMessage[];
  readonly outcomes: ClientOutcome[];
  /** The names of the storage calls. */
  readonly calls: string[];
  /** What the hook answers from now on; at first it allows everything. */
  answer: (attempt: ClientAttempt, allowed: RateLimitDecision) => unknown;
  /** Fails the storage call of this name. */
  failing: string | undefined;
}

/** Refuses for seven seconds. */
export const limited: RateLimitDecision = { kind: "limited", retryAfterSeconds: 7 };

/** A host with each kind of client whose hook can be changed. */
export function limitedHost(options: TestHostOptions = {}): LimitedHost {
  const rateLimit: RateLimit = (attempt) => {
    const { req, ...rest } = attempt;
    made.attempts.push(rest);
    made.requests.push(req);
    const answered = (outcome: ClientOutcome): void => void made.outcomes.push(outcome);
    return made.answer(attempt, { kind: "allowed", answered }) as RateLimitDecision;
  };
  const storage = intercept(
    memoryStorage({ clients: [...Object.values(clients), keyed] }),
    async (name, call) => {
      made.calls.push(name);
      if (name === made.failing) throw new Error("the database says no");
      return call();
    },
  );
  const made: LimitedHost = {
    host: testHost({ storage, rateLimit, ...options }),
    attempts: [],
    requests: [],
    outcomes: [],
    calls: [],
    answer: (_, allowed) => allowed,
    failing: undefined,
  };
  return made;
}
