/** The texts of the built-in pages in English, German, French and Arabic. RFC 6749 §10.2 (people must understand what is asked). */
import type { PageTexts } from "./page-texts";

const en: PageTexts = {
  consentTitle: "Allow {client} to use {api} for you?",
  signedInAs: "You are signed in as {user}.",
  switchAccount: "Not you? Use another account",
  scopes: "It will be able to",
  uncheckedFrom:
    "This site has not checked this application. Anybody can use this name. Look where it comes from: {host}.",
  unchecked: "This site has not checked this application. Anybody can use this name.",
  firstVisit: "You have not used it here before.",
  thisDevice:
    "Your answer goes to a program on this device. This site cannot see which one. Allow it only if you started this yourself just now, in a program that you trust.",
  otherSite: "Your answer goes to {destination}. Allow it only if you know and trust that site.",
  allow: "Allow",
  deny: "Do not allow",
  continueTo: "Either way you continue to {destination}.",
  aboutClient: "About this application",
  privacyPolicy: "Privacy policy",
  termsOfService: "Terms of service",
  details: "Details",
  detailsClient: "ID of the application",
  detailsApi: "Address of the service",
  detailsScopes: "Names of the permissions",
  errorTitle: "This link does not work",
  errorExplanation:
    "The application or website that sent you here has made a mistake. You did nothing wrong, and nothing was shared with it.",
  errorAdvice: "Go back to the application and try again. If it happens again, tell its makers: {code}.",
  lostTitle: "Please start again",
  lostExplanation: "This sign-in took too long, was already finished, or your browser does not keep cookies.",
  lostAdvice:
    "Go back to the application and sign in from there. If this page comes up again, allow cookies for this site.",
  answerTitle: "Your answer was not accepted",
  answerExplanation: "It was incomplete, or it was not sent from this site. Nothing was allowed.",
  answerAdvice:
    "If you did not expect this page, close it. Otherwise go back to the application and start again.",
  unreachedTitle: "The application could not be reached",
  unreachedExplanation:
    "This site could not load what the application says about itself. You did nothing wrong, and nothing was shared with it.",
  unreachedAdvice:
    "Wait a moment, go back to the application and try again. If it happens again, tell its makers: {code}.",
  failureTitle: "Something went wrong here",
  failureExplanation: "This site could not finish your request. You did nothing wrong.",
  failureAdvice:
    "Wait a moment, go back to the application and try again. If it happens again, tell the operators of this site: {code}.",
  errorDetails: "Technical details",
};

const de: PageTexts = {
  consentTitle: "Darf {client} für Sie {api} benutzen?",
  signedInAs: "Sie sind angemeldet als {user}.",
  switchAccount: "Sind Sie das nicht? Anderes Konto verwenden",
  scopes: "Die Anwendung darf dann",
  uncheckedFrom:
    "Diese Website hat diese Anwendung nicht geprüft. Diesen Namen kann jeder verwenden. Achten Sie darauf, woher sie kommt: {host}.",
  unchecked: "Diese Website hat diese Anwendung nicht geprüft. Diesen Namen kann jeder verwenden.",
  firstVisit: "Sie haben diese Anwendung hier noch nicht benutzt.",
  thisDevice:
    "Ihre Antwort geht an ein Programm auf diesem Gerät. Diese Website kann nicht sehen, an welches. Erlauben Sie es nur, wenn Sie das gerade selbst in einem Programm begonnen haben, dem Sie vertrauen.",
  otherSite:
    "Ihre Antwort geht an {destination}. Erlauben Sie es nur, wenn Sie diese Adresse kennen und ihr vertrauen.",
  allow: "Erlauben",
  deny: "Nicht erlauben",
  continueTo: "In beiden Fällen geht es weiter zu {destination}.",
  aboutClient: "Über diese Anwendung",
  privacyPolicy: "Datenschutz",
  termsOfService: "Nutzungsbedingungen",
  details: "Einzelheiten",
  detailsClient: "Kennung der Anwendung",
  detailsApi: "Adresse des Dienstes",
  detailsScopes: "Namen der Berechtigungen",
  errorTitle: "Dieser Link funktioniert nicht",
  errorExplanation:
    "Die Anwendung oder Website, von der Sie kommen, hat einen Fehler gemacht. Sie haben nichts falsch gemacht, und es wurde nichts an sie weitergegeben.",
  errorAdvice:
    "Gehen Sie zur Anwendung zurück und versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie deren Herstellern: {code}.",
  lostTitle: "Bitte beginnen Sie noch einmal",
  lostExplanation:
    "Diese Anmeldung hat zu lange gedauert, war schon abgeschlossen, oder Ihr Browser speichert keine Cookies.",
  lostAdvice:
    "Gehen Sie zur Anwendung zurück und melden Sie sich von dort aus an. Erscheint diese Seite wieder, erlauben Sie Cookies für diese Website.",
  answerTitle: "Ihre Antwort wurde nicht angenommen",
  answerExplanation: "Sie war unvollständig oder kam nicht von dieser Website. Es wurde nichts erlaubt.",
  answerAdvice:
    "Wenn Sie diese Seite nicht erwartet haben, schließen Sie sie. Sonst gehen Sie zur Anwendung zurück und beginnen Sie noch einmal.",
  unreachedTitle: "Die Anwendung ist nicht erreichbar",
  unreachedExplanation:
    "Diese Website konnte nicht laden, was die Anwendung über sich angibt. Sie haben nichts falsch gemacht, und es wurde nichts an sie weitergegeben.",
  unreachedAdvice:
    "Warten Sie einen Augenblick, gehen Sie zur Anwendung zurück und versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie deren Herstellern: {code}.",
  failureTitle: "Hier ist etwas schiefgegangen",
  failureExplanation: "Diese Website konnte Ihre Anfrage nicht abschließen. Sie haben nichts falsch gemacht.",
  failureAdvice:
    "Warten Sie einen Augenblick, gehen Sie zur Anwendung zurück und versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie den Betreibern dieser Website: {code}.",
  errorDetails: "Technische Einzelheiten",
};

