// What a client id metadata document makes of a client (draft-ietf-oauth-client-id-metadata-document §4, RFC 7591 §2).
import { generateKeyPairSync } from "node:crypto";
import { readClientName } from "../lib/clients/self-description";
import { clientOfDocument, type DocumentRules } from "../lib/strangers/metadata-document";
import type { Client } from "../lib";

const clientId = "https://app.example/oauth/client.json";
const jwks = {
  keys: [generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })],
};

const good = {
  client_id: clientId,
  client_name: "App",
  redirect_uris: ["https://app.example/callback", "http://127.0.0.1/callback", "com.example.app:/callback"],
  grant_types: ["authorization_code", "refresh_token"],
};

interface Made {
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly decision?: Omit<DocumentRules["decision"], "kind">;
  readonly rules?: Partial<DocumentRules>;
}

function rulesOf({ decision = {}, rules = {} }: Omit<Made, "changes"> = {}): DocumentRules {
  return {
    clientId,
    apiId: "orders",
    decision: { kind: "accepted", ...decision },
    browserOrigins: [],
    reserved: ["https://host.example"],
    redirectSchemes: [],
    ...rules,
  };
}

function made({ changes = {}, ...rules }: Made = {}): Client | { readonly problem: string } {
  return clientOfDocument({ ...good, ...changes }, rulesOf(rules));
}

function digestOf(changes: Readonly<Record<string, unknown>>): string | undefined {
  const client = made({ changes });
  return "problem" in client ? undefined : client.selfDescription?.digest;
}

