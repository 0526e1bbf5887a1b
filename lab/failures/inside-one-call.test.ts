/**
 * Every statement and every command of every call that writes fails in turn, over each engine: before it ran, and after it, so that only its
 * answer is lost. The call rejects or can do without it, and whoever makes it again gets what its port promises.
 */
import { storageMethods } from "../../lib/storage/port";
import { mysqlStorage } from "../../lib/mysql";
import { postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { sqliteStorage } from "../../lib/sqlite";
import { hookedHandle } from "../../__tests__/servers/hooked-handle";
import { mariadb, startMariadb } from "../../__tests__/servers/mariadb-server";
import { wrapMysqlPool } from "../../__tests__/servers/mysql-storage";
import { postgres, startPostgres } from "../../__tests__/servers/postgres-server";
import { wrapPool } from "../../__tests__/servers/postgres-storage";
import { redis, redisClient, startRedis } from "../../__tests__/servers/redis-server";
import { asksAboutServer } from "../../__tests__/servers/redis-storage";
import { describeWith } from "../../__tests__/servers/server-process";
import { drivers, newFile } from "../../__tests__/servers/sqlite-files";
import { type WholeStorage, writingCalls } from "./one-call";

const cut = "the connection was cut";

/** Where a step fails: before it ran, or when it had run. */
type Mode = "before" | "after";

interface Failure {
  /** The number of the step. */
  readonly place: number;
  readonly mode: Mode;
}

function fails(): never {
  throw new Error(cut);
}

/** Counts what is sent to a database, lets one of it fail, and lets somebody look before each. */
function tripwire() {
  let sent = 0;
  let failing: Failure | undefined;
  let look: (() => Promise<void>) | undefined;
  let isLooking = false;
  return {
    sent: () => sent,
    /** From now on, this step fails, and somebody looks before each. */
    set(failure?: Failure, looking?: typeof look): void {
      [sent, failing, look] = [0, failure, looking];
    },
    async step<T>(run: () => Promise<T>): Promise<T> {
      if (isLooking) return run();
      isLooking = look !== undefined;
      await look?.().finally(() => (isLooking = false));
      return this.around(run);
    },
    around<T>(run: () => T): T {
      const place = sent++;
      if (failing?.place !== place) return run();
      const { mode } = failing;
      failing = undefined;
      if (mode === "before") return fails();
      const answer = run();
      return answer instanceof Promise ? (answer.then(fails, fails) as T) : fails();
    },
  };
}

type Tripwire = ReturnType<typeof tripwire>;

interface Bed {
  readonly storage: WholeStorage;
  readonly close: () => Promise<unknown>;
}

interface Engine {
  readonly server: Parameters<typeof describeWith>[0] | undefined;
  /** A statement of SQLite runs in this process: it has no answer that could be lost. */
  readonly modes: readonly Mode[];
  readonly start: (wire: Tripwire) => Promise<Bed>;
}

const both: readonly Mode[] = ["before", "after"];

const engines: Readonly<Record<string, Engine>> = {
  PostgreSQL: {
    server: postgres,
    modes: both,
    async start(wire) {
      const server = await startPostgres(["synchronous_commit=off"]);
      const pool = wrapPool(server.pool({ max: 4 }), (_, run) => wire.step(run));
      const storage = postgresStorage({ pool });
      await storage.migrate();
      return { storage, close: () => server.close() };
    },
  },
  MariaDB: {
    server: mariadb,
    modes: both,
    async start(wire) {
      const server = await startMariadb();
      const pool = wrapMysqlPool(server.pool({ connectionLimit: 4 }), (_, run) => wire.step(run));
      const storage = mysqlStorage({ pool });
      await storage.migrate();
      return { storage, close: () => server.close() };
    },
  },
  Redis: {
    server: redis,
    modes: both,
    async start(wire) {
      const server = await startRedis();
      const client = await redisClient(server.url);
      const sendCommand = async (args: string[]): Promise<unknown> =>
        asksAboutServer(args) ? client.sendCommand(args) : wire.step(() => client.sendCommand(args));
      const close = async (): Promise<void> => {
        client.destroy();
        await server.close();
      };
      return { storage: redisStorage({ client: { sendCommand } }), close };
    },
  },
  SQLite: {
    server: undefined,
    modes: ["before"],
    async start(wire) {
      const handle = drivers[0]!.open(newFile());
      const storage = sqliteStorage({ handle: hookedHandle(handle, (_, call) => wire.around(call)) });
      await storage.migrate();
      return { storage, close: async () => handle.close() };
    },
  },
};

/** The steps of a call, as they are once the engine has prepared what it prepares at first. */
async function stepsOf(name: string, { storage, wire }: { storage: WholeStorage; wire: Tripwire }) {
  const { call: warmUp } = await writingCalls[name]!(storage);
  await warmUp();
  const { call } = await writingCalls[name]!(storage);
  wire.set();
  await call();
  return wire.sent();
}

/** A try that fails at this step, if it has that many, and another one. With `looks`, somebody looks between the steps of the first. */
async function failInside(
  name: string,
  { bed: { storage }, wire, failing, looks }: { bed: Bed; wire: Tripwire; failing: Failure; looks: boolean },
): Promise<void> {
  const { call, always, done } = await writingCalls[name]!(storage);
  wire.set(failing, looks ? always : undefined);
  const answers = await call().then(
    (answer) => [answer],
    (failure: unknown): unknown[] => {
      expect(String(failure)).toContain(cut);
      return [];
    },
  );
  wire.set();
  await always?.();
  // nothing has failed, or it can do without that step
  if (answers.length > 0) await done(answers);
  answers.push(await call());
  await always?.();
  await done(answers);
}

function failsInside({ modes, start }: Engine): void {
  const wire = tripwire();
  let bed: Bed;
  beforeAll(async () => {
    bed = await start(wire);
  });
  afterAll(() => bed.close());

  it.each(Object.keys(writingCalls))("%s fails inside, and holds the next time", async (name) => {
    const steps = await stepsOf(name, { ...bed, wire });
    for (let place = 0; place <= steps; place += 1)
      for (const mode of modes)
        for (const looks of [false, true])
          await failInside(name, { bed, wire, failing: { place, mode }, looks });
  });
}

it("has every call that writes", () => {
  const reads = new Set(["find", "list", "isBrowserOrigin", "isRevoked", "noteUse"]);
  const written = Object.entries(storageMethods).flatMap(([port, methods]) =>
    Object.keys(methods)
      .filter((method) => !reads.has(method))
      .map((method) => `${port}.${method}`),
  );
  expect(Object.keys(writingCalls)).toEqual(expect.arrayContaining(written));
});

for (const [name, engine] of Object.entries(engines)) {
  const tests = (): void => failsInside(engine);
  if (engine.server) describeWith(engine.server, { name, tests });
  else describe(name, tests);
}
