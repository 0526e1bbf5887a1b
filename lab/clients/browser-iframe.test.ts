// Other sites' pages in a real browser: the client's own, which may refresh silently in an iframe, and an attacker's, which may
// not show the consent page in one, nor answer it. The attacker did not get a page on this very origin.
import type { BrowserContext, Page } from "playwright-core";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import {
  allCookies,
  chromium,
  closeAll,
  closeChromium,
  consentPage,
  contextWithPreferences,
  htmlPage,
  newContext,
  noThirdPartyCookies,
  sentences,
  signedInPage,
  startWebHost,
  until,
  watch,
  type WebHost,
  type WebHostOptions,
} from "./chromium";
import { describeWith } from "../../__tests__/servers/server-process";

afterEach(closeAll);
afterAll(closeChromium);

/** An answer to the page that holds the hidden iframe. */
type Answer = Readonly<Record<string, string>>;

/** What a browser client does: an iframe with `prompt=none`, and waiting for the callback page's message. */
async function refreshSilently(page: Page, { host, site }: { host: WebHost; site: string }): Promise<Answer> {
  const url = host.authorizeUrl({
    client_id: "spa",
    prompt: "none",
    scope: "orders:read",
    redirect_uri: `${site}/silent`,
  });
  const answer = await page.evaluate<string>(`new Promise((resolve) => {
    addEventListener("message", ({ origin, data }) => origin === ${JSON.stringify(site)} && resolve(data));
    const iframe = document.createElement("iframe");
    iframe.hidden = true;
    iframe.src = ${JSON.stringify(url)};
    document.body.append(iframe);
  })`);
  return Object.fromEntries(new URLSearchParams(answer));
}

/** Alice is signed in, and the page of the browser client is open. */
async function openClient({
  context,
  site: name,
  ...options
}: WebHostOptions & { context: Promise<BrowserContext>; site: "localhost" | "loopback" }): Promise<{
  host: WebHost;
  site: string;
  page: Page;
}> {
  const host = await startWebHost(options);
  const page = await signedInPage(host, await context);
  const site = host.site[name];
  await page.goto(`${site}/app`);
  return { host, site, page };
}

const crossSiteSession = { sessionAttributes: "SameSite=None; Secure" };

const forbidFraming: WebHostOptions["before"] = (app) =>
  void app.use((_, res, next) => {
    res.setHeader("X-Frame-Options", "DENY");
    res.setHeader("Content-Security-Policy", "frame-ancestors 'none'");
    next();
  });

describeWith(chromium, {
  name: "silent refresh in a hidden iframe in Chromium (RFC 9700 §2.1, 6749 §3.1)",
  tests: () => {
    it("gives a code to a client on the same site", async () => {
      const { host, site, page } = await openClient({ context: newContext(), site: "localhost" });
      const answer = await refreshSilently(page, { host, site });
      expect(answer).toMatchObject({ code: expect.any(String) as string, state: "a state" });
    });

    it("gives a code that the client's page exchanges from its own origin", async () => {
      const { host, site, page } = await openClient({ context: newContext(), site: "localhost" });
      const { code = "" } = await refreshSilently(page, { host, site });
      const fields = {
        grant_type: "authorization_code",
        client_id: "spa",
        code,
        code_verifier: codeVerifier,
      };
      const token = `${host.origin}/login/auth/password/api/orders/token`;
      const body = await page.evaluate<unknown>(`fetch(${JSON.stringify(token)}, {
        method: "POST",
        body: new URLSearchParams(${JSON.stringify(fields)}),
      }).then((response) => response.json())`);
      expect(body).toMatchObject({ token_type: "bearer", access_token: expect.any(String) as string });
    });

    it("works although the host forbids all framing", async () => {
      const { host, site, page } = await openClient({
        context: newContext(),
        site: "localhost",
        before: forbidFraming,
      });
      expect(await refreshSilently(page, { host, site })).toHaveProperty("code");
    });

    it("answers login_required to a client of another site when the browser blocks third-party cookies", async () => {
      const context = contextWithPreferences(noThirdPartyCookies);
      const client = await openClient({ context, site: "loopback", ...crossSiteSession });
      const { complaints } = watch(client.page);
      const answer = await refreshSilently(client.page, client);
      expect(answer).toMatchObject({ error: "login_required", state: "a state" });
      // nothing but the redirect: no sign-in page, and nothing that the browser refuses to show
      expect(client.host.requests).toEqual([expect.stringContaining("/authorize?")]);
      expect(complaints).toEqual([]);
    });

    it("gives a code to a client of another site when the browser keeps third-party cookies", async () => {
      const context = contextWithPreferences(allCookies);
      const client = await openClient({ context, site: "loopback", ...crossSiteSession });
      expect(await refreshSilently(client.page, client)).toHaveProperty("code");
    });

    it("answers consent_required before the person has allowed the client", async () => {
      const { host, site, page } = await openClient({
        context: newContext(),
        site: "localhost",
        asksForBrowserClient: true,
      });
      const answer = await refreshSilently(page, { host, site });
      expect(answer).toMatchObject({ error: "consent_required" });
    });
  },
});

