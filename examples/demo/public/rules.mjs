/** Why a step was refused: the rule, where it is written, and the fix. A new kind of refusal gets an entry here. */
import { inLocation } from "./carried.mjs";

const isGrant = (grantType) => (step) => step.sent.grant_type === grantType;
const isDisabled = (step) =>
  [step.body, inLocation(step)].some((told) => told.error_description === "This account is disabled.");
const replayed = (what) => (step) => step.events.some((event) => event.replayed === what);
const atAuthorize = ({ url }) => url.includes("/authorize");
const atApi = ({ url }) => url.startsWith("/api/");

/** The step in which the token that was sent was issued. */
function issueOf({ sent }, steps) {
  const token = sent.refresh_token ?? sent.Authorization?.replace("Bearer ", "");
  return steps.find(
    ({ body }) => token !== undefined && [body.access_token, body.refresh_token].includes(token),
  );
}

/** True if the token was issued for another API than the one that was called. */
function isForeign(step, steps) {
  const issued = issueOf(step, steps);
  return issued !== undefined && !issued.url.endsWith(`${step.url}/token`);
}

/** True if the person was signed out everywhere after the token was issued. */
function isSignedOut(step, steps) {
  const issuedAt = issueOf(step, steps)?.at;
  const isBetween = ({ at }) => issuedAt < at && at < step.at;
  return steps.some((each) => each.url === "/person/sign-out-everywhere" && isBetween(each));
}

/** True if this refresh token was repeated before, and got the same answer. */
const wasRepeated = ({ sent }, steps) =>
  steps.some(
    (each) =>
      each.sent.refresh_token === sent.refresh_token &&
      each.events.some(({ kind }) => kind === "refresh-retried"),
  );

