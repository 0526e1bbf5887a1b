/** A race for the rotation of one refresh token, and what its outcome must be. RFC 6749 §6, 9700 §4.14.2. */
import type { RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";
import { newDigest, newRefreshToken } from "./records";
import { assertNothing, assertRecord, assertSame, race, type RuleSubject } from "./rule";

/** A token that can follow this one. */
export function successor({ authorizationId, expiresAt }: RefreshToken): RefreshToken {
  return { authorizationId, expiresAt: expiresAt + 60, digest: newDigest(), used: false };
}

interface Step {
  readonly from: RefreshToken;
  readonly to: RefreshToken;
  readonly use?: RefreshTokenUse;
}

/** Takes this step. Whoever learns how the winner has used the token must find the winner's successor: both came in one step. */
async function take(
  { refreshTokens }: Storage,
  { step, steps, now }: { step: Step; steps: readonly Step[]; now: EpochSeconds },
): Promise<"rotated" | "not-rotated" | RefreshTokenUse> {
  const outcome = await refreshTokens.rotate(step, now);
  const won = typeof outcome === "object" && steps.find(({ use }) => use?.salt === outcome.salt);
  if (won) assertRecord(await refreshTokens.find(won.to, now), won.to, "the winner's token, for a loser");
  return outcome;
}

/** Rotates one token many times at once, each time with the `use` of that runner, if it has one. */
export async function raceToRotate(
  subject: RuleSubject,
  { runners, useOf }: { runners: number; useOf: (runner: number) => RefreshTokenUse | undefined },
): Promise<void> {
  const { storage, peer, now } = subject;
  const from = newRefreshToken(now);
  await storage.refreshTokens.create(from, now);
  const steps: readonly Step[] = Array.from({ length: runners }, (_, runner) => {
    const use = useOf(runner);
    return { from, to: successor(from), ...(use && { use }) };
  });
  const outcomes = await race(subject, {
    runners,
    run: (store, runner) => take(store, { step: steps[runner] ?? { from, to: from }, steps, now }),
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
