/** Checking client secrets without stalling the server. RFC 6749 §2.3.1, §10.10. */
import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ConfidentialClient } from "../protocol/client";
import { parseSecretDigest, type SecretDigest, secretMatches } from "../protocol/client-secret";
import { OAuthError } from "../protocol/oauth-error";

/** True when the secret is one of the client's. @throws OAuthError `temporarily_unavailable` when too many checks wait. */
export type ClientSecretCheck = (client: ConfidentialClient, clientSecret: string) => Promise<boolean>;

const maxRunning = 2;
const maxWaitingPerClient = 4;
const maxRemembered = 10_000;

/**
 * Lets two derivations run at a time, so that threads of the pool stay free, and four wait per client, so that a flood of
 * wrong secrets for one client neither grows nor keeps the others out.
 */
function derivationGate(): <T>(clientId: string, derive: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  const pendingByClient = new Map<string, number>();
  let running = 0;

  function count(clientId: string, change: 1 | -1): void {
    const pending = (pendingByClient.get(clientId) ?? 0) + change;
    if (pending === 0) pendingByClient.delete(clientId);
    else pendingByClient.set(clientId, pending);
  }

  return async (clientId, derive) => {
    if ((pendingByClient.get(clientId) ?? 0) >= maxWaitingPerClient) {
      throw new OAuthError("temporarily_unavailable", {
        description: "Too many client authentications at once.",
        reason:
          "more than six checks of this client's secret at once (RFC 6749 §2.3.1): use generateClientSecret(), whose secrets cost nothing to check",
      });
    }
    count(clientId, 1);
    try {
      if (running >= maxRunning) await new Promise<void>((start) => waiting.push(start));
      else running += 1;
      return await derive();
    } finally {
      count(clientId, -1);
      const next = waiting.shift();
      // the next one takes over this one's place
      if (next) next();
      else running -= 1;
    }
  };
}

/** A check that remembers successful derivations only; no number of wrong secrets can push one out. */
export function clientSecretChecker(): ClientSecretCheck {
  const memoryKey = randomBytes(32);
  const remembered = new LRUCache<string, true>({ max: maxRemembered });
  const underWay = new Map<string, Promise<boolean>>();
  const throughGate = derivationGate();

  async function derivedSecretMatches(
    clientId: string,
    check: { secret: string; digest: SecretDigest; key: string },
  ) {
    if (remembered.get(check.key)) return true;
    const already = underWay.get(check.key);
    if (already) return already;
    const derivation = throughGate(clientId, () => secretMatches(check.secret, check.digest));
    underWay.set(check.key, derivation);
    try {
      const matches = await derivation;
      if (matches) remembered.set(check.key, true);
      return matches;
    } finally {
      underWay.delete(check.key);
    }
  }

  return async ({ clientId, secretDigests }, secret) => {
    for (const text of secretDigests) {
      const digest = parseSecretDigest(text);
      if (!digest) continue;
      const key =
        digest.kind === "sha256"
          ? ""
          : createHmac("sha256", memoryKey).update(`${text}\n${secret}`).digest("hex");
      const matches =
        digest.kind === "sha256"
          ? await secretMatches(secret, digest)
          : await derivedSecretMatches(clientId, { secret, digest, key });
      if (matches) return true;
    }
    return false;
  };
}
