import request from "supertest";
import { type ConsentAdapter, type PageContent, type ScopeOptions, type ScopeSentence } from "../../lib";
import { followImplications } from "../../lib/protocol/requested-scopes";
import { apis, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { postToken, refresh } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";

stopClockForEachTest();

const scopes = {
  "orders:read": "See your orders",
  "orders:write": { text: { en: "Change your orders", de: "Bestellungen ändern" }, implies: ["orders:read"] },
  "orders:all": { text: "Do everything", implies: ["orders:write"] },
} as const;

function ordersWith(changes: object): typeof apis {
  return { ...apis, orders: { ...apis["orders"], ...changes } as (typeof apis)[string] };
}

function implyingHost(options: object = {}): TestHost {
  return testHost({ apis: ordersWith({ scopes }), ...options });
}

const write = { client: "web", fields: { scope: "orders:write" } } as const;

describe("scopes that imply others (RFC 6749 §3.3)", () => {
  it("are granted with what they imply, and the answer says so", async () => {
    const tokens = await obtainTokens(implyingHost(), write);
    expect(tokens.scope).toBe("orders:write orders:read");
  });

  it("are followed through", async () => {
    const tokens = await obtainTokens(implyingHost(), { client: "web", fields: { scope: "orders:all" } });
    expect(tokens.scope).toBe("orders:all orders:write orders:read");
  });

  it("stand in the token, at the API and at introspection", async () => {
    const host = implyingHost({ revocationLagSeconds: 0 });
    const { access_token } = await obtainTokens(host, write);
    const seen = (await callApi(host, "/orders", access_token)).body as { scopes: string[] };
    expect(seen.scopes).toEqual(["orders:write", "orders:read"]);
    const answer = await request(host.app)
      .post(`${pairPath()}/introspect`)
      .type("form")
      .send({ ...credentials("web"), token: access_token });
    expect(answer.body).toMatchObject({ scope: "orders:write orders:read" });
  });

  it("are checked as they are written: a route asks for a plain subset", async () => {
    const host = implyingHost();
    host.app.get(
      "/read",
      host.auth.requireBearer({ api: "orders", scope: "orders:read" }),
      (_, res) => void res.json({}),
    );
    const { access_token } = await obtainTokens(host, write);
    expect((await callApi(host, "/read", access_token)).status).toBe(200);
  });

  it.each([
    ["orders:write", "orders:write"],
    ["orders:read", "orders:read"],
  ])("are narrowed literally at refresh: %s", async (scope, granted) => {
    const host = implyingHost();
    const { refresh_token = "" } = await obtainTokens(host, write);
    const response = await refresh(host, { client: "web", refreshToken: refresh_token, fields: { scope } });
    expect(response.body).toMatchObject({ scope: granted });
  });

  it("bring nothing that the client's subscription does not have", async () => {
    const subscriptions = { orders: { scopes: ["orders:write"] } };
    const host = implyingHost({ clients: [{ ...clients.web, subscriptions }] });
    const page = await authorize(host.browser(), write);
    expect(page.text).not.toContain("See your orders");
    expect((await obtainTokens(host, write)).scope).toBe("orders:write");
  });

  it("count for a client that asks for itself", async () => {
    const subscriptions = { orders: { grantTypes: ["client_credentials"] } };
    const host = implyingHost({ clients: [{ ...clients.machine, subscriptions }] });
    const fields = { grant_type: "client_credentials", ...credentials("machine"), scope: "orders:write" };
    expect((await postToken(host, { fields })).body).toMatchObject({ scope: "orders:write orders:read" });
  });

  it("count for a trusted client, whom nobody is asked for", async () => {
    const host = implyingHost({ clients: [{ ...clients.web, trusted: true }] });
    expect((await obtainTokens(host, write)).scope).toBe("orders:write orders:read");
  });
});

describe("the consent to scopes that imply others (RFC 6749 §10.2)", () => {
  it("shows what comes with a scope beneath it, without a box of its own", async () => {
    const page = await authorize(implyingHost().browser(), write);
    expect(page.text).toContain("<span>Change your orders<small>+ See your orders</small></span>");
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(1);
  });

  it("shows it in the person's language, to a rendering of the host too, escaped", async () => {
    const seen: PageContent[] = [];
    const render = (page: PageContent): string => {
      seen.push(page);
      return "<!doctype html>";
    };
    const odd = { ...scopes, "orders:read": { en: "See <all>", de: "Alles <sehen>" } };
    const host = testHost({ apis: ordersWith({ scopes: odd }), pages: { render } });
    await authorize(host.browser(), { client: "web", fields: { ...write.fields, ui_locales: "de" } });
    expect(seen).toMatchObject([
      { scopes: [{ field: "scope_0", sentence: "Bestellungen ändern", implied: ["Alles &lt;sehen&gt;"] }] },
    ]);
  });

  it("is remembered whole: a later request for less asks nobody", async () => {
    const host = implyingHost();
    await obtainTokens(host, write);
    expect((await host.auth.consents.list("alice")).consents).toMatchObject([
      { scopes: ["orders:write", "orders:read"] },
    ]);
    const later = await authorize(host.browser(), { client: "web", fields: { scope: "orders:read" } });
    expect(redirectParameters(later)).toHaveProperty("code");
  });

  it("is asked for again when a scope has come to imply more than was shown", async () => {
    const { storage } = testHost();
    await obtainTokens(testHost({ storage }), write);
    const host = implyingHost({ storage });
    const page = await authorize(host.browser(), write);
    expect(page.text).toContain("+ See your orders");
  });

  it("without the wider scope grants the narrower one, when the client asked for both", async () => {
    const host = implyingHost();
    const browser = host.browser();
    const fields = { scope: "orders:write orders:read" };
    const page = await authorize(browser, { client: "web", fields });
    const answer = await browser.answer(page, "approve", { scope_0: undefined });
    expect(redirectParameters(answer)).toHaveProperty("code");
    expect((await host.auth.consents.list("alice")).consents).toMatchObject([{ scopes: ["orders:read"] }]);
  });

  it("tells the host's adapter and pages what comes with a scope", async () => {
    const questions: unknown[] = [];
    const consent: ConsentAdapter = {
      decide({ impliedScopes }) {
        questions.push(impliedScopes);
        return { kind: "granted", scopes: ["orders:write"] };
      },
    };
    const tokens = await obtainTokens(implyingHost({ consent }), write);
    expect(questions).toEqual([{ "orders:write": { "orders:read": "See your orders" } }]);
    expect(tokens.scope).toBe("orders:write orders:read");
  });
});

const refusal =
  (changed: Readonly<Record<string, ScopeSentence | ScopeOptions>>): (() => unknown) =>
  () =>
    testHost({ apis: ordersWith({ scopes: { ...scopes, ...changed } }) });

describe("the options of scopes that imply others", () => {
  it.each([
    [
      "an unknown scope",
      { "orders:write": { text: "a", implies: ["orders:none"] } },
      "orders:write.implies",
      "implies-unknown-scope",
    ],
    [
      "a scope that every object inherits",
      { "orders:write": { text: "a", implies: ["constructor"] } },
      "orders:write.implies",
      "implies-unknown-scope",
    ],
    [
      "the scope itself",
      { "orders:write": { text: "a", implies: ["orders:write"] } },
      "orders:write.implies",
      "implies-itself",
    ],
    [
      "a circle",
      { "orders:read": { text: "a", implies: ["orders:write"] } },
      "orders:read.implies",
      "implies-itself",
    ],
    ["no text", { "orders:write": { implies: ["orders:read"] } }, "orders:write.text", "option-missing"],
    ["an empty text", { "orders:write": { text: "" } }, "orders:write.text", "option-empty"],
    [
      "one text for a list",
      { "orders:write": { text: "a", implies: "orders:read" } },
      "orders:write.implies",
      "option-of-wrong-form",
    ],
    [
      "a language beside text",
      { "orders:write": { text: "a", en: "b" } },
      "orders:write.en",
      "option-unknown",
    ],
    [
      "an explanation without text",
      { "orders:write": { explanation: "a" } },
      "orders:write.text",
      "option-missing",
    ],
    [
      "an empty explanation",
      { "orders:write": { text: "a", explanation: "" } },
      "orders:write.explanation",
      "option-empty",
    ],
    ["no language in text", { "orders:write": { text: {} } }, "orders:write.text", "option-empty"],
    [
      "undefined",
      { "orders:write": { text: "a", implies: undefined } },
      "orders:write.implies",
      "option-undefined",
    ],
  ])("refuse %s", (_, changed, path, code) => {
    const message = expect.stringContaining(`createAuthServer: apis.orders.scopes.${path} `) as string;
    expect(refusal(changed as never)).toThrow(expect.objectContaining({ code, message }));
  });

  it("take a text alone, and sentences by language as ever", () => {
    expect(refusal({ "orders:read": { text: "a", explanation: { en: "b" } } })).not.toThrow();
    expect(refusal({ "orders:write": { text: "a" }, "orders:all": { en: "a", de: "b" } })).not.toThrow();
  });

  it("are followed through circles too, without end", () => {
    const followed = followImplications(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["a"]],
        ["d", []],
      ]),
    );
    expect(Object.fromEntries(followed)).toEqual({
      a: ["b", "c", "a"],
      b: ["c", "a", "b"],
      c: ["a", "b", "c"],
      d: [],
    });
  });
});
