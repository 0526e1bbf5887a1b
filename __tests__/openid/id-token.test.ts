import { createPublicKey, sign } from "node:crypto";
import type { RemoteSigner } from "../../lib";
import { issuer } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { authorize, redirectParameters } from "../browser/authorize";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { stopClockForEachTest } from "../hosts/clock";
import { introspect, redeem, refresh } from "../requests/client-requests";
import { accessKey, idKey, provider, type ProviderOptions, readIdToken } from "./provider";

const clock = stopClockForEachTest();

type IdTokens = Tokens & { readonly id_token?: string };

/** A signer outside the process that can fail. */
function failingSigner() {
  let fails = false;
  const publicJwk = createPublicKey(idKey).export({ format: "jwk" }) as Record<string, unknown>;
  const signer: RemoteSigner = {
    alg: "RS256",
    kid: "kms",
    publicJwk,
    async sign(bytes) {
      if (fails) throw new Error("no KMS");
      return sign("sha256", bytes, idKey);
    },
  };
  return { signer, fail: (now: boolean) => void (fails = now) };
}

/** A host that issues every token so. */
function deciding(changes: object): ProviderOptions {
  return { tokens: { decide: () => ({ kind: "issue", ...changes }) } };
}

async function signIn(
  scope: string,
  { fields = {}, ...options }: ProviderOptions & { fields?: Record<string, string> } = {},
): Promise<IdTokens> {
  return obtainTokens(provider(options), { client: "web", fields: { scope, ...fields } });
}

describe("ID token (OpenID Connect Core §2, §3.1.3.3)", () => {
  it("comes with the code exchange, for this client, from this issuer, for as long as the access token", async () => {
    const { id_token, expires_in } = await signIn("openid", { fields: { nonce: "n-1" } });
    const { iat = 0, exp = 0, ...claims } = readIdToken(id_token, { nonce: "n-1" });
    expect(claims).toEqual({
      iss: issuer,
      sub: "alice",
      aud: "web",
      nonce: "n-1",
      auth_time: expect.any(Number) as number,
    });
    expect([iat, exp - iat]).toEqual([clock.now(), expires_in]);
  });

  it("comes only where openid was granted", async () => {
    expect(await signIn("orders:read email")).not.toHaveProperty("id_token");
  });

  it.each<[string, object]>([
    ["openid profile", { name: "Alice Adams", updated_at: 1_700_000_000 }],
    ["openid email", { email: "alice@example.org", email_verified: true }],
    ["openid phone", { phone_number: "+1 555 0100", phone_number_verified: false }],
    ["openid address", { address: { country: "NZ" } }],
    ["openid groups", { groups: ["staff"] }],
    ["openid orders:read", {}],
  ])("has the claims that %s opens, and no others", async (scope, expected) => {
    const claims = Object.entries(readIdToken((await signIn(scope)).id_token));
    const protocol = ["iss", "sub", "aud", "iat", "exp", "auth_time"];
    expect(Object.fromEntries(claims.filter(([name]) => !protocol.includes(name)))).toEqual(expected);
  });

  it("has the nonce of the code exchange only (Core §12.2)", async () => {
    const host = provider();
    const fields = { scope: "openid email", nonce: "n-1" };
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web", fields });
    clock.advance(60);
    const { body } = await refresh(host, { client: "web", refreshToken });
    const claims = readIdToken((body as IdTokens).id_token);
    expect(claims).toMatchObject({ sub: "alice", email: "alice@example.org", iat: clock.now() });
    expect(claims).not.toHaveProperty("nonce");
  });

  it.each(["x".repeat(513), "zoë", "a\nb"])("refuses the nonce %j (Core §3.1.2.1)", async (nonce) => {
    const host = provider();
    const answer = await authorize(host.browser(), { client: "web", fields: { scope: "openid", nonce } });
    expect(redirectParameters(answer)).toMatchObject({ error: "invalid_request" });
    expect(host.events.at(-1)).toMatchObject({ code: "nonce-malformed" });
  });

  it("ignores a nonce where the API has no openid", async () => {
    const host = provider();
    const fields = { scope: "files:read", nonce: "x".repeat(513) };
    const answer = await authorize(host.browser(), { client: "web", pair: { api: "files" }, fields });
    expect(answer.status).toBe(200);
  });

  it("says how and when the person signed in (Core §2), as the access token does", async () => {
    const host = provider();
    host.session = {
      kind: "authenticated",
      subject: "alice",
      authTime: clock.now() - 9,
      acr: "gold",
      amr: ["pwd", "otp"],
    };
    const { id_token }: IdTokens = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid", max_age: "10" },
    });
    expect(readIdToken(id_token)).toMatchObject({
      auth_time: clock.now() - 9,
      acr: "gold",
      amr: ["pwd", "otp"],
    });
  });

  it("is refused to a client whose id is an audience of the server (RFC 9068 §2.2)", async () => {
    const audience = "https://api.example/files";
    const host = provider({ clients: [{ ...clients.web, clientId: audience }] });
    const fields = { scope: "openid", client_id: audience };
    const answer = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(answer)).toMatchObject({ error: "unauthorized_client" });
    expect(host.events.at(-1)).toMatchObject({ code: "client-id-is-audience" });
  });

  it("comes again with a refresh whose answer was lost (decision 0037)", async () => {
    const host = provider({ api: { lifetimes: { refreshRetrySeconds: 10 } } });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid" },
    });
    await refresh(host, { client: "web", refreshToken });
    const { body } = await refresh(host, { client: "web", refreshToken });
    expect(readIdToken((body as IdTokens).id_token)).toMatchObject({ sub: "alice" });
  });

  it("follows what tokens.decide leaves of the scopes", async () => {
    const { id_token } = await signIn(
      "openid email",
      deciding({ scopes: ["openid"], accessTokenSeconds: 60 }),
    );
    const { exp = 0, iat = 0, ...claims } = readIdToken(id_token);
    expect(exp - iat).toBe(60);
    expect(claims).not.toHaveProperty("email");
    expect(await signIn("openid email", deciding({ scopes: ["email"] }))).not.toHaveProperty("id_token");
  });

  it("is no access token: no route of the API takes it (RFC 9068 §4)", async () => {
    const host = provider({ openid: { idTokenAlgorithm: "ES256" } });
    const { id_token = "" }: IdTokens = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid" },
    });
    expect((await callApi(host, "/orders", id_token)).status).toBe(401);
    expect((await introspect(host, { client: "web", token: id_token })).body).toEqual({ active: false });
  });

  it("is signed before anything is spent, also outside the process", async () => {
    const { signer, fail } = failingSigner();
    const host = provider({ signingKeys: [accessKey, { key: signer, for: "id_token" }] });
    const code = await obtainCode(host, { client: "web", fields: { scope: "openid" } });
    fail(true);
    expect((await redeem(host, { client: "web", code })).status).toBe(503);
    fail(false);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});
