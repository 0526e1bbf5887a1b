/** The texts of a server's pages: the built-in ones, and those of the host in their place. RFC 4647 §3.4 (lookup). */
import { builtInTexts } from "./built-in-texts";
import { chooseLanguage } from "./language";
import type { PageTexts } from "./page-texts";

/** The language of a page when no wanted language is available. */
export const fallbackLanguage = "en";

function withoutUndefined(texts: Partial<PageTexts> = {}): Partial<PageTexts> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined));
}

/** The title and advice that the host has written for errors count for each kind of error, unless it has written one for that kind. */
function forEachSituation({ errorTitle, errorAdvice }: Partial<PageTexts>): Partial<PageTexts> {
  return {
    ...(errorTitle !== undefined && {
      lostTitle: errorTitle,
      answerTitle: errorTitle,
      failureTitle: errorTitle,
    }),
    ...(errorAdvice !== undefined && {
      lostAdvice: errorAdvice,
      answerAdvice: errorAdvice,
      failureAdvice: errorAdvice,
    }),
  };
}

/**
 * Language → its texts: the built-in ones, overridden by those of the host. Where the host leaves out a text, it comes from the
 * nearest built-in language (German for `de-AT`), or else from English.
 */
export function mergeTexts(
  ofHost: Readonly<Record<string, Partial<PageTexts>>> = {},
): Readonly<Record<string, PageTexts>> {
  const builtIn: Readonly<Record<string, PageTexts>> = builtInTexts;
  const builtInLanguages = Object.keys(builtIn);
  const own = Object.entries(ofHost).map(([language, texts]) => {
    const nearest = chooseLanguage([language], builtInLanguages) ?? fallbackLanguage;
    const name = nearest === language.toLowerCase() ? nearest : language;
    const inNearest = builtIn[nearest] ?? builtInTexts[fallbackLanguage];
    return [name, { ...inNearest, ...forEachSituation(texts), ...withoutUndefined(texts) }];
  });
  return { ...builtIn, ...(Object.fromEntries(own) as Record<string, PageTexts>) };
}

/** The names of all texts, for the check of the options. */
export const pageTextNames: readonly string[] = Object.keys(builtInTexts.en);
