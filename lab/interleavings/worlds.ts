/** Worlds in which some operations are about to begin on one family, each in a process of its own. */
import type { World } from "./explore";
import { type Family, newFamily, type Part, restore } from "./family";
import { type Format, type HostOptions, newHost } from "./host";
import { judged } from "./judge";
import type { Ran } from "./loot";
import { operationNames, operationOf, type OperationName } from "./operations";
import { newProcess, type Outcome } from "./server";

/** What processes know of the client when operations begin: nothing, or what they may rely on for the lag. */
export type Memory = "fresh" | "remembered";

/** Which world. */
export interface Setting {
  readonly names: readonly OperationName[];
  readonly memory: Memory;
  readonly format: Format;
  /** Turns the storage of each process into one with a mistake. */
  readonly plant?: HostOptions["plant"];
  /** The same for what is looked at for ID tokens and userinfo. */
  readonly plantIdentity?: HostOptions["plantIdentity"];
  /** What is there although none of the operations needs it. */
  readonly parts?: readonly Part[];
}

const lagOf: Readonly<Record<Memory, number>> = { fresh: 0, remembered: 10 };

const families = new Map<Format, Promise<Family>>();

function familyOf(format: Format): Promise<Family> {
  const family = families.get(format) ?? newFamily(format);
  families.set(format, family);
  return family;
}

/** What these operations need beside the family. */
export function partsOf(names: readonly OperationName[]): readonly Part[] {
  return [...new Set(names.flatMap((name) => operationOf(name).needs ?? []))];
}

/** The access tokens that are there. */
function tokensIn({ accessTokens, ownToken, other }: Family, parts: readonly Part[]): readonly string[] {
  return [
    ...accessTokens,
    ...(parts.includes("client itself") ? [ownToken] : []),
    ...(parts.includes("other context") ? [other.accessToken] : []),
  ];
}

/** A new world with this setting. */
export async function newWorld(setting: Setting): Promise<World> {
  const { names, memory, format, plant, plantIdentity, parts = partsOf(names) } = setting;
  const family = await familyOf(format);
  const host = newHost({ format, plant, plantIdentity });
  await restore(host, { family, parts });
  const lagSeconds = lagOf[memory];
  const outcomes: (Outcome | undefined)[] = names.map(() => undefined);
  const processes = names.map((one, name) =>
    newProcess(host, { name, lagSeconds, word: operationOf(one).word }),
  );
  const remembered = memory === "remembered" ? tokensIn(family, parts) : [];
  if (memory === "remembered") for (const process of processes) await process.remember(remembered);
  const faultsAt = new Map<number, string>();
  const { scheduler } = host;
  return {
    scheduler,
    operations: names.map((name, number) => async () => {
      const process = processes[number];
      if (!process) throw new Error("no process");
      const begun = operationOf(name).begin({ host, family, process });
      outcomes[number] = await begun.catch((): Outcome => ({ kind: "failed" }));
    }),
    summary: () =>
      names
        .map((_, number) => {
          const { kind = "crashed", error = "", body = {} } = outcomes[number] ?? {};
          const events = (processes[number]?.events ?? []).map((event) => event.kind);
          const isTold = "id_token" in body || "sub" in body;
          return `${kind} ${error} ${String(body["scope"])}${isTold ? ", and who Alice is" : ""} [${events.join(" ")}]`;
        })
        .join(" | "),
    noteFault: ({ operation, name }) => void faultsAt.set(operation, name),
    judge: (lateCalls) =>
      judged(
        {
          host,
          family,
          parts,
          lagSeconds,
          processes,
          ran: names.map((name, number): Ran => ({
            name,
            operation: operationOf(name),
            outcome: outcomes[number],
            events: processes[number]?.events ?? [],
            faultAt: faultsAt.get(number),
            stepOf: (call, before) => scheduler.stepOf(number, call, before),
          })),
        },
        lateCalls,
      ),
  };
}

/** A setting in words, as `settingOf` reads it. */
export function describeSetting({ names, memory, format }: Setting): string {
  return `${names.join(" + ")} (${memory}, ${format})`;
}

/** The setting of such words. */
export function settingOf(text: string): Setting {
  const [, names = "", memory, format] =
    /^(.+) \((fresh|remembered), (opaque|jwt|openid)\)$/.exec(text) ?? [];
  const known = names.split(" + ").map((name) => operationNames.find((one) => one === name));
  if (memory === undefined || known.includes(undefined))
    throw new TypeError(`"${text}" is no setting. Write "refresh + withdraw (fresh, opaque)".`);
  return { names: known as OperationName[], memory: memory as Memory, format: format as Format };
}