describe("a metadata document (§4)", () => {
  it("describes a native client of one API", () => {
    expect(made()).toEqual({
      clientId,
      name: "App",
      confidential: false,
      platform: "native",
      redirectUris: good.redirect_uris,
      subscriptions: { orders: { grantTypes: ["authorization_code", "refresh_token"] } },
      selfDescription: { by: "document", digest: expect.stringMatching(/^[\w-]{43}$/) as string },
    });
  });

  it.each([
    "application_type",
    "client_name",
    "client_secret",
    "client_secret_expires_at",
    "client_uri",
    "grant_types",
    "jwks",
    "jwks_uri",
    "policy_uri",
    "response_types",
    "scope",
    "token_endpoint_auth_method",
    "token_endpoint_auth_methods_supported",
  ])("is the same with %s null as without it", (name) => {
    const { [name]: _, ...without } = good as Record<string, unknown>;
    const [withNull, left] = [{ ...without, [name]: null }, without].map((document) =>
      clientOfDocument(document, rulesOf()),
    );
    expect(withNull).toEqual(left);
    expect(withNull).toMatchObject({ platform: "native" });
  });

  it("takes a key with null for what a public key does not have", () => {
    const [key = {}] = jwks.keys;
    const nulls = { d: null, use: null, key_ops: null, alg: null, kid: null };
    expect(made({ changes: { jwks: { keys: [{ ...key, ...nulls }] }, jwks_uri: null } })).toMatchObject({
      confidential: true,
    });
  });

  it.each([
    [true, { dpopBound: true }],
    [false, {}],
    ["true", {}],
    [null, {}],
  ])("says whether the client has its tokens bound to a key: %j (RFC 9449 §5.2)", (value, bound) => {
    const client = made({ changes: { dpop_bound_access_tokens: value } });
    expect(client).toEqual({ ...made(), ...bound });
  });

  it.each([
    ["no object", null],
    ["a list", [good]],
    ["a text", JSON.stringify(good)],
  ])("is refused when it is %s", (_, document) => {
    expect(clientOfDocument(document, rulesOf())).toEqual({ problem: "document-not-an-object" });
  });

  it.each([
    [
      "another client_id",
      { client_id: "https://app.example/oauth/other.json" },
      "document-of-another-client",
    ],
    ["another case of the client_id", { client_id: clientId.toUpperCase() }, "document-of-another-client"],
    ["no client_id", { client_id: undefined }, "document-of-another-client"],
    ["a client secret", { client_secret: "s3cret" }, "document-with-secret"],
    ["a secret that never expires", { client_secret_expires_at: 0 }, "document-with-secret"],
    [
      "a method with a shared secret",
      { token_endpoint_auth_method: "client_secret_basic" },
      "document-auth-method-unknown",
    ],
    ["a method that is no text", { token_endpoint_auth_method: ["none"] }, "document-auth-method-unknown"],
    ["no redirect_uris", { redirect_uris: undefined }, "document-redirects-malformed"],
    ["empty redirect_uris", { redirect_uris: [] }, "document-redirects-malformed"],
    [
      "21 redirect_uris",
      { redirect_uris: Array(21).fill("https://app.example/cb") },
      "document-redirects-malformed",
    ],
    ["a redirect URI that is no text", { redirect_uris: [{}] }, "document-redirects-malformed"],
    [
      "only redirects of another origin",
      { redirect_uris: ["https://evil.example/"] },
      "document-without-redirect",
    ],
    ["only javascript:", { redirect_uris: ["javascript:alert(1)"] }, "document-without-redirect"],
    ["response types without code", { response_types: ["token"] }, "document-without-code"],
    ["a response type that is no list", { response_types: "code" }, "document-without-code"],
    [
      "a key method without a key",
      { token_endpoint_auth_method: "private_key_jwt" },
      "document-without-keys",
    ],
    ["two places for its keys", { jwks, jwks_uri: "https://app.example/jwks" }, "document-with-two-key-sets"],
    ["keys by http", { jwks_uri: "http://app.example/jwks" }, "document-unusable"],
    ["keys at a port", { jwks_uri: "https://app.example:8443/jwks" }, "document-unusable"],
  ])("is refused with %s", (_, changes, problem) => {
    expect(made({ changes })).toEqual({ problem: problem });
  });

  it.each([
    ["20 redirect_uris", { redirect_uris: Array(20).fill("https://app.example/cb") }],
    ["code among the response types", { response_types: ["token", "code"] }],
  ])("may have %s", (_, changes) => {
    expect(made({ changes })).not.toHaveProperty("problem");
  });

  it("may list redirect URIs that are for other servers: they are left out", () => {
    const redirect_uris = ["https://evil.example/", "custom://x", "https://app.example/callback"];
    expect(made({ changes: { redirect_uris } })).toMatchObject({
      redirectUris: ["https://app.example/callback"],
    });
  });

  it("leads to another origin, or to a scheme without a dot, only where the host says so", () => {
    const redirect_uris = ["https://other.example/", "cursor://callback"];
    const decision = { redirectOrigins: ["https://other.example"] };
    const rules = { redirectSchemes: ["cursor"] };
    expect(made({ changes: { redirect_uris }, decision, rules })).toMatchObject({
      redirectUris: redirect_uris,
    });
  });

  it.each([
    ["a sister", "https://www.app.example/"],
    ["another port", "https://app.example:8443/"],
    ["a user name that looks like the host", "https://app.example@evil.example/"],
    ["the host in a longer one", "https://app.example.evil.example/"],
    ["another site whose scheme is in capital letters", "HTTPS://evil.example/"],
  ])("has no redirect to %s of its origin", (_, uri) => {
    expect(made({ changes: { redirect_uris: [uri] } })).toHaveProperty("problem");
  });

  it("is never trusted, whatever it says", () => {
    const changes = { trusted: true, subscriptions: { admin: {} }, secretDigests: [], platform: "browser" };
    expect(made({ changes })).toEqual(made());
  });

  it("shows links only by https, and no logo", () => {
    const changes = {
      client_uri: "https://app.example/",
      policy_uri: "javascript:alert(1)",
      tos_uri: 7,
      logo_uri: "https://app.example/logo.png",
    };
    const client = made({ changes });
    expect(client).toMatchObject({ clientUri: "https://app.example/" });
    for (const name of ["policyUri", "tosUri", "logo"]) expect(client).not.toHaveProperty(name);
  });

  it("shows its home page, its policy and its terms", () => {
    const [clientUri, policyUri, tosUri] = ["", "policy", "terms"].map(
      (path) => `https://app.example/${path}`,
    );
    const changes = { client_uri: clientUri, policy_uri: policyUri, tos_uri: tosUri };
    expect(made({ changes })).toMatchObject({ clientUri, policyUri, tosUri });
  });

  it("has the name of its host if it has none", () => {
    expect(made({ changes: { client_name: undefined } })).toMatchObject({ name: "app.example" });
  });

  it.each([
    ["none at all", undefined, ["authorization_code"]],
    ["unknown ones", ["urn:x", "authorization_code"], ["authorization_code"]],
    ["its own token", ["client_credentials", "authorization_code"], ["authorization_code"]],
    ["no code", ["refresh_token"], ["refresh_token"]],
    ["nonsense", "authorization_code", []],
  ])("may use only these grants when it names %s", (_, grant_types, grantTypes) => {
    expect(made({ changes: { grant_types } })).toMatchObject({ subscriptions: { orders: { grantTypes } } });
  });
});

