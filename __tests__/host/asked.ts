/** What an authorization request asks for, and how an end user answers, without a server. */
import type { Client } from "../../lib";
import type { ConsentDecision, EndUser, EndUserPort } from "../../lib/end-user/port";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { verifyRedirectUri } from "../../lib/protocol/redirect-uri";
import { confidentialRecord, issuerRecord } from "../records/records";

/** The moment of each request. */
export const now = 1_000;

/** A request of `web` for one scope, at the first redirect URI of the client. */
export function askedRequest(changes: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  const client: Client = changes.client ?? confidentialRecord();
  const [requested] = client.redirectUris;
  const target = verifyRedirectUri(client, { requested, rule: "required", redirectSchemes: "any" });
  if (!target) throw new Error("not a registered redirect URI");
  return {
    issuer: issuerRecord(),
    client,
    target,
    responseMode: "query",
    codeChallenge: undefined,
    boundKey: undefined,
    nonce: undefined,
    hintedSubject: undefined,
    requestedScopes: ["orders:read"],
    grantableScopes: ["orders:read"],
    ignoredScopes: [],
    prompt: [],
    state: undefined,
    maxAge: undefined,
    acrValues: [],
    loginHint: undefined,
    uiLocales: undefined,
    ...changes,
  };
}

/** Alice, signed in. */
export function endUserRecord(changes: Partial<EndUser> = {}): EndUser {
  return { subject: "alice", displayName: "Alice", facts: {}, context: undefined, ...changes };
}

/** A host that is asked nothing, but for what is given. */
export function hostPort(answers: Partial<EndUserPort> = {}): EndUserPort {
  return {
    authenticate: () => Promise.reject(new Error("authenticate was called")),
    decideConsent: () => Promise.reject(new Error("decide was called")),
    ...answers,
  };
}

/** Alice's yes to everything on a page that was shown before anything was ended. */
export function decisionRecord(changes: Partial<ConsentDecision> = {}): ConsentDecision {
  return { isBy: () => true, endMarks: [], answer: (requestedScopes) => requestedScopes, ...changes };
}

const noGrant = "The end user did not grant access.";

/** `refusalOf` a request that relied on what was ended while it was under way. */
export const endedMeanwhile = {
  error: "access_denied",
  description: noGrant,
  code: "ended-meanwhile",
};

/** Why nothing comes of it, as the client is told, and the code for the host. Fails when something does. */
export async function refusalOf(work: Promise<unknown>): Promise<object> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof OAuthError)) return error as object;
    const { error: name, description, code } = error;
    return { error: name, description, code };
  }
  throw new Error("nothing was refused");
}
