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

/** A middleware that is missing shows as a TypeError of reading a property of `undefined`, which says nothing of its cause. */
function withLikelyCause(thrown: unknown, { req, name }: { req: Request; name: string }): unknown {
  if (!(thrown instanceof TypeError) || !/\bundefined\b/.test(thrown.message)) return thrown;
  const { cookies, session } = req as { cookies?: unknown; session?: unknown };
  const missing = [
    cookies ? [] : ["req.cookies (cookie-parser)"],
    session ? [] : ["req.session (express-session)"],
  ];
  if (missing.flat().length === 0) return thrown;
  return new TypeError(
    `${name} failed with a TypeError, and ${missing.flat().join(" and ")} is not there: if it is needed, mount its middleware ahead of auth.router.`,
    { cause: thrown },
  );
}

/** The host's adapters, bound to this HTTP request. */
export function endUserPort({ authMethods, consent }: HostAdapters, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod) throw new TypeError("an issuer without its authentication method");
      try {
        return await authMethod.authenticate({ req, reauthenticate, ...summarize(req, request) });
      } catch (thrown) {
        throw withLikelyCause(thrown, { req, name: "authenticate" });
      }
    },
    async decideConsent({ request, subject }) {
      return consent.decide({ req, subject, ...summarize(req, request) });
    },
  };
}
