/** The texts of the built-in pages in English, German, French and Arabic. RFC 6749 §10.2 (people must understand what is asked). */

/** The texts of the built-in pages. Names in braces are places: the page fills them in wherever they stand. */
export interface PageTexts {
  /** The question at the top of the consent page, with `{client}` and `{api}`. */
  readonly consentTitle: string;
  /** Says who is signed in, with `{user}`. */
  readonly signedInAs: string;
  /** The label of the button for a person who wants to use another account. */
  readonly switchAccount: string;
  /** Stands above the checkboxes, one for each scope. */
  readonly scopes: string;
  /** Says that nobody at this site has checked the client, with `{host}`: the host name of its metadata document. */
  readonly uncheckedFrom: string;
  /** Says the same of a client that has registered itself. */
  readonly unchecked: string;
  /** Follows `uncheckedFrom` or `unchecked` when the person has not allowed the client anything before. */
  readonly firstVisit: string;
  /** Follows these texts when the answer leads to a program on the person's device. */
  readonly thisDevice: string;
  /** Follows these texts when the answer leads to a website, with `{destination}`. */
  readonly otherSite: string;
  /** The label of the button that approves. */
  readonly allow: string;
  /** The label of the button that denies. */
  readonly deny: string;
  /** The label of the button that sends the answer to the client where the browser runs no scripts. */
  readonly goOn: string;
  /** Says where either answer leads, with `{destination}`. */
  readonly continueTo: string;
  /** The link to `clientUri`. */
  readonly aboutClient: string;
  /** The link to `policyUri`. */
  readonly privacyPolicy: string;
  /** The link to `tosUri`. */
  readonly termsOfService: string;
  /** Opens the technical names of what is asked. */
  readonly details: string;
  /** Stands before the client's id, in the details. */
  readonly detailsClient: string;
  /** Stands before the API's audience, in the details. */
  readonly detailsApi: string;
  /** Stands before the names of the scopes, in the details. */
  readonly detailsScopes: string;
  /** The title of the error page, where the request itself is to blame. */
  readonly errorTitle: string;
  /** What has happened, where the request itself is to blame. */
  readonly errorExplanation: string;
  /** What the person can do after an error, with `{code}`, where the request itself is to blame. */
  readonly errorAdvice: string;
  /** The title when a sign-in took too long, was already finished, or was lost with its cookie. */
  readonly lostTitle: string;
  /** What has happened then. */
  readonly lostExplanation: string;
  /** What the person can do then. May contain `{code}`. */
  readonly lostAdvice: string;
  /** The title when a consent form was not sent from its page, or is incomplete. */
  readonly answerTitle: string;
  /** What has happened then. */
  readonly answerExplanation: string;
  /** What the person can do then. May contain `{code}`. */
  readonly answerAdvice: string;
  /** The title when the metadata document of an application cannot be fetched now. */
  readonly unreachedTitle: string;
  /** What has happened then. */
  readonly unreachedExplanation: string;
  /** What the person can do then, with `{code}`. */
  readonly unreachedAdvice: string;
  /** The title when the server has failed. */
  readonly failureTitle: string;
  /** What has happened then. */
  readonly failureExplanation: string;
  /** What the person can do then, with `{code}`. */
  readonly failureAdvice: string;
  /** Opens what developers need of an error. */
  readonly errorDetails: string;
  /** The title of the page for a person who has signed out. */
  readonly signedOutTitle: string;
  /** What has happened then. */
  readonly signedOutExplanation: string;
  /** What they can do then. */
  readonly signedOutAdvice: string;
  /** The title of the page that asks for the code of a device. */
  readonly deviceTitle: string;
  /** Says what to type there. */
  readonly deviceExplanation: string;
  /** The label of the field. */
  readonly deviceCode: string;
  /** Says that no device waits with this code. */
  readonly deviceCodeUnknown: string;
  /** Says on the consent page for a device when to continue, with `{code}`: the code that the device must show. */
  readonly deviceWarning: string;
  /** Says there what comes after either answer. */
  readonly deviceContinue: string;
  /** What the person can do when the request of their device is over. May contain `{code}`. */
  readonly deviceLostAdvice: string;
  /** The title of the last page after a yes. */
  readonly deviceAllowedTitle: string;
  /** What to do then. */
  readonly deviceAllowedExplanation: string;
  /** The title of the last page after a no. */
  readonly deviceDeniedTitle: string;
  /** What has happened then. */
  readonly deviceDeniedExplanation: string;
}