const fr: PageTexts = {
  consentTitle: "Autoriser {client} à utiliser {api} pour vous ?",
  signedInAs: "Vous êtes connecté en tant que {user}.",
  switchAccount: "Ce n’est pas vous ? Utiliser un autre compte",
  scopes: "L’application pourra",
  uncheckedFrom:
    "Ce site n’a pas vérifié cette application. N’importe qui peut utiliser ce nom. Regardez d’où elle vient : {host}.",
  unchecked: "Ce site n’a pas vérifié cette application. N’importe qui peut utiliser ce nom.",
  firstVisit: "Vous ne l’avez encore jamais utilisée ici.",
  thisDevice:
    "Votre réponse est envoyée à un programme sur cet appareil. Ce site ne peut pas voir lequel. N’autorisez que si vous venez d’en faire la demande vous-même, depuis un programme auquel vous faites confiance.",
  otherSite:
    "Votre réponse est envoyée à {destination}. N’autorisez que si vous connaissez cette adresse et lui faites confiance.",
  allow: "Autoriser",
  deny: "Ne pas autoriser",
  continueTo: "Dans les deux cas, vous continuerez vers {destination}.",
  aboutClient: "À propos de cette application",
  privacyPolicy: "Politique de confidentialité",
  termsOfService: "Conditions d’utilisation",
  details: "Détails",
  detailsClient: "Identifiant de l’application",
  detailsApi: "Adresse du service",
  detailsScopes: "Noms des autorisations",
  errorTitle: "Ce lien ne fonctionne pas",
  errorExplanation:
    "L’application ou le site qui vous a envoyé ici a fait une erreur. Vous n’y êtes pour rien, et rien ne lui a été transmis.",
  errorAdvice: "Revenez à l’application et réessayez. Si cela se reproduit, indiquez à ses auteurs : {code}.",
  lostTitle: "Veuillez recommencer",
  lostExplanation:
    "Cette connexion a pris trop de temps, était déjà terminée, ou votre navigateur ne conserve pas les cookies.",
  lostAdvice:
    "Revenez à l’application et connectez-vous à partir de là. Si cette page réapparaît, autorisez les cookies pour ce site.",
  answerTitle: "Votre réponse n’a pas été acceptée",
  answerExplanation: "Elle était incomplète ou n’a pas été envoyée depuis ce site. Rien n’a été autorisé.",
  answerAdvice:
    "Si vous n’attendiez pas cette page, fermez-la. Sinon, revenez à l’application et recommencez.",
  unreachedTitle: "L’application est injoignable",
  unreachedExplanation:
    "Ce site n’a pas pu charger les informations que l’application publie sur elle-même. Vous n’y êtes pour rien, et rien ne lui a été transmis.",
  unreachedAdvice:
    "Attendez un instant, revenez à l’application et réessayez. Si cela se reproduit, indiquez à ses auteurs : {code}.",
  failureTitle: "Un problème est survenu ici",
  failureExplanation: "Ce site n’a pas pu traiter votre demande. Vous n’y êtes pour rien.",
  failureAdvice:
    "Attendez un instant, revenez à l’application et réessayez. Si cela se reproduit, indiquez aux exploitants de ce site : {code}.",
  errorDetails: "Détails techniques",
};

