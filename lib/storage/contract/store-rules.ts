/** The contract of the store as a whole: its records are independent copies, and its failures are visible. RFC 6749 §10.5. */
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";
import {
  newAccessToken,
  newAuthorization,
  newCode,
  newConsent,
  newDigest,
  newEndMark,
  newId,
  newRefreshToken,
} from "./records";
import { assertRecord, assertRejects, type Rule } from "./rule";

/** Changes every part of a record that can be changed, as a careless caller might. */
function spoil(record: object | undefined): void {
  for (const [name, value] of Object.entries(record ?? {})) {
    if (Array.isArray(value) && !Object.isFrozen(value)) value.push("spoilt");
    Reflect.set(record ?? {}, name, "spoilt");
  }
}

async function checkOwnership<T extends object>(
  record: T,
  { store, find }: { store: (record: T) => Promise<void>; find: (key: T) => Promise<T | undefined> },
): Promise<void> {
  const kept = JSON.parse(JSON.stringify(record)) as T;
  await store(record);
  spoil(record);
  assertRecord(await find(kept), kept, "after changing the record that was passed in");
  spoil(await find(kept));
  assertRecord(await find(kept), kept, "after changing the record that was returned");
}

/** The rule that stored records are independent of the records that were passed in or returned. */
export const ownershipRules: readonly Rule[] = [
  {
    name: "a record that was passed in or returned can be changed without changing the stored one",
    async check({ storage, now }) {
      const { consents, authorizations, authorizationCodes, refreshTokens, accessTokens } = storage;
      await checkOwnership(newConsent(now), {
        store: (consent) => consents.save(consent, now),
        find: (key) => consents.find(key, now),
      });
      await checkOwnership(newAuthorization(now, { amr: ["pwd"] }), {
        store: (authorization) => authorizations.create(authorization, now),
        find: ({ authorizationId }) => authorizations.find(authorizationId, now),
      });
      await checkOwnership(newCode(now), {
        store: (code) => authorizationCodes.create(code, now),
        find: (handle) => authorizationCodes.find(handle, now),
      });
      await checkOwnership(newRefreshToken(now), {
        store: (token) => refreshTokens.create(token, now),
        find: (handle) => refreshTokens.find(handle, now),
      });
      await checkOwnership(newAccessToken(now, { amr: ["pwd"] }), {
        store: (token) => accessTokens.create(token, now),
        find: ({ digest }) => accessTokens.find(digest, now),
      });
    },
  },
];

/** Every call that the server makes, by its name, each with new records. */
export function everyCall(
  storage: Storage,
  now: EpochSeconds,
): Readonly<Record<string, () => Promise<unknown>>> {
  const { clients, consents, authorizations, authorizationCodes, refreshTokens, accessTokens, endMarks } =
    storage;
  const [consent, authorization, code] = [newConsent(now), newAuthorization(now), newCode(now)];
  const endMark = newEndMark(now);
  const [from, token, tokenId] = [newRefreshToken(now), newAccessToken(now), newId()];
  const to = { ...from, digest: newDigest() };
  return {
    "clients.find": () => clients.find(newId()),
    "clients.isBrowserOrigin": () => clients.isBrowserOrigin("https://spa.example"),
    "consents.find": () => consents.find(consent, now),
    "consents.save": () => consents.save(consent, now),
    "consents.list": () => consents.list(consent.subject, now),
    "consents.delete": () => consents.delete({ key: consent, exceptEndMark: newId() }, now),
    "authorizations.create": () => authorizations.create(authorization, now),
    "authorizations.find": () => authorizations.find(authorization.authorizationId, now),
    "authorizations.revoke": () => authorizations.revoke(authorization.authorizationId, now),
    "authorizations.revokeAll": () => authorizations.revokeAll(authorization, now),
    "authorizationCodes.create": () => authorizationCodes.create(code, now),
    "authorizationCodes.find": () => authorizationCodes.find(code, now),
    "authorizationCodes.consume": () => authorizationCodes.consume(code, now),
    "refreshTokens.create": () => refreshTokens.create(from, now),
    "refreshTokens.find": () => refreshTokens.find(from, now),
    "refreshTokens.rotate": () => refreshTokens.rotate({ from, to }, now),
    "accessTokens.create": () => accessTokens.create(token, now),
    "accessTokens.find": () => accessTokens.find(token.digest, now),
    "accessTokens.revoke": () => accessTokens.revoke(token, now),
    "accessTokens.isRevoked": () => accessTokens.isRevoked(tokenId, now),
    "endMarks.find": () => endMarks.find(endMark.key, now),
    "endMarks.save": () => endMarks.save(endMark, now),
  };
}

/** The rule for a store that cannot be reached. An answer instead of a failure would be a guess. */
export const unreachableRule: Rule = {
  name: "every call rejects while the store cannot be reached",
  async check({ storage, now }) {
    for (const [name, call] of Object.entries(everyCall(storage, now))) {
      await assertRejects(call, `${name} did not reject`);
    }
  },
};
