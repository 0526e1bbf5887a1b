import { apis } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bothScopes } from "../browser/consent";
import { signedOut, testHost, type TestHost } from "../hosts/host";
import { asking, consentPageOf } from "../browser/pages";

stopClockForEachTest();

function hostOf(name: string): TestHost {
  return testHost({ clients: [{ ...clients.web, name }] });
}

describe("who asks, on the consent page (RFC 6749 §10.2)", () => {
  it.each([
    ["Tea Shop", "TS"],
    ["tea", "T"],
    ["The Tea Shop", "TT"],
    ["7 Teas", "7"],
    ["(tea) & <shop>", "TS"],
    ["متجر الشاي", "م"],
    ["茶 店", "茶"],
    ["𝓣ea", "𝓣"],
    ["élan vital", "ÉV"],
    ["***", ""],
  ])("has initials in place of a logo: %s", async (name, initials) => {
    const { text } = await consentPageOf(hostOf(name));
    expect(text).toContain(`<span class="mark" aria-hidden="true">${initials}</span>`);
  });

  it("has a logo in place of initials", async () => {
    const logo = "data:image/png;base64,iVBORw0KGgo=";
    const { text } = await consentPageOf(testHost({ clients: [{ ...clients.web, logo }] }));
    expect(text).toContain(`<p class="client"><img src="${logo}" alt="">`);
    expect(text).not.toContain("aria-hidden");
  });

  it.each([
    ["web", "https://web.example"],
    ["native", "com.example.phone:"],
  ] as const)("and where it leads stand above the question: %s", async (client, destination) => {
    const { text } = await authorize(testHost().browser(), { client });
    const [above = ""] = text.split("<h1>");
    expect(above).toContain(`<bdi dir="ltr">${destination}</bdi>`);
  });
});

describe("what is asked for, on the consent page (RFC 6749 §10.2)", () => {
  const explained = {
    ...apis["orders"]!,
    scopes: {
      "orders:read": {
        text: { en: "See your orders", de: "Ihre Bestellungen sehen" },
        explanation: { en: "What and when", de: "Was und wann" },
      },
      "orders:write": { text: "Change your orders", explanation: "Cancel them", implies: ["orders:read"] },
    },
  };
  const options = { apis: { ...apis, orders: explained } };

  it("has a line of explanation, in the language of the page", async () => {
    const english = await consentPageOf(testHost(options));
    expect(english.text).toContain("<span>See your orders<small>What and when</small></span>");
    const german = await consentPageOf(testHost(options), asking("de"));
    expect(german.text).toContain("<span>Ihre Bestellungen sehen<small>Was und wann</small></span>");
  });

  it("has the explanation above what comes with a scope", async () => {
    const { text } = await consentPageOf(testHost(options), { fields: { scope: "orders:write" } });
    expect(text).toContain("Change your orders<small>Cancel them</small><small>+ See your orders</small>");
  });

  it("has explanations for pages of the host, too", async () => {
    const host = testHost(options);
    host.session = signedOut;
    const browser = host.browser();
    const { body } = await browser.follow(await authorize(browser, { client: "web", fields: bothScopes }));
    expect((body as { explanations: unknown }).explanations).toEqual({
      "orders:read": "What and when",
      "orders:write": "Cancel them",
    });
  });

  it("has none for a scope that is called like a property of every object", async () => {
    const orders = { ...apis["orders"]!, scopes: { ...apis["orders"]!.scopes, constructor: "Build" } };
    const { text } = await consentPageOf(testHost({ apis: { ...apis, orders } }), {
      fields: { scope: "constructor" },
    });
    expect(text).toContain("<span>Build</span>");
  });

  it("has its technical names in details that open without a script", async () => {
    const { text } = await consentPageOf(testHost(options), { fields: { scope: "orders:write" } });
    const [, details = ""] = /<details><summary>Details<\/summary>(.*)<\/details>/.exec(text) ?? [];
    expect([...details.matchAll(/<code>([^<]*)</g)].map(([, value]) => value)).toEqual([
      "web",
      "https://api.example/orders",
      "orders:write",
      "orders:read",
    ]);
  });
});