const en: PageTexts = {
  consentTitle: "Allow {client} to access {api}?",
  signedInAs: "Signed in as {user}",
  switchAccount: "Not you? Use another account",
  scopes: "This app will be able to:",
  uncheckedFrom:
    "This site hasn’t verified this app. Anyone can use this name. Check where this app comes from: {host}.",
  unchecked: "This site hasn’t verified this app. Anyone can use this name.",
  firstVisit: "You haven’t used this app here before.",
  thisDevice:
    "Your answer will be sent to an app on this device. This site can’t tell which one. Allow access only if you just started this yourself, in an app you trust.",
  otherSite: "Your answer will be sent to {destination}. Allow access only if you know and trust that site.",
  allow: "Allow",
  deny: "Don’t allow",
  goOn: "Continue",
  continueTo: "Either way, you will be taken to {destination}.",
  aboutClient: "About this app",
  privacyPolicy: "Privacy policy",
  termsOfService: "Terms of service",
  details: "Details",
  detailsClient: "Client ID",
  detailsApi: "API",
  detailsScopes: "Scopes",
  errorTitle: "This link doesn’t work",
  errorExplanation:
    "The app or website that sent you here made an invalid request. You did nothing wrong, and no information was shared with it.",
  errorAdvice:
    "Go back to the app and try again. If this keeps happening, report this code to the app’s developer: {code}.",
  lostTitle: "Please start again",
  lostExplanation: "This sign-in timed out or was already completed, or your browser is blocking cookies.",
  lostAdvice:
    "Go back to the app and sign in from there. If you see this page again, allow cookies for this site.",
  answerTitle: "Your answer wasn’t accepted",
  answerExplanation: "It was incomplete, or it didn’t come from this site. No access was granted.",
  answerAdvice: "If you didn’t expect this page, close it. Otherwise, go back to the app and start again.",
  unreachedTitle: "The app can’t be reached",
  unreachedExplanation:
    "This site couldn’t load the app’s details. You did nothing wrong, and no information was shared with the app.",
  unreachedAdvice:
    "Wait a moment, then go back to the app and try again. If this keeps happening, report this code to the app’s developer: {code}.",
  failureTitle: "Something went wrong",
  failureExplanation: "This site couldn’t complete your request. You did nothing wrong.",
  failureAdvice:
    "Wait a moment, then go back to the app and try again. If this keeps happening, contact this site’s support and quote this code: {code}.",
  errorDetails: "Technical details",
  signedOutTitle: "You are signed out",
  signedOutExplanation: "You are no longer signed in to this site in this browser.",
  signedOutAdvice: "You can close this page.",
  deviceTitle: "Connect a device",
  deviceExplanation: "Enter the code that your device shows.",
  deviceCode: "Code",
  deviceCodeUnknown:
    "This code isn’t valid. It may have expired or already been used. Check it, or start again on your device.",
  deviceWarning:
    "Continue only if a device of yours shows this code: {code}. If someone sent you the code or a link, don’t allow it: they would get access in your name.",
  deviceContinue: "Either way, you can then go back to your device.",
  deviceLostAdvice: "Start again on your device.",
  deviceAllowedTitle: "Access allowed",
  deviceAllowedExplanation: "Go back to your device. It will continue by itself. You can close this page.",
  deviceDeniedTitle: "Access not allowed",
  deviceDeniedExplanation: "Your device got no access. You can close this page.",
};

