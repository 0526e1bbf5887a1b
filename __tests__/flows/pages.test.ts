import { createHash } from "node:crypto";
import * as fc from "fast-check";
import type { Response } from "supertest";
import {
  type Authentication,
  type ConsentAnswer,
  memoryStorage,
  type PageContent,
  type PagesOptions,
} from "../../lib";
import { mergeTexts, pageTextNames, type PageTexts } from "../../lib/pages/page-texts";
import { type Browser, type Fields, formFields } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  apis,
  authorizationParameters,
  clients,
  origin,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
  type TestHostOptions,
} from "../fixture/host";
import { redirectParameters } from "../fixture/journey";
import { watchWrites } from "../fixture/slow-storage";

beforeEach(() => void stopClock());
afterEach(() => jest.restoreAllMocks());

const issuer = `${origin}${pairPath()}`;
const builtIn = mergeTexts();
const languages = Object.keys(builtIn);
const logo = "data:image/png;base64,iVBORw0KGgo=";
const svgLogo = "data:image/svg+xml;base64,PHN2Zy8+";
const markup = `<img src=x onerror=alert(1)>"'&</title></style><script>alert(2)</script>`;
const escapedMarkup =
  "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;&lt;/title&gt;&lt;/style&gt;&lt;script&gt;alert(2)&lt;/script&gt;";

interface Visit {
  readonly browser?: Browser;
  readonly fields?: Fields;
  readonly headers?: Record<string, string>;
}

function consentPageOf(
  host: TestHost,
  { browser = host.browser(), fields = {}, headers = {} }: Visit = {},
): Promise<Response> {
  const path = `${pairPath()}/authorize`;
  return browser.get(path, { ...authorizationParameters("web"), ...fields }, headers);
}

function errorPageOf(host: TestHost, { fields = {}, ...visit }: Visit = {}): Promise<Response> {
  return consentPageOf(host, { ...visit, fields: { client_id: "nobody", ...fields } });
}

function withPages(pages: PagesOptions): TestHost {
  return testHost({ pages });
}

/** The language and the direction that a page says it is in. */
function languageOf({ text }: Response): readonly [string | undefined, string | undefined] {
  const [, language, direction] = /<html lang="([^"]*)" dir="([^"]*)">/.exec(text) ?? [];
  return [language, direction];
}

async function consentLanguage(host: TestHost, visit: Visit): Promise<string | undefined> {
  const page = await consentPageOf(host, visit);
  expect(page.status).toBe(200);
  return languageOf(page)[0];
}

const accepting = (value: string): Visit => ({ headers: { "Accept-Language": value } });
const asking = (value: string): Visit => ({ fields: { ui_locales: value } });

/** The names of the places in each text. */
function placesOf(texts: PageTexts | undefined): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries({ ...texts }).map(([name, text]) => [
      name,
      [...text.matchAll(/\{(\w+)\}/g)].map(([, place = ""]) => place).toSorted(),
    ]),
  );
}

function directives({ headers }: Response): Readonly<Record<string, string>> {
  const policy = headers["content-security-policy"] as string;
  return Object.fromEntries(
    policy.split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ");
      return [name, sources.join(" ")];
    }),
  );
}

