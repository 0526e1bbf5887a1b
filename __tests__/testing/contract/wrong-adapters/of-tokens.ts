/** Mistakes with codes and tokens. */
import type { EpochSeconds, RefreshToken } from "../../../../lib";
import { isLive, live } from "./table-storage";
import {
  cachingFind,
  newLock,
  ownNow,
  planted,
  type Process,
  wrong,
  type WrongAdapter,
} from "./wrong-adapter";

async function consumeInTwoSteps(
  { database: { authorizationCodes } }: Process,
  { digest, now }: { digest: string; now: EpochSeconds },
): Promise<"consumed" | "not-consumed"> {
  const code = live(await authorizationCodes.get(digest), now);
  if (!code || code.consumed) return "not-consumed";
  await authorizationCodes.set(digest, { ...code, consumed: true });
  return "consumed";
}

/** Adapters that let a code be consumed twice, or lose what it was. */
const codeMistakes: readonly WrongAdapter[] = [
  ...planted("authorizationCodes", {
    "consume has one winner": {
      "consume reads, then writes": (process) => ({
        consume: ({ digest }, now) => consumeInTwoSteps(process, { digest, now }),
      }),
      "consume reads, then writes, behind a lock of this process"(process) {
        const locked = newLock();
        return { consume: ({ digest }, now) => locked(() => consumeInTwoSteps(process, { digest, now })) };
      },
    },
    "consume uses a code once | consume uses nothing but | consume has one winner": {
      "consume ignores the row count": ({ storage }) => ({
        async consume(handle, now) {
          await storage.authorizationCodes.consume(handle, now);
          return "consumed";
        },
      }),
      "consume always says not-consumed": ({ storage }) => ({
        async consume(handle, now) {
          await storage.authorizationCodes.consume(handle, now);
          return "not-consumed";
        },
      }),
      "consume answers nothing": ({ storage }) => ({
        async consume(handle, now) {
          await storage.authorizationCodes.consume(handle, now);
          return undefined as unknown as "consumed";
        },
      }),
      "consume answers true and false": ({ storage }) => ({
        consume: async (handle, now) =>
          ((await storage.authorizationCodes.consume(handle, now)) === "consumed") as unknown as "consumed",
      }),
      "consume rejects for the loser": ({ storage }) => ({
        async consume(handle, now) {
          if ((await storage.authorizationCodes.consume(handle, now)) === "consumed") return "consumed";
          throw new Error("no row was updated");
        },
      }),
    },
    "consume uses a code once | consume has one winner": {
      "consume wins and does not mark the code": ({ storage }) => ({
        consume: async (handle, now) =>
          (await storage.authorizationCodes.find(handle, now)) ? "consumed" : "not-consumed",
      }),
      "consume deletes the code": ({ storage, database }) => ({
        async consume(handle, now) {
          const outcome = await storage.authorizationCodes.consume(handle, now);
          if (outcome === "consumed") await database.authorizationCodes.delete(handle.digest);
          return outcome;
        },
      }),
      "consume keeps a stub of the code": ({ storage, database }) => ({
        async consume(handle, now) {
          const outcome = await storage.authorizationCodes.consume(handle, now);
          await database.authorizationCodes.update(handle.digest, (code) => ({ ...code, redirectUri: "" }));
          return outcome;
        },
      }),
      "find hides consumed codes": ({ storage }) => ({
        async find(handle, now) {
          const code = await storage.authorizationCodes.find(handle, now);
          return code?.consumed === true ? undefined : code;
        },
      }),
    },
    "consume uses nothing but": {
      "consume goes by the authorizationId alone": ({ storage, database }) => ({
        async consume({ authorizationId }, now) {
          const siblings = (await database.authorizationCodes.all()).filter(
            (code) => code.authorizationId === authorizationId,
          );
          const outcomes = await Promise.all(
            siblings.map((code) => storage.authorizationCodes.consume(code, now)),
          );
          return outcomes.includes("consumed") ? "consumed" : "not-consumed";
        },
      }),
    },
    "authorizationCodes.find returns what was stored | authorizationCodes.find returns nothing": {
      "find goes by the authorizationId alone": ({ database }) => ({
        async find({ authorizationId }, now) {
          const codes = (await database.authorizationCodes.all()).filter(isLive(now));
          return codes.find((code) => code.authorizationId === authorizationId);
        },
      }),
    },
    "authorizationCodes.find returns nothing": {
      "find ignores case": ({ database }) => ({
        async find({ digest }, now) {
          const codes = (await database.authorizationCodes.all()).filter(isLive(now));
          return codes.find((code) => code.digest.toLowerCase() === digest.toLowerCase());
        },
      }),
    },
  }),
  ...(
    [
      ["consume forgets that codes expire", () => true],
      ["consume asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
    ] as const
  ).map(([mistake, lives]) =>
    wrong("authorizationCodes", {
      mistake,
      caughtBy: ["consume refuses a code that has expired"],
      change: ({ database }) => ({
        async consume({ digest }) {
          const won = await database.authorizationCodes.update(digest, (code) =>
            code.consumed || !lives(code.expiresAt) ? undefined : { ...code, consumed: true },
          );
          return won ? "consumed" : "not-consumed";
        },
      }),
    }),
  ),
  cachingFind("authorizationCodes", { caughtBy: ["consume uses a code once"] }),
];

async function rotateInTwoSteps(
  { database: { refreshTokens } }: Process,
  { from, to, now }: { from: { readonly digest: string }; to: RefreshToken; now: EpochSeconds },
): Promise<"rotated" | "not-rotated"> {
  const token = live(await refreshTokens.get(from.digest), now);
  if (!token || token.used) return "not-rotated";
  await refreshTokens.set(from.digest, { ...token, used: true });
  await refreshTokens.set(to.digest, to);
  return "rotated";
}

/** Adapters that let a refresh token be rotated twice, or lose what it was. */
const refreshTokenMistakes: readonly WrongAdapter[] = [
  ...planted("refreshTokens", {
    "rotate has one winner": {
      "rotate reads, then writes": (process) => ({
        rotate: (step, now) => rotateInTwoSteps(process, { ...step, now }),
      }),
      "rotate reads, then writes, behind a lock of this process"(process) {
        const locked = newLock();
        return { rotate: (step, now) => locked(() => rotateInTwoSteps(process, { ...step, now })) };
      },
    },
    "rotate uses a refresh token once | rotate uses nothing but | rotate has one winner": {
      "rotate stores the successor before it knows who wins": ({ storage, database }) => ({
        async rotate(step, now) {
          await database.refreshTokens.set(step.to.digest, step.to);
          return storage.refreshTokens.rotate(step, now);
        },
      }),
      "rotate ignores the row count": ({ storage }) => ({
        async rotate(step, now) {
          await storage.refreshTokens.rotate(step, now);
          return "rotated";
        },
      }),
    },
    "rotates a successor in its turn": {
      "rotate works only in the process that has stored the token"({ storage }) {
        const own = new Set<string>();
        return {
          create(token, now) {
            own.add(token.digest);
            return storage.refreshTokens.create(token, now);
          },
          rotate: async (step, now) =>
            own.has(step.from.digest) ? storage.refreshTokens.rotate(step, now) : "not-rotated",
        };
      },
    },
    "rotate uses nothing but": {
      "rotate stores the successor of an unknown token": ({ storage, database }) => ({
        async rotate({ from, to }, now) {
          if (!(await database.refreshTokens.get(from.digest)))
            await database.refreshTokens.set(to.digest, to);
          return storage.refreshTokens.rotate({ from, to }, now);
        },
      }),
      "rotate goes by the authorizationId alone": ({ storage, database }) => ({
        async rotate({ from, to }, now) {
          const family = (await database.refreshTokens.all()).filter(
            (token) => token.authorizationId === from.authorizationId && !token.used,
          );
          return storage.refreshTokens.rotate({ from: family.at(-1) ?? from, to }, now);
        },
      }),
    },
    "rotate uses a refresh token once | rotate has one winner": {
      "rotate always says not-rotated": ({ storage }) => ({
        async rotate(step, now) {
          await storage.refreshTokens.rotate(step, now);
          return "not-rotated";
        },
      }),
      "rotate does not store the successor": ({ database }) => ({
        async rotate({ from }, now) {
          const won = await database.refreshTokens.update(from.digest, (token) =>
            token.used || !isLive(now)(token) ? undefined : { ...token, used: true },
          );
          return won ? "rotated" : "not-rotated";
        },
      }),
      "rotate stores the successor after it has answered": ({ database }) => ({
        async rotate({ from, to }, now) {
          const won = await database.refreshTokens.update(from.digest, (token) =>
            token.used || !isLive(now)(token) ? undefined : { ...token, used: true },
          );
          if (won) setImmediate(() => void database.refreshTokens.set(to.digest, to).catch(() => undefined));
          return won ? "rotated" : "not-rotated";
        },
      }),
      "rotate stores the successor with the end of the token before it": ({ storage }) => ({
        async rotate({ from, to }, now) {
          const expiresAt = (await storage.refreshTokens.find(from, now))?.expiresAt ?? to.expiresAt;
          return storage.refreshTokens.rotate({ from, to: { ...to, expiresAt } }, now);
        },
      }),
      "rotate forgets the used token": ({ storage, database }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          if (outcome === "rotated") await database.refreshTokens.delete(step.from.digest);
          return outcome;
        },
      }),
      "rotate lets the used token end a minute later": ({ storage, database }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          await database.refreshTokens.update(step.from.digest, (token) => ({
            ...token,
            expiresAt: now + 60,
          }));
          return outcome;
        },
      }),
      "rotate gives the loser the winner's answer for a moment of grace": ({ storage, database }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          return (await database.refreshTokens.get(step.from.digest))?.used === true ? "rotated" : outcome;
        },
      }),
      "find hides used tokens": ({ storage }) => ({
        async find(handle, now) {
          const token = await storage.refreshTokens.find(handle, now);
          return token?.used === true ? undefined : token;
        },
      }),
    },
    "with a `use` has one winner among 64": {
      "rotate stores the successor in a second step, before it answers": ({ database }) => ({
        async rotate({ from, to, use }, now) {
          let before: RefreshToken | undefined;
          const won = await database.refreshTokens.update(from.digest, (token) => {
            before = token;
            return token.used || !isLive(now)(token)
              ? undefined
              : { ...token, used: true, ...(use && { use }) };
          });
          if (!won) return live(before, now)?.use ?? "not-rotated";
          // its last use, say
          await database.authorizations.update(from.authorizationId, (one) => ({ ...one, lastUsedAt: now }));
          await database.refreshTokens.set(to.digest, to);
          return "rotated";
        },
      }),
    },
    "refreshTokens.find returns nothing": {
      "find goes by the authorizationId alone": ({ database }) => ({
        async find({ authorizationId }, now) {
          const tokens = (await database.refreshTokens.all()).filter(isLive(now));
          return tokens.find((token) => token.authorizationId === authorizationId);
        },
      }),
    },
  }),
  ...(
    [
      ["rotate forgets that tokens expire", () => true],
      ["rotate asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
    ] as const
  ).map(([mistake, lives]) =>
    wrong("refreshTokens", {
      mistake,
      caughtBy: ["refreshTokens.rotate refuses a refresh token"],
      change: ({ database }) => ({
        async rotate({ from, to }) {
          const won = await database.refreshTokens.update(from.digest, (token) =>
            token.used || !lives(token.expiresAt) ? undefined : { ...token, used: true },
          );
          if (won) await database.refreshTokens.set(to.digest, to);
          return won ? "rotated" : "not-rotated";
        },
      }),
    }),
  ),
  cachingFind("refreshTokens", { caughtBy: ["rotate uses a refresh token once"] }),
];

