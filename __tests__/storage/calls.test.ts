import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { memoryStorage, type Storage } from "../../lib";
import { allStored, inTime, timeLimited } from "../../lib/storage/calls";
import { storageMethods } from "../../lib/storage/port";
import { shortenTimeLimitForEachTest, timers } from "../fixture/time-limit";

shortenTimeLimitForEachTest();

const never = (): Promise<never> => new Promise(() => undefined);
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Fails after so many turns. */
const failing = async (message: string, turns: number): Promise<never> => {
  for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  throw new Error(message);
};

describe("a call of the host's code (RFC 6749 §4.1.2.1, §5.2)", () => {
  it.each<[string, () => unknown]>([
    ["at once", () => "answer"],
    ["by a promise that is there already", async () => "answer"],
  ])("has no timer when it answers %s", async (_, call) => {
    expect(await inTime("a call", call)).toBe("answer");
    expect(timers.begun).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["answers", () => nextTurn().then(() => "answer"), "answer"],
    ["fails", () => nextTurn().then(() => Promise.reject(new Error("away"))), "Error: away"],
    ["is late", never, "Error: a call did not answer within 5 seconds"],
  ])("leaves no timer behind when it %s after a while", async (_, call, outcome) => {
    expect(await inTime("a call", call).catch(String)).toBe(outcome);
    expect(timers.begun).toHaveLength(1);
    expect(timers.cleared.has(timers.begun[0])).toBe(true);
  });

  it("has the answer undefined where a database says null", async () => {
    expect(await inTime("a call", () => null)).toBeUndefined();
    expect(await inTime("a call", () => nextTurn().then(() => null))).toBeUndefined();
  });

  it.each<[string, (arrived: Promise<unknown>) => Promise<unknown>, string]>([
    ["answer", (arrived) => arrived, "answer"],
    [
      "failure",
      (arrived) => arrived.then((text) => Promise.reject(new Error(String(text)))),
      "Error: answer",
    ],
  ])("is not late when its %s has arrived while the process was stopped", async (_, call, outcome) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const [database, [here]] = [connect(port, "127.0.0.1"), (await once(server, "connection")) as [Socket]];
    const onLate = jest.fn();
    const answer = inTime("a call", () => call(once(here, "data")), onLate).catch(String);
    await nextTurn();
    database.write("answer");
    // longer than the limit. Timers come next, and then what has arrived
    for (const begin = performance.now(); performance.now() < begin + 20;) continue;
    expect(String(await answer)).toBe(outcome);
    await nextTurn();
    expect(onLate).not.toHaveBeenCalled();
    database.destroy();
    server.close();
  });

  it("says once that it is late", async () => {
    const onLate = jest.fn();
    await expect(inTime("a call", never, onLate)).rejects.toMatchObject({
      message: "a call did not answer within 5 seconds",
    });
    expect(onLate.mock.calls).toEqual([[]]);
    await inTime("a call", nextTurn, onLate);
    expect(onLate).toHaveBeenCalledTimes(1);
  });
});

describe("storage in limited time (RFC 6749 §4.1.2.1, §5.2)", () => {
  const names = Object.entries(storageMethods).flatMap(([portName, methods]) =>
    Object.keys(methods).map((method) => [portName, method] as const),
  );

  it.each(names)("names the call that was late: %s.%s", async (portName, method) => {
    const storage = {
      ...memoryStorage({ clients: [] }),
      [portName]: { [method]: never },
    } as unknown as Storage;
    const port: object = timeLimited(storage)[portName as keyof Storage];
    const call = Reflect.get(port, method) as () => Promise<unknown>;
    await expect(call()).rejects.toThrow(`${portName}.${method} did not answer within 5 seconds`);
  });
});

describe("several calls at once (RFC 6749 §10.5)", () => {
  it("have their results in the order of the calls", async () => {
    expect(await allStored([nextTurn().then(() => "late"), "at once"])).toEqual(["late", "at once"]);
  });

  it("fail with the first failure in their order, not with the earliest", async () => {
    await expect(allStored(["fine", failing("first", 3), failing("second", 1)])).rejects.toThrow("first");
  });

  it("fail only when the last of them has ended", async () => {
    const ended: string[] = [];
    const slow = nextTurn()
      .then(nextTurn)
      .then(() => void ended.push("slow"));
    await expect(allStored([failing("away", 0), slow])).rejects.toThrow("away");
    expect(ended).toEqual(["slow"]);
  });
});
