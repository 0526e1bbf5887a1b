import request from "supertest";
import { type Client, generateSigningKey, type TokenDecision, type TokenDecisionRequest } from "../../lib";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { apis, issuer, origin, type Pair, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import type { TestHost, TestHostOptions } from "../hosts/host";
import { watchedHost } from "../hosts/watched-host";
import {
  boundApis,
  claimsOf,
  otherKey,
  ownThumbprint,
  redeemBound,
  tokenProof,
} from "../requests/bound-requests";
import { introspect, ownToken, revoke } from "../requests/client-requests";
import {
  accessTokenType,
  exchange,
  exchangeApis,
  exchangeClients,
  exchanged,
  exchangeFields,
  exchangeGrant,
  exchangeHost,
  ordersToken,
  serviceOf,
} from "../requests/exchanges";
import { answerOf, refusal } from "../requests/json-answers";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const filesIssuer = `${origin}${pairPath({ api: "files" })}`;
const reports: Pair = { api: "reports" };
const invalidSubject = refusal(
  400,
  "invalid_request",
  "The subject token is not valid, or not for this client to exchange here.",
);

/** Why the last token request was refused. */
function lastReason({ events }: TestHost): string {
  const event = events.findLast(({ kind }) => kind === "token-refused");
  return event && "code" in event ? event.code : "";
}

/** A host with other records of these clients. */
function hostWithClients(...changed: readonly Client[]): TestHost {
  const ids = changed.map(({ clientId }) => clientId);
  return exchangeHost({
    clients: [...exchangeClients.filter(({ clientId }) => !ids.includes(clientId)), ...changed],
  });
}

/** A host whose API files has these options besides. */
function hostWithFiles(files: object, options: TestHostOptions = {}): TestHost {
  const changed = { ...exchangeApis["files"], ...files } as (typeof exchangeApis)[string];
  return exchangeHost({ apis: { ...exchangeApis, files: changed }, ...options });
}

describe("token exchange (RFC 8693 §2.1, §2.2.1)", () => {
  it("answers with an access token of this API, and no refresh token", async () => {
    const host = exchangeHost();
    const response = await exchange(host, { token: await ordersToken(host) });
    expect(answerOf(response)).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        issued_token_type: accessTokenType,
        token_type: "bearer",
        expires_in: 60,
        scope: "files:read files:write",
      },
    });
    expect(response.headers["cache-control"]).toBe("no-store");
  });

  it("names the person, the client that has exchanged it, and the authorization (§4.1)", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    expect(claimsOf(await exchanged(host, { token }))).toEqual({
      iss: filesIssuer,
      aud: "https://api.example/files",
      sub: "alice",
      client_id: "orders-api",
      act: { sub: "orders-api" },
      authorization_id: claimsOf(token)["authorization_id"],
      authorization_scope: "orders:read orders:write",
      auth_time: 1_799_999_000,
      jti: expect.any(String),
      iat: clock.now(),
      exp: clock.now() + 60,
      scope: "files:read files:write",
    });
  });

  it.each([[{ api: "files" }], [reports]] as const)("opens the API, and says who acts: %j", async (pair) => {
    const host = exchangeHost();
    const token = await exchanged(host, { pair, token: await ordersToken(host) });
    const { status, body } = await callApi(host, `/${pair.api}`, token);
    expect([status, body]).toMatchObject([
      200,
      { subject: "alice", clientId: "orders-api", actor: { subject: "orders-api" } },
    ]);
    expect((await introspect(host, { pair, token })).body).toMatchObject({
      active: true,
      sub: "alice",
      client_id: "orders-api",
      act: { sub: "orders-api" },
    });
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });

  it("takes an opaque token, and one of a client that nobody can keep a secret for", async () => {
    const host = exchangeHost();
    const { access_token: opaque } = await obtainTokens(host, {
      client: "web",
      pair: reports,
      fields: { scope: "reports:read" },
    });
    expect(claimsOf(await exchanged(host, { by: "reports-api", token: opaque }))).toMatchObject({
      scope: "files:read",
      authorization_scope: "reports:read",
    });
    const { access_token: ofPhone } = await obtainTokens(host, { client: "native" });
    expect(claimsOf(await exchanged(host, { token: ofPhone }))).toMatchObject({ sub: "alice" });
  });

  it("expires with the subject token at the latest", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    clock.advance(570);
    expect((await exchange(host, { token })).body).toMatchObject({ expires_in: 30 });
    clock.advance(30);
    expect(answerOf(await exchange(host, { token }))).toEqual(invalidSubject);
    expect(lastReason(host)).toBe("subject-token-ended");
    expect(host.events.at(-1)).toMatchObject({ reason: expect.stringContaining("expired at") });
  });

  it("stores nothing for a JWT, and one record for an opaque token", async () => {
    const { host, writes } = watchedHost({ apis: exchangeApis, clients: exchangeClients });
    const token = await ordersToken(host);
    writes.length = 0;
    await exchanged(host, { token });
    expect(writes).toEqual([]);
    await exchanged(host, { pair: reports, token });
    expect(writes).toEqual(["accessTokens.create"]);
  });

  it("tells the host of it", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    await exchanged(host, { token, fields: { scope: "files:read" } });
    expect(host.events.at(-1)).toEqual({
      kind: "token-issued",
      at: clock.now(),
      grantType: exchangeGrant,
      issuer: filesIssuer,
      clientId: "orders-api",
      subject: "alice",
      authorizationId: claimsOf(token)["authorization_id"],
      scopes: ["files:read"],
    });
  });

  it("is in the metadata of those issuers alone that have it (RFC 8414 §2)", async () => {
    const host = exchangeHost({ apis: { ...exchangeApis, orders: apis["orders"] } as typeof apis });
    const granted = async (pair: Pair): Promise<unknown> => {
      const { body } = await request(host.app).get(
        `${pairPath(pair)}/.well-known/oauth-authorization-server`,
      );
      return (body as { grant_types_supported: string[] }).grant_types_supported.includes(exchangeGrant);
    };
    expect([await granted({}), await granted(reports)]).toEqual([false, true]);
    const answer = await exchange(host, { by: "files-api", pair: {}, token: "any" });
    expect(answerOf(answer)).toEqual(refusal(400, "unsupported_grant_type"));
  });
});