const de: PageTexts = {
  consentTitle: "Darf {client} auf {api} zugreifen?",
  signedInAs: "Angemeldet als {user}",
  switchAccount: "Nicht Ihr Konto? Anderes Konto verwenden",
  scopes: "Diese App darf dann:",
  uncheckedFrom:
    "Diese Website hat diese App nicht überprüft. Jeder kann diesen Namen verwenden. Achten Sie darauf, woher die App kommt: {host}.",
  unchecked: "Diese Website hat diese App nicht überprüft. Jeder kann diesen Namen verwenden.",
  firstVisit: "Sie haben diese App hier noch nie verwendet.",
  thisDevice:
    "Ihre Antwort wird an eine App auf diesem Gerät gesendet. Diese Website kann nicht erkennen, an welche. Erlauben Sie den Zugriff nur, wenn Sie den Vorgang gerade selbst in einer App gestartet haben, der Sie vertrauen.",
  otherSite:
    "Ihre Antwort wird an {destination} gesendet. Erlauben Sie den Zugriff nur, wenn Sie diese Website kennen und ihr vertrauen.",
  allow: "Erlauben",
  deny: "Nicht erlauben",
  goOn: "Weiter",
  continueTo: "In beiden Fällen werden Sie zu {destination} weitergeleitet.",
  aboutClient: "Über diese App",
  privacyPolicy: "Datenschutzerklärung",
  termsOfService: "Nutzungsbedingungen",
  details: "Details",
  detailsClient: "Client-ID",
  detailsApi: "API",
  detailsScopes: "Scopes",
  errorTitle: "Dieser Link funktioniert nicht",
  errorExplanation:
    "Die App oder Website, von der Sie kommen, hat eine ungültige Anfrage gesendet. Sie haben nichts falsch gemacht, und es wurden keine Daten weitergegeben.",
  errorAdvice:
    "Gehen Sie zurück zur App und versuchen Sie es noch einmal. Wenn das Problem weiterhin besteht, teilen Sie dem Entwickler der App diesen Code mit: {code}.",
  lostTitle: "Bitte beginnen Sie von vorn",
  lostExplanation:
    "Diese Anmeldung hat zu lange gedauert oder war bereits abgeschlossen, oder Ihr Browser blockiert Cookies.",
  lostAdvice:
    "Gehen Sie zurück zur App und melden Sie sich von dort aus an. Wenn diese Seite wieder erscheint, erlauben Sie Cookies für diese Website.",
  answerTitle: "Ihre Antwort wurde nicht akzeptiert",
  answerExplanation:
    "Sie war unvollständig oder kam nicht von dieser Website. Es wurde kein Zugriff gewährt.",
  answerAdvice:
    "Wenn Sie diese Seite nicht erwartet haben, schließen Sie sie. Andernfalls gehen Sie zurück zur App und beginnen Sie von vorn.",
  unreachedTitle: "Die App ist nicht erreichbar",
  unreachedExplanation:
    "Diese Website konnte die Angaben zur App nicht laden. Sie haben nichts falsch gemacht, und es wurden keine Daten an die App weitergegeben.",
  unreachedAdvice:
    "Warten Sie einen Moment, gehen Sie dann zurück zur App und versuchen Sie es noch einmal. Wenn das Problem weiterhin besteht, teilen Sie dem Entwickler der App diesen Code mit: {code}.",
  failureTitle: "Es ist ein Fehler aufgetreten",
  failureExplanation: "Diese Website konnte Ihre Anfrage nicht abschließen. Sie haben nichts falsch gemacht.",
  failureAdvice:
    "Warten Sie einen Moment, gehen Sie dann zurück zur App und versuchen Sie es noch einmal. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support dieser Website und nennen Sie diesen Code: {code}.",
  errorDetails: "Technische Details",
  signedOutTitle: "Sie sind abgemeldet",
  signedOutExplanation: "Sie sind in diesem Browser nicht mehr bei dieser Website angemeldet.",
  signedOutAdvice: "Sie können diese Seite schließen.",
  deviceTitle: "Gerät verbinden",
  deviceExplanation: "Geben Sie den Code ein, den Ihr Gerät anzeigt.",
  deviceCode: "Code",
  deviceCodeUnknown:
    "Dieser Code ist nicht gültig. Vielleicht ist er abgelaufen oder wurde schon verwendet. Prüfen Sie ihn, oder beginnen Sie auf Ihrem Gerät von vorn.",
  deviceWarning:
    "Fahren Sie nur fort, wenn eines Ihrer Geräte diesen Code anzeigt: {code}. Wenn Ihnen jemand den Code oder einen Link geschickt hat, erlauben Sie den Zugriff nicht: Diese Person könnte dann in Ihrem Namen zugreifen.",
  deviceContinue: "In beiden Fällen können Sie danach zu Ihrem Gerät zurückkehren.",
  deviceLostAdvice: "Beginnen Sie auf Ihrem Gerät von vorn.",
  deviceAllowedTitle: "Zugriff erlaubt",
  deviceAllowedExplanation:
    "Kehren Sie zu Ihrem Gerät zurück. Dort geht es von selbst weiter. Sie können diese Seite schließen.",
  deviceDeniedTitle: "Zugriff nicht erlaubt",
  deviceDeniedExplanation: "Ihr Gerät hat keinen Zugriff erhalten. Sie können diese Seite schließen.",
};