/** The first whose error is the answer's and that fits the step explains it. */
const rules = [
  {
    error: "not_found",
    rule: "Only the pairs that an API lists in its metadata are authorization servers.",
    source: "RFC 9728 §2, RFC 8414 §3",
    fix: "Read authorization_servers in the API's metadata and ask one of those.",
  },
  {
    error: "invalid_request",
    fits: (step) => atAuthorize(step) && step.status === 400,
    rule: "A redirect URI must match a registered one, character for character. If it does not, nothing may be sent there, not even the error.",
    source: "RFC 6749 §3.1.2.4, RFC 9700 §2.1",
    fix: "Send the registered redirect URI, or register this one.",
  },
  {
    error: "invalid_request",
    fits: (step) => atAuthorize(step) && !step.sent.code_challenge,
    rule: "A public client has no secret, so it must use PKCE. Otherwise a stolen code would be enough.",
    source: "RFC 9700 §2.1.1, RFC 7636 §4.4.1",
    fix: "Send code_challenge and code_challenge_method=S256, and code_verifier with the code.",
  },
  {
    error: "invalid_grant",
    fits: replayed("authorization_code"),
    rule: "A code works once. A second use means that two parties have it, so the tokens of the first use are revoked too.",
    source: "RFC 6749 §4.1.2",
    fix: "Redeem each code once. For new tokens, refresh or run the flow again.",
  },
  {
    error: "invalid_grant",
    fits: (step, steps) => replayed("refresh_token")(step) && wasRepeated(step, steps),
    rule: "A refresh may be repeated only while its new refresh token is unused. That one was used, so two parties have tokens of this login, and the whole authorization is revoked.",
    source: "RFC 9700 §4.14.2",
    fix: "Repeat a refresh only if its response did not arrive. Now the person has to run the flow again.",
  },
  {
    error: "invalid_grant",
    fits: replayed("refresh_token"),
    rule: "A refresh token works once. A second use means that two parties have it, so the whole authorization is revoked.",
    source: "RFC 9700 §4.14.2",
    fix: "Keep the newest refresh token and use only that. Now the person has to run the flow again.",
  },
  {
    error: "invalid_grant",
    fits: isDisabled,
    rule: "The host decides about every token, and this person is no longer active. With revoke: true, the whole authorization is revoked.",
    source: "RFC 6749 §5.2",
    fix: "Discard the tokens. Once the person is enabled, they have to run the flow again.",
  },
  {
    error: "invalid_grant",
    fits: isSignedOut,
    rule: "The person was signed out everywhere, which revoked all their logins.",
    source: "RFC 6749 §5.2",
    fix: "Discard the tokens and run the flow again. The person has to sign in.",
  },
  {
    error: "invalid_grant",
    fits: isGrant("refresh_token"),
    rule: "The refresh token is unknown, expired or revoked with its authorization.",
    source: "RFC 6749 §5.2",
    fix: "Run the flow again.",
  },
  {
    error: "invalid_grant",
    rule: "The code is unknown, expired, or was issued to another client, redirect URI or challenge.",
    source: "RFC 6749 §5.2, RFC 7636 §4.6",
    fix: "Run the flow again and redeem the new code with its own verifier.",
  },
  {
    error: "invalid_token",
    fits: isForeign,
    rule: "An access token is meant for one API, and every other API refuses it. Otherwise one API could use your token at another.",
    source: "RFC 9068 §4, RFC 9700 §2.3",
    fix: "Get a token at an authorization server of the API that you want to call.",
  },
  {
    error: "invalid_token",
    fits: isSignedOut,
    rule: "The person was signed out everywhere. APIs notice it within revocationLagSeconds, which is 0 here.",
    source: "RFC 6750 §3.1",
    fix: "Discard the tokens and run the flow again. The person has to sign in.",
  },
  {
    error: "invalid_token",
    rule: "The access token is expired, or it was revoked with its authorization.",
    source: "RFC 6750 §3.1",
    fix: "Refresh it. If that is refused too, run the flow again.",
  },
  {
    error: "insufficient_scope",
    rule: "The access token is valid, but the person has not allowed this.",
    source: "RFC 6750 §3.1",
    fix: "Ask for the scope in the challenge, and let the person allow it.",
  },
  {
    error: "insufficient_user_authentication",
    rule: "The access token is valid, but this needs a stronger sign-in than the one behind it.",
    source: "RFC 9470 §3",
    fix: "Send the person to sign in again, with the acr_values of the challenge.",
  },
  {
    error: "401",
    fits: atApi,
    rule: "The API requires an access token.",
    source: "RFC 6750 §2.1, §3",
    fix: "Send it in the header: Authorization: Bearer …",
  },
  {
    error: "login_required",
    rule: "With prompt=none no page may be shown, and nobody is signed in.",
    source: "OpenID Connect Core 1.0 §3.1.2.6",
    fix: "Ask again without prompt, in a window where the person can sign in.",
  },
  {
    error: "consent_required",
    rule: "With prompt=none no page may be shown, and the person has not allowed this yet.",
    source: "OpenID Connect Core 1.0 §3.1.2.6",
    fix: "Ask again without prompt, in a window where the person can decide.",
  },
  {
    error: "invalid_scope",
    fits: ({ sent }) => !sent.scope,
    rule: "This API has no default scope, so the client must name the scopes that it needs.",
    source: "RFC 6749 §3.3",
    fix: "Send scope.",
  },
  {
    error: "invalid_scope",
    rule: "A scope must be one that the API offers and the client is registered for.",
    source: "RFC 6749 §3.3",
    fix: "Ask for less: scopes_supported in the metadata lists the available ones.",
  },
  {
    error: "access_denied",
    fits: isDisabled,
    rule: "The host no longer lets this person sign in. If it only refused tokens, the client would send them here again and again.",
    source: "RFC 6749 §4.1.2.1",
    fix: "Tell the person. The host has to enable them.",
  },
  {
    error: "access_denied",
    rule: "The person said no. The client learns that and nothing else.",
    source: "RFC 6749 §4.1.2.1",
    fix: "Respect that, and ask again only when the person wants to.",
  },
  {
    error: "authorization_pending",
    rule: "The person has not answered yet, and the client has to wait.",
    source: "RFC 8628 §3.5",
    fix: "Poll again after the interval.",
  },
  {
    error: "unauthorized_client",
    rule: "Only confidential clients get a token for themselves, because anyone could pretend to be a public one.",
    source: "RFC 6749 §4.4, §5.2",
    fix: "Use the authorization code grant, or register a confidential client.",
  },
  {
    error: "invalid_client",
    fits: ({ url }) => url.endsWith("/introspect"),
    rule: "Introspection is for clients that can prove who they are. Otherwise anyone could try out tokens.",
    source: "RFC 7662 §2.1, §4",
    fix: "Introspect as a confidential client, or call the API and see.",
  },
  {
    error: "invalid_client",
    rule: "The client is unknown or its secret is wrong.",
    source: "RFC 6749 §5.2",
    fix: "Send the registered client_id and its secret.",
  },
];

/** `undefined` for a step that was not refused; `steps` are all so far. An error that is only passed on was refused in an earlier step. */
export function refusalOf(step, steps) {
  const { status, body, events } = step;
  const told = [body, inLocation(step)].find(({ error }) => error);
  if (!told && status < 400) return undefined;
  const event = events.find(({ reason }) => reason);
  const error = told?.error ?? event?.error ?? String(status);
  const rule = rules.find((each) => each.error === error && (each.fits?.(step, steps) ?? true));
  const page = body.page && "The person sees an error page, and the client is told nothing.";
  return { error, description: told?.error_description ?? page, reason: event?.reason, ...rule };
}

/** The end of a story with these steps, in a sentence. */
export function summaryOf(steps, allSteps) {
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  const refusals = steps.flatMap((step, index) => {
    const refusal = refusalOf(step, allSteps);
    return refusal ? [`step ${index + 1} (${refusal.error})`] : [];
  });
  return refusals.length === 0 ? `${count}, none refused.` : `${count}. Refused: ${refusals.join(", ")}.`;
}
