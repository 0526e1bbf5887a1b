/** Derives the successor of a refresh token, so that a lost answer can be repeated. RFC 6749 §6, 5869, 9700 §4.14.2. */
import { createHmac, hkdfSync } from "node:crypto";
import type { RefreshTokenUse } from "../protocol/authorization";
import type { EpochSeconds } from "../protocol/time";

/** The secret parts of successors. */
export interface RefreshSuccessors {
  /** A new successor of the presented token, and what has to be stored to derive it again. */
  derive(presented: string, now: EpochSeconds): { readonly random: string; readonly use: RefreshTokenUse };
  /** The same successor again, or `undefined` when it was derived with a secret that this process does not have. */
  deriveAgain(presented: string, use: RefreshTokenUse): string | undefined;
}

function expand(secret: string, { purpose, bytes }: { purpose: string; bytes: number }): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", purpose, bytes));
}

/** Both parts have a fixed length, so no other token and salt give the same text. */
function randomOf(presented: string, { key, salt }: { key: Buffer; salt: string }): string {
  return createHmac("sha256", key).update(presented).update(salt).digest("base64url");
}

/**
 * Successors under these secrets: the first one derives, all of them derive again. The salt is stored with the used mark. Without it,
 * the secrets and one old token would give every later token of a family.
 */
export function refreshSuccessors(secrets: readonly string[], randomId: () => string): RefreshSuccessors {
  const keys = secrets.map((secret) => ({
    secretId: expand(secret, { purpose: "refresh secret id v1", bytes: 12 }).toString("base64url"),
    key: expand(secret, { purpose: "refresh successor v1", bytes: 32 }),
  }));

  return {
    derive(presented, usedAt) {
      const [newest] = keys;
      if (!newest) throw new TypeError("a server has at least one secret");
      const salt = randomId();
      const { key, secretId } = newest;
      return { random: randomOf(presented, { key, salt }), use: { usedAt, salt, secretId } };
    },
    deriveAgain(presented, { salt, secretId }) {
      const known = keys.find((one) => one.secretId === secretId);
      return known && randomOf(presented, { key: known.key, salt });
    },
  };
}
