/** Minted tokens at the real routes of a host: by supertest, JWT and opaque, in memory and SQLite. */
import express from "express";
import request, { type Response } from "supertest";
import {
  type AuthServerOptions,
  createAuthServer,
  generateSigningKey,
  type TokenDecision,
  type TokenDecisionRequest,
} from "../../lib";
import {
  type RefusedKind,
  refusedKinds,
  type SendRequest,
  testTokens,
  type TestTokens,
} from "../../lib/testing";
import { apis } from "../hosts/apis";
import { credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import type { TestHost } from "../hosts/host";
import { goodKey } from "../records/options";
import { storageKinds, tokenHost, tokenHostOptions } from "./token-host";

/** Alice, who lets the client `web` read her orders. */
const reader = { api: "orders", client: "web", subject: "alice", scope: "orders:read" };

interface Bed {
  readonly options: AuthServerOptions;
  readonly host: TestHost;
  readonly tokens: TestTokens;
}

async function bedOf(changes: Partial<AuthServerOptions> = {}, kind = storageKinds[0]): Promise<Bed> {
  const options = await tokenHostOptions(changes, kind);
  return { options, host: tokenHost(options), tokens: testTokens(options) };
}

function get({ host }: Bed, path: string, token: string): Promise<Response> {
  return request(host.app).get(path).auth(token, { type: "bearer" });
}

function challengeOf({ headers }: Response): string {
  return (headers as Record<string, string>)["www-authenticate"] ?? "";
}

const formats = [
  { format: "JWT", api: "orders", scope: "orders:read", part: 3 },
  { format: "opaque", api: "reports", scope: "reports:read", part: 1 },
];
const cases = storageKinds.flatMap((kind) => formats.map((each) => ({ ...each, kind, storage: kind.name })));

describe.each(cases)("tokens of an API with $format tokens, $storage", ({ kind, api, scope, part }) => {
  let bed: Bed;
  beforeAll(async () => {
    bed = await bedOf({}, kind);
  });
  const alice = { api, client: "web", subject: "alice", scope };

  it("a good one passes the real requireBearer (RFC 6750 §2.1)", async () => {
    const token = await bed.tokens.issue(alice);
    expect(token.split(".")).toHaveLength(part);
    const { status, body } = await get(bed, `/${api}/mine`, token);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      issuer: `https://host.example/login/auth/password/api/${api}`,
      clientId: "web",
      subject: "alice",
      scopes: [scope],
    });
  });

  it.each(refusedKinds)("one that is %s gets 401 invalid_token (RFC 6750 §3.1)", async (which) => {
    const answer = await get(bed, `/${api}/mine`, await bed.tokens[which](alice));
    expect(answer.status).toBe(401);
    expect(challengeOf(answer)).toContain('error="invalid_token"');
  });

  it("says why it was refused, in the event", async () => {
    const seen: Record<string, unknown> = {};
    for (const which of refusedKinds) {
      const token = await bed.tokens[which](alice);
      bed.host.events.length = 0;
      await get(bed, `/${api}/mine`, token);
      const [event] = bed.host.events;
      seen[which] = event?.kind === "bearer-refused" && event.code;
    }
    const unknown = "token-unknown";
    expect(seen).toEqual({
      // what has expired is not found in storage any more
      expired: part === 3 ? "token-expired" : unknown,
      revoked: "token-revoked",
      withdrawn: "token-authorization-ended",
      disabled: "token-client-deleted",
      foreign: unknown,
    } satisfies Record<RefusedKind, unknown>);
  });

  it("one for another API gets 401 there, and passes at its own (RFC 9068 §4)", async () => {
    const token = await bed.tokens.issue({ api: "files", client: "web", subject: "alice" });
    expect((await get(bed, "/files", token)).status).toBe(200);
    const answer = await get(bed, `/${api}/mine`, token);
    expect(answer.status).toBe(401);
    expect(challengeOf(answer)).toContain('error="invalid_token"');
  });

  it("one without a subject is the client's own (RFC 6749 §4.4)", async () => {
    const token = await bed.tokens.issue({ api, client: "web" });
    const own = await get(bed, `/${api}/own`, token);
    expect(own.status).toBe(200);
    expect(own.body).not.toHaveProperty("subject");
    expect((await get(bed, `/${api}/mine`, token)).status).toBe(401);
  });

  it("a client's own can be refused, too", async () => {
    for (const which of ["expired", "revoked", "disabled", "foreign"] as const) {
      const token = await bed.tokens[which]({ api, client: "web" });
      expect((await get(bed, `/${api}/own`, token)).status).toBe(401);
    }
  });

  it("checkRoute finds nothing wrong with a route that needs all of this (RFC 6750 §3.1)", async () => {
    await bed.tokens.checkRoute(alice, (headers) => request(bed.host.app).get(`/${api}/read`).set(headers));
  });

  it("checkRoute says which token a route should have refused", async () => {
    const check = bed.tokens.checkRoute(alice, (headers) =>
      request(bed.host.app).get(`/${api}/mine`).set(headers),
    );
    await expect(check).rejects.toThrow(
      'checkRoute:\n- the token with no scope was answered with 200, not with 403 and error="insufficient_scope" in WWW-Authenticate',
    );
  });
});

