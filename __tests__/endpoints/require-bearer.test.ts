import express from "express";
import request from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../hosts/apis";
import {
  accessTokenOf,
  bearerAnswerOf,
  formats,
  noToken,
  ownAccessToken,
  refusedByBearer,
  watchedStorage,
} from "../requests/bearer-answers";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { rawRequest } from "../requests/raw-request";

const clock = stopClockForEachTest();

describe("presenting an access token (RFC 6750 §2.1)", () => {
  it.each(["Bearer", "bearer", "BEARER", "bEaReR"])("takes the scheme written %s", async (scheme) => {
    const host = testHost();
    const token = await accessTokenOf(host);
    const response = await request(host.app).get("/orders").set("Authorization", `${scheme} ${token}`);
    expect(response.status).toBe(200);
  });

  it("takes more than one space after the scheme (RFC 9110 §11.4)", async () => {
    const host = testHost();
    const token = await accessTokenOf(host);
    const response = await request(host.app).get("/orders").set("Authorization", `Bearer   ${token}`);
    expect(response.status).toBe(200);
  });

  it.each(["get", "post", "put", "delete"] as const)("protects %s alike", async (method) => {
    const host = testHost();
    const token = await accessTokenOf(host);
    expect(bearerAnswerOf(await request(host.app)[method]("/orders"))).toEqual(noToken());
    const allowed = await request(host.app)[method]("/orders").set("Authorization", `Bearer ${token}`);
    expect(allowed.status).toBe(200);
  });

  const absent = ["", "Basic d2ViOnNlY3JldA==", "Digest username=x", "Token abc", "Bearerabc", "DPoP abc"];
  it.each(absent)('counts Authorization "%s" as no token: a bare challenge', async (header) => {
    const response = await request(testHost().app).get("/orders").set("Authorization", header);
    expect(bearerAnswerOf(response)).toEqual(noToken());
  });

  it("answers a request without a token with a bare challenge", async () => {
    const response = await request(testHost().app).get("/reports");
    expect(bearerAnswerOf(response)).toEqual(noToken("reports"));
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
  });

  const malformed = [
    "Bearer",
    "Bearer one two",
    "Bearer one,two",
    'Bearer "quoted"',
    "Bearer =",
    "Bearer one=two",
    "Bearer token=abc, realm=x",
    "Bearer\tabc",
    "Bearer é",
    "Bearer one, Bearer two",
  ];
  it.each(malformed)('refuses Authorization "%s" as malformed', async (header) => {
    const response = await rawRequest(testHost().app, {
      path: "/orders",
      headers: { Authorization: header },
    });
    expect(bearerAnswerOf(response)).toEqual(refusedByBearer("invalid_request"));
  });

  it("refuses two Authorization headers, be they equal", async () => {
    const host = testHost();
    const good = `Bearer ${await accessTokenOf(host)}`;
    for (const Authorization of [
      [good, good],
      [good, "Basic d2ViOnNlY3JldA=="],
      ["Basic d2ViOnNlY3JldA==", good],
    ]) {
      const response = await rawRequest(host.app, { path: "/orders", headers: { Authorization } });
      expect(bearerAnswerOf(response)).toEqual(refusedByBearer("invalid_request"));
    }
  });
});

describe("access tokens elsewhere than in the header (RFC 6750 §2, 9700 §4.3.2)", () => {
  const parsed = {
    before(app: express.Express): void {
      app.use(express.urlencoded({ extended: false }), express.json());
    },
  };

  it.each(["the same", "another", "a repeated"])(
    "refuses %s token in the query beside the header",
    async (kind) => {
      const host = testHost();
      const token = await accessTokenOf(host);
      const inQuery = kind === "another" ? "abc" : token;
      const query = `access_token=${inQuery}${kind === "a repeated" ? `&access_token=${inQuery}` : ""}`;
      expect(bearerAnswerOf(await callApi(host, `/orders?${query}`, token))).toEqual(
        refusedByBearer("invalid_request"),
      );
    },
  );

  it.each(["form", "json"])("refuses a token in a %s body beside the header", async (type) => {
    const host = testHost(parsed);
    const token = await accessTokenOf(host);
    const response = await request(host.app)
      .post("/orders")
      .type(type)
      .set("Authorization", `Bearer ${token}`)
      .send({ access_token: token });
    expect(bearerAnswerOf(response)).toEqual(refusedByBearer("invalid_request"));
  });

  it("counts a token in the query alone as none", async () => {
    const host = testHost();
    const response = await request(host.app)
      .get("/orders")
      .query({ access_token: await accessTokenOf(host) });
    expect(bearerAnswerOf(response)).toEqual(noToken());
  });

  it.each(["form", "json"])("counts a token in a %s body alone as none", async (type) => {
    const host = testHost(parsed);
    const access_token = await accessTokenOf(host);
    const response = await request(host.app).post("/orders").type(type).send({ access_token });
    expect(bearerAnswerOf(response)).toEqual(noToken());
  });

  it("minds no other query or body", async () => {
    const host = testHost(parsed);
    const token = await accessTokenOf(host);
    const response = await request(host.app)
      .post("/orders?page=2&token=x")
      .set("Authorization", `Bearer ${token}`)
      .send({ token: "x" });
    expect(response.status).toBe(200);
  });
});

