// Storage fails in the middle of a token request. The client does what every client does and tries again; it must not be taken
// for a thief, and nothing may go on behind the answer.
import { memoryStorage, type Storage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";

stopClockForEachTest();

const opaque = { api: "reports" } as const;

/** A host over storage in which one call can be broken, and the calls in their order of beginning and ending. */
function fragileHost() {
  const begun: string[] = [];
  const ended: string[] = [];
  const setting: { broken?: string; slow?: string; release: Promise<void> } = { release: Promise.resolve() };
  const storage: Storage = intercept(
    memoryStorage({ clients: Object.values(clients) }),
    async (name, run) => {
      begun.push(name);
      if (name === setting.broken) throw new Error("the disk is full");
      if (name === setting.slow) await setting.release;
      const answer = await run();
      ended.push(name);
      return answer;
    },
  );
  return { host: testHost({ storage }), setting, begun, ended };
}

describe("a refresh whose opaque access token cannot be stored (RFC 6749 §6, 9700 §4.14.2)", () => {
  it("spends nothing: the client's retry is answered, and the session lives", async () => {
    const { host, setting, begun } = fragileHost();
    const first = await obtainTokens(host, { client: "web", pair: opaque });
    const { refresh_token: refreshToken = "" } = first;
    setting.broken = "accessTokens.create";
    begun.length = 0;
    expect((await refresh(host, { client: "web", pair: opaque, refreshToken })).status).toBe(500);
    expect(begun).not.toContain("refreshTokens.rotate");
    delete setting.broken;
    expect((await refresh(host, { client: "web", pair: opaque, refreshToken })).status).toBe(200);
    expect((await callApi(host, "/reports", first.access_token)).status).toBe(200);
    expect(host.events.map(({ kind }) => kind)).not.toContain("replay-detected");
  });
});

describe("an exchange whose tokens cannot be stored (RFC 6749 §4.1.3)", () => {
  it.each(["accessTokens.create", "refreshTokens.create"])(
    "spends nothing: the code still buys, once, after %s has failed",
    async (broken) => {
      const { host, setting } = fragileHost();
      const code = await obtainCode(host, { client: "web", pair: opaque });
      setting.broken = broken;
      expect((await redeem(host, { client: "web", pair: opaque, code })).status).toBe(500);
      delete setting.broken;
      expect((await redeem(host, { client: "web", pair: opaque, code })).status).toBe(200);
      expect((await redeem(host, { client: "web", pair: opaque, code })).status).toBe(400);
    },
  );

  it("answers when nothing goes on any more", async () => {
    const { host, setting, ended } = fragileHost();
    const code = await obtainCode(host, { client: "web", pair: opaque });
    const latch = newLatch();
    const release = latch.opened;
    Object.assign(setting, { broken: "refreshTokens.create", slow: "accessTokens.create", release });
    let answered = false;
    const answer = redeem(host, { client: "web", pair: opaque, code }).finally(() => (answered = true));
    await new Promise((resolve) => void setTimeout(resolve, 50));
    expect(answered).toBe(false);
    latch.open();
    expect((await answer).status).toBe(500);
    expect(ended).toContain("accessTokens.create");
  });
});

describe("an approval that cannot be stored whole (RFC 6749 §4.1.2)", () => {
  it.each(["authorizations.create", "authorizationCodes.create", "consents.save"])(
    "gives no code when %s fails, and the next one works",
    async (broken) => {
      const { host, setting } = fragileHost();
      const browser = host.browser();
      const page = await authorize(browser, { client: "web" });
      setting.broken = broken;
      const answer = redirectParameters(await browser.answer(page, "approve"));
      expect([answer["error"], answer["code"]]).toEqual(["server_error", undefined]);
      expect((await host.auth.consents.list("alice")).consents).toEqual([]);
      delete setting.broken;
      const code = await obtainCode(host, { client: "web" });
      expect((await redeem(host, { client: "web", code })).status).toBe(200);
    },
  );
});
