/** The public names of `authmount/redis`. */
export { redisStorage, type RedisStorage, type RedisStorageOptions } from "./storage/redis/redis-storage";
export type { IoRedisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from "./storage/redis/client";
export type { ClientRegistry } from "./storage/port";
