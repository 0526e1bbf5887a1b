/** Steps of several ports: each does what its calls would do one after the other, and all of it or nothing. RFC 6749 §4.1.2, §10.5. */
import type { RefreshToken } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import {
  maxAuthorizations,
  type StepsAtOnce,
  type Storage,
  type StoredAccessToken,
} from "../../storage/port";
import { newAccessToken, newAuthorization, newCode, newId, newRefreshToken } from "./records";
import {
  assertAll,
  assertNothing,
  assertRecord,
  assertSame,
  listAll,
  ofOptional,
  race,
  type Rules,
} from "./rule";
import {
  endedRule,
  isWon,
  onceRule,
  onlyRule,
  raceRules,
  type Single,
  type SingleUse,
} from "./single-use-rules";

/** The step itself. Its rules are not run where there is none. */
function step<Name extends "approve" | "redeem">(
  { atOnce }: Storage,
  name: Name,
): Required<StepsAtOnce>[Name] {
  return atOnce?.[name] as Required<StepsAtOnce>[Name];
}

interface Paid {
  readonly refreshToken: RefreshToken;
  readonly accessToken: StoredAccessToken;
  isWinner: boolean;
}

/** Fails unless the winner's tokens are stored, and no refresh token of a loser: it would be a second family, which nobody notices. */
async function assertPaid(
  { refreshTokens, accessTokens }: Storage,
  { refreshToken, accessToken, isWinner }: Paid,
  at: EpochSeconds,
): Promise<void> {
  const kept = await refreshTokens.find(refreshToken, at);
  if (!isWinner) return assertNothing(kept, "a refresh token was stored though the code was not consumed");
  assertRecord(kept, refreshToken, "the winner's refresh token");
  const found = await accessTokens.find(accessToken.digest, at);
  assertRecord(found, accessToken, "the winner's access token");
}

/** A code, which each call redeems for tokens of its own. With `byConsume`, every other call consumes it instead. */
function redemption({ byConsume = false } = {}): SingleUse {
  return {
    call: "atOnce.redeem",
    one: "a code",
    begin(now, changes): Single {
      const code = newCode(now, changes);
      const { authorizationId, expiresAt } = code;
      const is = { stored: false, consumed: false };
      const paid: Paid[] = [];
      let calls = 0;
      return {
        async store({ authorizationCodes }, at) {
          await authorizationCodes.create(code, at);
          is.stored = true;
        },
        async use(storage, at) {
          calls += 1;
          const tokens = {
            refreshToken: newRefreshToken(now, { authorizationId, expiresAt }),
            accessToken: { ...newAccessToken(now), expiresAt },
          };
          const outcome = await (byConsume && calls % 2 === 0
            ? storage.authorizationCodes.consume(code, at)
            : step(storage, "redeem")({ code, ...tokens }, at));
          const isWinner = isWon(outcome, ["consumed", "not-consumed"]);
          if (!byConsume || calls % 2 === 1) paid.push({ ...tokens, isWinner });
          is.consumed ||= isWinner;
          return isWinner;
        },
        async assertState(storage, at) {
          const found = await storage.authorizationCodes.find(code, at);
          if (is.stored) assertRecord(found, { ...code, consumed: is.consumed }, "the code");
          else assertNothing(found, "a code that was never stored");
          for (const each of paid) await assertPaid(storage, each, at);
        },
      };
    },
  };
}

const redeem = redemption();

