/** The texts of a server's pages: the built-in ones, and those of the host in their place. RFC 4647 §3.4 (lookup). */
import { builtInTexts, type PageTexts } from "./built-in-texts";
import { chooseLanguage, markLanguage } from "./language";
import { fillIn } from "./page-frame";

/** The language of a page when no wanted language is available. */
export const fallbackLanguage = "en";

/** A text, and its language if that is known. */
export interface TextInLanguage {
  readonly text: string;
  readonly language: string | undefined;
}

type Texts = Readonly<Record<keyof PageTexts, TextInLanguage>>;

function inLanguage(language: string, texts: Partial<PageTexts>): Partial<Texts> {
  const defined = Object.entries(texts).filter(([, text]) => text !== undefined);
  return Object.fromEntries(defined.map(([name, text]) => [name, { text, language }]));
}

/** The title and advice that the host has written for errors apply to each kind of error, unless it has written one for that kind. */
function forEachSituation({ errorTitle, errorAdvice }: Partial<PageTexts>): Partial<PageTexts> {
  return {
    ...(errorTitle !== undefined && {
      lostTitle: errorTitle,
      answerTitle: errorTitle,
      unreachedTitle: errorTitle,
      failureTitle: errorTitle,
    }),
    ...(errorAdvice !== undefined && {
      lostAdvice: errorAdvice,
      answerAdvice: errorAdvice,
      unreachedAdvice: errorAdvice,
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
): Readonly<Record<string, Texts>> {
  const builtIn = Object.fromEntries(
    Object.entries(builtInTexts).map(([language, texts]) => [language, inLanguage(language, texts)]),
  );
  const own = Object.entries(ofHost).map(([language, texts]) => {
    const nearest = chooseLanguage([language], Object.keys(builtIn)) ?? fallbackLanguage;
    const name = nearest === language.toLowerCase() ? nearest : language;
    const written = [forEachSituation(texts), texts].map((each) => inLanguage(name, each));
    return [name, Object.assign({}, builtIn[nearest], ...written) as Texts];
  });
  return { ...builtIn, ...Object.fromEntries(own) } as Readonly<Record<string, Texts>>;
}

/** Gives one of the texts as HTML, with the names filled in. */
export type Say = (name: keyof PageTexts, names?: Readonly<Record<string, string>>) => string;

/** The texts of a page in one language. Those that come from another language say so. */
export function saying(texts: Texts, page: string): Say {
  return (name, names = {}) => {
    const { text, language } = texts[name];
    return markLanguage(fillIn(text, names), { language, page });
  };
}

/** The names of all texts, for the check of the options. */
export const pageTextNames: readonly string[] = Object.keys(builtInTexts.en);
