/** The page for a refusal that must not redirect. RFC 6749 §4.1.2.1. */
import type { OAuthError } from "../protocol/oauth-error";
import { escapeHtml, renderPage } from "./page";

export function renderErrorPage(error: OAuthError): string {
  return renderPage({
    title: "This request cannot be answered",
    main: `<h1>This request cannot be answered</h1>
<p>${escapeHtml(error.description)}</p>
<p class="soft">Go back to the application and try again. If it happens again, tell its makers: <code>${escapeHtml(error.code)}</code>.</p>`,
  });
}
