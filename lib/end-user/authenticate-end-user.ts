/** Who is at the browser, and whether they signed in recently enough. OpenID Connect Core §3.1.2.1, §3.1.2.3; RFC 9068 §5. */
import type { ClientLookup } from "../clients/client-lookup";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { OAuthError } from "../protocol/oauth-error";
import { ownText } from "../protocol/own";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { checkAuthentication, ownContext } from "./check-host-answer";
import type { Authentication, EndUser, EndUserPort } from "./port";

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
  readonly endUser: EndUserPort;
  /** When this request first sent the person to a page, in epoch seconds; `undefined` on the first visit. */
  readonly interactionBegan: EpochSeconds | undefined;
  /** True when the person has just asked for another account on the consent page. */
  readonly choosesAccount: boolean;
  readonly now: EpochSeconds;
}

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;
type NotDenied = Exclude<Authentication, { kind: "denied" }>;

/** The question and a clock: by the time the host answers, it may be later than `now`. */
interface TimedQuestion extends AuthenticationQuestion {
  readonly clock: Clock;
}

/** An `authTime` ahead of this clock comes from a clock that is ahead, so the sign-in may be earlier by the drift of clocks. */
function earliestSignIn(authTime: EpochSeconds, clock: Clock): EpochSeconds {
  return authTime > clock() ? authTime - clockDriftSeconds : authTime;
}

/** True when the sign-in is recent enough. One during this interaction meets every `prompt` and `max_age`, so none can loop. */
function isFresh(
  { authTime }: Authenticated,
  { request, interactionBegan, now, clock }: TimedQuestion,
): boolean {
  const { prompt, maxAge } = request;
  if (authTime === undefined) return maxAge === undefined && !prompt.includes("login");
  if (interactionBegan !== undefined && authTime >= interactionBegan) return true;
  const signedInAt = earliestSignIn(authTime, clock);
  if (prompt.includes("login")) return interactionBegan === undefined && signedInAt >= now;
  // measured when the request arrived, so that time spent on the consent page does not make a session too old
  return maxAge === undefined || (interactionBegan ?? now) - signedInAt <= maxAge;
}

async function ask(
  question: TimedQuestion,
  { reauthenticate }: { reauthenticate: boolean },
): Promise<NotDenied> {
  const { request, endUser } = question;
  const answer = await endUser.authenticate({ request, reauthenticate });
  checkAuthentication(answer, question.clock());
  if (answer.kind === "denied") {
    throw new OAuthError("access_denied", {
      description: answer.description ?? "The end user was not signed in.",
    });
  }
  if (answer.kind === "interaction" && request.prompt.includes("none")) {
    throw new OAuthError("login_required", {
      description: "The end user is not signed in.",
      reason:
        "prompt=none, but authenticate found nobody signed in (OpenID Connect Core §3.1.2.6): send the request without prompt=none. In an iframe on another site, the browser does not send the host's session cookie",
    });
  }
  return answer;
}

/** Asks once more when the session is too old. `reauthenticate` tells the host not to answer from that session again. */
async function askForFresh(question: TimedQuestion, stale: Authenticated): Promise<NotDenied> {
  if (stale.authTime === undefined && question.interactionBegan !== undefined) {
    throw new TypeError(
      "authenticate must return an authTime: without it, prompt=login and max_age cannot be met.",
    );
  }
  const answer = await ask(question, { reauthenticate: true });
  if (answer.kind !== "authenticated" || isFresh(answer, question)) return answer;
  throw new OAuthError("login_required", {
    description: "The end user has to sign in again.",
    reason: "authenticate returned an old session although it was called with reauthenticate: true",
  });
}

/** A choice must be made on a page of the host. A person who comes back from there has chosen, whenever they signed in. */
function notChosen(): OAuthError {
  return new OAuthError("interaction_required", {
    description: "The end user has to choose an account.",
    reason:
      "prompt=select_account, or the person asked for another account on the consent page, but authenticate returned a signed-in end user although it was called with reauthenticate: true (OpenID Connect Core §3.1.2.1): return interaction",
  });
}

function toEndUser(answer: Authenticated): EndUser {
  const { subject, displayName, authTime, amr, acr } = answer;
  return {
    subject: ownText(subject),
    displayName: displayName ?? subject,
    facts: {
      ...(authTime !== undefined && { authTime }),
      ...(amr !== undefined && { amr }),
      ...(acr !== undefined && { acr }),
    },
    context: ownContext(answer, "authenticate"),
  };
}

/** Refuses a subject that is a client id: `sub` names an end user or a client, and either could pass as the other. @rfc 9068 §5 */
async function checkNoClient(
  { clients }: Pick<EndUserAuthenticationPorts, "clients">,
  subject: string,
): Promise<void> {
  if (!(await clients.isTaken(subject))) return;
  throw new TypeError(
    "authenticate returned a subject that is a client id. Use subjects that differ from every client id.",
  );
}

/**
 * The signed-in end user, or the page of the host where they sign in or choose an account. `authTime` is checked here, whatever
 * the host was asked: a host that ignores `reauthenticate` must not make `prompt=login` do nothing.
 *
 * @throws OAuthError `access_denied`, `login_required` or `interaction_required`
 * @throws TypeError when the host's answer is invalid; the client gets `server_error`
 */
export async function authenticateEndUser(
  ports: EndUserAuthenticationPorts,
  asked: AuthenticationQuestion,
): Promise<{ kind: "end-user"; endUser: EndUser } | { kind: "interaction"; url: string }> {
  const { request, interactionBegan, choosesAccount } = asked;
  const question: TimedQuestion = { ...asked, clock: ports.clock };
  const { prompt } = request;
  const isFirstVisit = interactionBegan === undefined;
  const mustChoose = choosesAccount || (isFirstVisit && prompt.includes("select_account"));
  const first = await ask(question, {
    reauthenticate: mustChoose || (isFirstVisit && prompt.includes("login")),
  });
  if (mustChoose && first.kind === "authenticated") throw notChosen();
  const stale = first.kind === "authenticated" && !isFresh(first, question);
  const answer = stale ? await askForFresh(question, first) : first;
  if (answer.kind === "interaction") return answer;
  const person = toEndUser(answer);
  await checkNoClient(ports, person.subject);
  return { kind: "end-user", endUser: person };
}