function stylesOf({ text }: Response): readonly string[] {
  return [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(([, style = ""]) => style);
}

function hashSource(style: string): string {
  return `'sha256-${createHash("sha256").update(style).digest("base64")}'`;
}

describe("the language of a page (OpenID Connect Core §3.1.2.1, RFC 9110 §12.5.4)", () => {
  it.each(languages)("is %s when the client asks for it", async (language) => {
    expect(await consentLanguage(testHost(), asking(language))).toBe(language);
  });

  it.each(languages)("is %s when the browser does", async (language) => {
    expect(await consentLanguage(testHost(), accepting(language))).toBe(language);
    expect(languageOf(await errorPageOf(testHost(), accepting(language)))[0]).toBe(language);
  });

  it("is English when nobody asks for one", async () => {
    expect(await consentLanguage(testHost(), {})).toBe("en");
  });

  it.each([
    ["the heaviest", "fr;q=0.5, de;q=0.9, ar;q=0.1", "de"],
    ["one without weight, which is 1", "fr;q=0.9, de", "de"],
    ["the first of equal weight", "fr, de", "fr"],
    ["the next when there is none in the heaviest", "nl, sv;q=0.9, fr;q=0.1", "fr"],
    ["none of weight 0", "de;q=0", "en"],
    ["with spaces around everything", " fr ; q=0.1 ,  de ; q=0.2 ", "de"],
    ["in upper case", "DE-AT", "de"],
    ["English for any language", "*", "en"],
    ["a named one before any language", "*;q=0.1, de;q=0.8", "de"],
    ["none that only begins alike", "den, fra", "en"],
  ])("is chosen from Accept-Language: %s", async (_, value, language) => {
    expect(await consentLanguage(testHost(), accepting(value))).toBe(language);
  });

  it("is what the client asks for before what the browser does", async () => {
    const visit = { ...asking("fr"), ...accepting("de") };
    expect(await consentLanguage(testHost(), visit)).toBe("fr");
  });

  it("is the browser's when there is none of the client's", async () => {
    const visit = { ...asking("nl sv"), ...accepting("de") };
    expect(await consentLanguage(testHost(), visit)).toBe("de");
  });

  it("is the first of the client's that there is", async () => {
    expect(await consentLanguage(testHost(), asking("nl ar de"))).toBe("ar");
  });

  it.each([
    ["de-AT", "de"],
    ["fr-Latn-CA", "fr"],
    ["ar-EG-u-nu-latn", "ar"],
    ["nl-BE", "en"],
  ])("for %s is %s", async (wanted, language) => {
    expect(await consentLanguage(testHost(), asking(wanted))).toBe(language);
    expect(await consentLanguage(testHost(), accepting(wanted))).toBe(language);
  });

  it.each([
    ["empty", ""],
    ["nothing but separators", ";;"],
    ["nothing but commas", ",,,"],
    ["a weight that is no number", "de;q=abc"],
    ["a weight below nothing", "de;q=-1"],
    ["a weight without a language", ";q=1"],
    ["10,000 characters", "x".repeat(10_000)],
    ["10,000 characters of separators", ",;".repeat(5_000)],
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    ["toString-x", "toString-x"],
    ["markup", `"><script>`],
  ])("is English for an Accept-Language that says nothing: %s", async (_, value) => {
    expect(await consentLanguage(testHost(), accepting(value))).toBe("en");
    const error = await errorPageOf(testHost(), accepting(value));
    expect(error.status).toBe(400);
    expect(languageOf(error)[0]).toBe("en");
  });

  it.each(["", " ", "__proto__", "constructor", "-", `"><script>`])(
    "is English for the ui_locales %j",
    async (value) => {
      expect(await consentLanguage(testHost(), asking(value))).toBe("en");
    },
  );

  it("stays what the client asked for when the page is shown anew", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await consentPageOf(host, { browser, ...asking("fr") });
    const anew = await browser.answer(page, "approve", { form_token: "A".repeat(43) });
    expect(anew.status).toBe(200);
    expect(languageOf(anew)[0]).toBe("fr");
  });

  it("is given with its direction", async () => {
    const said = await Promise.all(
      languages.map(async (language) => languageOf(await consentPageOf(testHost(), asking(language)))),
    );
    expect(said).toEqual([
      ["en", "ltr"],
      ["de", "ltr"],
      ["fr", "ltr"],
      ["ar", "rtl"],
    ]);
  });

  it("is chosen from ui_locales on an error page too", async () => {
    const page = await errorPageOf(testHost(), { fields: { ui_locales: "ar fr" }, ...accepting("de") });
    expect(languageOf(page)).toEqual(["ar", "rtl"]);
  });

  it("is given with its direction on an error page", async () => {
    expect(languageOf(await errorPageOf(testHost(), accepting("ar-EG")))).toEqual(["ar", "rtl"]);
  });

  it("leaves the description of an error in English, and says so", async () => {
    const page = await errorPageOf(testHost(), accepting("ar"));
    expect(page.text).toContain('<p lang="en" dir="ltr">The client is unknown.</p>');
  });

  it.each(["he", "fa-IR", "ur", "HE"])("is from right to left in the host's own %s", async (language) => {
    const host = withPages({ texts: { [language]: { allow: "x" } } });
    expect(languageOf(await consentPageOf(host, asking(language)))).toEqual([language, "rtl"]);
  });
});

