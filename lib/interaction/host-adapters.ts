/** Connects the host's adapters to the authorization endpoint. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { EndUserPort } from "../end-user/port";
import type { AuthMethod, ConsentAdapter } from "./port";
import { summarize } from "../pages/summary";

/** The adapters that the host supplies. */
export interface HostAdapters {
  /** Authentication method id → how end users sign in. */
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  /** Decides about consent where neither trust nor a remembered consent does. */
  readonly consent: ConsentAdapter;
}

/** The host's adapters for this HTTP request. What they throw becomes a `server_error` of the endpoint. */
export function endUserPort({ authMethods, consent }: HostAdapters, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod)
        throw new TypeError("the issuer has an authentication method that is not in authMethods");
      return authMethod.authenticate({ req, reauthenticate, ...summarize(req, request) });
    },
    async decideConsent({ request, subject }) {
      return consent.decide({ req, subject, ...summarize(req, request) });
    },
  };
}
