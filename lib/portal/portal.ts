/** What all pages of `authmount/portal` share: who is there, which forms count, and how they are answered. RFC 6749 §10.12, 9700 §4.16. */
import { createHash } from "node:crypto";
import { type Request, Router } from "express";
import { authenticationKeys, authenticationProblem } from "../end-user/check-host-answer";
import type { Authentication } from "../end-user/port";
import { askHost, inTime, invalidAnswer } from "../host/ask";
import { answerProblem, readForm, readPath, readQuery } from "../http/request";
import { writeResponse } from "../http/response";
import type { ApiOptions } from "../options/options";
import { scopesOf } from "../pages/identity-scopes";
import { isProduction } from "../options/resolve";
import { chooseLanguage, directionOf, markLanguage, wantedLanguages } from "../pages/language";
import { fallbackLanguage, mergeTextsOf, type Say, saying, type TextSources } from "../pages/merge-texts";
import { escapeHtml, renderPage } from "../pages/page-frame";
import { pagesOf, type PagesOptions } from "../pages/pages";
import { sentenceIn } from "../pages/summary";
import type { ScopeSentence } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { PageResponse, ProtocolResponse } from "../protocol/protocol-response";
import type { Clock, EpochSeconds } from "../protocol/time";
import { checkPortalOptions, type PortalOptions, type PortalPage } from "./portal-options";

const mistake = mistakesOf({
  "portal-page-not-rendered": "render returned neither a string nor undefined. Return the HTML of the page.",
  "portal-callback-failed": "What a callback of the host has thrown is not an Error.",
});

const reasons = {
  "portal-form-of-another-site":
    "the Origin of the form is missing, null, or not that of these pages: check the option origin, and that nothing changes their Referrer-Policy",
} as const;

/** What a page shows, as HTML. */
export interface PageContent {
  /** The heading. */
  readonly title: string;
  /** What stands inside `main`, the heading included. */
  readonly main: string;
}

/** What the pages show of an API. */
export type ShownApi = Pick<ApiOptions, "scopes"> & { readonly name: string };

/** A visit of a person who is signed in. */
export interface Visit<Name extends string> extends Pick<PortalPage, "language" | "direction"> {
  /** Who it is. It never comes from a form. */
  readonly subject: string;
  /** Their name, as the host gives it. */
  readonly displayName: string;
  /** The parameters of the address. All pages have one path and differ by these, so that links are right behind every proxy. */
  readonly query: Parameters;
  /** True when the page is shown again in place of a change: it must say so at the top. */
  readonly isOutdated: boolean;
  /** API id → what to show of it. */
  readonly apis: ReadonlyMap<string, ShownApi>;
  readonly now: EpochSeconds;
  /** A text in the language of the page, as HTML. It escapes what it fills in. */
  readonly say: Say<Name>;
  /** The sentence of a scope, as HTML. */
  readonly sentence: (sentence: ScopeSentence) => string;
  /** A day in UTC, to be filled in. */
  readonly date: (at: EpochSeconds) => string;
  /**
   * A digest of the person and of what the page shows. A form has it as the field `seen`: when it is not that of what would be shown now,
   * answer `outdated`.
   */
  readonly seen: (shown: unknown) => string;
}

/** What has become of a form. */
export type FormOutcome<Change> =
  /** The browser goes on to the page with the query `to`, such as `"?client=shop"`. Left out: to the one without. */
  | { readonly kind: "done"; readonly change: Change | undefined; readonly to?: string }
  /** The answer itself is a page, because it shows a secret, or says what is wrong with the form. */
  | { readonly kind: "page"; readonly page: PageContent; readonly change: Change | undefined }
  /** It was for somebody else, or for what is no longer as it was shown: nothing was done, and the page comes again. */
  | { readonly kind: "outdated" };