describe("the scopes of an exchanged token (RFC 8693 §2.1, §2.2.1)", () => {
  it.each([
    ["all that the token leads to", "orders:read orders:write", undefined, "files:read files:write"],
    ["no more than the token leads to", "orders:read", undefined, "files:read"],
    ["those that are asked for", "orders:write", "files:write", "files:write"],
    ["those of them that it leads to", "orders:read", "files:read files:write any constructor", "files:read"],
  ])("are %s", async (_, held, scope, expected) => {
    const host = exchangeHost();
    const token = await ordersToken(host, held);
    const answer = await exchange(host, { token, fields: { scope } });
    expect(tokensOf(answer).scope).toBe(expected);
  });

  it("name of the authorization only what they were made of", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    const made = await exchanged(host, { token, fields: { scope: "files:write" } });
    expect(claimsOf(made)["authorization_scope"]).toBe("orders:write");
  });

  it("are within the subscription", async () => {
    const service = serviceOf("orders-api");
    const files = { scopes: ["files:write"], grantTypes: [exchangeGrant] } as const;
    const host = hostWithClients({ ...service, subscriptions: { ...service.subscriptions, files } });
    expect(tokensOf(await exchange(host, { token: await ordersToken(host) })).scope).toBe("files:write");
    const token = await ordersToken(host, "orders:read");
    const none = refusal(400, "invalid_scope", "The subject token leads to none of these scopes.");
    expect(answerOf(await exchange(host, { token }))).toEqual(none);
    expect(lastReason(host)).toBe("exchange-without-scope");
  });

  it.each([
    ["none that the token leads to", "files:write"],
    ["the scope of the other API", "orders:read"],
    ["a text that is no list", "files:read  files:write"],
    ["what every object has", "constructor"],
  ])("are refused where none is left: %s", async (_, scope) => {
    const host = exchangeHost();
    const token = await ordersToken(host, "orders:read");
    expect(answerOf(await exchange(host, { token, fields: { scope } }))).toEqual(
      refusal(400, "invalid_scope"),
    );
  });

  it("do not tell of people, although the API is an OpenID provider", async () => {
    const host = hostWithFiles({ openid: { idTokenAlgorithm: "ES256", claims: () => ({ name: "Alice" }) } });
    const token = await ordersToken(host);
    const response = await exchange(host, { token, fields: { scope: "openid files:read" } });
    expect(response.body).toMatchObject({ scope: "files:read" });
    expect(response.body).not.toHaveProperty("id_token");
    const alone = await exchange(host, { token, fields: { scope: "openid profile" } });
    expect(answerOf(alone)).toEqual(refusal(400, "invalid_scope"));
  });
});

