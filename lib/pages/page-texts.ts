/** What the built-in pages say, in each language. RFC 6749 §10.2 (the end user must understand what is asked). */
import { chooseLanguage } from "./language";

/** The texts of the built-in pages. `{client}`, `{api}`, `{user}`, `{destination}` and `{code}` are filled in where they stand. */
export interface PageTexts {
  /** With `{client}` and `{api}`. */
  readonly consentTitle: string;
  /** With `{user}`. */
  readonly signedInAs: string;
  readonly scopes: string;
  readonly allow: string;
  readonly deny: string;
  /** With `{destination}`. */
  readonly continueTo: string;
  readonly aboutClient: string;
  readonly privacyPolicy: string;
  readonly termsOfService: string;
  readonly errorTitle: string;
  /** With `{code}`. */
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

export const fallbackLanguage = "en";

function withoutUndefined(texts: Partial<PageTexts> = {}): Partial<PageTexts> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined));
}

/**
 * The built-in texts with those of the host over them. A language of the host's own is filled up in the nearest one that is
 * built in, `de-AT` in German, or else in English.
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

export const pageTextNames: readonly string[] = Object.keys(en);
