/** What the Redis adapter needs of a client, and how it reaches the server that holds a key. RFC 6749 §10.5. */
import { keySlot } from "./key-slot";

/** A `createClient()` or `createClientPool()` of `redis`, or anything else that sends one command to one server. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A `createCluster()` of `redis`. */
export interface NodeRedisCluster {
  readonly masters: readonly { readonly address: string }[];
  readonly slots: readonly unknown[];
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
  nodeClient(node: { readonly address: string }): NodeRedisClient | Promise<NodeRedisClient>;
}

/** A `new Redis()` or `new Redis.Cluster()` of `ioredis`. */
export interface IoRedisClient {
  readonly isCluster: boolean;
  call(...args: [command: string, ...args: string[]]): Promise<unknown>;
}

/** A connected client of `redis` or `ioredis`, of one server or a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoRedisClient;

/** A client that sends all commands to one server. */
export type ServerClient = NodeRedisClient | IoRedisClient;

/** A command; numbers go as text. */
export type Command = readonly (string | number)[];

/** Sends one command to the master that holds the key. */
export type Send = (key: string, command: Command) => Promise<unknown>;

/** One master. */
export interface Master {
  /** Tells it from the others of the cluster. */
  readonly address: string;
  client(): ServerClient | Promise<ServerClient>;
}

/** The servers behind a client. */
export interface RedisServers {
  readonly send: Send;
  /** Those that are known at this moment. */
  masters(): readonly Master[] | Promise<readonly Master[]>;
  masterOf(key: string): Master;
}

export function isRedisClient(client: unknown): client is RedisClient {
  const { sendCommand, call } = (client ?? {}) as { sendCommand?: unknown; call?: unknown };
  return typeof sendCommand === "function" || typeof call === "function";
}

export function isIoRedisCluster(client: RedisClient): client is IoRedisCluster {
  return "isCluster" in client && client.isCluster;
}

export function isCluster(client: RedisClient): boolean {
  return "masters" in client || isIoRedisCluster(client);
}

/** Sends one command to the one server of this client. */
export async function sendTo(client: ServerClient, command: Command): Promise<unknown> {
  const [name = "", ...args] = command.map(String);
  return "isCluster" in client ? client.call(name, ...args) : client.sendCommand([name, ...args]);
}

function serversOfCluster(client: NodeRedisCluster): RedisServers {
  type Node = NodeRedisCluster["masters"][number];
  const masterAt = (node: Node): Master => ({ address: node.address, client: () => client.nodeClient(node) });
  return {
    send: (key, command) => client.sendCommand(key, false, command.map(String)),
    masters: () => client.masters.map(masterAt),
    masterOf(key) {
      const slot = client.slots[keySlot(key)] as { readonly master: Node } | undefined;
      if (slot === undefined) throw new Error("redisStorage: the client knows no master for a slot.");
      return masterAt(slot.master);
    },
  };
}

interface IoRedisCluster extends IoRedisClient {
  readonly status: string;
  nodes(role: "master"): readonly (IoRedisClient & { readonly options: { host?: string; port?: number } })[];
}

async function mastersOfIoRedis(client: IoRedisCluster): Promise<readonly Master[]> {
  // until it is ready it knows the nodes that it was given, and not the cluster's
  if (client.status !== "ready") await client.call("EXISTS", "");
  return client.nodes("master").map((node) => ({
    address: `${node.options.host}:${node.options.port}`,
    client: () => node,
  }));
}

export function serversOf(client: RedisClient): RedisServers {
  if ("masters" in client) return serversOfCluster(client);
  const only: Master = { address: "the server", client: () => client };
  return {
    send: (_, command) => sendTo(client, command),
    masters: () => (isIoRedisCluster(client) ? mastersOfIoRedis(client) : [only]),
    masterOf: () => only,
  };
}
