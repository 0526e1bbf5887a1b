import request from "supertest";
import { digestClientSecret, generateClientSecret, generateSigningKey, memoryStorage } from "../../lib";
import { apis, type Pair } from "../hosts/apis";
import { revoke } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { familyOf, obtainTokens } from "../browser/journey";
import {
  introspection,
  issuerAt,
  type RemoteApi,
  remoteApi,
  type RemoteServer,
  remoteServer,
} from "./remote";

const clock = stopClockForEachTest();
let server: RemoteServer;
let api: RemoteApi;

beforeEach(async () => {
  server = await remoteServer();
  api = remoteApi(server, { introspection });
});
afterEach(() => server.stop());

const formats: readonly Pair[] = [{}, { api: "reports" }];

async function token(pair: Pair = {}): Promise<string> {
  return (await obtainTokens(server.host, { client: "web", pair })).access_token;
}

async function statusOf(text: string, { api: id = "orders" }: Pair = {}): Promise<number> {
  return (await request(api.app).get(`/${id}`).auth(text, { type: "bearer" })).status;
}

function questions(): readonly string[] {
  return server.asked.filter((line) => line.endsWith("/introspect"));
}

function lastCause(): unknown {
  const event = api.events.at(-1);
  return event?.kind === "server-error" ? event.cause : `no failure but ${event?.kind}`;
}

class Credentials {
  get clientId(): string {
    return introspection.clientId;
  }
  get clientSecret(): string {
    return introspection.clientSecret;
  }
}

describe("introspection by an API apart from its server (RFC 7662 §2, §4)", () => {
  it.each(formats)("learns that a token of %j was revoked, after the lag", async (pair) => {
    const text = await token(pair);
    expect(await statusOf(text, pair)).toBe(200);
    await revoke(server.host, { token: text, pair });
    clock.advance(4);
    expect(await statusOf(text, pair)).toBe(200);
    clock.advance(1);
    expect(await statusOf(text, pair)).toBe(401);
    expect(await statusOf(text, pair)).toBe(401);
  });

  it.each(formats)("learns that everything of the person has ended: %j", async (pair) => {
    const { accessToken } = await familyOf(server.host, "web", pair);
    expect(await statusOf(accessToken, pair)).toBe(200);
    await server.host.auth.subjects.revoke("alice");
    clock.advance(5);
    expect(await statusOf(accessToken, pair)).toBe(401);
  });

  it.each([
    ["is of a prototype", Object.create(introspection) as typeof introspection],
    ["is of a class", new Credentials()],
  ])("refuses credentials when their option %s", (_, credentials) => {
    expect(() => remoteApi(server, { introspection: credentials })).toThrow(
      expect.objectContaining({ code: "option-not-plain" }),
    );
  });

  it.each(formats)("with a lag of 0 asks about every request with a token of %j", async (pair) => {
    api = remoteApi(server, { introspection, revocationLagSeconds: 0 });
    const text = await token(pair);
    for (let round = 1; round <= 3; round += 1) {
      expect(await statusOf(text, pair)).toBe(200);
      expect(questions().length).toBe(round);
    }
    await revoke(server.host, { token: text, pair });
    expect(await statusOf(text, pair)).toBe(401);
  });

  it.each(formats)("asks once within the lag, however many requests come at once: %j", async (pair) => {
    const text = await token(pair);
    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(text, pair)));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(questions().length).toBe(1);
  });

  it("asks any issuer about opaque tokens, and the issuer of a JWT about it", async () => {
    const pair: Pair = { api: "reports", method: "sso" };
    const text = await token(pair);
    const { body } = await request(api.app).get("/reports").auth(text, { type: "bearer" });
    expect(body).toMatchObject({ issuer: issuerAt(server, pair), subject: "alice" });
    await statusOf(await token({ method: "otp" }));
    expect(questions()).toEqual([
      "POST /login/auth/password/api/reports/introspect",
      "POST /login/auth/otp/api/orders/introspect",
    ]);
  });

  it("asks nobody about a JWT with a wrong signature, or about text that no token has", async () => {
    const text = await token();
    await statusOf(text);
    const before = questions().length;
    for (const wrong of [`${text.slice(0, -4)}AAAA`, "e30.e30.e30", "a.b", ".."]) {
      expect(await statusOf(wrong)).toBe(401);
    }
    expect(questions().length).toBe(before);
  });

  it("is needed for opaque tokens: without it they are refused, and the event says why", async () => {
    api = remoteApi(server);
    expect(await statusOf(await token({ api: "reports" }), { api: "reports" })).toBe(401);
    expect(api.events.at(-1)).toMatchObject({
      kind: "bearer-refused",
      code: "token-opaque",
    });
  });

  it("refuses an opaque token of another API", async () => {
    const text = await token({ api: "reports" });
    expect(await statusOf(text, { api: "orders" })).toBe(401);
  });

  it.each(formats)("is refused as a failure while the server is away, then works again: %j", async (pair) => {
    const text = await token(pair);
    expect(await statusOf(text, pair)).toBe(200);
    await server.stop();
    expect(await statusOf(text, pair)).toBe(200);
    clock.advance(5);
    expect(await statusOf(text, pair)).toBe(503);
    expect(lastCause()).toMatchObject({ code: "introspection-unreachable" });
    await server.start();
    expect(await statusOf(text, pair)).toBe(200);
  });

  it("works with a restarted server that has other keys, for opaque tokens", async () => {
    const text = await token({ api: "reports" });
    server.restart({ signingKeys: [generateSigningKey()] });
    expect(await statusOf(text, { api: "reports" })).toBe(200);
  });
});

