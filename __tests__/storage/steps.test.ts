import type { Storage } from "../../lib";
import { timeLimited } from "../../lib/storage/calls";
import { redeem as redeemAtOnce } from "../../lib/storage/steps";
import { newAuthorization, newCode, newRefreshToken } from "../../lib/testing/contract/records";
import { obtainCode, obtainTokens } from "../browser/journey";
import { clients } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { redeem, refresh } from "../requests/client-requests";
import {
  type Database,
  newDatabase,
  tableStorage,
  type TableStorage,
} from "../testing/contract/wrong-adapters/table-storage";
import { everythingUnderWay, newLatch } from "./latch";
import { lateCall } from "./slow-calls";
import { watchWrites } from "./slow-storage";
import { shortenTimeLimitForEachTest } from "./time-limit";

shortenTimeLimitForEachTest();

const now = 1_000;

const never = (): Promise<never> => new Promise(() => undefined);

function tooLate(): never {
  throw new Error("too late");
}

/** A storage with steps, in which the clients of the tests are. */
async function opened(): Promise<{ storage: TableStorage; database: Database }> {
  const database = newDatabase();
  for (const client of Object.values(clients)) await database.clients.set(client.clientId, client);
  return { storage: tableStorage(database), database };
}

/** What the code flow and a refresh write to this storage. */
async function written(made: Storage): Promise<readonly string[]> {
  const { storage, writes } = watchWrites(made);
  const host = testHost({ storage });
  const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
  expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  return writes.filter((name) => !/^(?:consents|endMarks)\./.test(name));
}

const oneByOne = [
  "authorizations.create",
  "authorizationCodes.create",
  "refreshTokens.create",
  "authorizationCodes.consume",
  "refreshTokens.rotate",
];

