// What the consent page says of clients that nobody registered, and that it says nothing of the others.
import type { Response } from "supertest";
import { apis } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { documentServer, type DocumentServer } from "../servers/document-server";
import { type TestHost, testHost } from "../hosts/host";
import { consentPageOf } from "../browser/pages";
import {
  authorizeAs,
  nativeMetadata,
  registered,
  registrationHost,
  webMetadata,
} from "../requests/registration";
import { askAs, serveDocument, strangersHost } from "../browser/strangers";

let server: DocumentServer;

beforeEach(async () => {
  server = await documentServer();
});

afterEach(() => server.close());

/** The paragraphs of the warning as text, `<bdi>` and all. */
function warningOf({ text }: Response): readonly string[] {
  const [, warning = ""] = /<div class="warning"[^>]*>(.*?)<\/div>/.exec(text) ?? [];
  return [...warning.matchAll(/<p>(.*?)<\/p>/g)].map(([, line = ""]) => line);
}

/** A page without what is new in every answer. */
function lasting({ text }: Response): string {
  return text.replaceAll(/name="(interaction|form_token)" value="[^"]+"/g, 'name="$1"');
}

const publicWeb = { ...webMetadata, token_endpoint_auth_method: "none" };
const registeredByItself = "This site hasn’t verified this app. Anyone can use this name.";
const firstVisit = "You haven’t used this app here before.";
const thisDevice =
  "Your answer will be sent to an app on this device. This site can’t tell which one. Allow access only if you just started this yourself, in an app you trust.";
const otherSite =
  "Your answer will be sent to <bdi>https://app.example</bdi>. Allow access only if you know and trust that site.";

describe("the warning of a client that nobody registered (RFC 7591 §5, RFC 6749 §10.2)", () => {
  it("names the host of its document, which is proven", async () => {
    const page = await askAs(strangersHost().browser(), { clientId: serveDocument(server) });
    const host = new URL(server.url("/")).host;
    expect(warningOf(page)).toEqual([
      `${registeredByItself} Check where this app comes from: <bdi>${host}</bdi>.`,
      firstVisit,
      thisDevice,
    ]);
  });

  it("names the site that gets the answer", async () => {
    const host = registrationHost();
    const page = await authorizeAs(host.browser(), await registered(host, publicWeb));
    expect(warningOf(page)).toEqual([registeredByItself, firstVisit, otherSite]);
  });

  it.each(["http://127.0.0.1/callback", "http://[::1]/callback", "com.example.app:/callback"])(
    "says that %s is a program on this device",
    async (redirectUri) => {
      const host = registrationHost();
      const client = await registered(host, { ...nativeMetadata, redirect_uris: [redirectUri] });
      expect(warningOf(await authorizeAs(host.browser(), client))).toContain(thisDevice);
    },
  );

  it("says so also at the next visit, but no longer that it is the first", async () => {
    const host = registrationHost();
    const client = await registered(host, nativeMetadata);
    const browser = host.browser();
    const answer = await browser.answer(await authorizeAs(browser, client), "approve");
    expect(redirectParameters(answer)).toHaveProperty("code");
    expect(warningOf(await authorizeAs(browser, client))).toEqual([registeredByItself, thisDevice]);
  });

  it("leaves out its name, which could be a sentence that speaks as the site", async () => {
    const clientId = serveDocument(server, { client_name: "Editor. It comes from your-bank.example" });
    const page = await askAs(strangersHost().browser(), { clientId });
    expect(page.text).toContain("your-bank.example");
    expect(warningOf(page).join()).not.toContain("your-bank.example");
  });

  it("is described to whoever comes to Allow, and stands ahead of every button", async () => {
    const { text } = await askAs(strangersHost().browser(), { clientId: serveDocument(server) });
    expect(text).toContain('value="approve" aria-describedby="warning"');
    expect(text.indexOf('id="warning"')).toBeGreaterThan(text.indexOf("<h1>"));
    expect(text.indexOf('id="warning"')).toBeLessThan(text.indexOf("<button"));
  });

  it("is given to the host's render, line by line", async () => {
    const shown: unknown[] = [];
    const host = strangersHost({
      pages: {
        render(page) {
          if (page.kind === "consent") shown.push(page.warnings);
          return "<!doctype html>";
        },
      },
    });
    await askAs(host.browser(), { clientId: serveDocument(server) });
    expect(shown).toEqual([[expect.stringContaining(registeredByItself), firstVisit, thisDevice]]);
  });
});

/** A host with both doors open. */
function openHost(): TestHost {
  const clientRegistration = { approve: () => ({ kind: "approved" }) as const };
  const clientMetadataDocuments = { accept: () => ({ kind: "accepted" }) as const };
  return testHost({
    apis: { ...apis, orders: { ...apis["orders"]!, clientRegistration, clientMetadataDocuments } },
  });
}

describe("the page of a registered client (RFC 6749 §10.2)", () => {
  it("is the same to the byte, whether the API lets in others or not", async () => {
    const page = await consentPageOf(openHost());
    expect(page.status).toBe(200);
    expect(lasting(page)).toBe(lasting(await consentPageOf(testHost())));
    expect(page.headers["content-security-policy"]).toBe(
      (await consentPageOf(testHost())).headers["content-security-policy"],
    );
  });

  it("has no warning, and no empty line in its place", async () => {
    const { text } = await authorize(openHost().browser(), { client: "web" });
    const main = text.slice(text.indexOf("<main>"));
    expect(main).not.toContain("warning");
    expect(main).toMatch(/<\/h1>\n<div class="person">/);
    expect(main).toMatch(/<\/div>\n<form [^\n]*\n<fieldset>/);
  });
});

/** But for where the form may lead, which is the client's own. */
function policyOf({ headers }: Response): string {
  return (headers["content-security-policy"] as string).replace(/form-action .*/, "");
}

describe("the headers of a stranger's page (RFC 9700 §4.16)", () => {
  it("are those of every consent page, but for where its form may lead", async () => {
    const clientId = serveDocument(server, { logo_uri: server.url("/logo.png") });
    const page = await askAs(strangersHost().browser(), { clientId });
    const usual = await consentPageOf(testHost());
    expect(policyOf(page)).toBe(policyOf(usual));
    expect(policyOf(page)).not.toContain("img-src");
    expect(page.headers["x-frame-options"]).toBe("DENY");
  });
});
