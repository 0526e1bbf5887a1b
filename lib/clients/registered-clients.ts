/** Clients that have registered themselves: their ids, their records, and how they are found again. RFC 7591 §3. */
import { hash } from "node:crypto";
import { type Client, subscriptionOf } from "../protocol/client";
import { baseUrlOf, type Issuer } from "../protocol/issuer";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import { checkClient, ownClient } from "./client-record";
import { selfDescriptionOf } from "./self-description";

/** Every id of a client that has registered itself begins with it: it can be no URL of a metadata document. */
const registrationPrefix = "dcr-";

/** True for an id that can be that of a client which has registered itself. */
export function isRegistrationId(clientId: string): boolean {
  return clientId.startsWith(registrationPrefix);
}

/**
 * What the ids begin with that clients get at the issuers of this API. It names the server too: one that shares the storage and has an
 * API with the same id may let in clients that this one would refuse.
 */
export function registrationIdsOf(issuer: Issuer): string {
  const place = hash("sha256", JSON.stringify([baseUrlOf(issuer), issuer.api.apiId]), "base64url").slice(
    0,
    8,
  );
  return `${registrationPrefix}${place}-`;
}

/** The same client without trust, in whatever way its record came to have it: nobody vouches for it. */
function withoutTrust(client: Client): Client {
  const subscriptions = Object.entries(client.subscriptions).map(
    ([apiId, subscription]) => [apiId, { ...subscription, trusted: false }] as const,
  );
  return { ...client, trusted: false, subscriptions: Object.fromEntries(subscriptions) };
}

/**
 * The client with this id that has registered itself at this API, unless its registration has ended. At other APIs it is unknown, so
 * that nobody is redirected to where it says.
 *
 * @throws TypeError when the stored record is wrong
 */
export async function findRegistration(
  { storage, clock }: { readonly storage: Pick<Storage, "clientRegistrations">; readonly clock: Clock },
  { clientId, apiId }: { readonly clientId: string; readonly apiId: string },
): Promise<Client | undefined> {
  if (!isRegistrationId(clientId)) return undefined;
  const found = await storage.clientRegistrations.find(clientId, clock());
  if (!found) return undefined;
  const client = withoutTrust(ownClient(checkClient(found)));
  // a table that ignores case must not turn one client into another
  if (client.clientId !== clientId || !subscriptionOf(client, apiId)) return undefined;
  return { ...client, selfDescription: selfDescriptionOf(client, "registration") };
}
