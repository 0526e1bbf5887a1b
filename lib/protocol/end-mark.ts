/** The mark of an ending: what was begun before it is worth nothing after it, without a comparison of clocks. RFC 7009 §2.1. */
import { hash } from "node:crypto";
import type { ConsentKey } from "./consent";
import type { EpochSeconds } from "./time";

/** What is stored when something is ended. */
export interface EndMark {
  /** What was ended, as a digest: 43 characters, and no person's name. */
  readonly key: string;
  /** 128 random bits as base64url; a new one for each ending. */
  readonly mark: string;
  /** Nothing that is older than the ending lives longer. */
  readonly expiresAt: EpochSeconds;
}

/** The key under which a mark is stored once more when everything older than it has ended. */
export function endedKey(mark: string): string {
  return hash("sha256", JSON.stringify(["ended", mark]), "base64url");
}

/** The key of the end mark of everything that one end user has allowed one client at one API. */
export function endMarkKey({ subject, clientId, apiId }: ConsentKey): string {
  return hash("sha256", JSON.stringify(["consent", subject, clientId, apiId]), "base64url");
}
