/** A sign-out that is under way, sealed into the URLs that it leads through. OpenID Connect RP-Initiated Logout §2. */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

/**
 * A sign-out that was checked. It is bound to no browser and to no time: anyone can make the link that begins it. It is encrypted, because
 * URLs stand in logs, and it names a person.
 */
export interface SignOutTicket {
  /** Identifier of the issuer. */
  readonly issuer: string;
  /** The client of the hint, or the one that the request names. */
  readonly clientId?: string | undefined;
  /** The person of the hint. */
  readonly subject?: string | undefined;
  /** Where the person goes afterwards; checked again then. */
  readonly target?: string | undefined;
  readonly state?: string | undefined;
  readonly uiLocales?: string | undefined;
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** A key for this purpose only: nothing else that was made with the secret can pass as a ticket. */
function keyOf(secret: string): Buffer {
  return createHmac("sha256", secret).update("authmount sign-out").digest();
}

/** The ticket as text for a URL. */
export function sealTicket(ticket: SignOutTicket, secret: string): string {
  const [key, text] = [keyOf(secret), JSON.stringify(ticket)];
  // of the text: two texts must never share a nonce
  const nonce = createHmac("sha256", key).update(text).digest().subarray(0, nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce);
  const sealed = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

function decrypt(sealed: Buffer, secret: string): string | undefined {
  const decipher = createDecipheriv(algorithm, keyOf(secret), sealed.subarray(0, nonceBytes));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const text = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    // sealed with another secret, or with none
    return undefined;
  }
}

/** The ticket, if one of the secrets has sealed it. */
export function openTicket(given: string, secrets: readonly string[]): SignOutTicket | undefined {
  const sealed = Buffer.from(given, "base64url");
  // base64 has several forms, and what stands behind the ticket would go into the URLs that follow
  if (sealed.length < nonceBytes + tagBytes || sealed.toString("base64url") !== given) return undefined;
  for (const secret of secrets) {
    const text = decrypt(sealed, secret);
    if (text !== undefined) return JSON.parse(text) as SignOutTicket;
  }
  return undefined;
}
