/** What a device asks for on behalf of a person at another screen: its codes, and the page that answers it. RFC 8628 §3, §6.1. */
import type { EpochSeconds } from "./time";
import { digestToken, type TokenDigest, type TokenHandle } from "./token-value";

/** How long a device code can be answered and redeemed, in seconds. @rfc 8628 §3.2 */
export const deviceCodeSeconds = 900;

/** For how long, in seconds, a device waits between two polls. @rfc 8628 §3.2 */
export const pollSeconds = 5;

/** Consonants only, so that no code is a word. None of them looks like a digit. @rfc 8628 §6.1 */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const codeLength = 8;
const userCode = new RegExp(`^[${letters}]{${codeLength}}$`);

const inTwoHalves = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/**
 * The user code of a device code with this digest, as people read it: `WDJB-MJHT`. Each of 2.56 · 10^10 codes is as likely as the others:
 * the remainder of 256 random bits favours none by more than 2^-220.
 */
export function userCodeOf(digest: TokenDigest): string {
  let rest = BigInt(`0x${Buffer.from(digest, "base64url").toString("hex")}`);
  const base = BigInt(letters.length);
  let code = "";
  while (code.length < codeLength) {
    code += letters.charAt(Number(rest % base));
    rest /= base;
  }
  return inTwoHalves(code);
}

/** The user code that a person has typed, in any case, with any spaces and dashes; `undefined` for what cannot be one. */
export function parseUserCode(text: string): string | undefined {
  const typed = text.toUpperCase().replaceAll(/[\s\p{Dash}]/gu, "");
  return userCode.test(typed) ? inTwoHalves(typed) : undefined;
}

/** Finds the request of a device: it can be computed from the user code and from the device code. */
export function deviceKeyOf(code: string): TokenDigest {
  return digestToken(code);
}

/** What a person knows of the request of a device. */
export interface DeviceInteraction {
  /** The code that the device shows. */
  readonly userCode: string;
}

/** A request of a device that a person is answering. */
export interface DeviceAnswering extends DeviceInteraction {
  /** The authorization that it will be, and the digest of the device code. */
  readonly code: TokenHandle;
  /** When the device code ends. */
  readonly expiresAt: EpochSeconds;
}

/** Where the answer to a device goes: to a page of ours, because nothing leads back to the device. */
export interface DeviceTarget {
  readonly device: DeviceAnswering;
  /** Nowhere. */
  readonly source: "";
}
