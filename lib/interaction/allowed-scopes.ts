/** What the host's consent page allows. RFC 6749 §10.2. */

/** What to write in place of a decision that cannot be read. */
export const allowedFix =
  "auth.approve takes nothing, or { scopes } with a list. Write the ticked scopes as a list, such as [].concat(req.body.scopes ?? []); an empty one is a no.";

/**
 * The scopes of `{ scopes }`, `"all"` for `{}`, or `undefined` for anything else: a form with nothing ticked, a list without its key
 * or a misspelt key must not grant everything.
 */
export function readAllowed(decision: unknown): readonly string[] | "all" | undefined {
  if (typeof decision !== "object" || decision === null || Array.isArray(decision)) return undefined;
  const keys = Object.keys(decision);
  if (keys.length === 0) return "all";
  const { scopes } = decision as { scopes?: unknown };
  return keys.length === 1 && Array.isArray(scopes) ? (scopes as readonly string[]) : undefined;
}
