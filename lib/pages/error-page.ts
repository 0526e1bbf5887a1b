/** The page for a refusal that must not redirect. RFC 6749 §4.1.2.1. */
import type { OAuthError } from "../protocol/oauth-error";
import { escapeHtml, fillIn } from "./page-frame";
import type { PageTexts } from "./page-texts";

/** What an error page shows. Every text is already HTML. */
export interface ErrorPage {
  readonly kind: "error";
  /** Says that the request cannot be answered. */
  readonly title: string;
  /** What is wrong, in English: it is for the developers of the client. */
  readonly description: string;
  /** What the person can do, with the error code. */
  readonly advice: string;
  /** The error code of RFC 6749 §4.1.2.1. */
  readonly code: string;
  /** For developers: which rule was broken, and what to do. `undefined` with `NODE_ENV=production`. */
  readonly reason: string | undefined;
}

/** The content of the error page, with every text escaped. */
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

/** The `main` element's content of the built-in error page. */
export function errorMain({ title, description, advice, reason }: ErrorPage): string {
  const forDevelopers =
    reason === undefined ? "" : `<p class="soft" lang="en" dir="ltr">For developers: ${reason}.</p>`;
  return `<h1>${title}</h1>
<p lang="en" dir="ltr">${description}</p>
<p class="soft">${advice}</p>${forDevelopers}`;
}