/** Adapters that tell a loser nothing, or something else than the winner stored. */
const retryMistakes: readonly WrongAdapter[] = [
  ...planted("refreshTokens", {
    "with a `use` uses a refresh token once | with a `use` has one winner | only some of the calls": {
      "rotate does not keep the use": ({ storage }) => ({
        rotate: ({ from, to }, now) => storage.refreshTokens.rotate({ from, to }, now),
      }),
      "rotate gives every loser not-rotated": ({ storage }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          return outcome === "rotated" ? outcome : "not-rotated";
        },
      }),
    },
    "with a `use` uses a refresh token once | with a `use` uses nothing but | with a `use` has one winner | only some of the calls":
      {
        "rotate gives losers their own use": ({ storage }) => ({
          async rotate(step, now) {
            const outcome = await storage.refreshTokens.rotate(step, now);
            return outcome === "rotated" ? outcome : (step.use ?? outcome);
          },
        }),
      },
    "only some of the calls": {
      "rotate gives the use only to calls that have one themselves": ({ storage }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          return outcome === "rotated" || step.use ? outcome : "not-rotated";
        },
      }),
    },
    "with a `use` refuses": {
      "rotate gives the use of a token that has expired": ({ storage, database }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          if (outcome === "rotated") return outcome;
          return (await database.refreshTokens.get(step.from.digest))?.use ?? outcome;
        },
      }),
    },
    "when only some of the calls": {
      "rotate lets a loser add its use where the winner had none": ({ storage, database }) => ({
        async rotate(step, now) {
          const outcome = await storage.refreshTokens.rotate(step, now);
          const { use } = step;
          if (outcome === "not-rotated" && use)
            await database.refreshTokens.update(step.from.digest, (token) => ({ use, ...token }));
          return outcome;
        },
      }),
    },
    "with a `use` has one winner among 64 | only some of the calls": {
      "rotate gives the use that it has read before it tried": ({ storage }) => ({
        async rotate(step, now) {
          const before = await storage.refreshTokens.find(step.from, now);
          const outcome = await storage.refreshTokens.rotate(step, now);
          return outcome === "rotated" ? outcome : (before?.use ?? "not-rotated");
        },
      }),
      "rotate stores the use in a step of its own, which a loser may take too": ({ storage, database }) => ({
        async rotate({ from, to, use }, now) {
          const before = await storage.refreshTokens.find(from, now);
          const outcome = await storage.refreshTokens.rotate({ from, to }, now);
          if (before?.used === false && use)
            await database.refreshTokens.update(from.digest, (token) => ({ ...token, use }));
          return outcome === "rotated"
            ? outcome
            : ((await storage.refreshTokens.find(from, now))?.use ?? outcome);
        },
      }),
    },
  }),
];

