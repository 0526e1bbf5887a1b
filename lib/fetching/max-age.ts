/** How long an answer says that it stays fresh. RFC 9111 §4.2 (freshness), §5.1 (Age), §5.2.2 (Cache-Control). */

/** Headers of an answer, each with all of its values. */
export type Headers = Readonly<Record<string, readonly string[] | undefined>>;

/** A name, and perhaps a value as a token or a quoted text. */
const directive = /([\w!#$%&'*+.^`|~-]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]+)))?/g;

/** More seconds mean the same to everybody. */
const longest = 2 ** 31;

function parseSeconds(text: string): number | undefined {
  return /^\d+$/.test(text) ? Math.min(Number(text), longest) : undefined;
}

/**
 * For how many more seconds the answer is fresh: `max-age` less its `Age`, 0 if it must not be stored or used without asking again,
 * `undefined` if it says nothing. A `max-age` that is no number counts as 0, and of several the smallest counts.
 *
 * @rfc 9111 §4.2.1, §5.2.2
 */
export function readMaxAge(headers: Headers): number | undefined {
  const directives = [...(headers["cache-control"]?.join(",") ?? "").matchAll(directive)];
  const limits = directives.flatMap(([, name = "", quoted, token]) => {
    if (/^no-(?:store|cache)$/i.test(name)) return [0];
    return /^max-age$/i.test(name) ? [parseSeconds(quoted ?? token ?? "") ?? 0] : [];
  });
  if (limits.length === 0) return undefined;
  const age = parseSeconds(headers["age"]?.[0] ?? "") ?? 0;
  return Math.max(0, Math.min(...limits) - age);
}