const redeemRules: Rules = {
  ...onceRule(redeem),
  ...onlyRule(redeem),
  ...endedRule(redeem),
  ...raceRules(redeem),
  ...raceRules({
    ...redemption({ byConsume: true }),
    call: "atOnce.redeem with consume beside it",
  }),
  async "atOnce.redeem sets the authorization's lastUsedAt, also where the code pays for no tokens"({
    storage,
    peer,
    now,
  }) {
    const authorization = newAuthorization(now);
    const { authorizationId, subject } = authorization;
    const code = newCode(now, { authorizationId });
    await storage.authorizations.create(authorization, now);
    await storage.authorizationCodes.create(code, now);
    for (const outcome of ["consumed", "not-consumed"])
      assertSame(
        await step(storage, "redeem")({ code }, now + (outcome === "consumed" ? 5 : 9)),
        outcome,
        "atOnce.redeem",
      );
    const [listed] = await listAll(peer, { subject, now });
    assertRecord(listed, { ...authorization, lastUsedAt: now + 5 }, "authorizations.list");
  },
  async "atOnce.redeem stores a refresh token that can be rotated, and an access token that can be revoked"({
    storage,
    peer,
    now,
  }) {
    const code = newCode(now);
    const { authorizationId } = code;
    const refreshToken = newRefreshToken(now, { authorizationId });
    const accessToken = newAccessToken(now);
    await peer.authorizationCodes.create(code, now);
    assertSame(
      await step(storage, "redeem")({ code, refreshToken, accessToken }, now),
      "consumed",
      "atOnce.redeem",
    );
    const to = newRefreshToken(now, { authorizationId });
    assertSame(
      await peer.refreshTokens.rotate({ from: refreshToken, to }, now),
      "rotated",
      "refreshTokens.rotate",
    );
    await peer.accessTokens.revoke(accessToken, now);
    assertSame(
      await storage.accessTokens.isRevoked(accessToken.tokenId, now),
      true,
      "accessTokens.isRevoked",
    );
  },
};

/** An authorization and its code. */
function newApproval(now: EpochSeconds, changes?: Parameters<typeof newAuthorization>[1]) {
  const authorization = newAuthorization(now, changes);
  const { authorizationId } = authorization;
  return { authorization, code: newCode(now, { authorizationId, nonce: newId() }) };
}

const approveRules: Rules = {
  async "atOnce.approve stores an authorization and its code, which every process finds and can use"({
    storage,
    peer,
    now,
  }) {
    const { authorization, code } = newApproval(now);
    const { subject } = authorization;
    await step(storage, "approve")({ authorization, code }, now);
    await assertAll(peer, { records: [authorization], now, revoked: false });
    assertRecord(await peer.authorizationCodes.find(code, now), code, "the code");
    assertSame(await peer.authorizationCodes.consume(code, now), "consumed", "authorizationCodes.consume");
    assertSame(await peer.authorizations.revokeAll({ subject }, now), 1, "authorizations.revokeAll");
    await assertAll(storage, { records: [authorization], now, revoked: true });
  },
  async "atOnce.approve keeps to maxAuthorizations as authorizations.create does"({ storage, peer, now }) {
    const { subject, clientId, apiId } = newAuthorization(now);
    const approvals = Array.from({ length: maxAuthorizations + 1 }, (_, index) =>
      newApproval(now, { subject, clientId, apiId, createdAt: now - 500 + index }),
    );
    for (const each of approvals) await step(storage, "approve")(each, now);
    const records = approvals.map(({ authorization }) => authorization);
    await assertAll(peer, { records: records.slice(0, 1), now, revoked: true });
    await assertAll(peer, { records: records.slice(1), now, revoked: false });
  },
  async "atOnce.approve of 16 codes at once stores each"(subject) {
    const { peer, now } = subject;
    const key = newAuthorization(now);
    await race(subject, {
      runners: 16,
      async run(storage) {
        const { authorization, code } = newApproval(now, { subject: key.subject, clientId: key.clientId });
        await step(storage, "approve")({ authorization, code }, now);
        await assertAll(peer, { records: [authorization], now, revoked: false });
        assertRecord(await peer.authorizationCodes.find(code, now), code, "the code");
      },
    });
  },
};

/** The rules of the steps at once. @rfc 6749 §4.1.2, §10.5 */
export const atOnceRules: readonly Rules[] = [
  ofOptional("atOnce.redeem", redeemRules),
  ofOptional("atOnce.approve", approveRules),
];
