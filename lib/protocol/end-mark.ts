/** End marks: whatever began before a withdrawal is refused after it, without comparing clocks. RFC 7009 §2.1. */
import { hash } from "node:crypto";
import type { ConsentKey } from "./consent";
import type { EpochSeconds } from "./time";

/** The record that a withdrawal stores. */
export interface EndMark {
  /** What was ended, as a digest of 43 characters. It names no person, because the mark may outlive the person's records. */
  readonly key: string;
  /** 128 random bits as base64url; a new value for each withdrawal. */
  readonly mark: string;
  /** By then, everything older than the withdrawal has expired. */
  readonly expiresAt: EpochSeconds;
}

/** The key of the second mark, which is stored once everything older than the first mark has been revoked. */
export function endedKey(mark: string): string {
  return hash("sha256", JSON.stringify(["ended", mark]), "base64url");
}

/** The key of the end mark for everything that one end user has allowed one client at one API. */
export function endMarkKey({ subject, clientId, apiId }: ConsentKey): string {
  return hash("sha256", JSON.stringify(["consent", subject, clientId, apiId]), "base64url");
}