/** What makes pages of one kind. */
export interface PortalPages<Name extends string, Change> {
  /** The function that the host calls. */
  readonly by: string;
  /** Options of these pages alone, all of them functions. */
  readonly functions?: readonly string[];
  readonly texts: TextSources<Name>["builtIn"];
  /** To whoever may not visit the pages, nothing says that they exist: the host's next handler answers. A form asks again once it has come. */
  readonly mayVisit?: (person: { readonly subject: string }) => Promise<boolean>;
  readonly show: (visit: Visit<Name>) => Promise<PageContent>;
  /** Does what a form of these pages asks for. */
  readonly change: (visit: Visit<Name>, form: Parameters) => Promise<FormOutcome<Change>>;
}

interface Portal<Name extends string, Change> {
  readonly given: Pick<PortalOptions<never, Change>, "person" | "render" | "onChange">;
  readonly look: PagesOptions;
  readonly pages: PortalPages<Name, Change>;
  readonly texts: ReturnType<typeof mergeTextsOf<Name>>;
  readonly origin: string;
  readonly apis: Visit<Name>["apis"];
  readonly clock: Clock;
}

type Person = Extract<Authentication, { kind: "authenticated" }>;

function visitOf<Name extends string, Change>(
  { texts, apis, clock }: Portal<Name, Change>,
  { req, person: { subject, displayName = subject } }: { req: Request; person: Person },
): Visit<Name> {
  const wanted = wantedLanguages(req, { uiLocales: undefined, isStranger: true });
  const page = chooseLanguage(wanted, Object.keys(texts)) ?? fallbackLanguage;
  const days = new Intl.DateTimeFormat(page, { dateStyle: "long", timeZone: "UTC" });
  return {
    language: page,
    direction: directionOf(page),
    subject,
    displayName,
    query: readQuery(req),
    isOutdated: false,
    apis,
    now: clock(),
    say: saying(texts[page] as (typeof texts)[string], page),
    sentence(scope) {
      const { text, language } = sentenceIn(() => wanted, scope);
      return markLanguage(escapeHtml(text), { language, page });
    },
    date: (at) => days.format(at * 1000),
    seen: (shown) =>
      createHash("sha256")
        .update(JSON.stringify([subject, shown]))
        .digest("base64url"),
  };
}

function pageResponse(
  { given, look, origin }: Pick<Portal<never, never>, "given" | "look" | "origin">,
  { page, status }: { page: PortalPage; status: number },
): PageResponse {
  const own: unknown = given.render?.(page);
  if (own !== undefined && typeof own !== "string") {
    // if it is a promise that rejects with nobody waiting for it, Node ends the process
    Promise.resolve(own).catch(() => undefined);
    throw mistake("portal-page-not-rendered");
  }
  const { name = "", logo, accentColor } = look;
  const frame = { ...page, name: escapeHtml(name), logo, accentColor };
  const html = own ?? renderPage(frame, { ...page, title: page.title.replaceAll(/<[^>]*>/g, "") });
  // the page where people sign in again may have another origin, and browsers hold the redirect to it against this
  const formTargets = origin.startsWith("https:") ? ["https:"] : ["http:", "https:"];
  // browsers turn CRLF into LF before they hash a style
  return { kind: "page", status, html: html.replaceAll(/\r\n?/g, "\n"), formTargets };
}

function ofAnotherSite(): ProtocolResponse {
  const description = "The form was not sent from this site.";
  const why = because(reasons, "portal-form-of-another-site");
  const error = new OAuthError("invalid_request", { description, ...why, situation: "answer" });
  return { kind: "error-page", status: 403, error };
}

/** The form of one of these pages, or its refusal. */
async function readOwnForm(req: Request): Promise<Parameters | ProtocolResponse> {
  const form = await readForm(req);
  if (form.kind === "form") return form.parameters;
  return { kind: "error-page", status: form.kind === "too-large" ? 413 : 400, error: answerProblem(form) };
}

/** @throws TypeError when the host's answer is invalid. Rejects when it does not come in time. */
async function askPerson(ask: () => unknown, now: EpochSeconds): Promise<Authentication> {
  const answer = await askHost<Authentication>("person", { ask, keys: authenticationKeys });
  const problem = authenticationProblem(answer, now);
  if (problem !== undefined) throw invalidAnswer("person", problem);
  return answer;
}

