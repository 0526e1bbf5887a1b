/** `accountPages`: how what storage lists becomes apps, and how much of it one page has. RFC 6749 §1.3, §10.2. */
import type { AuthServer, Client, Consent } from "../../lib";
import type { AccountPagesOptions } from "../../lib/portal";
import { allow, bothScopes } from "../browser/consent";
import { obtainTokens } from "../browser/journey";
import { apis } from "../hosts/apis";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { aliceIn, tea } from "../hosts/contexts";
import { testHost, type TestHost } from "../hosts/host";
import { confidentialRecord } from "../records/records";
import { accountHost, type AccountHost, appsOf } from "./account-host";
import { unframed as render, wordsIn } from "./portal-host";

const clock = stopClockForEachTest();

const day = 86_400;
const tooMany = "You have more apps and sign-ins than this page can show.";
const save = { form: ['value="save"'], fields: { do: "save" } };

/** Remembers that Alice has allowed a client to see her orders. */
async function remember({ storage }: TestHost, clientId: string): Promise<void> {
  const now = clock.now();
  const times = { grantedAt: now, expiresAt: now + day };
  const consent = { subject: "alice", clientId, apiId: "orders", scopes: ["orders:read"], ...times };
  await storage.consents.save({ ...consent, endMarks: [] }, now);
}

describe("an app of the list (RFC 6749 §2.2)", () => {
  it("is not another client that a table finds for its id because it ignores case", async () => {
    const host = testHost();
    await remember(host, "WEB");
    const find = (clientId: string) => host.storage.clients.find(clientId.toLowerCase());
    const storage = { ...host.storage, clients: { ...host.storage.clients, find } };
    const page = await accountHost({}, { host, ofServer: { storage } }).get();
    expect(appsOf(page)).toEqual(["WEB"]);
    expect(page.text).toContain("This app is no longer registered here.");
  });

  it.each([
    ["https://editor.example/client.json", "editor.example", true],
    ["http://localhost:3000/client.json", "localhost:3000", true],
    ["app-https://editor.example/", "app-https://editor.example/", false],
    ["https://", "https://", false],
  ])("that nobody registered, %s, is known as %s", async (clientId, name, isUnverified) => {
    const host = testHost();
    await remember(host, clientId);
    const page = await accountHost({}, { host }).get();
    expect(appsOf(page)).toEqual([name]);
    expect(page.text.includes("This site hasn’t verified this app.")).toBe(isUnverified);
    expect(page.text.includes("This app is no longer registered here.")).toBe(!isUnverified);
  });

  it("is not the site's own when it is trusted at no API, or at another one only", async () => {
    const elsewhere = { ...clients.web, subscriptions: { orders: {}, files: { trusted: true } } };
    for (const client of [clients.web, elsewhere]) {
      const made = accountHost({}, { host: testHost({ clients: [client] }) });
      await allow(made.host);
      const page = await made.get();
      expect(page.text).not.toContain("This app belongs to this site");
      expect(page.text).toContain('value="save"');
    }
  });

  it("has its access since the first of several sign-ins", async () => {
    const made = accountHost();
    await obtainTokens(made.host, { client: "web" });
    clock.advance(2 * day);
    await obtainTokens(made.host, { client: "web" });
    const { text } = await made.get();
    expect(text).toContain("Sign-ins (2)");
    expect(text).toContain("Since <bdi>January 15, 2027</bdi>, until <bdi>January 15, 2028</bdi>");
  });

  it.each([
    ["fr", "<span>Voir vos commandes</span>"],
    ["en", '<span><span lang="de" dir="ltr">Bestellungen &amp; mehr</span></span>'],
  ])(
    "has its scopes in the language of the person, or says that they are in another: %s",
    async (language, shown) => {
      const scopes = { "orders:read": { de: "Bestellungen & mehr", fr: "Voir vos commandes" } };
      const orders = { audience: "https://api.example/orders", authMethods: ["password"], scopes };
      const made = accountHost({}, { ofServer: { apis: { ...apis, orders } } });
      await allow(made.host);
      expect((await made.get({ headers: { "Accept-Language": language } })).text).toContain(shown);
    },
  );

  it("has its context named by the host, which is asked about nothing where there is none", async () => {
    const contextName = jest.fn(() => "Tea Traders");
    const made = accountHost({ contextName });
    await allow(made.host);
    made.host.session = aliceIn(tea);
    await allow(made.host);
    const { text } = await made.get();
    expect(text).toContain("Can use <bdi>Orders</bdi> for <bdi>Tea Traders</bdi> to:");
    expect(text).toContain("Can use <bdi>Orders</bdi> to:");
    expect(contextName.mock.calls).toEqual([["org-tea"]]);
  });

  it("has no context where a consent has none, and is one access with its sign-ins", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    const list: AuthServer["consents"]["list"] = async (...asked) => {
      const { consents } = await host.auth.consents.list(...asked);
      const withoutContext = Object.fromEntries(
        Object.entries(consents[0] as Consent).filter(([name]) => name !== "contextKey"),
      );
      return { consents: [withoutContext as unknown as Consent] };
    };
    const auth = { ...host.auth, consents: { ...host.auth.consents, list } };
    const contextName = jest.fn(() => "Tea Traders");
    const made = accountHost({ auth, contextName }, { host });
    const page = await made.get();
    expect(page.text.match(/<legend>/g)).toHaveLength(1);
    expect(contextName).not.toHaveBeenCalled();
    await made.press(page, { ...save, fields: { do: "save", scope_1: undefined } });
    expect(made.changes).toMatchObject([{ kind: "access-narrowed", contextKey: "" }]);
    expect((await host.auth.consents.list("alice")).consents).toMatchObject([{ scopes: ["orders:read"] }]);
  });
});

