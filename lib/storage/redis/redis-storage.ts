/** Storage in Redis 6.2 or newer, one server or a cluster, for any number of processes. RFC 6749 §10.5. */
import type { ClientRegistry, Storage } from "../port";
import { redisAuthorizations, redisConsents, redisEndMarks } from "./approvals";
import { isCluster, isIoRedisCluster, isRedisClient, type RedisClient, type Send, serversOf } from "./client";
import { redisClients } from "./clients";
import { evictionCheck, refusingEviction } from "./eviction";
import { isDuplicable } from "./own-connection";
import { replicatedSend } from "./replication";
import { retrying } from "./retrying";
import { redisAccessTokens, redisAuthorizationCodes, redisRefreshTokens } from "./tokens";

/** What `redisStorage` takes. */
export interface RedisStorageOptions {
  /**
   * A connected client of `redis` or `ioredis`, of one server or a cluster. It stays yours: its reconnecting, its `error`
   * listener and its end. It must not read from replicas.
   */
  readonly client: RedisClient;
  /**
   * What every key begins with; default `"authmount:"`. No braces, and none of `client:`, `consents:` and `origin:` behind its
   * first character: storage with a shorter prefix could have the same keys.
   */
  readonly prefix?: string;
  /**
   * How many replicas must have a single use or a revocation before it counts (`WAIT`); default 0. With 0, a failover may
   * forget what was acknowledged in the moment before it. Storage then opens a connection of its own to each master, which ends
   * when the client does. It takes `createClient()` or `createCluster()` of `redis` (5 or newer), or `new Redis()` of `ioredis`.
   */
  readonly replicas?: number;
  /** `true`: serve even though the server may evict keys, and with them revocations. */
  readonly allowEviction?: boolean;
}

/** Storage in Redis. */
export interface RedisStorage extends Storage {
  readonly clients: ClientRegistry;
}

/** What our keys begin with where anything may follow: `app:` and `app:client:` would share the key `app:client:client:a`. */
const keyWord = /(?<=.)(?:client|consents|origin):/s;

function prefixProblem(prefix: unknown): string | undefined {
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) return "prefix must be text without braces";
  const [word] = keyWord.exec(prefix) ?? [];
  if (word === undefined) return undefined;
  return `prefix must not contain "${word}", which is a part of keys. Write it in another way, for example with "-" in place of ":"`;
}

function optionProblem({
  client,
  prefix = "authmount:",
  replicas = 0,
}: Partial<RedisStorageOptions>): string | undefined {
  if (!isRedisClient(client)) return "client is missing. Write a connected client of redis or ioredis";
  if (!Number.isSafeInteger(replicas) || replicas < 0) return "replicas must be a whole number from 0 up";
  if (replicas > 0 && isIoRedisCluster(client))
    return "replicas does not work with a cluster of ioredis. Use createCluster() of redis";
  if (replicas > 0 && !("masters" in client) && !isDuplicable(client))
    return "replicas needs a client of one connection, so that WAIT counts for its write. In place of a pool, a Sentinel client of redis or a wrapper use createClient() or createCluster() of redis, or new Redis() of ioredis, which knows Sentinel (sentinels, name)";
  return prefixProblem(prefix);
}

/** A way to send commands that bears with a moving slot, and is refused while the server may evict keys. */
function guarded(send: Send, check: (() => Promise<void>) | undefined): Send {
  return retrying(check ? refusingEviction(send, check) : send);
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
  const servers = serversOf(client);
  const check = allowEviction ? undefined : evictionCheck(servers);
  const store = {
    prefix,
    send: guarded(servers.send, check),
    sendReplicated: guarded(replicatedSend(servers, replicas), check),
    isOneServer: !isCluster(client),
  };
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
