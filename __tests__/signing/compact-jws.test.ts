// What a signer outside the process may answer, and what becomes of it. The host is trusted, but its KMS may be set up wrongly.
import { constants, createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import type { SigningAlgorithm } from "../../lib";
import { toOAuthError } from "../../lib/protocol/oauth-error";
import { signJwt } from "../../lib/signing/jwt-signer";
import { readSigningKey } from "../../lib/signing/signing-key";
import { signingAlgorithms } from "../../lib/signing/verification-key";
import { shortenTimeLimitForEachTest } from "../storage/time-limit";
import { type Answer, fakeKms, type FakeKms, signing } from "./fake-kms";

shortenTimeLimitForEachTest();

const claims = { sub: "alice", constructor: "allowed", name: "Zoë" };
const typ = "at+jwt";

async function jwtBy(kms: FakeKms): Promise<string> {
  return signJwt(readSigningKey(kms.signer), { typ, claims });
}

function thrownBy(kms: FakeKms): Promise<Error & { readonly code: string }> {
  return jwtBy(kms).then(
    (token) => Promise.reject(new Error(`signed: ${token}`)),
    (error: unknown) => error as Error & { readonly code: string },
  );
}

function verified(token: string, { privateKey, signer: { alg } }: FakeKms): unknown {
  return jwt.verify(token, createPublicKey(privateKey), { algorithms: [alg], complete: true });
}

function answering(answer: Answer, alg: SigningAlgorithm = "ES256"): FakeKms {
  return Object.assign(fakeKms({ alg }), { answer });
}

const ofCurves = [
  ["ES256", 32],
  ["ES384", 48],
  ["ES512", 66],
] as const;

/** An element of DER (X.690 §8.1.3). */
function element(tag: number, content: Buffer): Buffer {
  return Buffer.from([tag, ...(content.length > 127 ? [0x81] : []), content.length, ...content]);
}

/** A number in DER (X.690 §8.3): a zero in front where the first bit is set, and no other. */
function integer(number: Buffer): Buffer {
  const digits = number.subarray(number.findIndex((byte) => byte !== 0));
  return element(0x02, Buffer.from([...((digits[0] ?? 0) > 127 ? [0] : []), ...digits]));
}

/** r and s in DER (RFC 3279 §2.2.3). */
function derOf(raw: Buffer): Buffer {
  const half = raw.length / 2;
  return element(0x30, Buffer.concat([integer(raw.subarray(0, half)), integer(raw.subarray(half))]));
}

/** Signs until r and s have this form, and answers in DER. Each try finds it with a chance of 1 in 256 or better. */
function derWhere(alg: SigningAlgorithm, isFound: (raw: Buffer) => boolean): Answer {
  return (bytes, key) => {
    for (;;) {
      const signature = signing(alg, { dsaEncoding: "ieee-p1363" })(bytes, key);
      if (isFound(signature)) return derOf(signature);
    }
  };
}

/** A service that takes no more than this. */
const limited: Answer = (bytes, key) => {
  if (bytes.length > 4_096) throw new Error("the message is too long");
  return signing("ES256")(bytes, key);
};

describe("a JWT that is signed outside (RFC 7515 §5.1, §7.1)", () => {
  it.each(signingAlgorithms)("is a JWS of %s, which any library verifies", async (alg) => {
    const kms = fakeKms({ alg });
    const token = await jwtBy(kms);
    expect(verified(token, kms)).toMatchObject({ header: { alg, typ, kid: "kms-1" }, payload: claims });
    expect(
      Object.keys(JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as object),
    ).toEqual(["alg", "typ", "kid"]);
  });

  it("is asked for with the text of the JWS, in memory of its own", async () => {
    const kms = fakeKms();
    const token = await jwtBy(kms);
    const [message, ...more] = kms.messages;
    expect(more).toEqual([]);
    expect(Buffer.from(message ?? []).toString()).toBe(token.slice(0, token.lastIndexOf(".")));
    expect(message?.constructor.name).toBe("Uint8Array");
    expect(message?.buffer.byteLength).toBe(message?.length);
  });

  it("is what it was asked for, whatever the host does with the bytes", async () => {
    const kms = answering((bytes, key) => {
      const signature = signing("ES256")(bytes, key);
      bytes.fill(0);
      return signature;
    });
    expect(verified(await jwtBy(kms), kms)).toMatchObject({ payload: claims });
  });

  it("may be longer than a service takes, which is a failure of the signer and not of the JWT", async () => {
    const long = { ...claims, text: "x".repeat(4_097) };
    const kms = answering(limited);
    const signed = () => Promise.resolve(signJwt(readSigningKey(kms.signer), { typ, claims: long }));
    await expect(signed()).rejects.toMatchObject({ code: "signer-failed" });
    kms.answer = signing("ES256");
    expect(verified(await signed(), kms)).toMatchObject({ payload: long });
  });
});

describe("ECDSA signatures in a JWS (RFC 7518 §3.4)", () => {
  it.each(ofCurves)("of %s are r and s of %i bytes each, however they came", async (alg, size) => {
    for (const dsaEncoding of ["der", "ieee-p1363"] as const) {
      const kms = answering(signing(alg, { dsaEncoding }), alg);
      const token = await jwtBy(kms);
      expect(verified(token, kms)).toMatchObject({ payload: claims });
      expect(Buffer.from(token.split(".")[2] ?? "", "base64url")).toHaveLength(2 * size);
    }
  });

  const forms = ofCurves.flatMap(([alg, size]) => {
    // of the 66 bytes of P-521, the first has one bit
    const first = alg === "ES512" ? 1 : 0;
    return [
      [alg, "r begins with a zero", (raw: Buffer) => raw[first] === 0] as const,
      [alg, "s begins with a zero", (raw: Buffer) => raw[size + first] === 0] as const,
      [alg, "r has its first bit set", (raw: Buffer) => (raw[first] ?? 0) > 127] as const,
      [alg, "s has its first bit set", (raw: Buffer) => (raw[size + first] ?? 0) > 127] as const,
    ];
  });

  it.each(forms)("of %s are read from DER where %s", async (alg, _, isFound) => {
    const kms = answering(derWhere(alg, isFound), alg);
    const token = await jwtBy(kms);
    expect(verified(token, kms)).toMatchObject({ payload: claims });
    expect(isFound(Buffer.from(token.split(".")[2] ?? "", "base64url"))).toBe(true);
  });

  it("are read from DER whose length has a byte of its own where it needs none", async () => {
    const kms = answering((bytes, key) => {
      const [tag = 0, ...rest] = signing("ES256")(bytes, key);
      return Buffer.from([tag, 0x81, ...rest]);
    });
    expect(verified(await jwtBy(kms), kms)).toMatchObject({ payload: claims });
  });
});

const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const rsaStranger = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
const pss = { padding: constants.RSA_PKCS1_PSS_PADDING };
const der = signing("ES256");
const raw = signing("ES256", { dsaEncoding: "ieee-p1363" });

/** Signs the JWT of somebody else. */
const promoting: Answer = (bytes, key) => {
  const [header] = Buffer.from(bytes).toString().split(".");
  const admin = Buffer.from(JSON.stringify({ ...claims, sub: "admin" })).toString("base64url");
  return raw(Buffer.from(`${header}.${admin}`), key);
};

describe("a signature that is not of the key (RFC 7515 §5.2, 8725 §3.1)", () => {
  it.each<[string, Answer, SigningAlgorithm?]>([
    ["by another key", (bytes) => der(bytes, stranger)],
    ["by another RSA key", (bytes) => signing("RS256")(bytes, rsaStranger), "RS256"],
    ["over a JWT with other claims", promoting],
    [
      "over the digest in place of the message",
      (bytes, key) => der(createHash("sha256").update(bytes).digest(), key),
    ],
    ["over one byte more", (bytes, key) => der(Buffer.from([...bytes, 0]), key)],
    ["with another hash", signing("ES256", { hash: "sha384" })],
    ["with another hash of RSA", signing("RS256", { hash: "sha512" }), "RS256"],
    ["with PSS where PKCS #1 is meant", signing("RS256", pss), "RS256"],
    ["with PKCS #1 where PSS is meant", (bytes, key) => signing("RS256")(bytes, key), "PS256"],
    ["with a salt of another length", signing("PS256", { saltLength: 20 }), "PS256"],
    ["that lacks its last byte", (bytes, key) => raw(bytes, key).subarray(0, 63)],
    ["that has one byte more", (bytes, key) => Buffer.from([...raw(bytes, key), 0])],
    [
      "with r and s changed over",
      (bytes, key) => Buffer.concat([raw(bytes, key).subarray(32), raw(bytes, key).subarray(0, 32)]),
    ],
    ["of zeros", () => Buffer.alloc(64)],
    ["without a byte", () => new Uint8Array()],
    ["of one byte", () => Buffer.from([0x30])],
    ["in DER that is cut short", (bytes, key) => der(bytes, key).subarray(0, 40)],
    ["in DER that says it is longer", () => Buffer.from([0x30, 0x81])],
    [
      "in DER with numbers that are too long",
      () =>
        Buffer.from([
          0x30,
          0x81,
          0xc8,
          0x02,
          0x62,
          ...Buffer.alloc(98, 7),
          0x02,
          0x62,
          ...Buffer.alloc(98, 7),
        ]),
    ],
    ["as text of base64", (bytes, key) => Buffer.from(der(bytes, key).toString("base64"))],
    ["of 4,097 bytes", () => Buffer.alloc(4_097, 0x30)],
    ["of 4,097 bytes for RSA", () => Buffer.alloc(4_097, 1), "RS256"],
  ])("leaves nothing behind but an error with the kid: one %s", async (_, answer, alg = "ES256") => {
    const kms = answering(answer, alg);
    const error = await thrownBy(kms);
    expect(error).toBeInstanceOf(TypeError);
    // the code is all that it has besides its message
    expect(Object.entries(error)).toEqual([["code", "signature-not-of-key"]]);
    expect(error.message).toBe(
      `The signer of the key "kms-1" returned a signature that its publicJwk does not verify with ${alg}. Check the version of the key, the hash and the padding.`,
    );
    expect(toOAuthError(error).error).toBe("server_error");
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "c2lnbmVk"],
    ["a list of numbers", [1, 2, 3]],
    ["an ArrayBuffer", new ArrayBuffer(64)],
    ["other numbers", new Uint16Array(32)],
    ["what an SDK wraps around it", { Signature: new Uint8Array(64) }],
  ])("is no signature at all: %s", async (_, answer) => {
    const error = await thrownBy(answering(() => answer));
    expect(error).toBeInstanceOf(TypeError);
    expect(Object.entries(error)).toEqual([["code", "signature-not-bytes"]]);
    expect(error.message).toBe(
      'The signer of the key "kms-1" did not return a Uint8Array. Return the bytes of the signature.',
    );
    expect(toOAuthError(error).error).toBe("server_error");
  });
});