/** How many apps are listed on each page, and whether there is always one more page. */
interface Listed {
  readonly consents?: number;
  readonly signIns?: number;
  readonly hasMore?: "consents" | "sign-ins";
}

type Counted = AccountHost & { readonly asked: unknown[]; readonly revoke: jest.Mock };

function copies<One>(one: One | undefined, count: number): readonly (One & { clientId: string })[] {
  return Array.from({ length: count }, (_, index) => ({ ...(one as One), clientId: `app-${index}` }));
}

async function findAny(clientId: string): Promise<Client> {
  return confidentialRecord({ clientId });
}

/** Lists of copies of what Alice has allowed. Each app has a number, and the pages of a list start over with the same apps. */
function listsOf(host: TestHost, { consents = 0, signIns = 0, hasMore }: Listed) {
  const asked: unknown[] = [];
  const next = { next: "more" };
  const listConsents: AuthServer["consents"]["list"] = async (subject) => {
    const [one] = (await host.auth.consents.list(subject)).consents;
    return { consents: copies(one, consents), ...(hasMore === "consents" && next) };
  };
  const listSignIns: AuthServer["authorizations"]["list"] = async (subject, { after } = {}) => {
    asked.push(after);
    const [one] = (await host.auth.authorizations.list(subject)).authorizations;
    return { authorizations: copies(one, signIns), ...(hasMore === "sign-ins" && next) };
  };
  return { asked, listConsents, listSignIns };
}

async function hostWith(listed: Listed, options: Partial<AccountPagesOptions> = {}): Promise<Counted> {
  const host = testHost();
  await allow(host);
  const { asked, listConsents, listSignIns } = listsOf(host, listed);
  const revoke = jest.fn(async () => undefined);
  const auth = {
    ...host.auth,
    consents: { ...host.auth.consents, list: listConsents, revoke },
    authorizations: { ...host.auth.authorizations, list: listSignIns },
  };
  const storage = { ...host.storage, clients: { ...host.storage.clients, find: findAny } };
  return Object.assign(accountHost({ auth, ...options }, { host, ofServer: { storage } }), { asked, revoke });
}

/** The APIs at which "Remove this app" ends the app. */
async function removedAt(made: Counted): Promise<readonly string[]> {
  await made.press(await made.get(), { form: ['value="remove"'], fields: { do: "remove" } });
  return made.revoke.mock.calls.map(([selection]: [{ apiId: string }]) => selection.apiId).toSorted();
}

describe("a page that cannot show everything", () => {
  it.each<[string, Listed, number]>([
    ["more consents than it reads", { consents: 1, signIns: 1, hasMore: "consents" }, 1],
    ["more sign-ins than it reads", { consents: 1, signIns: 1, hasMore: "sign-ins" }, 1],
    ["51 apps", { consents: 51, signIns: 1 }, 50],
  ])("says so with %s, and removes an app at every API", async (_, listed, shown) => {
    const made = await hostWith(listed);
    const page = await made.get();
    expect(appsOf(page)).toHaveLength(shown);
    expect(page.text).toContain(tooMany);
    expect(await removedAt(made)).toEqual(Object.keys(apis).toSorted());
  });

  it("says nothing of the kind with exactly 50 apps, and removes an app where it is", async () => {
    const made = await hostWith({ consents: 50, signIns: 50 });
    const page = await made.get();
    expect(appsOf(page)).toHaveLength(50);
    expect(page.text).not.toContain(tooMany);
    expect(await removedAt(made)).toEqual(["orders"]);
  });

  it("reads the sign-ins page by page, five at most", async () => {
    const made = await hostWith({ signIns: 1, hasMore: "sign-ins" });
    expect((await made.get()).text).toContain("Sign-ins (5)");
    expect(made.asked).toEqual([undefined, "more", "more", "more", "more"]);
  });

  it("shows the sign-ins beyond the first hundred", async () => {
    const made = accountHost();
    await obtainTokens(made.host, { client: "other" });
    clock.advance(1);
    for (let count = 0; count < 100; count += 1) await obtainTokens(made.host, { client: "web" });
    const page = await made.get();
    expect(appsOf(page)).toEqual(["Web Shop", "Other Shop"]);
    expect(page.text).toContain("Sign-ins (100)");
    expect(page.text).toContain("Sign-ins (1)");
    expect(page.text).not.toContain(tooMany);
  });
});

