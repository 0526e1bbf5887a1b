import * as fc from "fast-check";
import type { Response } from "supertest";
import { memoryStorage, type PagesOptions } from "../../lib";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import {
  accepting,
  consentPageOf,
  errorPageOf,
  hashSource,
  languages,
  logo,
  policyOf,
  stylesOf,
  withPages,
} from "../browser/pages";

stopClockForEachTest();

const svgLogo = "data:image/svg+xml;base64,PHN2Zy8+";

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
    expect(policyOf(await consentPageOf(testHost(options)))["img-src"]).toBe("data:");
  });

  it("that are not there leave the CSP closed", async () => {
    const host = testHost({ clients: [{ ...clients.web, name: `src="data:` }] });
    host.session = { ...signedIn, displayName: `src="data:` };
    expect(policyOf(await consentPageOf(host))).not.toHaveProperty("img-src");
    expect(policyOf(await errorPageOf(host))).not.toHaveProperty("img-src");
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
      expect(policyOf(page)["style-src"]).toBe(hashSource(stylesOf(page)[0] ?? ""));
    }
  });

  it("is allowed by the CSP and nothing else is", async () => {
    const page = await consentPageOf(testHost());
    expect(policyOf(page)).toEqual({
      "default-src": "'none'",
      "style-src": hashSource(stylesOf(page)[0] ?? ""),
      "base-uri": "'none'",
      "frame-ancestors": "'none'",
      "form-action": "'self' https:",
    });
  });
});