/** In the form of a JWT, with an issuer that nobody knows. */
function stranger(iss: string): string {
  const parts = [{ typ: "at+jwt" }, { iss }, {}];
  return parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
}

/** The same server with other authentication methods at this API. */
function restartWith({ api: id = "orders" }: Pair, authMethods: readonly string[]): void {
  server.restart({ apis: { ...apis, [id]: { ...apis[id], authMethods } } as typeof apis });
}

describe("authentication methods come and go (RFC 9728 §2)", () => {
  it.each(formats)("a new one is known at once: %j", async (pair) => {
    restartWith(pair, ["password"]);
    expect(await statusOf(await token(pair), pair)).toBe(200);
    clock.advance(31);
    restartWith(pair, ["password", "otp"]);
    expect(await statusOf(await token({ ...pair, method: "otp" }), pair)).toBe(200);
  });

  it("opaque tokens are asked about elsewhere when the first one has gone", async () => {
    const pair: Pair = { api: "reports" };
    expect(await statusOf(await token(pair), pair)).toBe(200);
    clock.advance(31);
    restartWith(pair, ["otp", "sso"]);
    expect(await statusOf(await token({ ...pair, method: "otp" }), pair)).toBe(200);
  });

  it.each<[string, number, () => string]>([
    ["below baseUrl has the list asked for once in 30 seconds", 1, () => server.baseUrl],
    ["of another server has nothing asked for", 0, () => "https://stranger.example/login"],
  ])("an issuer that nobody knows %s", async (_, times, url) => {
    expect(await statusOf(await token())).toBe(200);
    const before = server.asked.length;
    clock.advance(31);
    for (let index = 0; index < 20; index += 1) {
      const iss = `${url()}/auth/stranger${index}/api/orders`;
      expect(await statusOf(stranger(iss))).toBe(401);
    }
    const asked = server.asked.slice(before);
    expect(asked).toHaveLength(times);
    expect(asked.every((line) => line.includes("protected-resource"))).toBe(true);
  });
});

