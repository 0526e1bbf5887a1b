/** What the server seals into URLs: encrypted, and nobody else can make it. NIST SP 800-38D. */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

/** Seals values for one purpose: nothing else that was made with the secrets can pass as one of them. */
export interface Sealer<Value> {
  /** The value as JSON, encrypted, as base64url. */
  seal(value: Value): string;
  /** The value, if one of the secrets has sealed it for this purpose. */
  open(sealed: string): Value | undefined;
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

function encrypt(text: string, key: Buffer): string {
  // of the text: two texts must never share a nonce
  const nonce = createHmac("sha256", key).update(text).digest().subarray(0, nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce);
  const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

function decrypt(sealed: Buffer, key: Buffer): string | undefined {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const text = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    // sealed with another secret, or with none
    return undefined;
  }
}

/** The first secret seals, all of them open. `purpose` is a text that no other use of the secrets has. */
export function sealer<Value>(purpose: string, secrets: readonly [string, ...string[]]): Sealer<Value> {
  const keyOf = (secret: string): Buffer => createHmac("sha256", secret).update(purpose).digest();
  const newest = keyOf(secrets[0]);
  const keys = secrets.map(keyOf);
  return {
    seal: (value) => encrypt(JSON.stringify(value), newest),
    open(given) {
      const sealed = Buffer.from(given, "base64url");
      // base64 has several forms, and what stands behind the value would go into the URLs that follow
      if (sealed.length < nonceBytes + tagBytes || sealed.toString("base64url") !== given) return undefined;
      const text = keys.map((key) => decrypt(sealed, key)).find((opened) => opened !== undefined);
      return text === undefined ? undefined : (JSON.parse(text) as Value);
    },
  };
}
