import { createPublicKey } from "node:crypto";
import { generateSigningKey, type SigningKeySource } from "../../lib";
import type { HostMistake } from "../../lib/protocol/mistake";
import { readSigningKeys } from "../../lib/options/signing-keys";
import { readPrivateKey } from "../../lib/signing/signing-key";

const jwk = generateSigningKey();
const { privateKey } = readPrivateKey(jwk);
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const publicKey = createPublicKey(pem);
const { d: _d, ...publicJwk } = jwk;

function read(source: unknown): unknown {
  try {
    const [read_] = readSigningKeys([source as SigningKeySource], { by: "createAuthServer", now: 10 });
    return read_?.publicKey.export({ format: "jwk" });
  } catch (error) {
    const { code, message } = error as HostMistake;
    return { code, message };
  }
}

describe("a signing key as an environment variable holds it (RFC 7517 §4)", () => {
  it.each<[string, SigningKeySource]>([
    ["PEM", pem],
    ["PEM with written line breaks", pem.replaceAll("\n", "\\n")],
    ["PEM with CRLF", pem.replaceAll("\n", "\r\n")],
    ["PEM with written CRLF", pem.replaceAll("\n", "\\r\\n")],
    ["JSON of a JWK behind a byte order mark", `\ufeff${JSON.stringify(jwk)}`],
    ["JSON of a JWK", JSON.stringify(jwk)],
    ["JSON of a JWK over several lines", `\n${JSON.stringify(jwk, undefined, 2)}\n`],
    ["JSON of a JWK with a moment", { key: JSON.stringify(jwk), signsFrom: 1 }],
  ])("is read: %s", (_, source) => {
    expect(read(source)).toEqual(publicKey.export({ format: "jwk" }));
  });

  it("keeps the kid that the JSON names", () => {
    const named = JSON.stringify({ ...jwk, kid: "2026-11" });
    expect(readSigningKeys([named], { by: "createAuthServer", now: 0 })[0]?.kid).toBe("2026-11");
  });
});

describe("a signing key that cannot be used", () => {
  const publicPem = publicKey.export({ type: "spki", format: "pem" }).toString();

  it.each<[string, unknown]>([
    ["empty", ""],
    ["blank", " \n"],
    ["empty with a moment", { key: "", signsFrom: 1 }],
  ])("says that a variable may not be set: %s", (_, source) => {
    expect(read(source)).toMatchObject({ code: "variable-not-set" });
  });

  it.each<[string, unknown]>([
    ["PEM", publicPem],
    ["PEM with written line breaks", publicPem.replaceAll("\n", "\\n")],
    ["KeyObject", publicKey],
    ["JWK", publicJwk],
    ["JSON of a JWK", JSON.stringify(publicJwk)],
    ["with a moment", { key: publicPem, signsFrom: 1 }],
  ])("says that it is a public key: %s", (_, source) => {
    expect(read(source)).toMatchObject({ code: "public-signing-key" });
  });

  it.each<[string, unknown]>([
    ["garbage", "garbage-of-mine"],
    ["JSON that is none", '{"garbage-of-mine"'],
    ["JSON of something else", '{"garbage-of-mine": 1}'],
    ["a PEM cut short", pem.slice(0, 60)],
    ["a number", 7],
    ["a symmetric key", { kty: "oct", k: "garbage-of-mine" }],
  ])("never quotes it: %s", (_, source) => {
    expect(read(source)).toMatchObject({ code: "unusable-signing-key" });
    expect(JSON.stringify(read(source))).not.toMatch(/garbage|BEGIN/);
  });
});
