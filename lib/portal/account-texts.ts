/** What the page of a person's connected apps says, in English, German, French and Arabic. RFC 6749 §10.2. */

/** The texts of `accountPages`. Names in braces are places: the page fills them in wherever they stand. */
export interface AccountTexts {
  /** The title. */
  readonly title: string;
  /** Says who is signed in, with `{user}`. */
  readonly signedInAs: string;
  /** Says that nothing was done, because the page was out of date. */
  readonly outdated: string;
  /** Stands in place of the apps when there are none. */
  readonly none: string;
  /** Stands above the apps when there are more than the page shows. */
  readonly tooMany: string;
  /** Stands in place of the name of an app that has registered itself, with `{name}`. */
  readonly callsItself: string;
  /** Says that nobody at this site has checked the app. */
  readonly unverified: string;
  /** Says that the app is not registered any more. */
  readonly gone: string;
  /** Says that the app is the host's own, so that nobody is asked about it. */
  readonly trusted: string;
  /** Stands above what the app may do, with `{api}`. */
  readonly access: string;
  /** The same, with `{context}` for what the person has chosen, such as an organization. */
  readonly accessFor: string;
  /** Says since when and until when, with `{since}` and `{until}`. */
  readonly period: string;
  /** The button that leaves the app what is still ticked. */
  readonly save: string;
  /** Opens the list of sign-ins. */
  readonly signIns: string;
  /** Says when and how the person has signed in, with `{date}` and `{method}`. */
  readonly signedIn: string;
  /** Says when the app has last got tokens, with `{date}`. */
  readonly lastUsed: string;
  /** The button that ends one sign-in. */
  readonly end: string;
  /** The button that takes everything from an app. */
  readonly remove: string;
  /** Opens what ends everything, and is the button there. */
  readonly removeAll: string;
  /** Says what that does. */
  readonly removeAllExplanation: string;
}

const en: AccountTexts = {
  title: "Apps with access to your account",
  signedInAs: "Signed in as {user}",
  outdated: "This page was out of date, so nothing was changed. Check it and try again.",
  none: "No app has access to your account.",
  tooMany: "You have more apps and sign-ins than this page can show. You can remove all apps below.",
  callsItself: "Calls itself “{name}”",
  unverified: "This site hasn’t verified this app.",
  gone: "This app is no longer registered here.",
  trusted: "This app belongs to this site, so it doesn’t ask you. If you remove it, it may come back.",
  access: "Can use {api} to:",
  accessFor: "Can use {api} for {context} to:",
  period: "Since {since}, until {until}",
  save: "Save",
  signIns: "Sign-ins",
  signedIn: "Signed in on {date} ({method})",
  lastUsed: "Last used on {date}",
  end: "End this sign-in",
  remove: "Remove this app",
  removeAll: "Remove all apps",
  removeAllExplanation: "Every app loses its access to your account. To use one again, connect it again.",
};

const de: AccountTexts = {
  title: "Apps mit Zugriff auf Ihr Konto",
  signedInAs: "Angemeldet als {user}",
  outdated:
    "Diese Seite war veraltet. Es wurde nichts geändert. Prüfen Sie sie und versuchen Sie es noch einmal.",
  none: "Keine App hat Zugriff auf Ihr Konto.",
  tooMany:
    "Sie haben mehr Apps und Anmeldungen, als diese Seite zeigen kann. Unten können Sie alle Apps entfernen.",
  callsItself: "Nennt sich „{name}“",
  unverified: "Diese Website hat diese App nicht überprüft.",
  gone: "Diese App ist hier nicht mehr registriert.",
  trusted:
    "Diese App gehört zu dieser Website und fragt Sie deshalb nicht. Wenn Sie sie entfernen, kann sie wiederkommen.",
  access: "Darf mit {api}:",
  accessFor: "Darf mit {api} für {context}:",
  period: "Seit {since}, bis {until}",
  save: "Speichern",
  signIns: "Anmeldungen",
  signedIn: "Angemeldet am {date} ({method})",
  lastUsed: "Zuletzt verwendet am {date}",
  end: "Diese Anmeldung beenden",
  remove: "Diese App entfernen",
  removeAll: "Alle Apps entfernen",
  removeAllExplanation:
    "Jede App verliert den Zugriff auf Ihr Konto. Um eine wieder zu verwenden, verbinden Sie sie erneut.",
};

const fr: AccountTexts = {
  title: "Applications ayant accès à votre compte",
  signedInAs: "Connecté en tant que {user}",
  outdated: "Cette page n’était plus à jour\u00a0: rien n’a été modifié. Vérifiez-la et réessayez.",
  none: "Aucune application n’a accès à votre compte.",
  tooMany:
    "Vous avez plus d’applications et de connexions que cette page ne peut en afficher. Vous pouvez toutes les retirer ci-dessous.",
  callsItself: "Se présente comme «\u00a0{name}\u00a0»",
  unverified: "Ce site n’a pas vérifié cette application.",
  gone: "Cette application n’est plus enregistrée ici.",
  trusted:
    "Cette application appartient à ce site et ne vous demande donc rien. Si vous la retirez, elle peut revenir.",
  access: "Peut, avec {api}\u00a0:",
  accessFor: "Peut, avec {api} pour {context}\u00a0:",
  period: "Depuis le {since}, jusqu’au {until}",
  save: "Enregistrer",
  signIns: "Connexions",
  signedIn: "Connexion du {date} ({method})",
  lastUsed: "Dernière utilisation le {date}",
  end: "Mettre fin à cette connexion",
  remove: "Retirer cette application",
  removeAll: "Retirer toutes les applications",
  removeAllExplanation:
    "Toutes les applications perdent l’accès à votre compte. Pour en réutiliser une, reconnectez-la.",
};

const ar: AccountTexts = {
  title: "التطبيقات التي يمكنها الوصول إلى حسابك",
  signedInAs: "تم تسجيل الدخول باسم {user}",
  outdated: "كانت هذه الصفحة قديمة، لذلك لم يتغير شيء. راجعها وحاول مرة أخرى.",
  none: "لا يوجد تطبيق يمكنه الوصول إلى حسابك.",
  tooMany:
    "لديك تطبيقات وعمليات تسجيل دخول أكثر مما يمكن لهذه الصفحة عرضه. يمكنك إزالة جميع التطبيقات أدناه.",
  callsItself: "يسمّي نفسه «{name}»",
  unverified: "لم يتحقق هذا الموقع من هذا التطبيق.",
  gone: "لم يعد هذا التطبيق مسجّلًا هنا.",
  trusted: "هذا التطبيق تابع لهذا الموقع، لذلك لا يطلب إذنك. إذا أزلته فقد يعود.",
  access: "يمكنه عبر {api}:",
  accessFor: "يمكنه عبر {api} لصالح {context}:",
  period: "منذ {since} وحتى {until}",
  save: "حفظ",
  signIns: "عمليات تسجيل الدخول",
  signedIn: "تم تسجيل الدخول في {date} ({method})",
  lastUsed: "آخر استخدام في {date}",
  end: "إنهاء تسجيل الدخول هذا",
  remove: "إزالة هذا التطبيق",
  removeAll: "إزالة جميع التطبيقات",
  removeAllExplanation:
    "تفقد جميع التطبيقات إمكانية الوصول إلى حسابك. لاستخدام أحدها مرة أخرى، اربطه من جديد.",
};

/** Language → its texts. */
export const accountTexts: Readonly<Record<"en" | "de" | "fr" | "ar", AccountTexts>> = { en, de, fr, ar };
