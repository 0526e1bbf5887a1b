/** What Redis has answered, in the one form that is understood. RFC 7009 §2.2: a revocation must never be overlooked. */

/** A client that gives buffers, say, must not pass for a server that knows nothing. */
function misread(answer: unknown): Error {
  const kind = Buffer.isBuffer(answer) ? "a Buffer" : typeof answer;
  return new Error(
    `redisStorage: the Redis client gave ${kind} where text or a number was due. Use it without a type mapping (withTypeMapping).`,
  );
}

/** Text, or `undefined` for nothing. */
export function textOf(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return undefined;
  if (typeof answer !== "string") throw misread(answer);
  return answer;
}

export function textsOf(answer: unknown): readonly string[] {
  if (!Array.isArray(answer)) throw misread(answer);
  return answer.map((item: unknown) => {
    if (typeof item !== "string") throw misread(item);
    return item;
  });
}

/** A whole number; some clients give it as text. */
export function numberOf(answer: unknown): number {
  if (Number.isSafeInteger(answer)) return answer as number;
  if (typeof answer !== "string" || !/^\d{1,15}$/.test(answer)) throw misread(answer);
  return Number(answer);
}
