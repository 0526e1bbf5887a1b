/** The contract of the store as a whole: its records are independent copies, and its failures are visible. RFC 6749 §10.5. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newCode,
  newConsent,
  newDigest,
  newEndMark,
  newId,
  newRefreshToken,
  newRegistration,
} from "./records";
import { assertRecord, assertRejects, type Rule } from "./rule";

/** Changes every part of a record that can be changed, as a careless caller might. */
function spoil(record: unknown): void {
  if (typeof record !== "object" || record === null) return;
  for (const [name, value] of Object.entries(record)) {
    spoil(value);
    Reflect.set(record, name, "spoilt");
  }
  if (Array.isArray(record) && !Object.isFrozen(record)) record.push("spoilt");
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

/** A limit that no test reaches. */
const plenty = 1_000_000;

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
      const authorization = (): Authorization =>
        newAuthorization(now, { amr: ["pwd"], context: { key: "acme", data: { deep: [{ plan: "pro" }] } } });
      await checkOwnership(authorization(), {
        store: (record) => authorizations.create(record, now),
        find: ({ authorizationId }) => authorizations.find(authorizationId, now),
      });
      await checkOwnership(authorization(), {
        store: (record) => authorizations.create(record, now),
        find: async ({ subject }) => (await authorizations.list(subject, { limit: 1 }, now))[0],
      });
      await checkOwnership(newCode(now), {
        store: (code) => authorizationCodes.create(code, now),
        find: (handle) => authorizationCodes.find(handle, now),
      });
      await checkOwnership(newRefreshToken(now), {
        store: (token) => refreshTokens.create(token, now),
        find: (handle) => refreshTokens.find(handle, now),
      });
      await checkOwnership(newAccessToken(now, { amr: ["pwd"], claims: { deep: [{ plan: "pro" }] } }), {
        store: (token) => accessTokens.create(token, now),
        find: ({ digest }) => accessTokens.find(digest, now),
      });
      const { client, expiresAt } = newRegistration(now);
      await checkOwnership(client, {
        store: async (record) =>
          void (await storage.clientRegistrations.create(
            { client: record, expiresAt },
            { limit: plenty, now },
          )),
        find: ({ clientId }) => storage.clientRegistrations.find(clientId, now),
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
  const registrations = storage.clientRegistrations;
  return {
    "clients.find": () => clients.find(newId()),
    "clients.isBrowserOrigin": () => clients.isBrowserOrigin("https://spa.example"),
    "consents.find": () => consents.find(consent, now),
    "consents.save": () => consents.save(consent, now),
    "consents.list": () => consents.list(consent.subject, now),
    "consents.delete": () => consents.delete({ selection: consent, exceptEndMark: newId() }, now),
    "authorizations.create": () => authorizations.create(authorization, now),
    "authorizations.find": () => authorizations.find(authorization.authorizationId, now),
    "authorizations.revoke": () => authorizations.revoke(authorization.authorizationId, now),
    "authorizations.revokeAll": () => authorizations.revokeAll({ subject: authorization.subject }, now),
    "authorizations.list": () => authorizations.list(authorization.subject, { limit: 10 }, now),
    "authorizations.erase": () => authorizations.erase({ subject: authorization.subject }, now),
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
    "endMarks.find": () => endMarks.find([endMark.key], now),
    "endMarks.save": () => endMarks.save(endMark, now),
    "clientAssertions.use": () => storage.clientAssertions.use(newAssertion(now), now),
    "clientRegistrations.create": () => registrations.create(newRegistration(now), { limit: plenty, now }),
    "clientRegistrations.find": () => registrations.find(newId(), now),
    "clientRegistrations.extend": () =>
      registrations.extend({ clientId: newId(), expiresAt: now + 600 }, now),
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
