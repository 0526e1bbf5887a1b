/** Several storage calls at once, none of which goes on after the answer. RFC 6749 §10.5. */

/** What all of them gave, once the last one has ended. When some failed, the first failure in their order is thrown then. */
export async function allStored<const Calls extends readonly unknown[]>(
  calls: Calls,
): Promise<{ -readonly [Place in keyof Calls]: Awaited<Calls[Place]> }> {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  }) as { -readonly [Place in keyof Calls]: Awaited<Calls[Place]> };
}
