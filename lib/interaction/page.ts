/** The frame of every page: no script, no request to anywhere, every text escaped. RFC 9700 §4.16. */
import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; --ink: #1a1a1f; --soft: #55555f; --paper: #fff; --line: #d5d5dc; --accent: #1f5fd0; --on-accent: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #f1f1f4; --soft: #b4b4c0; --paper: #1b1b20; --line: #45454f; --accent: #8ab4ff; --on-accent: #10131a } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 28rem }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 1rem; overflow-wrap: anywhere }
p, li { overflow-wrap: anywhere }
.soft { color: var(--soft) }
fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .5rem 1rem }
label { display: flex; gap: .75rem; padding: .5rem 0; align-items: baseline }
input { accent-color: var(--accent); width: 1.1rem; height: 1.1rem; flex: none }
.choices { display: flex; flex-wrap: wrap; gap: .75rem }
button { flex: 1 1 8rem; font: inherit; padding: .7rem 1rem; border-radius: .5rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600 }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
a { color: var(--accent) }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as HTML text or as a quoted attribute value. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** A whole page around `main`, which is HTML already. */
export function renderPage({ title, main }: { title: string; main: string }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>${main}</main>
</html>
`;
}

/** The headers of every page. A form may lead to `formTargets`, or browsers refuse the redirect after its POST. */
export function pageHeaders(formTargets: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action ${["'self'", ...formTargets].join(" ")}`,
  ];
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy.join("; "),
    "X-Frame-Options": "DENY",
    // with no-referrer a form's POST would say `Origin: null`
    "Referrer-Policy": "same-origin",
  };
}
