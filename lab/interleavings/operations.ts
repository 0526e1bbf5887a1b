/** What can happen, as data: how each operation begins, what it ends, and which events tell of it. */
import type { ConsentSelection, TokenDecision } from "../../lib";
import {
  endApi,
  endAuthorization,
  endClient,
  endSubject,
  type SubjectEnd,
  withdrawConsent,
} from "../../lib/end-user/ends";
import { narrowConsent } from "../../lib/end-user/narrow";
import { authorizationOf, type Family, type Held, otherSelection, type Owner, visitOf } from "./family";
import { changedClient, client, clientEnd, type Host, start } from "./host";
import { sameAssertion } from "./keyed-client";
import { vouching } from "./identity-provider";
import { redeemingDevice } from "./loot";
import type { Operation, Scene } from "./operation";
import { naming, proving } from "./bound-client";
import type { Outcome, Process } from "./server";

const longestLifeSeconds = 1_000_000;
const selection = { subject: "alice", clientId: client.clientId, apiId: "orders" };

/** Until then codes, access tokens and the time for retries have run out, and refresh tokens have not. */
const passingSeconds = 700;

/** Until then a registration has ended that nobody has approved. */
const unusedSeconds = 3_600;

/** An end of the host, which rejects when it fails. */
async function ended(end: Promise<void>): Promise<Outcome> {
  await end;
  return { kind: "done" };
}

/** A step of the host itself, such as one in its own table. */
const step =
  (name: string, act: (host: Host) => void): Operation["begin"] =>
  async ({ host, process }) => {
    await process.held(name, () => act(host));
    return { kind: "done" };
  };

const refreshing = (place: 0 | 1 | 2): Pick<Operation, "begin" | "succeeds" | "presents"> => ({
  begin: ({ process, family }) =>
    process.post("token", { grant_type: "refresh_token", refresh_token: family.refreshTokens[place] }),
  succeeds: ["token-refreshed", "refresh-retried"],
  presents: (family) => family.refreshTokens[place],
});

/** The person lets the client only read from now on. */
const taking =
  (from: ConsentSelection): Operation["begin"] =>
  ({ host, process }) => {
    const question = {
      step: { ...from, scopes: ["orders:read"] },
      apis: [host.issuer.api],
      longestLifeSeconds,
    };
    return ended(narrowConsent(process.ports, question));
  };

const isOf =
  (...owners: readonly Owner[]) =>
  ({ owner }: Held): boolean =>
    owners.includes(owner);

/** Everything that a person has allowed. */
const ofPeople: readonly Owner[] = ["family", "other context", "registered client", "device"];

/** Everything of the client of the family, with or without a person. */
const ofClient = isOf("family", "other context", "client itself", "device", "vouched person");

/** What a person has allowed that client. */
const allowedClient: readonly Owner[] = ["family", "other context", "device"];

/** What an identity provider has allowed it for the person. It is no consent, so it may do that again. */
const vouched: Owner = "vouched person";

/** The host has disabled the person. */
const no: TokenDecision = { kind: "refuse", description: "The person was disabled.", revoke: true };

/** The host lets the client do less. */
const less: TokenDecision = { kind: "issue", scopes: ["orders:read"] };

/** The host signs the person out, and then ends what is theirs. */
const subjectEnd = (end: SubjectEnd): Operation => ({
  begin: async ({ host, process }) => {
    await process.held("host.signOut", () => host.signIn("out"));
    return ended(endSubject(process.ports, { subject: "alice", end, longestLifeSeconds }));
  },
  ends: isOf(...ofPeople, vouched),
  ...(end !== "keep-consents" && { takesConsent: ofPeople }),
  succeeds: [end === "erase" ? "subject-erased" : "subject-ended"],
});

const ofTokens = ({ authorizationId }: Held, { authorizationIds }: Family): boolean =>
  authorizationId === authorizationIds[0];

/** The parameters of the one assertion of the keyed client, which is as old as everything. */
const assertionAt = ({ issuer }: Host): Record<string, string> =>
  sameAssertion({ issuer: issuer.identifier, now: start });

const proofAt = (host: Host): Readonly<Record<string, string>> =>
  proving({ issuer: host.issuer.identifier, now: host.now() });

