/** `accountPages`: what people see of their apps, and what they take back. RFC 6749 §1.3, §10.2. */
import type { AuthServer, Client, Consent, MemoryStorage } from "../../lib";
import type { AccountPagesOptions } from "../../lib/portal";
import { accountTexts } from "../../lib/portal/account-texts";
import type { Fields } from "../browser/browser";
import { allow, bothScopes, outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { callApi, obtainTokens } from "../browser/journey";
import { markup } from "../browser/pages";
import { apis } from "../hosts/apis";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { aliceIn, tea } from "../hosts/contexts";
import { bob, signedIn, testHost } from "../hosts/host";
import { confidentialRecord, publicRecord } from "../records/records";
import { accountHost, appsOf, formsOf } from "./account-host";

const clock = stopClockForEachTest();

function places(text: string): readonly string[] {
  return (text.match(/\{\w+\}/g) ?? []).toSorted();
}

const hour = 3_600;
const save = { form: ['value="save"'], fields: { do: "save" } };
const remove = { form: ['value="remove"'], fields: { do: "remove" } };

describe("the page of connected apps", () => {
  it("says that there are none, and offers nothing to end", async () => {
    const page = await accountHost().get();
    expect(page.text).toContain("<p>No app has access to your account.</p>");
    expect(page.text).toContain("Signed in as <bdi>Alice</bdi>");
    expect(formsOf(page)).toEqual([]);
  });

  it("shows an app with its API, sentences, times and sign-ins", async () => {
    const made = accountHost();
    await obtainTokens(made.host, { client: "web", fields: bothScopes });
    const page = await made.get();
    expect(appsOf(page)).toEqual(["Web Shop"]);
    expect(page.text).toContain("Can use <bdi>Orders</bdi> to:");
    expect(page.text).toContain("<span>See your orders</span>");
    expect(page.text).toContain("Since <bdi>January 15, 2027</bdi>, until <bdi>January 15, 2028</bdi>");
    expect(page.text).toContain("Sign-ins (1)");
    expect(page.text).toContain("Signed in on <bdi>January 15, 2027</bdi> (<bdi>password</bdi>)");
    expect(page.text).toContain("Last used on <bdi>January 15, 2027</bdi>");
  });

  it("shows nothing of anybody else", async () => {
    const made = accountHost();
    await allow(made.host);
    made.person = () => bob;
    expect(appsOf(await made.get())).toEqual([]);
  });

  it("shows the newest app first, and each API and context of it by itself", async () => {
    const made = accountHost();
    await allow(made.host, { client: "other" });
    clock.advance(hour);
    made.host.session = aliceIn(tea);
    await allow(made.host);
    made.host.session = signedIn;
    await allow(made.host);
    await allow(made.host, { pair: { api: "files" } });
    const page = await made.get();
    expect(appsOf(page)).toEqual(["Web Shop", "Other Shop"]);
    const titles = [...page.text.matchAll(/<legend>(.*?)<\/legend>/g)].map(([, title = ""]) => title);
    expect(titles.toSorted()).toEqual([
      "Can use <bdi>Files</bdi> to:",
      "Can use <bdi>Orders</bdi> for <bdi>org-tea</bdi> to:",
      "Can use <bdi>Orders</bdi> to:",
      "Can use <bdi>Orders</bdi> to:",
    ]);
  });

  it.each<[string, AccountPagesOptions["contextName"], string]>([
    ["a name", () => "Tea & Co", "Tea &amp; Co"],
    ["a name later", async (key) => `Name of ${key}`, "Name of org-tea"],
    ["nothing", () => undefined, "org-tea"],
  ])("shows a context by the host's name for it, or by its key: %s", async (_, contextName, shown) => {
    const made = accountHost(contextName && { contextName });
    made.host.session = aliceIn(tea);
    await allow(made.host);
    expect((await made.get()).text).toContain(`for <bdi>${shown}</bdi> to:`);
  });

  it("shows a trusted app without boxes, and says that it may come back", async () => {
    const made = accountHost({}, { host: testHost({ clients: [trustedWeb] }) });
    await obtainTokens(made.host, { client: "web" });
    const page = await made.get();
    expect(page.text).toContain("This app belongs to this site");
    expect(page.text).toContain("<ul><li>See your orders</li></ul>");
    expect(page.text).not.toMatch(/checkbox|value="save"/);
  });

  it("says who signed in from where, where the host has said it", async () => {
    const host = testHost();
    await allow(host);
    const { authorizations } = host.auth;
    const list: typeof authorizations.list = async (...asked) => {
      const { authorizations: found } = await authorizations.list(...asked);
      return { authorizations: found.map((one) => ({ ...one, signedInFrom: "<i>Chrome" })) };
    };
    const auth = { ...host.auth, authorizations: { ...authorizations, list } };
    expect((await accountHost({ auth }, { host }).get()).text).toContain(
      "<bdi>&lt;i&gt;Chrome</bdi><br>Signed in",
    );
  });

  it("names a scope that the API no longer has, and an app that is not registered any more by its id", async () => {
    const host = testHost();
    await allow(host);
    await host.storage.consents.save(
      {
        subject: "alice",
        clientId: "gone",
        apiId: "old",
        scopes: ["constructor"],
        grantedAt: clock.now(),
        expiresAt: clock.now() + hour,
        endMarks: [],
      },
      clock.now(),
    );
    const page = await accountHost({}, { host }).get();
    expect(appsOf(page)).toContain("gone");
    expect(page.text).toContain("This app is no longer registered here.");
    expect(page.text).toContain("<li>constructor</li>");
  });

  it("shows five hundred of each and fifty apps, says that there are more, and offers to end all", async () => {
    const host = testHost();
    await allow(host);
    const [consent] = (await host.auth.consents.list("alice")).consents as [Consent];
    const asked: unknown[] = [];
    const list: AuthServer["consents"]["list"] = async (_, { after } = {}) => {
      asked.push(after);
      const from = Number(after ?? 0);
      const ids = Array.from({ length: 100 }, (__, index) => `app-${from + index}`);
      return { consents: ids.map((clientId) => ({ ...consent, clientId })), next: String(from + 100) };
    };
    const found: string[] = [];
    const find = async (clientId: string): Promise<Client> => {
      found.push(clientId);
      return confidentialRecord({ clientId });
    };
    const revoke = jest.fn(async () => undefined);
    const auth = { ...host.auth, consents: { ...host.auth.consents, list, revoke } };
    const storage = { ...host.storage, clients: { ...host.storage.clients, find } };
    const made = accountHost({ auth }, { host, ofServer: { storage } });
    const page = await made.get();
    expect(asked).toEqual([undefined, "100", "200", "300", "400"]);
    expect([appsOf(page).length, found.length]).toEqual([50, 50]);
    expect(page.text).toContain("You have more apps and sign-ins than this page can show.");
    expect(page.text).toContain('value="remove-all"');
    // what the app may do elsewhere is not on the page, and ends as well
    await made.press(page, { form: ['value="remove"', "app-7"], fields: { do: "remove" } });
    expect(new Set(revoke.mock.calls.flat())).toEqual(
      new Set(Object.keys(apis).map((apiId) => ({ subject: "alice", clientId: "app-7", apiId }))),
    );
  });
});

describe("strangers on the page (RFC 7591 §5)", () => {
  it("are quoted, without a picture, and their markup is text", async () => {
    const host = testHost();
    const stranger: Client = {
      ...publicRecord("native", { clientId: "dyn_1", name: markup, logo: "data:image/png;base64,AAAA" }),
      selfDescription: { by: "registration", digest: "d" },
    };
    const find = async (clientId: string) => (clientId === "dyn_1" ? stranger : undefined);
    const clientRegistrations = { ...host.storage.clientRegistrations, find };
    const [grantedAt, expiresAt] = [clock.now(), clock.now() + hour];
    const consent = {
      subject: "alice",
      apiId: "orders",
      scopes: ["orders:read"],
      grantedAt,
      expiresAt,
      endMarks: [],
    };
    const documented = { ...consent, clientId: "https://editor.example/client.json", contextKey: markup };
    await host.storage.consents.save({ ...consent, clientId: "dyn_1" }, clock.now());
    await host.storage.consents.save(documented, clock.now());
    const storage = { ...host.storage, clientRegistrations };
    const page = await accountHost({}, { host, ofServer: { storage } }).get();
    expect(page.text).not.toMatch(/<img|<script|AAAA/);
    expect(appsOf(page).toSorted()).toEqual([
      expect.stringMatching(/^Calls itself “&lt;img src=x/) as string,
      "editor.example",
    ]);
    expect(page.text.match(/This site hasn’t verified this app\./g)).toHaveLength(2);
  });
});

describe("what people take back", () => {
  it("is a scope, by unticking it", async () => {
    const made = accountHost();
    await allow(made.host, { fields: bothScopes });
    const answer = await made.press(await made.get(), {
      ...save,
      fields: { do: "save", scope_1: undefined },
    });
    expect(answer.status).toBe(303);
    const selection = { subject: "alice", clientId: "web", apiId: "orders", contextKey: "" };
    expect(made.narrowed).toEqual([{ ...selection, scopes: ["orders:read"] }]);
    expect(made.changes).toEqual([{ kind: "access-narrowed", ...selection, scopes: ["orders:read"] }]);
  });

  it("is nothing when all boxes stay ticked", async () => {
    const made = accountHost();
    await allow(made.host, { fields: bothScopes });
    expect((await made.press(await made.get(), save)).status).toBe(303);
    expect([made.narrowed, made.changes]).toEqual([[], []]);
  });

  it("is all of it when no box is ticked: in this context alone", async () => {
    const made = accountHost();
    made.host.session = aliceIn(tea);
    await allow(made.host);
    made.host.session = signedIn;
    await allow(made.host);
    const pressed = { form: ['value="save"', "org-tea"], fields: { do: "save", scope_0: undefined } };
    await made.press(await made.get(), pressed);
    expect(
      (await made.host.auth.consents.list("alice")).consents.map(({ contextKey }) => contextKey),
    ).toEqual([""]);
    expect(made.changes).toMatchObject([{ kind: "access-removed", contextKey: "org-tea" }]);
  });

  it("is what tokens lose as well", async () => {
    const made = accountHost();
    const { access_token: token } = await obtainTokens(made.host, { client: "web", fields: bothScopes });
    const changes = async () => (await callApi(made.host, "/orders/changes", token)).status;
    expect(await changes()).toBe(200);
    await made.press(await made.get(), { ...save, fields: { do: "save", scope_1: undefined } });
    clock.advance(5);
    expect([await changes(), (await callApi(made.host, "/orders", token)).status]).toEqual([403, 200]);
    const page = await made.get();
    expect(page.text).not.toContain("Change your orders");
  });

  it.each([
    ["scope_1", ["orders:write", "orders:read"]],
    ["scope_0", ["orders:pay"]],
  ])("leaves what a ticked scope implies, which has no box: without %s", async (unticked, left) => {
    const scopes = {
      "orders:write": { text: "Change your orders", implies: ["orders:read"] },
      "orders:read": "See your orders",
      "orders:pay": "Pay",
    };
    const ofServer = withScopes(scopes);
    const made = accountHost({}, { host: testHost(ofServer), ofServer });
    await allow(made.host, { fields: { scope: "orders:write orders:pay" } });
    const page = await made.get();
    expect(page.text).toContain("<span>Change your orders<small>+ See your orders</small></span>");
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(2);
    await made.press(page, { ...save, fields: { do: "save", [unticked]: undefined } });
    expect(made.narrowed).toMatchObject([{ scopes: left }]);
    const { authorizations } = await made.host.auth.authorizations.list("alice");
    expect(authorizations.map(({ scopes: granted }) => granted)).toEqual([left]);
  });

  it("is an app, with every API of it and its tokens; others stay", async () => {
    const made = accountHost({}, { host: testHost({ revocationLagSeconds: 0 }) });
    const [web, other] = [
      await obtainTokens(made.host, { client: "web" }),
      await obtainTokens(made.host, { client: "other" }),
    ];
    clock.advance(hour / 60);
    await allow(made.host, { pair: { api: "files" } });
    await made.press(await made.get(), remove);
    expect(appsOf(await made.get())).toEqual(["Other Shop"]);
    expect(made.changes).toEqual([{ kind: "app-removed", subject: "alice", clientId: "web" }]);
    expect((await callApi(made.host, "/orders", web.access_token)).status).toBe(401);
    expect((await callApi(made.host, "/orders", other.access_token)).status).toBe(200);
  });

  it("is a trusted app's sign-ins", async () => {
    const made = accountHost({}, { host: testHost({ clients: [trustedWeb], revocationLagSeconds: 0 }) });
    const { access_token: token } = await obtainTokens(made.host, { client: "web" });
    await made.press(await made.get(), remove);
    expect((await callApi(made.host, "/orders", token)).status).toBe(401);
    expect(appsOf(await made.get())).toEqual([]);
  });

  it("is one sign-in of several; the consent stays", async () => {
    const made = accountHost({}, { host: testHost({ revocationLagSeconds: 0 }) });
    const [first, second] = [
      await obtainTokens(made.host, { client: "web" }),
      await obtainTokens(made.host, { client: "web", pair: { method: "otp" } }),
    ];
    const page = await made.get();
    const [, id = ""] = /id="([^"]*)">Signed in on <bdi>[^<]*<\/bdi> \(<bdi>otp/.exec(page.text) ?? [];
    expect((await made.press(page, { form: [id], fields: { end: id } })).status).toBe(303);
    expect((await callApi(made.host, "/orders", second.access_token)).status).toBe(401);
    expect((await callApi(made.host, "/orders", first.access_token)).status).toBe(200);
    expect(await rememberedScopes(made.host)).toHaveLength(1);
    expect(made.changes).toEqual([
      { kind: "sign-in-ended", subject: "alice", clientId: "web", authorizationId: id },
    ]);
  });

  it("is everything, with the consents", async () => {
    const made = accountHost();
    await allow(made.host);
    await obtainTokens(made.host, { client: "other" });
    const page = await made.get();
    const all = { form: ['value="remove-all"'], fields: { do: "remove-all" } };
    expect((await made.press(page, all)).status).toBe(303);
    expect(appsOf(await made.get())).toEqual([]);
    expect(await rememberedScopes(made.host)).toEqual([]);
    expect(await outcomeOfVisit(made.host)).toBe("asked");
    expect(made.changes).toEqual([{ kind: "all-apps-removed", subject: "alice" }]);
  });
});

