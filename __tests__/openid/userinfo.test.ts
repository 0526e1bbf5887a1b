import request, { type Response } from "supertest";
import { issuer, origin, pairPath } from "../hosts/apis";
import { memoryStorage } from "../../lib";
import { redirectParameters } from "../browser/authorize";
import { obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { ownKey, redeemBound } from "../requests/bound-requests";
import { type ProofChanges, proofOf } from "../requests/dpop-proofs";
import { askAs, documentPath, redeemAs, serveDocument } from "../browser/strangers";
import { documentServer } from "../servers/document-server";
import type { TestHost } from "../hosts/host";
import { hearAnswers, unsubscribeAfterEachTest } from "../requests/channels";
import { ownToken, revoke } from "../requests/client-requests";
import { aliceClaims, disableWeb, provider, type ProviderOptions } from "./provider";

unsubscribeAfterEachTest();

const path = `${pairPath()}/userinfo`;
const selection = { subject: "alice", clientId: "web", apiId: "orders" };

async function asked(scope: string, options: ProviderOptions = {}) {
  const host = provider(options);
  const tokens = await obtainTokens(host, { client: "web", fields: { scope } });
  const ask = (token = tokens.access_token, headers = {}): Promise<Response> =>
    Promise.resolve(
      request(host.app)
        .get(path)
        .set({ Authorization: `Bearer ${token}`, ...headers }),
    );
  return { host, tokens, ask };
}

describe("userinfo (OpenID Connect Core §5.3)", () => {
  it.each([
    ["openid", {}],
    ["openid email", { email: "alice@example.org", email_verified: true }],
    ["openid groups", { groups: ["staff"] }],
  ])("tells the claims that %s opens, with sub", async (scope, claims) => {
    const { ask } = await asked(scope);
    const { status, body, headers } = await ask();
    expect([status, body]).toEqual([200, { sub: "alice", ...claims }]);
    expect(headers["cache-control"]).toBe("no-store");
  });

  it("is closed to an ID token", async () => {
    const { ask, tokens } = await asked("openid email");
    const { status, body } = await ask((tokens as { id_token?: string }).id_token);
    expect([status, body]).toMatchObject([401, { error: "invalid_token" }]);
  });

  it("is closed to a token without openid (RFC 6750 §3.1)", async () => {
    const { ask } = await asked("email");
    const { status, headers } = await ask();
    expect([status, headers["www-authenticate"]]).toEqual([
      403,
      expect.stringContaining('error="insufficient_scope"') as string,
    ]);
  });

  it("is not there without openid (decision 0012)", async () => {
    const { host } = await asked("openid");
    for (const below of ["userinfo", ".well-known/openid-configuration"])
      expect((await request(host.app).get(`${pairPath({ api: "files" })}/${below}`)).status).toBe(404);
  });

  it("is found by the metadata (OpenID Connect Discovery §4)", async () => {
    const { host } = await asked("openid");
    const { body } = await request(host.app).get(`${pairPath()}/.well-known/openid-configuration`);
    expect(body).toMatchObject({
      issuer,
      userinfo_endpoint: `${origin}${path}`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      request_uri_parameter_supported: false,
    });
    const atRoot = await request(host.app).get(`/.well-known/openid-configuration${pairPath()}`);
    const oauth = await request(host.app).get(`${pairPath()}/.well-known/oauth-authorization-server`);
    expect([atRoot.body, oauth.body]).toEqual([body, body]);
  });

  it("answers POST as GET, and no other method", async () => {
    const { host, tokens } = await asked("openid");
    const headers = { Authorization: `Bearer ${tokens.access_token}` };
    expect((await request(host.app).post(path).set(headers)).body).toEqual({ sub: "alice" });
    const { status, headers: answered } = await request(host.app).put(path).set(headers);
    expect([status, answered["allow"]]).toEqual([405, "GET, POST, OPTIONS"]);
  });

  it("takes the token in the header only (RFC 6750 §2.2)", async () => {
    const { host, tokens } = await asked("openid");
    const body = `access_token=${tokens.access_token}`;
    expect((await request(host.app).post(path).type("form").send(body)).status).toBe(401);
    expect((await request(host.app).get(`${path}?${body}`)).status).toBe(401);
  });

  it.each([
    ["no token", {}, 401, undefined],
    ["what is no token", { Authorization: "Bearer a b" }, 400, "invalid_request"],
    ["a forged one", { Authorization: "Bearer x.y.z" }, 401, "invalid_token"],
  ])(
    "challenges %s as every route does, and tells the host (RFC 6750 §3)",
    async (_, headers, status, error) => {
      const { host } = await asked("openid");
      const traces = hearAnswers();
      const answer = await request(host.app).get(path).set(headers);
      expect(traces).toMatchObject([{ endpoint: "userinfo", method: "GET", status }]);
      expect([answer.status, (answer.body as { error?: string }).error]).toEqual([status, error]);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="https:\/\/api\.example\/orders"/);
      expect(host.events.at(-1)).toMatchObject({ kind: "bearer-refused", apiId: "orders" });
    },
  );

  it("answers for tokens of its own issuer only: sub is that of the issuer (Core §5.3.2)", async () => {
    const { host, tokens } = await asked("openid");
    const other = pairPath({ method: "otp" });
    const headers = { Authorization: `Bearer ${tokens.access_token}` };
    expect((await request(host.app).get(`${other}/userinfo`).set(headers)).status).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ kind: "bearer-refused", code: "token-of-another-api" });
  });

  it("is closed to a client's own token", async () => {
    const { host, ask } = await asked("openid");
    const { body } = await ownToken(host, { client: "web" });
    expect(await ask((body as { access_token: string }).access_token)).toMatchObject({ status: 401 });
  });

  it("works with opaque tokens", async () => {
    const { ask } = await asked("openid email", { api: { accessTokenFormat: "opaque" } });
    expect((await ask()).body).toMatchObject({ email: "alice@example.org" });
  });

  it("ends with the authorization, and shrinks with it at once", async () => {
    const claims = jest.fn(() => aliceClaims);
    const { host, ask } = await asked("openid email groups", { openid: { claims } });
    expect((await ask()).body).toHaveProperty("groups");
    await host.auth.consents.narrow({ ...selection, scopes: ["openid", "email"] });
    expect((await ask()).body).toEqual({ sub: "alice", email: "alice@example.org", email_verified: true });
    await host.auth.consents.narrow({ ...selection, scopes: ["email"] });
    claims.mockClear();
    expect((await ask()).status).toBe(401);
    expect(claims).not.toHaveBeenCalled();
    expect(host.events.at(-1)).toMatchObject({ kind: "bearer-refused", code: "end-user-gone" });
    await host.auth.consents.revoke(selection);
    expect((await ask()).status).toBe(401);
  });

  it("ends at once where another process has ended the authorization", async () => {
    const { host, ask } = await asked("openid");
    expect((await ask()).status).toBe(200);
    const [one] = (await host.auth.authorizations.list("alice")).authorizations;
    await host.storage.authorizations.revoke(one?.authorizationId ?? "", 0);
    expect((await ask()).status).toBe(401);
  });

  it.each<[string, (host: TestHost, token: string) => Promise<void>, object]>([
    ["nothing when the authorization ends", ({ auth }) => auth.subjects.revoke("alice"), { status: 401 }],
    ["nothing when all of the client ends", ({ auth }) => auth.clients.revoke("web"), { status: 401 }],
    ["nothing when the client is disabled", disableWeb, { status: 401 }],
    [
      "nothing when the client takes back the token itself",
      (host, token) => revoke(host, { client: "web", token }).then(() => undefined),
      { status: 401 },
    ],
    [
      "no claim that is taken back",
      ({ auth }) => auth.consents.narrow({ ...selection, scopes: ["openid"] }),
      { status: 200, body: { sub: "alice" } },
    ],
  ])("tells %s while the host answers", async (_, end, answer) => {
    let change: (() => Promise<void>) | undefined;
    const { host, tokens, ask } = await asked("openid email", {
      openid: {
        async claims() {
          await change?.();
          return { email: "a@example.org" };
        },
      },
    });
    change = () => end(host, tokens.access_token);
    const { status, body } = await ask();
    expect({ status, body: body as object }).toMatchObject(answer);
    expect(body).not.toHaveProperty("email");
  });

  it("may be read by scripts of browser clients only (Fetch standard, CORS)", async () => {
    const { host, ask } = await asked("openid");
    const spa = await ask(undefined, { Origin: "https://spa.example" });
    expect([spa.headers["access-control-allow-origin"], spa.headers["vary"]]).toEqual([
      "https://spa.example",
      "Origin",
    ]);
    const foreign = await ask(undefined, { Origin: "https://evil.example" });
    expect(foreign.headers).not.toHaveProperty("access-control-allow-origin");
    const preflight = await request(host.app)
      .options(path)
      .set({ Origin: "https://spa.example", "Access-Control-Request-Headers": "authorization" });
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": "https://spa.example",
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization",
    });
  });

  it("fails where the host or storage fails, and says nothing of it", async () => {
    const { host, ask } = await asked("openid", {
      openid: {
        claims: ({ use }) => {
          if (use === "userinfo") throw new Error("a secret");
          return {};
        },
      },
    });
    const { status, text } = await ask();
    expect([status, text]).toEqual([500, expect.not.stringContaining("secret") as string]);
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", issuer });
  });
});

