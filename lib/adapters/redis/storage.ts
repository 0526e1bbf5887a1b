/** Storage in Redis 6.2 or newer, one server or a cluster, for any number of processes. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import type { ClientRegistry, CompleteStorage } from "../../storage/port";
import { warningsOf, withRisks } from "../../storage/risks";
import { withSteps } from "../../storage/steps";
import { redisAuthorizations, redisEndMarks } from "./authorizations";
import { isCluster, isIoRedisCluster, isRedisClient, type RedisClient, type Send, serversOf } from "./client";
import { redisAssertions, redisClients, redisParkedRequests, redisRegistrations } from "./clients";
import { redisConsents } from "./consents";
import { checkingServers, type ServerCheck, serverCheck } from "./eviction";
import { isDuplicable, replicatedSend } from "./replication";
import { retrying } from "./retrying";
import { redisAccessTokens, redisAuthorizationCodes, redisRedeem, redisRefreshTokens } from "./tokens";

/** The options of `redisStorage`. */
export interface RedisStorageOptions {
  /**
   * A connected client from `redis` or `ioredis`, for one server or a cluster. It remains yours: you set how it reconnects, add its
   * `error` listener and close it. It must not read from replicas, which may not know of a revocation yet.
   */
  readonly client: RedisClient;
  /**
   * The beginning of every key; default `"authmount:"`. It must not contain braces, nor `client:`, `consents:` or `origin:` after
   * its first character: a storage with a shorter prefix could then use the same keys.
   */
  readonly prefix?: string;
  /**
   * How many replicas must have a single use or a revocation before the call succeeds (`WAIT`); default 0. A failover may lose what was
   * acknowledged just before it, unless this is the number of all replicas of a master that may be promoted: any of them may be, also the
   * one that is behind. Above 0, the storage opens a separate connection to each master, which ends when the client does. This needs
   * `createClient()` or `createCluster()` from `redis` (5 or newer), or `new Redis()` from `ioredis`.
   */
  readonly replicas?: number;
  /** `true`: serve even if the server may evict keys, and with them revocations. */
  readonly allowEviction?: boolean;
}

/** Storage in Redis. */
export interface RedisStorage extends CompleteStorage {
  /** The registered clients, which can be saved, listed and deleted here. */
  readonly clients: ClientRegistry;
  /**
   * Asks every master for its settings. It writes nothing, is safe while serving, and can be repeated.
   *
   * @returns what the servers may lose because of their settings, a sentence each, with its id in brackets.
   */
  readonly migrate: () => Promise<readonly string[]>;
}

/** The beginnings of keys that end in arbitrary text: `app:` and `app:client:` would share the key `app:client:client:a`. */
const keyWord = /(?<=.)(?:client|consents|origin):/s;

const mistake = mistakesOf({
  "redis-client-missing": "redisStorage: client is missing. Pass a connected client from redis or ioredis.",
  "redis-replicas-not-whole": "redisStorage: replicas must be a whole number, 0 or more.",
  "redis-replicas-of-ioredis-cluster":
    "redisStorage: replicas does not work with a cluster client from ioredis. Use createCluster() from redis.",
  "redis-replicas-of-many-connections":
    "redisStorage: replicas needs a client with a single connection, so that WAIT counts for its write. Instead of a pool, a Sentinel client from redis or a wrapper, use createClient() or createCluster() from redis, or new Redis() from ioredis, which supports Sentinel (sentinels, name).",
  "redis-prefix-wrong": "redisStorage: prefix must be a non-empty string without braces.",
  "redis-prefix-ambiguous": (word: string) =>
    `redisStorage: prefix must not contain "${word}", which the storage uses in its keys. Write it differently, for example with "-" instead of ":".`,
});

function checkOptions({ client, prefix = "authmount:", replicas = 0 }: Partial<RedisStorageOptions>): void {
  if (!isRedisClient(client)) throw mistake("redis-client-missing");
  if (!Number.isSafeInteger(replicas) || replicas < 0) throw mistake("redis-replicas-not-whole");
  if (replicas > 0 && isIoRedisCluster(client)) throw mistake("redis-replicas-of-ioredis-cluster");
  if (replicas > 0 && !("masters" in client) && !isDuplicable(client))
    throw mistake("redis-replicas-of-many-connections");
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) throw mistake("redis-prefix-wrong");
  const [word] = keyWord.exec(prefix) ?? [];
  if (word !== undefined) throw mistake("redis-prefix-ambiguous", word);
}

/** A `send` that waits for moving slots, and rejects while the servers are not to be trusted. */
function guarded(send: Send, check: ServerCheck): Send {
  return retrying(checkingServers(send, check));
}

/**
 * Storage in Redis. Single uses are scripts, which Redis executes as one atomic step.
 *
 * @throws TypeError when an option is invalid.
 */
export function redisStorage(options: RedisStorageOptions): RedisStorage {
  checkOptions(options ?? {});
  const { client, prefix = "authmount:", replicas = 0, allowEviction = false } = options;
  const servers = serversOf(client);
  const check = serverCheck(servers, { allowEviction, replicas });
  const store = {
    prefix,
    send: guarded(servers.send, check),
    sendReplicated: guarded(replicatedSend(servers, replicas), check),
    isOneServer: !isCluster(client),
  };
  const endMarks = redisEndMarks(store);
  const storage: RedisStorage = {
    clients: redisClients(store, { endMarks, clock: () => Math.floor(Date.now() / 1000) }),
    consents: redisConsents(store),
    authorizations: redisAuthorizations(store),
    authorizationCodes: redisAuthorizationCodes(store),
    refreshTokens: redisRefreshTokens(store),
    accessTokens: redisAccessTokens(store),
    endMarks,
    clientAssertions: redisAssertions(store),
    clientRegistrations: redisRegistrations(store),
    parkedRequests: redisParkedRequests(store),
    async migrate() {
      await check.pass();
      return warningsOf(check.risks());
    },
  };
  return withRisks(withSteps(storage, { redeem: redisRedeem(store) }), check.risks);
}