function withScopes(scopes: AccountPagesOptions["options"]["apis"][string]["scopes"]) {
  const orders = { audience: "https://api.example/orders", authMethods: ["password"], scopes };
  return { apis: { ...apis, orders } };
}

describe("forms of the page, stolen, old or made up", () => {
  const outdated = "This page was out of date, so nothing was changed.";

  it.each<[string, { form: readonly string[]; fields: Fields }]>([
    ["Save", { ...save, fields: { do: "save", scope_0: undefined } }],
    ["Remove this app", remove],
    ["Remove all apps", { form: ['value="remove-all"'], fields: { do: "remove-all" } }],
  ])("%s: the form of another person does nothing", async (_, pressed) => {
    const made = accountHost();
    await allow(made.host);
    const page = await made.get();
    made.host.session = bob;
    await allow(made.host);
    made.person = () => bob;
    const answer = await made.press(page, pressed);
    expect(answer.status).toBe(409);
    expect(answer.text).toContain(outdated);
    expect(answer.text).toContain("Signed in as <bdi>Bob</bdi>");
    expect([await rememberedScopes(made.host), await rememberedScopes(made.host, "bob")]).toEqual([
      [["orders:read"]],
      [["orders:read"]],
    ]);
    expect(made.changes).toEqual([]);
  });

  it("saves nothing when the access has changed meanwhile, such as in another window", async () => {
    const made = accountHost();
    await allow(made.host);
    const page = await made.get();
    await allow(made.host, { fields: bothScopes });
    const answer = await made.press(page, { ...save, fields: { do: "save", scope_0: undefined } });
    expect([answer.status, made.narrowed, made.changes]).toEqual([409, [], []]);
    expect(answer.text.match(/type="checkbox"/g)).toHaveLength(2);
  });

  it("saves nothing when other scopes have boxes by now, such as after a release of the host", async () => {
    const scopes = { "orders:read": "See", "orders:write": "Change", "orders:pay": "Pay" };
    const host = testHost(withScopes(scopes));
    await allow(host, { fields: { scope: "orders:read orders:write orders:pay" } });
    const page = await accountHost({}, { host, ofServer: withScopes(scopes) }).get();
    const changed = { ...scopes, "orders:write": { text: "Change", implies: ["orders:read"] } };
    const after = accountHost({}, { host, ofServer: withScopes(changed) });
    const answer = await after.press(page, { ...save, fields: { do: "save", scope_2: undefined } });
    expect([answer.status, after.narrowed]).toEqual([409, []]);
  });

  it("saves although the app was used meanwhile, or has signed in again", async () => {
    const made = accountHost();
    await allow(made.host, { fields: bothScopes });
    const page = await made.get();
    clock.advance(hour);
    await obtainTokens(made.host, { client: "web" });
    await made.press(page, { ...save, fields: { do: "save", scope_0: undefined } });
    expect(made.narrowed).toHaveLength(1);
  });

  it("removes an app that gets more and more meanwhile", async () => {
    const made = accountHost();
    await allow(made.host);
    const page = await made.get();
    await allow(made.host, { fields: bothScopes });
    expect((await made.press(page, remove)).status).toBe(303);
    expect(appsOf(await made.get())).toEqual([]);
  });

  it("ends no sign-in of another person or app, and quotes nothing that was sent", async () => {
    const made = accountHost();
    made.host.session = bob;
    await allow(made.host);
    const [theirs] = (await made.host.auth.authorizations.list("bob")).authorizations;
    made.host.session = signedIn;
    await allow(made.host);
    const page = await made.get();
    for (const end of [theirs?.authorizationId, "made-up", undefined])
      expect((await made.press(page, { form: ['value="remove"'], fields: { end } })).status).toBe(409);
    expect((await made.host.auth.authorizations.list("bob")).authorizations).toHaveLength(1);
    expect(made.changes).toEqual([]);
  });

  it("narrows no trusted app", async () => {
    const made = accountHost({}, { host: testHost({ clients: [clients.web] }) });
    await allow(made.host, { fields: bothScopes });
    const page = await made.get();
    const { clients: registry } = made.host.storage as MemoryStorage;
    await registry.save(trustedWeb);
    expect((await made.press(page, { ...save, fields: { do: "save", scope_0: undefined } })).status).toBe(
      409,
    );
    expect(made.narrowed).toEqual([]);
  });
});

