/** How code of the host is asked: in limited time, and what it answers is copied and checked. RFC 6749 §4.1.2.1, §5.2, §10. */
import { types } from "node:util";
import { isPlain, ownRecord } from "../protocol/host-json";
import { hostMistake } from "../protocol/mistake";
import { lateError } from "../protocol/oauth-error";
import { keyProblem, plainRule } from "./plain";

const limitSeconds = 5;

/**
 * What a call of the host's code gives, or a failure when it takes too long. The failure leads to `temporarily_unavailable`.
 *
 * @param onLate is called when the answer is no longer waited for.
 */
export async function inTime(name: string, call: () => unknown, onLate?: () => void): Promise<unknown> {
  let isSettled = false;
  const answer = Promise.resolve(call()).then(
    (value) => {
      isSettled = true;
      // some databases return `null` where there is nothing
      return value ?? undefined;
    },
    (failure: unknown) => {
      isSettled = true;
      throw failure;
    },
  );
  // an answer from memory arrives one turn later, and a timer would cost more than the answer
  await Promise.resolve();
  if (isSettled) return answer;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      if (isSettled) return;
      onLate?.();
      reject(lateError("host-call-late", `${name} did not answer within ${limitSeconds} seconds`));
    };
    // a process that was stopped runs its timers first: what has arrived meanwhile is read before it is given up
    timer = setTimeout(() => setImmediate(giveUp), limitSeconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What callbacks of the host answer. */
interface HostAnswer {
  readonly kind: string;
}

/** Kind → the other keys that an answer of this kind may have. */
export type AnswerKeys<Answer extends HostAnswer> = {
  readonly [Kind in Answer["kind"]]: Readonly<
    Record<Exclude<keyof Extract<Answer, { readonly kind: Kind }>, "kind">, true>
  >;
};

/** The callbacks of the host, with the ids of their wrong answers. */
const wrongAnswers = {
  authenticate: "wrong-answer-of-authenticate",
  "consent.decide": "wrong-answer-of-consent",
  "tokens.decide": "wrong-answer-of-tokens",
  "openid.claims": "wrong-answer-of-claims",
  rateLimit: "wrong-answer-of-rate-limit",
  signOut: "wrong-answer-of-sign-out",
  "clientRegistration.approve": "wrong-answer-about-registration",
  "clientMetadataDocuments.accept": "wrong-answer-about-document",
  "identityAssertions.accept": "wrong-answer-about-identity",
  person: "wrong-answer-of-person",
} as const;

/** A callback of the host. */
export type HostCallback = keyof typeof wrongAnswers;

/** The mistake of a callback that answered what it may not. */
export function invalidAnswer(name: HostCallback, problem: string): TypeError {
  return hostMistake(wrongAnswers[name], `${name} returned an invalid answer: ${problem}.`);
}

/**
 * A copy of what a callback has answered: what is checked is what is used, whatever the host does with its object.
 *
 * @throws TypeError when it is not a plain object of a known kind with known keys, all of them defined
 */
export function readAnswer<Answer extends HostAnswer>(
  name: HostCallback,
  { given, keys }: { readonly given: unknown; readonly keys: AnswerKeys<Answer> },
): Answer {
  // none at all and a text have no kind
  if (typeof given === "object" && given !== null && !isPlain(given))
    throw invalidAnswer(name, `it ${plainRule}`);
  const answer: Readonly<Record<string, unknown>> = isPlain(given) ? ownRecord(given) : {};
  const { kind } = answer;
  const kinds = Object.keys(keys);
  const ofKind = kinds.includes(kind as string) ? keys[kind as Answer["kind"]] : undefined;
  const came = given === undefined ? "nothing, as without a return or an await; " : "";
  if (!ofKind)
    throw invalidAnswer(name, `${came}kind must be ${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1)}`);
  const problem = keyProblem(answer, { name: "it", known: ["kind", ...Object.keys(ofKind)] });
  // a property of a promise is undefined
  const mayLackAwait = name === "authenticate" && problem?.code === "undefined-key";
  if (problem) throw invalidAnswer(name, `${problem.text}${mayLackAwait ? ". Or an await is missing" : ""}`);
  const promised = Object.keys(answer).find((key) => types.isPromise(answer[key]));
  if (promised !== undefined) throw invalidAnswer(name, `${promised} is a promise: an await is missing`);
  return answer as unknown as Answer;
}

/** How a callback is asked. */
export interface Question<Answer extends HostAnswer> {
  readonly ask: () => unknown;
  readonly keys: AnswerKeys<Answer>;
  /** Is called when the answer is no longer waited for. */
  readonly onLate?: () => void;
}

/**
 * What a callback of the host answers. It has as long as a call of storage. What it throws at once is a rejection as well.
 *
 * @throws TypeError (as a rejection) when the answer is invalid
 */
export async function askHost<Answer extends HostAnswer>(
  name: HostCallback,
  { ask, keys, onLate }: Question<Answer>,
): Promise<Answer> {
  return readAnswer<Answer>(name, { given: await inTime(name, ask, onLate), keys });
}
