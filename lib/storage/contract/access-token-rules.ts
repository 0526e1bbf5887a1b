/** The contract of stored and revoked access tokens. RFC 6749 §1.4, 7009 §2.1. */
import { awkwardText, newAccessToken, newDigest, newDigestWithLookalikes, newId } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule } from "./rule";

export const accessTokenRules: readonly Rule[] = [
  {
    name: "accessTokens.find gives what accessTokens.create has stored, with every field",
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
      ]) {
        await storage.accessTokens.create(token, now);
        assertRecord(await peer.accessTokens.find(token.digest, now), token, "accessTokens.find");
      }
    },
  },
  {
    name: "accessTokens.find gives nothing for a digest that is not exactly a stored one",
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
    name: "a stored access token ends at its expiresAt, by the time that is given",
    async check({ storage, now }) {
      const token = newAccessToken(now, { expiresAt: now + 120 });
      await storage.accessTokens.create(token, now);
      assertRecord(await storage.accessTokens.find(token.digest, now + 119), token, "one second before");
      assertNothing(await storage.accessTokens.find(token.digest, now + 120), "found at its end");
      const late = newAccessToken(now, { expiresAt: now });
      await storage.accessTokens.create(late, now);
      assertNothing(await storage.accessTokens.find(late.digest, now), "it was over when it came");
    },
  },
  {
    name: "accessTokens.isRevoked says true after accessTokens.revoke, for this id alone, until the token ends",
    async check(subject) {
      const { storage, peer, now } = subject;
      const { tokenId, expiresAt } = newAccessToken(now);
      assertSame(await peer.accessTokens.isRevoked(tokenId, now), false, "before");
      await storage.accessTokens.revoke({ tokenId, expiresAt }, now);
      // before the other process has revoked it too
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
    name: "accessTokens.revoke revokes no other token of the same authorization",
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
    name: "a revoked access token is still findable",
    async check({ storage, peer, now }) {
      const token = newAccessToken(now);
      await storage.accessTokens.create(token, now);
      await storage.accessTokens.revoke(token, now);
      assertRecord(await peer.accessTokens.find(token.digest, now), token, "accessTokens.find");
    },
  },
];
