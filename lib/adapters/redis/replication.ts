/** Writes that wait for replicas: a failover must not make a spent code valid again. RFC 6749 §10.5, 9700 §4.14.2. */
import { hostMistake } from "../../protocol/mistake";
import { lateError } from "../../protocol/oauth-error";
import { numberOf } from "./answers";
import { type Command, type Master, type RedisServers, type Send, sendTo, type ServerClient } from "./client";
import { answeredIn } from "./retrying";

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
    throw hostMistake("redis-client-closed", "redisStorage: the client is closed. Close it last.");
  return client.duplicate({
    socket: { ...client.options?.socket, reconnectStrategy: false },
    // the same settings for ioredis: `WAIT` on a new connection does not wait for what the old one wrote
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

/** How long a write waits for its replicas before the request fails. */
const replicaMilliseconds = 1_000;
/** How long a server may take to answer `WAIT` before its connection is closed. */
const answerMilliseconds = 3_000;

/** Commands that are sent one after the other. The reply to the last one is used. */
type Write = readonly Command[];

interface Queued {
  readonly write: Write;
  readonly resolve: (answer: Promise<unknown>) => void;
}

async function checkReplicas(answer: Promise<unknown>, replicas: number): Promise<void> {
  const have = await answer.then(numberOf).catch((cause: unknown) => {
    // the original message could be mistaken for a refusal of the write, which would then be sent again
    throw hostMistake("redis-wait-failed", "redisStorage: WAIT failed: see the cause.", { cause });
  });
  if (have < replicas) {
    throw hostMistake(
      "redis-replicas-missing",
      `redisStorage: only ${have} of ${replicas} replicas have the write. Check that the replicas are connected.`,
    );
  }
}

/** Sends these writes and one `WAIT` for all of them. Resolves with true when enough replicas have them. */
async function commit(
  { send, end }: OwnConnection,
  { queued, replicas }: { queued: readonly Queued[]; replicas: number },
): Promise<boolean> {
  const answers = queued.map(({ write }) => Promise.all(write.map(send)));
  const acknowledged = checkReplicas(send(["WAIT", replicas, replicaMilliseconds]), replicas);
  const settled = answeredIn(answerMilliseconds, Promise.allSettled([...answers, acknowledged]));
  for (const [index, { resolve }] of queued.entries()) {
    const answer = Promise.all([answers[index], acknowledged]).then(([said]) => said?.at(-1));
    resolve(Promise.race([answer, settled.then(() => answer)]));
  }
  const [outcome] = (await settled.catch(end))?.slice(-1) ?? [];
  return outcome?.status === "fulfilled";
}

/** A writer that batches: writes that arrive during a `WAIT` share the next one, so that no write waits for more than two. */
function committing(connection: OwnConnection, replicas: number): (write: Write) => Promise<unknown> {
  let queued: Queued[] = [];
  let isCommitting = false;
  let isBehind = false;

  /** True while replicas are behind. Nothing is written then: a use without acknowledgement would cost its client the token. */
  async function isStillBehind(): Promise<boolean> {
    const wait = connection.send(["WAIT", replicas, replicaMilliseconds]);
    return answeredIn(answerMilliseconds, checkReplicas(wait, replicas)).then(
      () => false,
      () => true,
    );
  }

  async function commitAll(): Promise<void> {
    isCommitting = true;
    while (queued.length > 0) {
      const batch = queued;
      queued = [];
      if (isBehind && (await isStillBehind())) {
        const refused = lateError(
          "redis-replicas-behind",
          "redisStorage: the replicas are behind, so nothing was written. Check that they are connected.",
        );
        for (const { resolve } of batch) resolve(Promise.reject(refused));
      } else isBehind = !(await commit(connection, { queued: batch, replicas }));
    }
    isCommitting = false;
  }
  return (write) =>
    new Promise((resolve) => {
      queued.push({ write, resolve });
      if (!isCommitting) void commitAll();
    });
}

/**
 * A `send` that resolves once this many replicas have the write. A failover may undo any other write, and a spent token could be
 * used again, so with too few replicas the request fails. It uses a separate connection to each master: `WAIT` counts only for
 * writes on the same connection, and blocks everything behind it.
 */
export function replicatedSend(servers: RedisServers, replicas: number): Send {
  if (replicas === 0) return servers.send;
  const opened = new Map<string, Promise<(write: Write) => Promise<unknown>>>();

  async function open(master: Master): Promise<(write: Write) => Promise<unknown>> {
    try {
      const connection = await connectLike(await master.client(), () => opened.delete(master.address));
      return committing(connection, replicas);
    } catch (error) {
      opened.delete(master.address);
      throw error;
    }
  }

  async function writeTo(master: Master, write: Write): Promise<unknown> {
    const writer = opened.get(master.address) ?? open(master);
    opened.set(master.address, writer);
    return (await writer)(write);
  }

  return async (key, command) => {
    try {
      return await writeTo(servers.masterOf(key), [command]);
    } catch (error) {
      const [reply, , address] = error instanceof Error ? error.message.split(" ") : [];
      if (reply !== "ASK" && reply !== "MOVED") throw error;
      const asked = reply === "ASK" && (await servers.masters()).find((master) => master.address === address);
      if (asked) return await writeTo(asked, [["ASKING"], command]);
      // a command through the client makes it learn the new master, and the next attempt finds it
      await servers.send(key, ["EXISTS", key]);
      throw error;
    }
  };
}
