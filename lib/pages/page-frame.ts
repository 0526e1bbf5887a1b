/** The frame of every page: no script, no request to anywhere, every text escaped. RFC 9700 §4.16. */
import { createHash } from "node:crypto";

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

/** A text with its places filled in; every name is of a direction of its own. */
export function fillIn(text: string, names: Readonly<Record<string, string>>): string {
  return escapeHtml(text).replaceAll(/\{(\w+)\}/g, (place, name: string) => {
    const value = Object.hasOwn(names, name) ? names[name] : undefined;
    return value === undefined ? place : `<bdi>${escapeHtml(value)}</bdi>`;
  });
}

/** The part of light that a colour gives back, 0 to 1. WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is easier to read on the colour: one of them always has a contrast of at least 4.5. */
function inkOn(color: string): string {
  return luminance(color) > 0.179 ? "#000000" : "#ffffff";
}

const defaultAccent = { light: "#1f5fd0", dark: "#8ab4ff" };

function accentRule(color: string): string {
  return `--accent: ${color}; --on-accent: ${inkOn(color)}`;
}

function styleFor(accentColor: string | undefined): string {
  const light = accentRule(accentColor ?? defaultAccent.light);
  const dark = accentRule(accentColor ?? defaultAccent.dark);
  return `
:root { color-scheme: light dark; --ink: #1a1a1f; --soft: #55555f; --paper: #fff; --line: #767680; ${light} }
@media (prefers-color-scheme: dark) { :root { --ink: #f1f1f4; --soft: #b4b4c0; --paper: #1b1b20; --line: #8a8a95; ${dark} } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 28rem }
header, .client { display: flex; align-items: center; gap: .75rem; margin: 0 0 1rem; font-weight: 600; overflow-wrap: anywhere }
img { max-width: 100%; height: 2.5rem; width: auto; object-fit: contain }
h1 { font-size: 1.4rem; line-height: 1.3; text-wrap: balance; margin: 0 0 1rem; overflow-wrap: anywhere }
p, li, span { overflow-wrap: anywhere }
.soft { color: var(--soft) }
fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .5rem 1rem; min-width: 0 }
label { display: flex; gap: .75rem; padding: .5rem 0; align-items: center; min-width: 0 }
label span { min-width: 0 }
input { accent-color: var(--accent); width: 1.5rem; height: 1.5rem; margin: 0; flex: none; outline: 1px solid var(--line) }
.choices { display: flex; flex-wrap: wrap; gap: .75rem }
button { flex: 1 1 8rem; font: inherit; padding: .7rem 1rem; border-radius: .5rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer }
button.primary { background: var(--accent); color: var(--on-accent); font-weight: 600 }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px }
a { color: inherit }
`;
}

export interface PageFrame {
  readonly language: string;
  readonly direction: "ltr" | "rtl";
  /** The host's, as HTML; empty for none. */
  readonly name: string;
  /** A `data:` URI. */
  readonly logo: string | undefined;
  readonly accentColor: string | undefined;
}

export function logoImage(logo: string | undefined): string {
  return logo === undefined ? "" : `<img src="${escapeHtml(logo)}" alt="">`;
}

/** A whole page; `title` and `main` are HTML already. */
export function renderPage(
  { language, direction, name, logo, accentColor }: PageFrame,
  { title, main }: { title: string; main: string },
): string {
  const header = name === "" && logo === undefined ? "" : `<header>${logoImage(logo)}${name}</header>`;
  return `<!doctype html>
<html lang="${escapeHtml(language)}" dir="${direction}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${styleFor(accentColor)}</style>
<main>${header}${main}</main>
</html>
`;
}

/** CSP sources of the style elements that a page has. */
function styleSources(html: string): readonly string[] {
  return [...html.matchAll(/<style>([^]*?)<\/style>/g)].map(
    ([, style = ""]) => `'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  );
}

/** The headers of a page. A form may lead to `formTargets`, or browsers refuse the redirect after its POST. */
export function pageHeaders(html: string, formTargets: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `style-src ${[...styleSources(html)].join(" ") || "'none'"}`,
    ...(html.includes("data:image/") ? ["img-src data:"] : []),
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
