/** JWTs that a key outside this process signs. Each signature is checked before anybody gets it. RFC 7515 §3.1, §7.1; 7518 §3.3, §3.4, §3.5. */
import { types } from "node:util";
import { inTime } from "../host/ask";
import { mistakesOf } from "../protocol/mistake";
import { lateError } from "../protocol/oauth-error";
import type { RemoteKey } from "./remote-signer";
import { isSignedBy } from "./verify-jwt";

/** How many bytes r and s have. @rfc 7518 §3.4 */
const numberBytes: Readonly<Partial<Record<string, number>>> = { ES256: 32, ES384: 48, ES512: 66 };

/** The content of the first element in DER, and what follows it. From bytes that are no DER comes no signature of the key. */
function elementOf(bytes: Buffer): { readonly content: Buffer; readonly rest: Buffer } {
  // 0x81: the length has a byte of its own, which is enough for all of these
  const start = bytes[1] === 0x81 ? 3 : 2;
  const end = start + (bytes[start - 1] ?? 0);
  return { content: bytes.subarray(start, end), rest: bytes.subarray(end) };
}

/** The signature as a JWS has it: for ECDSA, r and s with their zeros in front. @rfc 3279 §2.2.3, 7518 §3.4 */
function jwsSignature(bytes: Buffer, algorithm: string): Buffer {
  const size = numberBytes[algorithm];
  if (size === undefined || bytes.length === 2 * size) return bytes;
  const r = elementOf(elementOf(bytes).content);
  const numbers = [r.content, elementOf(r.rest).content].map((number) => number.toString("hex"));
  return Buffer.from(numbers.map((hex) => hex.padStart(2 * size, "0").slice(-2 * size)).join(""), "hex");
}

const mistake = mistakesOf({
  "signature-not-bytes": (kid: string) =>
    `The signer of the key "${kid}" did not return a Uint8Array. Return the bytes of the signature.`,
  "signature-not-of-key": (kid: string, algorithm: string) =>
    `The signer of the key "${kid}" returned a signature that its publicJwk does not verify with ${algorithm}. Check the version of the key, the hash and the padding.`,
});

/**
 * A JWT that this key signs. Another version of the key, another hash or padding fails here, and not at every API.
 *
 * @throws Error that leads to `temporarily_unavailable` when the signer fails or takes too long
 * @throws TypeError that names the `kid` when the answer is no signature of this key
 */
export async function signOutside(
  key: RemoteKey,
  { header, payload }: { readonly header: object; readonly payload: string },
): Promise<string> {
  const { kid, algorithm: alg } = key;
  const parts = [JSON.stringify(header), payload];
  const signed = parts.map((part) => Buffer.from(part).toString("base64url")).join(".");
  const answer = await inTime(`the signer of the key "${kid}"`, async () => {
    try {
      return await key.sign(new TextEncoder().encode(signed));
    } catch (cause) {
      throw lateError("signer-failed", `The signer of the key "${kid}" failed`, { cause });
    }
  });
  if (!types.isUint8Array(answer)) throw mistake("signature-not-bytes", kid);
  const signature = jwsSignature(Buffer.from(answer), alg).toString("base64url");
  if (!isSignedBy({ alg, signed, signature }, key)) throw mistake("signature-not-of-key", kid, alg);
  return `${signed}.${signature}`;
}