const refreshingBound = (
  process: Process,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Outcome> =>
  process.post("token", { ...naming, grant_type: "refresh_token", refresh_token: token }, headers);

async function deleteClient({ host, process }: Scene): Promise<Outcome> {
  const now = host.now();
  await process.ports.storage.endMarks.save(clientEnd(now), now);
  await process.held("clients.save", () => host.removeClient());
  return { kind: "done" };
}

/** The person says yes to the open device. Its code is good from then on. */
const answeringDevice = (place: 0 | 1): Operation => ({
  needs: "device",
  begin: async ({ process, family: { devices } }) => {
    const outcome = await process.answer(devices.pages[place], "yes");
    // the second click of a person is shown the same page, and acknowledges nothing
    const isGranted = process.events.some(({ kind }) => kind === "authorization-granted");
    return isGranted ? { ...outcome, code: devices.open } : outcome;
  },
  brings: "device",
  succeeds: ["authorization-granted", undefined],
});

/** All operations. */
export const operations = {
  redeem: {
    begin: ({ process, family }) =>
      process.post("token", { grant_type: "authorization_code", code: family.code }),
    succeeds: ["token-issued"],
    presents: ({ code }) => code,
  },
  refresh: refreshing(2),
  retry: refreshing(1),
  replay: refreshing(0),
  approve: {
    begin: ({ process, family }) => process.answer(family.page, "yes"),
    succeeds: ["authorization-granted"],
  },
  "approve fewer scopes": {
    begin: ({ process, family }) => process.answer(family.page, "read only"),
    succeeds: ["authorization-granted"],
  },
  "approve silently": { begin: ({ process }) => process.silent(), succeeds: ["authorization-granted"] },
  deny: { begin: ({ process, family }) => process.answer(family.page, "no"), succeeds: [] },
  "deny on a page of the host": { begin: ({ process, family }) => process.deny(family.page), succeeds: [] },
  withdraw: {
    begin: ({ process }) => ended(withdrawConsent(process.ports, { selection, longestLifeSeconds })),
    ends: isOf(...allowedClient, vouched),
    takesConsent: allowedClient,
    succeeds: ["consent-revoked", "nothing-to-revoke"],
  },
  "withdraw without a context": {
    begin: ({ process }) =>
      ended(
        withdrawConsent(process.ports, { selection: { ...selection, contextKey: "" }, longestLifeSeconds }),
      ),
    ends: isOf("family", "device", vouched),
    takesConsent: ["family", "device"],
    succeeds: ["consent-revoked", "nothing-to-revoke"],
  },
  "take back a part": {
    begin: taking(selection),
    takesWriting: allowedClient,
    succeeds: ["consent-narrowed", "nothing-to-revoke"],
  },
  "take back a part in the other context": {
    needs: "other context",
    begin: taking(otherSelection),
    takesWriting: ["other context"],
    succeeds: ["consent-narrowed", "nothing-to-revoke"],
  },
  "revoke the refresh token": {
    begin: ({ process, family }) => process.post("revoke", { token: family.refreshTokens[2] }),
    ends: ofTokens,
    succeeds: ["token-revoked", undefined],
  },
  "revoke the access token": {
    begin: ({ process, family }) => process.post("revoke", { token: family.accessTokens[2] ?? "" }),
    ends: ({ text }, { accessTokens }) => text === accessTokens[2],
    succeeds: ["token-revoked", undefined],
  },
  "revoke the authorization of the tokens": {
    begin: ({ process, family: { authorizationIds } }) =>
      ended(endAuthorization(process.ports, { subject: "alice", authorizationId: authorizationIds[0] })),
    ends: ofTokens,
    succeeds: ["authorization-ended", "nothing-to-revoke"],
  },
  "revoke the authorization of the code": {
    begin: ({ process, family: { authorizationIds } }) =>
      ended(endAuthorization(process.ports, { subject: "alice", authorizationId: authorizationIds[1] })),
    ends: ({ authorizationId }, { code }) => authorizationId === authorizationOf(code),
    succeeds: ["authorization-ended", "nothing-to-revoke"],
  },
  "revoke the subject": subjectEnd("keep-consents"),
  "revoke the subject and consents": subjectEnd("revoke-consents"),
  "erase the subject": subjectEnd("erase"),
  "revoke the client": {
    begin: ({ process }) => ended(endClient(process.ports, client.clientId)),
    ends: ofClient,
    sparesLater: true,
    takesConsent: allowedClient,
    succeeds: ["client-ended"],
  },
  "end the API": {
    begin: ({ host, process }) => ended(endApi(process.ports, { apiId: "orders", apis: [host.issuer.api] })),
    ends: () => true,
    sparesLater: true,
    takesConsent: ofPeople,
    succeeds: ["api-ended"],
  },
  "delete the client": {
    begin: deleteClient,
    ends: ofClient,
    takesConsent: allowedClient,
    succeeds: [undefined],
  },
  "client changed": {
    begin: step("clients.save", ({ saveClient }) => saveClient(changedClient)),
    succeeds: [undefined],
  },
  "disable the client": {
    begin: step("clients.save", ({ setDisabled }) => setDisabled(true)),
    succeeds: [undefined],
  },
  register: { begin: ({ process }) => process.register(), succeeds: ["client-registered"] },
  introspect: {
    begin: ({ process, family }) => process.post("introspect", { token: family.refreshTokens[2] }),
    succeeds: [undefined],
  },
  "call the API": {
    begin: async ({ process, family }) => ({
      kind: (await process.scopeOf(family.accessTokens[2] ?? "")) === undefined ? "refused" : "done",
      error: "bearer",
    }),
    succeeds: [undefined],
  },
  "rotate keys": { begin: step("host.rotateKeys", ({ rotateKeys }) => rotateKeys()), succeeds: [undefined] },
  "rotate secrets": {
    begin: step("host.rotateSecrets", ({ rotateSecrets }) => rotateSecrets()),
    succeeds: [undefined],
  },
  expire: {
    begin: step("host.clock", ({ advance }) => advance(passingSeconds)),
    passesTime: true,
    succeeds: [undefined],
  },

  // a token for the client itself
  "ask for the client itself": {
    needs: "client itself",
    begin: ({ process }) =>
      process.post("token", { grant_type: "client_credentials", scope: "orders:read orders:write" }),
    brings: "client itself",
    succeeds: ["token-issued"],
  },
  "revoke the token of the client itself": {
    needs: "client itself",
    begin: ({ process, family }) => process.post("revoke", { token: family.ownToken }),
    ends: ({ text }, { ownToken }) => text === ownToken,
    succeeds: ["token-revoked", undefined],
  },

  // a client that has registered itself, and that nobody has approved yet
  "approve the registered client": {
    needs: "registered client",
    begin: ({ process, family }) => process.answer(family.registered.page, "yes"),
    brings: "registered client",
    succeeds: ["authorization-granted"],
  },
  "deny the registered client": {
    needs: "registered client",
    begin: ({ process, family }) => process.answer(family.registered.page, "no"),
    succeeds: [],
  },
  "visit the registered client silently": {
    needs: "registered client",
    begin: ({ process, family }) => process.silent(visitOf("registered client", family)),
    brings: "registered client",
    succeeds: ["authorization-granted"],
  },
  "registrations expire": {
    needs: "registered client",
    begin: step("host.clock", ({ advance }) => advance(unusedSeconds)),
    passesTime: true,
    succeeds: [undefined],
  },
  "register where there is no room": {
    needs: "registered client",
    begin: ({ process }) => process.register({ room: 1 }),
    succeeds: ["client-registered"],
  },
  "revoke the registered client": {
    needs: "registered client",
    begin: ({ process, family }) => ended(endClient(process.ports, family.registered.client.clientId)),
    ends: isOf("registered client"),
    takesConsent: ["registered client"],
    succeeds: ["client-ended"],
  },
  "withdraw from the registered client": {
    needs: "registered client",
    begin: ({ process, family: { registered } }) =>
      ended(
        withdrawConsent(process.ports, {
          selection: { ...selection, clientId: registered.client.clientId },
          longestLifeSeconds,
        }),
      ),
    ends: isOf("registered client"),
    takesConsent: ["registered client"],
    succeeds: ["consent-revoked", "nothing-to-revoke"],
  },

  // the same client in another context
  "approve in the other context": {
    needs: "other context",
    begin: ({ process, family }) => process.answer(family.other.page, "yes"),
    brings: "other context",
    succeeds: ["authorization-granted"],
  },
  "withdraw the other context": {
    needs: "other context",
    begin: ({ process }) =>
      ended(withdrawConsent(process.ports, { selection: otherSelection, longestLifeSeconds })),
    ends: isOf("other context"),
    takesConsent: ["other context"],
    succeeds: ["consent-revoked", "nothing-to-revoke"],
  },

  // what the client has pushed, in two browsers
  "approve the pushed request": {
    needs: "pushed request",
    begin: ({ process, family }) => process.answer(family.pushedPages[0], "yes"),
    succeeds: ["authorization-granted"],
  },
  "approve the pushed request elsewhere": {
    needs: "pushed request",
    begin: ({ process, family }) => process.answer(family.pushedPages[1], "yes"),
    succeeds: ["authorization-granted"],
  },

  // a client whose tokens are bound to a key, and thieves who have the tokens alone
  "refresh with the key": {
    needs: "bound client",
    begin: ({ host, process, family }) => refreshingBound(process, family.boundTokens[1], proofAt(host)),
    succeeds: ["token-refreshed", "refresh-retried"],
  },
  "refresh without the key": {
    needs: "bound client",
    begin: ({ process, family }) => refreshingBound(process, family.boundTokens[1]),
    succeeds: [],
  },
  "replay without the key": {
    needs: "bound client",
    begin: ({ process, family }) => refreshingBound(process, family.boundTokens[0]),
    succeeds: [],
  },

  // the resource server, which exchanges a token of the family
  exchange: {
    needs: "resource server",
    begin: ({ process, family }) => process.exchange(family.accessTokens[2] ?? ""),
    brings: "resource server",
    succeeds: ["token-issued"],
  },
  "revoke the resource server": {
    needs: "resource server",
    begin: ({ process }) => ended(endClient(process.ports, "orders-api")),
    ends: isOf("resource server"),
    sparesLater: true,
    succeeds: ["client-ended"],
  },
  "end the other API": {
    needs: "resource server",
    begin: ({ host, process }) => ended(endApi(process.ports, { apiId: "stock", apis: [host.stock.api] })),
    ends: isOf("resource server"),
    sparesLater: true,
    succeeds: ["api-ended"],
  },

  // a device, and the pages that two browsers show of it
  poll: {
    needs: "device",
    begin: ({ process, family }) => process.post("token", redeemingDevice(family.devices.open)),
    brings: "device",
    succeeds: ["token-issued"],
    presents: ({ devices }) => devices.open,
  },
  "poll for what is approved": {
    needs: "device",
    begin: ({ process, family }) => process.post("token", redeemingDevice(family.devices.approved)),
    brings: "device",
    succeeds: ["token-issued"],
    presents: ({ devices }) => devices.approved,
  },
  "approve the device": answeringDevice(0),
  "approve the device elsewhere": answeringDevice(1),
  "deny the device": {
    needs: "device",
    begin: ({ process, family }) => process.answer(family.devices.pages[0], "no"),
    succeeds: [],
  },

  // what the host says about a token, after some time
  "refresh to the host's no": { ...refreshing(2), word: no, ends: ofTokens, succeeds: [] },
  "refresh to fewer scopes": { ...refreshing(2), word: less },

  // what a relying party asks about the person
  "ask userinfo": {
    only: "openid",
    begin: ({ process, family }) => process.userinfo(family.accessTokens[2] ?? ""),
    succeeds: [undefined],
  },

  // one assertion of an identity provider, presented by the client
  "present an identity assertion": {
    needs: "identity provider",
    begin: ({ host, process }) =>
      process.post(
        "token",
        vouching({ issuer: host.issuer.identifier, clientId: client.clientId, now: start }),
      ),
    brings: vouched,
    succeeds: ["token-issued"],
  },

  // one assertion, presented twice
  "prove by the assertion": {
    begin: ({ host, process }) =>
      process.post("token", { grant_type: "client_credentials", ...assertionAt(host) }),
    brings: "keyed client",
    succeeds: ["token-issued"],
  },
  "introspect by the assertion": {
    begin: ({ host, process, family }) =>
      process.post("introspect", { token: family.accessTokens[2] ?? "", ...assertionAt(host) }),
    brings: "keyed client",
    succeeds: [undefined],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The name of an operation. */
export type OperationName = keyof typeof operations;

/** All names. */
export const operationNames = Object.keys(operations) as readonly OperationName[];

/** The operation with this name. */
export const operationOf = (name: OperationName): Operation => operations[name];
