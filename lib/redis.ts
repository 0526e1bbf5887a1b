/** The public names of `authmount/redis`. */
export { redisStorage, type RedisStorage, type RedisStorageOptions } from "./adapters/redis/storage";
export type { IoRedisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from "./adapters/redis/client";
export type { ClientRegistry } from "./storage/port";
