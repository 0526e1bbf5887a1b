/** Adds and changes clients in a table that can be written. Every change is a compare-and-set, so that none is lost. RFC 6749 §2, §2.3.1. */
import { randomUUID } from "node:crypto";
import type { Client, ConfidentialClient, KeyClient, PublicClient } from "../protocol/client";
import { mistakesOf } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";
import type { ClientRegistry } from "../storage/port";
import { checkClient, sameRecordAs } from "./client-record";
import { generateClientSecret } from "./client-secret";

const mistake = mistakesOf({
  "client-table-read-only":
    "storage.clients cannot be written: it lacks replace. Use the storage of authmount/postgres, /mysql, /redis or /sqlite, or give your table replace(step).",
  "client-id-taken": (clientId: string) =>
    `addClient: there is a client "${clientId}" already. Choose another clientId, or leave it out.`,
  "client-id-changed": (clientId: string) =>
    `changeClient: the clientId of "${clientId}" cannot change. Add a new client, and delete this one.`,
  "client-not-found": (clientId: string) => `rotateClientSecret: there is no client "${clientId}".`,
  "client-without-secrets": (clientId: string) =>
    `rotateClientSecret: client "${clientId}" has no secret. One with jwks gets its new key from its own developers.`,
  "overlap-not-seconds": "rotateClientSecret: overlapSeconds must be a whole number, 0 or more.",
  "client-changed-meanwhile": (clientId: string) =>
    `client "${clientId}" was changed by somebody else five times in a row. Try again.`,
});

type WithoutId<Known extends Client> = Omit<Known, "clientId" | "selfDescription">;

/** A client to add. Left out: `clientId`, for a random one; `secretDigests` of a confidential client without keys, for a new secret. */
export type NewClient = { readonly clientId?: string } & (
  | (Omit<WithoutId<ConfidentialClient>, "secretDigests"> & { readonly secretDigests?: readonly string[] })
  | WithoutId<KeyClient>
  | WithoutId<PublicClient>
);

/** A client that was added. */
export interface AddedClient {
  readonly client: Client;
  /** Its new secret, if one was made. It is stored nowhere: give it to the client now. */
  readonly secret?: string;
}

/** What is needed of a table of clients to change them. */
export type WritableClients = Pick<ClientRegistry, "find" | "replace">;

const tries = 5;

function checkRegistry({ replace }: Partial<WritableClients>): void {
  if (typeof replace !== "function") throw mistake("client-table-read-only");
}

/** See the function of this name in `on-demand.ts`. */
export async function addClient(
  registry: Pick<WritableClients, "replace">,
  client: NewClient,
): Promise<AddedClient> {
  checkRegistry(registry);
  const { clientId = randomUUID() } = client;
  const isWithoutProof =
    client.confidential && !("jwks" in client || "jwksUri" in client || "secretDigests" in client);
  const made = isWithoutProof ? generateClientSecret() : undefined;
  const to = checkClient({ ...client, clientId, ...(made && { secretDigests: [made.digest] }) });
  if ((await registry.replace({ from: undefined, to })) !== "replaced")
    throw mistake("client-id-taken", clientId);
  return { client: to, ...(made && { secret: made.secret }) };
}

/** See the function of this name in `on-demand.ts`. */
export async function changeClient(
  registry: WritableClients,
  clientId: string,
  change: (client: Client) => Client,
): Promise<Client | undefined> {
  checkRegistry(registry);
  let tried: Client | undefined;
  for (let count = 0; count < tries; count += 1) {
    const from = await registry.find(clientId);
    // a table that ignores case must not turn one client into another
    if (from?.clientId !== clientId) return undefined;
    // a database that did not hear an answer was asked twice, and has refused the second time what it had done the first
    if (tried && sameRecordAs(tried)(from)) return from;
    const to = checkClient(change(from));
    if (to.clientId !== clientId) throw mistake("client-id-changed", clientId);
    tried = to;
    if ((await registry.replace({ from, to })) === "replaced") return to;
  }
  throw mistake("client-changed-meanwhile", clientId);
}

/** The client, switched off or on. */
export function withDisabled(client: Client, disabled: boolean): Client {
  const { disabled: _, ...enabled } = client;
  return disabled ? { ...enabled, disabled } : enabled;
}

/** How long an old secret works beside a new one, unless somebody says otherwise. */
export const weekSeconds = 604_800;

/** The client with one more secret. The one before works for `overlapSeconds` from `now`, and older ones no longer. */
export function withNewSecret(
  client: ConfidentialClient,
  { digest, overlapSeconds, now }: { digest: string; overlapSeconds: number; now: EpochSeconds },
): ConfidentialClient {
  const { oldSecretUntil: _, ...kept } = client;
  const [newest = ""] = client.secretDigests;
  return overlapSeconds === 0
    ? { ...kept, secretDigests: [digest] }
    : { ...kept, secretDigests: [digest, newest], oldSecretUntil: now + overlapSeconds };
}

/** See the function of this name in `on-demand.ts`. The old secret works for `overlapSeconds` from `now`. */
export async function rotateClientSecret(
  registry: WritableClients,
  {
    clientId,
    overlapSeconds = weekSeconds,
    now,
  }: { clientId: string; overlapSeconds?: number | undefined; now: EpochSeconds },
): Promise<{ readonly secret: string }> {
  if (!Number.isSafeInteger(overlapSeconds) || overlapSeconds < 0) throw mistake("overlap-not-seconds");
  const { secret, digest } = generateClientSecret();
  const changed = await changeClient(registry, clientId, (client) => {
    if (!("secretDigests" in client)) throw mistake("client-without-secrets", clientId);
    return withNewSecret(client, { digest, overlapSeconds, now });
  });
  if (!changed) throw mistake("client-not-found", clientId);
  return { secret };
}
