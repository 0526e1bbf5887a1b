/** A connection of the storage's own, made like that of the host's client. RFC 6749 §10.5. */
import { type Command, type ServerClient, sendTo } from "./client";

/** A client of `redis` or `ioredis` with one connection. */
type Duplicable = ServerClient & {
  readonly options?: { readonly socket?: object };
  /** Of `redis`. */
  readonly isOpen?: boolean;
  /** Of `ioredis`. */
  readonly status?: string;
  duplicate(overrides: object): Duplicate;
  on(event: "end", listener: () => void): unknown;
  off(event: "end", listener: () => void): unknown;
};

type Duplicate = ServerClient & {
  on(event: "error" | "end", listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy?(): void;
  disconnect(): unknown;
};

/** A pool of `redis` has no `duplicate`; a Sentinel client of `redis` is a pool too. */
export function isDuplicable(client: object): boolean {
  const { duplicate, on, acquire } = client as { duplicate?: unknown; on?: unknown; acquire?: unknown };
  return typeof duplicate === "function" && typeof on === "function" && acquire === undefined;
}

/** What is sent in one turn goes to one server in this order. Once the connection is lost, everything fails. */
export interface OwnConnection {
  readonly send: (command: Command) => Promise<unknown>;
  readonly end: () => void;
}

function duplicateOf(client: Duplicable): Duplicate {
  if (client.isOpen === false || client.status === "end")
    throw new Error("redisStorage: the client is closed.");
  return client.duplicate({
    socket: { ...client.options?.socket, reconnectStrategy: false },
    // the same for ioredis
    lazyConnect: true,
    retryStrategy: () => undefined,
    sentinelRetryStrategy: () => undefined,
    autoResendUnfulfilledCommands: false,
  });
}

/** Older clients throw or reject when the connection is closed already. */
function close(own: Duplicate): void {
  try {
    Promise.resolve(own.destroy ? own.destroy() : own.disconnect()).catch(() => undefined);
  } catch {
    // it is closed
  }
}

/** Opens a connection that ends with the client that it is made like, and is never made again by itself. */
export async function connectLike(client: ServerClient, onEnd: () => void): Promise<OwnConnection> {
  const host = client as Duplicable;
  const own = duplicateOf(host);
  let isOver = false;
  function end(): void {
    if (isOver) return;
    isOver = true;
    host.off("end", end);
    onEnd();
    close(own);
  }
  own.on("error", end);
  own.on("end", end);
  host.on("end", end);
  try {
    await own.connect();
  } catch (error) {
    end();
    throw error;
  }
  return { send: (command) => sendTo(own, command), end };
}
