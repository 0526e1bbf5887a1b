/** The clock moves the time of everything in the process: the server, JWTs, caches of the server, and the host's own code. */
import request from "supertest";
import { testClock, testTokens } from "../../lib/testing";
import { apis } from "../hosts/apis";
import { clients, credentials } from "../hosts/clients";
import { expectOwnDate } from "../hosts/clock";
import { storageKinds, tokenHost, tokenHostOptions } from "./token-host";

expectOwnDate();

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

describe("clocks", () => {
  it("leave nothing behind when fake timers came and went in between", () => {
    const clock = testClock();
    jest.useFakeTimers();
    expect(() => clock.advance(60)).toThrow(expect.objectContaining({ code: "clock-replaced" }));
    jest.useRealTimers();
    clock.advance(60);
    clock.restore();
  });
});
