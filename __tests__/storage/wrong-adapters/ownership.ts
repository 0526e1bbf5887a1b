/** Records that the adapter shares with its caller. */
import type { Authorization, RefreshToken } from "../../../lib";
import { rule } from "./rules";
import { consentId } from "./table-storage";
import { wrong, type WrongAdapter } from "./wrong-adapter";

/** Adapters that do not keep and give copies. */
export const sharedMistakes: readonly WrongAdapter[] = [
  wrong("authorizations", {
    mistake: "create keeps the caller's own object",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const kept = new Map<string, Authorization>();
      return {
        create(record, now) {
          kept.set(record.authorizationId, record);
          return storage.authorizations.create(record, now);
        },
        async find(id, now) {
          const found = await storage.authorizations.find(id, now);
          return found && { ...(kept.get(id) ?? found), revoked: found.revoked };
        },
      };
    },
  }),
  wrong("consents", {
    mistake: "save keeps the caller's own list",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const kept = new Map<string, readonly string[]>();
      return {
        save(consent, now) {
          kept.set(consentId(consent), consent.scopes);
          return storage.consents.save(consent, now);
        },
        async find(key, now) {
          const found = await storage.consents.find(key, now);
          return found && { ...found, scopes: kept.get(consentId(key)) ?? found.scopes };
        },
      };
    },
  }),
  wrong("refreshTokens", {
    mistake: "find gives the stored object itself",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const given = new Map<string, RefreshToken>();
      return {
        async find(handle, now) {
          const found = await storage.refreshTokens.find(handle, now);
          if (!found) return undefined;
          const known = Object.assign(given.get(handle.digest) ?? found, { used: found.used });
          given.set(handle.digest, known);
          return known;
        },
      };
    },
  }),
];
