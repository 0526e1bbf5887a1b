/**
 * What products send that sign people in with OpenID Connect, and what they read of the answers, as their documentation says it. The products
 * themselves were not run here. OpenID Connect Core §3.1; Discovery §4.
 */
import request from "supertest";
import { issuer, origin, pairPath } from "../hosts/apis";
import { basic, clients, webSecret } from "../hosts/clients";
import { codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { provider, readIdToken } from "./provider";

interface Product {
  readonly name: string;
  /** Where its documentation says so. */
  readonly source: string;
  readonly callback: string;
  readonly scope: string;
  /** What it sends besides; without PKCE all the same. */
  readonly sends?: Readonly<Record<string, string>>;
  readonly proves: "basic" | "body";
  /** Finds the endpoints by the issuer, and needs these members. */
  readonly discovers?: readonly string[];
  readonly reads: "id_token" | "userinfo";
}

const discovery = ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"];
const products: readonly Product[] = [
  {
    name: "AWS Application Load Balancer",
    source:
      "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-authenticate-users.html",
    callback: "https://app.example/oauth2/idpresponse",
    scope: "openid email",
    proves: "basic",
    reads: "userinfo",
  },
  {
    name: "Amazon Cognito",
    source: "https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-oidc-idp.html",
    callback: "https://pool.auth.eu-west-1.amazoncognito.com/oauth2/idpresponse",
    scope: "openid profile email",
    proves: "body",
    discovers: [...discovery, "userinfo_endpoint"],
    reads: "userinfo",
  },
  {
    name: "Cloudflare Access",
    source: "https://developers.cloudflare.com/cloudflare-one/integrations/identity-providers/generic-oidc/",
    callback: "https://team.cloudflareaccess.com/cdn-cgi/access/callback",
    scope: "openid profile email",
    proves: "body",
    reads: "id_token",
  },
  {
    name: "GitLab",
    source: "https://docs.gitlab.com/administration/auth/oidc/",
    callback: "https://gitlab.example/users/auth/openid_connect/callback",
    scope: "openid profile email",
    sends: { nonce: "0123456789abcdef" },
    proves: "basic",
    discovers: [
      ...discovery,
      "response_types_supported",
      "subject_types_supported",
      "id_token_signing_alg_values_supported",
    ],
    reads: "userinfo",
  },
  {
    name: "Grafana",
    source:
      "https://grafana.com/docs/grafana/latest/setup-grafana/configure-access/configure-authentication/generic-oauth/",
    callback: "https://grafana.example/login/generic_oauth",
    scope: "openid profile email",
    proves: "basic",
    reads: "userinfo",
  },
];

describe.each(products)("$name ($source)", ({ callback, scope, sends, proves, discovers, reads }) => {
  const host = provider({ clients: [{ ...clients.web, redirectUris: [callback] }] });

  it("gets who the person is, by what it sends", async () => {
    const browser = host.browser();
    const fields = {
      redirect_uri: callback,
      scope,
      state: "x".repeat(800),
      ...sends,
      code_challenge: "",
      code_challenge_method: "",
    };
    const page = await authorize(browser, { client: "web", fields });
    const { code = "", state } = redirectParameters(
      page.status === 200 ? await browser.answer(page, "approve") : page,
    );
    expect(state).toBe(fields.state);
    const form = { grant_type: "authorization_code", code, redirect_uri: callback };
    const credentials = { client_id: "web", client_secret: webSecret.secret };
    const token = request(host.app).post(`${pairPath()}/token`).type("form");
    if (proves === "basic") token.set("Authorization", basic("web", webSecret.secret));
    const { body } = await token.send(proves === "basic" ? form : { ...form, ...credentials });
    const { access_token, id_token } = body as { access_token: string; id_token: string };
    const claims = readIdToken(id_token, sends?.["nonce"] === undefined ? {} : { nonce: sends["nonce"] });
    const told =
      reads === "id_token"
        ? claims
        : ((await request(host.app).get(`${pairPath()}/userinfo`).auth(access_token, { type: "bearer" }))
            .body as object);
    expect(told).toMatchObject({ sub: "alice", email: "alice@example.org", email_verified: true });
  });

  if (discovers)
    it("finds the members that it needs by the issuer", async () => {
      const { body } = await request(host.app).get(`${pairPath()}/.well-known/openid-configuration`);
      expect(Object.keys(body as object)).toEqual(expect.arrayContaining([...discovers]));
      expect(body).toMatchObject({ issuer, token_endpoint: `${origin}${pairPath()}/token` });
    });
});

describe("kube-apiserver (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens)", () => {
  it("accepts the ID token: RS256, its issuer, its client, an e-mail that is verified, groups as texts", async () => {
    const host = provider();
    const browser = host.browser();
    const page = await authorize(browser, {
      client: "native",
      fields: { scope: "openid email groups", redirect_uri: "https://phone.example/callback" },
    });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const { body } = await request(host.app)
      .post(`${pairPath()}/token`)
      .type("form")
      .send({ grant_type: "authorization_code", client_id: "native", code, code_verifier: codeVerifier });
    const claims = readIdToken((body as { id_token: string }).id_token, { audience: "native" });
    expect(claims).toMatchObject({ email_verified: true, groups: ["staff"] });
    expect(claims["groups"]).toEqual(expect.arrayContaining([expect.any(String)]));
  });
});
