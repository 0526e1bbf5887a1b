// Which signers a host may pass. What is wrong with one is told at the start, and nothing of it is called.
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { generateSigningKey, type RemoteSigner, type SigningKeySource } from "../../lib";
import { readSigningKeys, signingKeyProblems } from "../../lib/options/signing-keys";
import { signJwt } from "../../lib/signing/jwt-signer";
import { kindOfKeySource, publicJwk as publishedJwk, readSigningKey } from "../../lib/signing/signing-key";
import { fakeKms } from "./fake-kms";

const { signer } = fakeKms();
const { publicJwk } = signer;
const content = { typ: "at+jwt", claims: {} };

function publicRsa(modulusLength: number): RemoteSigner["publicJwk"] {
  return generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
}

const rsa = publicRsa(2_048);

describe("a signer outside the process (RFC 7517 §4, 7518 §3.1)", () => {
  it.each<[string, object]>([
    ["a public key and nothing else", {}],
    [
      "a public key that says for what it is",
      { publicJwk: { ...publicJwk, kid: "kms-1", alg: "ES256", use: "sig" } },
    ],
    ["an RSA key, for the algorithm that is named", { alg: "PS512", publicJwk: rsa }],
  ])("is taken with %s", (_, changes) => {
    const given = { ...signer, ...changes };
    const key = readSigningKey(given);
    expect(key).toMatchObject({ kid: "kms-1", algorithm: given.alg, signsFrom: 0 });
    const { crv, e, kty, n, x, y } = given.publicJwk;
    expect(publishedJwk(key)).toEqual(
      JSON.parse(JSON.stringify({ crv, e, kty, n, x, y, kid: "kms-1", alg: given.alg, use: "sig" })),
    );
  });

  it.each<[string, object]>([
    ["a private key", { publicJwk: generateSigningKey() }],
    ["a private member that is empty", { publicJwk: { ...publicJwk, d: undefined } }],
    ["a key for encryption", { publicJwk: { ...publicJwk, use: "enc" } }],
    ["the name of another key in the JWK", { publicJwk: { ...publicJwk, kid: "kms-2" } }],
    ["another algorithm in the JWK", { alg: "RS256", publicJwk: { ...rsa, alg: "RS512" } }],
    ["no name, though the JWK has one", { kid: undefined, publicJwk: { ...publicJwk, kid: "kms-1" } }],
    ["a name that is no text", { kid: 7 }],
    ["no algorithm", { alg: undefined }],
    ["no algorithm, though the JWK has one", { alg: undefined, publicJwk: { ...publicJwk, alg: "ES256" } }],
    ["an algorithm of another curve", { alg: "ES384" }],
    ["an algorithm of another kind of key", { alg: "RS256" }],
    ["an algorithm that nobody knows", { alg: "none" }],
    ["a weak RSA key", { alg: "RS256", publicJwk: publicRsa(1_024) }],
    ["a symmetric key", { alg: "HS256", publicJwk: { kty: "oct", k: "c2VjcmV0" } }],
    ["no key", { publicJwk: undefined }],
    [
      "PEM in place of a JWK",
      {
        publicJwk: createPublicKey({ key: publicJwk, format: "jwk" }).export({ format: "pem", type: "spki" }),
      },
    ],
    ["no function", { sign: undefined }],
    ["what is no function", { sign: "kms" }],
    ["its time beside it, in place of around it", { signsFrom: 1_000 }],
  ])("is refused with %s", (_, changes) => {
    const source = { ...signer, ...changes } as unknown as SigningKeySource;
    const problem = {
      path: "signingKeys.0",
      code: "unusable-remote-signer",
      problem: "is not a usable signer",
    };
    expect(signingKeyProblems([source], { now: 1_000 })).toMatchObject([problem]);
    // with a time, too
    const scheduled = { key: source, signsFrom: 0 } as SigningKeySource;
    expect(signingKeyProblems([scheduled], { now: 1_000 })).toHaveLength("signsFrom" in changes ? 0 : 1);
  });

  it("is told what to write", () => {
    expect(() => readSigningKey({ ...signer, alg: "ES384" })).toThrow(
      "publicJwk must be a public key with no other kid or alg, and alg must fit it",
    );
    expect(() => readSigningKeys([{ ...signer, alg: "ES384" }], { by: "rotateKeys", now: 0 })).toThrow(
      "rotateKeys: signingKeys.0 is not a usable signer. Write { alg, kid, publicJwk, sign }, or that as key in { key, signsFrom }: publicJwk is the public key alone, alg fits it, and sign is a function.",
    );
  });

  it("may not share its kid with a key of this process (RFC 7517 §4.5)", () => {
    const local = { ...generateSigningKey("ES256"), kid: "kms-1" };
    expect(signingKeyProblems([local, signer], { now: 0 })).toMatchObject([
      { code: "signing-keys-with-one-kid" },
    ]);
  });

  it("is not called at the start", () => {
    const kms = fakeKms();
    readSigningKeys([kms.signer, { key: fakeKms({ kid: "kms-2" }).signer, signsFrom: 5 }], {
      by: "rotateKeys",
      now: 0,
    });
    expect(kms.messages).toEqual([]);
  });

  it("is copied: what the host changes later has no effect", async () => {
    const kms = fakeKms();
    const given: Record<string, unknown> = { ...kms.signer, publicJwk: { ...kms.signer.publicJwk } };
    const key = readSigningKey(given as unknown as RemoteSigner);
    Object.assign(given["publicJwk"] as object, fakeKms().signer.publicJwk);
    Object.assign(given, { alg: "RS256", kid: "other", publicJwk: rsa, sign: () => "changed" });
    expect(await signJwt(key, content)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/);
    expect(key).toMatchObject({ kid: "kms-1", algorithm: "ES256" });
  });

  it("may be of a class, whose methods need their object", async () => {
    const kms = fakeKms();
    class Signer implements RemoteSigner {
      readonly alg = "ES256";
      readonly kid = "of-class";
      readonly publicJwk = kms.signer.publicJwk;
      readonly client = kms;
      async sign(bytes: Uint8Array): Promise<Uint8Array> {
        return this.client.signer.sign(bytes);
      }
    }
    expect(await signJwt(readSigningKey(new Signer()), content)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/);
  });

  it.each<[string, unknown, string]>([
    ["one", signer, "remote"],
    ["one with a time", { key: signer, signsFrom: 1 }, "remote"],
    ["one without a function", { publicJwk }, "remote"],
    ["one without a key", { sign: () => undefined }, "remote"],
    ["a public key alone", publicJwk, "public"],
  ])("is told from other keys: %s", (_, source, kind) => {
    expect(kindOfKeySource(source)).toBe(kind);
  });
});