describe("what a minted token descends from", () => {
  it("is listed, and ended by the person and by the client (RFC 7009 §2.1)", async () => {
    const bed = await bedOf({ revocationLagSeconds: 0 });
    const { auth } = bed.host;
    const context = { key: "acme" };
    const token = await bed.tokens.issue({ ...reader, context, authMethod: "otp" });
    const { authorizations } = await auth.authorizations.list("alice");
    expect(authorizations).toMatchObject([
      { clientId: "web", apiId: "orders", authMethodId: "otp", scopes: ["orders:read"], contextKey: "acme" },
    ]);
    await auth.authorizations.revoke({
      subject: "alice",
      authorizationId: authorizations[0]?.authorizationId ?? "",
    });
    expect((await get(bed, "/orders/mine", token)).status).toBe(401);

    for (const end of [
      () => auth.subjects.revoke("alice"),
      () => auth.clients.revoke("web"),
      () => auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" }),
      () => auth.subjects.erase("alice"),
    ]) {
      // what is minted after an end is good again
      const next = await bed.tokens.issue(reader);
      await end();
      expect((await get(bed, "/orders/mine", next)).status).toBe(401);
    }
    const own = await bed.tokens.issue({ api: "orders", client: "web" });
    expect((await get(bed, "/orders/own", own)).status).toBe(200);
    await auth.clients.revoke("web");
    const after = await bed.tokens.issue({ api: "orders", client: "web" });
    expect((await get(bed, "/orders/own", after)).status).toBe(200);
  });

  it("can be revoked and introspected by its client at the endpoints (RFC 7009 §2, 7662 §2)", async () => {
    const bed = await bedOf();
    const token = await bed.tokens.issue(reader);
    const send = (endpoint: string): Promise<Response> =>
      request(bed.host.app)
        .post(`/login/auth/password/api/orders/${endpoint}`)
        .type("form")
        .send({ ...credentials("web"), token });
    expect((await send("introspect")).body).toMatchObject({ active: true, sub: "alice" });
    expect((await send("revoke")).status).toBe(200);
    expect((await get(bed, "/orders/mine", token)).status).toBe(401);
  });
});