const onlyAccessTokens = "Only access tokens are exchanged, for access tokens, and without actor_token.";

describe("what an exchange may not ask for (RFC 8693 §2.1, §2.2.2)", () => {
  it.each([
    ["no subject token", { subject_token: undefined }, "parameter-missing"],
    ["no type of it", { subject_token_type: undefined }, "parameter-missing"],
    [
      "another type",
      { subject_token_type: "urn:ietf:params:oauth:token-type:id_token" },
      "exchange-of-other-kind",
    ],
    [
      "a token of another type",
      { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" },
      "exchange-of-other-kind",
    ],
    [
      "an actor of its own",
      { actor_token: "any", actor_token_type: accessTokenType },
      "exchange-of-other-kind",
    ],
  ])("%s: invalid_request", async (_, fields, code) => {
    const host = exchangeHost();
    const answer = await exchange(host, { token: await ordersToken(host), fields });
    const told = code === "exchange-of-other-kind" ? [onlyAccessTokens] : [];
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_request", ...told));
    expect(lastReason(host)).toBe(code);
  });

  it.each(["resource", "audience"])("another %s than this API: invalid_target", async (name) => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    const answer = await exchange(host, { token, fields: { [name]: "https://api.example/reports" } });
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_target"));
    const own = { [name]: "https://api.example/files", requested_token_type: accessTokenType };
    expect((await exchange(host, { token, fields: own })).status).toBe(200);
  });

  it("two resources, of which each could be meant: invalid_request", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    const fields = new URLSearchParams(exchangeFields({ token }) as Record<string, string>);
    for (const api of ["files", "reports"]) fields.append("resource", `https://api.example/${api}`);
    const answer = await request(host.app)
      .post(`${pairPath({ api: "files" })}/token`)
      .type("form")
      .send(fields.toString());
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_request"));
  });

  it("the token in the URL, where it would be logged: invalid_request", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    const { subject_token: _token, ...fields } = exchangeFields({ token });
    const answer = await request(host.app)
      .post(`${pairPath({ api: "files" })}/token?subject_token=${token}`)
      .type("form")
      .send(fields);
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_request"));
    expect(lastReason(host)).toBe("parameters-in-url");
  });
});

describe("who may exchange (RFC 8693 §5)", () => {
  it.each([
    ["has not named the grant", "web"],
    ["cannot keep a secret", "native"],
    ["runs in a page", "spa"],
  ] as const)("not a client that %s: %s", async (_, by) => {
    const host = exchangeHost();
    const answer = await exchange(host, { by, token: await ordersToken(host) });
    expect(answerOf(answer)).toEqual(refusal(400, "unauthorized_client"));
  });

  it("no public client, although its record names the grant", async () => {
    const subscriptions = { orders: {}, files: { grantTypes: [exchangeGrant] } } as const;
    const host = hostWithClients({ ...clients.native, subscriptions });
    const answer = await exchange(host, { by: "native", token: await ordersToken(host) });
    expect(answerOf(answer)).toEqual(refusal(400, "unauthorized_client"));
  });

  it("no client that the table does not name, with whose token ever", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    for (const by of ["reports-api", "files-api"] as const) {
      expect(answerOf(await exchange(host, { by, token }))).toEqual(invalidSubject);
      expect(lastReason(host)).toBe("subject-token-not-exchangeable");
    }
  });
});

