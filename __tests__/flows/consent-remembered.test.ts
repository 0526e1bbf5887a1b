import { memoryStorage, type Subscription } from "../../lib";
import { authorize } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import {
  adapter,
  allow,
  bothScopes,
  grantedScopes,
  outcomeOf,
  outcomeOfVisit,
  rememberedScopes,
} from "../browser/consent";
import { bob, signedOut, testHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import { watchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

describe("a remembered consent (RFC 6749 §10.2)", () => {
  it.each([
    ["the same scopes", bothScopes, "granted"],
    ["the same scopes in another order", { scope: "orders:write orders:read" }, "granted"],
    ["fewer scopes", { scope: "orders:write" }, "granted"],
    ["the default scopes", { scope: undefined }, "granted"],
  ])("covers %s", async (_, fields, outcome) => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    expect(await outcomeOfVisit(host, { fields })).toBe(outcome);
  });

  it("gives fewer scopes when fewer were asked for", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    await authorize(host.browser(), { client: "web", fields: { scope: "orders:write" } });
    expect(grantedScopes(host)).toEqual(["orders:write"]);
  });

  it.each([["orders:write"], ["orders:read orders:write"]])("does not cover more: %s", async (scope) => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { fields: { scope } })).toBe("asked");
  });

  it("grows with a second one", async () => {
    const host = testHost();
    await allow(host, { fields: { scope: "orders:read" } });
    await allow(host, { fields: { scope: "orders:write" } });
    expect(await rememberedScopes(host)).toEqual([["orders:read", "orders:write"]]);
    expect(await outcomeOfVisit(host, { fields: bothScopes })).toBe("granted");
  });

  it("shrinks by what is not ticked when it is asked again", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: { ...bothScopes, prompt: "consent" } });
    await browser.answer(page, "approve", { scope_1: undefined });
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
    expect(await outcomeOfVisit(host, { fields: bothScopes })).toBe("asked");
  });

  it("stays as it is after a no", async () => {
    const host = testHost();
    await allow(host);
    const browser = host.browser();
    await browser.answer(await authorize(browser, { client: "web", fields: bothScopes }), "deny");
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it.each([
    [999, "granted"],
    [1_000, "asked"],
  ])("after %i of 1,000 consentSeconds: %s", async (seconds, outcome) => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(seconds);
    expect(await outcomeOfVisit(host)).toBe(outcome);
  });

  it("lasts a year by default, for what is not asked about again from the yes to that", async () => {
    const host = testHost();
    await allow(host);
    clock.advance(1_000);
    await allow(host, { fields: { scope: "orders:write" } });
    const [consent] = (await host.auth.consents.list("alice")).consents;
    expect(consent).toEqual({
      subject: "alice",
      clientId: "web",
      apiId: "orders",
      contextKey: "",
      scopes: ["orders:read", "orders:write"],
      grantedAt: clock.now(),
      expiresAt: clock.now() - 1_000 + 31_536_000,
      endMarks: [],
    });
    await allow(host, { fields: { scope: "orders:read orders:write", prompt: "consent" } });
    const [again] = (await host.auth.consents.list("alice")).consents;
    expect(again?.expiresAt).toBe(clock.now() + 31_536_000);
  });

  it("is not made longer by being used", async () => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(999);
    expect(await outcomeOfVisit(host)).toBe("granted");
    clock.advance(1);
    expect(await outcomeOfVisit(host)).toBe("asked");
  });
});

describe("what a remembered consent covers (RFC 6749 §10.2)", () => {
  it("does not cover another end user", async () => {
    const host = testHost();
    await allow(host);
    host.session = bob;
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("does not cover another client", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { client: "other" })).toBe("asked");
  });

  it("does not cover another API", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("asked");
  });

  it("covers the API at every way of signing in: it is one end user's word to one client", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { pair: { method: "otp" } })).toBe("granted");
  });

  it("covers another redirect URI of the client", async () => {
    const more = "https://web.example/more";
    const client = { ...clients.web, redirectUris: [...clients.web.redirectUris, more] };
    const host = testHost({ clients: [client] });
    await allow(host);
    expect(await outcomeOfVisit(host, { fields: { redirect_uri: more } })).toBe("granted");
  });

  it("serves after a sign-in in the same interaction", async () => {
    const host = testHost();
    await allow(host);
    host.session = signedOut;
    const browser = host.browser();
    const id = interactionOf(await authorize(browser, { client: "web" }));
    const back = await browser.post("/signin", { interaction: id, subject: "alice" });
    const answer = await browser.follow(back);
    expect(answer.status).toBe(302);
    expect(outcomeOf(answer)).toBe("granted");
  });

  it("is not kept for scopes that the client may not have any more", async () => {
    const storage = memoryStorage({ clients: [clients.web] });
    await allow(testHost({ storage }), { fields: bothScopes });
    const reader = { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } };
    const narrowed = { ...storage, clients: memoryStorage({ clients: [reader] }).clients };
    expect(await outcomeOfVisit(testHost({ storage: narrowed }), { fields: bothScopes })).toBe(
      "invalid_scope",
    );
  });
});

