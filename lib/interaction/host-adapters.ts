/** Connects the host's adapters to the authorization endpoint. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { Authentication, ConsentAnswer, EndUserPort } from "../end-user/port";
import type { AuthMethod, ConsentAdapter } from "./port";
import { summarize } from "../pages/summary";
import { askHost } from "../storage/calls";

/** The adapters that the host supplies. */
export interface HostAdapters {
  /** Authentication method id → how end users sign in. */
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  /** Decides about consent where neither trust nor a remembered consent does. */
  readonly consent: ConsentAdapter;
}

/** Adds what is likely to be missing: a TypeError about a property of `undefined` does not name the middleware that would set it. */
function withLikelyCause(thrown: unknown, { req, name }: { req: Request; name: string }): unknown {
  if (!(thrown instanceof TypeError) || !/\bundefined\b/.test(thrown.message)) return thrown;
  const { cookies, session } = req as { cookies?: unknown; session?: unknown };
  const missing = [
    cookies ? [] : ["req.cookies (cookie-parser)"],
    session ? [] : ["req.session (express-session)"],
  ].flat();
  if (missing.length === 0) return thrown;
  return new TypeError(
    `${name} threw a TypeError, and this request has no ${missing.join(" and no ")}. If ${name} needs it, mount that middleware before auth.router.`,
    { cause: thrown },
  );
}

/** The host's adapters for this HTTP request. What they throw becomes a `server_error` of the endpoint. */
export function endUserPort({ authMethods, consent }: HostAdapters, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod)
        throw new TypeError("the issuer has an authentication method that is not in authMethods");
      const question = { req, reauthenticate, ...summarize(req, request) };
      try {
        return await askHost<Authentication>("authenticate", () => authMethod.authenticate(question));
      } catch (thrown) {
        throw withLikelyCause(thrown, { req, name: "authenticate" });
      }
    },
    async decideConsent({ request, endUser }) {
      const { subject, context } = endUser;
      const question = { req, subject, ...(context && { context }), ...summarize(req, request) };
      return askHost<ConsentAnswer>("consent.decide", () => consent.decide(question));
    },
  };
}
