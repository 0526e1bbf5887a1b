/** Storage in Redis 6.2 or newer, one server or a cluster, for any number of processes. RFC 6749 §10.5. */
import type { ClientRegistry, Storage } from "../port";
import { redisAuthorizations, redisConsents, redisEndMarks } from "./approvals";
import { isCluster, isIoRedisCluster, isRedisClient, type RedisClient, senderOf } from "./client";
import { redisClients } from "./clients";
import { refusingEviction, replicatedSend } from "./durability";
import { redisAccessTokens, redisAuthorizationCodes, redisRefreshTokens } from "./tokens";

/** What `redisStorage` takes. */
export interface RedisStorageOptions {
  /**
   * A connected client of `redis` or `ioredis`, of one server or a cluster. It stays yours: its reconnecting, its `error`
   * listener and its end. It must not read from replicas.
   */
  readonly client: RedisClient;
  /** What every key begins with; default `"authmount:"`. */
  readonly prefix?: string;
  /**
   * How many replicas must have a single use or a revocation before it counts (`WAIT`); default 0. With 0, a failover may
   * forget what was acknowledged in the moment before it. A cluster takes `redis` 5 or newer for this: that of `ioredis` cannot
   * say `WAIT` to the right node.
   */
  readonly replicas?: number;
  /** `true`: serve even though the server may evict keys, and with them revocations. */
  readonly allowEviction?: boolean;
}

/** Storage in Redis. */
export interface RedisStorage extends Storage {
  readonly clients: ClientRegistry;
}

/** Their slots lie on every master of a cluster. */
const probes = 256;

function optionProblem({ client, prefix, replicas = 0 }: Partial<RedisStorageOptions>): string | undefined {
  if (!isRedisClient(client)) return "client is missing. Write a connected client of redis or ioredis";
  if (prefix !== undefined && (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)))
    return "prefix must be text without braces";
  if (!Number.isSafeInteger(replicas) || replicas < 0) return "replicas must be a whole number from 0 up";
  if (replicas > 0 && isIoRedisCluster(client)) return "replicas needs createCluster() of redis here";
  return undefined;
}

/**
 * Storage in Redis.
 *
 * @throws TypeError when an option is wrong.
 */
export function redisStorage(options: RedisStorageOptions): RedisStorage {
  const problem = optionProblem(options ?? {});
  if (problem !== undefined) throw new TypeError(`redisStorage: ${problem}.`);
  const { client, prefix = "authmount:", replicas = 0, allowEviction = false } = options;
  const keys = Array.from({ length: isCluster(client) ? probes : 1 }, (_, probe) => `${prefix}${probe}`);
  const sender = allowEviction ? senderOf(client) : refusingEviction(senderOf(client), keys);
  const store = { prefix, send: sender.send, sendReplicated: replicatedSend(sender, replicas) };
  return {
    clients: redisClients(store),
    consents: redisConsents(store),
    authorizations: redisAuthorizations(store),
    authorizationCodes: redisAuthorizationCodes(store),
    refreshTokens: redisRefreshTokens(store),
    accessTokens: redisAccessTokens(store),
    endMarks: redisEndMarks(store),
  };
}
