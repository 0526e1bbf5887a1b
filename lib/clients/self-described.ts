/** Clients that the host has not registered. Loaded only where an API accepts them. RFC 7591; draft-ietf-oauth-client-id-metadata-document. */
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import type { SelfDescribedClients } from "./client-lookup";
import { type DocumentClientPorts, findDocumentClient, isDocumentUrl } from "./document-clients";
import type { ClientRegistrationAdapter } from "./port";
import { findRegistration, isRegistrationId, registrationIdsOf } from "./registered-clients";

/** What finding them uses. */
export interface SelfDescribedPorts extends DocumentClientPorts {
  readonly storage: Pick<Storage, "clientRegistrations">;
  readonly clock: Clock;
  /** API id → the host's adapter, for APIs where clients may register. */
  readonly registrars: ReadonlyMap<string, ClientRegistrationAdapter>;
}

/** Finds clients by their metadata documents, and those that have registered themselves. */
export function selfDescribedClients(ports: SelfDescribedPorts): SelfDescribedClients {
  const { adapters, registrars } = ports;
  const listed = [...adapters.values(), ...registrars.values()].flatMap(
    ({ browserOrigins = [] }) => browserOrigins,
  );
  const origins = new Set(listed);
  return {
    async find(clientId, at) {
      if (!isRegistrationId(clientId)) return findDocumentClient(ports, { clientId, ...at });
      const { apiId } = at.issuer.api;
      if (!registrars.has(apiId) || !clientId.startsWith(registrationIdsOf(at.issuer))) return undefined;
      return findRegistration(ports, { clientId, apiId });
    },
    async mayHoldTokens(clientId, apiId) {
      if (!isRegistrationId(clientId)) return adapters.has(apiId) && isDocumentUrl(clientId, ports);
      return registrars.has(apiId) && (await findRegistration(ports, { clientId, apiId })) !== undefined;
    },
    isBrowserOrigin: (origin) => origins.has(origin),
  };
}
