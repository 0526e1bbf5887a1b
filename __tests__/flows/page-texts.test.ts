import type { Response } from "supertest";
import type { PagesOptions } from "../../lib";
import { pageTextNames } from "../../lib/pages/merge-texts";
import { apis, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { documentServer } from "../servers/document-server";
import { signedIn, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { resumePath } from "../browser/interaction";
import {
  authorizeAs,
  nativeMetadata,
  registered,
  registrationHost,
  webMetadata,
} from "../requests/registration";
import { askAs, serveDocument, strangersHost } from "../browser/strangers";
import {
  asking,
  builtIn,
  consentLanguage,
  consentPageOf,
  errorPageOf,
  expectMarkupAsText,
  languageOf,
  languages,
  markup,
  withPages,
} from "../browser/pages";
import { deviceCodes, deviceHost, typeCode } from "../requests/device-requests";

stopClockForEachTest();

describe("texts of the host (RFC 6749 §10.2)", () => {
  it("stand over the built-in ones, which stay where the host has none", async () => {
    const host = withPages({ texts: { de: { allow: "Passt" } } });
    const page = await consentPageOf(host, asking("de"));
    expect(page.text).toContain(">Passt</button>");
    expect(page.text).toContain(">Nicht erlauben</button>");
  });

  it("leave other languages alone", async () => {
    const host = withPages({ texts: { de: { allow: "Passt" } } });
    expect((await consentPageOf(host)).text).toContain(">Allow</button>");
  });

  it("stand on error pages too", async () => {
    const host = withPages({ texts: { en: { errorTitle: "Oh no" } } });
    expect((await errorPageOf(host)).text).toContain("<h1>Oh no</h1>");
  });

  it("for errors stand on every error page, in place of what it would say itself", async () => {
    const host = withPages({ texts: { en: { errorTitle: "Oh no", errorAdvice: "Call us: {code}." } } });
    for (const page of [
      await host.browser().get(resumePath("A".repeat(22))),
      await forge(host),
      await host.browser().get("/allow"),
    ]) {
      expect(page.text).toContain("<h1>Oh no</h1>");
      expect(page.text).toMatch(/<p>Call us: <bdi>\w+<\/bdi>\.<\/p>/);
    }
  });

  it("for one kind of error stand before those for any", async () => {
    const host = withPages({ texts: { en: { errorTitle: "Oh no", lostTitle: "Too late" } } });
    const page = await host.browser().get(resumePath("A".repeat(22)));
    expect(page.text).toContain("<h1>Too late</h1>");
  });

  it("add a language, which is filled up in English", async () => {
    const host = withPages({ texts: { nl: { allow: "Toestaan" } } });
    const page = await consentPageOf(host, asking("nl-BE"));
    expect(languageOf(page)).toEqual(["nl", "ltr"]);
    expect(page.text).toContain(">Toestaan</button>");
    expect(page.text).toContain('><span lang="en" dir="ltr">Don’t allow</span></button>');
  });

  it("may be of a region: it comes before its language", async () => {
    const host = withPages({ texts: { "de-AT": { allow: "Passt" } } });
    expect(await consentLanguage(host, asking("de-at"))).toBe("de-AT");
    expect(await consentLanguage(host, asking("de-CH"))).toBe("de");
  });

  it("count whatever the case of their language (RFC 5646 §2.1.1)", async () => {
    const host = withPages({ texts: { DE: { allow: "Passt" } } });
    expect((await consentPageOf(host, asking("de"))).text).toContain(">Passt</button>");
  });

  it("may leave out a place", async () => {
    const host = withPages({ texts: { en: { consentTitle: "Do you agree?" } } });
    const page = await consentPageOf(host);
    expect(page.text).toContain("<h1>Do you agree?</h1>");
    expect(page.text).toContain("<title>Do you agree?</title>");
  });

  it("may have a place twice", async () => {
    const host = withPages({ texts: { en: { consentTitle: "{client}, {client}" } } });
    const page = await consentPageOf(host);
    expect(page.text).toContain("<h1><bdi>Web Shop</bdi>, <bdi>Web Shop</bdi></h1>");
  });

  it.each(["{nothing}", "{__proto__}", "{constructor}", "{toString}", "{user}", "{}", "{client", "$&"])(
    "say %s as it is, for it is no place there",
    async (place) => {
      const host = withPages({ texts: { en: { consentTitle: `Allow ${place}?` } } });
      const page = await consentPageOf(host);
      expect(page.text).toContain(`<h1>Allow ${place.replace("&", "&amp;")}?</h1>`);
    },
  );

  it.each(["allow", "errorTitle"] as const)("count as left out when undefined: %s", async (name) => {
    const texts = { en: { [name]: undefined } } as unknown as NonNullable<PagesOptions["texts"]>;
    const host = withPages({ texts });
    const page = name === "allow" ? await consentPageOf(host) : await errorPageOf(host);
    expect(page.status).toBe(name === "allow" ? 200 : 400);
    expect(page.text).toContain(builtIn["en"]?.[name]);
  });
});

describe("names on a page (RFC 6749 §10.2)", () => {
  const rtlName = "עליסה <3";

  it.each(languages)("are kept apart from a text of another direction: %s", async (language) => {
    const host = testHost({ clients: [{ ...clients.web, name: "متجر" }] });
    host.session = { ...signedIn, displayName: rtlName };
    const page = await consentPageOf(host, asking(language));
    expect(page.text).toContain("<bdi>עליסה &lt;3</bdi>");
    expect(page.text).toContain("<bdi>متجر</bdi>");
  });

  it("stand in the title, which has no elements, without their own", async () => {
    const host = testHost({ clients: [{ ...clients.web, name: "<bdi>x</bdi>" }] });
    const [, title] = /<title>(.*)<\/title>/.exec((await consentPageOf(host)).text) ?? [];
    expect(title).toBe("Allow &lt;bdi&gt;x&lt;/bdi&gt; to access Orders?");
  });

  it.each(["{api}", "{user}", "$1", "$&"])("are not read as a place or a pattern: %s", async (name) => {
    const host = testHost({ clients: [{ ...clients.web, name }] });
    const page = await consentPageOf(host);
    expect(page.text).toContain(`<h1>Allow <bdi>${name.replace("&", "&amp;")}</bdi> to access`);
  });

  it("of the host are on top of every page", async () => {
    const host = withPages({ name: "Muster & Co" });
    expect((await consentPageOf(host)).text).toContain("<header>Muster &amp; Co</header>");
    expect((await errorPageOf(host)).text).toContain("<header>Muster &amp; Co</header>");
  });

  it("of the host need not be there", async () => {
    expect((await consentPageOf(testHost())).text).not.toContain("<header>");
  });
});

/** A consent form from another site. */
function forge(host: TestHost): Promise<Response> {
  return host.browser().post(`${pairPath()}/authorize/consent`, {}, { Origin: "https://evil.example" });
}

/** A page that shows this text. */
async function pageWith(name: string, host: TestHost): Promise<Response> {
  if (name.startsWith("error")) return errorPageOf(host);
  if (name.startsWith("lost")) return host.browser().get(resumePath("A".repeat(22)));
  if (name.startsWith("answer")) return forge(host);
  // nothing listens at this port
  if (name.startsWith("unreached"))
    return askAs(host.browser(), { clientId: "http://127.0.0.1:9/client.json" });
  // auth.approve refuses a GET as a mistake of the host
  return name.startsWith("failure") ? host.browser().get("/allow") : consentPageOf(host);
}

describe("markup is text (RFC 9700 §4.16)", () => {
  const orders = { ...apis["orders"]!, name: markup };
  const described = { ...apis["orders"]!, scopes: { "orders:read": markup, "orders:write": "Write" } };
  const explained = {
    ...described,
    scopes: { "orders:read": { text: "Read", explanation: markup }, "orders:write": "Write" },
  };
  const inLanguages = { ...described, scopes: { "orders:read": { en: markup }, "orders:write": "Write" } };

  it.each<[string, TestHostOptions]>([
    ["the host's name", { pages: { name: markup } }],
    ["a client's name", { clients: [{ ...clients.web, name: markup }] }],
    ["an API's name", { apis: { ...apis, orders } }],
    ["a scope's sentence", { apis: { ...apis, orders: described } }],
    ["a scope's sentence of a language", { apis: { ...apis, orders: inLanguages } }],
    ["a scope's explanation", { apis: { ...apis, orders: explained } }],
  ])("in %s", async (_, options) => {
    expectMarkupAsText(await consentPageOf(testHost(options)));
  });

  it("in a person's name", async () => {
    const host = testHost();
    host.session = { ...signedIn, displayName: markup };
    expectMarkupAsText(await consentPageOf(host));
  });

  it.each(["unchecked", "firstVisit", "thisDevice"])("in the host's text %s", async (name) => {
    const host = registrationHost({}, { pages: { texts: { en: { [name]: markup } } } });
    expectMarkupAsText(await authorizeAs(host.browser(), await registered(host, nativeMetadata)));
  });

  it("in the host's text otherSite", async () => {
    const host = registrationHost({}, { pages: { texts: { en: { otherSite: markup } } } });
    const client = await registered(host, { ...webMetadata, token_endpoint_auth_method: "none" });
    expectMarkupAsText(await authorizeAs(host.browser(), client));
  });

  it("in the host's text uncheckedFrom, and in a name and a document of a stranger", async () => {
    const server = await documentServer();
    const host = strangersHost({ pages: { texts: { en: { uncheckedFrom: markup } } } });
    expectMarkupAsText(await askAs(host.browser(), { clientId: serveDocument(server) }));
    const named = strangersHost();
    const clientId = serveDocument(server, { client_name: markup });
    expectMarkupAsText(await askAs(named.browser(), { clientId }));
    await server.close();
  });

  // what posts an answer runs a script: endpoints/form-post. The page of those who have signed out: openid/sign-out
  const elsewhere = ["unchecked", "uncheckedFrom", "firstVisit", "thisDevice", "otherSite", "goOn"];
  const ofDevices = pageTextNames.filter((name) => name.startsWith("device"));
  const ofOthers = pageTextNames.filter(
    (name) => ![...elsewhere, ...ofDevices].includes(name) && !name.startsWith("signedOut"),
  );

  it.each(ofDevices)("in the host's text %s", async (name) => {
    const host = deviceHost({ pages: { texts: { en: { [name]: markup } } } });
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const consent = await typeCode(browser, codes);
    const other = host.browser();
    const late = await typeCode(other, codes);
    const pages = [
      await typeCode(browser, { user_code: "wrong" }),
      consent,
      await browser.answer(consent, "approve"),
      await browser.answer(await typeCode(browser, await deviceCodes(host)), "deny"),
      await other.answer(late, "approve"),
    ];
    const shown = pages.filter(({ text }) => text.includes("alert(1)"));
    expect(shown).not.toEqual([]);
    shown.forEach(expectMarkupAsText);
  });

  it.each(ofOthers)("in the host's text %s", async (name) => {
    const links = {
      clientUri: "https://a.example/",
      policyUri: "https://a.example/",
      tosUri: "https://a.example/",
    };
    const host = strangersHost({
      clients: [{ ...clients.web, ...links }],
      pages: { texts: { en: { [name]: markup } } },
    });
    expectMarkupAsText(await pageWith(name, host));
  });
});