const fr: PageTexts = {
  consentTitle: "Autoriser {client} à accéder à {api}\u00a0?",
  signedInAs: "Connecté en tant que {user}",
  switchAccount: "Ce n’est pas vous\u00a0? Utiliser un autre compte",
  scopes: "Cette application pourra\u00a0:",
  uncheckedFrom:
    "Ce site n’a pas vérifié cette application. N’importe qui peut utiliser ce nom. Faites attention à sa provenance\u00a0: {host}.",
  unchecked: "Ce site n’a pas vérifié cette application. N’importe qui peut utiliser ce nom.",
  firstVisit: "Vous n’avez encore jamais utilisé cette application ici.",
  thisDevice:
    "Votre réponse sera envoyée à une application sur cet appareil. Ce site ne peut pas savoir laquelle. N’autorisez l’accès que si vous venez de lancer cette demande vous-même, depuis une application à laquelle vous faites confiance.",
  otherSite:
    "Votre réponse sera envoyée à {destination}. N’autorisez l’accès que si vous connaissez ce site et lui faites confiance.",
  allow: "Autoriser",
  deny: "Ne pas autoriser",
  goOn: "Continuer",
  continueTo: "Dans les deux cas, vous serez redirigé vers {destination}.",
  aboutClient: "À propos de cette application",
  privacyPolicy: "Politique de confidentialité",
  termsOfService: "Conditions d’utilisation",
  details: "Détails",
  detailsClient: "ID client",
  detailsApi: "API",
  detailsScopes: "Scopes",
  errorTitle: "Ce lien ne fonctionne pas",
  errorExplanation:
    "L’application ou le site d’où vous venez a envoyé une requête non valide. Vous n’y êtes pour rien, et aucune information ne lui a été transmise.",
  errorAdvice:
    "Retournez dans l’application et réessayez. Si le problème persiste, signalez ce code au développeur de l’application\u00a0: {code}.",
  lostTitle: "Veuillez recommencer",
  lostExplanation:
    "Cette demande de connexion a expiré ou a déjà été traitée, ou votre navigateur bloque les cookies.",
  lostAdvice:
    "Retournez dans l’application et connectez-vous à partir de là. Si cette page s’affiche de nouveau, autorisez les cookies pour ce site.",
  answerTitle: "Votre réponse n’a pas été acceptée",
  answerExplanation: "Elle était incomplète ou ne provenait pas de ce site. Aucun accès n’a été accordé.",
  answerAdvice:
    "Si vous ne vous attendiez pas à voir cette page, fermez-la. Sinon, retournez dans l’application et recommencez.",
  unreachedTitle: "L’application est injoignable",
  unreachedExplanation:
    "Ce site n’a pas pu charger les informations sur l’application. Vous n’y êtes pour rien, et aucune information n’a été transmise à l’application.",
  unreachedAdvice:
    "Patientez un instant, puis retournez dans l’application et réessayez. Si le problème persiste, signalez ce code au développeur de l’application\u00a0: {code}.",
  failureTitle: "Une erreur s’est produite",
  failureExplanation: "Ce site n’a pas pu traiter votre demande. Vous n’y êtes pour rien.",
  failureAdvice:
    "Patientez un instant, puis retournez dans l’application et réessayez. Si le problème persiste, contactez l’assistance de ce site et indiquez ce code\u00a0: {code}.",
  errorDetails: "Détails techniques",
  signedOutTitle: "Vous êtes déconnecté",
  signedOutExplanation: "Vous n’êtes plus connecté à ce site dans ce navigateur.",
  signedOutAdvice: "Vous pouvez fermer cette page.",
  deviceTitle: "Connecter un appareil",
  deviceExplanation: "Saisissez le code affiché par votre appareil.",
  deviceCode: "Code",
  deviceCodeUnknown:
    "Ce code n’est pas valide. Il a peut-être expiré ou a déjà été utilisé. Vérifiez-le ou recommencez sur votre appareil.",
  deviceWarning:
    "Ne continuez que si l’un de vos appareils affiche ce code\u00a0: {code}. Si quelqu’un vous a envoyé le code ou un lien, n’autorisez pas l’accès\u00a0: cette personne pourrait agir en votre nom.",
  deviceContinue: "Dans les deux cas, vous pourrez ensuite revenir à votre appareil.",
  deviceLostAdvice: "Recommencez sur votre appareil.",
  deviceAllowedTitle: "Accès autorisé",
  deviceAllowedExplanation:
    "Revenez à votre appareil. La suite se fait d’elle-même. Vous pouvez fermer cette page.",
  deviceDeniedTitle: "Accès non autorisé",
  deviceDeniedExplanation: "Votre appareil n’a obtenu aucun accès. Vous pouvez fermer cette page.",
};

