import { memoryStorage, type Storage } from "../../lib";
import { allStored, timeLimited } from "../../lib/storage/calls";
import { storageMethods } from "../../lib/storage/port";
import { lateCall } from "./slow-calls";
import { shortenTimeLimitForEachTest } from "./time-limit";

shortenTimeLimitForEachTest();

const never = (): Promise<never> => new Promise(() => undefined);
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Fails after so many turns. */
const failing = async (message: string, turns: number): Promise<never> => {
  for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  throw new Error(message);
};

describe("storage in limited time (RFC 6749 §4.1.2.1, §5.2)", () => {
  const names = Object.entries(storageMethods).flatMap(([portName, methods]) =>
    Object.keys(methods).map((method) => [portName, method] as const),
  );

  it.each(names)("names the call that was late: %s.%s", async (portName, method) => {
    const storage = {
      ...memoryStorage({ clients: [] }),
      [portName]: { [method]: never },
    } as unknown as Storage;
    const port: object = timeLimited(storage)[portName as keyof Storage] ?? {};
    const call = Reflect.get(port, method) as () => Promise<unknown>;
    await expect(call()).rejects.toMatchObject(lateCall(`${portName}.${method}`));
  });

  it("has no port that the storage lacks", () => {
    const { parkedRequests: _, ...storage } = memoryStorage({ clients: [] });
    expect(Object.keys(timeLimited(storage)).toSorted()).toEqual(Object.keys(storage).toSorted());
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
