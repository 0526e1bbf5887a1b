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

/** The texts of a page by their names, each with its language. */
export type Texts<Name extends string = keyof PageTexts> = Readonly<Record<Name, TextInLanguage>>;

/** Texts by their names. */
type Written<Name extends string> = Readonly<Record<Name, string>>;

function inLanguage<Name extends string>(
  language: string,
  texts: Partial<Written<Name>>,
): Partial<Texts<Name>> {
  const defined = Object.entries(texts).filter(([, text]) => text !== undefined);
  return Object.fromEntries(defined.map(([name, text]) => [name, { text, language }])) as Partial<
    Texts<Name>
  >;
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

/** Texts that a library has, those of the host in their place, and texts of the host that stand for several others. */
export interface TextSources<Name extends string> {
  readonly builtIn: Readonly<Record<string, Written<Name>>>;
  readonly ofHost?: Readonly<Record<string, Partial<Written<Name>>>> | undefined;
  readonly standIns?: (texts: Partial<Written<Name>>) => Partial<Written<Name>>;
}

/**
 * Language → its texts: the built-in ones, overridden by those of the host. Where the host leaves out a text, it comes from the
 * nearest built-in language (German for `de-AT`), or else from English.
 */
export function mergeTextsOf<Name extends string>({
  builtIn: texts,
  ofHost = {},
  standIns = () => ({}),
}: TextSources<Name>): Readonly<Record<string, Texts<Name>>> {
  const builtIn = Object.fromEntries(
    Object.entries(texts).map(([language, ofLanguage]) => [language, inLanguage(language, ofLanguage)]),
  );
  const own = Object.entries(ofHost).map(([language, ofLanguage]) => {
    const nearest = chooseLanguage([language], Object.keys(builtIn)) ?? fallbackLanguage;
    const name = nearest === language.toLowerCase() ? nearest : language;
    const written = [standIns(ofLanguage), ofLanguage].map((each) => inLanguage(name, each));
    return [name, Object.assign({}, builtIn[nearest], ...written) as Texts<Name>];
  });
  return { ...builtIn, ...Object.fromEntries(own) } as Readonly<Record<string, Texts<Name>>>;
}

/** The same of the pages of the server. */
export function mergeTexts(
  ofHost?: Readonly<Record<string, Partial<PageTexts>>>,
): Readonly<Record<string, Texts>> {
  return mergeTextsOf({ builtIn: builtInTexts, ofHost, standIns: forEachSituation });
}

/** Gives one of the texts as HTML, with the names filled in. */
export type Say<Name extends string = keyof PageTexts> = (
  name: Name,
  names?: Readonly<Record<string, string>>,
) => string;

/** The texts of a page in one language. Those that come from another language say so. */
export function saying<Name extends string>(texts: Texts<Name>, page: string): Say<Name> {
  return (name, names = {}) => {
    const { text, language } = texts[name];
    return markLanguage(fillIn(text, names), { language, page });
  };
}

/** The names of all texts, for the check of the options. */
export const pageTextNames: readonly string[] = Object.keys(builtInTexts.en);
