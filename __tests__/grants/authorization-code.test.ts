import type { Response } from "supertest";
import { type Client, memoryStorage } from "../../lib";
import { apis, issuer, type Pair } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import type { Fields } from "../browser/browser";
import { redeem, refresh } from "../requests/client-requests";
import { type ClientName, clients, credentials, otherSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { type Answer, answerOf, invalidClient, invalidGrant, refusal } from "../requests/json-answers";
import { slowStorage } from "../storage/slow-storage";
import { type TokenBody, tokensOf } from "../requests/token-requests";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

describe("the client, verifier and redirect URI of a code (RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1)", () => {
  interface FailedProof {
    readonly client?: ClientName;
    readonly fields: Fields;
    readonly expected: Answer;
  }

  const otherClient: Fields = { ...credentials("other") };

  const failures: Record<string, FailedProof> = {
    "the verifier of another request": {
      fields: { code_verifier: "v".repeat(43) },
      expected: invalidGrant,
    },
    "a verifier in other case": {
      fields: { code_verifier: codeVerifier.replace(/[a-z]/, (letter) => letter.toUpperCase()) },
      expected: invalidGrant,
    },
    "no verifier": { fields: { code_verifier: undefined }, expected: invalidGrant },
    "a verifier of 42 characters": {
      fields: { code_verifier: "v".repeat(42) },
      expected: refusal(400, "invalid_request"),
    },
    "a verifier of 129 characters": {
      fields: { code_verifier: "v".repeat(129) },
      expected: refusal(400, "invalid_request"),
    },
    "a verifier with a character beyond RFC 7636 §4.1": {
      fields: { code_verifier: "v".repeat(42) + "+" },
      expected: refusal(400, "invalid_request"),
    },
    "another confidential client": { fields: otherClient, expected: invalidGrant },
    "a public client": {
      fields: { client_id: "native", client_secret: undefined },
      expected: invalidGrant,
    },
    "a wrong client secret": {
      fields: { client_secret: otherSecret.secret },
      expected: invalidClient,
    },
    "no client secret, although the verifier is right": {
      fields: { client_secret: undefined },
      expected: invalidClient,
    },
    "another redirect_uri": {
      fields: { redirect_uri: "https://other.example/callback" },
      expected: invalidGrant,
    },
    "a redirect_uri with a slash more": {
      fields: { redirect_uri: "https://web.example/callback/" },
      expected: invalidGrant,
    },
    "the resource of another API": {
      fields: { resource: "https://api.example/files" },
      expected: refusal(400, "invalid_target"),
    },
    "a public client's missing verifier": {
      client: "native",
      fields: { code_verifier: undefined },
      expected: invalidGrant,
    },
    "a public client's wrong verifier": {
      client: "spa",
      fields: { code_verifier: "v".repeat(43) },
      expected: invalidGrant,
    },
    "another registered redirect_uri": {
      client: "native",
      fields: { redirect_uri: "http://127.0.0.1/callback" },
      expected: invalidGrant,
    },
  };

  it.each(Object.entries(failures))(
    "refuses %s and burns nothing",
    async (_, { client = "web", fields, expected }) => {
      const host = testHost();
      const code = await obtainCode(host, { client });
      expect(answerOf(await redeem(host, { client, code, fields }))).toEqual(expected);
      expect(tokensOf(await redeem(host, { client, code })).scope).toBe("orders:read");
    },
  );
});

describe("redeeming an authorization code (RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1)", () => {
  it("refuses a verifier without an earlier challenge (downgrade), and burns nothing", async () => {
    const host = testHost();
    const withoutPkce = { code_challenge: undefined, code_challenge_method: undefined };
    const code = await obtainCode(host, { client: "web", fields: withoutPkce });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
    const fields = { code_verifier: undefined };
    expect((await redeem(host, { client: "web", code, fields })).status).toBe(200);
  });

  it("issues no scope that was taken out of the subscription since the approval", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web", fields: { scope: "orders:read orders:write" } });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    expect(tokensOf(await redeem(host, { client: "web", code })).scope).toBe("orders:read");
  });

  it("is invalid_scope when the subscription has lost all that was approved, and burns nothing", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web", fields: { scope: "orders:write" } });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    const description = "The client may have none of these scopes at this API.";
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(
      refusal(400, "invalid_scope", description),
    );
    records.set("web", clients.web);
    expect(tokensOf(await redeem(host, { client: "web", code })).scope).toBe("orders:write");
  });

  it("issues a token without scope where none was approved", async () => {
    const host = testHost({ apis: { ...apis, orders: { ...apis["orders"]!, defaultScopes: [] } } });
    const code = await obtainCode(host, { client: "web", fields: { scope: undefined } });
    expect(tokensOf(await redeem(host, { client: "web", code }))).not.toHaveProperty("scope");
  });

  const rightUris = [
    ["the redirect_uri that was used", "https://web.example/callback"],
    ["no redirect_uri", undefined],
    ["an empty redirect_uri", ""],
  ] as const;

  it.each(rightUris)("takes %s", async (_, redirect_uri) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect((await redeem(host, { client: "web", code, fields: { redirect_uri } })).status).toBe(200);
  });

  it("compares the port of a loopback redirect with the one used (RFC 8252 §7.3)", async () => {
    const host = testHost();
    const used = { redirect_uri: "http://127.0.0.1:5000/callback" };
    const code = await obtainCode(host, { client: "native", fields: used });
    for (const redirect_uri of ["http://127.0.0.1/callback", "http://127.0.0.1:5001/callback"]) {
      const response = await redeem(host, { client: "native", code, fields: { redirect_uri } });
      expect(answerOf(response)).toEqual(invalidGrant);
    }
    expect((await redeem(host, { client: "native", code, fields: used })).status).toBe(200);
  });

  it("compares with the registered redirect URI when the request had none", async () => {
    const host = testHost();
    const pair: Pair = { api: "reports" };
    const code = await obtainCode(host, { client: "web", pair, fields: { redirect_uri: undefined } });
    const attempt = (redirect_uri: string): Promise<Response> =>
      redeem(host, { client: "web", code, pair, fields: { redirect_uri } });
    expect(answerOf(await attempt("https://other.example/callback"))).toEqual(invalidGrant);
    expect((await attempt("https://web.example/callback")).status).toBe(200);
  });

  it.each([
    [59, 200],
    [60, 400],
  ])("after %i seconds answers a code with %i", async (seconds, status) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    clock.advance(seconds);
    expect((await redeem(host, { client: "web", code })).status).toBe(status);
  });

  it("lives as long as the host says", async () => {
    const host = testHost({ lifetimes: { authorizationCodeSeconds: 10 } });
    const code = await obtainCode(host, { client: "web" });
    clock.advance(10);
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
  });

  it("tells nothing of codes that buy nothing: one answer for all, in every header", async () => {
    const host = testHost();
    const [expired, used, foreign, elsewhere] = [
      await obtainCode(host, { client: "web" }),
      await obtainCode(host, { client: "web" }),
      await obtainCode(host, { client: "other" }),
      await obtainCode(host, { client: "web", pair: { method: "otp" } }),
    ];
    await redeem(host, { client: "web", code: used });
    const revoked = await obtainCode(host, { client: "web", pair: { api: "files" } });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "files" });
    const attempt = async (code: string, pair: Pair = {}): Promise<unknown> => {
      const { status, headers, text } = await redeem(host, { client: "web", code, pair });
      return { status, text, headers: { ...headers, date: "" } };
    };
    const answers = [
      await attempt("unknown"),
      await attempt(`${"A".repeat(22)}.${"A".repeat(43)}`),
      await attempt(`${used.slice(0, 22)}.${"A".repeat(43)}`),
      await attempt(`${expired} `),
      await attempt(foreign),
      await attempt(elsewhere),
      await attempt(revoked, { api: "files" }),
      await attempt(used),
    ];
    clock.advance(60);
    answers.push(await attempt(expired));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 400, text: JSON.stringify(invalidGrant.body) });
  });
});

