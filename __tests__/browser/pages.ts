/** The built-in consent and error page as a visitor with a language sees them. */
import { createHash } from "node:crypto";
import type { Response } from "supertest";
import type { PagesOptions } from "../../lib";
import { builtInTexts, type PageTexts } from "../../lib/pages/built-in-texts";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "./authorization-request";
import type { Browser, Fields } from "./browser";
import { type TestHost, testHost } from "../hosts/host";

/** The built-in texts by their language. */
export const builtIn: Readonly<Record<string, PageTexts>> = builtInTexts;

/** The languages of the built-in texts. */
export const languages = Object.keys(builtIn);

/** An image of a host or a client. */
export const logo = "data:image/png;base64,iVBORw0KGgo=";

/** Text that is markup, were it not escaped. */
export const markup = `<img src=x onerror=alert(1)>"'&</title></style><script>alert(2)</script>`;

const escapedMarkup =
  "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;&lt;/title&gt;&lt;/style&gt;&lt;script&gt;alert(2)&lt;/script&gt;";

/** What a visitor sends beside a good request. */
export interface PageVisit {
  readonly browser?: Browser;
  readonly fields?: Fields;
  readonly headers?: Record<string, string>;
}

/** The consent page that the visitor sees. */
export function consentPageOf(
  host: TestHost,
  { browser = host.browser(), fields = {}, headers = {} }: PageVisit = {},
): Promise<Response> {
  const path = `${pairPath()}/authorize`;
  return browser.get(path, { ...authorizationParameters("web"), ...fields }, headers);
}

/** The error page that the visitor sees: the client is not known. */
export function errorPageOf(host: TestHost, { fields = {}, ...visit }: PageVisit = {}): Promise<Response> {
  return consentPageOf(host, { ...visit, fields: { client_id: "nobody", ...fields } });
}

/** A host with these options of its pages. */
export function withPages(pages: PagesOptions): TestHost {
  return testHost({ pages });
}

/** The language and the direction that a page says it is in. */
export function languageOf({ text }: Response): readonly [string | undefined, string | undefined] {
  const [, language, direction] = /<html lang="([^"]*)" dir="([^"]*)">/.exec(text) ?? [];
  return [language, direction];
}

/** The language of the consent page. */
export async function consentLanguage(host: TestHost, visit: PageVisit): Promise<string | undefined> {
  const page = await consentPageOf(host, visit);
  expect(page.status).toBe(200);
  return languageOf(page)[0];
}

/** The browser asks for the language. */
export const accepting = (value: string): PageVisit => ({ headers: { "Accept-Language": value } });

/** The client asks for the language. */
export const asking = (value: string): PageVisit => ({ fields: { ui_locales: value } });

/** The directives of the page's CSP. */
export function policyOf({ headers }: Response): Readonly<Record<string, string>> {
  const policy = headers["content-security-policy"] as string;
  return Object.fromEntries(
    policy.split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ");
      return [name, sources.join(" ")];
    }),
  );
}

/** The style elements of a page. */
export function stylesOf({ text }: Response): readonly string[] {
  return [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(([, style = ""]) => style);
}

/** How a CSP names a style. */
export function hashSource(style: string): string {
  return `'sha256-${createHash("sha256").update(style).digest("base64")}'`;
}

/** The markup is on the page, as text. */
export function expectMarkupAsText({ text }: Response): void {
  expect(text).toContain(escapedMarkup);
  expect(text).not.toMatch(/<img|<script/);
  expect(text.match(/<\/title>/g)).toHaveLength(1);
  expect(text.match(/<\/style>/g)).toHaveLength(1);
}
