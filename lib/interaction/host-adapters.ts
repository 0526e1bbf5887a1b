/** The host's adapters as the authorization endpoint asks them. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { EndUserPort } from "../end-user/port";
import type { AuthMethod, ConsentAdapter } from "./port";
import { summarize } from "../pages/summary";

/** What the host supplies. */
export interface HostAdapters {
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  readonly consent: ConsentAdapter;
}

/** The host's adapters, bound to this HTTP request. */
export function endUserPort({ authMethods, consent }: HostAdapters, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod) throw new TypeError("an issuer without its authentication method");
      return authMethod.authenticate({ req, reauthenticate, ...summarize(req, request) });
    },
    async decideConsent({ request, subject }) {
      return consent.decide({ req, subject, ...summarize(req, request) });
    },
  };
}