describe("the built-in texts (RFC 6749 §10.2)", () => {
  const translated = languages.filter((language) => language !== "en");

  it.each(translated)("are all there in %s", (language) => {
    const english: Record<string, string> = { ...builtIn["en"] };
    const missing = Object.entries({ ...builtIn[language] }).filter(
      ([name, text]) => text === "" || text === english[name],
    );
    expect(missing).toEqual([]);
  });

  it.each(translated)("have the places of the English ones in %s", (language) => {
    expect(placesOf(builtIn[language])).toEqual(placesOf(builtIn["en"]));
  });

  it.each(languages)("leave no place open in %s", async (language) => {
    const visit = { ...asking(language), ...accepting(language) };
    for (const page of [await consentPageOf(testHost(), visit), await errorPageOf(testHost(), visit)]) {
      expect(page.text.replace(/<style>[^]*<\/style>/, "")).not.toMatch(/[{}]|undefined/);
    }
  });

  it.each(languages.flatMap((language) => [[language, "approve"] as const, [language, "deny"] as const]))(
    "lead to an answer in %s: %s",
    async (language, decision) => {
      const host = testHost();
      const browser = host.browser();
      const page = await consentPageOf(host, { browser, ...asking(language) });
      const answer = redirectParameters(await browser.answer(page, decision));
      if (decision === "approve") expect(answer["code"]).toBeDefined();
      else expect(answer["error"]).toBe("access_denied");
    },
  );
});

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

  it("add a language, which is filled up in English", async () => {
    const host = withPages({ texts: { nl: { allow: "Toestaan" } } });
    const page = await consentPageOf(host, asking("nl-BE"));
    expect(languageOf(page)).toEqual(["nl", "ltr"]);
    expect(page.text).toContain(">Toestaan</button>");
    expect(page.text).toContain(">Do not allow</button>");
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
    expect(title).toBe("Allow &lt;bdi&gt;x&lt;/bdi&gt; to use Orders for you?");
  });

  it.each(["{api}", "{user}", "$1", "$&"])("are not read as a place or a pattern: %s", async (name) => {
    const host = testHost({ clients: [{ ...clients.web, name }] });
    const page = await consentPageOf(host);
    expect(page.text).toContain(`<h1>Allow <bdi>${name.replace("&", "&amp;")}</bdi> to use`);
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

function expectMarkupAsText({ text }: Response): void {
  expect(text).toContain(escapedMarkup);
  expect(text).not.toMatch(/<img|<script/);
  expect(text.match(/<\/title>/g)).toHaveLength(1);
  expect(text.match(/<\/style>/g)).toHaveLength(1);
}

describe("markup is text (RFC 9700 §4.16)", () => {
  const orders = { ...apis["orders"]!, name: markup };
  const described = { ...apis["orders"]!, scopes: { "orders:read": markup, "orders:write": "Write" } };
  const inLanguages = { ...described, scopes: { "orders:read": { en: markup }, "orders:write": "Write" } };

  it.each<[string, TestHostOptions]>([
    ["the host's name", { pages: { name: markup } }],
    ["a client's name", { clients: [{ ...clients.web, name: markup }] }],
    ["an API's name", { apis: { ...apis, orders } }],
    ["a scope's sentence", { apis: { ...apis, orders: described } }],
    ["a scope's sentence of a language", { apis: { ...apis, orders: inLanguages } }],
  ])("in %s", async (_, options) => {
    expectMarkupAsText(await consentPageOf(testHost(options)));
  });

  it("in a person's name", async () => {
    const host = testHost();
    host.session = { ...signedIn, displayName: markup };
    expectMarkupAsText(await consentPageOf(host));
  });

  it.each(pageTextNames)("in the host's text %s", async (name) => {
    const links = {
      clientUri: "https://a.example/",
      policyUri: "https://a.example/",
      tosUri: "https://a.example/",
    };
    const host = testHost({
      clients: [{ ...clients.web, ...links }],
      pages: { texts: { en: { [name]: markup } } },
    });
    expectMarkupAsText(name.startsWith("error") ? await errorPageOf(host) : await consentPageOf(host));
  });
});

describe("scope sentences by language (RFC 6749 §10.2)", () => {
  const sentences = { en: "See them", de: "Sie sehen", ar: "رؤيتها" };
  const sentencesOfWrite = { "orders:write": "Change them" };
  const options: TestHostOptions = {
    apis: {
      ...apis,
      orders: { ...apis["orders"]!, scopes: { ...sentencesOfWrite, "orders:read": sentences } },
    },
  };
  const fields = { scope: "orders:read orders:write" };

  it.each([
    ["de", "Sie sehen"],
    ["de-AT", "Sie sehen"],
    ["ar", "رؤيتها"],
    ["en", "See them"],
    ["nl", "See them"],
    ["__proto__", "See them"],
    ["constructor", "See them"],
  ])("for %s: %s", async (language, sentence) => {
    const asked = await consentPageOf(testHost(options), { fields: { ...fields, ui_locales: language } });
    const accepted = await consentPageOf(testHost(options), { ...accepting(language), fields });
    for (const page of [asked, accepted]) {
      expect(page.text).toContain(`<span>${sentence}</span>`);
      expect(page.text).toContain("<span>Change them</span>");
    }
  });

  it("may be in a language that the page is not in", async () => {
    const orders = {
      ...apis["orders"]!,
      scopes: { ...sentencesOfWrite, "orders:read": { en: "See them", nl: "Ze zien" } },
    };
    const page = await consentPageOf(testHost({ apis: { ...apis, orders } }), asking("nl de"));
    expect(languageOf(page)[0]).toBe("de");
    expect(page.text).toContain("<span>Ze zien</span>");
  });

  const told = { "orders:read": "Sie sehen", "orders:write": "Change them" };
  const german = { fields: { ...fields, ui_locales: "de-AT" } };

  it("are what authenticate is told", async () => {
    const heard: unknown[] = [];
    const method = {
      authenticate: ({ scopes }: { scopes: object }): Authentication => {
        heard.push(scopes);
        return signedIn;
      },
    };
    const authMethods = { password: method, otp: method, sso: method };
    const host = testHost({ ...options, authMethods });
    await consentPageOf(host, german);
    await consentPageOf(host, { ...accepting("de"), fields });
    expect(heard).toEqual([told, told]);
  });

  it("are what decide is told", async () => {
    const heard: unknown[] = [];
    const consent = {
      decide: ({ scopes }: { scopes: object }): ConsentAnswer => {
        heard.push(scopes);
        return { kind: "ask" };
      },
    };
    const host = testHost({ ...options, consent });
    await consentPageOf(host, german);
    await consentPageOf(host, { ...accepting("de"), fields });
    expect(heard).toEqual([told, told]);
  });

  it.each([
    ["ui_locales", german, {}],
    ["Accept-Language", { fields }, { "Accept-Language": "de" }],
  ])("are what auth.interaction gives, by %s", async (_, visit, headers) => {
    const host = testHost(options);
    host.session = signedOut;
    const browser = host.browser();
    const redirect = await consentPageOf(host, { browser, ...visit });
    const page = await browser.get(redirect.headers["location"] as string, {}, headers);
    expect((page.body as { scopes: unknown }).scopes).toEqual(told);
  });

  it("belong to the scope that their checkbox grants, whatever the scope is called", async () => {
    const orders = {
      ...apis["orders"]!,
      scopes: { ...sentencesOfWrite, "1": "Read", "2": "Delete" },
      defaultScopes: [],
    };
    const host = testHost({ apis: { ...apis, orders } });
    const browser = host.browser();
    const page = await consentPageOf(host, { browser, fields: { scope: "2 1" } });
    const [, field = ""] = /name="(scope_\d)"[^>]*> <span>Read</.exec(page.text) ?? [];
    const { scope_0: _first, scope_1: _second, ...form } = formFields(page.text);
    await browser.post(`${pairPath()}/authorize/consent`, { ...form, [field]: "on", decision: "approve" });
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", scopes: ["1"] });
  });
});

describe("logos (RFC 7591 §2, RFC 9700 §4.16)", () => {
  it("of the host is on top of every page, with an empty alt", async () => {
    const host = withPages({ name: "Muster", logo });
    const header = `<header><img src="${logo}" alt="">Muster</header>`;
    expect((await consentPageOf(host)).text).toContain(header);
    expect((await errorPageOf(host)).text).toContain(header);
  });

  it("of the host needs no name", async () => {
    expect((await consentPageOf(withPages({ logo }))).text).toContain(
      `<header><img src="${logo}" alt=""></header>`,
    );
  });

  it("of the client is on its consent page, with an empty alt", async () => {
    const host = testHost({ clients: [{ ...clients.web, logo: svgLogo }] });
    expect((await consentPageOf(host)).text).toContain(`<img src="${svgLogo}" alt="">`);
  });

  it("of both are both there", async () => {
    const host = testHost({ pages: { logo }, clients: [{ ...clients.web, logo: svgLogo }] });
    const images = [...(await consentPageOf(host)).text.matchAll(/<img src="([^"]*)" alt="">/g)];
    expect(images.map(([, source]) => source)).toEqual([logo, svgLogo]);
  });

  it.each<[string, TestHostOptions]>([
    ["the host", { pages: { logo } }],
    ["the client", { clients: [{ ...clients.web, logo }] }],
  ])("of %s open the CSP for data: images", async (_, options) => {
    expect(directives(await consentPageOf(testHost(options)))["img-src"]).toBe("data:");
  });

  it("that are not there leave the CSP closed", async () => {
    const host = testHost({ clients: [{ ...clients.web, name: `src="data:` }] });
    host.session = { ...signedIn, displayName: `src="data:` };
    expect(directives(await consentPageOf(host))).not.toHaveProperty("img-src");
    expect(directives(await errorPageOf(host))).not.toHaveProperty("img-src");
  });

  it("of the client is what auth.interaction gives", async () => {
    const host = testHost({ clients: [{ ...clients.web, logo }] });
    host.session = signedOut;
    const browser = host.browser();
    const page = await browser.follow(await consentPageOf(host, { browser }));
    expect(page.body).toMatchObject({ client: { clientId: "web", logo } });
  });
});

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const long = color.length === 4 ? color.replaceAll(/[^#]/g, "$&$&") : color;
  const [red = 0, green = 0, blue = 0] = (long.match(/[0-9a-f]{2}/gi) ?? []).map((part) => {
    const value = Number.parseInt(part, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) throw new Error("a colour is missing");
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((one, other) => other - one);
  return (light + 0.05) / (dark + 0.05);
}

type Colors = Readonly<Record<string, string>>;

/** The colours by name, in light and in dark. */
function colorsOf(page: Response): Readonly<Record<"light" | "dark", Colors>> {
  const roots = [
    ...stylesOf(page)
      .join("")
      .matchAll(/:root \{([^}]*)\}/g),
  ];
  const [light = {}, dark = {}] = roots.map(([, rules = ""]): Colors =>
    Object.fromEntries(
      [...rules.matchAll(/--([\w-]+): (#[0-9a-fA-F]{3,6})\b/g)].map(([, name = "", color = ""]) => [
        name,
        color,
      ]),
    ),
  );
  return { light, dark };
}

describe("colours (WCAG 2.2 §1.4.3, §1.4.11)", () => {
  it.each(["light", "dark"] as const)("can be read in %s", async (scheme) => {
    const colors = colorsOf(await consentPageOf(testHost()))[scheme];
    expect(contrast(colors["ink"], colors["paper"])).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colors["soft"], colors["paper"])).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colors["line"], colors["paper"])).toBeGreaterThanOrEqual(3);
    expect(contrast(colors["on-accent"], colors["accent"])).toBeGreaterThanOrEqual(4.5);
  });

  it("are used by these names", async () => {
    const style = stylesOf(await consentPageOf(testHost())).join("");
    expect(style).toContain("background: var(--paper); color: var(--ink)");
    expect(style).toContain("button.primary { background: var(--accent); color: var(--on-accent)");
    expect(style).toContain(".soft { color: var(--soft) }");
  });

  it("of the host are the main button's, in light and dark", async () => {
    const { light, dark } = colorsOf(await consentPageOf(withPages({ accentColor: "#C0ffee" })));
    expect([light["accent"], dark["accent"]]).toEqual(["#C0ffee", "#C0ffee"]);
  });

  it("of the host never make the main button's text hard to read", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const color = fc.integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, "0")}`);
    // a failure is reported with its seed
    await fc.assert(
      fc.asyncProperty(color, async (accentColor) => {
        const page = await consentPageOf(testHost({ storage, pages: { accentColor } }));
        for (const colors of Object.values(colorsOf(page))) {
          expect(colors["accent"]).toBe(accentColor);
          expect(contrast(colors["on-accent"], colors["accent"])).toBeGreaterThanOrEqual(4.5);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("what a page is made of (RFC 9700 §4.16)", () => {
  const scopes = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [
      index === 0 ? "orders:write" : `orders:${index}`,
      Object.fromEntries(
        languages.map((language) => [language, `${language} ${"sentence ".repeat(8)}${index}`]),
      ),
    ]),
  );
  const orders = { ...apis["orders"]!, scopes, defaultScopes: [] };
  const fields = { scope: Object.keys(scopes).join(" ") };
  const full = (): TestHost => testHost({ apis: { ...apis, orders }, pages: { name: "Muster" } });

  it.each(languages)("is less than 15 KB with ten scopes: %s", async (language) => {
    const page = await consentPageOf(full(), { fields: { ...fields, ui_locales: language } });
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(10);
    expect(Buffer.byteLength(page.text)).toBeLessThan(15_000);
    expect(Buffer.byteLength((await errorPageOf(full(), accepting(language))).text)).toBeLessThan(15_000);
  });

  it.each<[string, (host: TestHost) => Promise<Response>]>([
    ["a consent page", (host) => consentPageOf(host)],
    ["an error page", (host) => errorPageOf(host)],
  ])("is no script, no style attribute and nothing to request: %s", async (_, visit) => {
    const { text } = await visit(testHost({ pages: { name: "Muster", accentColor: "#123456" } }));
    expect(text).not.toMatch(/<script|javascript:|\son\w+=/i);
    expect(text).not.toMatch(/\sstyle=/i);
    expect(text).not.toMatch(
      /\ssrc=|<link|<iframe|<object|<embed|@import|url\(|http-equiv|srcset|@font-face/i,
    );
  });

  it.each<[string, PagesOptions]>([
    ["built in", {}],
    ["in the host's colour", { accentColor: "#abcdef" }],
  ])("is allowed by the CSP with its one style, by hash: %s", async (_, pages) => {
    for (const page of [await consentPageOf(withPages(pages)), await errorPageOf(withPages(pages))]) {
      expect(stylesOf(page)).toHaveLength(1);
      expect(directives(page)["style-src"]).toBe(hashSource(stylesOf(page)[0] ?? ""));
    }
  });

  it("is allowed by the CSP and nothing else is", async () => {
    const page = await consentPageOf(testHost());
    expect(directives(page)).toEqual({
      "default-src": "'none'",
      "style-src": hashSource(stylesOf(page)[0] ?? ""),
      "base-uri": "'none'",
      "frame-ancestors": "'none'",
      "form-action": "'self' https:",
    });
  });
});

/** Pages of the host's own making, and what it was told. */
function rendering(): { readonly pages: PagesOptions; readonly contents: PageContent[] } {
  const contents: PageContent[] = [];
  const style = "<style>h1 { color: #123456 }</style><style>\np { margin: 0 }\n</style>";
  const head = `<!doctype html><meta charset="utf-8"><title>Own</title>${style}`;
  const render = (content: PageContent): string => {
    contents.push(content);
    if (content.kind === "error") return `${head}<h1>${content.title}</h1><p>Own: ${content.code}</p>`;
    const boxes = content.scopes.map(
      ({ field, sentence }) => `<input type="checkbox" name="${field}" value="on" checked>${sentence}`,
    );
    return `${head}<h1>${content.title}</h1><form method="post" action="${content.action}">
${content.hiddenInputs}${boxes.join("")}
<button name="decision" value="approve">${content.allow}</button>
<button name="decision" value="deny">${content.deny}</button></form>`;
  };
  return { pages: { render }, contents };
}

describe("pages of the host's own rendering (RFC 6749 §10.2)", () => {
  it("is told what a consent page shows", async () => {
    const { pages, contents } = rendering();
    await consentPageOf(withPages(pages), asking("ar"));
    expect(contents).toHaveLength(1);
    expect(contents[0]).toMatchObject({
      kind: "consent",
      language: "ar",
      direction: "rtl",
      allow: builtIn["ar"]?.allow,
      scopes: [{ field: "scope_0", sentence: "See your orders" }],
      action: `${issuer}/authorize/consent`,
      clientName: "Web Shop",
      clientLogo: undefined,
      clientLinks: [],
    });
  });

  it("is told what an error page shows", async () => {
    const { pages, contents } = rendering();
    const page = await errorPageOf(withPages(pages), accepting("de"));
    expect(page.status).toBe(400);
    expect(page.text).toContain("<p>Own: invalid_request</p>");
    expect(contents).toMatchObject([
      { kind: "error", language: "de", direction: "ltr", title: builtIn["de"]?.errorTitle },
    ]);
  });

  it("gets every value escaped", async () => {
    const { pages, contents } = rendering();
    const texts = Object.fromEntries(pageTextNames.map((name) => [name, `${name} ${markup} {client}`]));
    const orders = {
      ...apis["orders"]!,
      name: markup,
      scopes: { "orders:read": markup, "orders:write": markup },
    };
    const host = testHost({
      pages: { ...pages, texts: { en: texts } },
      apis: { ...apis, orders },
      clients: [{ ...clients.web, name: markup, clientUri: `https://web.example/"><script>'&` }],
    });
    host.session = { ...signedIn, displayName: markup };
    await consentPageOf(host);
    await errorPageOf(host);
    expect(contents.map(({ kind }) => kind)).toEqual(["consent", "error"]);
    for (const { hiddenInputs: _, ...content } of contents as (PageContent & { hiddenInputs?: string })[]) {
      const values = JSON.stringify(content, (_key, value: unknown) =>
        typeof value === "string" ? value.replaceAll(/<\/?bdi>/g, "").replaceAll(/[<>"']/g, "RAW") : value,
      );
      expect(values).not.toContain("RAW");
      expect(values).toContain("&lt;img src=x");
    }
  });

  it("is sent as it is, with the hash of each of its style elements", async () => {
    const { pages } = rendering();
    for (const page of [await consentPageOf(withPages(pages)), await errorPageOf(withPages(pages))]) {
      expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(page.text.startsWith("<!doctype html>")).toBe(true);
      expect(stylesOf(page)).toHaveLength(2);
      expect(directives(page)["style-src"]).toBe(stylesOf(page).map(hashSource).join(" "));
    }
  });

  it("gets the hash that browsers compute, who read CRLF as LF (HTML §13.2.3.5)", async () => {
    const host = withPages({ render: () => "<style>\r\nh1 { margin: 0 }\r\n</style><h1>x</h1>" });
    expect(directives(await consentPageOf(host))["style-src"]).toBe(hashSource("\nh1 { margin: 0 }\n"));
  });

  it("may have no style at all", async () => {
    const host = withPages({ render: () => "<h1>x</h1>" });
    expect(directives(await consentPageOf(host))["style-src"]).toBe("'none'");
  });

  it("is allowed no script, no framing and no other form target", async () => {
    const host = withPages({ render: () => "<script>x</script><img src=https://evil.example/>" });
    const page = await consentPageOf(host);
    expect(directives(page)).toEqual({
      "default-src": "'none'",
      "style-src": "'none'",
      "base-uri": "'none'",
      "frame-ancestors": "'none'",
      "form-action": "'self' https:",
    });
    expect(page.headers["x-frame-options"]).toBe("DENY");
  });

  it("leads to a code by its form", async () => {
    const host = withPages(rendering().pages);
    const browser = host.browser();
    const answer = await browser.answer(await consentPageOf(host, { browser }), "approve");
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it("leads to a refusal by its form", async () => {
    const host = withPages(rendering().pages);
    const browser = host.browser();
    const answer = await browser.answer(await consentPageOf(host, { browser }), "deny");
    expect(redirectParameters(answer)["error"]).toBe("access_denied");
  });
});

