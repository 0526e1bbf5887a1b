// Two servers with equal ids share one storage: two brands of one host, say, or the test and the real one. The attacker has
// an account at the one and wants into the other.
import type { Storage } from "../../lib";
import { memoryStorage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { obtainCode, obtainTokens } from "../browser/journey";
import { apisWithRegistration, authorizeAs, nativeMetadata, registered } from "../requests/registration";

stopClockForEachTest();

const otherBase = "https://host.example/other";
const newStorage = (): Storage => memoryStorage({ clients: Object.values(clients) });

/** Two servers with the same ids, keys and secrets, and another `baseUrl`. */
function twoServers(
  storage: Storage = newStorage(),
  options: TestHostOptions = {},
): { here: TestHost; there: TestHost } {
  const there = testHost({
    storage,
    ...options,
    baseUrl: otherBase,
    // the journeys of the tests go to /login
    before: (app) =>
      app.use((req, _, next) => {
        req.url = req.url.replace(/^\/login/, "/other");
        next();
      }),
  });
  return { here: testHost({ storage, ...options }), there };
}

describe("servers that share a storage (RFC 9207 §4, 9700 §4.4)", () => {
  it("do not redeem each other's codes, and do not burn them", async () => {
    const { here, there } = twoServers();
    const code = await obtainCode(here, { client: "web" });
    const stolen = await redeem(there, { client: "web", code });
    expect([stolen.status, stolen.body]).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
    expect((await redeem(here, { client: "web", code })).status).toBe(200);
  });

  it("do not refresh each other's tokens, and do not revoke them", async () => {
    const { here, there } = twoServers();
    const { refresh_token: refreshToken = "" } = await obtainTokens(here, { client: "web" });
    expect((await refresh(there, { client: "web", refreshToken })).status).toBe(400);
    expect((await refresh(here, { client: "web", refreshToken })).status).toBe(200);
  });

  it("do not open each other's pending requests, with equal secrets and on one origin", async () => {
    const { here, there } = twoServers();
    const browser = here.browser();
    const page = await authorize(browser, { client: "web" });
    const elsewhere = there.browser();
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    const action = /action="([^"]*)"/.exec(page.text)?.[1] ?? "";
    expect(action).toContain("/login/");
    const answer = await elsewhere.answer(page, "approve");
    expect([answer.status, answer.headers["location"]]).toEqual([400, undefined]);
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it("do not know each other's clients that have registered themselves: the other one may let in everybody", async () => {
    const { here, there } = twoServers(newStorage(), { apis: apisWithRegistration({}) });
    const client = await registered(there, nativeMetadata);
    expect((await authorizeAs(there.browser(), client)).status).toBe(200);
    expect((await authorizeAs(here.browser(), client)).status).toBe(400);
  });

  it("name their issuer in the record", async () => {
    const stored: unknown[] = [];
    const storage = newStorage();
    const authorizations: Storage["authorizations"] = {
      ...storage.authorizations,
      create(record, now) {
        stored.push(record.issuer);
        return storage.authorizations.create(record, now);
      },
    };
    await obtainCode(testHost({ storage: { ...storage, authorizations } }), { client: "web" });
    expect(stored).toEqual([`https://host.example${pairPath()}`]);
  });
});