/** Adapters that find or revoke the wrong access token, or forget a revocation. */
const accessTokenMistakes: readonly WrongAdapter[] = [
  ...planted("accessTokens", {
    "isRevoked is true after": {
      "isRevoked is always true after the first revocation": ({ database }) => ({
        isRevoked: async (_, now) => (await database.revokedAccessTokens.all()).some(isLive(now)),
      }),
      "isRevoked is always false": () => ({ isRevoked: async () => false }),
      "isRevoked ignores case": ({ database }) => ({
        isRevoked: async (tokenId, now) =>
          (await database.revokedAccessTokens.all())
            .filter(isLive(now))
            .some((revoked) => revoked.tokenId.toLowerCase() === tokenId.toLowerCase()),
      }),
      "isRevoked asks only what this process has revoked"({ storage }) {
        const own = new Set<string>();
        return {
          async revoke(token, now) {
            await storage.accessTokens.revoke(token, now);
            own.add(token.tokenId);
          },
          isRevoked: async (tokenId, now) => own.has(tokenId) && storage.accessTokens.isRevoked(tokenId, now),
        };
      },
      "isRevoked repeats a no"({ storage }) {
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
      "a revocation is forgotten after a minute": ({ storage }) => ({
        revoke: (token, now) => storage.accessTokens.revoke({ ...token, expiresAt: now + 60 }, now),
      }),
      "a revocation is forgotten at once": () => ({ revoke: async () => undefined }),
      "revoke works only where the token is stored, and a JWT is not": ({ storage, database }) => ({
        async revoke(token, now) {
          const stored = (await database.accessTokens.all()).some(({ tokenId }) => tokenId === token.tokenId);
          if (stored) await storage.accessTokens.revoke(token, now);
        },
      }),
      "revoke rejects the second time": ({ storage, database }) => ({
        async revoke(token, now) {
          if (await database.revokedAccessTokens.get(token.tokenId)) throw new Error("duplicate key");
          await storage.accessTokens.revoke(token, now);
        },
      }),
    },
    "revokes no other token": {
      "isRevoked speaks for every token of the client": ({ storage, database }) => ({
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
      "revoke deletes the token": ({ storage, database }) => ({
        async revoke(token, now) {
          await storage.accessTokens.revoke(token, now);
          for (const { digest, tokenId } of await database.accessTokens.all())
            if (tokenId === token.tokenId) await database.accessTokens.delete(digest);
        },
      }),
    },
    "accessTokens.find returns nothing": {
      "find takes a token id for a digest": ({ database }) => ({
        find: async (key, now) =>
          (await database.accessTokens.all())
            .filter(isLive(now))
            .find(({ digest, tokenId }) => digest === key || tokenId === key),
      }),
    },
    "accessTokens.revoke also remembers": {
      "revoke leaves what has expired by the caller's clock": ({ storage }) => ({
        async revoke(token, now) {
          if (now < token.expiresAt) await storage.accessTokens.revoke(token, now);
        },
      }),
      "a revocation is forgotten when the token is over by the clock of the store": ({ storage }) => ({
        isRevoked: (tokenId, now) => storage.accessTokens.isRevoked(tokenId, Math.max(now, ownNow())),
      }),
    },
  }),
];

/** All of them. */
export const tokenMistakes: readonly WrongAdapter[] = [
  ...codeMistakes,
  ...refreshTokenMistakes,
  ...retryMistakes,
  ...accessTokenMistakes,
];
