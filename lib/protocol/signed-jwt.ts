/** The form of JWTs that clients sign. RFC 7515 §5.2, §7.1; 7519 §7.2; 4648 §3.5. */

/**
 * The algorithms of DPoP proofs. The metadata and the challenges publish this list, which is here because the rules for proofs are loaded on
 * demand.
 *
 * @rfc 9449 §5.1, 8037 §3.1, 9864 §2.2
 */
export const proofAlgorithms = ["ES256", "EdDSA", "Ed25519", "PS256"] as const;

/** A JSON object of a JWT, unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The parts of a JWT. Nothing of it has been verified. */
export interface SignedJwt {
  readonly header: JsonObject;
  readonly payload: JsonObject;
  /** The text that the signature is for. @rfc 7515 §5.2 */
  readonly signed: string;
  readonly signature: Buffer;
}

/** The bytes of a part. Decoding is lenient: only the one base64url form of these bytes is accepted. @rfc 4648 §3.5 */
function decodePart(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function parseObject(text: string): JsonObject | undefined {
  const bytes = decodePart(text);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
    );
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The parts of a JWS in the compact form whose payload is a JSON object, or `undefined`. If a name appears twice in the header or the claims,
 * the last one is used.
 *
 * @rfc 7515 §5.2, §7.1, 7519 §7.2
 */
export function parseSignedJwt(text: string): SignedJwt | undefined {
  // without a dot, the whole text is the first part
  const parts = text.split(".") as [string, ...string[]];
  const [encodedHeader, encodedClaims = "", encodedSignature = "", ...more] = parts;
  const header = parseObject(encodedHeader);
  const payload = parseObject(encodedClaims);
  const signature = decodePart(encodedSignature);
  if (more.length > 0 || !header || !payload || !signature?.length) return undefined;
  return { header, payload, signed: `${encodedHeader}.${encodedClaims}`, signature };
}