describe("trust: who is never asked", () => {
  const trusted: readonly (readonly [string, object])[] = [
    ["client", { trusted: true }],
    ["subscription", { subscriptions: { orders: { trusted: true }, files: {} } }],
  ];

  it.each(trusted)(
    "a trusted %s gets its code on the first visit, and nothing is remembered",
    async (_, trust) => {
      const { consent, questions } = adapter({ kind: "denied" });
      const { host, writes } = watchedHost({ clients: [{ ...clients.web, ...trust }], consent });
      const answer = await authorize(host.browser(), { client: "web", fields: bothScopes });
      expect(answer.status).toBe(302);
      expect(outcomeOf(answer)).toBe("granted");
      expect(grantedScopes(host)).toEqual(["orders:read", "orders:write"]);
      expect(writes).toEqual(["authorizations.create", "authorizationCodes.create"]);
      expect(questions).toEqual([]);
    },
  );

  it.each(trusted)("except a trusted %s that asks for it: prompt=consent", async (_, trust) => {
    const host = testHost({ clients: [{ ...clients.web, ...trust }] });
    expect(await outcomeOfVisit(host, { fields: { prompt: "consent" } })).toBe("asked");
  });

  it("a trusted subscription counts for its API only", async () => {
    const subscriptions: Record<string, Subscription> = {
      orders: { trusted: true },
      files: { trusted: false },
    };
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    expect(await outcomeOfVisit(host)).toBe("granted");
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("asked");
  });

  it("a trusted client is not asked at any API, whatever its subscription says", async () => {
    const subscriptions = { files: { trusted: false } };
    const host = testHost({ clients: [{ ...clients.web, trusted: true, subscriptions }] });
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("granted");
  });

  it("trust gives no scope beyond the subscription", async () => {
    const subscriptions = { orders: { scopes: ["orders:read"], trusted: true } };
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    expect(await outcomeOfVisit(host, { fields: bothScopes })).toBe("invalid_scope");
  });

  it("a trusted client still needs somebody to be signed in", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    host.session = signedOut;
    expect(await outcomeOfVisit(host)).toBe("/signin?interaction");
  });
});

describe("prompt=consent (OpenID Connect Core §3.1.2.1)", () => {
  const fields = { ...bothScopes, prompt: "consent" };

  it("asks although consent is remembered", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    expect(await outcomeOfVisit(host, { fields })).toBe("asked");
  });

  it("asks once: the answer counts", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields });
    const answer = await browser.answer(page, "approve");
    expect(answer.status).toBe(303);
    expect(outcomeOf(answer)).toBe("granted");
  });

  it("asks a trusted client's end user once", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields });
    expect(outcomeOf(await browser.answer(page, "approve", { scope_1: undefined }))).toBe("granted");
    expect(grantedScopes(host)).toEqual(["orders:read"]);
  });

  it("asks each time", async () => {
    const host = testHost();
    for (let time = 0; time < 3; time += 1) await allow(host, { fields });
  });

  it("asks the host's adapter, which sees the prompt", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ clients: [{ ...clients.web, trusted: true }], consent });
    expect(await outcomeOfVisit(host, { fields })).toBe("asked");
    expect(questions).toEqual([expect.objectContaining({ prompt: ["consent"] })]);
  });
});

describe("redirects that do not prove the client (RFC 8252 §8.6, 9700 §4.11.2)", () => {
  const custom = "com.example.phone:/callback";
  const loopback = "http://127.0.0.1:49152/callback";
  const https = "https://phone.example/callback";

  it.each([
    ["a custom scheme", custom, "asked"],
    ["a loopback port", loopback, "asked"],
    ["https", https, "granted"],
  ])("a native client with %s (%s) and a remembered consent is %s", async (_, redirectUri, outcome) => {
    const host = testHost();
    const asked = { client: "native", fields: { redirect_uri: redirectUri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe(outcome);
  });

  it("does not matter by which redirect the consent was given", async () => {
    const host = testHost();
    await allow(host, { client: "native", fields: { redirect_uri: https } });
    const asked = { client: "native", fields: { redirect_uri: custom } } as const;
    expect(await outcomeOfVisit(host, asked)).toBe("asked");
    await allow(host, asked);
    const byHttps = { client: "native", fields: { redirect_uri: https } } as const;
    expect(await outcomeOfVisit(host, byHttps)).toBe("granted");
  });

  it("a confidential client is not asked again, on loopback for development too", async () => {
    const redirectUri = "http://localhost:3000/callback";
    const host = testHost({ clients: [{ ...clients.web, redirectUris: [redirectUri] }] });
    const asked = { client: "web", fields: { redirect_uri: redirectUri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe("granted");
  });

  const loopbacks = ["http://localhost:3000/callback", "http://127.0.0.1:3000/", "http://[::1]:3000/"];

  it.each(loopbacks)("a browser client is asked again at %s: any program may listen there", async (uri) => {
    const host = testHost({ clients: [{ ...clients.spa, redirectUris: [uri] }] });
    const asked = { client: "spa", fields: { redirect_uri: uri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe("asked");
    const silent = { client: "spa", fields: { redirect_uri: uri, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("consent_required");
  });

  it("a trusted browser client is not asked on loopback: so silent refresh works in development", async () => {
    const redirectUri = "http://localhost:3000/callback";
    const subscriptions = { orders: { trusted: true } };
    const host = testHost({ clients: [{ ...clients.spa, redirectUris: [redirectUri], subscriptions }] });
    const silent = { client: "spa", fields: { redirect_uri: redirectUri, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("granted");
  });

  it("a trusted native client is not asked: the host vouches for it", async () => {
    const host = testHost({ clients: [{ ...clients.native, trusted: true }] });
    for (const redirectUri of [custom, loopback, https]) {
      const asked = { client: "native", fields: { redirect_uri: redirectUri } } as const;
      expect(await outcomeOfVisit(host, asked)).toBe("granted");
    }
  });

  it("prompt=none is consent_required although consent is remembered", async () => {
    const host = testHost();
    const asked = { client: "native", fields: { redirect_uri: custom } } as const;
    await allow(host, asked);
    const silent = { client: "native", fields: { redirect_uri: custom, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("consent_required");
  });
});