/** The answer, or `undefined` when it is the host's. */
async function answerOf<Name extends string, Change>(
  portal: Portal<Name, Change>,
  req: Request,
): Promise<ProtocolResponse | undefined> {
  const { given, pages, origin, clock } = portal;
  const isForm = req.method === "POST";
  // browsers alone send these forms, so one without Origin is refused too
  const refusal = isForm && req.headers.origin !== origin ? ofAnotherSite() : undefined;
  if (refusal && !pages.mayVisit) return refusal;
  const person = await askPerson(() => given.person({ req, change: isForm && !refusal }), clock());
  if (person.kind === "interaction") return { kind: "redirect", location: person.url };
  if (person.kind === "denied") return undefined;
  const visit = visitOf(portal, { req, person });
  const mayVisit = async (): Promise<boolean> => !pages.mayVisit || (await pages.mayVisit(visit));
  if (!(await mayVisit())) return undefined;
  if (refusal) return refusal;
  // not before: the host's next handler must find the body
  const form = isForm ? await readOwnForm(req) : undefined;
  if (form && "kind" in form) return form;
  // again, because a body may take minutes. `next` finds none now, but answers as to everybody without rights; `person` reads
  // the session of this `req`, so asking it again says nothing new, and could use up a fresh sign-in
  if (form && !(await mayVisit())) return undefined;
  const outcome = form && (await pages.change(visit, form));
  const change = outcome && "change" in outcome ? outcome.change : undefined;
  if (change !== undefined) await inTime("onChange", () => given.onChange?.(change));
  if (outcome?.kind === "done") return { kind: "redirect", location: outcome.to ?? "?" };
  const isOutdated = outcome?.kind === "outdated";
  const shown = outcome?.kind === "page" ? outcome.page : await pages.show({ ...visit, isOutdated });
  const { language, direction } = visit;
  return pageResponse(portal, { page: { ...shown, language, direction }, status: isOutdated ? 409 : 200 });
}

/**
 * Pages at one path, which answers GET, HEAD and POST. Every other request and every failure is passed on to the host.
 *
 * @throws TypeError when an option is wrong
 */
export function portalRouter<Name extends string, Change>(
  options: PortalOptions<Readonly<Record<Name, string>>, Change> & { readonly auth: object },
  { pages, clock }: { readonly pages: PortalPages<Name, Change>; readonly clock: Clock },
): Router {
  const { by, functions = [] } = pages;
  checkPortalOptions(options, { by, functions, names: Object.keys(pages.texts["en"] ?? {}) });
  // copies: the host may change its objects later
  const look = { ...options.options.pages };
  const apis = Object.entries(options.options.apis).map(
    ([apiId, api]) => [apiId, { name: api.name ?? apiId, scopes: structuredClone(scopesOf(api)) }] as const,
  );
  const portal: Portal<Name, Change> = {
    given: { ...options },
    look,
    pages,
    texts: mergeTextsOf<Name>({ builtIn: pages.texts, ofHost: options.texts }),
    origin: options.origin ?? new URL(options.options.baseUrl).origin,
    apis: new Map(apis),
    clock,
  };
  const errorPages = pagesOf(look, { showReason: !isProduction(), onFailure: () => undefined });
  return Router().use((req, res, next) => {
    if (readPath(req) !== "/" || !/^(?:GET|HEAD|POST)$/.test(req.method)) return next();
    const answer = answerOf(portal, req).then((response) => {
      if (!response) return next();
      writeResponse({ req, res, pages: errorPages }, response);
    });
    answer.catch((cause: unknown) => {
      // a browser that has gone while it was sending is nobody's failure
      if (req.readableAborted) return;
      // Express takes undefined for no error, and some texts for a way on
      next(cause instanceof Error ? cause : Object.assign(mistake("portal-callback-failed"), { cause }));
    });
  });
}