describe("req.auth (RFC 9068 §2.2)", () => {
  const person = { ...signedIn, amr: ["pwd", "otp"], acr: "urn:example:gold" };

  it.each(formats)("describes an end user's %s token", async (_, pair) => {
    const host = testHost();
    host.session = person;
    const code = await obtainCode(host, { client: "web", pair });
    const response = await redeem(host, { client: "web", code, pair });
    const { access_token } = response.body as { access_token: string };
    const answer = await callApi(host, `/${pair.api}`, access_token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      tokenId: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      issuer: `https://host.example${pairPath(pair)}`,
      clientId: "web",
      subject: "alice",
      scopes: [`${pair.api}:read`],
      issuedAt: clock.now(),
      expiresAt: clock.now() + (pair.api === "orders" ? 600 : 120),
      authorizationId: code.slice(0, 22),
      authTime: 1_799_999_000,
      amr: ["pwd", "otp"],
      acr: "urn:example:gold",
    });
  });

  it.each(formats)("has no subject for a client's own %s token", async (_, pair) => {
    const host = testHost();
    const token = await ownAccessToken(host, { client: "web", pair });
    const answer = await callApi(host, `/${pair.api}`, token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      tokenId: expect.any(String),
      issuer: `https://host.example${pairPath(pair)}`,
      clientId: "web",
      scopes: [`${pair.api}:read`],
      issuedAt: clock.now(),
      expiresAt: clock.now() + (pair.api === "orders" ? 600 : 120),
    });
  });

  it("says which authentication method the end user came by", async () => {
    const host = testHost();
    const token = await accessTokenOf(host, { pair: { method: "sso" } });
    expect((await callApi(host, "/orders", token)).body).toMatchObject({
      issuer: "https://host.example/login/auth/sso/api/orders",
    });
  });

  it("is the same for every later request with the token", async () => {
    const host = testHost();
    const token = await accessTokenOf(host);
    const answers = [];
    for (const seconds of [0, 1, 10, 400]) {
      clock.advance(seconds);
      answers.push((await callApi(host, "/orders", token)).body as unknown);
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
});

describe("scopes of a route (RFC 6750 §3.1)", () => {
  it("answers a missing scope with 403 and what is needed", async () => {
    const host = testHost();
    const token = await accessTokenOf(host);
    expect(bearerAnswerOf(await callApi(host, "/orders/changes", token))).toEqual(
      refusedByBearer("insufficient_scope", { scope: "orders:write" }),
    );
  });

  it.each([
    ["a list", ["orders:read", "orders:write"]],
    ["one text", "orders:read orders:write"],
  ])("requires all scopes of %s", async (_, scope) => {
    const host = testHost();
    host.app.get(
      "/both",
      host.auth.requireBearer({ api: "orders", scope }),
      (_req, res) => void res.json({}),
    );
    const token = await accessTokenOf(host);
    expect(bearerAnswerOf(await callApi(host, "/both", token))).toEqual(
      refusedByBearer("insufficient_scope", { scope: "orders:read orders:write" }),
    );
    const fields = { scope: "orders:write orders:read" };
    const { access_token } = await obtainTokens(host, { client: "web", fields });
    expect((await callApi(host, "/both", access_token)).status).toBe(200);
  });

  it("asks after the token before the scope", async () => {
    const response = await callApi(testHost(), "/orders/changes", "unknown");
    expect(bearerAnswerOf(response)).toEqual(refusedByBearer("invalid_token", { scope: "orders:write" }));
  });

  it.each([
    [{ api: "unknown" }, "unknown-api-of-route"],
    [{ api: "orders", scope: "files:read" }, "unknown-scope-of-route"],
  ])("refuses %j when the route is made", (options, code) => {
    expect(() => testHost().auth.requireBearer(options)).toThrow(expect.objectContaining({ code }));
  });
});

/** A route that counts how often it is reached. */
function countingRoute(host: TestHost, api: string): { reached: number } {
  const route = { reached: 0 };
  host.app.get(`/${api}/counted`, host.auth.requireBearer({ api }), (_req, res) => {
    route.reached += 1;
    res.json({});
  });
  return route;
}

describe("storage that fails while a token is checked (RFC 6750 §3.1)", () => {
  const failure = new Error("the database says: password=hunter2");

  it.each(formats)("answers server_error, and the route is not reached (%s)", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const route = countingRoute(host, pair.api);
    const token = await accessTokenOf(host, { pair });
    host.events.length = 0;
    watch.failure = failure;
    const response = await callApi(host, `/${pair.api}/counted`, token);
    expect(response.status).toBe(500);
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(response.text).toBe(
      '{"error":"server_error","error_description":"The server could not answer this request."}',
    );
    expect(route.reached).toBe(0);
    expect(host.events).toEqual([{ kind: "server-error", at: clock.now(), cause: failure }]);
    watch.failure = undefined;
    expect((await callApi(host, `/${pair.api}/counted`, token)).status).toBe(200);
    expect(route.reached).toBe(1);
  });

  it.each(formats)(
    "goes on accepting a %s token it knows within the lag, and not after it",
    async (_, pair) => {
      const { storage, watch } = watchedStorage();
      const host = testHost({ storage });
      const token = await accessTokenOf(host, { pair });
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
      watch.failure = failure;
      clock.advance(4);
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
      clock.advance(1);
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(500);
    },
  );

  it("answers server_error when storage throws at once", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const accessTokens: Storage["accessTokens"] = {
      ...storage.accessTokens,
      find() {
        throw failure;
      },
    };
    const host = testHost({ storage: { ...storage, accessTokens } });
    const route = countingRoute(host, "reports");
    expect((await callApi(host, "/reports/counted", "A".repeat(43))).status).toBe(500);
    expect(route.reached).toBe(0);
  });

  it("leaves what the route itself throws to the host", async () => {
    const host = testHost();
    host.app.get("/broken", host.auth.requireBearer({ api: "orders" }), () => {
      throw new Error("the host's own");
    });
    const told: unknown[] = [];
    host.app.use(
      (error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
        told.push(error.message);
        res.status(418).end();
      },
    );
    expect((await callApi(host, "/broken", await accessTokenOf(host))).status).toBe(418);
    expect(told).toEqual(["the host's own"]);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });
});
