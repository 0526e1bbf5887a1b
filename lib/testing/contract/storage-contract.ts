/** The storage contract: what every adapter must do, as tests for any test runner. RFC 6749 §4.1.2, §10.5; 9700 §4.14.2. */
import type { Client } from "../../protocol/client";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../../storage/port";
import { atOnceRules } from "./at-once-rules";
import { authorizationRules } from "./authorization-rules";
import { clientRules } from "./client-rules";
import { consentRules } from "./consent-rules";
import { endingRules } from "./ending-rules";
import { kindRules } from "./kind-rules";
import { plenty } from "./kinds";
import { narrowRules } from "./narrow-rules";
import { noteUseRules } from "./note-use-rules";
import { parkedRules } from "./parked-rules";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newClients,
  newCode,
  newConsent,
  newDeviceRequest,
  newDigest,
  newEndMark,
  newId,
  newRefreshToken,
  newRegistration,
} from "./records";
import { registrationRules } from "./registration-rules";
import { assertRejects, type OpenStorage, type Rule, type Rules } from "./rule";
import { selectionRules } from "./selection-rules";
import { singleUseRules } from "./single-use-rules";

/** The options of `storageContract`. */
export interface StorageContractOptions {
  /** The `test` or `it` function of your test runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /** Opens the storage under test, with these clients registered. It is called for each test, and may open the same store again. */
  readonly open: (given: { readonly clients: readonly Client[] }) => Promise<OpenStorage>;
  /** Opens a storage whose store cannot be reached. Without it, the test that every call then rejects is left out. */
  readonly openUnreachable?: () => Promise<OpenStorage>;
}

const rules: readonly Rules[] = [
  ...kindRules,
  ...singleUseRules,
  ...atOnceRules,
  parkedRules,
  ...selectionRules,
  endingRules,
  authorizationRules,
  narrowRules,
  noteUseRules,
  consentRules,
  clientRules,
  ...registrationRules,
];

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

/** Those of the ports of what clients bring along. */
function callsOfClients(
  { clientAssertions, clientRegistrations: registrations, parkedRequests }: Storage,
  now: EpochSeconds,
): Calls {
  return {
    "clientAssertions.use": () => clientAssertions.use(newAssertion(now), now),
    "clientRegistrations.create": () => registrations.create(newRegistration(now), { limit: plenty, now }),
    "clientRegistrations.find": () => registrations.find(newId(), now),
    "clientRegistrations.extend": () =>
      registrations.extend({ clientId: newId(), expiresAt: now + 600 }, now),
    ...(parkedRequests && {
      "parkedRequests.create": () => parkedRequests.create(newDeviceRequest(now), { limit: plenty, now }),
      "parkedRequests.find": () => parkedRequests.find(newDigest(), now),
      "parkedRequests.close": () =>
        parkedRequests.close({ key: newDigest(), as: "approved", by: newId() }, now),
    }),
  };
}

/** Those of the steps, where the storage has them. */
function callsAtOnce({ atOnce }: Storage, now: EpochSeconds): Calls {
  const [authorization, code, accessToken] = [newAuthorization(now), newCode(now), newAccessToken(now)];
  const { authorizationId } = code;
  const paid = { refreshToken: newRefreshToken(now, { authorizationId }), accessToken };
  return {
    ...(atOnce?.approve && { "atOnce.approve": async () => atOnce.approve?.({ authorization, code }, now) }),
    ...(atOnce?.redeem && { "atOnce.redeem": async () => atOnce.redeem?.({ code, ...paid }, now) }),
  };
}

/** Every call that the server makes, by its name, each with new records. */
export function everyCall(storage: Storage, now: EpochSeconds): Calls {
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
    "consents.delete": () => consents.delete({ selection: consent, exceptEndMark: newId() }, now),
    "authorizations.create": () => authorizations.create(authorization, now),
    "authorizations.find": () => authorizations.find(authorization.authorizationId, now),
    "authorizations.revoke": () => authorizations.revoke(authorization.authorizationId, now),
    "authorizations.revokeAll": () => authorizations.revokeAll({ subject: authorization.subject }, now),
    "authorizations.narrowAll": () => authorizations.narrowAll({ selection: authorization, scopes: [] }, now),
    "authorizations.list": () => authorizations.list(authorization.subject, { limit: 10 }, now),
    "authorizations.erase": () => authorizations.erase({ subject: authorization.subject }, now),
    "authorizations.noteUse": () => authorizations.noteUse(authorization.authorizationId, now),
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
    ...callsOfClients(storage, now),
    ...callsAtOnce(storage, now),
  };
}

/** The rule for a store that cannot be reached. An answer instead of a failure would be a guess. */
const unreachableRules: Rules = {
  async "every call rejects while the store cannot be reached"({ storage, now }) {
    for (const [name, call] of Object.entries(everyCall(storage, now)))
      await assertRejects(call, `${name} did not reject`);
  },
};

async function tryRule(check: Rule, open: StorageContractOptions["open"]): Promise<void> {
  const clients = newClients();
  const { storage, peer = storage, close } = await open({ clients });
  try {
    await check({ storage, peer, clients, now: Math.floor(Date.now() / 1000) });
  } finally {
    await close?.();
  }
}

/**
 * Declares a test for each duty of a `Storage`, including races of simultaneous redemptions and rotations. The names of tests that a
 * storage passes by leaving out an optional port say so. A failing test throws an
 * `AssertionError` of `node:assert` that says what went wrong.
 */
export function storageContract({ test, open, openUnreachable }: StorageContractOptions): void {
  const declare = (these: Rules, by: StorageContractOptions["open"]): void => {
    for (const [name, rule] of Object.entries(these)) test(name, () => tryRule(rule, by));
  };
  for (const each of rules) declare(each, open);
  if (openUnreachable) declare(unreachableRules, openUnreachable);
}
