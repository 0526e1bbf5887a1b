/** The page for a refusal that must not redirect. RFC 6749 §4.1.2.1. */
import type { OAuthError } from "../protocol/oauth-error";
import { escapeHtml, fillIn } from "./page-frame";
import type { PageTexts } from "./page-texts";

/** What an error page shows. Every text is HTML already. */
export interface ErrorPage {
  readonly kind: "error";
  readonly title: string;
  /** In English: it is for the makers of the client. */
  readonly description: string;
  readonly advice: string;
  /** The error code of RFC 6749 §4.1.2.1. */
  readonly code: string;
  /** For developers: the rule and what to do. `undefined` with `NODE_ENV=production`. */
  readonly reason: string | undefined;
}

/** What the error page shows, as HTML. */
export function errorPageContent(
  { description, code, reason }: OAuthError,
  { texts, showReason }: { texts: PageTexts; showReason: boolean },
): ErrorPage {
  return {
    kind: "error",
    title: escapeHtml(texts.errorTitle),
    description: escapeHtml(description),
    advice: fillIn(texts.errorAdvice, { code }),
    code: escapeHtml(code),
    reason: showReason && reason !== description ? escapeHtml(reason) : undefined,
  };
}

/** The page's `main`. */
export function errorMain({ title, description, advice, reason }: ErrorPage): string {
  const forDevelopers =
    reason === undefined ? "" : `<p class="soft" lang="en" dir="ltr">For developers: ${reason}.</p>`;
  return `<h1>${title}</h1>
<p lang="en" dir="ltr">${description}</p>
<p class="soft">${advice}</p>${forDevelopers}`;
}
