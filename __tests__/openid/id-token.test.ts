import { issuer } from "../hosts/apis";
import { obtainTokens, type Tokens } from "../browser/journey";
import { stopClockForEachTest } from "../hosts/clock";
import { provider, type ProviderOptions, readIdToken } from "./provider";

const clock = stopClockForEachTest();

type IdTokens = Tokens & { readonly id_token?: string };

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
});