describe("how such a client authenticates (§4.1)", () => {
  const key = { token_endpoint_auth_method: "private_key_jwt", jwks };

  it("is confidential by its key", () => {
    expect(made({ changes: key })).toMatchObject({ confidential: true, jwks });
    const jwks_uri = "https://app.example/jwks";
    const remote = made({ changes: { token_endpoint_auth_method: "private_key_jwt", jwks_uri } });
    expect(remote).toMatchObject({ confidential: true, jwksUri: jwks_uri });
  });

  it.each([
    ["says none", { jwks, token_endpoint_auth_method: "none" }],
    ["says nothing", { jwks }],
    ["lists none beside it", { ...key, token_endpoint_auth_methods_supported: ["private_key_jwt", "none"] }],
  ])("must use its key if it has one, even if it %s, unless the host allows none", (_, changes) => {
    expect(made({ changes })).toMatchObject({ confidential: true });
    const decision = { clientAuthentication: "none" } as const;
    expect(made({ changes, decision })).toMatchObject({ confidential: false, platform: "native" });
  });

  it("must use its key if it says only that, whatever the host allows", () => {
    const decision = { clientAuthentication: "none" } as const;
    expect(made({ changes: key, decision })).toMatchObject({ confidential: true });
  });

  it("accepts the token endpoint as audience only where the host says so", () => {
    expect(made({ changes: { ...key, allowTokenEndpointAudience: true } })).not.toHaveProperty(
      "allowTokenEndpointAudience",
    );
    const decision = { allowTokenEndpointAudience: true };
    expect(made({ changes: key, decision })).toMatchObject({ allowTokenEndpointAudience: true });
  });
});

describe("a client whose answers go to web pages that the host lists", () => {
  const page = "https://app.example/callback";

  it.each([
    ["browser", "all its pages are listed", [page], ["https://app.example"]],
    ["native", "one is not", [page, "http://127.0.0.1/callback"], ["https://app.example"]],
    ["native", "none is", [page], ["https://other.example"]],
  ])("is a %s client when %s", (platform, _, redirect_uris, browserOrigins) => {
    expect(made({ changes: { redirect_uris }, rules: { browserOrigins } })).toMatchObject({ platform });
  });

  it.each([[[]], [["https://app.example"]]])("has no platform if it proves itself: %j", (browserOrigins) => {
    const client = made({ changes: { redirect_uris: [page], jwks }, rules: { browserOrigins } });
    expect(client).toMatchObject({ confidential: true });
    expect(client).not.toHaveProperty("platform");
  });
});

describe("what a remembered consent is bound to (§8)", () => {
  it.each([
    ["redirect URIs", { redirect_uris: ["https://app.example/callback"] }],
    ["client authentication", { token_endpoint_auth_method: "private_key_jwt", jwks }],
  ])("changes with the %s", (_, changes) => {
    expect(digestOf(changes)).not.toBe(digestOf({}));
  });

  it("changes with the place of the keys", () => {
    const [one, other] = ["https://app.example/a", "https://app.example/b"];
    expect(digestOf({ jwks_uri: one })).not.toBe(digestOf({ jwks_uri: other }));
  });

  it("does not change with the name, a link, or the order of redirect URIs", () => {
    const redirect_uris = good.redirect_uris.toReversed();
    expect(digestOf({ client_name: "Other", client_uri: "https://app.example/", redirect_uris })).toBe(
      digestOf({}),
    );
  });
});

describe("the name that a client gives itself (RFC 7591 §2)", () => {
  it.each([
    ["a good one", "Café 咖啡 🙂", "Café 咖啡 🙂"],
    ["control characters", "A\u0000B\nC", "ABC"],
    ["a change of direction", "gro.knab\u202e\u2066x", "gro.knabx"],
    ["characters without width", "B\u200bank\ufeff", "Bank"],
    ["letters that nobody sees", "Ba\u3164n\u2800k", "Bank"],
    ["many spaces", "  A \u00a0  B ", "A B"],
    ["a very long one", "x".repeat(10_000), "x".repeat(100)],
    ["pairs at the end", "🙂".repeat(101), "🙂".repeat(100)],
    ["half a pair", "A\ud800", "A"],
  ])("is shown without what could hide something: %s", (_, sent, shown) => {
    expect(readClientName(sent)).toBe(shown);
  });

  it("has at most four marks on a letter, which would otherwise be drawn over the lines around it", () => {
    const tower = `A${"\u0316\u0310".repeat(40)}cme`;
    expect(readClientName(tower)?.normalize("NFD").replaceAll(/\P{M}/gu, "")).toHaveLength(4);
    expect(readClientName("ก็ที่ नमस्ते Việt")).toBe("ก็ที่ नमस्ते Việt");
  });

  it.each([undefined, null, 7, "", "   ", "\u200b", {}, ["App"]])("is none: %p", (sent) => {
    expect(readClientName(sent)).toBeUndefined();
  });
});
