/** Checking client secrets without stalling the server. RFC 6749 §2.3.1, §10.10. */
import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ConfidentialClient } from "../protocol/client";
import { parseSecretDigest, type SecretDigest, secretMatches } from "../protocol/client-secret";
import { derivationGate } from "./derivation-gate";

/** True when the secret is one of the client's. @throws OAuthError `temporarily_unavailable` when too many checks wait. */
export type ClientSecretCheck = (client: ConfidentialClient, clientSecret: string) => Promise<boolean>;

const maxRemembered = 10_000;

/** A presented secret and a digest that takes a derivation; `key` names the two. */
interface SlowCheck {
  readonly digest: SecretDigest;
  readonly key: string;
}

/**
 * A check that asks what is cheap first: SHA-256 digests, then which derivations have succeeded before. Failures are never
 * remembered, so no number of wrong secrets can push a success out. Equal checks at one time share one derivation.
 */
export function clientSecretChecker(): ClientSecretCheck {
  const memoryKey = randomBytes(32);
  const remembered = new LRUCache<string, true>({ max: maxRemembered });
  const underWay = new Map<string, Promise<boolean>>();
  const throughGate = derivationGate();

  function keyOf(...parts: readonly string[]): string {
    return createHmac("sha256", memoryKey).update(JSON.stringify(parts)).digest("base64url");
  }

  async function derive(secret: string, checks: readonly SlowCheck[]): Promise<boolean> {
    for (const { digest, key } of checks) {
      if (!(await secretMatches(secret, digest))) continue;
      remembered.set(key, true);
      return true;
    }
    return false;
  }

  async function inTurn(clientId: string, check: { secret: string; slow: readonly SlowCheck[] }) {
    const name = check.slow.map(({ key }) => key).join();
    const already = underWay.get(name);
    if (already) return already;
    const derivation = throughGate(clientId, () => derive(check.secret, check.slow));
    underWay.set(name, derivation);
    try {
      return await derivation;
    } finally {
      underWay.delete(name);
    }
  }

  return async ({ clientId, secretDigests }, secret) => {
    const slow: SlowCheck[] = [];
    for (const text of secretDigests) {
      const digest = parseSecretDigest(text);
      if (digest?.kind === "scrypt") slow.push({ digest, key: keyOf(clientId, text, secret) });
      else if (digest && (await secretMatches(secret, digest))) return true;
    }
    if (slow.some(({ key }) => remembered.get(key))) return true;
    return slow.length > 0 && inTurn(clientId, { secret, slow });
  };
}
