import { generateKeyPairSync } from "node:crypto";
import request, { type Response } from "supertest";
import { type AuthServerOptions, createAuthServer, type KeyClient } from "../../lib";
import { redirectParameters } from "../browser/authorize";
import { authorizationParametersOf, codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { outcomeOf } from "../browser/consent";
import { apis, issuer, origin, pairPath } from "../hosts/apis";
import { clients, trustedWeb, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { claimsOf, ownKey, ownThumbprint } from "../requests/bound-requests";
import { assertionOf, type AssertionChanges, keyed, presenting } from "../requests/client-assertions";
import { proofOf } from "../requests/dpop-proofs";
import { visitPushed } from "../requests/pushed-requests";
import { goodApi, goodOptions } from "../records/options";

const clock = stopClockForEachTest();
const bank: KeyClient = { ...keyed, trusted: true };

type Api = AuthServerOptions["apis"][string];

/** A host whose API `orders` has the profile, with a bank as client. */
function fapiHost(api: Partial<Api> = {}, options: TestHostOptions = {}): TestHost {
  const orders = { ...(apis["orders"] as Api), profile: "fapi2" as const, ...api };
  return testHost({ apis: { ...apis, orders }, clients: [bank, trustedWeb, clients.native], ...options });
}

interface Sent {
  readonly fields?: Fields;
  readonly assertion?: AssertionChanges;
  readonly proof?: string | undefined;
}

/** POST to an endpoint, as the bank. */
async function post(
  host: TestHost,
  path: string,
  { fields = {}, assertion, proof }: Sent,
): Promise<Response> {
  const sent = request(host.app).post(`${pairPath()}/${path}`).type("form");
  if (proof !== undefined) void sent.set("DPoP", proof);
  return sent.send(encode({ ...presenting(assertionOf(assertion)), ...fields }));
}

const tokenProof = (): string => proofOf({ method: "POST", url: `${issuer}/token`, key: ownKey });

const asked: Fields = { ...authorizationParametersOf(bank), state: "a state" };

const push = (host: TestHost, sent: Sent = {}): Promise<Response> =>
  post(host, "par", { ...sent, fields: { ...asked, ...sent.fields } });

async function codeOf(host: TestHost): Promise<string> {
  const { body } = await push(host);
  const visit = { uri: (body as { request_uri: string }).request_uri, client: "keyed" as "web" };
  return redirectParameters(await visitPushed(host.browser(), visit))["code"] ?? "";
}

async function redeem(host: TestHost, sent: Sent = { proof: tokenProof() }): Promise<Response> {
  const code = await codeOf(host);
  const grant = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
  return post(host, "token", { ...sent, fields: { ...grant, ...sent.fields } });
}

const refusal = (response: Response): unknown => (response.body as { error?: string }).error;
const lastCode = ({ events }: TestHost): unknown => {
  const last = events.findLast((event) => "code" in event && event.kind !== "token-refused");
  return last && "code" in last ? last.code : undefined;
};

const refresh = (host: TestHost, token: string | undefined): Promise<Response> =>
  post(host, "token", {
    proof: tokenProof(),
    fields: { grant_type: "refresh_token", refresh_token: token },
  });

/** The start of a server with these options. */
const started = (api: object, options: object = {}): (() => unknown) => {
  const orders = { ...goodApi, profile: "fapi2", ...api };
  return () => createAuthServer({ ...goodOptions, apis: { orders }, ...options } as AuthServerOptions);
};

describe('an API with profile: "fapi2" (FAPI 2.0 Security Profile §5.3.2)', () => {
  it("leads a bank to a token that is bound to its key, and calls the API with it", async () => {
    const host = fapiHost();
    const { status, body } = await redeem(host);
    const { access_token: token, token_type: type } = body as Record<string, string>;
    expect([status, type, claimsOf(token ?? "")["cnf"]]).toEqual([200, "DPoP", { jkt: ownThumbprint }]);
    const proof = proofOf({ url: "https://api.example/orders", token: token ?? "", key: ownKey });
    const call = request(host.app)
      .get("/orders")
      .set({ Authorization: `DPoP ${token}`, DPoP: proof });
    expect((await call).status).toBe(200);
    expect((await request(host.app).get("/orders").set("Authorization", `Bearer ${token}`)).status).toBe(401);
  });

  it("refuses a client with a secret at each endpoint (§5.3.2.1)", async () => {
    const host = fapiHost();
    const secret = { client_id: "web", client_secret: webSecret.secret };
    for (const path of ["par", "token", "revoke", "introspect"]) {
      const sent = { ...asked, ...secret, redirect_uri: trustedWeb.redirectUris[0], token: "x" };
      const answer = await request(host.app)
        .post(`${pairPath()}/${path}`)
        .type("form")
        .set("DPoP", proofOf({ method: "POST", url: `${issuer}/${path}`, key: ownKey }))
        .send(encode({ grant_type: "client_credentials", ...sent }));
      expect([path, answer.status, refusal(answer)]).toEqual([path, 401, "invalid_client"]);
      expect(host.events.findLast(({ kind }) => kind === "client-authentication-failed")).toMatchObject({
        code: "client-without-key",
      });
    }
  });

  it.each<[string, AssertionChanges, string]>([
    ["whose aud is a list with the issuer", { claims: { aud: [issuer] } }, "assertion-aud-in-list"],
    ["whose aud is the endpoint", { claims: { aud: `${issuer}/par` } }, "assertion-aud-token-endpoint"],
    ["signed with RS256 (§5.4)", { alg: "RS256" }, "assertion-alg-outside-profile"],
  ])("refuses an assertion %s, whatever the client's record says (§5.3.2.1)", async (_, assertion, code) => {
    const host = fapiHost({}, { clients: [{ ...bank, allowTokenEndpointAudience: true }] });
    expect(refusal(await push(host, { assertion }))).toBe("invalid_client");
    expect(host.events.findLast(({ kind }) => kind === "client-authentication-failed")).toMatchObject({
      code,
    });
    expect((await push(host, { assertion: { alg: "PS256" } })).status).toBe(201);
  });

  it("refuses a request that is not pushed (§5.3.2.2)", async () => {
    const host = fapiHost();
    expect(outcomeOf(await host.browser().get(`${pairPath()}/authorize`, asked))).toBe("invalid_request");
    expect(lastCode(host)).toBe("request-not-pushed");
  });

  it.each<[string, Fields, string]>([
    [
      "without PKCE",
      { code_challenge: undefined, code_challenge_method: undefined },
      "code-challenge-missing",
    ],
    ["without redirect_uri", { redirect_uri: undefined }, "redirect-uri-left-out"],
  ])("refuses a request %s (§5.3.2.2)", async (_, fields, code) => {
    const host = fapiHost();
    expect(refusal(await push(host, { fields }))).toBe("invalid_request");
    expect(lastCode(host)).toBe(code);
  });

  it("refuses a redirect URI that is not https, also on loopback (§5.3.2.2)", async () => {
    const local = "http://127.0.0.1/callback";
    const host = fapiHost({}, { clients: [{ ...bank, redirectUris: [local] }] });
    expect(refusal(await push(host, { fields: { redirect_uri: local } }))).toBe("invalid_request");
    expect(lastCode(host)).toBe("redirect-uri-not-https");
  });

  it("issues no token without a key (§5.3.2.1)", async () => {
    expect(refusal(await redeem(fapiHost(), {}))).toBe("invalid_dpop_proof");
  });

  it("names nothing else in its metadata", async () => {
    const { body } = await fapiHost().browser().get(`${pairPath()}/.well-known/oauth-authorization-server`);
    expect(body).toMatchObject({
      require_pushed_authorization_requests: true,
      token_endpoint_auth_methods_supported: ["private_key_jwt"],
      introspection_endpoint_auth_methods_supported: ["private_key_jwt"],
      token_endpoint_auth_signing_alg_values_supported: ["ES256", "PS256", "EdDSA", "Ed25519"],
      dpop_signing_alg_values_supported: expect.arrayContaining(["ES256"]) as unknown,
    });
  });

  it("leaves the other APIs as they are", async () => {
    const host = fapiHost();
    const sent = { grant_type: "client_credentials", client_id: "web", client_secret: webSecret.secret };
    const answer = await request(host.app)
      .post(`${pairPath({ api: "files" })}/token`)
      .type("form")
      .send(encode(sent));
    expect(answer.status).toBe(200);
  });
});

describe("refresh tokens that stay (FAPI 2.0 Security Profile §5.3.2.1)", () => {
  it("are the same after each use, twice at once too, and nobody is taken for a thief", async () => {
    const host = fapiHost();
    const { refresh_token: token } = (await redeem(host)).body as { refresh_token: string };
    const answers = await Promise.all([refresh(host, token), refresh(host, token), refresh(host, token)]);
    for (const { status, body } of answers)
      expect([status, (body as { refresh_token: string }).refresh_token]).toEqual([200, token]);
    const kinds = host.events.map(({ kind }) => kind);
    expect([
      kinds.filter((kind) => kind === "token-refreshed").length,
      kinds.includes("replay-detected"),
    ]).toEqual([3, false]);
  });

  it("live as long as the authorization, unused or not, and end with it", async () => {
    const host = fapiHost({}, { lifetimes: { refreshTokenIdleSeconds: 60, refreshTokenSeconds: 600 } });
    const { refresh_token: token } = (await redeem(host)).body as { refresh_token: string };
    clock.advance(599);
    expect((await refresh(host, token)).status).toBe(200);
    clock.advance(1);
    expect(refusal(await refresh(host, token))).toBe("invalid_grant");
  });

  it("note their use, and end when they are revoked", async () => {
    const host = fapiHost();
    const { refresh_token: token } = (await redeem(host)).body as { refresh_token: string };
    clock.advance(100);
    await refresh(host, token);
    const { authorizations } = await host.auth.authorizations.list("alice");
    expect(authorizations[0]?.lastUsedAt).toBe(clock.now());
    await host.auth.authorizations.revoke({
      subject: "alice",
      authorizationId: authorizations[0]?.authorizationId ?? "",
    });
    expect(refusal(await refresh(host, token))).toBe("invalid_grant");
  });

  it("are worth nothing without the client's key", async () => {
    const host = fapiHost();
    const { refresh_token: token } = (await redeem(host)).body as { refresh_token: string };
    const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const fields = { grant_type: "refresh_token", refresh_token: token };
    expect(refusal(await post(host, "token", { assertion: { key }, proof: tokenProof(), fields }))).toBe(
      "invalid_client",
    );
  });

  it("that were rotated before the profile was on are replays", async () => {
    const orders = { ...(apis["orders"] as Api), dpop: {}, pushedRequests: "optional" as const };
    const before = testHost({ apis: { ...apis, orders }, clients: [bank] });
    const { refresh_token: first } = (await redeem(before)).body as { refresh_token: string };
    await refresh(before, first);
    const host = fapiHost({}, { storage: before.storage });
    expect(refusal(await refresh(host, first))).toBe("invalid_grant");
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(true);
  });
});

describe('options that contradict profile: "fapi2" are refused, and both are named', () => {
  const vouching = {
    ...goodOptions.authMethods["password"],
    identityAssertions: {
      issuers: { "https://idp.example": { jwksUri: "https://idp.example/keys" } },
      accept: jest.fn(),
    },
  };

  it.each<[string, object, object?]>([
    ["pushedRequests", { pushedRequests: "optional" }],
    ["redirectUri", { redirectUri: "optional" }],
    ["dpop.tokens", { dpop: { tokens: "optional" } }],
    ["clientMetadataDocuments", { clientMetadataDocuments: { accept: () => ({ kind: "refused" }) } }],
    ["clientRegistration", { clientRegistration: { approve: () => ({ kind: "refused" }) } }],
    ["lifetimes.authorizationCodeSeconds", { lifetimes: { authorizationCodeSeconds: 61 } }],
    ["authMethods", {}, { authMethods: { password: vouching } }],
    ["lifetimes.authorizationCodeSeconds", {}, { lifetimes: { authorizationCodeSeconds: 61 } }],
    ["lifetimes.refreshRetrySeconds", { lifetimes: { refreshRetrySeconds: 1 } }],
    ["openid.idTokenAlgorithm", { openid: { claims: () => ({}), idTokenAlgorithm: "RS256" } }],
  ])("%s", (name, api, options = {}) => {
    expect(started(api, options)).toThrow(
      expect.objectContaining({
        code: "contradicts-profile",
        message: expect.stringMatching(
          new RegExp(
            `apis\\.orders\\.${name.replace(".", "\\.")} contradicts apis\\.orders\\.profile, which is "fapi2"`,
          ),
        ) as string,
      }),
    );
  });

  it("signingKeys whose active key is RS256 or ES384; an old one that verifies may stay (§5.4.1)", () => {
    const good = goodOptions.signingKeys?.[0];
    const { privateKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { privateKey: p384 } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    for (const key of [rsa, p384])
      expect(started({}, { signingKeys: [key] })).toThrow(
        expect.objectContaining({ code: "signing-key-outside-profile" }),
      );
    const scheduled = { key: rsa, signsFrom: 4_000_000_000 };
    expect(started({}, { signingKeys: [good, scheduled] })).toThrow(/RS256/);
    expect(started({}, { signingKeys: [good, rsa] })).not.toThrow();
    const auth = started({})() as ReturnType<typeof createAuthServer>;
    expect(() => auth.rotateKeys([rsa])).toThrow(/profile/);
  });

  it("no other host notices them", () => {
    expect(started({ profile: "fapi1" })).toThrow(/apis\.orders\.profile/);
    expect(origin).toContain("https://");
  });
});
