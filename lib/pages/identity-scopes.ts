/** The scopes that every OpenID provider has, in words for people. OpenID Connect Core §5.4. */
import type { ScopeSentence } from "../protocol/issuer";
import type { standardClaims } from "../protocol/openid";

/** What people read of the scopes that every OpenID provider has. They follow "This app will be able to:". */
const sentences: Readonly<Record<keyof typeof standardClaims, ScopeSentence>> = {
  openid: {
    en: "Sign you in, and recognize you when you come back",
    de: "Sie anmelden und bei Ihrer Rückkehr wiedererkennen",
    fr: "Vous connecter et vous reconnaître à votre retour",
    ar: "تسجيل دخولك والتعرّف عليك عند عودتك",
  },
  profile: {
    en: "See your name and other profile information",
    de: "Ihren Namen und andere Profilangaben sehen",
    fr: "Voir votre nom et d’autres informations de votre profil",
    ar: "الاطّلاع على اسمك ومعلومات أخرى في ملفك الشخصي",
  },
  email: {
    en: "See your email address",
    de: "Ihre E-Mail-Adresse sehen",
    fr: "Voir votre adresse e-mail",
    ar: "الاطّلاع على عنوان بريدك الإلكتروني",
  },
  address: {
    en: "See your postal address",
    de: "Ihre Postanschrift sehen",
    fr: "Voir votre adresse postale",
    ar: "الاطّلاع على عنوانك البريدي",
  },
  phone: {
    en: "See your phone number",
    de: "Ihre Telefonnummer sehen",
    fr: "Voir votre numéro de téléphone",
    ar: "الاطّلاع على رقم هاتفك",
  },
};

/** The scopes of an API with those that `openid` adds. The host's own sentences stand in place of the built-in ones. */
export function scopesOf<Scope>({
  scopes,
  openid,
}: {
  readonly scopes: Readonly<Record<string, Scope>>;
  readonly openid?: unknown;
}): Readonly<Record<string, Scope | ScopeSentence>> {
  return openid ? { ...sentences, ...scopes } : scopes;
}