describe("userinfo for a client that nobody registered (draft-ietf-oauth-client-id-metadata-document §3)", () => {
  it("is answered by a process that has not read its document yet", async () => {
    const server = await documentServer();
    const scopes = ["openid", "email"];
    const accept = () => ({ kind: "accepted", scopes }) as const;
    const options: ProviderOptions = {
      api: { clientMetadataDocuments: { accept } },
      insecureLoopbackClients: true,
      storage: memoryStorage({ clients: [] }),
    };
    const clientId = serveDocument(server);
    const [host, other] = [provider(options), provider(options)];
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { scope: scopes.join(" ") } });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const { access_token: token } = (await redeemAs(host, { clientId, code })).body as Tokens;
    const answer = await request(other.app)
      .get(path)
      .set({ Authorization: `Bearer ${token}` });
    expect([answer.status, answer.body]).toMatchObject([200, { email: "alice@example.org" }]);
    expect(server.asked).toEqual([documentPath, documentPath]);
    await server.close();
  });
});

describe("userinfo with bound tokens (RFC 9449 §7.1)", () => {
  const url = `${origin}${path}`;

  /** A bound token of Alice, and how to send it. */
  async function bound(options: ProviderOptions = {}) {
    const host = provider({ ...options, api: { dpop: {} } });
    const code = await obtainCode(host, { client: "web", fields: { scope: "openid" } });
    const { body } = await redeemBound(host, { client: "web", code, key: ownKey });
    const token = (body as { access_token: string }).access_token;
    const ask = (changes: ProofChanges = {}, headers: object = {}): Promise<Response> =>
      Promise.resolve(
        request(host.app)
          .get(path)
          .set({ Authorization: `DPoP ${token}`, DPoP: proofOf({ url, token, ...changes }), ...headers }),
      );
    return { host, token, ask };
  }

  it("answers a proof for its own URL, which is below the issuer", async () => {
    const { host, token, ask } = await bound();
    expect((await ask()).body).toEqual({ sub: "alice" });
    const elsewhere = await ask({ url: `https://api.example${path}` });
    expect([elsewhere.status, host.events.at(-1)]).toMatchObject([401, { code: "proof-htu-wrong" }]);
    expect(elsewhere.headers["www-authenticate"]).toMatch(
      /^Bearer realm="[^"]*", resource_metadata="[^"]*", DPoP algs="[^"]*", error="invalid_dpop_proof"/,
    );
    const asBearer = await request(host.app).get(path).auth(token, { type: "bearer" });
    expect([asBearer.status, host.events.at(-1)]).toMatchObject([
      401,
      { code: "access-token-without-proof" },
    ]);
    const proof = proofOf({ url, method: "POST", token });
    const posted = request(host.app)
      .post(path)
      .set({ Authorization: `DPoP ${token}`, DPoP: proof });
    expect((await posted).body).toEqual({ sub: "alice" });
  });

  it("lets scripts of browser clients send proofs, and read why one is refused", async () => {
    const { host, ask } = await bound();
    const script = { Origin: "https://spa.example" };
    const preflight = await request(host.app)
      .options(path)
      .set({
        ...script,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization,dpop",
      });
    expect(preflight.headers["access-control-allow-headers"]).toBe("authorization,dpop");
    const refused = await ask({ token: "another" }, script);
    expect(refused.headers["access-control-expose-headers"]).toBe(
      "Retry-After, DPoP-Nonce, WWW-Authenticate",
    );
  });
});
