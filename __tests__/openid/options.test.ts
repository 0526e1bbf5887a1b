import type { ApiOptions } from "../../lib";
import { provider } from "./provider";

describe("the option openid (OpenID Connect Core §5.4)", () => {
  it.each<[string, { api?: Partial<ApiOptions>; openid?: object }, string, string]>([
    ["without claims", { openid: { claims: undefined } }, "apis.orders.openid.claims", "option-missing"],
    [
      "with claims that are no function",
      { openid: { claims: {} } },
      "apis.orders.openid.claims",
      "option-not-a-function",
    ],
    ["with a misspelt key", { openid: { scope: {} } }, "apis.orders.openid.scope", "option-unknown"],
    [
      "with an unknown algorithm",
      { openid: { idTokenAlgorithm: "none" } },
      "apis.orders.openid.idTokenAlgorithm",
      "option-of-wrong-form",
    ],
    [
      "with a scope of its own without a sentence",
      { openid: { scopes: { roles: ["roles"] } } },
      "apis.orders.openid.scopes.roles",
      "identity-scope-without-text",
    ],
    [
      "with other claims for email",
      { openid: { scopes: { email: ["mail"] } } },
      "apis.orders.openid.scopes.email",
      "standard-identity-scope",
    ],
    [
      "with a claim of the server",
      { openid: { scopes: { groups: ["sub"] } } },
      "apis.orders.openid.scopes.groups",
      "reserved-identity-claim",
    ],
    [
      "beside an optional redirect URI",
      { api: { redirectUri: "optional" } },
      "apis.orders.redirectUri",
      "redirect-uri-optional-with-openid",
    ],
    [
      "beside a default that tells of people",
      { api: { defaultScopes: ["groups"] } },
      "apis.orders.defaultScopes",
      "default-identity-scope",
    ],
  ])("is refused %s", (_, changes, path, code) => {
    expect(() => provider(changes as object)).toThrow(
      expect.objectContaining({
        code,
        message: expect.stringContaining(`createAuthServer: ${path} `) as string,
      }) as Error,
    );
  });

  it("lets a host write its own sentence for a standard scope", () => {
    const scopes = {
      "orders:read": "x",
      "orders:write": "y",
      groups: "z",
      email: { text: "Read your address" },
    };
    expect(() => provider({ api: { scopes } })).not.toThrow();
  });
});
