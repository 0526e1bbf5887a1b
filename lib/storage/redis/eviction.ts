/** A Redis that may drop revocations is not relied on. RFC 6749 §10.5. */
import { textOf } from "./answers";
import { type Master, type RedisServers, type Send, sendTo } from "./client";
import { isRefusal } from "./retrying";
import { answeredIn, later } from "./timers";

const answerMilliseconds = 2_000;
/** How long it may take until a policy that was set later is noticed. */
const againMilliseconds = 60_000;
/** A master that could not be asked may come back with other settings. */
const soonMilliseconds = 1_000;

interface Objection {
  readonly error: unknown;
  /** Nothing can be asked of that master now, so it gives no wrong answer either. */
  readonly isUnreachable: boolean;
}

function settingOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
}

/** A server that does not let itself be asked (`NOPERM …`) is reachable; one that still loads its data is not. */
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

/** What speaks against these masters; a wrong answer before a missing one. */
async function objectionToAny(masters: readonly Master[]): Promise<Objection | undefined> {
  if (masters.length === 0) throw new Error("redisStorage: the client knows no master. Connect it first.");
  const found = (await Promise.all(masters.map(objectionTo))).filter((objection) => objection !== undefined);
  return found.find(({ isUnreachable }) => !isUnreachable) ?? found[0];
}

/**
 * Resolves while no master may evict keys. An evicted revocation would make a revoked access token good again, and nobody would
 * hear of it. The first call waits for the answers. Later the masters are asked again, beside calls that do not wait for it. Once
 * one has given a wrong answer, every call waits and is refused until all give a right one.
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
    const objection = await objectionToAny(await servers.masters());
    if (!objection) return trustFor(againMilliseconds);
    // the other masters of a cluster serve on while one is lost
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

/** The same `send`, which asks first. */
export function refusingEviction(send: Send, check: () => Promise<void>): Send {
  return async (key, command) => {
    await check();
    return send(key, command);
  };
}