describe("what a minted token says", () => {
  it("is what the test wrote", async () => {
    const bed = await bedOf();
    const facts = { authTime: 1_700_000_000, acr: "gold", amr: ["pwd", "otp"] };
    const claims = { org: "Zoë & söhne" };
    const token = await bed.tokens.issue({ ...reader, ...facts, claims, seconds: 10 });
    const { body } = (await get(bed, "/orders/mine", token)) as {
      body: { issuedAt: number; expiresAt: number };
    };
    expect(body).toMatchObject({ ...facts, claims });
    expect(body.expiresAt - body.issuedAt).toBe(10);
  });

  it("has the scopes that are named, as a list or a text, with those that they imply", async () => {
    const orders = {
      audience: "https://api.example/orders",
      authMethods: ["password"],
      scopes: { read: "Read", write: { text: "Write", implies: ["read"] }, other: "Other" },
      defaultScopes: ["other"],
    };
    const options = await tokenHostOptions({ apis: { orders } });
    const auth = createAuthServer(options);
    const app = express().use(auth.requireBearer({ api: "orders" }), (req, res) => {
      res.json(auth.accessToken(req).scopes);
    });
    const tokens = testTokens(options);
    const scopesOf = async (scope: object): Promise<unknown> => {
      const token = await tokens.issue({ api: "orders", client: "web", subject: "alice", ...scope });
      return (await request(app).get("/").auth(token, { type: "bearer" })).body;
    };
    expect(await scopesOf({ scope: ["write"] })).toEqual(["write", "read"]);
    expect(await scopesOf({ scope: "other read" })).toEqual(["other", "read"]);
    expect(await scopesOf({})).toEqual([]);
  });

  it("comes from tokens.decide, unless the test names claims", async () => {
    const decide = jest.fn<TokenDecision, [TokenDecisionRequest]>(({ authorization }) => ({
      kind: "issue",
      claims: { key: authorization?.context?.key ?? "none" },
      accessTokenSeconds: 60,
    }));
    const bed = await bedOf({ tokens: { decide } });
    const claimsOf = async (more: object): Promise<unknown> => {
      const token = await bed.tokens.issue({ ...reader, context: { key: "acme" }, ...more });
      return ((await get(bed, "/orders/mine", token)).body as { claims: unknown }).claims;
    };
    expect(await claimsOf({})).toEqual({ key: "acme" });
    expect(decide.mock.calls[0]?.[0]).toMatchObject({ grantType: "authorization_code", subject: "alice" });
    expect(await claimsOf({ claims: { key: "mine" } })).toEqual({ key: "mine" });
    expect(await claimsOf({ claims: {} })).toBeUndefined();
    expect(decide).toHaveBeenCalledTimes(1);
    await expect(bed.tokens.issue({ ...reader, seconds: 61 })).rejects.toMatchObject({
      code: "token-too-long",
    });
  });

  it.each<[string, TokenDecision, string]>([
    ["refuses", { kind: "refuse", description: "Alice has left." }, "token-not-issued"],
    ["narrows the scopes", { kind: "issue", scopes: ["orders:read"] }, "scopes-taken-away"],
  ])(
    "throws where tokens.decide %s: the token would not be the one that was meant",
    async (_, answer, code) => {
      const bed = await bedOf({ tokens: { decide: () => answer } });
      const both = { ...reader, scope: ["orders:read", "orders:write"] };
      await expect(bed.tokens.issue(both)).rejects.toMatchObject({ code });
      const token = await bed.tokens.issue({ ...both, claims: {} });
      expect((await get(bed, "/orders/changes", token)).status).toBe(200);
    },
  );

  it("what tokens.decide throws reaches the test", async () => {
    const decide = jest.fn<never, []>().mockImplementation(() => {
      throw new Error("no such person");
    });
    const bed = await bedOf({ tokens: { decide } });
    await expect(bed.tokens.issue(reader)).rejects.toThrow("no such person");
  });

  it("is for a moment of the test: a scheduled key signs when its time has come (RFC 7517 §5)", async () => {
    const clock = stopClock();
    const later = { key: generateSigningKey(), signsFrom: clock.now() + 1_000 };
    const bed = await bedOf({ signingKeys: [goodKey, later] });
    const kidOf = async (): Promise<unknown> => {
      const token = await bed.tokens.issue(reader);
      expect((await get(bed, "/orders/mine", token)).status).toBe(200);
      return (JSON.parse(atob(token.split(".")[0] ?? "")) as { kid: string }).kid;
    };
    expect(await kidOf()).not.toBe(later.key["kid"]);
    clock.advance(1_000);
    expect(await kidOf()).toBe(later.key["kid"]);
    jest.restoreAllMocks();
  });

  it("many at once are all good, and all different", async () => {
    const bed = await bedOf();
    const minted = await Promise.all(Array.from({ length: 50 }, () => bed.tokens.issue(reader)));
    expect(new Set(minted).size).toBe(50);
    for (const token of minted) expect((await get(bed, "/orders/mine", token)).status).toBe(200);
  });
});

/** What checkRoute finds wrong with a route that needs two scopes. */
async function failing(send: SendRequest): Promise<string> {
  const { tokens } = await bedOf();
  const both = { ...reader, scope: "orders:read orders:write" };
  return tokens.checkRoute(both, send).then(
    () => "nothing",
    (error: Error) => error.message,
  );
}

