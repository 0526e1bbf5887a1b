/** A sign-out that is under way, sealed into the URLs that it leads through. OpenID Connect RP-Initiated Logout §2. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { EpochSeconds } from "../protocol/time";

/** A sign-out that was checked. Nothing in it is a secret, and nothing is bound to a browser: anyone can make the link that begins it. */
export interface SignOutTicket {
  /** Identifier of the issuer. */
  readonly issuer: string;
  /** The client of the hint, or the one that the request names. */
  readonly clientId?: string;
  /** The person of the hint. */
  readonly subject?: string;
  /** Where the person goes afterwards; checked again then. */
  readonly target?: string;
  readonly state?: string;
  readonly uiLocales?: string;
  /** From then on the person has to begin again. */
  readonly expiresAt: EpochSeconds;
}

/** A key for this purpose only, so that nothing else that was made with the secret can pass as a ticket. */
function digestOf(text: string, secret: string): Buffer {
  const key = createHmac("sha256", secret).update("authmount sign-out").digest();
  return createHmac("sha256", key).update(text).digest();
}

/** The ticket as text for a URL. */
export function sealTicket(ticket: SignOutTicket, secret: string): string {
  const text = Buffer.from(JSON.stringify(ticket)).toString("base64url");
  return `${text}.${digestOf(text, secret).toString("base64url")}`;
}

/** The ticket, if one of the secrets has sealed it and its time is not over. */
export function openTicket(
  sealed: string | undefined,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: EpochSeconds },
): SignOutTicket | undefined {
  const [text = "", seal = ""] = sealed?.split(".") ?? [];
  const presented = Buffer.from(seal, "base64url");
  const isSealed = secrets.some((secret) => {
    const digest = digestOf(text, secret);
    return presented.length === digest.length && timingSafeEqual(presented, digest);
  });
  if (!isSealed) return undefined;
  const ticket = JSON.parse(Buffer.from(text, "base64url").toString()) as SignOutTicket;
  return now < ticket.expiresAt ? ticket : undefined;
}
