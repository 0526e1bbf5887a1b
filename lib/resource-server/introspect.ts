/** Asks the authorization server what a token means, and whether it still stands. RFC 7662 §2; 6749 §2.3.1, Appendix B. */
import { fetchTrusted } from "../fetching/fetch-trusted";
import { parseJson } from "../fetching/read-document";
import type { AccessTokenClaims } from "../protocol/access-token";
import { hostMistake } from "../protocol/mistake";
import { lateError } from "../protocol/oauth-error";
import type { IntrospectionOptions } from "./options";
import { type InTurn, takingTurns } from "../recall/turns";

/** What introspection says about a token: its claims while it is active. */
export type Introspected =
  { readonly active: false } | { readonly active: true; readonly claims: AccessTokenClaims };

/**
 * Asks about a token.
 *
 * @throws Error when the authorization server does not answer (which leads to 503), or refuses to.
 */
export type Introspect = (endpoint: string, token: string) => Promise<Introspected>;

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/** The client's credentials. @rfc 6749 §2.3.1 */
function basic({ clientId, clientSecret }: IntrospectionOptions): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

const refusals: Readonly<Record<number, string>> = {
  400: "is this client registered as a confidential one, with a subscription to the API?",
  401: "are clientId and clientSecret those of a client that is registered there?",
  403: "may this client introspect tokens?",
  404: "is baseUrl right?",
};

function readAnswer(text: string): Introspected | undefined {
  const claims = parseJson(text) as AccessTokenClaims | undefined;
  if (claims?.["active"] === false) return { active: false };
  return claims?.["active"] === true ? { active: true, claims } : undefined;
}

function noTurn(because: "full" | "late"): Error {
  return because === "full"
    ? lateError("introspection-queue-full", "introspection: too many tokens are waiting: is the server slow?")
    : lateError("introspection-queue-late", "introspection: no turn in five seconds: is the server slow?");
}

/**
 * Turns at the authorization server, which must not get a flood of connections. Without a limit, the last of those who wait for a server that
 * hangs would wait for minutes.
 */
export function introspectionTurns(): InTurn {
  return takingTurns({ running: 32, waiting: 1_000, waitMilliseconds: 5_000, refusal: noTurn });
}

/** Asks as this client. `inTurn` limits how many questions are under way. */
export function introspector(options: IntrospectionOptions, inTurn: InTurn): Introspect {
  const headers = { Authorization: basic(options) };
  return async (endpoint, token) => {
    const body = new URLSearchParams({ token });
    const answer = await inTurn(endpoint, () => fetchTrusted(endpoint, { method: "POST", headers, body }));
    if (answer.kind === "failed")
      throw lateError("introspection-unreachable", `introspection: ${answer.reason}`);
    const { status, text } = answer;
    if (status >= 500 || status === 429)
      throw lateError("introspection-unavailable", `introspection: the answer has status ${status}`);
    const hint = refusals[status] ?? "is baseUrl right?";
    if (status !== 200)
      throw hostMistake(
        "introspection-request-refused",
        `introspection was refused with status ${status}: ${hint}`,
      );
    const introspected = readAnswer(text);
    if (introspected) return introspected;
    throw hostMistake(
      "introspection-answer-wrong",
      "introspection: the answer is not JSON with active: true or false (RFC 7662 §2.2): is baseUrl right?",
    );
  };
}
