import request, { type Response } from "supertest";
import { issuer, origin, pairPath } from "../hosts/apis";
import { obtainTokens } from "../browser/journey";
import { provider, type ProviderOptions } from "./provider";

const path = `${pairPath()}/userinfo`;

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
});
