// The client asks without a scope and waits until what the host offers has changed, or until a form says less than it seems.
// Only what a person was shown can be granted.
import type { Response } from "supertest";
import { type AuthServerOptions, type Client, memoryStorage } from "../../lib";
import { apis, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, type TestHost, testHost } from "../hosts/host";
import { changingClients } from "../hosts/watched-host";

stopClockForEachTest();

const noScope = { scope: undefined };
const scopes = {
  "orders:read": "See your orders",
  "orders:write": "Change your orders",
  "orders:delete": "Delete your orders",
};

/** A second server over the same storage, whose options have changed: the next deployment. */
function nextDeployment(before: TestHost, orders: Partial<AuthServerOptions["apis"][string]>): TestHost {
  const changed = { ...apis, orders: { ...apis["orders"], scopes, ...orders } } as AuthServerOptions["apis"];
  return testHost({ storage: before.storage, apis: changed });
}

function hostOffering(defaultScopes: readonly string[], options: Partial<AuthServerOptions> = {}): TestHost {
  return testHost({
    ...options,
    apis: { ...apis, orders: { ...apis["orders"], scopes, defaultScopes } } as AuthServerOptions["apis"],
  });
}

/** Posts the form of a page to another server of the same host, with the browser's cookies. */
async function answerAt(
  host: TestHost,
  { page, cookies, fields = {} }: { page: Response; cookies: Map<string, string>; fields?: object },
): Promise<Response> {
  const browser = host.browser();
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  const form = { ...formFields(page.text), decision: "approve", ...fields };
  return browser.post(`${pairPath()}/authorize/consent`, form);
}

async function grantedBy(host: TestHost, answer: Response): Promise<unknown> {
  const { code = "" } = redirectParameters(answer);
  const { body } = await redeem(host, { client: "web", code });
  return (body as { scope?: string }).scope;
}

async function rememberedScopes(host: TestHost): Promise<unknown> {
  return (await host.auth.consents.list("alice")).consents.map((consent) => consent.scopes);
}

describe("consent is for what the page has shown (RFC 6749 §10.2, 9700 §4.11.2)", () => {
  it("a box does not become another scope when the defaults change while the page is open", async () => {
    const before = hostOffering(["orders:read"]);
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: noScope });
    expect(page.text).toContain("See your orders");
    const after = nextDeployment(before, { defaultScopes: ["orders:delete"] });
    const answer = await answerAt(after, { page, cookies: browser.cookies });
    expect(await grantedBy(after, answer)).toBe("orders:read");
    expect(await rememberedScopes(after)).toEqual([["orders:read"]]);
  });

  it("a box does not become another scope when the subscription changes while the page is open", async () => {
    let own = ["orders:read"];
    const { storage } = hostOffering([]);
    const find = async (clientId: string): Promise<Client | undefined> =>
      clientId === "web" ? { ...clients.web, subscriptions: { orders: { scopes: own } } } : undefined;
    const host = hostOffering(["orders:delete", "orders:read"], {
      storage: { ...storage, clients: { ...storage.clients, find } },
      revocationLagSeconds: 0,
    });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: noScope });
    own = ["orders:read", "orders:delete"];
    const answer = await browser.answer(page, "approve");
    expect(await grantedBy(host, answer)).toBe("orders:read");
  });

  it("the client is told invalid_scope when it may no longer have what was shown", async () => {
    const before = hostOffering(["orders:delete"]);
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: noScope });
    const after = nextDeployment(before, {
      scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
      defaultScopes: [],
    });
    const answer = await answerAt(after, { page, cookies: browser.cookies });
    expect(redirectParameters(answer)).toMatchObject({ error: "invalid_scope" });
    expect(await rememberedScopes(after)).toEqual([]);
  });

  it("a page that showed no scope grants none, whatever the defaults are by then", async () => {
    const before = hostOffering([]);
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: noScope });
    const after = nextDeployment(before, { defaultScopes: ["orders:delete"] });
    const answer = await answerAt(after, { page, cookies: browser.cookies, fields: { scope_0: "on" } });
    expect(await grantedBy(after, answer)).toBeUndefined();
  });

  it("a scope does not come with others that it implies only since then", async () => {
    const before = hostOffering(["orders:write"]);
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: noScope });
    const implying = { text: "Change your orders", implies: ["orders:delete"] };
    const after = nextDeployment(before, { scopes: { ...scopes, "orders:write": implying } });
    const answer = await answerAt(after, { page, cookies: browser.cookies });
    expect(await grantedBy(after, answer)).toBe("orders:write");
    expect(await rememberedScopes(after)).toEqual([["orders:write"]]);
  });

  it("what was shown beneath a scope is not granted when nothing implies it any more", async () => {
    const implying = { text: "Change your orders", implies: ["orders:read"] };
    const before = testHost({
      apis: {
        ...apis,
        orders: { ...apis["orders"], scopes: { ...scopes, "orders:write": implying }, defaultScopes: [] },
      } as AuthServerOptions["apis"],
    });
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: { scope: "orders:write" } });
    expect(page.text).toContain("See your orders");
    const answer = await answerAt(nextDeployment(before, {}), { page, cookies: browser.cookies });
    // never more than was shown, and less where the host has changed its mind
    expect(await grantedBy(before, answer)).toBe("orders:write");
  });

  it("what the sign-in page was told of is what the consent page shows afterwards", async () => {
    const before = hostOffering(["orders:read"]);
    before.session = signedOut;
    const browser = before.browser();
    const first = await authorize(browser, { client: "web", fields: noScope });
    const after = nextDeployment(before, { defaultScopes: ["orders:delete"] });
    const late = after.browser();
    for (const [name, value] of browser.cookies) late.cookies.set(name, value);
    const interaction = /interaction=([\w-]+)/.exec(String(first.headers["location"]))?.[1];
    const told = await late.get("/signin", { interaction });
    expect(told.body).toMatchObject({ scopes: { "orders:read": "See your orders" } });
    const page = await late.get(`${pairPath()}/authorize/resume`, { interaction });
    expect(page.text).toContain("See your orders");
    expect(page.text).not.toContain("Delete your orders");
  });
});

