/** The page for a refusal that must not redirect. RFC 6749 §4.1.2.1. */
import type { LostSituation, OAuthError } from "../protocol/oauth-error";
import type { Say } from "./merge-texts";
import { escapeHtml } from "./page-frame";
import type { PageTexts } from "./built-in-texts";

/** What an error page shows. Every text is already HTML. */
export interface ErrorPage {
  readonly kind: "error";
  /**
   * What has happened to the person: the request of the application is to blame (`request`), their sign-in is over or its cookie is lost
   * (`lost`), the request of their device is over (`device`), the consent form was not accepted (`answer`), the application's server could
   * not be reached (`unreached`), or this server has failed (`failure`).
   */
  readonly situation: "request" | LostSituation | "failure";
  /** Says in a few words what has happened. */
  readonly title: string;
  /** What has happened, in the person's words. */
  readonly explanation: string;
  /** What is wrong, in English: it is for the developers of the client. */
  readonly description: string;
  /** What the person can do, with the error code where somebody should be told. */
  readonly advice: string;
  /** The label of what is for developers: `code`, `description` and `reason`. */
  readonly details: string;
  /** The error code of RFC 6749 §4.1.2.1. */
  readonly code: string;
  /** For developers: which rule was broken, and what to do, with the code of the reason. `undefined` with `NODE_ENV=production`. */
  readonly reason: string | undefined;
}

function situationOf({ error, situation }: OAuthError): ErrorPage["situation"] {
  if (situation) return situation;
  return error === "server_error" || error === "temporarily_unavailable" ? "failure" : "request";
}

type Told = readonly [title: keyof PageTexts, explanation: keyof PageTexts, advice: keyof PageTexts];

const toldIn: Readonly<Record<ErrorPage["situation"], Told>> = {
  request: ["errorTitle", "errorExplanation", "errorAdvice"],
  lost: ["lostTitle", "lostExplanation", "lostAdvice"],
  device: ["lostTitle", "lostExplanation", "deviceLostAdvice"],
  answer: ["answerTitle", "answerExplanation", "answerAdvice"],
  unreached: ["unreachedTitle", "unreachedExplanation", "unreachedAdvice"],
  failure: ["failureTitle", "failureExplanation", "failureAdvice"],
};

/** The content of the error page, with every text escaped. */
export function errorPageContent(
  refusal: OAuthError,
  { say, showReason }: { say: Say; showReason: boolean },
): ErrorPage {
  const { description, error: code, reason } = refusal;
  const situation = situationOf(refusal);
  const [title, explanation, advice] = toldIn[situation];
  return {
    kind: "error",
    situation,
    title: say(title),
    explanation: say(explanation),
    description: escapeHtml(description),
    advice: say(advice, { code }),
    details: say("errorDetails"),
    code: escapeHtml(code),
    reason: showReason && reason !== description ? escapeHtml(`${reason} (${refusal.code})`) : undefined,
  };
}

/** The `main` element's content of the built-in error page: first what helps the person, then what helps developers. */
export function errorMain(page: ErrorPage): string {
  const { title, explanation, advice, details, code, description, reason } = page;
  // developers see their line at once; others never get it
  const [open, forDevelopers] =
    reason === undefined ? ["", ""] : [" open", `<p>For developers: ${reason}.</p>`];
  return `<p class="mark" aria-hidden="true">!</p>
<h1>${title}</h1>
<p>${explanation}</p>
<p>${advice}</p>
<footer><details${open}><summary>${details}</summary>
<div lang="en" dir="ltr"><p><code>${code}</code></p><p>${description}</p>${forDevelopers}</div></details></footer>`;
}
