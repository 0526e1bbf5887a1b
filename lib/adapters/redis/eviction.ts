/** Refuses a Redis that may drop revocations, or that may not have heard of them. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import type { Risk } from "../../storage/risks";
import { textOf } from "./answers";
import { knownMasters, type Master, type RedisServers, type Send, sendTo } from "./client";
import { answeredIn, isRefusal, later, withRemedy } from "./retrying";

const answerMilliseconds = 2_000;
/** How soon a call asks again in the background. After twice that time without an answer, calls wait for one. */
const againMilliseconds = 5_000;
/** How soon to ask again after a master could not be asked: it may come back with other settings. */
const soonMilliseconds = 1_000;

/** What the host has decided about its servers. */
interface Decided {
  readonly allowEviction: boolean;
  readonly replicas: number;
}

type Look =
  | { readonly kind: "right"; readonly risks: readonly Risk[] }
  | { readonly kind: "wrong"; readonly error: unknown }
  /** The master cannot be reached. It serves no commands either, so it cannot return a wrong answer. */
  | { readonly kind: "away"; readonly error: unknown };

/** What `INFO` says of this name. */
type Setting = (name: string) => string | undefined;

/** True for a reply of the server. One that refuses `INFO` (`NOPERM …`) is reachable; one that is still loading its data is not. */
function isErrorReply(error: unknown): boolean {
  return error instanceof Error && /^[A-Z]+ /.test(error.message) && !isRefusal(error);
}

const mistake = mistakesOf({
  "redis-server-is-replica":
    "redisStorage: the server is a replica, which may not know of a revocation. Connect to its master.",
  "redis-may-evict": (policy: string) =>
    `redisStorage: the server's maxmemory-policy is ${policy}, which may drop revocations. Set it to noeviction.`,
});

function problemIn(setting: Setting, { allowEviction }: Decided): Error | undefined {
  // a replica in a cluster sends its clients to the master
  if (setting("role") === "slave" && setting("cluster_enabled") !== "1")
    return mistake("redis-server-is-replica");
  const policy = setting("maxmemory_policy");
  return allowEviction || setting("maxmemory") === "0" || policy === "noeviction"
    ? undefined
    : mistake("redis-may-evict", String(policy));
}

/** Known before any server has answered, as the assessment asks none. */
const evicting: Risk = {
  code: "redis-may-evict-records",
  problem: "allowEviction is true",
  fix: "Set maxmemory-policy to noeviction, and leave allowEviction out.",
};

function risksIn(setting: Setting, { replicas }: Decided): readonly Risk[] {
  const connected = Number(setting("connected_slaves") ?? 0);
  const found: Risk[] = [];
  if (setting("aof_enabled") === "0") {
    const fix = "Set appendonly to yes, and appendfsync to always.";
    found.push({ code: "redis-without-append-only-file", problem: "Redis has no append-only file", fix });
  }
  if (connected > replicas) {
    const fix = "Set replicas to the number of replicas that may be promoted (replica-priority above 0).";
    found.push({
      code: "redis-replicas-not-waited-for",
      problem: `a master has ${connected} replicas, and replicas is ${replicas}`,
      fix,
    });
  }
  return found;
}

async function lookAt(master: Master, decided: Decided): Promise<Look> {
  const ask = async (): Promise<unknown> => sendTo(await master.client(), ["INFO"]);
  try {
    const info = textOf(await answeredIn(answerMilliseconds, ask())) ?? "";
    const setting: Setting = (name) => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
    const error = problemIn(setting, decided);
    return error === undefined
      ? { kind: "right", risks: risksIn(setting, decided) }
      : { kind: "wrong", error };
  } catch (error) {
    return { kind: isErrorReply(error) ? "wrong" : "away", error: withRemedy(error) };
  }
}

/** A check of the servers. */
export interface ServerCheck {
  /** Resolves while every master that can be reached is one to trust, and rejects otherwise. */
  readonly pass: () => Promise<void>;
  /** What the masters may lose, as of the latest answers. */
  readonly risks: () => readonly Risk[];
}

/**
 * A check that passes as long as no server may have lost a revocation: it neither evicts keys nor is a replica. A lost revocation would
 * silently make a revoked access token valid again. The first call waits for the answers of all masters. Later they are asked again in
 * the background. After a wrong answer every call waits for a new check, and rejects until all masters give the right answer.
 */
export function serverCheck(servers: RedisServers, decided: Decided): ServerCheck {
  let state: "unknown" | "right" | "stale" = "unknown";
  let asking: Promise<void> | undefined;
  let forget: (() => void) | undefined;
  let risks: readonly Risk[] = [];

  function trustFor(milliseconds: number): void {
    forget?.();
    state = "right";
    forget = later(milliseconds, () => {
      state = "stale";
      forget = later(againMilliseconds, () => void (state = "unknown"));
    });
  }

  async function askAll(): Promise<void> {
    const masters = await knownMasters(servers);
    const looks = await Promise.all(masters.map((master) => lookAt(master, decided)));
    const right = looks.filter((look) => look.kind === "right");
    const wrong = looks.find((look) => look.kind === "wrong");
    const away = looks.find((look) => look.kind === "away");
    // the other masters of a cluster serve while one is lost
    const error = wrong ?? (state === "stale" || right.length > 0 ? undefined : away);
    if (error) {
      state = "unknown";
      throw error.error;
    }
    risks = right.flatMap((look) => look.risks);
    trustFor(away ? soonMilliseconds : againMilliseconds);
  }

  return {
    risks: () => [...(decided.allowEviction ? [evicting] : []), ...risks],
    async pass() {
      if (state === "right") return;
      asking ??= askAll().finally(() => (asking = undefined));
      const answer = asking;
      if (state === "unknown") await answer;
      else answer.catch(() => undefined);
    },
  };
}

/** The same `send`, but each command waits for the check and rejects with it. */
export function checkingServers(send: Send, { pass }: ServerCheck): Send {
  return async (key, command) => {
    await pass();
    return send(key, command);
  };
}