describe("what an answer must not do (RFC 7662 §4)", () => {
  it.each<[string, unknown, number, number]>([
    ["no JSON", "<html>", 200, 503],
    ["nothing about the token", {}, 200, 500],
    ["active as text", { active: "true" }, 200, 500],
    ["active of another token", { active: true, jti: "x", sub: "mallory" }, 200, 401],
    ["active without claims", { active: true }, 200, 401],
    ["null", "null", 200, 500],
    ["inactive", { active: false }, 200, 401],
    ["401", { error: "invalid_client" }, 401, 500],
    ["400", { error: "unauthorized_client" }, 400, 500],
    ["404", { error: "not_found" }, 404, 500],
    ["429", { error: "x" }, 429, 503],
    ["500", { error: "server_error" }, 500, 503],
    ["a huge answer", { active: true, x: "x".repeat(70_000) }, 200, 503],
  ])("%s: no token passes", async (_, body, status, expected) => {
    for (const pair of formats) {
      const text = await token(pair);
      server.instead = (req, res) => {
        if (!req.url?.endsWith("/introspect")) return false;
        res.writeHead(status, { "Content-Type": "application/json" });
        res.end(typeof body === "string" ? body : JSON.stringify(body));
        return undefined;
      };
      expect(await statusOf(text, pair)).toBe(expected);
      server.instead = undefined;
      expect(await statusOf(text, pair)).toBe(200);
    }
  });

  it("leads the secret nowhere: redirects are not followed, other origins not asked", async () => {
    const text = await token({ api: "reports" });
    server.instead = (req, res) =>
      req.url?.endsWith("/introspect") ? void res.writeHead(307, { Location: "/elsewhere" }).end() : false;
    expect(await statusOf(text, { api: "reports" })).toBe(503);
    expect(server.asked.some((line) => line.includes("elsewhere"))).toBe(false);
    api = remoteApi(server, { introspection });
    server.instead = (req, res) => {
      if (!req.url?.endsWith(".well-known/oauth-authorization-server")) return false;
      const issuer = issuerAt(server, { api: "reports" });
      res.writeHead(200, { "Content-Type": "application/json" });
      res.end(JSON.stringify({ issuer, introspection_endpoint: "https://stranger.example/introspect" }));
      return undefined;
    };
    expect(await statusOf(text, { api: "reports" })).toBe(500);
    expect(lastCause()).toMatchObject({ code: "introspection-endpoint-missing" });
  });

  it("wrong credentials are told to the host, and no event contains a secret or a token", async () => {
    const { secret } = generateClientSecret();
    api = remoteApi(server, { introspection: { clientId: "web", clientSecret: secret } });
    const text = await token();
    expect(await statusOf(text)).toBe(500);
    expect(lastCause()).toMatchObject({ code: "introspection-request-refused" });
    const told = JSON.stringify(api.events) + String(lastCause());
    for (const hidden of [secret, text]) expect(told).not.toContain(hidden);
  });

  it("a secret may have any characters (RFC 6749 §2.3.1)", async () => {
    const secret = "ä:b %+&=\\ 🙂 a secret with many kinds of characters";
    const digest = await digestClientSecret(secret);
    const own = { ...clients.web, clientId: "api:1+%&", secretDigests: [digest] };
    server.restart({ storage: memoryStorage({ clients: [...Object.values(clients), own] }) });
    api = remoteApi(server, { introspection: { clientId: own.clientId, clientSecret: secret } });
    expect(await statusOf(await token({ api: "reports" }), { api: "reports" })).toBe(200);
  });
});

describe("a flood of tokens that nobody knows", () => {
  it("opens at most 32 connections, and does not keep known tokens out", async () => {
    const known = await token({ api: "reports" });
    expect(await statusOf(known, { api: "reports" })).toBe(200);
    let underWay = 0;
    let most = 0;
    server.hold = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
    };
    const flood = Array.from({ length: 200 }, (_, index) =>
      statusOf(`${index}`.padStart(43, "x"), { api: "reports" }),
    );
    expect(await statusOf(known, { api: "reports" })).toBe(200);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401]));
    expect(most).toBeLessThanOrEqual(32);
    expect(questions().length).toBe(201);
  });
});
