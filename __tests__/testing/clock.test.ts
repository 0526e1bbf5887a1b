/** The clock moves the time of everything in the process: the server, JWTs, caches of the server, and the host's own code. */
import request from "supertest";
import { testClock, testTokens } from "../../lib/testing";
import { apis } from "../fixture/apis";
import { clients, credentials } from "../fixture/clients";
import { stopClock } from "../fixture/clock";
import { storageKinds, tokenHost, tokenHostOptions } from "../fixture/token-host";

const RealDate = Date;
afterEach(() => {
  jest.restoreAllMocks();
  expect(Date).toBe(RealDate);
});

const alice = { client: "web", subject: "alice" };

describe.each(storageKinds.map((kind) => ({ kind, storage: kind.name })))(
  "a server, $storage",
  ({ kind }) => {
    it.each(["orders", "reports"])(
      "refuses a token of %s once its time is over (RFC 6750 §3.1)",
      async (api) => {
        const options = await tokenHostOptions({}, kind);
        const { app } = tokenHost(options);
        const token = await testTokens(options).issue({ api, ...alice });
        const status = async (): Promise<number> =>
          (await request(app).get(`/${api}/mine`).auth(token, { type: "bearer" })).status;
        expect(await status()).toBe(200);
        const clock = testClock();
        try {
          const life = apis[api]?.accessTokenSeconds ?? 0;
          // the tests of this project take less than a minute
          clock.advance(life - 60);
          expect(await status()).toBe(200);
          clock.advance(60);
          expect(await status()).toBe(401);
        } finally {
          clock.restore();
        }
      },
    );

    it("forgets what it remembers of a client", async () => {
      const options = await tokenHostOptions({ revocationLagSeconds: 300 }, kind);
      const { app, auth } = tokenHost(options);
      const token = await testTokens(options).issue({ api: "orders", ...alice });
      const status = async (): Promise<number> =>
        (await request(app).get("/orders/mine").auth(token, { type: "bearer" })).status;
      expect(await status()).toBe(200);
      await auth.subjects.revoke("alice");
      const clock = testClock();
      clock.advance(300);
      expect(await status()).toBe(401);
      clock.restore();
    });
  },
);

describe("a token endpoint under a moved clock", () => {
  it("issues tokens that are good by that clock (RFC 9068 §2.2)", async () => {
    const options = await tokenHostOptions();
    const { app } = tokenHost(options);
    const clock = testClock();
    clock.advance(10_000_000);
    const answer = await request(app)
      .post("/login/auth/password/api/orders/token")
      .type("form")
      .send({ ...credentials("machine"), grant_type: "client_credentials" });
    const { access_token: token } = answer.body as { access_token: string };
    const { iat } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
      iat: number;
    };
    expect(Math.abs(iat - clock.now())).toBeLessThan(1_000_000);
    expect((await request(app).get("/orders").auth(token, { type: "bearer" })).status).toBe(200);
    clock.restore();
    expect(clients.machine.clientId).toBe("machine");
  });
});

describe("Date under a moved clock", () => {
  it("is a Date in every way", () => {
    const before = new Date();
    const clock = testClock();
    clock.advance(86_400);
    const after = new Date();
    expect(after.getTime() - before.getTime()).toBeGreaterThanOrEqual(86_400_000);
    expect(Date.parse(Date()) - before.getTime()).toBeGreaterThan(86_390_000);
    expect(before).toBeInstanceOf(Date);
    expect(after).toBeInstanceOf(Date);
    expect(after).toBeInstanceOf(RealDate);
    expect(new Date(0).toISOString()).toBe("1970-01-01T00:00:00.000Z");
    expect(new Date(2026, 0, 2).getFullYear()).toBe(2026);
    expect(new Date("2026-01-02T00:00:00Z").getTime()).toBe(Date.UTC(2026, 0, 2));
    expect(structuredClone(after)).toEqual(after);
    expect([Date.name, Date.length]).toEqual(["Date", 7]);
    class HostDate extends Date {
      day(): number {
        return Math.floor(this.getTime() / 86_400_000);
      }
    }
    expect(new HostDate(86_400_000).day()).toBe(1);
    expect(new HostDate().getTime()).toBeGreaterThanOrEqual(after.getTime());
    clock.restore();
    expect(Date.now() - before.getTime()).toBeLessThan(86_400_000);
  });
});

describe("clocks", () => {
  it("add up, and give back their own, in any order", () => {
    const start = Date.now();
    const [first, second, third] = [testClock(), testClock(), testClock()];
    const passed = (): number => Math.floor((Date.now() - start) / 1_000_000);
    first.advance(1_000_000);
    second.advance(2_000_000);
    third.advance(4_000_000);
    expect(passed()).toBe(7_000);
    second.restore();
    expect(passed()).toBe(5_000);
    second.restore();
    first.restore();
    expect(passed()).toBe(4_000);
    expect(third.now()).toBe(Math.floor(Date.now() / 1000));
    third.restore();
    third.restore();
    expect(passed()).toBe(0);
  });

  it("refuse to move once they are restored: nothing would move", () => {
    const clock = testClock();
    clock.restore();
    expect(() => clock.advance(1)).toThrow("clock.advance: this clock was restored. Make another one.");
  });

  it.each([0, -1, 1.5, NaN, Infinity, 1e12, "60", undefined])("refuse to move by %p", (seconds) => {
    const clock = testClock();
    expect(() => clock.advance(seconds as number)).toThrow("clock.advance: write whole seconds above 0.");
    clock.restore();
  });

  it("say so when somebody else has stopped the time: it would not move", () => {
    const clock = testClock();
    stopClock();
    expect(() => clock.advance(60)).toThrow("clock.advance: Date or Date.now has been replaced");
    jest.restoreAllMocks();
    clock.advance(60);
    clock.restore();
  });

  it("move a time that was stopped before", () => {
    const stopped = stopClock(1_000);
    const clock = testClock();
    clock.advance(60);
    expect(clock.now()).toBe(1_060);
    stopped.advance(1);
    expect([clock.now(), new Date().getTime()]).toEqual([1_061, 1_061_000]);
    clock.restore();
    expect(Date.now()).toBe(1_000_000 + 1_000);
  });

  it("leave nothing behind when fake timers came and went in between", () => {
    const clock = testClock();
    jest.useFakeTimers();
    expect(() => clock.advance(60)).toThrow("clock.advance: Date or Date.now has been replaced");
    jest.useRealTimers();
    clock.advance(60);
    clock.restore();
  });
});
