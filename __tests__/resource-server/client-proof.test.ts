import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { generateClientKey, generateSigningKey } from "../../lib";
import { isSignedBy } from "../../lib/clients/assertion-keys";
import { jwtBearerType, parseClientAssertion } from "../../lib/protocol/client-assertion";
import { clientProof } from "../../lib/resource-server/client-proof";
import { jwkOf } from "../requests/client-assertions";

const issuer = "https://host.example/login/auth/password/api/orders";
const now = 1_800_000_000;

/** Proves the client with a key, each time with another random value. */
function proofWith(privateKey: unknown): ReturnType<typeof clientProof> {
  let count = 0;
  const ports = { clock: () => now, randomId: () => `random-${++count}` };
  return clientProof({ clientId: "orders-api", privateKey } as never, ports);
}

/** The assertion of one request, read as the authorization server does. */
function assertionFor(prove: ReturnType<typeof clientProof>) {
  const { headers, fields } = prove(issuer);
  expect([headers, Object.keys(fields)]).toEqual([{}, ["client_assertion_type", "client_assertion"]]);
  expect(fields["client_assertion_type"]).toBe(jwtBearerType);
  const assertion = parseClientAssertion(String(fields["client_assertion"]));
  if (assertion.kind !== "assertion") throw new Error(assertion.problem);
  return assertion;
}

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = (key: KeyObject): string => String(key.export({ format: "pem", type: "pkcs8" }));

describe("the assertion of an API that has a key (RFC 7523 §2.2, §3)", () => {
  it("is the client's own, for one issuer as text, and for 60 seconds", () => {
    const { claims, keyId } = assertionFor(proofWith(generateClientKey().privateKey));
    const named = { iss: "orders-api", sub: "orders-api", aud: issuer, jti: "random-1" };
    expect(claims).toEqual({ ...named, isAudList: false, iat: now, exp: now + 60, nbf: undefined });
    expect(keyId).toBe(undefined);
  });

  it("has a new jti in each request", () => {
    const prove = proofWith(ec.privateKey);
    const ids = [1, 2, 3].map(() => assertionFor(prove).claims.jti);
    expect(ids).toEqual(["random-1", "random-2", "random-3"]);
  });

  it.each<[string, unknown, string, KeyObject]>([
    ["a KeyObject", ec.privateKey, "ES256", ec.publicKey],
    ["PEM", pem(ec.privateKey), "ES256", ec.publicKey],
    ["PEM with written line breaks", pem(ec.privateKey).replaceAll("\n", "\\n"), "ES256", ec.publicKey],
    ["a JWK", jwkOf(ec.privateKey), "ES256", ec.publicKey],
    ["the JSON of a JWK", JSON.stringify(jwkOf(ec.privateKey)), "ES256", ec.publicKey],
    ["PEM of an RSA key", pem(rsa.privateKey), "RS256", rsa.publicKey],
    ["a JWK for PS256", jwkOf(rsa.privateKey, { alg: "PS256" }), "PS256", rsa.publicKey],
  ])("is signed as the key says: %s", (_, privateKey, algorithm, publicKey) => {
    const assertion = assertionFor(proofWith(privateKey));
    expect(assertion.algorithm).toBe(algorithm);
    expect(isSignedBy(publicKey, assertion)).toBe(true);
  });
});

describe("a key that signs no assertions", () => {
  it.each<[string, unknown]>([
    ["an empty text", ""],
    ["no key", "marker-of-a-key"],
    ["broken PEM", "-----BEGIN PRIVATE KEY-----\nmarker-of-a-key\n-----END PRIVATE KEY-----"],
    ["a public key", ec.publicKey],
    ["a curve that no server takes (RFC 7518 §3.1)", generateSigningKey("ES384")],
    ["an algorithm that no server takes", jwkOf(rsa.privateKey, { alg: "RS512" })],
    ["a key with a schedule", { key: ec.privateKey, signsFrom: 0 }],
    ["null", null],
    ["a number", 7],
  ])("is refused by the name of the option, and not quoted: %s", (_, privateKey) => {
    let thrown: unknown;
    try {
      proofWith(privateKey);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(thrown).toMatchObject({
      code: "unusable-signing-key",
      message:
        "createResourceServer: introspection.privateKey is not a usable private key. Write PEM, JWK or KeyObject: P-256, or RSA of at least 2048 bits for RS256 or PS256.",
    });
    expect(thrown).not.toHaveProperty("cause");
  });
});
