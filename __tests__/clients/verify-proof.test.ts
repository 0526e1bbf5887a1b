import { calculateJwkThumbprint } from "jose";
import { createPublicKey, generateKeyPairSync, type JsonWebKey } from "node:crypto";
import { thumbprintOf, verifyProof } from "../../lib/clients/verify-proof";
import { type ExpectedProof, proofAlgorithms } from "../../lib/protocol/dpop-proof";
import { jwkOf } from "../requests/client-assertions";
import { type ProofChanges, proofKeys, proofOf } from "../requests/dpop-proofs";
import { stopClock } from "../hosts/clock";

const now = 1_800_000_000;
const expected: ExpectedProof = { method: "GET", url: "https://api.example/orders", now };

beforeEach(() => {
  stopClock(now);
});

function thumbprint(jwk: JsonWebKey): string {
  return thumbprintOf(createPublicKey({ key: jwk, format: "jwk" }));
}

/** Which rule the proof breaks, or `undefined`. */
function codeOf(changes: ProofChanges): string | undefined {
  const verdict = verifyProof([proofOf(changes)], expected);
  return verdict.kind === "invalid" ? verdict.code : undefined;
}

describe("the key of a DPoP proof (RFC 9449 §4.3, §6.1)", () => {
  it.each(proofAlgorithms)("is proven by a signature with %s", async (alg) => {
    const jwk = jwkOf(createPublicKey(proofKeys[alg]));
    const proof = proofOf({ alg, claims: { jti: "one" } });
    expect(verifyProof([proof], expected)).toEqual({
      kind: "proven",
      thumbprint: await calculateJwkThumbprint(jwk),
      proofId: "one",
    });
  });

  it("is not proven where no proof was sent", () => {
    expect(verifyProof([], expected)).toEqual({ kind: "absent" });
  });

  it("is not proven by the signature of another key", () => {
    const jwk = jwkOf(createPublicKey(proofKeys.EdDSA));
    expect(codeOf({ alg: "Ed25519", header: { jwk } })).toBe("proof-signature-wrong");
  });

  it("must not be sent with its private part", () => {
    expect(codeOf({ header: { jwk: proofKeys.ES256.export({ format: "jwk" }) } })).toBe("proof-key-private");
  });

  it("must not be small or huge (RFC 7518 §3.3)", () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    expect(codeOf({ alg: "PS256", key: privateKey })).toBe("proof-key-unusable");
  });
});

describe("the thumbprint of a key (RFC 7638 §3.1)", () => {
  const [n, e] = [
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    "AQAB",
  ];
  it("is that of the example", () => {
    expect(thumbprint({ kty: "RSA", n, e, alg: "RS256", kid: "2011-04-29" })).toBe(
      "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
    );
  });

  it("is the same however the client writes the key", () => {
    expect(thumbprint({ kty: "RSA", n: `AAAA${n}`, e: "AAEAAQ" })).toBe(thumbprint({ kty: "RSA", n, e }));
  });
});
