/** The texts of the built-in pages, in each language. RFC 6749 §10.2 (the end user must understand what is asked). */
import { chooseLanguage } from "./language";

/** The texts of the built-in pages. Names in braces are places: the page fills them in wherever they stand. */
export interface PageTexts {
  /** The question at the top of the consent page, with `{client}` and `{api}`. */
  readonly consentTitle: string;
  /** Says who is signed in, with `{user}`. */
  readonly signedInAs: string;
  /** Stands above the checkboxes, one for each scope. */
  readonly scopes: string;
  /** The label of the button that approves. */
  readonly allow: string;
  /** The label of the button that denies. */
  readonly deny: string;
  /** Says where either answer leads, with `{destination}`. */
  readonly continueTo: string;
  /** The link to `clientUri`. */
  readonly aboutClient: string;
  /** The link to `policyUri`. */
  readonly privacyPolicy: string;
  /** The link to `tosUri`. */
  readonly termsOfService: string;
  /** The title of the error page. */
  readonly errorTitle: string;
  /** What the person can do after an error, with `{code}`. */
  readonly errorAdvice: string;
}

const en: PageTexts = {
  consentTitle: "Allow {client} to use {api} for you?",
  signedInAs: "You are signed in as {user}.",
  scopes: "It will be able to",
  allow: "Allow",
  deny: "Do not allow",
  continueTo: "Either way you continue to {destination}.",
  aboutClient: "About this application",
  privacyPolicy: "Privacy policy",
  termsOfService: "Terms of service",
  errorTitle: "This request cannot be answered",
  errorAdvice: "Go back to the application and try again. If it happens again, tell its makers: {code}.",
};

const de: PageTexts = {
  consentTitle: "Darf {client} für Sie {api} benutzen?",
  signedInAs: "Sie sind angemeldet als {user}.",
  scopes: "Die Anwendung darf dann",
  allow: "Erlauben",
  deny: "Nicht erlauben",
  continueTo: "In beiden Fällen geht es weiter zu {destination}.",
  aboutClient: "Über diese Anwendung",
  privacyPolicy: "Datenschutz",
  termsOfService: "Nutzungsbedingungen",
  errorTitle: "Diese Anfrage kann nicht beantwortet werden",
  errorAdvice:
    "Gehen Sie zur Anwendung zurück und versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie deren Herstellern: {code}.",
};

const fr: PageTexts = {
  consentTitle: "Autoriser {client} à utiliser {api} pour vous ?",
  signedInAs: "Vous êtes connecté en tant que {user}.",
  scopes: "L’application pourra",
  allow: "Autoriser",
  deny: "Ne pas autoriser",
  continueTo: "Dans les deux cas, vous continuerez vers {destination}.",
  aboutClient: "À propos de cette application",
  privacyPolicy: "Politique de confidentialité",
  termsOfService: "Conditions d’utilisation",
  errorTitle: "Il est impossible de répondre à cette demande",
  errorAdvice: "Revenez à l’application et réessayez. Si cela se reproduit, indiquez à ses auteurs : {code}.",
};

const ar: PageTexts = {
  consentTitle: "هل تسمح لتطبيق {client} باستخدام {api} نيابةً عنك؟",
  signedInAs: "أنت مسجّل الدخول باسم {user}.",
  scopes: "سيتمكن التطبيق من",
  allow: "السماح",
  deny: "عدم السماح",
  continueTo: "في الحالتين ستتابع إلى {destination}.",
  aboutClient: "حول هذا التطبيق",
  privacyPolicy: "سياسة الخصوصية",
  termsOfService: "شروط الخدمة",
  errorTitle: "لا يمكن الرد على هذا الطلب",
  errorAdvice: "ارجع إلى التطبيق وحاول مرة أخرى. إذا تكرر ذلك فأبلغ صانعيه بالرمز {code}.",
};

const builtInTexts: Readonly<Record<string, PageTexts>> = { en, de, fr, ar };

/** The language of a page when no wanted language is available. */
export const fallbackLanguage = "en";

function withoutUndefined(texts: Partial<PageTexts> = {}): Partial<PageTexts> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined));
}

/**
 * Language → its texts: the built-in ones, overridden by those of the host. Where the host leaves out a text, it comes from the
 * nearest built-in language (German for `de-AT`), or else from English.
 */
export function mergeTexts(
  ofHost: Readonly<Record<string, Partial<PageTexts>>> = {},
): Readonly<Record<string, PageTexts>> {
  const builtInLanguages = Object.keys(builtInTexts);
  const own = Object.entries(ofHost).map(([language, texts]) => {
    const nearest = chooseLanguage([language], builtInLanguages) ?? fallbackLanguage;
    const name = nearest === language.toLowerCase() ? nearest : language;
    return [name, { ...en, ...builtInTexts[nearest], ...withoutUndefined(texts) }];
  });
  return { ...builtInTexts, ...(Object.fromEntries(own) as Record<string, PageTexts>) };
}

/** The names of all texts, for the check of the options. */
export const pageTextNames: readonly string[] = Object.keys(en);
