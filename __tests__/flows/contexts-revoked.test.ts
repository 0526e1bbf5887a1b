import { type ConsentAnswer, memoryStorage } from "../../lib";
import { refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { outcomeOfVisit } from "../browser/consent";
import { aliceIn, bikes, choose, contextHost, contextKeys, loginKeys, tea } from "../hosts/contexts";
import type { TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";
import { type TokenBody, tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const ofWeb = { subject: "alice", clientId: "web", apiId: "orders" };

async function isAlive(
  host: TestHost,
  { access_token, refresh_token }: Pick<TokenBody, "access_token" | "refresh_token">,
): Promise<boolean> {
  const { status } = await callApi(host, "/orders", access_token);
  const refreshed = await refresh(host, { client: "web", refreshToken: refresh_token });
  expect([status, refreshed.status]).toEqual(status === 200 ? [200, 200] : [401, 400]);
  return status === 200;
}

async function threeFamilies() {
  const made = contextHost();
  const families = {
    "": await choose(made),
    "org-bikes": await choose(made, bikes),
    "org-tea": await choose(made, tea),
  };
  const { host } = made;
  expect(await contextKeys(host)).toEqual(["", "org-bikes", "org-tea"]);
  return { host, families };
}

describe("auth.consents.revoke and contexts (RFC 7009 §2.1)", () => {
  it.each(["", "org-bikes", "org-tea"] as const)("ends only the context %j", async (contextKey) => {
    const { host, families } = await threeFamilies();
    await host.auth.consents.revoke({ ...ofWeb, contextKey });
    expect(host.events.at(-1)).toMatchObject({ kind: "consent-revoked", ...ofWeb });
    const others = ["", "org-bikes", "org-tea"].filter((key) => key !== contextKey);
    expect(await contextKeys(host)).toEqual(others);
    expect(await loginKeys(host)).toEqual(others);
    for (const [key, tokens] of Object.entries(families))
      expect([key, await isAlive(host, tokens)]).toEqual([key, key !== contextKey]);
  });

  it("ends every context when none is named", async () => {
    const { host, families } = await threeFamilies();
    await host.auth.consents.revoke(ofWeb);
    expect(await contextKeys(host)).toEqual([]);
    expect(await loginKeys(host)).toEqual([]);
    for (const tokens of Object.values(families)) expect(await isAlive(host, tokens)).toBe(false);
  });

  it("ends nothing in a context that was never used", async () => {
    const { host, families } = await threeFamilies();
    await host.auth.consents.revoke({ ...ofWeb, contextKey: "org-nowhere" });
    expect(host.events.at(-1)).toMatchObject({ kind: "nothing-to-revoke" });
    for (const tokens of Object.values(families)) expect(await isAlive(host, tokens)).toBe(true);
  });

  it.each([undefined, null, 7])("refuses the contextKey %j and ends nothing", async (contextKey) => {
    const { host, families } = await threeFamilies();
    const selection = { ...ofWeb, contextKey } as unknown as Parameters<typeof host.auth.consents.revoke>[0];
    await expect(host.auth.consents.revoke(selection)).rejects.toMatchObject({ code: "unclear-context-key" });
    expect(await contextKeys(host)).toEqual(["", "org-bikes", "org-tea"]);
    for (const tokens of Object.values(families)) expect(await isAlive(host, tokens)).toBe(true);
  });

  it("takes what auth.consents.list gives, and ends that one only", async () => {
    const { host } = await threeFamilies();
    const [first] = (await host.auth.consents.list("alice")).consents;
    if (first === undefined) throw new Error("no consent");
    await host.auth.consents.revoke(first);
    const others = ["", "org-bikes", "org-tea"].filter((key) => key !== first.contextKey);
    expect(await contextKeys(host)).toEqual(others);
  });

  it("lets a context be allowed anew, and it is asked about again", async () => {
    const { host } = contextHost();
    host.session = aliceIn(tea);
    await obtainCode(host, { client: "web" });
    await host.auth.consents.revoke({ ...ofWeb, contextKey: "org-tea" });
    expect(await outcomeOfVisit(host)).toBe("asked");
    await obtainCode(host, { client: "web" });
    expect(await outcomeOfVisit(host)).toBe("granted");
  });

  it("of one context leaves the remembered consent of another in force", async () => {
    const { host } = contextHost();
    for (const context of [tea, bikes]) {
      host.session = aliceIn(context);
      await obtainCode(host, { client: "web" });
    }
    await host.auth.consents.revoke({ ...ofWeb, contextKey: "org-tea" });
    expect(await outcomeOfVisit(host)).toBe("granted");
  });
});

/** Where a consent was remembered without a context. */
async function withConsent(): Promise<TestHost> {
  const { host } = contextHost();
  const now = clock.now();
  const times = { grantedAt: now, expiresAt: now + 1_000 };
  await host.storage.consents.save({ ...ofWeb, scopes: ["orders:read"], ...times, endMarks: [] }, now);
  return host;
}

describe("without a context", () => {
  it("tokens.decide is told of none", async () => {
    const made = contextHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(made.host, { client: "web" });
    await refresh(made.host, { client: "web", refreshToken });
    expect(made.asked.map(({ authorization }) => authorization && "context" in authorization)).toEqual([
      false,
      false,
    ]);
  });

  it("a consent counts where there is no context, and only there", async () => {
    const host = await withConsent();
    expect(await outcomeOfVisit(host)).toBe("granted");
    expect(await contextKeys(host)).toEqual([""]);
    host.session = aliceIn(tea);
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it.each([{}, { contextKey: "" }])("a consent ends with %j", async (which) => {
    const host = await withConsent();
    await host.auth.consents.revoke({ ...ofWeb, ...which });
    expect(await contextKeys(host)).toEqual([]);
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("a consent does not end with that of a context", async () => {
    const host = await withConsent();
    await host.auth.consents.revoke({ ...ofWeb, contextKey: "org-tea" });
    expect(await outcomeOfVisit(host)).toBe("granted");
  });

  it.each([{}, { contextKey: "" }])("an authorization refreshes, and ends with %j", async (which) => {
    const { host } = contextHost();
    const { access_token, refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    const again = tokensOf(await refresh(host, { client: "web", refreshToken }));
    expect(await loginKeys(host)).toEqual([""]);
    await host.auth.consents.revoke({ ...ofWeb, ...which });
    expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    expect(await isAlive(host, again)).toBe(false);
  });

  it("a consent without a context is stored as one", async () => {
    const saved: unknown[] = [];
    const memory = memoryStorage({ clients: Object.values(clients) });
    const save: typeof memory.consents.save = (consent, now) => {
      saved.push(consent.contextKey ?? "");
      return memory.consents.save(consent, now);
    };
    const storage = { ...memory, consents: { ...memory.consents, save } };
    await obtainCode(contextHost({ kind: "ask" }, { storage }).host, { client: "web" });
    expect(saved).toEqual([""]);
  });
});

describe("a withdrawal of one context while another is being approved (RFC 7009 §2.1)", () => {
  it("by consent.decide: nothing of the withdrawn context outlives it", async () => {
    const memory = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(memory, async (name, call) => {
      const answer = await call();
      if (name === "authorizations.create")
        await host.auth.consents.revoke({ ...ofWeb, contextKey: "org-tea" });
      return answer;
    });
    const granted: ConsentAnswer = { kind: "granted", scopes: ["orders:read"], context: tea };
    const { host } = contextHost(granted, { storage });
    host.session = aliceIn(bikes);
    expect(await outcomeOfVisit(host)).toBe("access_denied");
    expect(await loginKeys(host)).toEqual([]);
  });
});
