// What a client may say of itself when it registers (RFC 7591 §2, §3.2.2), by direct calls.
import { generateClientKey } from "../../lib/clients/client-key";
import { checkRegistrationMetadata } from "../../lib/strangers/registration-metadata";
import { refusalOf } from "../host/asked";
import { checkedMetadata } from "../records/records";

const { jwks, privateKey } = generateClientKey();
const [key] = jwks.keys;
const rules = {
  redirectSchemes: ["listed"],
  browserOrigins: ["https://page.example"],
  reserved: ["https://host.example"],
  insecureLoopback: false,
  flags: [],
};
const { redirect_uris } = checkedMetadata();
const byKey = { token_endpoint_auth_method: "private_key_jwt" };

/** A web app with these changes. */
function checked(changes: object = {}) {
  return checkRegistrationMetadata({ redirect_uris, ...changes }, rules);
}

/** What is registered of these keys. */
function registered(...keys: readonly object[]) {
  return checked({ ...byKey, jwks: { keys } }).metadata.jwks;
}

/** A URI of that many characters. */
function longUri(length: number): string {
  return "https://app.example/".padEnd(length, "x");
}

async function refused(sent: unknown): Promise<object> {
  return refusalOf((async () => checkRegistrationMetadata(sent, rules))());
}

describe("metadata with nothing but what is required (RFC 7591 §2)", () => {
  it("is that of a web app with a secret", () => {
    const { metadata, platform } = checked();
    expect(metadata).toStrictEqual(checkedMetadata({ sent: { redirect_uris } }));
    expect(platform).toBe("native");
  });

  it("is the same with null, and with what is unknown, malformed or not used for its kind", () => {
    const sent = {
      redirect_uris: [...redirect_uris, ...redirect_uris],
      scope: "  ",
      jwks,
      client_uri: "javascript:alert(1)",
      client_name: " ",
      logo_uri: "https://app.example/logo.png",
      grant_types: null,
      software_statement: null,
      jwks_uri: null,
    };
    expect(checked(sent).metadata).toStrictEqual(checkedMetadata({ sent }));
  });

  it("is frozen, and so are its parts", () => {
    const { metadata } = checked({ ...byKey, jwks });
    for (const each of [metadata, metadata.redirect_uris, metadata.jwks?.keys[0], metadata.sent])
      expect(Object.isFrozen(each)).toBe(true);
  });
});

describe("metadata that is registered (RFC 7591 §2)", () => {
  it.each([
    ["a name", { client_name: "Shop" }],
    ["links", { client_uri: longUri(30), policy_uri: longUri(31), tos_uri: longUri(32) }],
    ["scopes", { scope: "orders:read other" }],
    ["keys", { ...byKey, jwks }],
    ["keys at a URL", { ...byKey, jwks_uri: "https://app.example/jwks" }],
    ["refresh tokens", { grant_types: ["authorization_code", "refresh_token"] }],
    ["a redirect URI of 2000 characters", { redirect_uris: [longUri(2_000)] }],
    [
      "the redirect of an app",
      { token_endpoint_auth_method: "none", redirect_uris: ["com.example.app:/", "listed:/"] },
    ],
  ])("is as it was sent: %s", (_, changes) => {
    expect(checked(changes).metadata).toMatchObject(changes);
  });

  it("may have keys on this machine, where the host allows that for development", () => {
    const jwks_uri = "https://localhost:8443/jwks";
    const made = checkRegistrationMetadata(
      { redirect_uris, ...byKey, jwks_uri },
      { ...rules, insecureLoopback: true },
    );
    expect(made.metadata).toMatchObject({ jwks_uri });
  });

  it.each([
    ["dpopBound", true, { dpop_bound_access_tokens: true }],
    ["dpopBound", "true", {}],
    ["dpopBound", false, {}],
    ["requirePushedRequests", true, { require_pushed_authorization_requests: true }],
    [undefined, true, {}],
  ] as const)(
    "has flags where the API has their option, such as %s, and the client says %j (RFC 9126 §6, 9449 §5.2)",
    (flag, sent, expected) => {
      const [dpop, par] = ["dpop_bound_access_tokens", "require_pushed_authorization_requests"] as const;
      const message = { redirect_uris, [dpop]: sent, [par]: sent };
      const { metadata } = checkRegistrationMetadata(message, { ...rules, flags: flag ? [flag] : [] });
      const { [dpop]: bound, [par]: pushed } = metadata;
      expect(JSON.parse(JSON.stringify({ [dpop]: bound, [par]: pushed }))).toEqual(expected);
    },
  );

  it.each([
    ["browser", "all its redirects go to listed pages", ["https://page.example/"], ["authorization_code"]],
    [
      "native",
      "one does not",
      ["https://page.example/", "http://127.0.0.1/"],
      ["authorization_code", "refresh_token"],
    ],
  ])("makes a %s client without a proof when %s", (platform, _, uris, grant_types) => {
    const changes = { token_endpoint_auth_method: "none", redirect_uris: uris };
    const made = checked({ ...changes, grant_types: ["authorization_code", "refresh_token"] });
    expect(made).toMatchObject({ platform, metadata: { grant_types } });
  });
});

describe("the keys of a registration (RFC 7517 §4)", () => {
  it.each<[string, object]>([
    ["unknown ones", { x5u: "https://app.example/" }],
    ["a list", { kid: ["a"] }],
    ["null", { kid: null }],
    ["a number", { kid: 7 }],
    ["more than 2000 characters", { kid: "k".repeat(2_001) }],
  ])("lose members that are none: %s", (_, members) => {
    expect(registered({ kty: key?.kty, ...members })).toStrictEqual({ keys: [{ kty: "EC" }] });
  });

  it("keep a member of 2000 characters", () => {
    const long = { kty: "EC", kid: "k".repeat(2_000) };
    expect(registered(long)).toStrictEqual({ keys: [long] });
  });
});