describe("checkRoute", () => {
  it("tries nothing else where the good token is refused: a wrong path, other keys, another storage", async () => {
    const paths = ["/ordres", "/orders/own"];
    const { host } = await bedOf();
    for (const path of paths) {
      const sent = jest.fn((headers: Readonly<Record<string, string>>) =>
        request(host.app).get(path).set(headers),
      );
      expect(await failing(sent)).toContain("the good token was answered with 40");
      expect(sent).toHaveBeenCalledTimes(1);
    }
    const scopeless = bedOf().then(({ tokens, host: { app } }) =>
      tokens.checkRoute({ api: "orders", client: "web", subject: "alice" }, (headers) =>
        request(app).get("/orders/read").set(headers),
      ),
    );
    await expect(scopeless).rejects.toMatchObject({ code: "route-refuses-good-token" });
    const other = await bedOf({ signingKeys: [generateSigningKey()] });
    expect(await failing((headers) => request(other.host.app).get("/orders").set(headers))).toContain(
      "the good token was answered with 401. Nothing else was tried",
    );
  });

  it("names everything that an open route lets in", async () => {
    const message = await failing(() => new globalThis.Response("", { status: 200 }));
    const named = message.split("\n").slice(1);
    expect(named.map((line) => line.split(" was answered")[0])).toEqual([
      "- no token",
      ...refusedKinds.map((kind) => `- the token that is ${kind}`),
      "- the token with only the scope orders:write",
      "- the token with only the scope orders:read",
    ]);
  });

  it.each(["orders", "reports"])(
    "sends weaker sign-ins to a route of %s that asks for acr and maxAge (RFC 9470 §3)",
    async (api) => {
      const { [api]: asked } = apis;
      const stronger = { ...asked, acrValues: ["otp"] } as AuthServerOptions["apis"][string];
      const { host, tokens } = await bedOf({ apis: { ...apis, [api]: stronger } });
      const { app, auth } = host;
      app.get("/all", auth.requireBearer({ api, acr: "otp", maxAge: 60 }), (_, res) => void res.send("done"));
      app.get("/acr", auth.requireBearer({ api, acr: "otp" }), (_, res) => void res.send("done"));
      app.get("/none", auth.requireBearer({ api }), (_, res) => void res.send("done"));
      const authTime = Math.floor(Date.now() / 1_000);
      const alice = { api, client: "web", subject: "alice", acr: "otp", authTime };
      const check = (path: string, asking: object = alice): Promise<string> =>
        tokens
          .checkRoute({ ...alice, ...asking }, (headers) => request(app).get(path).set(headers))
          .then(
            () => "",
            (error: Error) => error.message,
          );
      const wanted = 'not with 401 and error="insufficient_user_authentication" in WWW-Authenticate';
      const old = `- the token of an old sign-in was answered with 200, ${wanted}`;
      expect(await check("/all")).toBe("");
      expect((await check("/acr")).split("\n").slice(1)).toEqual([old]);
      expect((await check("/none")).split("\n").slice(1)).toEqual([
        `- the token without acr was answered with 200, ${wanted}`,
        old,
      ]);
      expect(await check("/all", { acr: "pwd" })).toContain("the acr and authTime that the route asks for");
    },
  );

  it("is not content with a status alone: somebody else may have refused", async () => {
    const { tokens, host } = await bedOf();
    const good = await tokens.issue(reader);
    expect((await request(host.app).get("/orders/mine").auth(good, { type: "bearer" })).status).toBe(200);
    let asked = 0;
    const message = await failing(() => {
      asked += 1;
      return { statusCode: asked === 1 ? 204 : 401, headers: {} };
    });
    expect(message).toContain("- no token was answered with 401, not with 401 in WWW-Authenticate");
  });

  it.each<[string, unknown, string]>([
    ["no function", "GET /orders", "write a function that sends a request"],
    ["an answer without a status", () => ({ headers: {} }), "which has a status"],
  ])("refuses %s", async (_, send, said) => {
    expect(await failing(send as SendRequest)).toContain(said);
  });

  it("what sending throws reaches the test", async () => {
    expect(
      await failing(() => {
        throw new Error("no connection");
      }),
    ).toBe("no connection");
  });
});
