/** Chooses the language of a page. OpenID Connect Core §3.1.2.1 (`ui_locales`), RFC 4647 §3.4 (lookup), RFC 9110 §12.5.4. */
import type { IncomingMessage } from "node:http";
import { escapeHtml } from "./page-frame";

/** The scripts that are written from right to left, ISO 15924. */
const rightToLeft: ReadonlySet<string | undefined> = new Set("Adlm Arab Hebr Nkoo Rohg Syrc Thaa".split(" "));

/** The script that a language is usually written in, or that its tag names. A host may have made up its tag. */
function scriptOf(language: string): string | undefined {
  try {
    return new Intl.Locale(language).maximize().script;
  } catch {
    return undefined;
  }
}

/** The writing direction of a language, for `dir`. */
export function directionOf(language: string): "ltr" | "rtl" {
  return rightToLeft.has(scriptOf(language)) ? "rtl" : "ltr";
}

/** A part of a page as HTML. If it is in another language than the page, it says so. WCAG 2.2 §3.1.2. */
export function markLanguage(
  html: string,
  { language, page }: { language: string | undefined; page: string },
): string {
  const [ofPart, ofPage] = [language, page].map((tag) => tag?.toLowerCase().split("-")[0]);
  if (language === undefined || ofPart === ofPage) return html;
  return `<span lang="${escapeHtml(language)}" dir="${directionOf(language)}">${html}</span>`;
}

/** Nobody needs longer tags or more of them, and looking each one up takes time. RFC 5646 §4.4.1. */
const maxTagLength = 35;
const maxTags = 20;

/** The languages in `Accept-Language`, the most preferred first. */
function acceptedLanguages({ headers }: IncomingMessage): readonly string[] {
  return (headers["accept-language"] ?? "")
    .split(",", maxTags)
    .map((range) => {
      const [language = "", quality = "q=1"] = range.split(";", 2).map((part) => part.trim());
      return { language, weight: Number(quality.slice(2)) };
    })
    .filter(({ language, weight }) => language !== "" && weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ language }) => language);
}

/**
 * The languages to try, the most preferred first: those that the client asks for, then those of the browser. A stranger must not choose a
 * language for the warnings about itself that the person cannot read: what it asks for is used only if the browser names no language.
 */
export function wantedLanguages(
  req: IncomingMessage,
  { uiLocales, isStranger }: { uiLocales: string | undefined; isStranger: boolean },
): readonly string[] {
  const accepted = acceptedLanguages(req);
  const asked = isStranger && accepted.length > 0 ? [] : (uiLocales?.split(" ", maxTags) ?? []);
  return [...asked, ...accepted].filter((tag) => tag.length <= maxTagLength);
}

/**
 * The first wanted language that is available. A tag is shortened part by part until one is found: `de` serves `de-AT`. If there is none, a
 * longer one fits: `pt-BR` serves `pt`.
 */
export function chooseLanguage(wanted: readonly string[], available: readonly string[]): string | undefined {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split("-");
    for (let length = parts.length; length > 0; length -= 1) {
      const range = parts.slice(0, length).join("-");
      const found = available.find((language) => language.toLowerCase() === range);
      if (found !== undefined) return found;
    }
    const longer = available.find((language) => language.toLowerCase().startsWith(`${tag.toLowerCase()}-`));
    if (longer !== undefined) return longer;
  }
  return undefined;
}
