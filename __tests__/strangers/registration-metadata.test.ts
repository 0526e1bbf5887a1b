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
  const noObject = "The body must be a JSON object.";
  const noKeys = "jwks must be a JWK Set of 1 to 10 keys.";
  const noKty = "Each key of jwks needs a kty.";
  const noKeyUrl =
    "jwks_uri must be an https URL in normal form, without port, user name and fragment, with a host name, of at most 2000 characters.";
  const noMethod =
    "token_endpoint_auth_method must be one of: client_secret_basic, client_secret_post, private_key_jwt, none.";

  it.each([
    ["null", null],
    ["a text", "{}"],
    ["a number", 7],
    ["a list", []],
  ])("says so when the body is no object: %s", async (_, sent) => {
    expect(await refused(sent)).toEqual({
      error: "invalid_client_metadata",
      description: noObject,
      code: "body-not-an-object",
    });
  });

  it.each<[string, object, string]>([
    [
      "a method that is no text",
      { token_endpoint_auth_method: 7 },
      "token_endpoint_auth_method must be a text.",
    ],
    ["an unknown method", { token_endpoint_auth_method: "tls_client_auth" }, noMethod],
    ["a scope that is no text", { scope: ["a"] }, "scope must be a text."],
    ["two spaces", { scope: "a  b" }, "scope must be scope names with one space between them."],
    [
      "a grant that is no list",
      { grant_types: "authorization_code" },
      "grant_types must be a list of texts.",
    ],
    ["no codes", { grant_types: ["refresh_token"] }, "grant_types must contain authorization_code."],
    [
      "a response type that is no list",
      { response_types: "code" },
      "response_types must be a list of texts.",
    ],
    ["no code", { response_types: ["token"] }, "response_types must contain code."],
    ["no key set", { jwks: [] }, noKeys],
    ["no keys", { jwks: { keys: [] } }, noKeys],
    ["eleven keys", { jwks: { keys: Array(11).fill(key) } }, noKeys],
    ["a key that is none", { jwks: { keys: [key, 7] } }, noKeys],
    ["a key that is null", { jwks: { keys: [null] } }, noKeys],
    ["a key without kty", { jwks: { keys: [key, {}] } }, noKty],
    ["a kty that is no text", { jwks: { keys: [{ kty: 7 }] } }, noKty],
    [
      "a private key",
      { jwks: { keys: [key, privateKey] } },
      "jwks must contain public keys only: replace the private key that was sent.",
    ],
    ["keys twice", { jwks, jwks_uri: longUri(30) }, "Send either jwks or jwks_uri, not both."],
    ["the URL of keys that is no text", { jwks_uri: 7 }, "jwks_uri must be a text."],
    ["the URL of keys by http", { ...byKey, jwks_uri: "http://app.example/jwks" }, noKeyUrl],
    ["the URL of keys with a port", { ...byKey, jwks_uri: "https://app.example:8443/jwks" }, noKeyUrl],
    ["the URL of keys at an IP address", { ...byKey, jwks_uri: "https://192.0.2.1/jwks" }, noKeyUrl],
    ["the URL of keys in another form", { ...byKey, jwks_uri: "https://App.example/jwks" }, noKeyUrl],
    ["the URL of keys on this machine", { ...byKey, jwks_uri: "https://localhost/jwks" }, noKeyUrl],
    ["the URL of keys that is too long", { ...byKey, jwks_uri: longUri(2_001) }, noKeyUrl],
    ["no keys for its proof", byKey, "private_key_jwt needs jwks or jwks_uri."],
  ])("names the member and what to send: %s", async (_, changes, description) => {
    expect(await refused({ redirect_uris, ...changes })).toMatchObject({
      error: "invalid_client_metadata",
      description,
    });
  });

  it("says that a software statement is not read (§2.3)", async () => {
    const description = "This server approves no software statements: leave software_statement out.";
    expect(await refused({ redirect_uris, software_statement: "a.b.c" })).toEqual({
      error: "unapproved_software_statement",
      description,
      code: "software-statement",
    });
  });
});

describe("redirect URIs that are refused (RFC 7591 §3.2.2)", () => {
  const noList = "redirect_uris must be a list of 1 to 10 URIs of at most 2000 characters.";
  const unsafe =
    "A redirect URI is neither https, nor http on a loopback host, nor a custom scheme of an app, or it has a fragment, user name or wildcard.";
  const ofApps =
    "Only a client with token_endpoint_auth_method none may have a redirect URI with a custom scheme.";

  it.each<[string, unknown, string]>([
    ["none", undefined, noList],
    ["an empty list", [], noList],
    ["eleven", Array(11).fill(longUri(30)), noList],
    ["a number among them", [longUri(30), 7], noList],
    ["a list of lists", [[longUri(30)]], noList],
    ["2001 characters", [longUri(2_001)], noList],
    ["http", [longUri(30), "http://app.example/"], unsafe],
    ["a custom scheme of a web app", ["com.example.app:/"], ofApps],
  ])("are told apart: %s", async (_, uris, description) => {
    expect(await refused({ redirect_uris: uris })).toMatchObject({
      error: "invalid_redirect_uri",
      description,
    });
  });

  it("are refused to apps as well when no app can have them", async () => {
    const sent = { redirect_uris: ["javascript:alert(1)"], token_endpoint_auth_method: "none" };
    expect(await refused(sent)).toMatchObject({ description: unsafe, code: "redirect-uri-unsafe" });
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
