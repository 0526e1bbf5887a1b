/** Who is at the browser, and whether they signed in recently enough. OpenID Connect Core §3.1.2.1, §3.1.2.3; RFC 9068 §5. */
import type { ClientLookup } from "../clients/client-lookup";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { hostMistake } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { ownText } from "../protocol/parameters";
import { type Clock, earliestOf, type EpochSeconds } from "../protocol/time";
import { endedMeanwhile } from "./approval-basis";
import { checkAuthentication, ownContext } from "./check-host-answer";
import type { ConsentResult } from "./obtain-consent";
import type { Authentication, BackFromPage, EndUser, EndUserPort } from "./port";
import { endUserReasons } from "./refusals";

/** What authentication needs, besides the host's adapters. */
export interface EndUserAuthenticationPorts {
  /** Tells whether a subject is the id of a client. */
  readonly clients: Pick<ClientLookup, "isTaken">;
  readonly clock: Clock;
}

/** The question who is at the browser: for which request, and whether the person was already sent to a page. */
export interface AuthenticationQuestion {
  readonly request: AuthorizationRequest;
  /** The host's adapters. */
  readonly port: EndUserPort;
  /** `undefined` on the first visit. */
  readonly back: Pick<BackFromPage, "began" | "choosesAccount"> | undefined;
  readonly now: EpochSeconds;
}

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;
type NotDenied = Exclude<Authentication, { kind: "denied" }>;

/** The question and a clock: by the time the host answers, it may be later than `now`. */
type TimedQuestion = AuthenticationQuestion & { readonly clock: Clock };

/** True when the sign-in is recent enough. One during this interaction meets every `prompt` and `max_age`, so none can loop. */
function isFresh({ authTime }: Authenticated, { request, back, now, clock }: TimedQuestion): boolean {
  const { prompt, maxAge } = request;
  if (authTime === undefined) return maxAge === undefined && !prompt.includes("login");
  if (back && authTime >= back.began) return true;
  const signedInAt = earliestOf(authTime, clock());
  if (prompt.includes("login")) return !back && signedInAt >= now;
  // measured when the request arrived, so that time spent on the consent page does not make a session too old
  return maxAge === undefined || (back?.began ?? now) - signedInAt <= maxAge;
}

function isStrong({ acr }: Authenticated, { request: { acrValues } }: TimedQuestion): boolean {
  return acrValues.length === 0 || (acr !== undefined && acrValues.includes(acr));
}

/** With `prompt=none` another sign-in may still help. Otherwise a weaker token would send the client round in circles. @rfc 9470 §5 */
function notStrong({ acr }: Authenticated, { request: { prompt } }: TimedQuestion): OAuthError {
  return new OAuthError(prompt.includes("none") ? "login_required" : "unmet_authentication_requirements", {
    description: "The end user did not sign in in such a way.",
    ...because(endUserReasons, "sign-in-too-weak", acr),
  });
}

function notSignedIn(): OAuthError {
  return new OAuthError("login_required", {
    description: "The end user is not signed in.",
    ...because(endUserReasons, "not-signed-in"),
  });
}

function isHinted({ subject }: Authenticated, { request: { hintedSubject } }: TimedQuestion): boolean {
  return hintedSubject === undefined || subject === hintedSubject;
}

/** With `prompt=none` it looks as if nobody were signed in: a client must not learn who is. */
function notHinted({ request: { prompt } }: TimedQuestion): OAuthError {
  if (prompt.includes("none")) return notSignedIn();
  return new OAuthError("login_required", {
    description: "Someone other than the hinted end user is signed in.",
    ...because(endUserReasons, "not-the-hinted-person"),
  });
}

async function ask(
  question: TimedQuestion,
  { reauthenticate }: { reauthenticate: boolean },
): Promise<NotDenied> {
  const { request, port } = question;
  const answer = await port.authenticate({ request, reauthenticate });
  checkAuthentication(answer, question.clock());
  if (answer.kind === "denied") {
    throw new OAuthError("access_denied", {
      description: answer.description ?? endUserReasons["sign-in-denied"],
      code: "sign-in-denied",
    });
  }
  if (answer.kind === "interaction" && request.prompt.includes("none")) throw notSignedIn();
  return answer;
}

/** Asks once more when the session is too old or too weak, or is not of the hinted person. `reauthenticate` tells the host not to answer from that session again. */
async function askForFresh(question: TimedQuestion, stale: Authenticated): Promise<NotDenied> {
  if (stale.authTime === undefined && question.back) {
    throw hostMistake(
      "auth-time-missing",
      "authenticate must return an authTime: without it, prompt=login and max_age cannot be met.",
    );
  }
  const answer = await ask(question, { reauthenticate: true });
  if (answer.kind !== "authenticated") return answer;
  if (!isHinted(answer, question)) throw notHinted(question);
  if (!isStrong(answer, question)) throw notStrong(answer, question);
  if (isFresh(answer, question)) return answer;
  throw new OAuthError("login_required", {
    description: "The end user has to sign in again.",
    ...because(endUserReasons, "sign-in-too-old"),
  });
}