describe("a signer that does not answer (RFC 6749 §5.2)", () => {
  const throttled = new Error("ThrottlingException");

  it.each<[string, Answer]>([
    ["rejects", () => Promise.reject(throttled)],
    [
      "throws",
      () => {
        throw throttled;
      },
    ],
  ])("leads to temporarily_unavailable when it %s", async (_, answer) => {
    const error = await thrownBy(answering(answer));
    expect(error).toMatchObject({
      code: "signer-failed",
      message: 'The signer of the key "kms-1" failed',
      cause: throttled,
    });
    expect(toOAuthError(error)).toMatchObject({ error: "temporarily_unavailable", cause: error });
  });

  it("leads to temporarily_unavailable when it throws at once", async () => {
    const kms = fakeKms();
    const failing = (): never => {
      throw throttled;
    };
    const signed = signJwt(readSigningKey({ ...kms.signer, sign: failing }), { typ, claims });
    await expect(signed).rejects.toMatchObject({ code: "signer-failed", cause: throttled });
  });

  it("is given up after five seconds", async () => {
    const error = await thrownBy(answering(() => new Promise(() => undefined)));
    expect(error).toMatchObject({
      code: "host-call-late",
      message: 'the signer of the key "kms-1" did not answer within 5 seconds',
    });
    expect(toOAuthError(error).error).toBe("temporarily_unavailable");
  });

  it("is waited for until then", async () => {
    const kms = answering(async (bytes, key) => {
      await new Promise((resolve) => void setImmediate(resolve));
      return der(bytes, key);
    });
    expect(verified(await jwtBy(kms), kms)).toMatchObject({ payload: claims });
  });
});
