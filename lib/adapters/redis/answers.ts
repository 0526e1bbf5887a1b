/** Reads the answers of Redis, and accepts only one form. RFC 7009 §2.2: a revocation must never be overlooked. */
import { hostMistake } from "../../protocol/mistake";

/** The failure for an unexpected answer. A client that returns Buffers must not look like a server without records. */
export function misread(answer: unknown): Error {
  const kind = Buffer.isBuffer(answer) ? "a Buffer" : typeof answer;
  return hostMistake(
    "redis-client-answer",
    `redisStorage: the Redis client returned ${kind} instead of text or a number. Use it without a type mapping (withTypeMapping).`,
  );
}

/** The text of an answer, or `undefined` when there is none. @throws Error for anything else */
export function textOf(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return undefined;
  if (typeof answer !== "string") throw misread(answer);
  return answer;
}

/** The texts of a list. @throws Error when the answer is not a list of texts */
export function textsOf(answer: unknown): readonly string[] {
  if (!Array.isArray(answer)) throw misread(answer);
  return answer.map((item: unknown) => {
    if (typeof item !== "string") throw misread(item);
    return item;
  });
}

/** So many texts, with `undefined` where there is none. @throws Error for any other list: a missing text must not look like none */
export function optionalTextsOf(answer: unknown, count: number): readonly (string | undefined)[] {
  if (!Array.isArray(answer) || answer.length !== count) throw misread(answer);
  return answer.map(textOf);
}

/** A whole number, which some clients return as text. @throws Error for anything else: no unclear answer may win a token */
export function numberOf(answer: unknown): number {
  if (Number.isSafeInteger(answer)) return answer as number;
  if (typeof answer !== "string" || !/^\d{1,15}$/.test(answer)) throw misread(answer);
  return Number(answer);
}