const ar: PageTexts = {
  consentTitle: "هل تريد السماح لتطبيق {client} بالوصول إلى {api}؟",
  signedInAs: "تم تسجيل الدخول باسم {user}",
  switchAccount: "ليس حسابك؟ استخدام حساب آخر",
  scopes: "سيتمكن هذا التطبيق من:",
  uncheckedFrom:
    "لم يتحقق هذا الموقع من هذا التطبيق. يمكن لأي شخص استخدام هذا الاسم. انتبه إلى مصدر التطبيق: {host}.",
  unchecked: "لم يتحقق هذا الموقع من هذا التطبيق. يمكن لأي شخص استخدام هذا الاسم.",
  firstVisit: "لم تستخدم هذا التطبيق هنا من قبل.",
  thisDevice:
    "سيُرسَل ردّك إلى تطبيق على هذا الجهاز. لا يمكن لهذا الموقع معرفة أي تطبيق هو. لا تسمح بالوصول إلا إذا بدأت هذا الطلب بنفسك للتو من تطبيق تثق به.",
  otherSite: "سيُرسَل ردّك إلى {destination}. لا تسمح بالوصول إلا إذا كنت تعرف هذا الموقع وتثق به.",
  allow: "السماح",
  deny: "عدم السماح",
  goOn: "متابعة",
  continueTo: "في كلتا الحالتين، ستتم إعادة توجيهك إلى {destination}.",
  aboutClient: "حول هذا التطبيق",
  privacyPolicy: "سياسة الخصوصية",
  termsOfService: "شروط الخدمة",
  details: "التفاصيل",
  detailsClient: "معرّف العميل",
  detailsApi: "واجهة برمجة التطبيقات",
  detailsScopes: "النطاقات",
  errorTitle: "هذا الرابط لا يعمل",
  errorExplanation:
    "أرسل التطبيق أو الموقع الذي أتيت منه طلبًا غير صالح. لم ترتكب أي خطأ، ولم تتم مشاركة أي معلومات معه.",
  errorAdvice: "ارجع إلى التطبيق وحاول مرة أخرى. إذا استمرت المشكلة، فأبلغ مطوّر التطبيق بهذا الرمز: {code}.",
  lostTitle: "يُرجى البدء من جديد",
  lostExplanation: "انتهت مهلة تسجيل الدخول أو سبق إكماله، أو أن متصفحك يحظر ملفات تعريف الارتباط.",
  lostAdvice:
    "ارجع إلى التطبيق وسجّل الدخول من هناك. إذا ظهرت هذه الصفحة مرة أخرى، فاسمح بملفات تعريف الارتباط لهذا الموقع.",
  answerTitle: "لم يُقبل ردّك",
  answerExplanation: "كان ناقصًا أو لم يُرسَل من هذا الموقع. لم يُمنح أي إذن بالوصول.",
  answerAdvice: "إذا لم تكن تتوقع هذه الصفحة، فأغلقها. وإلا، فارجع إلى التطبيق وابدأ من جديد.",
  unreachedTitle: "تعذّر الوصول إلى التطبيق",
  unreachedExplanation:
    "تعذّر على هذا الموقع تحميل معلومات التطبيق. لم ترتكب أي خطأ، ولم تتم مشاركة أي معلومات مع التطبيق.",
  unreachedAdvice:
    "انتظر لحظة، ثم ارجع إلى التطبيق وحاول مرة أخرى. إذا استمرت المشكلة، فأبلغ مطوّر التطبيق بهذا الرمز: {code}.",
  failureTitle: "حدث خطأ ما",
  failureExplanation: "تعذّر على هذا الموقع إكمال طلبك. لم ترتكب أي خطأ.",
  failureAdvice:
    "انتظر لحظة، ثم ارجع إلى التطبيق وحاول مرة أخرى. إذا استمرت المشكلة، فتواصل مع فريق دعم هذا الموقع واذكر هذا الرمز: {code}.",
  errorDetails: "تفاصيل تقنية",
  signedOutTitle: "تم تسجيل خروجك",
  signedOutExplanation: "لم تعد مسجّلاً الدخول إلى هذا الموقع في هذا المتصفح.",
  signedOutAdvice: "يمكنك إغلاق هذه الصفحة.",
  deviceTitle: "ربط جهاز",
  deviceExplanation: "أدخل الرمز الذي يعرضه جهازك.",
  deviceCode: "الرمز",
  deviceCodeUnknown:
    "هذا الرمز غير صالح. ربما انتهت صلاحيته أو سبق استخدامه. تحقق منه، أو ابدأ من جديد على جهازك.",
  deviceWarning:
    "لا تتابع إلا إذا كان أحد أجهزتك يعرض هذا الرمز: {code}. إذا أرسل إليك شخص ما الرمز أو رابطًا، فلا تسمح بالوصول: سيتمكن هذا الشخص من الوصول باسمك.",
  deviceContinue: "في كلتا الحالتين، يمكنك بعد ذلك العودة إلى جهازك.",
  deviceLostAdvice: "ابدأ من جديد على جهازك.",
  deviceAllowedTitle: "تم السماح بالوصول",
  deviceAllowedExplanation: "عُد إلى جهازك، وسيتابع من تلقاء نفسه. يمكنك إغلاق هذه الصفحة.",
  deviceDeniedTitle: "لم يُسمح بالوصول",
  deviceDeniedExplanation: "لم يحصل جهازك على أي وصول. يمكنك إغلاق هذه الصفحة.",
};

/** Language → its texts. */
export const builtInTexts: Readonly<Record<"en" | "de" | "fr" | "ar", PageTexts>> = { en, de, fr, ar };
