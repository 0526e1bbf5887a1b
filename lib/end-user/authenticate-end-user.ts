/** Who is at the browser, and did they sign in recently enough. OpenID Connect Core §3.1.2.1, §3.1.2.3; RFC 9068 §5. */
import type { ClientLookup } from "../clients/client-lookup";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { OAuthError } from "../protocol/oauth-error";
import { ownRecord, ownText } from "../protocol/own";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { checkAuthentication } from "./check-host-answer";
import type { Authentication, EndUser, EndUserPort } from "./port";

/** What authentication uses, beside the adapters of the host. */
export interface EndUserAuthenticationPorts {
  readonly clients: Pick<ClientLookup, "isTaken">;
  readonly clock: Clock;
}

/** Who is asked for: the request, and when the person was first sent to a page. */
export interface AuthenticationQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUserPort;
  /** When this request first sent the person to a page; `undefined` on the first visit. */
  readonly interactionBegan: EpochSeconds | undefined;
  readonly now: EpochSeconds;
}

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;
type NotDenied = Exclude<Authentication, { kind: "denied" }>;

/** The question, and a clock: what is answered may be of a moment after `now`. */
interface TimedQuestion extends AuthenticationQuestion {
  readonly clock: Clock;
}

/** A time ahead of ours is from a clock that is ahead, so the sign-in may have been earlier by as much as clocks differ. */
function earliestSignIn(authTime: EpochSeconds, clock: Clock): EpochSeconds {
  return authTime > clock() ? authTime - clockDriftSeconds : authTime;
}

/** Signing in during this interaction meets every `prompt` and `max_age`, so that none of them can loop. */
function isFresh(
  { authTime }: Authenticated,
  { request, interactionBegan, now, clock }: TimedQuestion,
): boolean {
  const { prompt, maxAge } = request;
  if (authTime === undefined) return maxAge === undefined && !prompt.includes("login");
  if (interactionBegan !== undefined && authTime >= interactionBegan) return true;
  const signedInAt = earliestSignIn(authTime, clock);
  if (prompt.includes("login")) return interactionBegan === undefined && signedInAt >= now;
  // measured when the request came, so that time spent on the consent page does not make a session too old
  return maxAge === undefined || (interactionBegan ?? now) - signedInAt <= maxAge;
}

async function ask(question: TimedQuestion, demand: "any" | "fresh"): Promise<NotDenied> {
  const { request, endUser } = question;
  // a copy: the host may go on changing its own
  const answer = ownRecord(await endUser.authenticate({ request, reauthenticate: demand === "fresh" }));
  checkAuthentication(answer, question.now);
  if (answer.kind === "denied") {
    throw new OAuthError("access_denied", {
      description: answer.description ?? "The end user was not signed in.",
    });
  }
  if (answer.kind === "interaction" && request.prompt.includes("none")) {
    throw new OAuthError("login_required", {
      description: "The end user is not signed in.",
      reason:
        "prompt=none, and authenticate has found nobody (OpenID Connect Core §3.1.2.6): ask without prompt. In an iframe of another site the host's session cookie is not sent",
    });
  }
  return answer;
}

/** A session that is too old is asked for once more: `reauthenticate` tells the host not to answer from it. */
async function askForFresh(question: TimedQuestion, stale: Authenticated): Promise<NotDenied> {
  if (stale.authTime === undefined && question.interactionBegan !== undefined) {
    throw new TypeError(
      "authenticate must answer with an authTime, or prompt=login and max_age cannot be met.",
    );
  }
  const answer = await ask(question, "fresh");
  if (answer.kind !== "authenticated" || isFresh(answer, question)) return answer;
  throw new OAuthError("login_required", {
    description: "The end user has to sign in again.",
    reason: "authenticate answered from an old session although it was asked to reauthenticate",
  });
}

/** The first visit must end on a page of the host; who comes back from there has chosen, whenever they signed in. */
function notChosen(): OAuthError {
  return new OAuthError("interaction_required", {
    description: "The end user has to choose an account.",
    reason:
      "prompt=select_account, and authenticate answered from a session although it was asked to reauthenticate (OpenID Connect Core §3.1.2.1): answer interaction",
  });
}

function toEndUser({ subject, displayName, authTime, amr, acr }: Authenticated): EndUser {
  return {
    subject: ownText(subject),
    displayName: displayName ?? subject,
    facts: {
      ...(authTime !== undefined && { authTime }),
      ...(amr !== undefined && { amr }),
      ...(acr !== undefined && { acr }),
    },
  };
}

/** A token's `sub` names an end user or a client; one name for both would let either pass as the other. @rfc 9068 §5 */
async function checkNoClient(
  { clients }: Pick<EndUserAuthenticationPorts, "clients">,
  subject: string,
): Promise<void> {
  if (!(await clients.isTaken(subject))) return;
  throw new TypeError("authenticate answered with a subject that is a client id.");
}

/**
 * The signed-in end user, or the page where they sign in.
 *
 * @throws OAuthError `access_denied`, `login_required` or `interaction_required`
 */
export async function authenticateEndUser(
  ports: EndUserAuthenticationPorts,
  asked: AuthenticationQuestion,
): Promise<{ kind: "end-user"; endUser: EndUser } | { kind: "interaction"; url: string }> {
  const { request, endUser, interactionBegan, now } = asked;
  const question: TimedQuestion = { request, endUser, interactionBegan, now, clock: ports.clock };
  const { prompt } = request;
  const isFirstVisit = interactionBegan === undefined;
  const mustChoose = isFirstVisit && prompt.includes("select_account");
  const first = await ask(
    question,
    mustChoose || (isFirstVisit && prompt.includes("login")) ? "fresh" : "any",
  );
  if (mustChoose && first.kind === "authenticated") throw notChosen();
  const stale = first.kind === "authenticated" && !isFresh(first, question);
  const answer = stale ? await askForFresh(question, first) : first;
  if (answer.kind === "interaction") return answer;
  const person = toEndUser(answer);
  await checkNoClient(ports, person.subject);
  return { kind: "end-user", endUser: person };
}
