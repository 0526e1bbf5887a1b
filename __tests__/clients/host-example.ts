/** An example of a host, started as a user starts it, and people who visit it. */
import { type Example, newWebBrowser, type Page, startExample, type WebBrowser } from "../servers/example";

/** Who may sign in. */
export type Name = "alice" | "bob";

/** A host example and what it has printed for people to use. */
export interface Host {
  readonly example: Example;
  password(name: Name): string;
  /** The address that a client sends people to, with what is changed in its query. */
  authorizeUrl(clientId: string, query?: Readonly<Record<string, string>>): URL;
  /** A token request of the client. */
  token(clientId: string, form: Record<string, string>): Promise<{ status: number; body: Tokens }>;
  /** The status of an API call. */
  call(accessToken: string): Promise<number>;
}

/** What the token endpoint answers. */
export interface Tokens {
  readonly error?: string;
  readonly scope: string;
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Runs `server.js` of the example, until it has printed what it prints last. */
export async function startHost(name: string, lastPrinted: RegExp): Promise<Host> {
  const example = await startExample(`${name}/server.js`, lastPrinted);
  const find = (pattern: string): string => new RegExp(pattern, "m").exec(example.printed.out)?.[1] ?? "";
  return {
    example,
    password: (person) => find(`^  ${person} (.+)$`),
    authorizeUrl(clientId, query = {}) {
      const url = new URL(find(`(http://\\S+/authorize\\?client_id=${clientId}&\\S+)`));
      for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
      return url;
    },
    async token(clientId, form) {
      const authorization = `Basic ${Buffer.from(find(`-u (${clientId}:\\S+) `)).toString("base64")}`;
      const init = { method: "POST", headers: { authorization }, body: new URLSearchParams(form) };
      const response = await fetch(find(`-u ${clientId}:.* (\\S+/token)$`), init);
      return { status: response.status, body: (await response.json()) as Tokens };
    },
    async call(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` };
      return (await fetch(`${example.origin}/orders`, { headers })).status;
    },
  };
}

/** One of several forms of a page, as a page of its own. */
export function formOf(page: Page, having: string): Page {
  const forms = page.text.match(/<form[^]*?<\/form>/g) ?? [];
  return { ...page, text: forms.find((form) => form.includes(having)) ?? "" };
}

/** Signs in, and gives the page that comes then. */
export async function signIn(
  { browser, host }: { browser: WebBrowser; host: Host },
  name: Name,
): Promise<Page> {
  const page = await browser.open(`${host.example.origin}/sign-in`);
  return browser.submit(page, { name, password: host.password(name) });
}

/** A browser where somebody is signed in. */
export async function signedIn(host: Host, name: Name): Promise<WebBrowser> {
  const browser = newWebBrowser();
  await signIn({ browser, host }, name);
  return browser;
}

/** What the client was told at its redirect URI; nothing when the browser is elsewhere. */
export function answerOf({ url }: Page): Record<string, string> {
  return url.pathname === "/callback" ? Object.fromEntries(url.searchParams) : {};
}

/** The form token that a page was given, as a thief without that session would use it. */
export function withForeignToken(page: Page, foreign: Page): Page {
  const token = /name="form_token" value="([^"]+)"/.exec(foreign.text)?.[1] ?? "";
  return { ...page, text: page.text.replace(/(name="form_token" value=")[^"]+/, `$1${token}`) };
}

/** One request, to see its headers. */
export function requestPage(url: URL | string, cookies: readonly string[] = []): Promise<Response> {
  return fetch(url, { redirect: "manual", headers: { accept: "text/html", cookie: cookies.join("; ") } });
}

/** The cookies that an answer sets, as a request sends them. */
export function cookiesOf(response: Response): string[] {
  return response.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
}

/** Signs in with a session id that was there before; gives the cookies of before and after. */
export async function signInWithPlantedSession(
  host: Host,
  name: Name,
): Promise<{ before: string[]; after: string[] }> {
  const page = await requestPage(`${host.example.origin}/sign-in`);
  const before = cookiesOf(page);
  const token = /name="form_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
  const response = await fetch(`${host.example.origin}/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: before.join("; ") },
    body: new URLSearchParams({ name, password: host.password(name), form_token: token }),
  });
  return { before, after: cookiesOf(response) };
}

/** The headers of every page. */
export const unframeable = {
  "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

/** The example that the tests of the file visit. */
export let host: Host;
/** A browser in which Alice has signed in there. */
export let alice: WebBrowser;
/** A browser in which Bob has signed in there. */
export let bob: WebBrowser;

/** Runs an example for all tests of a file. */
export function startHostForAllTests(name: string, lastPrinted: RegExp): void {
  beforeAll(async () => {
    host = await startHost(name, lastPrinted);
  });
  afterAll(() => host.example.stop());
}

/** Alice and Bob sign in ahead of all tests of a file. */
export function signInForAllTests(): void {
  beforeAll(async () => {
    [alice, bob] = await Promise.all([signedIn(host, "alice"), signedIn(host, "bob")]);
  });
}
