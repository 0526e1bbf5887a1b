/** Writes that count once replicas have them: a failover must not make a spent code good again. RFC 6749 §10.5, 9700 §4.14.2. */
import { lateError } from "../../protocol/oauth-error";
import { numberOf } from "./answers";
import type { Command, Master, RedisServers, Send } from "./client";
import { connectLike, type OwnConnection } from "./own-connection";
import { answeredIn } from "./timers";

/** How long a write waits for its replicas before the request fails. */
const replicaMilliseconds = 1_000;
/** How long a server may take to answer `WAIT` before its connection is given up. */
const answerMilliseconds = 3_000;

/** Commands that go one behind the other; the answer to the last one counts. */
type Write = readonly Command[];

interface Queued {
  readonly write: Write;
  readonly resolve: (answer: Promise<unknown>) => void;
}

async function checkReplicas(answer: Promise<unknown>, replicas: number): Promise<void> {
  const have = await answer.then(numberOf).catch((cause: unknown) => {
    // by its own message it could pass for a refusal of the write
    throw new Error("redisStorage: WAIT has failed.", { cause });
  });
  if (have < replicas) throw new Error(`redisStorage: ${have} of ${replicas} replicas have the write.`);
}

/** Sends these writes, and one `WAIT` for all of them; true when enough replicas have them. */
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

/** Writes of the time in which a `WAIT` is under way go together with the next one: none waits for more than two. */
function committing(connection: OwnConnection, replicas: number): (write: Write) => Promise<unknown> {
  let queued: Queued[] = [];
  let isCommitting = false;
  let isBehind = false;

  /** While replicas are behind nothing is written: what was done and not acknowledged would cost its client the token. */
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
        const refused = lateError("redisStorage: the replicas are behind, and nothing was written.");
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
 * A `send` that is done once so many replicas have the write. A write that a failover may take back would let a spent token be
 * used again, so too few of them is a failure of the request. It has a connection of its own to each master: `WAIT` counts for
 * what was written on the same one, and nothing else can be answered on it meanwhile.
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
      // the client learns the way by a command of its own, and the next attempt finds it
      await servers.send(key, ["EXISTS", key]);
      throw error;
    }
  };
}
