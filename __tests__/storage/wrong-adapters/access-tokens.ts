/** Mistakes with access tokens and their revocation. */
import { rule } from "./rules";
import { isLive } from "./table-storage";
import { ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

/** Adapters that find or revoke the wrong access token, or forget a revocation. */
export const accessTokenMistakes: readonly WrongAdapter[] = [
  wrong("accessTokens", {
    mistake: "isRevoked is always true after the first revocation",
    caughtBy: [rule.isRevoked],
    change: ({ database }) => ({
      isRevoked: async (_, now) => (await database.revokedAccessTokens.all()).some(isLive(now)),
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked speaks for every token of the client",
    caughtBy: [rule.revokeSibling],
    change: ({ storage, database }) => ({
      async isRevoked(tokenId, now) {
        if (await storage.accessTokens.isRevoked(tokenId, now)) return true;
        const tokens = await database.accessTokens.all();
        const revoked = await database.revokedAccessTokens.all();
        const own = tokens.find((token) => token.tokenId === tokenId);
        return tokens.some(
          (token) =>
            token.clientId === own?.clientId && revoked.some(({ tokenId: id }) => id === token.tokenId),
        );
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked is always false",
    caughtBy: [rule.isRevoked],
    change: () => ({ isRevoked: async () => false }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked ignores case",
    caughtBy: [rule.isRevoked],
    change: ({ database }) => ({
      isRevoked: async (tokenId, now) =>
        (await database.revokedAccessTokens.all())
          .filter(isLive(now))
          .some((revoked) => revoked.tokenId.toLowerCase() === tokenId.toLowerCase()),
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked asks only what this process has revoked",
    caughtBy: [rule.isRevoked],
    change({ storage }) {
      const own = new Set<string>();
      return {
        async revoke(token, now) {
          await storage.accessTokens.revoke(token, now);
          own.add(token.tokenId);
        },
        isRevoked: async (tokenId, now) => own.has(tokenId) && storage.accessTokens.isRevoked(tokenId, now),
      };
    },
  }),
  wrong("accessTokens", {
    mistake: "isRevoked repeats a no",
    caughtBy: [rule.isRevoked],
    change({ storage }) {
      const known = new Set<string>();
      return {
        async isRevoked(tokenId, now) {
          if (known.has(tokenId)) return false;
          const revoked = await storage.accessTokens.isRevoked(tokenId, now);
          if (!revoked) known.add(tokenId);
          return revoked;
        },
      };
    },
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten after a minute",
    caughtBy: [rule.isRevoked],
    change: ({ storage }) => ({
      revoke: (token, now) => storage.accessTokens.revoke({ ...token, expiresAt: now + 60 }, now),
    }),
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten at once",
    caughtBy: [rule.isRevoked],
    change: () => ({ revoke: async () => undefined }),
  }),
  wrong("accessTokens", {
    mistake: "revoke works only where the token is stored, and a JWT is not",
    caughtBy: [rule.isRevoked],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        const stored = (await database.accessTokens.all()).some(({ tokenId }) => tokenId === token.tokenId);
        if (stored) await storage.accessTokens.revoke(token, now);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "revoke rejects the second time",
    caughtBy: [rule.isRevoked],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        if (await database.revokedAccessTokens.get(token.tokenId)) throw new Error("duplicate key");
        await storage.accessTokens.revoke(token, now);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "revoke deletes the token",
    caughtBy: [rule.revokedFindable],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        await storage.accessTokens.revoke(token, now);
        for (const { digest, tokenId } of await database.accessTokens.all())
          if (tokenId === token.tokenId) await database.accessTokens.delete(digest);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "find takes a token id for a digest",
    caughtBy: [rule.accessNone],
    change: ({ database }) => ({
      find: async (key, now) =>
        (await database.accessTokens.all())
          .filter(isLive(now))
          .find(({ digest, tokenId }) => digest === key || tokenId === key),
    }),
  }),
  wrong("accessTokens", {
    mistake: "revoke leaves what has expired by the caller's clock",
    caughtBy: [rule.revokeAccessAhead],
    change: ({ storage }) => ({
      async revoke(token, now) {
        if (now < token.expiresAt) await storage.accessTokens.revoke(token, now);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten when the token is over by the clock of the store",
    caughtBy: [rule.revokedBySlowClock],
    change: ({ storage }) => ({
      isRevoked: (tokenId, now) => storage.accessTokens.isRevoked(tokenId, Math.max(now, ownNow())),
    }),
  }),
];
