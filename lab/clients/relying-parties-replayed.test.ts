/**
 * Relying parties that cannot run here. What they send, and what they want in the answers, is taken from their documentation or source, which
 * each test names. None of it was ever run by the product itself.
 */
import { createHash, createPublicKey, type JsonWebKey } from "node:crypto";
import path from "node:path";
import jwt from "jsonwebtoken";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import type { IdentityClaims } from "../../lib";
import { goThrough, type LibraryHost, startLibraryHost } from "./library-host";
import { type LibraryProgram, startLibraryProgram } from "./library-process";

type Fields = Readonly<Record<string, string>>;

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
}

const callbacks = {
  alb: "https://app.example.com/oauth2/idpresponse",
  cognito: "https://pool.auth.eu-west-1.amazoncognito.com/oauth2/idpresponse",
  cloudflare: "https://team.cloudflareaccess.com/cdn-cgi/access/callback",
  gitlab: "https://gitlab.example.com/users/auth/openid_connect/callback",
  grafana: "https://grafana.example.com/login/generic_oauth",
} as const;

const alice = { name: "Alice Adams", email: "alice@example.org", email_verified: true };
let claims: IdentityClaims = { ...alice, groups: ["staff", "oncall"] };
let host: LibraryHost;

beforeAll(async () => {
  const openid = { claims: () => claims, scopes: { groups: ["groups"] } };
  host = await startLibraryHost(Object.values(callbacks), openid);
});
afterAll(() => host.close());

/** The endpoints, as an administrator copies them. */
const at = (name: string): string => `${host.issuer}/${name}`;

const pkce = { code_challenge: codeChallenge, code_challenge_method: "S256" };

/** Alice is led to the server and comes back with what it answers. */
async function comeBack(fields: Fields & { redirect_uri: string }): Promise<URLSearchParams> {
  const query = new URLSearchParams({ client_id: "web", response_type: "code", ...fields });
  const { url } = await goThrough(host.browser(), `${at("authorize")}?${query}`, fields.redirect_uri);
  expect(url.href).toMatch(`${new URL(fields.redirect_uri).href}?`);
  expect(url.searchParams.get("state")).toBe(fields["state"] ?? null);
  return url.searchParams;
}

const basic = (id: string, secret: string): Fields => ({
  authorization: `Basic ${Buffer.from([id, secret].map(encodeURIComponent).join(":")).toString("base64")}`,
});
const clientSecret = (): string => host.env["CLIENT_SECRET"] ?? "";

/** Where a client shows who it is. */
interface Proof {
  readonly headers: Fields;
  readonly fields: Fields;
}

const inHeader = (): Proof => ({ headers: basic("web", clientSecret()), fields: {} });
const inBody = (): Proof => ({ headers: {}, fields: { client_id: "web", client_secret: clientSecret() } });

async function askTokens(fields: Fields, proof: Proof = inHeader()): Promise<Response> {
  const body = new URLSearchParams({ ...fields, ...proof.fields });
  return host.fetch(at("token"), { method: "POST", headers: proof.headers, body });
}

async function tokensOf(fields: Fields, proof?: Proof): Promise<Tokens> {
  const response = await askTokens(fields, proof);
  expect(response.status).toBe(200);
  return (await response.json()) as Tokens;
}

const redeem = (code: string | null, more: Fields, proof?: Proof): Promise<Tokens> =>
  tokensOf({ grant_type: "authorization_code", code: code ?? "", ...more }, proof);

const refresh = ({ refresh_token }: Tokens, proof?: Proof): Promise<Tokens> =>
  tokensOf({ grant_type: "refresh_token", refresh_token }, proof);