describe("steps at once (RFC 6749 §4.1.2)", () => {
  it("take the place of the calls that they stand for", async () => {
    const { storage } = await opened();
    expect(await written(storage)).toEqual(["atOnce.approve", "atOnce.redeem", "refreshTokens.rotate"]);
  });

  it.each(["approve", "redeem"] as const)("may be left out one by one: without %s", async (name) => {
    const { storage } = await opened();
    const { [name]: _, ...atOnce } = storage.atOnce;
    const writes = await written({ ...storage, atOnce });
    expect(writes).toContain(name === "approve" ? "atOnce.redeem" : "atOnce.approve");
    expect(writes).not.toContain(`atOnce.${name}`);
    expect(writes).toEqual(
      expect.arrayContaining(name === "approve" ? oneByOne.slice(0, 2) : oneByOne.slice(2)),
    );
  });

  it.each([
    ["authorizations", "create"],
    ["authorizationCodes", "create"],
    ["authorizationCodes", "consume"],
    ["refreshTokens", "create"],
    ["accessTokens", "create"],
  ] as const)("are not taken where the host has another %s.%s, from whenever on", async (port, method) => {
    const { storage } = await opened();
    const own = storage[port];
    const another = { [method]: () => Promise.reject(new Error("another method")) };
    expect(timeLimited({ ...storage, [port]: { ...own } }).atOnce).toBeDefined();
    expect(timeLimited({ ...storage, [port]: { ...own, ...another } }).atOnce).toBeUndefined();
    const limited = timeLimited(storage);
    expect(limited.atOnce).toBeDefined();
    Object.assign(own, another);
    expect(limited.atOnce).toBeUndefined();
  });

  it("give a host that replaces a method every call of it, also while the server runs", async () => {
    const { storage } = await opened();
    const { refreshTokens } = storage;
    const create = refreshTokens.create.bind(refreshTokens);
    const seen: string[] = [];
    const host = testHost({ storage });
    await obtainTokens(host, { client: "web" });
    Object.assign(refreshTokens, {
      create: (...args: Parameters<typeof create>) => {
        seen.push(args[0].digest);
        return create(...args);
      },
    });
    await obtainTokens(host, { client: "web" });
    expect(seen).toHaveLength(1);
  });

  it.each([
    ["nothing", {}],
    ["no ports", { redeem: () => undefined }],
    ["no function", { of: {}, approve: "approve" }],
  ])("are refused at the start when they have %s", async (_, atOnce) => {
    const { storage } = await opened();
    expect(() => testHost({ storage: { ...storage, atOnce: atOnce as never } })).toThrow("storage.atOnce");
  });

  it("may be left out by undefined, all or one", async () => {
    const { storage } = await opened();
    expect(await written({ ...storage, atOnce: undefined as never })).toEqual(oneByOne);
    const one = timeLimited({ ...storage, atOnce: { ...storage.atOnce, redeem: undefined } as never });
    expect(Object.keys(one.atOnce ?? {})).toEqual(["approve", "of"]);
  });

  it.each(["approve", "redeem"] as const)(
    "have a limit of time, and the error names the call: atOnce.%s",
    async (name) => {
      const { storage } = await opened();
      const { atOnce } = timeLimited({ ...storage, atOnce: { ...storage.atOnce, [name]: never } });
      const [authorization, code] = [newAuthorization(now), newCode(now)];
      const call =
        name === "approve"
          ? atOnce?.approve?.({ authorization, code }, now)
          : atOnce?.redeem?.({ code }, now);
      await expect(call).rejects.toMatchObject(lateCall(`atOnce.${name}`));
    },
  );

  it("leave nothing of a person whose approval was stored too late", async () => {
    const { storage, database } = await opened();
    const late = newLatch();
    const stored: unknown[] = [];
    const approve: typeof storage.atOnce.approve = async (step, at) => {
      await late.opened;
      await storage.atOnce.approve(step, at);
      stored.push(...(await database.authorizations.all()));
    };
    const { atOnce } = timeLimited({ ...storage, atOnce: { ...storage.atOnce, approve } });
    const authorization = newAuthorization(now);
    const step = { authorization, code: newCode(now, { authorizationId: authorization.authorizationId }) };
    await expect(atOnce?.approve?.(step, now)).rejects.toMatchObject(lateCall("atOnce.approve"));
    late.open();
    await everythingUnderWay();
    expect(stored).toHaveLength(1);
    expect(await database.authorizations.all()).toEqual([]);
  });

  it("spend nothing when the server finds at the last moment that it must not", async () => {
    const { storage, database } = await opened();
    const code = newCode(now);
    await storage.authorizationCodes.create(code, now);
    const step = { code, refreshToken: newRefreshToken(now, { authorizationId: code.authorizationId }) };
    await expect(redeemAtOnce(storage, step, { now, proceed: tooLate })).rejects.toThrow("too late");
    expect(await storage.authorizationCodes.find(code, now)).toMatchObject({ consumed: false });
    expect(await database.refreshTokens.all()).toEqual([]);
  });

  it("leave the code usable when they fail: the client tries again (RFC 6749 §5.2)", async () => {
    const { storage } = await opened();
    let fails = true;
    const redeemOnce: typeof storage.atOnce.redeem = async (step, at) => {
      if (fails) throw new Error("connect ECONNREFUSED");
      return storage.atOnce.redeem(step, at);
    };
    const host = testHost({ storage: { ...storage, atOnce: { ...storage.atOnce, redeem: redeemOnce } } });
    const code = await obtainCode(host, { client: "web" });
    expect((await redeem(host, { client: "web", code })).status).toBe(500);
    fails = false;
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
  });

  it("give the tokens of a code to one of 16 requests, and end all of it for the others (RFC 9700 §4.5)", async () => {
    const { storage, database } = await opened();
    const host = testHost({ storage });
    const code = await obtainCode(host, { client: "web" });
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => redeem(host, { client: "web", code })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await database.refreshTokens.all()).toHaveLength(1);
    expect(await database.authorizations.all()).toEqual([expect.objectContaining({ revoked: true })]);
  });
});