/** Another origin of the same site, which all cookies go along from, and another site. */
const otherOrigins = ["localhost", "evil"] as const;

/** Alice is signed in here, and visits this page of somebody else. */
async function visit(
  { host, context = newContext() }: { host: WebHost; context?: Promise<BrowserContext> },
  { url, body }: { url: string; body: string },
): Promise<Page> {
  const page = await signedInPage(host, await context);
  host.pages.set(new URL(url).pathname, htmlPage("You have won", body));
  await page.goto(url);
  return page;
}

describeWith(chromium, {
  name: "clickjacking in Chromium (RFC 6749 §10.13, 9700 §4.16)",
  tests: () => {
    it.each(otherOrigins)("keeps the consent page out of an iframe of a page at %s", async (name) => {
      // every cookie comes along, so that nothing but the page's own refusal is in the way
      const host = await startWebHost(crossSiteSession);
      const context = contextWithPreferences(allCookies);
      const iframe = `<iframe title="prize" src="${host.authorizeUrl().replaceAll("&", "&amp;")}"></iframe>`;
      const page = await visit({ host, context }, { url: `${host.site[name]}/prize`, body: iframe });
      const [, framed] = page.frames();
      await until(() => /^(chrome-error|http):/.test(framed?.url() ?? ""));
      expect(framed?.url()).toMatch(/^chrome-error:/);
      expect(host.requests).toEqual([expect.stringContaining("/authorize?")]);
    });
  },
});

function formOf(action: string, fields: Readonly<Record<string, string>>): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
  return `<form method="post" action="${action}">${inputs.join("")}<button>Take the prize</button></form>`;
}

function consentAction({ origin }: WebHost): string {
  return `${origin}/login/auth/password/api/orders/authorize/consent`;
}

const ownOriginOnly = "The form was not sent from this site.";

/** The person takes the prize: a form that leads to the host. */
async function takePrize(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Take the prize" }).click();
  await page.getByText(ownOriginOnly).waitFor();
}

async function nothingGranted({ events, storage }: WebHost): Promise<void> {
  expect(events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
  expect(await storage.consents.list("alice", Math.floor(Date.now() / 1000))).toEqual([]);
}

const hiddenFields = `Object.fromEntries([...document.querySelectorAll("input[type=hidden]")].map((each) => [each.name, each.value]))`;

describeWith(chromium, {
  name: "a consent form on another origin in Chromium (RFC 6749 §10.12, 9700 §4.7)",
  tests: () => {
    const yes = { decision: "approve", scope_0: "on", scope_1: "on" };

    it.each(otherOrigins)("is refused at %s when it was made up", async (name) => {
      const host = await startWebHost();
      const body = formOf(consentAction(host), yes);
      await takePrize(await visit({ host }, { url: `${host.site[name]}/prize`, body }));
      await nothingGranted(host);
    });

    it.each(otherOrigins)("is refused at %s with the fields of the real one", async (name) => {
      const host = await startWebHost();
      const context = newContext();
      const real = await signedInPage(host, await context);
      await real.goto(host.authorizeUrl());
      const stolen = await real.evaluate<Record<string, string>>(hiddenFields);
      expect(Object.keys(stolen)).toContain("interaction");
      const body = formOf(consentAction(host), { ...stolen, ...yes });
      await takePrize(await visit({ host, context }, { url: `${host.site[name]}/prize`, body }));
      await nothingGranted(host);
    });

    it("leaves the real one to be answered", async () => {
      const host = await startWebHost();
      const context = newContext();
      const real = await signedInPage(host, await context);
      await real.goto(host.authorizeUrl());
      const stolen = await real.evaluate<Record<string, string>>(hiddenFields);
      const body = formOf(consentAction(host), { ...stolen, ...yes });
      await takePrize(await visit({ host, context }, { url: `${host.site.localhost}/prize`, body }));
      await consentPage(real)
        .scope(sentences[1] ?? "")
        .uncheck();
      await consentPage(real).allow.click();
      await real.waitForURL((url) => url.searchParams.has("code"));
    });

    it.each(otherOrigins)("is refused at %s for the host's own consent page", async (name) => {
      const host = await startWebHost({
        consent: { decide: () => ({ kind: "interaction", url: "/question" }) },
      });
      const context = newContext();
      const real = await signedInPage(host, await context);
      await real.goto(host.authorizeUrl());
      const body = formOf(real.url(), { answer: "yes" });
      await takePrize(await visit({ host, context }, { url: `${host.site[name]}/prize`, body }));
      await nothingGranted(host);
    });
  },
});
