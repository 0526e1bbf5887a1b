/** The table of clients in a module of the host, for commands that read or change it. RFC 6749 §2. */
import { isInMemory } from "../adapters/memory/storage";
import { listsRecords } from "../clients/client-lookup";
import { checkClient, checkRedirectSchemes } from "../clients/client-record";
import type { AuthServerOptions } from "../options/options";
import type { Client } from "../protocol/client";
import { type HostMistake, mistakesOf } from "../protocol/mistake";
import type { ClientRegistry, EndMarkStore } from "../storage/port";
import type { Given, World } from "./command";
import { fromModule, optionsIn } from "./load-module";

const mistake = mistakesOf({
  "client-table-lacks-method": (port: string, method: string) =>
    `storage.${port} has no ${method}(), which this command needs. Use the storage of authmount/postgres, /mysql, /redis or /sqlite, or give your table this method (docs/reference/ports.md).`,
  "client-table-in-memory":
    "The storage is in the memory of the process: what a command writes there would be gone when the command ends. Use the storage of authmount/postgres, /mysql, /redis or /sqlite.",
});

type Ports = Partial<Readonly<Record<"clients" | "endMarks", object>>>;

/** A port of the storage that has these methods; nothing else has checked the options. @throws TypeError that names what is missing */
function portOf<Port extends object>(
  { storage }: Pick<AuthServerOptions, "storage">,
  { port, needs }: { port: keyof Ports; needs: readonly (keyof Port & string)[] },
): Port {
  const found = (storage as Ports | undefined)?.[port] ?? {};
  const missing = needs.find((name) => typeof Reflect.get(found, name) !== "function");
  if (missing !== undefined) throw mistake("client-table-lacks-method", port, missing);
  return found as Port;
}

/** What a command needs of the table. */
export type TableNeeds = readonly (keyof ClientRegistry)[];

/** What a command works on. */
export interface ClientTable {
  readonly clients: ClientRegistry;
  readonly options: AuthServerOptions;
}

/**
 * The table that the module exports.
 *
 * @throws TypeError when it lacks a method, or would lose what is written to it
 */
export async function tableIn(
  given: Given,
  { world, needs }: { world: World; needs: TableNeeds },
): Promise<ClientTable> {
  const options = await fromModule(given, { world, find: optionsIn });
  const clients = portOf<ClientRegistry>(options, { port: "clients", needs });
  const writes = needs.includes("replace") || needs.includes("delete");
  if (writes && listsRecords(clients)) throw mistake("client-table-in-memory");
  return { clients, options };
}

/** The end marks of the storage. @throws TypeError when there are none that a server could see */
export function endMarksIn(options: AuthServerOptions): EndMarkStore {
  const endMarks = portOf<EndMarkStore>(options, { port: "endMarks", needs: ["save"] });
  if (isInMemory(endMarks)) throw mistake("client-table-in-memory");
  return endMarks;
}

/** What was read of a table. */
export interface ReadTable {
  /** Records that the server takes. */
  readonly records: readonly Client[];
  /** Why the server refuses each of the others when it finds them. */
  readonly wrong: readonly Pick<HostMistake, "code" | "message">[];
  /** True when there are more than were read. */
  readonly hasMore: boolean;
}

const [pageLimit, mostRecords] = [500, 10_000];

/** All records, as far as the limit. A record without an id is the last one: nothing can be asked for behind it. */
async function readAll(
  clients: Pick<ClientRegistry, "list">,
): Promise<{ found: readonly unknown[]; hasMore: boolean }> {
  const found: unknown[] = [];
  let after: unknown;
  for (;;) {
    const page = await clients.list({ limit: pageLimit, ...(typeof after === "string" && { after }) });
    found.push(...page);
    if (page.length < pageLimit) return { found, hasMore: false };
    after = page.at(-1)?.clientId;
    if (found.length >= mostRecords || typeof after !== "string") return { found, hasMore: true };
  }
}

/** Reads the table of these options through `list`, and checks each record as the server does when it finds it. */
export async function readTable(options: AuthServerOptions): Promise<ReadTable> {
  const { redirectSchemes = [] } = options;
  const { found, hasMore } = await readAll(portOf(options, { port: "clients", needs: ["list"] }));
  const records: Client[] = [];
  const wrong: Pick<HostMistake, "code" | "message">[] = [];
  for (const record of found) {
    try {
      records.push(checkRedirectSchemes(checkClient(record), redirectSchemes));
    } catch (error) {
      const { code, message } = error as HostMistake;
      wrong.push({ code, message });
    }
  }
  return { records, wrong, hasMore };
}