describe("the answer goes where the page has said (RFC 6749 §3.1.2.3, 9700 §4.11.2)", () => {
  const pair = { api: "reports" } as const;
  const other = "https://other.example/callback";
  const shown = clients.web.redirectUris[0];

  /** Alice before a page for a request without `redirect_uri`; then the client has other redirect URIs. */
  async function changedMeanwhile(redirectUris: readonly string[]) {
    const records = new Map<string, Client>([["web", clients.web]]);
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", pair, fields: { redirect_uri: undefined } });
    expect(page.text).toContain("https://web.example");
    records.set("web", { ...clients.web, redirectUris });
    return { host, browser, page };
  }

  it("the destination is the one that was shown, also where redirect_uri was left out", async () => {
    for (const decision of ["approve", "deny"] as const) {
      const { browser, page } = await changedMeanwhile([other]);
      const answer = await browser.answer(page, decision);
      expect([answer.status, answer.headers["location"]]).toEqual([400, undefined]);
    }
  });

  it("is not missing because there are two of them by now, and names the code's at the token endpoint", async () => {
    for (const [redirect_uri, status] of [
      [undefined, 200],
      [shown, 200],
      [other, 400],
    ] as const) {
      const { host, browser, page } = await changedMeanwhile([other, shown]);
      const answer = await browser.answer(page, "approve");
      expect(String(answer.headers["location"]).split("?")[0]).toBe(shown);
      const { code = "" } = redirectParameters(answer);
      const redeemed = await redeem(host, { client: "web", pair, code, fields: { redirect_uri } });
      expect(redeemed.status).toBe(status);
    }
  });
});

async function ask(host: TestHost) {
  const browser = host.browser();
  const asked = await authorize(browser, { client: "web", fields: noScope });
  const interaction = /interaction=([\w-]+)/.exec(String(asked.headers["location"]))?.[1];
  return { browser, interaction };
}

describe("auth.approve grants what the page has shown, or what the host names of it (RFC 6749 §10.2)", () => {
  const consent: AuthServerOptions["consent"] = { decide: () => ({ kind: "interaction", url: "/ask" }) };

  it("leaves out what has become a default since then", async () => {
    const before = hostOffering(["orders:read"], { consent });
    const { browser, interaction } = await ask(before);
    const after = nextDeployment(before, { defaultScopes: ["orders:read", "orders:delete"] });
    const late = after.browser();
    for (const [name, value] of browser.cookies) late.cookies.set(name, value);
    const answer = await late.post("/allow", { interaction });
    expect(await grantedBy(after, answer)).toBe("orders:read");
  });

  it.each([
    [{ scopes: undefined }],
    // what a host may write
    [{ scopes: null }],
    [{ scopes: "orders:read" }],
    [{ scopes: {} }],
    [{ scope: ["orders:read"] }],
    [["orders:read"]],
    ["orders:read"],
    [undefined],
    // what a host may write
    [null],
  ])("refuses the decision %j, and grants nothing", async (odd) => {
    const host = hostOffering(["orders:read", "orders:delete"], { consent });
    host.app.post("/nothing-ticked", (req, res) => host.auth.approve(req, res, odd as never));
    const { browser, interaction } = await ask(host);
    const answer = await browser.post(`/nothing-ticked?interaction=${interaction}`);
    expect([answer.status, answer.headers["location"]]).toEqual([500, undefined]);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: expect.objectContaining({ code: "unclear-approval" }),
    });
    expect(await rememberedScopes(host)).toEqual([]);
    // the person can still answer
    const second = await browser.post("/allow", { interaction, scopes: "orders:read" });
    expect(await grantedBy(host, second)).toBe("orders:read");
  });
});