describe("what the host is told of a code (RFC 6749 §5.1, §5.2)", () => {
  it("whom its tokens are for", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code });
    expect(host.events.at(-1)).toEqual({
      kind: "token-issued",
      at: clock.now(),
      grantType: "authorization_code",
      issuer,
      clientId: "web",
      subject: "alice",
      authorizationId: code.slice(0, code.indexOf(".")),
      scopes: ["orders:read"],
    });
  });

  interface Refused {
    /** What happens before, and the code that is sent then. */
    readonly code?: (host: TestHost, code: string) => string | Promise<string>;
    readonly fields?: Fields;
    readonly refused: string;
  }

  const refusals: Record<string, Refused> = {
    "the verifier has another form": {
      fields: { code_verifier: "v" },
      refused: "code-verifier-malformed",
    },
    "the code has another form than ours": {
      code: () => "code",
      refused: "code-not-of-this-server",
    },
    "the code was given to nobody": {
      code: (_, code) => `${code.slice(0, 22)}.${"A".repeat(43)}`,
      refused: "code-unknown",
    },
    "the code belongs to another authorization than it says": {
      code: (_, code) => `${"A".repeat(22)}${code.slice(22)}`,
      refused: "code-unknown",
    },
    "the code is too old": {
      code: (_, code) => {
        clock.advance(60);
        return code;
      },
      refused: "code-expired",
    },
    "everything of the client was ended": {
      code: async ({ auth }, code) => {
        await auth.clients.revoke("web");
        return code;
      },
      refused: "authorization-revoked",
    },
    "the consent was revoked": {
      code: async ({ auth }, code) => {
        await auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
        return code;
      },
      refused: "authorization-revoked",
    },
  };

  it.each(Object.entries(refusals))(
    "why it is refused when %s",
    async (_, { code = (_host, sent) => sent, fields = {}, refused }) => {
      const host = testHost({ revocationLagSeconds: 0 });
      const sent = await code(host, await obtainCode(host, { client: "web" }));
      expect((await redeem(host, { client: "web", code: sent, fields })).status).toBe(400);
      expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", clientId: "web", code: refused });
    },
  );
});

