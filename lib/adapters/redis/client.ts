/** What the Redis adapter needs from a client, and how it reaches the server that holds a key. RFC 6749 §10.5. */
import { hostMistake } from "../../protocol/mistake";

/** A `createClient()` or `createClientPool()` from `redis`, or anything else that sends commands to one server. */
export interface NodeRedisClient {
  /** Sends one command and resolves with its reply. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** A `createCluster()` from `redis`. */
export interface NodeRedisCluster {
  readonly masters: readonly { readonly address: string }[];
  /** Slot number → the nodes that hold it. */
  readonly slots: readonly unknown[];
  /** Sends one command to the node that holds the key. */
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
  /** A client of one node. */
  nodeClient(node: { readonly address: string }): NodeRedisClient | Promise<NodeRedisClient>;
}

/** A `new Redis()` or `new Redis.Cluster()` from `ioredis`. */
export interface IoRedisClient {
  readonly isCluster: boolean;
  /** Sends one command and resolves with its reply. */
  call(...args: [command: string, ...args: string[]]): Promise<unknown>;
}

/** A connected client from `redis` or `ioredis`, for one server or a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoRedisClient;

/** A client that sends all commands to one server. */
export type ServerClient = NodeRedisClient | IoRedisClient;

/** A command with its arguments. Numbers are sent as text. */
export type Command = readonly (string | number)[];

/** Sends one command to the master that holds the key. */
export type Send = (key: string, command: Command) => Promise<unknown>;

/** One master. */
export interface Master {
  /** Host and port, which distinguish it from the other masters of the cluster. */
  readonly address: string;
  /** A client that sends commands to this master only. */
  client(): ServerClient | Promise<ServerClient>;
}

/** The servers behind a client. */
export interface RedisServers {
  readonly send: Send;
  /** The masters that the client knows at this moment. */
  masters(): readonly Master[] | Promise<readonly Master[]>;
  /** The master that holds the key. @throws Error when the client does not know it. */
  masterOf(key: string): Master;
}

const slots = 16_384;

/** CRC-16 with the polynomial 0x1021 and the initial value 0 (XMODEM). */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** The slot of a key. The text in its first braces decides, unless it is empty; without braces the whole key decides. */
export function keySlot(key: string): number {
  const hashTag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1];
  return crc16(Buffer.from(hashTag ?? key)) % slots;
}

/** True for anything that can send commands. */
export function isRedisClient(client: unknown): client is RedisClient {
  const { sendCommand, call } = (client ?? {}) as { sendCommand?: unknown; call?: unknown };
  return typeof sendCommand === "function" || typeof call === "function";
}

/** True for a cluster client from `ioredis`. */
export function isIoRedisCluster(client: RedisClient): client is IoRedisCluster {
  return "isCluster" in client && client.isCluster;
}

/** True for a cluster client of either library: one script cannot use keys of several slots there. */
export function isCluster(client: RedisClient): boolean {
  return "masters" in client || isIoRedisCluster(client);
}

/** Sends one command to the only server of this client. */
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
      if (slot === undefined)
        throw hostMistake(
          "redis-slot-without-master",
          "redisStorage: the client does not know the master of a slot. Check the state of the cluster.",
        );
      return masterAt(slot.master);
    },
  };
}

interface IoRedisCluster extends IoRedisClient {
  readonly status: string;
  readonly options?: { readonly retryDelayOnFailover?: number };
  nodes(role: "master"): readonly (IoRedisClient & { readonly options: { host?: string; port?: number } })[];
}

async function mastersOfIoRedis(client: IoRedisCluster): Promise<readonly Master[]> {
  // before it is ready, it knows only the nodes that it was created with
  if (client.status !== "ready") await client.call("EXISTS", "");
  return client.nodes("master").map((node) => ({
    address: `${node.options.host}:${node.options.port}`,
    client: () => node,
  }));
}

/**
 * Sends one command. The client gives up after some redirections, of which a moving slot takes many in less than a second. With this
 * option none of them was a lost connection, so the command was not executed, and the error says so like that of a server.
 */
async function sendToIoRedis(client: IoRedisCluster, command: Command): Promise<unknown> {
  return sendTo(client, command).catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : "";
    const isRefusal =
      client.options?.retryDelayOnFailover === 0 && message.startsWith("Too many Cluster redirections");
    throw isRefusal ? new Error(`TRYAGAIN ${message}`, { cause }) : cause;
  });
}

/** The servers behind a client, the same for both libraries. */
export function serversOf(client: RedisClient): RedisServers {
  if ("masters" in client) return serversOfCluster(client);
  const only: Master = { address: "the server", client: () => client };
  return {
    send: (_, command) =>
      isIoRedisCluster(client) ? sendToIoRedis(client, command) : sendTo(client, command),
    masters: () => (isIoRedisCluster(client) ? mastersOfIoRedis(client) : [only]),
    masterOf: () => only,
  };
}

/** The masters that the client knows. @throws Error when it knows none, as before it is connected */
export async function knownMasters(servers: Pick<RedisServers, "masters">): Promise<readonly Master[]> {
  const known = await servers.masters();
  if (known.length > 0) return known;
  throw hostMistake(
    "redis-not-connected",
    "redisStorage: the client does not know any master. Connect it first.",
  );
}
