/** The host's adapters as the authorization endpoint asks them. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { EndUserPort } from "../endpoints/end-user";
import type { AuthMethod, ConsentAdapter } from "./port";
import { summarize } from "./summary";

export interface HostAdapters {
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  readonly consent: ConsentAdapter | undefined;
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
      return consent ? consent.decide({ req, subject, ...summarize(req, request) }) : { kind: "ask" };
    },
  };
}