it("a code that is too old is told for how long it has been (RFC 6749 §4.1.2)", async () => {
  const host = testHost();
  const code = await obtainCode(host, { client: "web" });
  clock.advance(65);
  await redeem(host, { client: "web", code });
  expect(host.events.at(-1)).toMatchObject({
    code: "code-expired",
    reason: expect.stringContaining("the code expired 5 seconds ago") as string,
  });
});

describe("replay of an authorization code (RFC 6749 §4.1.2, 9700 §4.5)", () => {
  it("revokes what came of the code, rotated refresh tokens too, and nothing else", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const stolen = tokensOf(await redeem(host, { client: "web", code }));
    const rotated = tokensOf(await refresh(host, { client: "web", refreshToken: stolen.refresh_token }));
    const otherVisit = await obtainTokens(host, { client: "web" });
    const phone = await obtainTokens(host, { client: "native" });

    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);

    for (const { access_token } of [stolen, rotated]) {
      expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    }
    const dead = await refresh(host, { client: "web", refreshToken: rotated.refresh_token });
    expect(answerOf(dead)).toEqual(invalidGrant);
    for (const [client, { access_token, refresh_token: refreshToken = "" }] of [
      ["web", otherVisit],
      ["native", phone],
    ] as const) {
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
      expect((await refresh(host, { client, refreshToken })).status).toBe(200);
    }
  });

  it("tells the host of it", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code });
    await redeem(host, { client: "web", code });
    const authorizationId = code.slice(0, code.indexOf("."));
    expect(host.events.slice(-2)).toEqual([
      {
        kind: "replay-detected",
        at: clock.now(),
        replayed: "authorization_code",
        authorizationId,
        issuer,
        clientId: "web",
      },
      {
        kind: "token-refused",
        at: clock.now(),
        issuer,
        clientId: "web",
        error: "invalid_grant",
        code: "used-before",
        reason: expect.any(String) as string,
      },
    ]);
  });

  const unproven: Record<string, Fields> = {
    "another client": { ...credentials("other") },
    "a wrong verifier": { code_verifier: "v".repeat(43) },
    "no verifier": { code_verifier: undefined },
    "another redirect_uri": { redirect_uri: "https://other.example/callback" },
    "a wrong secret": { client_secret: "wrong" },
  };
  it.each(Object.entries(unproven))("revokes nothing for a used code with %s", async (_, fields) => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const tokens = tokensOf(await redeem(host, { client: "web", code }));
    expect((await redeem(host, { client: "web", code, fields })).status).toBeGreaterThanOrEqual(400);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken: tokens.refresh_token })).status).toBe(200);
  });

  it("is noticed while the first access token lives", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const tokens = tokensOf(await redeem(host, { client: "web", code }));
    clock.advance(599);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(401);
  });

  it("lets exactly one of 20 simultaneous redemptions win, and ends what it won", async () => {
    const storage = slowStorage(memoryStorage({ clients: Object.values(clients) }), 2);
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => redeem(host, { client: "web", code })),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(answers.filter(({ status }) => status === 400).map(answerOf)).toEqual(
      Array.from({ length: 19 }, () => invalidGrant),
    );
    const won = winner?.body as TokenBody;
    expect((await callApi(host, "/orders", won.access_token)).status).toBe(401);
    const refreshed = await refresh(host, { client: "web", refreshToken: won.refresh_token });
    expect(answerOf(refreshed)).toEqual(invalidGrant);
  });
});
