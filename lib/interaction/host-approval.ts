/** The decision that the host's consent page passes to `auth.approve`. RFC 6749 §10.2. */
import type { ConsentDecision } from "../end-user/port";
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { isPlain } from "../protocol/host-json";
import type { PendingRequest } from "./pending-request";

/** What the host's consent page may pass to `auth.approve`. */
export interface HostApproval {
  /** The allowed scopes; left out for all of them. */
  readonly scopes?: readonly string[];
  /** What the person chose on the page. Left out: the context of `authenticate`, if there is one. */
  readonly context?: AuthorizationContext;
}

const fix =
  "auth.approve takes no decision, or { scopes, context }. It must be a plain object: await a promise first. Pass the ticked scopes as a list, such as [].concat(req.body.scopes ?? []); an empty list means no. Leave out what the page does not ask.";

function unclear(decision: unknown): TypeError {
  // a forgotten await; if the promise rejects with nobody waiting for it, Node ends the process
  Promise.resolve(decision).catch(() => undefined);
  return new TypeError(fix);
}

/**
 * An own copy of the decision, where `{}` allows all scopes; a `TypeError` with the fix for anything unclear: a form with nothing
 * ticked, a list without its key, a misspelt key, or a promise must not grant everything.
 */
export function readApproval(decision: unknown): HostApproval | TypeError {
  if (!isPlain(decision)) return unclear(decision);
  const names = Reflect.ownKeys(decision);
  const { scopes, context } = decision;
  const isClear =
    names.every((name) => name === "scopes" || name === "context") &&
    (!names.includes("scopes") || Array.isArray(scopes));
  if (!isClear) return unclear(decision);
  const read = names.includes("context") ? readContext(context) : undefined;
  if (typeof read === "string") return new TypeError(`auth.approve: ${read}.`);
  return {
    ...(Array.isArray(scopes) && { scopes: [...(scopes as readonly string[])] }),
    ...(read && { context: read }),
  };
}

/** The approval as the answer of the person who was sent to the host's page. */
export function hostDecision({ scopes, context }: HostApproval, pending: PendingRequest): ConsentDecision {
  const { consentSubject, contextKey = "", endMarks = [] } = pending;
  return {
    // a page that lets the person choose says so; any other page was shown for the context of that time
    isBy: (endUser) =>
      endUser.subject === consentSubject &&
      (context !== undefined || (endUser.context?.key ?? "") === contextKey),
    endMarks,
    ...(context && { context }),
    answer: (requestedScopes) => scopes ?? requestedScopes,
  };
}
