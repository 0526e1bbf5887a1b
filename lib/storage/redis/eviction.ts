/** Refuses a Redis that may drop revocations. RFC 6749 §10.5. */
import { textOf } from "./answers";
import { knownMasters, type Master, type RedisServers, type Send, sendTo } from "./client";
import { isRefusal } from "./retrying";
import { answeredIn, later } from "./timers";

const answerMilliseconds = 2_000;
/** How long a policy that is set later may go unnoticed. */
const againMilliseconds = 60_000;
/** How soon to ask again after a master could not be asked: it may come back with other settings. */
const soonMilliseconds = 1_000;

interface Objection {
  readonly error: unknown;
  /** True when the master cannot be reached. It serves no commands either, so it cannot return a wrong answer. */
  readonly isUnreachable: boolean;
}

function settingOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
}

/** True for a reply of the server. One that refuses `INFO` (`NOPERM …`) is reachable; one that is still loading its data is not. */
function isErrorReply(error: unknown): boolean {
  return error instanceof Error && /^[A-Z]+ /.test(error.message) && !isRefusal(error);
}

async function objectionTo(master: Master): Promise<Objection | undefined> {
  const ask = async (): Promise<unknown> => sendTo(await master.client(), ["INFO", "memory"]);
  try {
    const info = textOf(await answeredIn(answerMilliseconds, ask())) ?? "";
    const policy = settingOf(info, "maxmemory_policy");
    if (settingOf(info, "maxmemory") === "0" || policy === "noeviction") return undefined;
    const error = new Error(
      `redisStorage: the server's maxmemory-policy is ${policy}, which may drop revocations. Set it to noeviction.`,
    );
    return { error, isUnreachable: false };
  } catch (error) {
    return { error, isUnreachable: !isErrorReply(error) };
  }
}

/** Why these masters cannot be trusted, or `undefined`. A wrong setting takes precedence over a missing answer. */
async function objectionToAny(masters: readonly Master[]): Promise<Objection | undefined> {
  const found = (await Promise.all(masters.map(objectionTo))).filter((objection) => objection !== undefined);
  return found.find(({ isUnreachable }) => !isUnreachable) ?? found[0];
}

/**
 * A check that resolves as long as no master may evict keys. An evicted revocation would silently make a revoked access token valid
 * again. The first call waits for the answers of all masters. Later they are asked again in the background. After a wrong answer
 * every call waits for a new check, and rejects until all masters give the right answer.
 */
export function evictionCheck(servers: RedisServers): () => Promise<void> {
  let state: "unknown" | "right" | "stale" = "unknown";
  let asking: Promise<void> | undefined;
  let forget: (() => void) | undefined;

  function trustFor(milliseconds: number): void {
    forget?.();
    state = "right";
    forget = later(milliseconds, () => void (state = "stale"));
  }

  async function askAll(): Promise<void> {
    const objection = await objectionToAny(await knownMasters(servers));
    if (!objection) return trustFor(againMilliseconds);
    // the other masters of a cluster go on serving while one is lost
    if (state === "stale" && objection.isUnreachable) return trustFor(soonMilliseconds);
    state = "unknown";
    throw objection.error;
  }

  return async () => {
    if (state === "right") return;
    asking ??= askAll().finally(() => (asking = undefined));
    const answer = asking;
    if (state === "unknown") await answer;
    else answer.catch(() => undefined);
  };
}

/** The same `send`, but each command waits for the check and rejects with it. */
export function refusingEviction(send: Send, check: () => Promise<void>): Send {
  return async (key, command) => {
    await check();
    return send(key, command);
  };
}