describe("a subject token that is refused, always in the same words (RFC 8693 §2.2.2)", () => {
  /** What is wrong with the token → how it is had, and what the host is told. */
  const cases: Readonly<Record<string, readonly [(host: TestHost) => Promise<string>, string]>> = {
    "made up, as a JWT": [async () => "a.b.c", "subject-token-not-exchangeable"],
    "made up, as an opaque one": [async () => "A".repeat(43), "subject-token-not-exchangeable"],
    "signed by somebody else": [
      () => ordersToken(exchangeHost({ signingKeys: [generateSigningKey()] })),
      "subject-token-not-exchangeable",
    ],
    "of this very API": [
      async (host) => (await obtainTokens(host, { client: "web", pair: { api: "files" } })).access_token,
      "subject-token-not-exchangeable",
    ],
    "of an API that another client serves": [
      async (host) =>
        (await obtainTokens(host, { client: "web", pair: reports, fields: { scope: "reports:read" } }))
          .access_token,
      "subject-token-not-exchangeable",
    ],
    "of a weaker sign-in": [
      async (host) => (await obtainTokens(host, { client: "web", pair: { method: "otp" } })).access_token,
      "subject-token-not-exchangeable",
    ],
    "a refresh token": [
      async (host) => (await obtainTokens(host, { client: "web" })).refresh_token ?? "",
      "subject-token-not-exchangeable",
    ],
    "a client's own": [
      async (host) => tokensOf(await ownToken(host, { client: "web" })).access_token,
      "subject-token-of-client",
    ],
    "revoked by itself": [
      async (host) => {
        const token = await ordersToken(host);
        await revoke(host, { token });
        return token;
      },
      "subject-token-ended",
    ],
    "of an authorization that has ended": [
      async (host) => {
        const token = await ordersToken(host);
        await host.auth.subjects.revoke("alice");
        return token;
      },
      "subject-token-ended",
    ],
  };

  it.each(Object.entries(cases))("%s", async (_, [tokenOf, code]) => {
    const host = exchangeHost();
    const token = await tokenOf(host);
    expect(answerOf(await exchange(host, { token }))).toEqual(invalidSubject);
    expect(lastReason(host)).toBe(code);
    expect(JSON.stringify(host.events)).not.toContain(token);
  });
});

describe("a chain of exchanges (RFC 8693 §4.1)", () => {
  const steps = [
    { by: "orders-api", pair: reports },
    { by: "reports-api", pair: { api: "files" } },
    { by: "files-api", pair: {} },
    { by: "orders-api", pair: reports },
  ] as const;

  it("names all who act, up to four, the last one first", async () => {
    const host = exchangeHost();
    let token = await ordersToken(host, "orders:read");
    const { authorization_id: id } = claimsOf(token);
    for (const step of steps) {
      token = await exchanged(host, { ...step, token });
      const { api = "orders" } = step.pair as Pair;
      expect((await callApi(host, `/${api}`, token)).status).toBe(200);
    }
    const { body } = await introspect(host, { pair: reports, token });
    expect(body).toMatchObject({
      sub: "alice",
      client_id: "orders-api",
      act: {
        sub: "orders-api",
        act: { sub: "files-api", act: { sub: "reports-api", act: { sub: "orders-api" } } },
      },
      authorization_id: id,
      authorization_scope: "orders:read",
    });
    const fifth = await exchange(host, { by: "reports-api", token });
    expect(answerOf(fifth)).toEqual(invalidSubject);
    expect(lastReason(host)).toBe("too-many-actors");
  });

  it("never widens: each step maps what is left", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    const first = await exchanged(host, { token, fields: { scope: "files:write" } });
    // files:write leads nowhere at orders
    const answer = await exchange(host, { by: "files-api", pair: {}, token: first });
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_scope"));
  });

  it("gives nobody a token who was only passed through", async () => {
    const host = exchangeHost();
    const first = await exchanged(host, { pair: reports, token: await ordersToken(host) });
    // orders-api may exchange tokens of orders at files, and this is one of reports
    expect(answerOf(await exchange(host, { token: first }))).toEqual(invalidSubject);
  });
});

