/** Secrets that are marked as they appear, and looked for in texts and answers: whole or in part, plain or encoded. */
import { inspect } from "node:util";
import type { Tokens } from "../browser/journey";

/** How long a part of a secret is that is no accident. */
export const partLength = 16;

/** Every part of a text that is long enough to be no accident. */
function* partsOf(text: string): Iterable<string> {
  for (let at = 0; at + partLength <= text.length; at += 1) yield text.slice(at, at + partLength);
}

function writings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
  return [secret, encodeURIComponent(secret), ...encoded];
}

/** The secrets that have appeared so far. */
export interface Secrets {
  /** Remembers a secret; gives it back. */
  mark(kind: string, secret: string): string;
  /** The kinds of secrets that the text holds, in whole or in part. */
  findIn(text: string): readonly string[];
  readonly kinds: () => readonly string[];
}

/** No secrets yet. */
export function newSecrets(): Secrets {
  const kindByPart = new Map<string, string>();
  return {
    mark(kind, secret) {
      if (secret.length < partLength) throw new Error(`too short to be found: ${kind}`);
      for (const writing of writings(secret)) {
        for (const part of partsOf(writing)) if (!kindByPart.has(part)) kindByPart.set(part, kind);
      }
      return secret;
    },
    findIn(text) {
      const found = new Set<string>();
      for (const part of partsOf(text)) {
        const kind = kindByPart.get(part);
        if (kind !== undefined) found.add(kind);
      }
      return [...found];
    },
    kinds: () => [...new Set(kindByPart.values())],
  };
}

/** An answer, as it was written. */
export interface Written {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What is random of a code or refresh token; of a JWT its signature: only that is no one else's to make. */
function secretHalf(token: string): string {
  return token.split(".").at(-1) ?? "";
}

/** Parts of an answer that carry a secret of their own to the one it is for. */
export function markAnswer(secrets: Secrets, { status, headers, body }: Written): void {
  const code = /[?&]code=([^&]+)/.exec(String(headers["location"]))?.[1];
  if (code !== undefined) secrets.mark("code", secretHalf(code));
  for (const cookie of [headers["set-cookie"] ?? []].flat() as string[]) {
    const signature = /=s:[^;]+\.([^.;]+)/.exec(cookie)?.[1];
    if (signature !== undefined) secrets.mark("interaction cookie", decodeURIComponent(signature));
  }
  const formToken = /name="form_token" value="([^"]+)"/.exec(body)?.[1];
  if (formToken !== undefined) secrets.mark("form token", formToken);
  if (status !== 200 || !body.startsWith('{"access_token"')) return;
  const tokens = JSON.parse(body) as Tokens;
  secrets.mark("access token", secretHalf(tokens.access_token));
  if (tokens.refresh_token !== undefined) secrets.mark("refresh token", secretHalf(tokens.refresh_token));
}

/** A page may be shown again with the form token and the cookie that it had. */
const mayComeAgain = ["form token", "interaction cookie"];

/** The kinds of secrets in an answer that is not for them. */
export function leaksOf(secrets: Secrets, written: Written): readonly string[] {
  const { status, headers, body } = written;
  const refused = status >= 400 || /[?&]error=/.test(String(headers["location"]));
  const found = secrets.findIn(`${JSON.stringify(headers)}\n${body}`);
  return found.filter((kind) => refused || !mayComeAgain.includes(kind));
}

/** Everything of a value, with the message, stack and cause of every error in it. */
export function deepText(value: unknown): string {
  const everything = {
    depth: Infinity,
    maxArrayLength: Infinity,
    maxStringLength: Infinity,
    showHidden: true,
  };
  return `${inspect(value, { ...everything, breakLength: Infinity })}\n${JSON.stringify(value)}`;
}
