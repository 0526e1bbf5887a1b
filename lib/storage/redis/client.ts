/** What the Redis adapter needs of a client, and how it sends commands to the node that holds the key. RFC 6749 §10.5. */

/** A `createClient()` of `redis`, or anything else that sends one command to one server. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A `createCluster()` of `redis`. */
export interface NodeRedisCluster {
  readonly masters: unknown;
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
  multi(routing: string): {
    addCommand(firstKey: string, isReadonly: boolean, args: string[]): unknown;
    execAsPipeline(): Promise<unknown[]>;
  };
}

/** A `new Redis()` or `new Redis.Cluster()` of `ioredis`. */
export interface IoRedisClient {
  readonly isCluster: boolean;
  call(...args: [command: string, ...args: string[]]): Promise<unknown>;
}

/** A connected client of `redis` or `ioredis`, of one server or a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoRedisClient;

/** A command; numbers go as text. */
export type Command = readonly (string | number)[];

/** Sends one command to the master that holds the key. */
export type Send = (key: string, command: Command) => Promise<unknown>;

export interface RedisSender {
  readonly send: Send;
  /** Sends two commands to the master that holds the key, one right behind the other on one connection. */
  readonly sendBoth: (key: string, commands: readonly [Command, Command]) => Promise<readonly unknown[]>;
}

export function isRedisClient(client: unknown): client is RedisClient {
  const { sendCommand, call } = (client ?? {}) as { sendCommand?: unknown; call?: unknown };
  return typeof sendCommand === "function" || typeof call === "function";
}

export function isIoRedisCluster(client: RedisClient): boolean {
  return "isCluster" in client && client.isCluster;
}

export function isCluster(client: RedisClient): boolean {
  return "masters" in client || isIoRedisCluster(client);
}

function senderOfCluster(client: NodeRedisCluster): RedisSender {
  return {
    send: (key, command) => client.sendCommand(key, false, command.map(String)),
    sendBoth(key, commands) {
      // one by one, a command without a key would go to other nodes
      const batch = client.multi(key);
      for (const command of commands) batch.addCommand(key, false, command.map(String));
      return batch.execAsPipeline();
    },
  };
}

export function senderOf(client: RedisClient): RedisSender {
  if ("masters" in client) return senderOfCluster(client);
  const send: Send = (_, command) => {
    const [name = "", ...args] = command.map(String);
    return "isCluster" in client ? client.call(name, ...args) : client.sendCommand([name, ...args]);
  };
  return {
    send,
    sendBoth: (key, commands) => Promise.all(commands.map((command) => send(key, command))),
  };
}
