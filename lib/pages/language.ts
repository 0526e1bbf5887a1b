/** Which language a page is in. OpenID Connect Core §3.1.2.1 (`ui_locales`), RFC 4647 §3.4 (lookup), RFC 9110 §12.5.4. */
import type { IncomingMessage } from "node:http";

/** Languages and scripts that are written from right to left. */
const rightToLeft = /^(?:ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)(?:-|$)|-(?:arab|hebr|thaa)(?:-|$)/i;

export function directionOf(language: string): "ltr" | "rtl" {
  return rightToLeft.test(language) ? "rtl" : "ltr";
}

/** Longer tags and more of them are nobody's wish. RFC 5646 §4.4.1. */
const maxTagLength = 35;
const maxTags = 20;

/** The languages of `Accept-Language`, the most wanted first. */
function acceptedLanguages({ headers }: IncomingMessage): readonly string[] {
  return (headers["accept-language"] ?? "")
    .split(",", maxTags)
    .map((range) => {
      const [language = "", quality = "q=1"] = range.split(";", 2).map((part) => part.trim());
      return { language, weight: Number(quality.slice(2)) };
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ language }) => language);
}

/** What the client asks for, and then what the browser does. */
export function wantedLanguages(req: IncomingMessage, uiLocales: string | undefined): readonly string[] {
  return [...(uiLocales?.split(" ", maxTags) ?? []), ...acceptedLanguages(req)].filter(
    (tag) => tag.length <= maxTagLength,
  );
}

/** The first wanted language that there is, shortened part by part: `de-AT` is served by `de`. */
export function chooseLanguage(wanted: readonly string[], available: readonly string[]): string | undefined {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split("-");
    for (let length = parts.length; length > 0; length -= 1) {
      const range = parts.slice(0, length).join("-");
      const found = available.find((language) => language.toLowerCase() === range);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
