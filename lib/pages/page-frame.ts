/** The frame and the one style of every page: no script, no font, no request to any other place, every text escaped. RFC 9700 §4.16; WCAG 2.2. */
import { createHash } from "node:crypto";

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

const lightColors =
  "--ink: #16161b; --soft: #5b5b67; --paper: #ffffff; --ground: #f4f4f7; --line: #767680; --edge: #e3e3ea; --tint: #eeeef3; --caution: #8a5a00; --caution-tint: #fff6e0";
const darkColors =
  "--ink: #f2f2f5; --soft: #b3b3bf; --paper: #1d1d22; --ground: #121216; --line: #8a8a95; --edge: #35353e; --tint: #2c2c34; --caution: #e0a93b; --caution-tint: #2d2613";

const rules = `* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; grid-template-columns: minmax(0, 29rem); place-content: center; gap: 1rem; padding: 1.5rem 1rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { display: flex; align-items: center; gap: .75rem; padding: 0 .25rem; font-weight: 600 }
main { min-width: 0; padding: 2rem 2rem 1.25rem; border: 1px solid var(--edge); border-radius: 1rem; background: var(--paper); color: var(--ink); box-shadow: 0 1px 2px #0000000a, 0 12px 32px #00000012 }
img { max-width: 8rem; height: 2.5rem; width: auto; object-fit: contain }
h1 { margin: 0 0 1rem; font-size: 1.5rem; font-weight: 650; line-height: 1.25; text-wrap: balance }
h2 { margin: 0 0 .5rem; font-size: 1.125rem; font-weight: 650; line-height: 1.3 }
section { margin-top: 1.5rem; padding-top: 1.25rem; border-top: 1px solid var(--edge) }
ul { margin: 0 0 .75rem; padding-inline-start: 1.25rem }
p { margin: 0 0 .75rem }
a { color: inherit }
small, code { font-size: .875rem }
.soft { color: var(--soft) }
.client { display: flex; align-items: center; gap: .875rem; margin: 0 0 1.5rem; line-height: 1.35 }
.client small { display: block }
.client b { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }
.client > :last-child { min-width: 0 }
.client img { height: 3rem }
.mark { flex: none; display: grid; place-items: center; width: 3rem; height: 3rem; border: 1px solid transparent; border-radius: .75rem; background: var(--tint); font-weight: 650 }
p.mark { margin: 0 0 1.25rem }
.person { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 1rem }
.person p { margin: 0 }
.warning { margin: 0 0 1.25rem; padding: .75rem 1rem; border: 1px solid var(--caution); border-inline-start-width: .375rem; border-radius: .625rem; background: var(--caution-tint) }
.warning p:last-child { margin: 0 }
.warning bdi { font-weight: 650 }
fieldset { min-width: 0; margin: 1.25rem 0 0; padding: 0; border: 0 }
legend { padding: 0 0 .625rem; font-weight: 600 }
label { display: flex; gap: .75rem; padding: .75rem 0; border-top: 1px solid var(--edge) }
label:last-child { border-bottom: 1px solid var(--edge) }
label span { min-width: 0 }
label small { display: block; color: var(--soft) }
input { flex: none; width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; border-radius: .2rem; accent-color: var(--accent); outline: 1px solid var(--line) }
input[type=search], input[type=text] { flex: 1; min-width: 0; height: auto; margin: 0; padding: .375rem .625rem; border: 0; background: transparent; color: inherit; font: inherit }
.choices { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0 .75rem }
button { flex: 1 1 9.5rem; min-height: 2.875rem; padding: .625rem .75rem; border: 1px solid var(--line); border-radius: .625rem; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer }
button:hover { text-decoration: underline }
button.primary { background: var(--accent); color: var(--on-accent); border-color: transparent }
button.plain { min-height: 0; padding: .25rem 0; border: 0; font-size: .875rem; font-weight: 400; text-align: start; text-decoration: underline }
footer { margin-top: 1.25rem; padding-top: .875rem; border-top: 1px solid var(--edge); font-size: .875rem; color: var(--soft) }
footer p { margin: 0 0 .5rem }
summary { padding: .25rem 0; cursor: pointer }
dl { margin: .25rem 0 0; padding-inline-start: 1rem }
dd { margin: 0 0 .5rem; color: var(--ink) }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; border-radius: .25rem }
button:focus-visible { border-radius: .625rem }
@media (max-width: 30rem) { body { align-content: start; padding: 0; background: var(--paper) } header { padding: 1.25rem 1.25rem 0 } main { padding: 1.25rem; padding-top: 1.5rem; border: 0; box-shadow: none } }
@media (forced-colors: active) { button.primary { forced-color-adjust: none; background: Highlight; color: HighlightText; border-color: ButtonText } }
`;

/** The style sheet, with the host's colour (`#rrggbb`) or the built-in ones. */
export function styleFor(accentColor: string | undefined): string {
  const light = accentRule(accentColor ?? defaultAccent.light);
  const dark = accentRule(accentColor ?? defaultAccent.dark);
  return `
:root { color-scheme: light dark; ${lightColors}; ${light} }
@media (prefers-color-scheme: dark) { :root { ${darkColors}; ${dark} } }
${rules}`;
}

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
${header}<main>${main}</main>
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
 * The headers of a page: it runs no script, loads nothing (so browsers ask for no favicon either), and cannot be framed
 * (clickjacking). Its form may lead to this origin and to `formTargets`, without which browsers would refuse the redirect to the
 * client after the form's POST.
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
