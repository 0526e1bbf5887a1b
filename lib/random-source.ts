/** Random values, drawn from the system in blocks: one draw costs as much as a hundred values. RFC 6749 §10.10. */
import { randomFillSync } from "node:crypto";

/** Gives so many random bytes, base64url. */
export function randomSource(): (bytes: number) => string {
  const block = Buffer.alloc(4_096);
  let used = block.length;
  return (bytes) => {
    if (used + bytes > block.length) {
      randomFillSync(block);
      used = 0;
    }
    const end = used + bytes;
    const value = block.toString("base64url", used, end);
    // what was given out is nowhere else
    block.fill(0, used, end);
    used = end;
    return value;
  };
}
