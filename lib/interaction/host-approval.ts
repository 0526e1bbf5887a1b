/** The decision that the host's consent page passes to `auth.approve`. RFC 6749 §10.2. */
import type { ConsentDecision } from "../end-user/port";
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { ownAnswer } from "../protocol/own";
import type { PendingRequest } from "./pending-request";

/** What the host's consent page may pass to `auth.approve`. */
export interface HostApproval {
  /** The allowed scopes; left out for all of them. */
  readonly scopes?: readonly string[];
  /** What the person chose on the page. Left out: the context of `authenticate`, if there is one. */
  readonly context?: AuthorizationContext;
}

const fix =
  "auth.approve takes no decision, or { scopes, context }. Pass the ticked scopes as a list, such as [].concat(req.body.scopes ?? []); an empty list means no. Leave out what the page does not ask.";

/**
 * An own copy of the decision, where `{}` allows all scopes; a `TypeError` with the fix for anything unclear: a form with nothing
 * ticked, a list without its key, or a misspelt key must not grant everything.
 */
export function readApproval(decision: unknown): HostApproval | TypeError {
  if (typeof decision !== "object" || decision === null || Array.isArray(decision)) return new TypeError(fix);
  const own = ownAnswer(decision as HostApproval);
  const { scopes, context, ...others } = own;
  const isClear =
    Object.keys(others).length === 0 && (!Object.hasOwn(own, "scopes") || Array.isArray(scopes));
  if (!isClear) return new TypeError(fix);
  const read = Object.hasOwn(own, "context") ? readContext(context) : undefined;
  if (typeof read === "string") return new TypeError(`auth.approve: ${read}.`);
  return { ...(scopes && { scopes }), ...(read && { context: read }) };
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
