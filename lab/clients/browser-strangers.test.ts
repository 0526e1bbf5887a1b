// The consent page of a client that nobody registered, at a real browser: who can read it, and whom the browser asks.
import type { BrowserContextOptions, Page } from "playwright-core";
import type { ApiOptions } from "../../lib";
import { accessibilityFindings } from "./accessibility";
import type { Fields } from "../../__tests__/browser/browser";
import {
  arrival,
  chromium,
  closeAll,
  closeChromium,
  consentPage,
  newContext,
  sentences,
  signedInPage,
  startWebHost,
  until,
  watch,
  type WebHost,
} from "./chromium";
import { documentServer, type DocumentServer } from "../../__tests__/servers/document-server";
import { describeWith } from "../../__tests__/servers/server-process";
import { documentPath, redirectUri, serveDocument } from "../../__tests__/browser/strangers";

let server: DocumentServer;

beforeEach(async () => {
  server = await documentServer();
});
afterEach(async () => {
  await closeAll();
  await server.close();
});
afterAll(closeChromium);

const orders: ApiOptions = {
  name: "Orders",
  audience: "https://api.example/orders",
  authMethods: ["password"],
  scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
  clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) },
};

interface Opened {
  readonly host: WebHost;
  readonly page: Page;
  readonly url: string;
}

interface Opening {
  readonly look?: BrowserContextOptions;
  /** Changes in the document. */
  readonly document?: Readonly<Record<string, unknown>>;
  readonly fields?: Fields;
}

/** A browser of alice, and the address of a stranger's consent page. */
async function strangersPage({ look, document, fields }: Opening): Promise<Opened> {
  const clientId = serveDocument(server, document);
  const host = await startWebHost({ apis: { orders }, insecureLoopbackClients: true });
  const page = await signedInPage(host, await newContext(look));
  const redirect_uri = redirectUri;
  return { host, page, url: host.authorizeUrl({ client_id: clientId, redirect_uri, ...fields }) };
}

async function openStranger(opening: Opening = {}): Promise<Opened> {
  const opened = await strangersPage(opening);
  await opened.page.goto(opened.url);
  await opened.page.getByRole("note").waitFor();
  return opened;
}

/** Shows this host name where the page has that of the stranger's server. */
async function openWithHostName(opening: Opening, hostName: string): Promise<Page> {
  const { page, url } = await strangersPage(opening);
  await page.route(url, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(new URL(server.url("/")).host, hostName);
    await route.fulfill({ response, body });
  });
  await page.goto(url);
  await page.getByText(hostName).first().waitFor();
  return page;
}

const languages = ["en", "de", "fr", "ar"];
const wide = { viewport: { width: 1280, height: 720 } };
const narrow = { viewport: { width: 320, height: 640 } };
const looks: readonly { readonly name: string; readonly look: BrowserContextOptions }[] = [
  { name: "light", look: wide },
  { name: "dark", look: { ...wide, colorScheme: "dark" } },
  { name: "dark, 320 wide", look: { ...narrow, colorScheme: "dark" } },
  { name: "forced colours", look: { forcedColors: "active" } },
];