async function userinfo({ access_token }: Tokens, init: RequestInit = {}): Promise<unknown> {
  const headers = { authorization: `Bearer ${access_token}` };
  const response = await host.fetch(at("userinfo"), { ...init, headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^application\/json\b/);
  return response.json();
}

async function getJson<T>(url: string): Promise<T> {
  const response = await host.fetch(url);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** The claims of an ID token, by the key that it names. Throws where the algorithm, issuer, audience, time, nonce or signature is another. */
async function verified(
  idToken: string,
  checks: { readonly keysUrl: string; readonly algorithms: jwt.Algorithm[]; readonly nonce?: string },
): Promise<jwt.JwtPayload> {
  const { keysUrl, ...others } = checks;
  const kid = jwt.decode(idToken, { complete: true })?.header.kid;
  expect(kid).toEqual(expect.any(String));
  const { keys } = await getJson<{ keys: readonly (JsonWebKey & { kid?: string })[] }>(keysUrl);
  const key = keys.find((each) => each.kid === kid);
  const publicKey = createPublicKey({ key: key as JsonWebKey, format: "jwk" });
  return jwt.verify(idToken, publicKey, {
    issuer: host.issuer,
    audience: "web",
    ...others,
  }) as jwt.JwtPayload;
}

const keysUrl = (): string => host.env["KEYS_URL"] ?? "";

/**
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-authenticate-users.html and its
 * API_AuthenticateOidcActionConfig: three endpoints by hand, a client secret, no PKCE. How the secret is sent is not said, so both ways are
 * tried. Never run by a load balancer: the length of its `state` is a guess, and the page wants public DNS and a public certificate.
 */
describe("AWS Application Load Balancer, authenticate-oidc (replayed)", () => {
  const state = "s".repeat(1500);

  it.each([
    ["Basic", inHeader],
    ["the body", inBody],
  ])(
    "gets ID token, claims from userinfo, and both again by a refresh, with its secret in %s",
    async (_, proof) => {
      const redirect_uri = callbacks.alb;
      // AuthenticationRequestExtraParams of the page's example
      const answer = await comeBack({ redirect_uri, scope: "openid email", state, display: "page" });
      const tokens = await redeem(answer.get("code"), { redirect_uri }, proof());
      expect(await verified(tokens.id_token, { keysUrl: keysUrl(), algorithms: ["RS256"] })).toBeTruthy();
      const found = await userinfo(tokens);
      expect(found).toEqual({ sub: "alice", email: alice.email, email_verified: true });
      // more than 11K of claims and access token is an error there
      expect(JSON.stringify(found).length + tokens.access_token.length).toBeLessThan(11_000);
      expect(await userinfo(await refresh(tokens, proof()))).toEqual(found);
    },
  );

  it("drops the session when a refresh fails, after an end of what she allowed", async () => {
    const redirect_uri = callbacks.alb;
    const answer = await comeBack({ redirect_uri, scope: "openid", state });
    const tokens = await redeem(answer.get("code"), { redirect_uri });
    await host.auth.subjects.revoke("alice");
    const fields = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    const refused = await askTokens(fields);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: "invalid_grant" }]);
  });
});

/**
 * https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-oidc-idp.html: discovery, `client_secret_post` alone, userinfo
 * by GET or POST as `attributes_request_method` says, `kid` in tokens and keys. Never run by a user pool. It accepts the ports 80 and 443 only,
 * which a test cannot have, and how POST brings the token is not said: in the header is what Core §5.3.1 recommends.
 */
describe("Amazon Cognito user pool, OIDC identity provider (replayed)", () => {
  it("fills its endpoints in from the issuer, all of them https", async () => {
    expect(host.issuer).toMatch(/^https:\/\/.*[^/]$/);
    const document = await getJson<Fields>(`${host.issuer}/.well-known/openid-configuration`);
    const names = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"];
    for (const name of names) expect(document[name]).toMatch(/^https:/);
  });

  it.each(["GET", "POST"])("maps the attributes that userinfo gives it by %s", async (method) => {
    const redirect_uri = callbacks.cognito;
    const answer = await comeBack({ redirect_uri, scope: "openid email profile", state: "H4sIAAAA" });
    const tokens = await redeem(answer.get("code"), { redirect_uri }, inBody());
    const said = await verified(tokens.id_token, { keysUrl: keysUrl(), algorithms: ["RS256", "ES256"] });
    expect(said["sub"]).toBe("alice");
    expect(await userinfo(tokens, { method })).toEqual({ sub: "alice", ...alice });
  });
});

