/** A separate connection for the storage, opened with the settings of the host's client. RFC 6749 §10.5. */
import { type Command, type ServerClient, sendTo } from "./client";

/** A client from `redis` or `ioredis` with a single connection. */
type Duplicable = ServerClient & {
  readonly options?: { readonly socket?: object };
  /** Only in `redis`. */
  readonly isOpen?: boolean;
  /** Only in `ioredis`. */
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

/** True for a client that can be duplicated. A pool from `redis` has no `duplicate`, and its Sentinel client is a pool too. */
export function isDuplicable(client: object): boolean {
  const { duplicate, on, acquire } = client as { duplicate?: unknown; on?: unknown; acquire?: unknown };
  return typeof duplicate === "function" && typeof on === "function" && acquire === undefined;
}

/** A connection. Commands sent in one turn reach one server in this order. Once the connection is lost, every command fails. */
export interface OwnConnection {
  /** Sends one command and resolves with its reply. */
  readonly send: (command: Command) => Promise<unknown>;
  /** Closes the connection. Idempotent. */
  readonly end: () => void;
}

function duplicateOf(client: Duplicable): Duplicate {
  if (client.isOpen === false || client.status === "end")
    throw new Error("redisStorage: the client is closed.");
  return client.duplicate({
    socket: { ...client.options?.socket, reconnectStrategy: false },
    // the same settings for ioredis: a new connection would not count for what the old one wrote
    lazyConnect: true,
    retryStrategy: () => undefined,
    sentinelRetryStrategy: () => undefined,
    autoResendUnfulfilledCommands: false,
  });
}

/** Closes the connection. Older clients throw or reject when it is already closed. */
function close(own: Duplicate): void {
  try {
    Promise.resolve(own.destroy ? own.destroy() : own.disconnect()).catch(() => undefined);
  } catch {
    // it is closed already
  }
}

/**
 * Opens a connection with the settings of the host's client. It ends with that client and never reconnects by itself: `WAIT` counts
 * only for writes on the same connection, so a silent reconnect could acknowledge a write that no replica has.
 *
 * @throws Error (as a rejection) when the client is closed or the server cannot be reached
 */
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
