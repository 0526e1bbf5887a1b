/** Reads the decision that the host's consent page passes to `auth.approve`. RFC 6749 §10.2. */

/** The error text for a decision that cannot be read. */
export const allowedFix =
  "auth.approve takes no decision, or { scopes } with a list. Pass the ticked scopes as a list, such as [].concat(req.body.scopes ?? []); an empty list means no.";

/**
 * The scopes in `{ scopes }`, `"all"` for `{}`, or `undefined` for anything else: a form with nothing ticked, a list without its
 * key, or a misspelt key must not grant everything.
 */
export function readAllowed(decision: unknown): readonly string[] | "all" | undefined {
  if (typeof decision !== "object" || decision === null || Array.isArray(decision)) return undefined;
  const keys = Object.keys(decision);
  if (keys.length === 0) return "all";
  const { scopes } = decision as { scopes?: unknown };
  return keys.length === 1 && Array.isArray(scopes) ? (scopes as readonly string[]) : undefined;
}
