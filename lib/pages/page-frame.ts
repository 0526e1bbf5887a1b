/** The frame of every page: no script, no request to any other place, every text escaped. RFC 9700 §4.16. */
import { createHash } from "node:crypto";

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for use as HTML text or as a quoted attribute value. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** Escapes a text and fills in its `{places}`. A `<bdi>` keeps each name's direction from affecting the text around it. */
export function fillIn(text: string, names: Readonly<Record<string, string>>): string {
  return escapeHtml(text).replaceAll(/\{(\w+)\}/g, (place, name: string) => {
    const value = Object.hasOwn(names, name) ? names[name] : undefined;
    return value === undefined ? place : `<bdi>${escapeHtml(value)}</bdi>`;
  });
}

/** How bright a colour is, from 0 (black) to 1 (white). WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is easier to read on the colour: one of the two always has a contrast of at least 4.5. */
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

/** What the frame of a page shows and says about itself. */
export interface PageFrame {
  /** BCP 47. */
  readonly language: string;
  /** The writing direction of the language. */
  readonly direction: "ltr" | "rtl";
  /** The host's name as HTML; empty for none. */
  readonly name: string;
  /** The host's logo, a `data:` URI. */
  readonly logo: string | undefined;
  /** `#rrggbb`; `undefined` for the built-in colours, one for light and one for dark. */
  readonly accentColor: string | undefined;
}

/** The image element of a logo, without alternative text because the name stands next to it; empty without a logo. */
export function logoImage(logo: string | undefined): string {
  return logo === undefined ? "" : `<img src="${escapeHtml(logo)}" alt="">`;
}

/** A whole page. `title` and `main` must already be HTML. */
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

/** The CSP sources of all `<style>` elements in a page, by their hashes. */
function styleSources(html: string): readonly string[] {
  return [...html.matchAll(/<style>([^]*?)<\/style>/g)].map(
    ([, style = ""]) => `'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  );
}

/**
 * The headers of a page: it runs no script, loads nothing, and cannot be framed (clickjacking). Its form may lead to this origin
 * and to `formTargets`, without which browsers would refuse the redirect to the client after the form's POST.
 */
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
    // with no-referrer, browsers send `Origin: null` with the form's POST, and the check of Origin would fail
    "Referrer-Policy": "same-origin",
  };
}
