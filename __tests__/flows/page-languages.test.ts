import type { Authentication, ConsentAnswer, PageContent } from "../../lib";
import type { PageTexts } from "../../lib/pages/built-in-texts";
import { apis, pairPath } from "../hosts/apis";
import { redirectParameters } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, testHost, type TestHostOptions } from "../hosts/host";
import {
  accepting,
  asking,
  builtIn,
  consentLanguage,
  consentPageOf,
  errorPageOf,
  languageOf,
  languages,
  withPages,
} from "../browser/pages";

stopClockForEachTest();

/** The names of the places in each text. */
function placesOf(texts: PageTexts | undefined): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries({ ...texts }).map(([name, text]) => [
      name,
      [...text.matchAll(/\{(\w+)\}/g)].map(([, place = ""]) => place).toSorted(),
    ]),
  );
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
    ["none that only begins alike", "den, fra, d", "en"],
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
});

describe("a page in its language (RFC 9110 §12.5.4)", () => {
  it("stays what the client asked for when the page is shown again", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await consentPageOf(host, { browser, ...asking("fr") });
    const again = await browser.answer(page, "approve", { form_token: "A".repeat(43) });
    expect(again.status).toBe(200);
    expect(languageOf(again)[0]).toBe("fr");
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

  it("is chosen from ui_locales on an error page too, where the browser names none", async () => {
    const page = await errorPageOf(testHost(), { fields: { ui_locales: "ar fr" } });
    expect(languageOf(page)).toEqual(["ar", "rtl"]);
  });

  it("is English on an error page when ui_locales is repeated or not text (RFC 6749 §3.1)", async () => {
    const repeated = { fields: { ui_locales: ["ar", "de"] } };
    expect(languageOf(await errorPageOf(testHost(), repeated))[0]).toBe("en");
    const path = `${pairPath()}/authorize?client_id=nobody&ui_locales=ar%20%FF`;
    expect(languageOf(await testHost().browser().get(path))[0]).toBe("en");
  });

  it("is given with its direction on an error page", async () => {
    expect(languageOf(await errorPageOf(testHost(), accepting("ar-EG")))).toEqual(["ar", "rtl"]);
  });

  it("leaves the description of an error in English, and says so", async () => {
    const page = await errorPageOf(testHost(), accepting("ar"));
    expect(page.text).toContain('<div lang="en" dir="ltr"><p><code>invalid_request</code></p>');
    expect(page.text).toContain("<p>The client is unknown.</p>");
  });

  it.each([
    "he",
    "fa-IR",
    "ur",
    "HE",
    "ckb",
    "dv",
    "ks",
    "ps",
    "sd",
    "syr",
    "ug",
    "yi",
    "pa-Arab",
    "ff-Adlm",
  ])("is from right to left in the host's own %s", async (language) => {
    const host = withPages({ texts: { [language]: { allow: "x" } } });
    expect(languageOf(await consentPageOf(host, asking(language)))).toEqual([language, "rtl"]);
  });

  it.each(["nl", "ar-Latn", "ug-Cyrl", "pa", "nl-1"])("is from left to right in %s", async (language) => {
    const host = withPages({ texts: { [language]: { allow: "x" } } });
    expect(languageOf(await consentPageOf(host, asking(language)))).toEqual([language, "ltr"]);
  });
});

const inEnglish = (text: string): string => `<span lang="en" dir="ltr">${text}</span>`;

describe("parts of a page in another language (WCAG 2.2, 3.1.2)", () => {
  const orders = {
    ...apis["orders"]!,
    scopes: {
      "orders:read": { text: { en: "See them" }, explanation: { en: "All of them" } },
      "orders:write": { text: { de: "Ändern", en: "Change them" }, implies: ["orders:read"] },
    },
    defaultScopes: [],
  };
  const fields = { scope: "orders:read orders:write" };

  it.each(["de", "ar"])(
    "are marked on a page in %s: sentence, explanation, implied scope",
    async (language) => {
      const host = testHost({ apis: { ...apis, orders } });
      const { text } = await consentPageOf(host, { fields, ...accepting(language) });
      expect(text).toContain(
        `<span>${inEnglish("See them")}<small>${inEnglish("All of them")}</small></span>`,
      );
      expect(text).toContain(`<small>+ ${inEnglish("See them")}</small>`);
      expect(text.includes(inEnglish("Change them"))).toBe(language === "ar");
    },
  );

  it("are not marked in the language of the page, or where it has a region", async () => {
    const host = testHost({ apis: { ...apis, orders } });
    expect((await consentPageOf(host, { fields, ...accepting("en-GB") })).text).not.toContain("<span lang");
    const regional = withPages({ texts: { "de-AT": { allow: "Jo" } } });
    const { text } = await consentPageOf(regional, accepting("de-AT"));
    expect(text).toContain('<html lang="de-AT"');
    expect(text).not.toContain("<span lang");
  });

  it("are the texts that the host has left out, on the consent page and the error page", async () => {
    const host = withPages({ texts: { nl: { allow: "Toestaan", errorTitle: "Deze link werkt niet" } } });
    const consent = (await consentPageOf(host, accepting("nl"))).text;
    expect(consent).toContain(`value="approve">Toestaan</button>`);
    expect(consent).toContain(`value="deny">${inEnglish(String(builtIn["en"]?.deny))}</button>`);
    expect(consent).toMatch(/<title>Allow [^<]+<\/title>/);
    const error = (await errorPageOf(host, accepting("nl"))).text;
    expect(error).toContain("<h1>Deze link werkt niet</h1>");
    expect(error).toContain(`<p>${inEnglish(String(builtIn["en"]?.errorExplanation))}</p>`);
  });

  it("are marked in what the host renders", async () => {
    const given: string[] = [];
    const render = (page: PageContent): string => {
      if (page.kind === "consent") given.push(...page.scopes.map(({ sentence }) => sentence), page.allow);
      return "<p>";
    };
    const host = testHost({ apis: { ...apis, orders }, pages: { render } });
    await consentPageOf(host, { fields, ...accepting("de") });
    expect(given).toEqual([inEnglish("See them"), "Ändern", builtIn["de"]?.allow]);
  });
});

it("texts for pt-BR serve a browser that asks for pt, and no other language", async () => {
  const host = withPages({ texts: { "pt-BR": { allow: "Permitir" } } });
  expect(await consentLanguage(host, accepting("pt"))).toBe("pt-BR");
  expect(await consentLanguage(host, accepting("p"))).toBe("en");
  const both = withPages({ texts: { "pt-BR": { allow: "Permitir" }, pt: { allow: "Permite" } } });
  expect(await consentLanguage(both, accepting("pt"))).toBe("pt");
});

describe("the built-in texts (RFC 6749 §10.2)", () => {
  const translated = languages.filter((language) => language !== "en");
  /** Terms that German and French have taken over from English. */
  const sharedTerms = ["details", "detailsApi", "detailsScopes", "deviceCode"];

  it.each(translated)("are all there in %s", (language) => {
    const english: Record<string, string> = { ...builtIn["en"] };
    const missing = Object.entries({ ...builtIn[language] }).filter(
      ([name, text]) => text === "" || (text === english[name] && !sharedTerms.includes(name)),
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
      // nobody has said in which language it is
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
    expect(page.text).toContain('<span><span lang="nl" dir="ltr">Ze zien</span></span>');
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