const failure = new Error("hunter2 is the template's secret");
const failing: readonly [string, () => unknown][] = [
  [
    "throws",
    () => {
      throw failure;
    },
  ],
  ["gives nothing", () => undefined],
  ["gives a promise", () => Promise.resolve("<h1>late</h1>")],
  ["gives a buffer", () => Buffer.from("<h1>bytes</h1>")],
];

function asRender(render: () => unknown): PagesOptions {
  return { render: render as () => string };
}

function expectNoLeak({ text }: Response): void {
  expect(text).not.toContain("hunter2");
  expect(text).not.toMatch(/\bat .*:\d+:\d+/);
  expect(text).not.toContain("TypeError");
}

describe("a rendering of the host that fails (RFC 6749 §4.1.2.1)", () => {
  it.each(failing)("on a consent page is an error page: it %s", async (_, render) => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const host = testHost({ storage, pages: asRender(render) });
    const page = await consentPageOf(host);
    expect(page.status).toBe(500);
    expect(page.headers["location"]).toBeUndefined();
    expect(page.text).toContain("<h1>This request cannot be answered</h1>");
    expect(page.text).toContain("<bdi>server_error</bdi>");
    expectNoLeak(page);
    expect(writes).toEqual([]);
  });

  it("on a consent page leaves no rejection behind that nobody handles", async () => {
    const page = await consentPageOf(withPages(asRender(() => Promise.reject(failure))));
    expect(page.status).toBe(500);
    // Node.js reports those at the end of a turn, and a test that has one fails
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("on a consent page is told to the host with its cause", async () => {
    const host = withPages(asRender(failing[0]![1]));
    await consentPageOf(host);
    // the second one is of the error page, which this host cannot render either
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([
      { kind: "server-error", at: expect.any(Number), issuer, cause: failure },
      { kind: "server-error", at: expect.any(Number), cause: failure },
    ]);
  });

  it("on a consent page is told to the host with what is wrong about it", async () => {
    const host = withPages(asRender(() => undefined));
    await consentPageOf(host);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: new TypeError("pages.render gave no text. Return the HTML of the page."),
    });
  });

  it("on the consent page alone: the error page is the host's own", async () => {
    const { pages } = rendering();
    const host = withPages({
      render(content) {
        if (content.kind === "consent") throw failure;
        return pages.render?.(content) ?? "";
      },
    });
    const page = await consentPageOf(host);
    expect(page.status).toBe(500);
    expect(page.text).toContain("<p>Own: server_error</p>");
  });

  it.each(failing)("on an error page is the built-in error page: it %s", async (_, render) => {
    const page = await errorPageOf(withPages(asRender(render)), accepting("de"));
    expect(page.status).toBe(400);
    expect(languageOf(page)).toEqual(["de", "ltr"]);
    expect(page.text).toContain("The client is unknown.");
    expect(directives(page)["style-src"]).toBe(hashSource(stylesOf(page)[0] ?? ""));
    expectNoLeak(page);
  });

  it("on an error page is told to the host with its cause", async () => {
    const host = withPages(asRender(failing[0]![1]));
    await errorPageOf(host);
    expect(host.events.some((event) => event.kind === "server-error" && event.cause === failure)).toBe(true);
  });

  it.each([
    ["auth.resume", "/signin"],
    ["auth.deny", "/cancel"],
    ["auth.approve", "/allow"],
  ])("on an error page of %s is the built-in error page", async (_, path) => {
    const page = await withPages(asRender(failing[0]![1])).browser().post(path, { subject: "alice" });
    expect(page.status).toBe(400);
    expect(page.text).toContain("<h1>This request cannot be answered</h1>");
    expectNoLeak(page);
  });

  it("in auth.approve, when another person has to be asked, is an error page", async () => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const consent = {
      decide: ({ subject }: { subject: string }): ConsentAnswer =>
        subject === "alice" ? { kind: "interaction", url: "/ask" } : { kind: "ask" },
    };
    const host = testHost({ storage, consent, pages: asRender(failing[0]![1]) });
    const browser = host.browser();
    const { headers } = await consentPageOf(host, { browser });
    const interaction = new URL(headers["location"] as string, origin).searchParams.get("interaction");
    host.session = { ...signedIn, subject: "bob" };
    const page = await browser.post("/allow", { interaction: interaction ?? "" });
    expect(page.status).toBe(500);
    expectNoLeak(page);
    expect(page.text).toContain("<h1>This request cannot be answered</h1>");
    expect(writes).toEqual([]);
  });

  it("takes nothing from the person: once it works, the same browser is asked and answers", async () => {
    const { pages } = rendering();
    let broken = true;
    const host = withPages({
      render(content) {
        if (broken) throw failure;
        return pages.render?.(content) ?? "";
      },
    });
    const browser = host.browser();
    await consentPageOf(host, { browser });
    broken = false;
    const answer = await browser.answer(await consentPageOf(host, { browser }), "approve");
    expect(redirectParameters(answer)["code"]).toBeDefined();
  });
});
