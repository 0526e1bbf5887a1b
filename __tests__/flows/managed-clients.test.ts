/** Clients that staff disable, enable and give new secrets to while their tokens are in use. RFC 6749 §2, §2.3.1. */
import request from "supertest";
import { changeClient, type Client, memoryStorage, rotateClientSecret } from "../../lib";
import { authorize } from "../browser/authorize";
import { callApi, familyOf, obtainCode } from "../browser/journey";
import { authorizationParameters } from "../browser/authorization-request";
import { pairPath } from "../hosts/apis";
import { clients, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, testHost } from "../hosts/host";
import { introspect, ownToken, postToken, redeem, refresh, revoke } from "../requests/client-requests";

const clock = stopClockForEachTest();

function managedHost() {
  const storage = memoryStorage({ clients: Object.values(clients) });
  const host = testHost({ storage });
  host.session = alice();
  const set = (changes: Partial<Client>) =>
    changeClient(storage.clients, "web", (client) => ({ ...client, ...changes }) as Client);
  return { host, storage, disable: () => set({ disabled: true }), enable: () => set({ disabled: false }) };
}

const ofClient = { client: "web" } as const;

describe("a disabled client (RFC 6749 §2)", () => {
  it("gets nothing at any endpoint, and people see an error page", async () => {
    const { host, disable } = managedHost();
    const code = await obtainCode(host, ofClient);
    const { accessToken: token, refreshToken } = await familyOf(host);
    await disable();
    clock.advance(5);
    const answers = [
      await redeem(host, { ...ofClient, code }),
      await refresh(host, { ...ofClient, refreshToken }),
      await ownToken(host, ofClient),
      await introspect(host, { token }),
      await revoke(host, { token }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect(body).toMatchObject({ error: "invalid_client" });
    }
    expect((await callApi(host, "/orders", token)).status).toBe(401);
    const page = await authorize(host.browser(), ofClient);
    expect(page.status).toBe(400);
    expect(page.headers["location"]).toBeUndefined();
  });

  it("is told from no unknown client by anybody else", async () => {
    const { host, disable } = managedHost();
    const { accessToken: token } = await familyOf(host);
    await disable();
    clock.advance(5);
    expect((await introspect(host, { client: "other", token })).body).toEqual({ active: false });
    const ask = (client_id: string) =>
      request(host.app)
        .get(`${pairPath()}/authorize`)
        .query({ ...authorizationParameters("web"), client_id });
    const [disabled, unknown] = [await ask("web"), await ask("nobody")];
    expect(disabled.text.replaceAll("web", "nobody")).toBe(unknown.text.replaceAll("web", "nobody"));
  });

  it("goes on where it was once it is enabled", async () => {
    const { host, disable, enable } = managedHost();
    const { accessToken, refreshToken } = await familyOf(host);
    await disable();
    clock.advance(5);
    expect((await refresh(host, { ...ofClient, refreshToken })).status).toBe(401);
    await enable();
    expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
    expect((await refresh(host, { ...ofClient, refreshToken })).status).toBe(200);
  });

  it("gets no code for an approval that was under way", async () => {
    const { host, disable } = managedHost();
    const browser = host.browser();
    const page = await authorize(browser, ofClient);
    await disable();
    clock.advance(5);
    const answer = await browser.answer(page, "approve");
    expect(answer.headers["location"] ?? "").not.toContain("code=");
  });
});

describe("a new secret of a client (RFC 6749 §2.3.1)", () => {
  it("works at once, and so does the old one until its time is over; the host hears of that", async () => {
    const { host, storage } = managedHost();
    const withSecret = async (client_secret: string) => {
      const fields = { grant_type: "client_credentials", client_id: "web", client_secret };
      return (await postToken(host, { fields })).status;
    };
    expect(await withSecret(webSecret.secret)).toBe(200);
    const { secret } = await rotateClientSecret(storage.clients, "web", { overlapSeconds: 3_600 });
    expect(await withSecret(secret)).toBe(200);
    expect(await withSecret(webSecret.secret)).toBe(200);
    expect(await withSecret(webSecret.secret)).toBe(200);
    const used = host.events.filter(({ kind }) => kind === "old-secret-used");
    expect(used).toEqual([{ kind: "old-secret-used", at: clock.now(), clientId: "web" }]);
    clock.advance(3_600);
    expect(await withSecret(secret)).toBe(200);
    expect(await withSecret(webSecret.secret)).toBe(401);
  });
});