describe("metadata that is refused (RFC 7591 §3.2.2)", () => {
  it.each([
    ["null", null],
    ["a text", "{}"],
    ["a number", 7],
    ["a list", []],
  ])("says so when the body is no object: %s", async (_, sent) => {
    expect(await refused(sent)).toMatchObject({
      error: "invalid_client_metadata",
      code: "body-not-an-object",
    });
  });

  it.each<[string, object, string, string?]>([
    [
      "a method that is no text",
      { token_endpoint_auth_method: 7 },
      "field-not-text",
      "token_endpoint_auth_method",
    ],
    [
      "an unknown method",
      { token_endpoint_auth_method: "tls_client_auth" },
      "auth-method-unknown",
      "client_secret_basic, client_secret_post, private_key_jwt, none",
    ],
    ["a scope that is no text", { scope: ["a"] }, "field-not-text", "scope"],
    ["two spaces", { scope: "a  b" }, "scope-not-names"],
    ["a grant that is no list", { grant_types: "authorization_code" }, "field-not-a-list", "grant_types"],
    ["no codes", { grant_types: ["refresh_token"] }, "grant-types-without-code"],
    ["a response type that is no list", { response_types: "code" }, "field-not-a-list", "response_types"],
    ["no code", { response_types: ["token"] }, "response-types-without-code"],
    ["no key set", { jwks: [] }, "jwks-malformed"],
    ["no keys", { jwks: { keys: [] } }, "jwks-malformed"],
    ["eleven keys", { jwks: { keys: Array(11).fill(key) } }, "jwks-malformed"],
    ["a key that is none", { jwks: { keys: [key, 7] } }, "jwks-malformed"],
    ["a key that is null", { jwks: { keys: [null] } }, "jwks-malformed"],
    ["a key without kty", { jwks: { keys: [key, {}] } }, "jwks-key-without-kty"],
    ["a kty that is no text", { jwks: { keys: [{ kty: 7 }] } }, "jwks-key-without-kty"],
    ["a private key", { jwks: { keys: [key, privateKey] } }, "jwks-with-private-key"],
    ["keys twice", { jwks, jwks_uri: longUri(30) }, "jwks-and-jwks-uri"],
    ["the URL of keys that is no text", { jwks_uri: 7 }, "field-not-text", "jwks_uri"],
    ["the URL of keys by http", { ...byKey, jwks_uri: "http://app.example/jwks" }, "jwks-uri-malformed"],
    [
      "the URL of keys with a port",
      { ...byKey, jwks_uri: "https://app.example:8443/jwks" },
      "jwks-uri-malformed",
    ],
    [
      "the URL of keys at an IP address",
      { ...byKey, jwks_uri: "https://192.0.2.1/jwks" },
      "jwks-uri-malformed",
    ],
    [
      "the URL of keys in another form",
      { ...byKey, jwks_uri: "https://App.example/jwks" },
      "jwks-uri-malformed",
    ],
    [
      "the URL of keys on this machine",
      { ...byKey, jwks_uri: "https://localhost/jwks" },
      "jwks-uri-malformed",
    ],
    ["the URL of keys that is too long", { ...byKey, jwks_uri: longUri(2_001) }, "jwks-uri-malformed"],
    ["no keys for its proof", byKey, "private-key-jwt-without-keys"],
  ])("names the member and what to send: %s", async (_, changes, code, named = "") => {
    expect(await refused({ redirect_uris, ...changes })).toMatchObject({
      error: "invalid_client_metadata",
      code,
      description: expect.stringContaining(named),
    });
  });

  it("says that a software statement is not read (§2.3)", async () => {
    expect(await refused({ redirect_uris, software_statement: "a.b.c" })).toMatchObject({
      error: "unapproved_software_statement",
      code: "software-statement",
    });
  });
});

describe("redirect URIs that are refused (RFC 7591 §3.2.2)", () => {
  it.each<[string, unknown, string]>([
    ["none", undefined, "redirect-uris-malformed"],
    ["an empty list", [], "redirect-uris-empty"],
    ["eleven", Array(11).fill(longUri(30)), "redirect-uris-malformed"],
    ["a number among them", [longUri(30), 7], "redirect-uris-malformed"],
    ["a list of lists", [[longUri(30)]], "redirect-uris-malformed"],
    ["2001 characters", [longUri(2_001)], "redirect-uris-malformed"],
    ["http", [longUri(30), "http://app.example/"], "redirect-uri-unsafe"],
    ["a custom scheme of a web app", ["com.example.app:/"], "redirect-scheme-of-confidential-client"],
  ])("are told apart: %s", async (_, uris, code) => {
    expect(await refused({ redirect_uris: uris })).toMatchObject({ error: "invalid_redirect_uri", code });
  });

  it("are refused to apps as well when no app can have them", async () => {
    const sent = { redirect_uris: ["javascript:alert(1)"], token_endpoint_auth_method: "none" };
    expect(await refused(sent)).toMatchObject({ code: "redirect-uri-unsafe" });
  });

  it("tell the host, not the client, how a scheme without a dot is allowed (RFC 8252 §7.1)", async () => {
    const sent = { redirect_uris: ["unlisted:/"], token_endpoint_auth_method: "none" };
    expect(await refused(sent)).toEqual({
      error: "invalid_redirect_uri",
      description: "This server does not accept a redirect URI with this custom scheme.",
      code: "redirect-scheme-without-dot",
    });
  });
});
