import { createCluster } from "redis";
import { browserOriginsOf } from "../../lib";
import {
  clientEndKey,
  longestPossibleLifeSeconds,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";
import { redisStorage } from "../../lib/redis";
import { newId } from "../../lib/testing/contract/records";
import { confidentialRecord, publicRecord } from "../records/records";
import { clusterWithReplicas } from "../servers/redis-replication";
import { redis } from "../servers/redis-server";
import { type Bed, keysOf, now, openBed, spa } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

/** A browser client at these origins. */
const at = (clientId: string, ...origins: readonly string[]) =>
  publicRecord("browser", { clientId, redirectUris: origins.map((origin) => `${origin}/callback`) });

function clientRecords(bed: () => Bed): void {
  it("are replaced by a record with the same id", async () => {
    const { storage } = bed().fresh();
    await storage.clients.save(spa);
    await storage.clients.save({ ...spa, name: "Another name" });
    expect(await storage.clients.find(spa.clientId)).toEqual({ ...spa, name: "Another name" });
  });

  it("lose the origins that are no longer registered and keep the others", async () => {
    const { storage } = bed().fresh();
    await storage.clients.save(at("spa", "https://a.example", "https://b.example"));
    await storage.clients.save(at("spa", "https://b.example", "https://c.example"));
    const known = ["a", "b", "c"].map((name) => storage.clients.isBrowserOrigin(`https://${name}.example`));
    expect(await Promise.all(known)).toEqual([false, true, true]);
  });

  it("lose their origins when they are no longer browser clients", async () => {
    const { storage } = bed().fresh();
    await storage.clients.save(at("spa", "https://a.example"));
    await storage.clients.save(
      confidentialRecord({ clientId: "spa", redirectUris: ["https://a.example/callback"] }),
    );
    expect(await storage.clients.isBrowserOrigin("https://a.example")).toBe(false);
  });

  it("share an origin until the last of them is deleted", async () => {
    const { storage } = bed().fresh();
    await storage.clients.save(at("one", "https://a.example"));
    await storage.clients.save(at("two", "https://a.example"));
    await storage.clients.delete("one");
    expect(await storage.clients.isBrowserOrigin("https://a.example")).toBe(true);
    await storage.clients.delete("two");
    expect(await storage.clients.isBrowserOrigin("https://a.example")).toBe(false);
  });

  it("are gone when they are deleted, and their origins with them", async () => {
    const { storage } = bed().fresh();
    await storage.clients.save(spa);
    await storage.clients.delete(spa.clientId);
    await storage.clients.delete("nobody");
    expect(await storage.clients.find(spa.clientId)).toBeUndefined();
    expect(await storage.clients.isBrowserOrigin("https://spa.example")).toBe(false);
  });

  it("end in one whole record when 16 save it at once", async () => {
    const { storage } = bed().fresh();
    const origins = Array.from({ length: 16 }, (_, index) => `https://only-${index}.example`);
    await Promise.all(origins.map((origin) => storage.clients.save(at("spa", origin))));
    const known = await Promise.all(origins.map((origin) => storage.clients.isBrowserOrigin(origin)));
    const found = await storage.clients.find("spa");
    expect(origins.filter((_, index) => known[index])).toEqual(found && browserOriginsOf(found));
  });

  it("are refused with a TypeError and not stored when the record is wrong", async () => {
    const { storage, prefix } = bed().fresh();
    const wrong = [
      { ...spa, name: "" },
      { ...spa, redirectUris: ["http://spa.example/"] },
      { clientId: "spa" },
      undefined,
    ];
    for (const record of wrong) {
      const to = record as typeof spa;
      await expect(storage.clients.save(to)).rejects.toThrow(TypeError);
      await expect(storage.clients.replace({ from: undefined, to })).rejects.toThrow(TypeError);
    }
    expect(await keysOf(bed().client, prefix)).toEqual([]);
  });
}

const idsOf = (clients: readonly { readonly clientId: string }[]): readonly string[] =>
  clients.map(({ clientId }) => clientId);

function listed(bed: () => Bed): void {
  it("are listed in pages, each once, without those that are gone", async () => {
    const { storage } = bed().fresh();
    const ids = Array.from({ length: 25 }, (_, index) => `client-${index}`);
    for (const clientId of [...ids, "(", "[", "+", "-", "gone-1", "gone-2"])
      await storage.clients.save({ ...spa, clientId });
    for (const clientId of ["gone-1", "gone-2", "client-7"]) await storage.clients.delete(clientId);
    const found: string[] = [];
    for (let page = await storage.clients.list({ limit: 4 }); ;) {
      found.push(...idsOf(page));
      if (page.length < 4) break;
      page = await storage.clients.list({ after: found.at(-1) ?? "", limit: 4 });
    }
    const expected = ["(", "[", "+", "-", ...ids.filter((id) => id !== "client-7")].toSorted();
    expect(found).toEqual(expected);
  });

  it("are listed behind one that is gone, and once when they are saved again", async () => {
    const { storage } = bed().fresh();
    for (const clientId of ["a", "b", "c", "b"]) await storage.clients.save({ ...spa, clientId });
    await storage.clients.delete("b");
    expect(idsOf(await storage.clients.list({ after: "b", limit: 10 }))).toEqual(["c"]);
    await storage.clients.save({ ...spa, clientId: "b" });
    expect(idsOf(await storage.clients.list({ limit: 10 }))).toEqual(["a", "b", "c"]);
  });

  it("leave an end mark when they are deleted, a new one each time, and none when there was no client", async () => {
    const { storage, prefix } = bed().fresh();
    const marks = async () => storage.endMarks.find([clientEndKey("spa"), clientEndKey("nobody")], now);
    await storage.clients.save({ ...spa, clientId: "spa" });
    expect(await marks()).toEqual([undefined, undefined]);
    await storage.clients.delete("spa");
    await storage.clients.delete("nobody");
    const [first, none] = await marks();
    expect([first, none]).toEqual([expect.stringMatching(/^[A-Za-z0-9_-]{22}$/), undefined]);
    const life =
      (await bed().expiryOf(`${prefix}end:${clientEndKey("spa").replace(/^(.+)\./, "{$1}.")}`)) - now;
    expect(life).toBeGreaterThanOrEqual(longestPossibleLifeSeconds);
    await storage.clients.save({ ...spa, clientId: "spa" });
    expect(await marks()).toEqual([first, undefined]);
    await storage.clients.delete("spa");
    expect((await marks())[0]).not.toBe(first);
  });

  it("are deleted whole: a delete whose answer was lost saves the second mark when it is repeated", async () => {
    const { storage, prefix } = bed().fresh();
    await storage.clients.save(spa);
    const key = clientEndKey(spa.clientId);
    const seen: (string | undefined)[] = [];
    const failing = redisStorage({
      allowEviction: true,
      prefix,
      client: {
        async sendCommand(args: string[]) {
          const answer = await bed().client.sendCommand(args);
          if (args[1]?.includes("DEL") !== true) return answer;
          // what a server has issued by now carries this mark
          seen.push(...(await storage.endMarks.find([key], now)));
          throw new Error("the connection was lost");
        },
      },
    });
    await expect(failing.clients.delete(spa.clientId)).rejects.toThrow("the connection was lost");
    await storage.clients.delete(spa.clientId);
    const [mark] = await storage.endMarks.find([key], now);
    expect(seen).toEqual([expect.any(String)]);
    expect(seen).not.toContain(mark);
  });

  it("store an end mark before and after they are deleted", async () => {
    const { storage, commands } = bed().fresh();
    await storage.clients.save(spa);
    commands.length = 0;
    await storage.clients.delete(spa.clientId);
    expect(commands.map(([name]) => name)).toEqual(["EXISTS", "SET", "EVAL", "SET"]);
  });
}

function inCluster(): void {
  const opened = clusterWithReplicas();

  it("has all end marks of a person in one slot, and reads them by one command", async () => {
    const { client } = opened();
    const prefix = `${newId()}:`;
    const storage = redisStorage({ client, prefix, allowEviction: true });
    const [subject, clientId] = [newId(), newId()];
    const keys = [subjectEndKey(subject), clientEndKey(clientId), subjectConsentsEndKey(subject)];
    const marks = keys.map((key) => ({ key, mark: newId(), expiresAt: now + 60 }));
    for (const mark of marks) await storage.endMarks.save(mark, now);
    const watched = jest.spyOn(client, "sendCommand");
    const found = await storage.endMarks.find([...keys, newId()], now);
    const commands = watched.mock.calls.map(([, , args]) => args as readonly string[]);
    watched.mockRestore();
    expect(found).toEqual([...marks.map(({ mark }) => mark), undefined]);
    expect(commands.map(([name, ...read]) => `${name} ${read.length}`).toSorted()).toEqual([
      "MGET 1",
      "MGET 1",
      "MGET 2",
    ]);
  });

  it("need a client that is connected", async () => {
    const client = createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] });
    const storage = redisStorage({ client, allowEviction: true });
    await expect(storage.migrate()).rejects.toMatchObject({ code: "redis-not-connected" });
  });
}

describeWith(redis, {
  name: "redisStorage: clients (RFC 6749 §2)",
  tests() {
    const bed = openBed();
    clientRecords(bed);
    listed(bed);
  },
});
describeWith(redis, { name: "redisStorage: clients in a cluster (RFC 6749 §2)", tests: inCluster });