/** A choice must be made on a page of the host. A person who comes back from there has chosen, whenever they signed in. */
function notChosen(): OAuthError {
  return new OAuthError("interaction_required", {
    description: "The end user has to choose an account.",
    ...because(endUserReasons, "account-not-chosen"),
  });
}

/** Which of the host's callbacks has named the person. */
type Namer = "authenticate" | "identityAssertions.accept";

function toEndUser(answer: Authenticated, by: Namer): EndUser {
  const { subject, displayName, authTime, amr, acr, signedInFrom } = answer;
  return {
    subject: ownText(subject),
    displayName: displayName ?? subject,
    facts: {
      ...(authTime !== undefined && { authTime }),
      ...(amr !== undefined && { amr }),
      ...(acr !== undefined && { acr }),
      ...(signedInFrom !== undefined && { signedInFrom }),
    },
    context: ownContext(answer, by),
  };
}

/**
 * The end user whom the host has named. A subject that is a client id is refused: `sub` names an end user or a client, and either could pass
 * as the other.
 *
 * @throws TypeError
 * @rfc 9068 §5
 */
export async function namedEndUser(
  { clients }: Pick<EndUserAuthenticationPorts, "clients">,
  { answer, by }: { answer: Authenticated; by: Namer },
): Promise<EndUser> {
  const endUser = toEndUser(answer, by);
  if (!(await clients.isTaken(endUser.subject))) return endUser;
  throw hostMistake(
    "subject-is-client-id",
    `${by} returned a subject that is a client id. Use subjects that differ from every client id.`,
  );
}

/**
 * The signed-in end user, or the page of the host where they sign in or choose an account. `authTime` is checked here, whatever
 * the host was asked: a host that ignores `reauthenticate` must not make `prompt=login` do nothing.
 *
 * @throws OAuthError `access_denied`, `login_required`, `interaction_required` or `unmet_authentication_requirements`
 * @throws TypeError when the host's answer is invalid; the client gets `server_error`
 */
export async function authenticateEndUser(
  ports: EndUserAuthenticationPorts,
  asked: AuthenticationQuestion,
): Promise<{ kind: "end-user"; endUser: EndUser } | { kind: "interaction"; url: string }> {
  const { request, back } = asked;
  const question: TimedQuestion = { ...asked, clock: ports.clock };
  const { prompt } = request;
  const mustChoose = back ? back.choosesAccount : prompt.includes("select_account");
  const first = await ask(question, { reauthenticate: mustChoose || (!back && prompt.includes("login")) });
  if (mustChoose && first.kind === "authenticated") throw notChosen();
  const isOther = first.kind === "authenticated" && !isHinted(first, question);
  // a person who comes back from a page has had the choice, and would be sent there again and again
  if (isOther && (back || prompt.includes("none"))) throw notHinted(question);
  const weak = first.kind === "authenticated" && !isStrong(first, question) ? first : undefined;
  if (weak && (back || prompt.includes("none"))) throw notStrong(weak, question);
  const stale = first.kind === "authenticated" && (isOther || weak || !isFresh(first, question));
  const answer = stale ? await askForFresh(question, first) : first;
  if (answer.kind === "interaction") return answer;
  return { kind: "end-user", endUser: await namedEndUser(ports, { answer, by: "authenticate" }) };
}

/** Who approves, and what. */
export interface Approver {
  readonly endUser: EndUser;
  readonly consent: Extract<ConsentResult, { kind: "granted" }>;
}

/**
 * The person and what they chose, as `authenticate` says again, where everything of theirs was ended before. The host may have looked up
 * the session before that: asked after the mark was read, it knows.
 *
 * @throws OAuthError `access_denied` when it is another person, or another context
 */
export async function authenticateAgain(
  ports: EndUserAuthenticationPorts,
  { question, approver }: { question: AuthenticationQuestion; approver: Approver },
): Promise<(Approver & { kind: "same-person" }) | { kind: "interaction"; url: string }> {
  const { endUser, consent } = approver;
  if (consent.basis.marks.subject === undefined) return { kind: "same-person", ...approver };
  const again = await authenticateEndUser(ports, question);
  if (again.kind === "interaction") return again;
  const { subject, context } = again.endUser;
  if (subject !== endUser.subject || context?.key !== endUser.context?.key) throw endedMeanwhile();
  // the consent step may have set another one
  const isOfSession = consent.context === endUser.context;
  return {
    kind: "same-person",
    endUser: again.endUser,
    consent: isOfSession ? { ...consent, context } : consent,
  };
}