const ar: PageTexts = {
  consentTitle: "هل تسمح لتطبيق {client} باستخدام {api} نيابةً عنك؟",
  signedInAs: "أنت مسجّل الدخول باسم {user}.",
  switchAccount: "لست أنت؟ استخدم حسابًا آخر",
  scopes: "سيتمكن التطبيق من",
  uncheckedFrom:
    "لم يتحقق هذا الموقع من هذا التطبيق. يمكن لأي شخص استخدام هذا الاسم. انتبه إلى مصدر التطبيق: {host}.",
  unchecked: "لم يتحقق هذا الموقع من هذا التطبيق. يمكن لأي شخص استخدام هذا الاسم.",
  firstVisit: "لم تستخدم هذا التطبيق هنا من قبل.",
  thisDevice:
    "يُرسَل ردّك إلى برنامج على هذا الجهاز. لا يستطيع هذا الموقع أن يعرف أي برنامج هو. لا تسمح بذلك إلا إذا بدأت هذا الطلب بنفسك قبل قليل من برنامج تثق به.",
  otherSite: "يُرسَل ردّك إلى {destination}. لا تسمح بذلك إلا إذا كنت تعرف هذا العنوان وتثق به.",
  allow: "السماح",
  deny: "عدم السماح",
  continueTo: "في الحالتين ستتابع إلى {destination}.",
  aboutClient: "حول هذا التطبيق",
  privacyPolicy: "سياسة الخصوصية",
  termsOfService: "شروط الخدمة",
  details: "التفاصيل",
  detailsClient: "معرّف التطبيق",
  detailsApi: "عنوان الخدمة",
  detailsScopes: "أسماء الأذونات",
  errorTitle: "هذا الرابط لا يعمل",
  errorExplanation: "أخطأ التطبيق أو الموقع الذي أرسلك إلى هنا. لم ترتكب أي خطأ، ولم يُشارَك معه أي شيء.",
  errorAdvice: "ارجع إلى التطبيق وحاول مرة أخرى. إذا تكرر ذلك فأبلغ صانعيه بالرمز {code}.",
  lostTitle: "يُرجى البدء من جديد",
  lostExplanation:
    "استغرق تسجيل الدخول هذا وقتًا طويلًا، أو انتهى من قبل، أو أن متصفحك لا يحفظ ملفات تعريف الارتباط.",
  lostAdvice:
    "ارجع إلى التطبيق وسجّل الدخول من هناك. إذا ظهرت هذه الصفحة مرة أخرى فاسمح لهذا الموقع بملفات تعريف الارتباط.",
  answerTitle: "لم تُقبل إجابتك",
  answerExplanation: "كانت ناقصة أو لم تُرسل من هذا الموقع. لم يُسمح بأي شيء.",
  answerAdvice: "إذا لم تكن تتوقع هذه الصفحة فأغلقها. وإلا فارجع إلى التطبيق وابدأ من جديد.",
  unreachedTitle: "تعذّر الوصول إلى التطبيق",
  unreachedExplanation:
    "لم يتمكن هذا الموقع من تحميل ما ينشره التطبيق عن نفسه. لم ترتكب أي خطأ، ولم يُشارَك معه أي شيء.",
  unreachedAdvice: "انتظر لحظة، ثم ارجع إلى التطبيق وحاول مرة أخرى. إذا تكرر ذلك فأبلغ صانعيه بالرمز {code}.",
  failureTitle: "حدث خطأ ما هنا",
  failureExplanation: "لم يتمكن هذا الموقع من إتمام طلبك. لم ترتكب أي خطأ.",
  failureAdvice:
    "انتظر لحظة، ثم ارجع إلى التطبيق وحاول مرة أخرى. إذا تكرر ذلك فأبلغ مشغّلي هذا الموقع بالرمز {code}.",
  errorDetails: "تفاصيل تقنية",
};

/** Language → its texts. */
export const builtInTexts: Readonly<Record<"en" | "de" | "fr" | "ar", PageTexts>> = { en, de, fr, ar };
