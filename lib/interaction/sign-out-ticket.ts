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

/** The text with its seal, by a key for this purpose only: nothing else that was made with the secret can pass as a ticket. */
function sealed(text: string, secret: string): string {
  const key = createHmac("sha256", secret).update("authmount sign-out").digest();
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}

/** The ticket as text for a URL. */
export function sealTicket(ticket: SignOutTicket, secret: string): string {
  return sealed(Buffer.from(JSON.stringify(ticket)).toString("base64url"), secret);
}

/** The ticket, if one of the secrets has sealed it and its time is not over. */
export function openTicket(
  given = "",
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: EpochSeconds },
): SignOutTicket | undefined {
  const [text = ""] = given.split(".");
  const presented = Buffer.from(given);
  // as a whole: base64 has several forms, and what stands behind the seal would go into the URLs that follow
  const isSealed = secrets.some((secret) => {
    const right = Buffer.from(sealed(text, secret));
    return presented.length === right.length && timingSafeEqual(presented, right);
  });
  if (!isSealed) return undefined;
  const ticket = JSON.parse(Buffer.from(text, "base64url").toString()) as SignOutTicket;
  return now < ticket.expiresAt ? ticket : undefined;
}
