/** The page that posts an authorization answer to the client. OAuth 2.0 Form Post Response Mode §2. */
import { createHash } from "node:crypto";
import type { FormPostResponse } from "../protocol/protocol-response";
import { escapeHtml } from "./page-frame";

const script = "document.forms[0].submit()";

/** The page. `label` is the text of the button for browsers without scripts, as HTML. */
export function formPostPage(
  { action, fields }: FormPostResponse,
  { language, direction, label }: { language: string; direction: string; label: string },
): string {
  const inputs = Object.entries(fields).map(([name, value]) =>
    value === undefined ? "" : `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  );
  return `<!doctype html>
<html lang="${escapeHtml(language)}" dir="${direction}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${label}</title>
<form method="post" action="${escapeHtml(action)}">${inputs.join("")}<noscript><button>${label}</button></noscript></form>
<script>${script}</script>
</html>
`;
}

const scriptHash = createHash("sha256").update(script).digest("base64");

/**
 * Its headers: the one script runs, and nothing is loaded. Like a redirect, it may be in a frame, so that a silent refresh works. In its
 * sandbox, the page has an origin of its own: a script of the host's site that has opened or framed it cannot read the code. There is no
 * `form-action`, which Chromium and WebKit would apply to the redirects of the client as well.
 */
export const formPostHeaders: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; script-src 'sha256-${scriptHash}'; base-uri 'none'; sandbox allow-forms allow-scripts allow-top-navigation-to-custom-protocols`,
  "Referrer-Policy": "no-referrer",
};