const down = (): Promise<never> => Promise.reject(new Error("no database"));

describe("a storage that fails", () => {
  it("shows nothing of the page, and its failure goes to the host", async () => {
    const host = testHost();
    await allow(host);
    const auth = { ...host.auth, authorizations: { ...host.auth.authorizations, list: down } };
    const made = accountHost({ auth }, { host });
    expect(await made.get()).toMatchObject({ status: 500, text: "the host's own error page" });
    expect(made.failures).toMatchObject([{ message: "no database" }]);
  });

  it("tells onChange of nothing that was not done", async () => {
    const host = testHost();
    await allow(host);
    const auth = { ...host.auth, consents: { ...host.auth.consents, revoke: down } };
    const made = accountHost({ auth }, { host });
    expect((await made.press(await made.get(), remove)).status).toBe(500);
    expect([made.changes, await rememberedScopes(host)]).toEqual([[], [["orders:read"]]]);
  });
});

describe("the options", () => {
  it.each<[object, string]>([
    [{ contextName: "Tea Traders" }, "contextName must be a function."],
    [{ auth: {} }, "auth must be what createAuthServer returned, and options what it was given."],
  ])("are refused with a sentence for the host's developer: %j", (options, message) => {
    expect(() => accountHost(options)).toThrow(
      expect.objectContaining({ message: `accountPages: ${message}` }),
    );
  });
});

describe("the texts", () => {
  it.each(Object.entries(accountTexts))(
    "are all there in %s, at most 30, each with its places",
    (_, texts) => {
      expect(Object.keys(texts)).toEqual(Object.keys(accountTexts.en));
      expect(Object.keys(texts).length).toBeLessThanOrEqual(30);
      for (const [name, text] of Object.entries(accountTexts.en))
        expect([name, places(Reflect.get(texts, name) as string)]).toEqual([name, places(text)]);
    },
  );
});