/**
 * https://developers.cloudflare.com/cloudflare-one/identity/idp-integration/generic-oidc/: auth, token and certificate URL by hand, PKCE if it is
 * switched on, one of six algorithms, `email` in the ID token; userinfo is not mentioned. Never run by Access; how its secret is sent is not
 * said.
 */
describe("Cloudflare Access, generic OIDC (replayed)", () => {
  it.each([
    ["without PKCE, its secret in the body", {}, {}, inBody],
    ["with PKCE, its secret in Basic", pkce, { code_verifier: codeVerifier }, inHeader],
  ])("finds e-mail and groups in the ID token, %s", async (_, asked, shown, proof) => {
    const redirect_uri = callbacks.cloudflare;
    const scope = "openid email profile groups";
    const answer = await comeBack({ redirect_uri, scope, state: "a state", ...asked });
    const tokens = await redeem(answer.get("code"), { redirect_uri, ...shown }, proof());
    const algorithms: jwt.Algorithm[] = ["RS512", "RS256", "PS512", "ES256", "ES384", "ES512"];
    const said = await verified(tokens.id_token, { keysUrl: keysUrl(), algorithms });
    expect(said).toMatchObject({ ...alice, groups: ["staff", "oncall"] });
  });
});

/**
 * https://docs.gitlab.com/administration/auth/oidc/ and what it is made of: omniauth/omniauth_openid_connect (lib/omniauth/strategies/openid_connect.rb
 * @ 00dd96b1), `openid_connect` and nov/rack-oauth2 (lib/rack/oauth2/client.rb @ b5f55ef3, where a `client_auth_method` without a case of its own, as
 * the "query" of that page, is the body). `send_scope_to_token_endpoint: "false"` of the page is a text, which is true in Ruby. Never run by GitLab.
 */
describe("GitLab, OmniAuth openid_connect (replayed)", () => {
  it("finds what its discovery requires", async () => {
    const document = await getJson<Fields>(`${host.issuer}/.well-known/openid-configuration`);
    expect(document).toMatchObject({
      issuer: host.issuer,
      authorization_endpoint: at("authorize"),
      jwks_uri: keysUrl(),
      response_types_supported: expect.arrayContaining(["code"]) as unknown,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    });
  });

  it.each([
    ['"query", which is the body', {}, {}, inBody],
    ['"basic", with pkce: true', pkce, { code_verifier: codeVerifier }, inHeader],
  ])("verifies the ID token with its nonce, and asks userinfo, by %s", async (_, asked, shown, proof) => {
    const redirect_uri = callbacks.gitlab;
    const [state, nonce] = ["0".repeat(32), "f".repeat(32)];
    const scope = "openid profile email";
    const answer = await comeBack({ redirect_uri, scope, state, nonce, ...asked });
    const tokens = await redeem(answer.get("code"), { redirect_uri, scope, ...shown }, proof());
    expect(tokens.token_type.toLowerCase()).toBe("bearer");
    const said = await verified(tokens.id_token, { keysUrl: keysUrl(), algorithms: ["RS256"], nonce });
    // uid_field is sub unless told otherwise; the rest comes from userinfo
    const found = await userinfo(tokens);
    expect(found).toEqual({ sub: said["sub"], ...alice });
  });
});

/**
 * https://grafana.com/docs/grafana/latest/setup-grafana/configure-access/configure-authentication/generic-oauth/, and in grafana/grafana
 * pkg/services/authn/clients/oauth.go @ 0109f935 and pkg/login/social/connectors/generic_oauth.go @ 00100d52: fixed URLs; name and e-mail from
 * the ID token, which is not verified, then from `api_url`; below it `/emails` only where both say nothing. golang.org/x/oauth2
 * (internal/token.go @ 03cc33e3) sends Basic first. Never run by Grafana.
 */
