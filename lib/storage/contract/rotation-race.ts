/** A race for the rotation of one refresh token, and what its outcome must be. RFC 6749 §6, 9700 §4.14.2. */
import type { RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import { newDigest, newRefreshToken } from "./records";
import { assertNothing, assertRecord, assertSame, race, type RuleSubject } from "./rule";

/** A token that can follow this one. */
export function successor({ authorizationId, expiresAt }: RefreshToken): RefreshToken {
  return { authorizationId, expiresAt: expiresAt + 60, digest: newDigest(), used: false };
}

/** Rotates one token many times at once, each time with the `use` of that runner, if it has one. */
export async function raceToRotate(
  subject: RuleSubject,
  { runners, useOf }: { runners: number; useOf: (runner: number) => RefreshTokenUse | undefined },
): Promise<void> {
  const { storage, peer, now } = subject;
  const from = newRefreshToken(now);
  await storage.refreshTokens.create(from, now);
  const steps = Array.from({ length: runners }, (_, runner) => {
    const use = useOf(runner);
    return { from, to: successor(from), ...(use && { use }) };
  });
  const outcomes = await race(subject, {
    runners,
    run: (store, runner) => store.refreshTokens.rotate(steps[runner] ?? { from, to: from }, now),
  });
  const winner = outcomes.indexOf("rotated");
  const winners = outcomes.filter((outcome) => outcome === "rotated").length;
  assertSame(winners, 1, `${winners} of ${runners} calls got "rotated"`);
  const use = steps[winner]?.use;
  for (const [runner, { to }] of steps.entries()) {
    const found = await peer.refreshTokens.find(to, now);
    if (runner === winner) {
      assertRecord(found, to, "the winner's token");
      continue;
    }
    assertNothing(found, "the token of a loser was stored");
    const outcome = outcomes[runner];
    if (use === undefined) assertSame(outcome, "not-rotated", "the answer to a loser");
    else assertRecord(typeof outcome === "object" ? outcome : undefined, use, "the use of the winner");
  }
  const used = { ...from, used: true, ...(use && { use }) };
  assertRecord(await peer.refreshTokens.find(from, now), used, "after the race");
}
