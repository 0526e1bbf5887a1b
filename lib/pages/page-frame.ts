/** The frame of every page: no script, no request to any other place, every text escaped. RFC 9700 §4.16. */
import { createHash } from "node:crypto";
import { styleFor } from "./page-style";

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
