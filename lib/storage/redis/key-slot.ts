/** The slot of a cluster that holds a key, by the Redis Cluster specification. RFC 6749 §10.5. */

const slots = 16_384;

/** CRC-16 with the polynomial 0x1021 and the initial value 0 (XMODEM). */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** The slot of a key. The text in its first braces decides, unless it is empty; without braces the whole key decides. */
export function keySlot(key: string): number {
  const hashTag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1];
  return crc16(Buffer.from(hashTag ?? key)) % slots;
}
