/** The contract of opaque and revoked access tokens. RFC 6749 §1.4, 7009 §2.1. */
import {
  awkwardText,
  brokenText,
  longText,
  newAccessToken,
  newDigest,
  newDigestWithLookalikes,
  newId,
} from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule } from "./rule";

/** The rules of `accessTokens`. @rfc 7009 §2.1 */
export const accessTokenRules: readonly Rule[] = [
  {
    name: "accessTokens.find returns what accessTokens.create stored, with every field",
    async check({ storage, peer, now }) {
      for (const token of [
        newAccessToken(now),
        newAccessToken(now, { scopes: [] }),
        newAccessToken(now, {
          subject: `${newId()}${awkwardText}`,
          authorizationId: newId(),
          authTime: now - 100,
          amr: ["pwd", "otp"],
          acr: awkwardText,
        }),
        // what the host adds (tokens.decide) is JSON of any depth
        newAccessToken(now, { claims: { deep: { list: [1, awkwardText, { none: false }] } } }),
        newAccessToken(now, { claims: { long: longText } }),
        newAccessToken(now, { amr: [brokenText], acr: brokenText, claims: { deep: [{ text: brokenText }] } }),
      ]) {
        await storage.accessTokens.create(token, now);
        assertRecord(await peer.accessTokens.find(token.digest, now), token, "accessTokens.find");
      }
    },
  },
  {
    name: "accessTokens.find returns nothing for a digest that is not exactly a stored one",
    async check({ storage, now }) {
      const { digest: stored, lookalikes } = newDigestWithLookalikes();
      const token = newAccessToken(now, { digest: stored });
      await storage.accessTokens.create(token, now);
      for (const digest of [...lookalikes, token.tokenId, ""]) {
        assertNothing(await storage.accessTokens.find(digest, now), `accessTokens.find("${digest}")`);
      }
    },
  },
  {
    name: "a stored access token expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const token = newAccessToken(now, { expiresAt: now + 120 });
      await storage.accessTokens.create(token, now);
      assertRecord(await storage.accessTokens.find(token.digest, now + 119), token, "one second before");
      assertNothing(await storage.accessTokens.find(token.digest, now + 120), "found at its end");
      const late = newAccessToken(now, { expiresAt: now });
      await storage.accessTokens.create(late, now);
      assertNothing(await storage.accessTokens.find(late.digest, now), "stored after its end");
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newAccessToken(now, { expiresAt: now - 30 });
      await storage.accessTokens.create(past, now - 60);
      assertRecord(await storage.accessTokens.find(past.digest, now - 31), past, "by a clock that is behind");
      assertNothing(await storage.accessTokens.find(past.digest, now - 30), "at its end by that clock");
    },
  },
  {
    name: "accessTokens.isRevoked is true after accessTokens.revoke, for this id only, until the token expires",
    async check(subject) {
      const { storage, peer, now } = subject;
      const { tokenId, expiresAt } = newAccessToken(now);
      assertSame(await peer.accessTokens.isRevoked(tokenId, now), false, "before");
      await storage.accessTokens.revoke({ tokenId, expiresAt }, now);
      // asked before the peer revokes it too, which would hide a revocation that only this process knows
      assertSame(await peer.accessTokens.isRevoked(tokenId, now), true, "to the other process");
      await race(subject, {
        runners: 8,
        run: (store) => store.accessTokens.revoke({ tokenId, expiresAt }, now),
      });
      assertSame(await peer.accessTokens.isRevoked(tokenId, now), true, "after");
      assertSame(
        await peer.accessTokens.isRevoked(tokenId, expiresAt - 1),
        true,
        "one second before its end",
      );
      assertSame(await peer.accessTokens.isRevoked(newId(), now), false, "another id");
      const otherCase = tokenId.toLowerCase();
      if (otherCase !== tokenId) assertSame(await peer.accessTokens.isRevoked(otherCase, now), false, "case");
    },
  },
  {
    name: "accessTokens.revoke does not revoke another token of the same authorization",
    async check({ storage, peer, now }) {
      const token = newAccessToken(now, { subject: newId(), authorizationId: newId() });
      const sibling = { ...token, digest: newDigest(), tokenId: newId() };
      await storage.accessTokens.create(token, now);
      await storage.accessTokens.create(sibling, now);
      await storage.accessTokens.revoke(token, now);
      assertSame(await peer.accessTokens.isRevoked(token.tokenId, now), true, "the token");
      assertSame(await peer.accessTokens.isRevoked(sibling.tokenId, now), false, "its sibling");
    },
  },
  {
    name: "a revoked access token can still be found",
    async check({ storage, peer, now }) {
      const token = newAccessToken(now);
      await storage.accessTokens.create(token, now);
      await storage.accessTokens.revoke(token, now);
      assertRecord(await peer.accessTokens.find(token.digest, now), token, "accessTokens.find");
    },
  },
  {
    name: "accessTokens.revoke also remembers a token that has expired at `now`",
    async check({ storage, peer, now }) {
      const token = newAccessToken(now, { expiresAt: now + 120 });
      await storage.accessTokens.create(token, now);
      // the caller's clock may be ahead, and the others still take the token
      await storage.accessTokens.revoke(token, now + 300);
      assertSame(await peer.accessTokens.isRevoked(token.tokenId, now), true, "accessTokens.isRevoked");
    },
  },
  {
    name: "accessTokens.isRevoked remembers a revocation by the time that is passed in",
    async check({ storage, peer, now }) {
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const { tokenId, expiresAt } = newAccessToken(now, { expiresAt: now - 30 });
      await storage.accessTokens.revoke({ tokenId, expiresAt }, now - 60);
      assertSame(await peer.accessTokens.isRevoked(tokenId, now - 31), true, "one second before its end");
    },
  },
];
