import { createPrivateKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { generateClientKey, generateClientSecret, type KeyClient } from "../../lib";
import { checkClient, ownClient } from "../../lib/clients/client-record";
import { isKeyClient } from "../../lib/protocol/client";
import { jwkOf, keyed, publicKeys } from "../requests/client-assertions";
import { confidentialRecord, publicRecord } from "../records/records";

const [ec] = publicKeys;

/** The message of the refusal, or `undefined` when the record is one. */
function problemOf(record: unknown): string | undefined {
  try {
    expect(checkClient(record)).toBe(record);
    return undefined;
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

const withKeys = (...keys: unknown[]): object => ({ ...keyed, jwks: { keys } });

describe("a client record with keys (RFC 7517 §5, 7591 §2)", () => {
  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey;

  it.each<[string, object]>([
    ["with each kind of key", keyed],
    ["with the keys of generateClientKey()", { ...keyed, jwks: generateClientKey().jwks }],
    ["with ten keys", withKeys(...Array.from({ length: 10 }, () => ec))],
    ["with a key that is not used here beside one that is", withKeys(jwkOf(p384), { kty: "new" }, ec)],
    ["with a key for encryption beside one for signatures", withKeys({ ...ec, use: "enc" }, ec)],
    ["with members of the host", { ...keyed, jwks: { keys: [{ ...ec, addedBy: "somebody" }], note: "" } }],
    ["with a private member undefined", withKeys({ ...ec, d: undefined })],
    ["with a jwksUri", { ...keyed, jwks: undefined, jwksUri: "https://client.example/jwks" }],
    ["that allows the token endpoint as audience", { ...keyed, allowTokenEndpointAudience: true }],
    ["with secretDigests undefined", { ...keyed, secretDigests: undefined }],
  ])("is good: %s", (_, record) => {
    expect(problemOf(record)).toBeUndefined();
    expect(isKeyClient(record as KeyClient)).toBe(true);
    expect(isKeyClient(ownClient(record as KeyClient))).toBe(true);
  });

  it("is none when jwks and jwksUri are undefined beside a secret", () => {
    const record = { ...confidentialRecord(), jwks: undefined, jwksUri: undefined };
    expect(problemOf(record)).toBeUndefined();
    expect(isKeyClient(record as never)).toBe(false);
  });

  const { digest } = generateClientSecret();
  it.each<[string, object, string]>([
    ["no keys", { jwks: { keys: [] } }, "jwks.keys must be a list of 1 to 10 public keys"],
    ["eleven keys", withKeys(...Array.from({ length: 11 }, () => ec)), "jwks.keys must be a list of 1 to 10"],
    ["a list", { jwks: [ec] }, "jwks must be an object with keys"],
    ["a key alone", { jwks: ec }, "jwks.keys is missing: write a list of 1 to 10 public keys"],
    ["a key without kty", withKeys({ ...ec, kty: undefined }), "jwks.keys.0.kty is missing"],
    ["text", { jwks: JSON.stringify(keyed.jwks) }, "jwks must be an object with keys"],
    ["null", { jwks: null }, "jwks is null"],
    ["http", { jwks: undefined, jwksUri: "http://client.example/jwks" }, "jwksUri must be an https URL"],
    ["both", { jwksUri: "https://client.example/jwks" }, "has jwks and jwksUri: write one of them"],
    ["a secret too", { secretDigests: [digest] }, "secretDigests is not allowed beside jwks or jwksUri"],
    ["neither", { jwks: undefined }, "secretDigests is missing: write a list of one or two digests"],
    [
      "true as text",
      { allowTokenEndpointAudience: "true" },
      "allowTokenEndpointAudience must be true or false",
    ],
  ])("is refused: %s", (_, changes, problem) => {
    expect(problemOf({ ...keyed, ...changes })).toContain(`client "keyed": ${problem}`);
  });

  it.each([
    "https://client.example/jwks?of=keyed",
    "https://localhost:8443/jwks",
    "http://127.0.0.1:3000/jwks",
    "http://[::1]/jwks",
  ])("has keys at a URL that can be fetched: %s", (jwksUri) => {
    expect(problemOf({ ...keyed, jwks: undefined, jwksUri })).toBeUndefined();
  });

  it.each([
    ["another port", "https://client.example:8443/jwks"],
    ["the port in full", "https://client.example:443/jwks"],
    ["an IP address", "https://192.0.2.1/jwks"],
    ["a host without a dot", "https://keys/jwks"],
    ["a host in upper case", "https://Client.example/jwks"],
    ["no path, not even a slash", "https://client.example"],
    ["a user name", "https://me@client.example/jwks"],
    ["a fragment", "https://client.example/jwks#one"],
    ["a host that is none", "https://client..example/jwks"],
  ])("is refused where its keys could never be fetched (RFC 9728 §7.7): %s", (_, jwksUri) => {
    const text = problemOf({ ...keyed, jwks: undefined, jwksUri }) ?? "";
    expect(text).toBe(
      'client "keyed": jwksUri can never be fetched: write an https URL without port, user name and fragment, whose host is a name with a dot, as new URL(text).href has it (on loopback also http, and any port).',
    );
    expect(text).not.toContain(jwksUri);
  });

  it.each(["jwks", "jwksUri"])("is refused for a public client: %s", (name) => {
    const value = name === "jwks" ? keyed.jwks : "https://client.example/jwks";
    expect(problemOf({ ...publicRecord("native"), [name]: value })).toBe(
      `client "phone": ${name} is not allowed for a public client, which cannot keep a secret.`,
    );
  });
});

describe("a private key in a client record (RFC 7517 §9.2, 7518 §6)", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const ed25519 = generateKeyPairSync("ed25519").privateKey;

  it.each<[string, Record<string, unknown>, string]>([
    ["of generateClientKey()", { ...generateClientKey().privateKey }, "d"],
    ["RSA", { ...rsa.export({ format: "jwk" }) }, "d"],
    ["RSA without d", { ...rsa.export({ format: "jwk" }), d: undefined }, "p"],
    ["Ed25519", { ...ed25519.export({ format: "jwk" }) }, "d"],
    ["symmetric", { kty: "oct", k: randomBytes(32).toString("base64url") }, "k"],
  ])("is refused, and not quoted: %s", (_, key, member) => {
    const text = problemOf(withKeys(ec, key)) ?? "";
    expect(text).toBe(
      'client "keyed": jwks.keys.1 is a private key: only the client may have it. Write the public key, such as jwks of generateClientKey().',
    );
    expect(text).not.toContain(String(key[member]));
  });
});

function rsaOf(modulusLength: number): object {
  return jwkOf(generateKeyPairSync("rsa", { modulusLength }).publicKey);
}

describe("a key set without a usable key (RFC 7517 §5, 7518 §3.3, §3.4)", () => {
  it.each<[string, object]>([
    ["RSA with 1024 bits", rsaOf(1024)],
    ["RSA with public exponent 1", { ...publicKeys[1], e: "AQ" }],
    ["P-384", jwkOf(generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey)],
    ["X25519", jwkOf(generateKeyPairSync("x25519").publicKey)],
    ["a point that is not on the curve", { ...ec, x: ec?.["y"] }],
    ["a missing coordinate", { ...ec, y: undefined }],
    ["for encryption", { ...ec, use: "enc" }],
    ["of another algorithm", { ...ec, alg: "ES384" }],
    ["an unknown kind", { kty: "new" }],
  ])("is refused, and not quoted: %s", (_, key) => {
    const text = problemOf(withKeys(key)) ?? "";
    expect(text).toMatch(/^client "keyed": jwks.keys has no usable key: write a public JWK for signatures/);
    for (const value of Object.values(key)) if (String(value).length > 20) expect(text).not.toContain(value);
  });
});

describe("generateClientKey (RFC 7523 §2.2, 7517 §4)", () => {
  it("gives a private key for the client and its public half for the record", () => {
    const { privateKey, jwks } = generateClientKey();
    const [publicKey, ...more] = jwks.keys;
    expect(more).toEqual([]);
    const { d, ...others } = privateKey;
    expect(d).toMatch(/^[\w-]{43}$/);
    expect(publicKey).toEqual(others);
    expect(others).toEqual({
      kty: "EC",
      crv: "P-256",
      x: expect.any(String),
      y: expect.any(String),
      kid: expect.any(String),
      alg: "ES256",
      use: "sig",
    });
    expect(createPrivateKey({ key: { ...privateKey }, format: "jwk" }).type).toBe("private");
    expect(generateClientKey().privateKey.kid).not.toBe(privateKey.kid);
  });

  it("stays the same as JSON", () => {
    const generated = generateClientKey();
    expect(JSON.parse(JSON.stringify(generated))).toEqual(generated);
  });
});