const width = "document.documentElement.scrollWidth";
/** How much of the warning is cut off at its side. */
const sidewaysInWarning = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(
  document.querySelector("#warning")
)`;

/** What has the focus, in words. */
const focused = `((element) => (element.closest("label") ?? element).textContent.trim())(document.activeElement)`;

describeWith(chromium, {
  name: "a stranger's consent page in Chromium: everybody can read it (RFC 6749 §10.2)",
  tests: () => {
    describe.each(languages)("in %s", (language) => {
      it.each(looks)("has no accessibility violation: $name", async ({ look }) => {
        const { page } = await openStranger({ look: { ...look, locale: language } });
        expect(await page.evaluate("document.documentElement.lang")).toBe(language);
        await page.evaluate("document.querySelector('details').open = true");
        expect(await accessibilityFindings(page)).toEqual([]);
      });

      it("fits a narrow screen with text twice as large", async () => {
        const look = { viewport: { width: 640, height: 800 } };
        const { page } = await openStranger({ look: { ...look, locale: language } });
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        expect(await page.evaluate(width)).toBe(640);
      });
    });

    it("is read in this order: the question, the warning, who is signed in, the scopes, the buttons", async () => {
      const { page } = await openStranger();
      const read = await page.locator("main").ariaSnapshot();
      const order = ["heading", "note", "Not you?", "See your orders", 'button "Allow"', "Don’t allow"];
      const places = order.map((each) => read.indexOf(each));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    });

    it("announces nothing as an alert", async () => {
      const { page } = await openStranger();
      expect(await page.locator("[role=alert], [role=status], [aria-live]").count()).toBe(0);
    });

    it("is gone through by Tab from top to bottom, and the warning takes no stop", async () => {
      const { page } = await openStranger({
        document: { client_uri: "https://editor.example/", policy_uri: "https://editor.example/privacy" },
      });
      const stops: unknown[] = [];
      for (let presses = 0; presses < 8; presses += 1) {
        await page.keyboard.press("Tab");
        stops.push(await page.evaluate(focused));
      }
      expect(stops).toEqual([
        "Not you? Use another account",
        ...sentences,
        "Allow",
        "Don’t allow",
        "About this app",
        "Privacy policy",
        "Details",
      ]);
    });

    it("describes Allow by the warning, and no other button", async () => {
      const { page } = await openStranger();
      const { allow } = consentPage(page);
      expect(await allow.getAttribute("aria-describedby")).toBe("warning");
      expect(await page.locator("#warning").getAttribute("role")).toBe("note");
      expect(await page.locator("[aria-describedby]").count()).toBe(1);
    });

    it("fits a narrow screen with a name of 100 characters", async () => {
      const { page } = await openStranger({ look: narrow, document: { client_name: "W".repeat(100) } });
      expect(await page.evaluate(width)).toBe(320);
      expect(await accessibilityFindings(page)).toEqual([]);
    });

    it.each(languages)(
      "shows a host name of 253 characters to its end on a narrow screen, in %s",
      async (language) => {
        const hostName = `${`${"a".repeat(63)}.`.repeat(3)}${"b".repeat(53)}.example`;
        const page = await openWithHostName({ look: { ...narrow, locale: language } }, hostName);
        expect(await page.evaluate(width)).toBe(320);
        expect(await page.evaluate(sidewaysInWarning)).toBe(0);
      },
    );

    it("has the warning and no list when no scope is asked for", async () => {
      const { page } = await openStranger({ fields: { scope: undefined } });
      expect(await page.getByRole("checkbox").count()).toBe(0);
      expect(await accessibilityFindings(page)).toEqual([]);
    });
  },
});

describeWith(chromium, {
  name: "a stranger's server hears nothing of the person (RFC 7591 §5, draft-ietf-oauth-client-id-metadata-document)",
  tests: () => {
    it("is asked by the host for the document, and by the person's browser for nothing", async () => {
      const own = (path: string): string => server.url(path);
      const secure = (path: string): string => own(path).replace("http:", "https:");
      const { page, url } = await strangersPage({
        document: {
          logo_uri: own("/logo.png"),
          client_uri: secure("/about"),
          policy_uri: secure("/privacy"),
          tos_uri: secure("/terms"),
          client_name: `<img src="${own("/name.png")}">`,
        },
      });
      const { requests, complaints } = watch(page);
      await page.goto(url, { waitUntil: "networkidle" });
      expect(await page.getByRole("link").count()).toBe(3);
      await page.getByRole("link").first().hover();
      await page.getByRole("link").first().focus();
      await page.getByText("Details").click();
      await page.waitForLoadState("networkidle");
      expect(requests).toEqual([url]);
      expect(server.asked).toEqual([documentPath]);
      expect(complaints).toEqual([]);
    });

    it("is not told where the person comes from, when they follow a link to it", async () => {
      const { page } = await openStranger({ document: { client_uri: "https://editor.example/" } });
      const heard: Promise<Record<string, string>> = new Promise((resolve) => {
        void page.route("https://editor.example/", async (route) => {
          resolve(await route.request().allHeaders());
          await route.fulfill({ body: "about" });
        });
      });
      await page.getByRole("link").first().click();
      expect(await heard).not.toHaveProperty("referer");
    });

    it("gets the answer that the person gives, at the program on their device", async () => {
      const app = await startWebHost();
      const redirect = `${app.site.loopback}/callback`;
      const { page } = await openStranger({
        document: { redirect_uris: ["http://127.0.0.1/callback"] },
        fields: { redirect_uri: redirect },
      });
      await consentPage(page).allow.click();
      await until(() => page.url().startsWith(redirect));
      expect(await arrival(page)).toMatchObject({ code: expect.any(String) as string, state: "a state" });
    });
  },
});
