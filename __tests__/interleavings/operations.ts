/** What can happen to a family, as data: how each operation begins, what it ends, and which events tell of it. */
import type { AuthServerEvent } from "../../lib";
import {
  endAuthorization,
  endClient,
  endSubject,
  type SubjectEnd,
  withdrawConsent,
} from "../../lib/end-user/ends";
import { authorizationOf, type Family, type Held } from "./family";
import { changedClient, client, clientEnd, type Host } from "./host";
import type { Outcome, Process } from "./server";

/** What an operation works on. */
export interface Scene {
  readonly host: Host;
  readonly family: Family;
  readonly process: Process;
}

/** Something that can happen to a family. */
export interface Operation {
  readonly begin: (scene: Scene) => Promise<Outcome>;
  /** What no longer works once it has resolved. */
  readonly ends?: (held: Held, family: Family) => boolean;
  /** True when approvals without a page no longer work either: what the person has allowed is taken back. */
  readonly takesConsent?: true;
  /** The events that may tell of its success, one of them each time; `undefined` for "none". */
  readonly succeeds: readonly (AuthServerEvent["kind"] | undefined)[];
  /** Which text it presents. */
  readonly presents?: (family: Family) => string;
}

const longestLifeSeconds = 1_000_000;
const selection = { subject: "alice", clientId: client.clientId, apiId: "orders" };

/** Until then codes, access tokens and the time for retries have run out, and refresh tokens have not. */
const passingSeconds = 700;

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

/** The host signs the person out, and then ends what is theirs. */
const subjectEnd = (end: SubjectEnd): Operation => ({
  begin: async ({ host, process }) => {
    await process.held("host.signOut", () => host.signIn("out"));
    return ended(endSubject(process.ports, { subject: "alice", end, longestLifeSeconds }));
  },
  ends: () => true,
  ...(end !== "keep-consents" && { takesConsent: true }),
  succeeds: [end === "erase" ? "subject-erased" : "subject-ended"],
});

const ofTokens = ({ authorizationId }: Held, { authorizationIds }: Family): boolean =>
  authorizationId === authorizationIds[0];

async function deleteClient({ host, process }: Scene): Promise<Outcome> {
  const now = host.now();
  await process.ports.storage.endMarks.save(clientEnd(now), now);
  await process.held("clients.save", () => host.removeClient());
  return { kind: "done" };
}

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
  "approve silently": { begin: ({ process }) => process.silent(), succeeds: ["authorization-granted"] },
  deny: { begin: ({ process, family }) => process.answer(family.page, "no"), succeeds: [] },
  "deny on a page of the host": { begin: ({ process }) => process.deny(), succeeds: [] },
  withdraw: {
    begin: ({ process }) => ended(withdrawConsent(process.ports, { selection, longestLifeSeconds })),
    ends: () => true,
    takesConsent: true,
    succeeds: ["consent-revoked", "nothing-to-revoke"],
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
    ends: () => true,
    takesConsent: true,
    succeeds: ["client-ended"],
  },
  "delete the client": { begin: deleteClient, ends: () => true, takesConsent: true, succeeds: [undefined] },
  "client changed": {
    begin: step("clients.save", ({ saveClient }) => saveClient(changedClient)),
    succeeds: [undefined],
  },
  register: { begin: ({ process }) => process.register(), succeeds: ["client-registered"] },
  introspect: {
    begin: ({ process, family }) => process.post("introspect", { token: family.refreshTokens[2] }),
    succeeds: [undefined],
  },
  "call the API": {
    begin: async ({ process, family }) => ({
      kind: (await process.accepts(family.accessTokens[2] ?? "")) ? "done" : "refused",
      error: "bearer",
    }),
    succeeds: [undefined],
  },
  "rotate keys": { begin: step("host.rotateKeys", ({ rotateKeys }) => rotateKeys()), succeeds: [undefined] },
  "rotate secrets": {
    begin: step("host.rotateSecrets", ({ rotateSecrets }) => rotateSecrets()),
    succeeds: [undefined],
  },
  expire: { begin: step("host.clock", ({ advance }) => advance(passingSeconds)), succeeds: [undefined] },
} as const satisfies Readonly<Record<string, Operation>>;

/** The name of an operation. */
export type OperationName = keyof typeof operations;

/** All names. */
export const operationNames = Object.keys(operations) as readonly OperationName[];

/** The operation with this name. */
export const operationOf = (name: OperationName): Operation => operations[name];
