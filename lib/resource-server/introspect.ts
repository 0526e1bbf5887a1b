/** Asks the authorization server what a token means, and whether it still stands. RFC 7662 §2. */
import { fetchTrusted } from "../fetching/fetch-trusted";
import { parseJson } from "../fetching/read-document";
import type { AccessTokenClaims } from "../protocol/access-token";
import { hostMistake } from "../protocol/mistake";
import { lateError } from "../protocol/oauth-error";
import type { ClientProof } from "./client-proof";
import { type InTurn, takingTurns } from "../recall/turns";

/** What introspection says about a token: its claims while it is active. */
export type Introspected =
  { readonly active: false } | { readonly active: true; readonly claims: AccessTokenClaims };

/**
 * Asks the issuer of an endpoint about a token.
 *
 * @throws Error when the authorization server does not answer (which leads to 503), or refuses to.
 */
export type Introspect = (
  endpoint: string,
  asked: Readonly<Record<"issuer" | "token", string>>,
) => Promise<Introspected>;

const refusals: Readonly<Record<number, string>> = {
  400: "is this client registered as a confidential one, with a subscription to the API?",
  401: "are clientId and clientSecret or privateKey those of a client that is registered there?",
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
export function introspector(prove: ClientProof, inTurn: InTurn): Introspect {
  return async (endpoint, { issuer, token }) => {
    const answer = await inTurn(endpoint, () => {
      const { headers, fields } = prove(issuer);
      const body = new URLSearchParams({ token, ...fields });
      return fetchTrusted(endpoint, { method: "POST", headers, body });
    });
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
