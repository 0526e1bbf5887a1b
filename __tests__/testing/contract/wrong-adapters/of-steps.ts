/** Mistakes with `atOnce`. */
import type { Database } from "./table-storage";
import { planted, type WrongAdapter } from "./wrong-adapter";

type Redeem = WrongSteps["redeem"];
type WrongSteps = Required<NonNullable<ReturnType<WrongAdapter["make"]>["atOnce"]>>;

/** Stores what the code pays for, whoever consumes it. */
function store(database: Database, { refreshToken, accessToken }: Parameters<Redeem>[0]): void {
  if (refreshToken) database.refreshTokens.setAlong(refreshToken.digest, refreshToken);
  if (accessToken) database.accessTokens.setAlong(accessToken.digest, accessToken);
}

/** Adapters whose steps do less than the calls that they stand for, or not in one step. */
export const stepMistakes: readonly WrongAdapter[] = planted("atOnce", {
  "atOnce.redeem has one winner among | atOnce.redeem uses nothing but": {
    "redeem stores the refresh tokens of losers": ({ storage, database }) => ({
      redeem(step, now) {
        store(database, step);
        return storage.atOnce.redeem({ code: step.code }, now);
      },
    }),
  },
  "atOnce.redeem has one winner | atOnce.redeem uses a code once": {
    "redeem gives every call the code": ({ storage }) => ({
      async redeem(step, now) {
        await storage.atOnce.redeem(step, now);
        return "consumed";
      },
    }),
    "redeem stores no access token": ({ storage }) => ({
      redeem: ({ code, refreshToken }, now) => storage.atOnce.redeem({ code, refreshToken }, now),
    }),
  },
  "atOnce.redeem has one winner | atOnce.redeem stores a refresh token": {
    "redeem stores no refresh token": ({ storage }) => ({
      redeem: ({ code, accessToken }, now) => storage.atOnce.redeem({ code, accessToken }, now),
    }),
    "redeem stores the refresh token as a used one": ({ storage }) => ({
      redeem: ({ refreshToken, ...step }, now) =>
        storage.atOnce.redeem(
          { ...step, refreshToken: refreshToken && { ...refreshToken, used: true } },
          now,
        ),
    }),
  },
  "atOnce.redeem has one winner among 64 | atOnce.redeem with consume beside it": {
    "redeem looks before it writes": ({ storage, database }) => ({
      async redeem(step, now) {
        const code = await storage.authorizationCodes.find(step.code, now);
        if (!code || code.consumed) return "not-consumed";
        store(database, step);
        await storage.authorizationCodes.consume(step.code, now);
        return "consumed";
      },
    }),
  },
  "atOnce.redeem refuses a code that has expired": {
    "redeem goes by its own clock": ({ storage }) => ({
      redeem: (step) => storage.atOnce.redeem(step, Math.floor(Date.now() / 1000)),
    }),
  },
  "atOnce.redeem sets the authorization's lastUsedAt": {
    "redeem leaves lastUsedAt": ({ storage, database }) => ({
      async redeem(step, now) {
        const before = await database.authorizations.get(step.code.authorizationId);
        const outcome = await storage.atOnce.redeem(step, now);
        if (before) database.authorizations.setAlong(before.authorizationId, before);
        return outcome;
      },
    }),
    "redeem moves lastUsedAt for losers": ({ storage, database }) => ({
      redeem(step, now) {
        database.authorizations.updateAlong(step.code.authorizationId, (record) => ({
          ...record,
          lastUsedAt: now,
        }));
        return storage.atOnce.redeem(step, now);
      },
    }),
  },
  "atOnce.approve stores an authorization and its code | atOnce.approve of 16 codes": {
    "approve stores no code": ({ storage }) => ({
      approve: ({ authorization }, now) => storage.authorizations.create(authorization, now),
    }),
    "approve stores no authorization": ({ storage }) => ({
      approve: ({ code }, now) => storage.authorizationCodes.create(code, now),
    }),
    "approve answers before it has stored": ({ storage }) => ({
      approve: async (step, now) => void setTimeout(() => void storage.atOnce.approve(step, now), 20),
    }),
  },
  "atOnce.approve stores an authorization and its code": {
    "approve leaves out what it does not know of a code": ({ storage }) => ({
      approve: ({ authorization, code }, now) =>
        storage.atOnce.approve({ authorization, code: { ...code, nonce: undefined } as never }, now),
    }),
  },
  "atOnce.approve keeps to maxAuthorizations": {
    "approve lets them grow": ({ database }) => ({
      async approve({ authorization, code }) {
        await database.authorizations.set(authorization.authorizationId, authorization);
        await database.authorizationCodes.set(code.digest, code);
      },
    }),
  },
});
