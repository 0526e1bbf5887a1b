/** The built-in pages with the host's name, logo, colour and texts, or rendered by the host. RFC 6749 §10.2. */
import type { IncomingMessage } from "node:http";
import type { OAuthError } from "../protocol/oauth-error";
import { hostMistake } from "../protocol/mistake";
import { parametersOfUrl } from "../protocol/parameters";
import type { DeviceEndResponse, FormPostResponse } from "../protocol/protocol-response";
import { consentMain, type ConsentPage, consentPageContent, type ConsentPageInput } from "./consent-page";
import {
  deviceEndContent,
  deviceEndMain,
  type DeviceEndPage,
  deviceMain,
  type DevicePage,
  devicePageContent,
  type DevicePageInput,
} from "./device-page";
import { errorMain, type ErrorPage, errorPageContent } from "./error-page";
import { chooseLanguage, directionOf, wantedLanguages } from "./language";
import { fallbackLanguage, mergeTexts, type Say, saying } from "./merge-texts";
import { formPostPage } from "./form-post-page";
import { signedOutMain, type SignedOutPage, signedOutPageContent } from "./signed-out-page";
import { escapeHtml, type PageFrame, renderPage } from "./page-frame";
import type { PageTexts } from "./built-in-texts";

type AnyPage = ConsentPage | ErrorPage | SignedOutPage | DevicePage | DeviceEndPage;

/** A page to render: what it shows, and in which language. Every text is already HTML. */
export type PageContent = AnyPage & {
  /** BCP 47. */
  readonly language: string;
  /** The writing direction of the language, for `dir`. */
  readonly direction: "ltr" | "rtl";
};

/** The look and the texts of the built-in pages. */
export interface PagesOptions {
  /** The host's name, shown at the top of each page. */
  readonly name?: string;
  /** The host's logo, a `data:image/…;base64,` URI, because pages load nothing from the network. */
  readonly logo?: string;
  /** Colour of the main button, `#rrggbb`. Its text is black or white, whichever reads better. */
  readonly accentColor?: string;
  /** Language (BCP 47) → texts that override or add to the built-in ones (English, German, French, Arabic). */
  readonly texts?: Readonly<Record<string, Partial<PageTexts>>>;
  /**
   * Renders a whole page instead of the built-in one and returns its HTML. The values that it gets are already escaped. Write
   * styles into `<style>` elements without attributes: the CSP allows them by their hashes. It refuses scripts and outside
   * requests.
   */
  readonly render?: (page: PageContent) => string;
}

/** The pages of one server. */
export interface Pages {
  /** The HTML of a consent page. Throws what the host's `render` throws. */
  consent(req: IncomingMessage, input: ConsentPageInput): string;
  /** The HTML of an error page: the built-in one when the host's `render` fails. */
  error(req: IncomingMessage, error: OAuthError): string;
  /** The HTML of the page for a person who has signed out. Throws what the host's `render` throws. */
  signedOut(req: IncomingMessage, by: { readonly uiLocales: string | undefined }): string;
  /** The HTML of the page that asks for the code of a device. Throws what the host's `render` throws. */
  device(req: IncomingMessage, input: DevicePageInput): string;
  /** The HTML of the last page for a person who has answered a device: the built-in one when the host's `render` fails. */
  deviceEnd(req: IncomingMessage, response: DeviceEndResponse): string;
  /** The HTML of the page that posts an answer to the client. */
  formPost(req: IncomingMessage, response: FormPostResponse): string;
}

function mainOf(content: PageContent): string {
  switch (content.kind) {
    case "consent":
      return consentMain(content);
    case "error":
      return errorMain(content);
    case "signed-out":
      return signedOutMain(content);
    case "device":
      return deviceMain(content);
    case "device-end":
      return deviceEndMain(content);
  }
}

function renderBuiltIn({ name = "", logo, accentColor }: PagesOptions, content: PageContent): string {
  const { language, direction, title } = content;
  const frame: PageFrame = { language, direction, name: escapeHtml(name), logo, accentColor };
  // the title element must contain plain text only, so what marks names and languages is removed
  return renderPage(frame, { title: title.replaceAll(/<[^>]*>/g, ""), main: mainOf(content) });
}

