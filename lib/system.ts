/** The clock and the random values of the machine: time and chance come in by this door alone. RFC 6749 §10.10. */
import { randomFillSync } from "node:crypto";
import type { EpochSeconds } from "./protocol/time";

/** The current time of the system clock. */
export function systemClock(): EpochSeconds {
  return Math.floor(Date.now() / 1000);
}

/** Random values that nobody can guess. */
export interface RandomValues {
  /** 256 random bits, base64url. */
  readonly randomToken: () => string;
  /** 128 random bits, base64url. */
  readonly randomId: () => string;
}

/** Random values, drawn from the system in blocks: one draw costs as much as a hundred values. */
export function randomValues(): RandomValues {
  const block = Buffer.alloc(4_096);
  let used = block.length;
  function draw(bytes: number): string {
    if (used + bytes > block.length) {
      randomFillSync(block);
      used = 0;
    }
    const end = used + bytes;
    const value = block.toString("base64url", used, end);
    // the block must not keep a secret that was given out
    block.fill(0, used, end);
    used = end;
    return value;
  }
  return { randomToken: () => draw(32), randomId: () => draw(16) };
}
