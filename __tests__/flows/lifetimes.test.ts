import { type Lifetimes } from "../../lib";
import { apis } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";

const clock = stopClockForEachTest();

/** The lifetimes are of the API orders alone. */
function hostWith(lifetimes: Partial<Lifetimes>, options: object = {}): TestHost {
  const orders = { ...apis["orders"], lifetimes } as (typeof apis)[string];
  return testHost({ apis: { ...apis, orders }, ...options });
}

const fail = (): Promise<never> => Promise.reject(new Error("asked"));
const elsewhere = { api: "files" } as const;

describe("lifetimes of one API (RFC 6749 §4.1.2, §10.4)", () => {
  it("end its codes, and those of no other API", async () => {
    const host = hostWith({ authorizationCodeSeconds: 5 });
    const code = await obtainCode(host, { client: "web" });
    const other = await obtainCode(host, { client: "web", pair: elsewhere });
    clock.advance(6);
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
    expect((await redeem(host, { client: "web", code: other, pair: elsewhere })).status).toBe(200);
  });

  it("of a code begin when it is issued, however long the host has thought, such as for a sign-in on another device", async () => {
    const host = hostWith({ authorizationCodeSeconds: 5 }, { clients: [{ ...clients.web, trusted: true }] });
    host.session = () => {
      clock.advance(400);
      return alice(clock.now());
    };
    const code = await obtainCode(host, { client: "web" });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("end its refresh tokens", async () => {
    const host = hostWith({ refreshTokenIdleSeconds: 100, refreshTokenSeconds: 100 });
    const { refresh_token = "" } = await obtainTokens(host, { client: "web" });
    const other = await obtainTokens(host, { client: "web", pair: elsewhere });
    clock.advance(101);
    const refused = await refresh(host, { client: "web", refreshToken: refresh_token });
    expect(refused.body).toMatchObject({ error: "invalid_grant" });
    const served = { client: "web", refreshToken: other.refresh_token ?? "", pair: elsewhere } as const;
    expect((await refresh(host, served)).status).toBe(200);
  });

  it("end its pending requests", async () => {
    const host = hostWith({ interactionSeconds: 30 });
    const page = await authorize(host.browser(), { client: "web" });
    expect(page.headers["set-cookie"]).toEqual([expect.stringContaining("Max-Age=30")]);
  });

  it("stand over those of the server, one by one", async () => {
    const host = hostWith(
      { authorizationCodeSeconds: 5 },
      { lifetimes: { refreshTokenSeconds: 50, refreshTokenIdleSeconds: 50 } },
    );
    const { refresh_token = "" } = await obtainTokens(host, { client: "web" });
    clock.advance(51);
    expect((await refresh(host, { client: "web", refreshToken: refresh_token })).status).toBe(400);
  });

  it("are refused when the idle time can never be reached, together with the server's", () => {
    expect(() =>
      hostWith(
        { refreshTokenIdleSeconds: 100 },
        { lifetimes: { refreshTokenSeconds: 50, refreshTokenIdleSeconds: 50 } },
      ),
    ).toThrow(expect.objectContaining({ code: "idle-lifetime-too-long" }));
  });
});

describe("consentSeconds: 0 (RFC 6749 §10.2)", () => {
  it("remembers nothing: the person is asked each time", async () => {
    const host = hostWith({ consentSeconds: 0 });
    const browser = host.browser();
    await obtainTokens(host, { client: "web", browser });
    expect((await authorize(browser, { client: "web" })).text).toContain('value="approve"');
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
  });

  it("asks storage for no consent and saves none", async () => {
    const { storage } = testHost();
    const consents = { ...storage.consents, find: fail, save: fail };
    const host = hostWith({ consentSeconds: 0 }, { storage: { ...storage, consents } });
    expect(await obtainTokens(host, { client: "web" })).toHaveProperty("access_token");
  });

  it("does not look at what was remembered before", async () => {
    const { storage } = testHost();
    await obtainTokens(testHost({ storage }), { client: "web" });
    const host = hostWith({ consentSeconds: 0 }, { storage });
    const silent = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
    expect(redirectParameters(silent)).toMatchObject({ error: "consent_required" });
  });

  it("is the matter of that API alone", async () => {
    const host = hostWith({ consentSeconds: 0 });
    await obtainTokens(host, { client: "web", pair: elsewhere });
    const again = await authorize(host.browser(), { client: "web", pair: elsewhere });
    expect(redirectParameters(again)).toHaveProperty("code");
  });

  it("leaves trusted clients in peace", async () => {
    const host = hostWith({ consentSeconds: 0 }, { clients: [{ ...clients.web, trusted: true }] });
    expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
  });

  it("still lets the person end what they allowed", async () => {
    const host = hostWith({ consentSeconds: 0 }, { revocationLagSeconds: 0 });
    const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "web" });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    expect((await refresh(host, { client: "web", refreshToken: refresh_token })).status).toBe(400);
  });
});
