/** A key that does not leave its KMS, and the ways in which a signer can go wrong. */
import { constants, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import type { RemoteSigner, SigningAlgorithm } from "../../lib";
import { generateSigningKey } from "../../lib/signing/signing-key";

/** What a signer makes of the bytes that it is given. */
export type Answer = (bytes: Uint8Array, key: KeyObject) => unknown;

/** How to sign; what is left out follows from the algorithm. */
export interface Way {
  readonly hash?: string;
  readonly padding?: number;
  readonly saltLength?: number;
  readonly dsaEncoding?: "der" | "ieee-p1363";
}

/** Signs as the algorithm asks, but for what is said. ECDSA is DER, as a KMS has it. */
export function signing(alg: SigningAlgorithm, way: Way = {}): (bytes: Uint8Array, key: KeyObject) => Buffer {
  const { RSA_PKCS1_PSS_PADDING, RSA_PKCS1_PADDING, RSA_PSS_SALTLEN_DIGEST } = constants;
  const ofRsa = {
    padding: alg.startsWith("PS") ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING,
    ...(alg.startsWith("PS") && { saltLength: RSA_PSS_SALTLEN_DIGEST }),
  };
  const { hash = `sha${alg.slice(2)}`, ...others } = way;
  return (bytes, key) => sign(hash, bytes, { key, ...(!alg.startsWith("ES") && ofRsa), ...others });
}

/** A key in a KMS. */
export interface FakeKms {
  readonly signer: RemoteSigner;
  readonly privateKey: KeyObject;
  /** What it was asked to sign. */
  readonly messages: Uint8Array[];
  /** How it answers; an honest signature unless a test changes it. */
  answer: Answer;
}

/** A new key in a KMS. */
export function fakeKms({
  alg = "ES256",
  kid = "kms-1",
}: { alg?: SigningAlgorithm; kid?: string } = {}): FakeKms {
  const privateKey = createPrivateKey({ key: generateSigningKey(alg), format: "jwk" });
  const kms: FakeKms = {
    privateKey,
    messages: [],
    answer: signing(alg),
    signer: {
      alg,
      kid,
      publicJwk: createPublicKey(privateKey).export({ format: "jwk" }),
      async sign(bytes) {
        kms.messages.push(bytes);
        return (await kms.answer(bytes, privateKey)) as Uint8Array;
      },
    },
  };
  return kms;
}