/** `ui_locales` as the URL has it. The request may have failed before its parameters were checked. */
function uiLocalesOf({ url = "/" }: IncomingMessage): string | undefined {
  return parametersOfUrl(url).get("ui_locales");
}

/** The languages of a page to which anyone can make a link. */
function wantedByReader(req: IncomingMessage): readonly string[] {
  return wantedLanguages(req, { uiLocales: uiLocalesOf(req), isStranger: true });
}

function render(options: PagesOptions, content: PageContent): string {
  const html: unknown = options.render ? options.render(content) : renderBuiltIn(options, content);
  // browsers turn CRLF into LF before they hash a style
  if (typeof html === "string") return html.replaceAll(/\r\n?/g, "\n");
  // if an async render rejects with nobody waiting for it, Node ends the process
  Promise.resolve(html).catch(() => undefined);
  throw hostMistake(
    "page-not-rendered",
    "pages.render did not return a string. Return the HTML of the page.",
  );
}

/** What the pages need besides the options. */
export interface PagesContext {
  /** Whether error pages show developers the reason: not in production, where anyone may read them. */
  readonly showReason: boolean;
  /** Is called when the host's `render` fails on a page that stands for what has happened already. */
  readonly onFailure: (cause: unknown) => void;
}

/** A page that the person must see, whatever the host makes of it. */
function renderOrElse(
  options: PagesOptions,
  { content, onFailure }: { content: PageContent } & Pick<PagesContext, "onFailure">,
): string {
  try {
    return render(options, content);
  } catch (cause) {
    onFailure(cause);
    return renderBuiltIn(options, content);
  }
}

/** The texts of the first wanted language that there is. */
function spokenIn(
  textsByLanguage: ReturnType<typeof mergeTexts>,
  wanted: readonly string[],
): Pick<PageContent, "language" | "direction"> & { readonly say: Say } {
  const language = chooseLanguage(wanted, Object.keys(textsByLanguage)) ?? fallbackLanguage;
  const texts = textsByLanguage[language] as (typeof textsByLanguage)[string];
  return { language, direction: directionOf(language), say: saying(texts, language) };
}

/** The pages for these options. Without options: the built-in pages, without reasons. */
export function pagesOf(
  options: PagesOptions = {},
  { showReason, onFailure }: PagesContext = { showReason: false, onFailure: () => undefined },
): Pages {
  const textsByLanguage = mergeTexts(options.texts);
  function contentIn(
    wanted: readonly string[],
    pageIn: (inLanguage: { say: Say; language: string }) => AnyPage,
  ): PageContent {
    const { say, ...page } = spokenIn(textsByLanguage, wanted);
    return { ...pageIn({ say, language: page.language }), ...page };
  }
  const renderIn = (...page: Parameters<typeof contentIn>): string => render(options, contentIn(...page));
  const renderAlways = (req: IncomingMessage, pageIn: (say: Say) => AnyPage): string =>
    renderOrElse(options, { content: contentIn(wantedByReader(req), ({ say }) => pageIn(say)), onFailure });

  return {
    consent(req, input) {
      const { uiLocales, client } = input.summary;
      const wanted = wantedLanguages(req, { uiLocales, isStranger: client.selfDescribed !== undefined });
      return renderIn(wanted, (inLanguage) => consentPageContent(input, inLanguage));
    },
    error: (req, error) => renderAlways(req, (say) => errorPageContent(error, { say, showReason })),
    signedOut: (req, { uiLocales }) =>
      renderIn(wantedLanguages(req, { uiLocales, isStranger: false }), ({ say }) =>
        signedOutPageContent(say),
      ),
    device: (req, input) => renderIn(wantedByReader(req), ({ say }) => devicePageContent(input, say)),
    deviceEnd: (req, response) => renderAlways(req, (say) => deviceEndContent(response, say)),
    formPost(req, response) {
      const wanted = wantedLanguages(req, { uiLocales: uiLocalesOf(req), isStranger: false });
      const { say, ...page } = spokenIn(textsByLanguage, wanted);
      return formPostPage(response, { ...page, label: say("goOn") });
    },
  };
}