describe("the words of the page (WCAG 2.2)", () => {
  const top = "Apps with access to your account Signed in as Alice";

  it("are few when there is no app", async () => {
    const page = await accountHost({ render }).get();
    expect(wordsIn(page)).toBe(`${top} No app has access to your account.`);
  });

  it("are those of its apps, and no others", async () => {
    const scopes = {
      "orders:write": { text: "Change your orders", implies: ["orders:read", "orders:list"] },
      "orders:read": "See your orders",
      "orders:list": "List your orders",
      "orders:pay": "Pay",
    };
    const orders = { audience: "https://api.example/orders", authMethods: ["password"], scopes };
    const ofServer = { apis: { ...apis, orders } };
    const host = testHost({ clients: [trustedWeb, clients.other], ...ofServer });
    await allow(host, { client: "other", fields: { scope: "orders:write orders:pay" } });
    const [one] = (await host.auth.authorizations.list("alice")).authorizations;
    await host.auth.authorizations.revoke({
      subject: "alice",
      authorizationId: one?.authorizationId ?? "",
    });
    clock.advance(1);
    for (const scope of ["orders:list", "orders:pay"])
      await obtainTokens(host, { client: "web", fields: { scope } });
    const signIn =
      "Signed in on January 15, 2027 ( password ) Last used on January 15, 2027 End this sign-in";
    expect(wordsIn(await accountHost({ render }, { host, ofServer }).get())).toBe(
      [
        top,
        "Web Shop This app belongs to this site, so it doesn’t ask you. If you remove it, it may come back.",
        "Can use orders to: List your orders Pay Since January 15, 2027 , until April 15, 2027",
        `Remove this app Sign-ins (2) ${signIn} ${signIn}`,
        "Other Shop Can use orders to: Change your orders + See your orders + List your orders Pay",
        "Since January 15, 2027 , until January 15, 2028 Save Remove this app",
        "Remove all apps Every app loses its access to your account. To use one again, connect it again.",
        "Remove all apps",
      ].join(" "),
    );
  });

  it("are headed by all that is to be known first", async () => {
    const made = await hostWith({ consents: 1, hasMore: "consents" }, { render });
    const page = await made.send({ seen: "made-up" });
    const notices = [
      "This page was out of date, so nothing was changed. Check it and try again.",
      "You have more apps and sign-ins than this page can show. You can remove all apps below.",
    ];
    expect(wordsIn(page)).toContain(
      `${top} ${notices.join(" ")} Web Shop Can use Orders to: See your orders`,
    );
  });

  it("name each app, its buttons and its sign-ins by ids that are there once", async () => {
    const made = await hostWith({ consents: 2, signIns: 2 });
    const { text } = await made.get();
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const named = [...text.matchAll(/ aria-(?:labelledby|describedby)="([^"]*)"/g)].flatMap(
      ([, names = ""]) => names.split(" "),
    );
    expect(new Set(named)).toEqual(new Set(ids.filter((id) => named.includes(id ?? ""))));
    expect(ids.filter((id) => id?.startsWith("app-"))).toEqual(["app-0", "app-1"]);
  });
});

describe("a form of the page that is older than the consent", () => {
  it("saves nothing, because it shows another end", async () => {
    const made = accountHost();
    await remember(made.host, "web");
    const page = await made.get();
    clock.advance(60);
    await remember(made.host, "web");
    const fields = { do: "save", scope_0: undefined };
    expect((await made.press(page, { ...save, fields })).status).toBe(409);
    expect((await made.press(await made.get(), { ...save, fields })).status).toBe(303);
    expect(made.changes).toMatchObject([{ kind: "access-removed" }]);
  });
});

describe("a form of the page with the button of another", () => {
  it.each([
    ["Remove all apps", 'value="remove-all"', ["save", "remove"]],
    ["Save", 'value="save"', ["remove", "remove-all"]],
    ["Remove this app", 'value="remove"', ["save", "remove-all"]],
  ])("does nothing: that of %s", async (_, form, buttons) => {
    const made = accountHost();
    await allow(made.host);
    const page = await made.get();
    for (const button of [...buttons, undefined]) {
      const fields = { do: button, scope_0: undefined };
      expect((await made.press(page, { form: [form], fields })).status).toBe(409);
    }
    expect(made.changes).toEqual([]);
    expect((await made.host.auth.consents.list("alice")).consents).toHaveLength(1);
    expect((await made.host.auth.authorizations.list("alice")).authorizations).toHaveLength(1);
  });
});
