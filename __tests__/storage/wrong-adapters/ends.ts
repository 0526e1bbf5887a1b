/** Mistakes with the end of a record. */
import type { Consent, ConsentKey, EpochSeconds } from "../../../lib";
import { rule } from "./rules";
import { consentId } from "./table-storage";
import { ownNow, type Process, wrong } from "./wrong-adapter";

/** `find` of every kind of record that ends, by its table's own key and whatever its end. */
function rawFinds({ database }: Process) {
  const { consents, authorizations, authorizationCodes, refreshTokens, accessTokens, clientRegistrations } =
    database;
  return {
    consents: (key: ConsentKey) => consents.get(consentId(key)),
    authorizations: (id: string) => authorizations.get(id),
    authorizationCodes: ({ digest }: { digest: string }) => authorizationCodes.get(digest),
    refreshTokens: ({ digest }: { digest: string }) => refreshTokens.get(digest),
    accessTokens: (digest: string) => accessTokens.get(digest),
    clientRegistrations: (clientId: string) => clientRegistrations.get(clientId),
  };
}

const endingPorts = [
  ["consents", rule.consentEnd],
  ["authorizations", rule.authorizationEnd],
  ["authorizationCodes", rule.codeEnd],
  ["refreshTokens", rule.refreshEnd],
  ["accessTokens", rule.accessEnd],
] as const;

const wrongEnds = [
  ["find forgets that records expire", () => true],
  ["find asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
  [
    "find no longer has what is over by its own clock",
    (expiresAt: EpochSeconds, now: EpochSeconds) => Math.max(now, ownNow()) < expiresAt,
  ],
  [
    "find gives a record in the second of its end",
    (expiresAt: EpochSeconds, now: EpochSeconds) => now <= expiresAt,
  ],
] as const;

/** Adapters that give records whose time is over. */
export const expiryMistakes = endingPorts.flatMap(([port, caughtBy]) =>
  wrongEnds.map(([mistake, lives]) =>
    wrong(port, {
      mistake,
      caughtBy: [caughtBy],
      change(process) {
        const get = rawFinds(process)[port] as (key: unknown) => Promise<Consent | undefined>;
        const find = async (key: unknown, now: EpochSeconds) => {
          const found = await get(key);
          return found && lives(found.expiresAt, now) ? found : undefined;
        };
        return { find };
      },
    }),
  ),
);