/** A host that decides so, and what it was asked. */
function decidingHost(decision: TokenDecision): { host: TestHost; asked: TokenDecisionRequest[] } {
  const asked: TokenDecisionRequest[] = [];
  const decide = async (question: TokenDecisionRequest): Promise<TokenDecision> => {
    asked.push(question);
    return question.grantType === exchangeGrant ? decision : { kind: "issue" };
  };
  return { host: exchangeHost({ tokens: { decide } }), asked };
}

describe("the host's decision about an exchange (RFC 8693 §2.2.2)", () => {
  it("is asked with the grant, and with the authorization of the person's client", async () => {
    const { host, asked } = decidingHost({ kind: "issue", scopes: ["files:read"], accessTokenSeconds: 20 });
    const token = await ordersToken(host);
    const answer = await exchange(host, { token });
    expect(answer.body).toMatchObject({ scope: "files:read", expires_in: 20 });
    expect(asked.at(-1)).toMatchObject({
      grantType: exchangeGrant,
      issuer: filesIssuer,
      apiId: "files",
      client: { clientId: "orders-api" },
      subject: "alice",
      scopes: ["files:read", "files:write"],
      authorization: {
        authorizationId: claimsOf(token)["authorization_id"],
        grantedScopes: ["orders:read", "orders:write"],
      },
    });
  });

  it("may refuse, and end the authorization of the person's client", async () => {
    const { host } = decidingHost({ kind: "refuse", description: "Not now.", revoke: true });
    const token = await ordersToken(host);
    expect(answerOf(await exchange(host, { token }))).toEqual(refusal(400, "invalid_request", "Not now."));
    expect(host.events.at(-2)).toMatchObject({ kind: "authorization-ended", issuer, clientId: "web" });
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });

  it("is late where the authorization has ended meanwhile", async () => {
    const host: TestHost = exchangeHost({
      tokens: {
        async decide({ grantType }) {
          if (grantType === exchangeGrant) await host.auth.subjects.revoke("alice");
          return { kind: "issue" };
        },
      },
    });
    const answer = await exchange(host, { token: await ordersToken(host) });
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_request", "The authorization has ended."));
  });

  it("may take as long as the token lives, and then nothing is stored", async () => {
    const { host, writes } = watchedHost({
      apis: exchangeApis,
      clients: exchangeClients,
      tokens: {
        decide({ grantType }) {
          if (grantType === exchangeGrant) clock.advance(130);
          return { kind: "issue" };
        },
      },
    });
    const token = await ordersToken(host);
    writes.length = 0;
    const answer = await exchange(host, { pair: reports, token });
    expect(answerOf(answer)).toEqual(refusal(503, "temporarily_unavailable"));
    expect(writes).toEqual([]);
  });
});

describe("keys of exchanged tokens (RFC 9449 §5)", () => {
  const bound = boundApis();
  const boundExchange = {
    ...exchangeApis,
    orders: { ...exchangeApis["orders"], ...bound["orders"] },
    reports: { ...exchangeApis["reports"], ...bound["reports"] },
  } as typeof apis;

  it("are those that the exchanging client proves, whatever the subject token is bound to", async () => {
    const host = exchangeHost({ apis: boundExchange });
    const code = await obtainCode(host, { client: "web" });
    const { access_token: token } = tokensOf(await redeemBound(host, { client: "web", code, key: otherKey }));
    expect(claimsOf(token)["cnf"]).toBeDefined();
    const answer = await request(host.app)
      .post(`${pairPath(reports)}/token`)
      .type("form")
      .set("DPoP", tokenProof({ pair: reports }))
      .send(exchangeFields({ token }));
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    const { access_token: made } = tokensOf(answer);
    expect((await introspect(host, { pair: reports, token: made })).body).toMatchObject({
      cnf: { jkt: ownThumbprint },
      act: { sub: "orders-api" },
    });
    expect((await callApi(host, "/reports", made)).status).toBe(401);
  });
});
