/** The page for a person who has signed out. OpenID Connect RP-Initiated Logout §4. */
import type { Say } from "./merge-texts";

/** What the page shows. Every text is already HTML. */
export interface SignedOutPage {
  readonly kind: "signed-out";
  readonly title: string;
  /** What has happened. */
  readonly explanation: string;
  /** What the person can do. */
  readonly advice: string;
}

/** Its content. */
export function signedOutPageContent(say: Say): SignedOutPage {
  return {
    kind: "signed-out",
    title: say("signedOutTitle"),
    explanation: say("signedOutExplanation"),
    advice: say("signedOutAdvice"),
  };
}

/** The `main` element's content of the built-in page. */
export function signedOutMain({ title, explanation, advice }: SignedOutPage): string {
  return `<h1>${title}</h1>\n<p>${explanation}</p>\n<p>${advice}</p>`;
}
