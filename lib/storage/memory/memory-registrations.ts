/** Clients that have registered themselves, in memory. RFC 7591 §3. */
import type { Client } from "../../protocol/client";
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistration, ClientRegistrationStore } from "../client-ports";
import { frozenCopies } from "./frozen-copies";

type Registrations = Map<string, ClientRegistration>;
type Bound = Required<Parameters<ClientRegistrationStore["create"]>[1]>;

function dropExpired(registrations: Registrations, now: EpochSeconds): void {
  for (const [clientId, { expiresAt }] of registrations) {
    if (expiresAt <= now) registrations.delete(clientId);
  }
}

function dropOldest(registrations: Registrations, count: number): void {
  let left = count;
  for (const clientId of registrations.keys()) {
    if (left <= 0) return;
    registrations.delete(clientId);
    left -= 1;
  }
}

/** Registrations. The caller's limit bounds them. A `Map` keeps the order of creation, so the oldest is found without a search. */
export function memoryRegistrations(): ClientRegistrationStore {
  const neverExtended: Registrations = new Map();
  const extended: Registrations = new Map();
  const frozenCopy = frozenCopies<Client>();
  let sweptAt: EpochSeconds | undefined;

  function living(clientId: string, now: EpochSeconds): ClientRegistration | undefined {
    const known = extended.get(clientId) ?? neverExtended.get(clientId);
    return known && now < known.expiresAt ? known : undefined;
  }

  function makeRoom({ limit, reserved, now }: Bound): boolean {
    const isFull = (): boolean =>
      neverExtended.size + extended.size >= limit || extended.size > limit - reserved;
    // at most once a second: a flood must not make each call look at all registrations
    if (isFull() && sweptAt !== now) {
      sweptAt = now;
      dropExpired(neverExtended, now);
      dropExpired(extended, now);
    }
    if (extended.size > limit - reserved) return false;
    dropOldest(neverExtended, neverExtended.size + extended.size - limit + 1);
    return true;
  }

  return {
    create: async ({ client, expiresAt }, { limit, reserved = 1, now }) => {
      if (!makeRoom({ limit, reserved, now })) return "full";
      // one that has already ended would take room from others until the next second
      if (now < expiresAt) neverExtended.set(client.clientId, { client: frozenCopy(client), expiresAt });
      return "created";
    },
    find: async (clientId, now) => living(clientId, now)?.client,
    extend: async ({ clientId, expiresAt }, now) => {
      const known = living(clientId, now);
      if (!known) return false;
      neverExtended.delete(clientId);
      extended.set(clientId, { client: known.client, expiresAt: Math.max(known.expiresAt, expiresAt) });
      return true;
    },
  };
}
