/** A slot of a real cluster that is on the move from its master to another one, as by `redis-cli --cluster reshard`. */
import { askRedis, type RedisCluster, type RedisServer } from "../../__tests__/servers/redis-server";

function ask(server: RedisServer, ...args: readonly (string | number)[]): Promise<unknown> {
  return askRedis(server.url, (client) => client.sendCommand(args.map(String)));
}

export interface MovingSlot {
  /** Takes these keys to the new master. */
  take(keys: readonly string[]): Promise<void>;
  /** Commands that a server has refused with this error since the slot began to move. */
  refused(error: "ASK" | "TRYAGAIN"): Promise<number>;
  /** Takes the other keys, and gives the slot to the new master. */
  finish(): Promise<void>;
}

/** Begins to move the slot of this key to the next master. */
export async function moveSlotOf({ servers }: RedisCluster, key: string): Promise<MovingSlot> {
  const masters = servers.slice(0, 3);
  const slot = Number(await ask(masters[0] as RedisServer, "CLUSTER", "KEYSLOT", key));
  const ids = await Promise.all(masters.map(async (server) => String(await ask(server, "CLUSTER", "MYID"))));
  const owners = (await ask(masters[0] as RedisServer, "CLUSTER", "SLOTS")) as [
    number,
    number,
    [string, number],
  ][];
  const port = owners.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
  const from = masters.findIndex((server) => server.port === port);
  const [source, target] = [masters[from] as RedisServer, masters[(from + 1) % 3] as RedisServer];
  const targetId = ids[(from + 1) % 3] ?? "";
  for (const server of masters) await ask(server, "CONFIG", "RESETSTAT");
  await ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from] ?? "");
  await ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetId);

  async function take(keys: readonly string[]): Promise<void> {
    if (keys.length > 0)
      await ask(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5_000, "KEYS", ...keys);
  }
  return {
    take,
    async refused(error) {
      const infos = await Promise.all([source, target].map((server) => ask(server, "INFO", "errorstats")));
      const counts = infos.map(
        (info) => new RegExp(`errorstat_${error}:count=(\\d+)`).exec(String(info))?.[1],
      );
      return counts.reduce((sum, count = "0") => sum + Number(count), 0);
    },
    async finish() {
      await take((await ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 1_000)) as string[]);
      for (const server of [target, source, ...masters])
        await ask(server, "CLUSTER", "SETSLOT", slot, "NODE", targetId);
    },
  };
}
