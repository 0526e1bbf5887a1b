/** Words for the terminal: what came from outside, safe to print, and what somebody may have meant. */

const longest = 80;

/** Why a line that writes a secret into a file sets the umask. */
export const aboutUmask =
  "umask 077 creates a file that only your account can read. Without it, most systems let every account on the machine read it.";

/** Text from outside on one line: control characters could move the cursor of a terminal, or hide something. */
export function printable(text: string): string {
  return text.replaceAll(
    // eslint-disable-next-line no-control-regex -- they are what it looks for
    /[\0-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => (character === "\n" ? " " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** The same in quotes, and not too long. A URL may hold a password, so it is not repeated. */
export function quoted(text: string): string {
  if (text.includes("://")) return "a URL";
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return `"${printable(cut)}"`;
}

/** JSON with line breaks. What a terminal must not get is only in strings, where JSON has the same escapes. */
export function jsonText(json: object): string {
  return `${JSON.stringify(json, undefined, 2).split("\n").map(printable).join("\n")}\n`;
}

/**
 * What drivers and parsers quote: a URL with a password, a key that was taken for the name of a file, and whatever `JSON.parse` or a function
 * of Node.js cannot read, which may be a key from the environment.
 */
function withoutQuote(message: string): string {
  if (message.endsWith(" is not valid JSON")) return "a text that was parsed is not valid JSON";
  return message
    .replaceAll(/[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:\S*@\S*/gi, "a URL")
    .replace(/['"]?(?:-----BEGIN|\{\s*"[^]*"kty")[^]*/, "a key")
    .replace(/(?<=\. Received )(?!undefined|null|an instance of|function)[^]*/, "another text or type");
}

/**
 * What an error says of itself, on one line. What was thrown and is no error is not printed: nobody knows what it is.
 */
export function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null)
    return `it threw ${error === undefined || error === null ? String(error) : `a ${typeof error}`}`;
  const { message, name } = error as { readonly message?: unknown; readonly name?: unknown };
  if (typeof message !== "string") return "it threw an object that is not an Error";
  // several errors in one, as from a connection to a name with several addresses
  const { errors } = error as { readonly errors?: readonly unknown[] };
  if (message === "" && Array.isArray(errors)) return errors.map(errorText).join("; ");
  const kind = typeof name === "string" && name !== "Error" ? `${name}: ` : "";
  return printable(`${kind}${message === "" ? "an error without a message" : withoutQuote(message)}`);
}

/** The same as a sentence. Most errors end without a full stop, and those of this package with one. */
export function errorSentence(error: unknown): string {
  return errorText(error).replace(/\.?$/, ".");
}
