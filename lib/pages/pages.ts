/** The built-in pages as the host wants them: name, logo, colour, texts, or another rendering. RFC 6749 §10.2. */
import type { IncomingMessage } from "node:http";
import type { OAuthError } from "../protocol/oauth-error";
import { consentMain, type ConsentPage, consentPageContent, type ConsentPageInput } from "./consent-page";
import { errorMain, type ErrorPage, errorPageContent } from "./error-page";
import { chooseLanguage, directionOf, wantedLanguages } from "./language";
import { escapeHtml, type PageFrame, renderPage } from "./page-frame";
import { fallbackLanguage, mergeTexts, type PageTexts } from "./page-texts";

/** A page to render: what it shows, and in which language. Every text is HTML already. */
export type PageContent = (ConsentPage | ErrorPage) & {
  /** BCP 47. */
  readonly language: string;
  readonly direction: "ltr" | "rtl";
};

/** How the built-in pages look and what they say. */
export interface PagesOptions {
  /** The host's name, on top of each page. */
  readonly name?: string;
  /** The host's logo, a `data:image/…;base64,` URI: pages request nothing. */
  readonly logo?: string;
  /** Colour of the main button, `#rrggbb`. Its text is black or white, whichever reads better. */
  readonly accentColor?: string;
  /** Language (BCP 47) → texts of the host's own, over the built-in ones: English, German, French, Arabic. */
  readonly texts?: Readonly<Record<string, Partial<PageTexts>>>;
  /**
   * Renders a whole page in place of the built-in one. Its values are escaped already. Styles go into `<style>` elements without
   * attributes, which the CSP then allows by their hashes; scripts and outside requests are refused by it.
   */
  readonly render?: (page: PageContent) => string;
}

/** The pages of one server. */
export interface Pages {
  consent(req: IncomingMessage, input: ConsentPageInput): string;
  error(req: IncomingMessage, error: OAuthError): string;
}

function renderBuiltIn({ name = "", logo, accentColor }: PagesOptions, content: PageContent): string {
  const { language, direction, title } = content;
  const frame: PageFrame = { language, direction, name: escapeHtml(name), logo, accentColor };
  const main = content.kind === "consent" ? consentMain(content) : errorMain(content);
  // a title has no elements, so names stand in it without theirs
  return renderPage(frame, { title: title.replaceAll(/<\/?bdi>/g, ""), main });
}

/** As the request says them, which nobody has checked yet. */
function uiLocalesOf({ url = "/" }: IncomingMessage): string | undefined {
  const query = url.indexOf("?");
  return query < 0 ? undefined : (new URLSearchParams(url.slice(query)).get("ui_locales") ?? undefined);
}

function render(options: PagesOptions, content: PageContent): string {
  const html: unknown = options.render ? options.render(content) : renderBuiltIn(options, content);
  // a style with CRLF is hashed by browsers as one with LF
  if (typeof html === "string") return html.replaceAll(/\r\n?/g, "\n");
  // a promise that nobody waits for must not end the process
  Promise.resolve(html).catch(() => undefined);
  throw new TypeError("pages.render gave no text. Return the HTML of the page.");
}

/** What the pages need beside the options. */
export interface PagesContext {
  /** Whether error pages tell developers the rule and what to do. */
  readonly showReason: boolean;
  /** Hears of an error page that the host's `render` could not render. */
  readonly onFailure: (cause: unknown) => void;
}

/** The pages as the options want them. */
export function pagesOf(
  options: PagesOptions = {},
  { showReason, onFailure }: PagesContext = { showReason: false, onFailure: () => undefined },
): Pages {
  const textsByLanguage = mergeTexts(options.texts);
  const languages = Object.keys(textsByLanguage);

  function contentIn(
    wanted: readonly string[],
    pageIn: (texts: PageTexts) => ConsentPage | ErrorPage,
  ): PageContent {
    const language = chooseLanguage(wanted, languages) ?? fallbackLanguage;
    const page = pageIn(textsByLanguage[language] as PageTexts);
    return { ...page, language, direction: directionOf(language) };
  }

  return {
    consent: (req, input) =>
      render(
        options,
        contentIn(wantedLanguages(req, input.summary.uiLocales), (inLanguage) =>
          consentPageContent(input, inLanguage),
        ),
      ),
    error(req, error) {
      const content = contentIn(wantedLanguages(req, uiLocalesOf(req)), (inLanguage) =>
        errorPageContent(error, { texts: inLanguage, showReason }),
      );
      try {
        return render(options, content);
      } catch (cause) {
        onFailure(cause);
        // the person still learns of the error that brought them here
        return renderBuiltIn(options, content);
      }
    },
  };
}