describe("Grafana, generic OAuth (replayed)", () => {
  it("finds Alice in the ID token and in userinfo, and refreshes with the scopes that examples of its page have", async () => {
    const redirect_uri = callbacks.grafana;
    const verifier = "v".repeat(128);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const asked = { code_challenge: challenge, code_challenge_method: "S256", state: `${"s".repeat(43)}=` };
    const answer = await comeBack({ redirect_uri, scope: "openid email profile offline_access", ...asked });
    const tokens = await redeem(answer.get("code"), { redirect_uri, code_verifier: verifier });
    for (const found of [jwt.decode(tokens.id_token), await userinfo(tokens)])
      expect(found).toMatchObject({ sub: "alice", name: alice.name, email: alice.email });
    expect(tokens.expires_in).toBeGreaterThan(0);
    expect(await userinfo(await refresh(tokens))).toMatchObject({ sub: "alice" });
  });
});

/**
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens. The rule of the API server is written in
 * relying-parties/kube-apiserver.mjs. `kubectl` gets the token by int128/kubelogin (pkg/oidc/client/client.go @ 00ba6788), which is made of go-oidc
 * and golang.org/x/oauth2. Never run by either.
 */
describe("kube-apiserver, and kubectl with kubelogin (the rule, and replayed)", () => {
  let apiServer: LibraryProgram;
  /** golang.org/x/oauth2 tries Basic first, for a public client with an empty secret. */
  const asGo: Proof = { headers: basic("kubectl", ""), fields: {} };
  const redirect_uri = "http://localhost:8000";
  beforeAll(async () => {
    const file = path.join(__dirname, "relying-parties/kube-apiserver.mjs");
    apiServer = await startLibraryProgram({ file, env: host.env });
  });
  afterAll(() => apiServer.stop());
  afterEach(() => {
    host.bend = undefined;
    claims = { ...alice, groups: ["staff", "oncall"] };
  });

  async function logIn(): Promise<Tokens> {
    const asked = {
      client_id: "kubectl",
      redirect_uri,
      scope: "email groups openid",
      access_type: "offline",
    };
    const answer = await comeBack({ ...asked, ...pkce, state: "a state", nonce: "a nonce" });
    const code = answer.get("code") ?? "";
    return tokensOf(
      { grant_type: "authorization_code", code, redirect_uri, code_verifier: codeVerifier },
      asGo,
    );
  }

  it("knows Alice and her groups, also by the ID token of a refresh", async () => {
    const tokens = await logIn();
    const known = { username: alice.email, groups: ["staff", "oncall"] };
    expect(await apiServer.call("authenticate", tokens.id_token)).toEqual(known);
    const again = await refresh(tokens, asGo);
    expect(again.id_token).not.toBe(tokens.id_token);
    expect(await apiServer.call("authenticate", again.id_token)).toEqual(known);
  });

  it("accepts nobody whose address is not verified", async () => {
    claims = { ...claims, email_verified: false };
    const { id_token: idToken } = await logIn();
    await expect(apiServer.call("authenticate", idToken)).rejects.toThrow("email not verified");
  });

  it.each(["issuer", "audience", "time", "signature"] as const)(
    "accepts no token with another %s",
    async (bend) => {
      host.bend = bend;
      const { id_token: idToken } = await logIn();
      await expect(apiServer.call("authenticate", idToken)).rejects.toThrow(/^JW/);
    },
  );

  it("accepts no access token, which is ES256 and for the API", async () => {
    const { access_token: accessToken } = await logIn();
    await expect(apiServer.call("authenticate", accessToken)).rejects.toThrow(/^JOSEAlgNotAllowed/);
  });
});
