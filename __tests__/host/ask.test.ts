import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { runInNewContext } from "node:vm";
import { type AnswerKeys, askHost, inTime, readAnswer } from "../../lib/host/ask";
import { shortenTimeLimitForEachTest, timers } from "../storage/time-limit";

shortenTimeLimitForEachTest();

const never = (): Promise<never> => new Promise(() => undefined);
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

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
    await expect(inTime("a call", never, onLate)).rejects.toMatchObject({ code: "host-call-late" });
    expect(onLate.mock.calls).toEqual([[]]);
    await inTime("a call", nextTurn, onLate);
    expect(onLate).toHaveBeenCalledTimes(1);
  });
});

type Answer =
  | { readonly kind: "some"; readonly scopes?: readonly string[] }
  | { readonly kind: "all" }
  | { readonly kind: "none" };
const keys: AnswerKeys<Answer> = { some: { scopes: true }, all: {}, none: {} };
const read = (given: unknown): Answer => readAnswer<Answer>("tokens.decide", { given, keys });
const plain = { kind: "some", scopes: ["read"] };

class Narrow {
  readonly kind = "some";
  get scopes(): readonly string[] {
    return ["read"];
  }
}

describe("an answer of the host (RFC 6749 §3.3)", () => {
  it.each<[string, object]>([
    ["a literal", plain],
    ["an object without a prototype", Object.assign(Object.create(null) as object, plain)],
    ["an object of another realm", runInNewContext('({ kind: "some", scopes: ["read"] })') as object],
    [
      "a getter",
      {
        kind: "some",
        get scopes() {
          return ["read"];
        },
      },
    ],
  ])("is %s", (_, given) => {
    expect(read(given)).toEqual(plain);
  });

  it("is copied with its lists: what the host does with them later changes nothing", () => {
    const scopes = ["read"];
    const answer = read({ kind: "some", scopes });
    scopes.push("write");
    expect(answer).toEqual(plain);
  });

  const notPlain =
    "it must be a plain object, such as { ...object } with all that a class or a prototype gives written out";
  it.each<[string, unknown, string]>([
    ["an object of a class", new Narrow(), notPlain],
    [
      "one that inherits",
      Object.assign(Object.create({ scopes: ["read"] }) as object, { kind: "some" }),
      notPlain,
    ],
    [
      "one that inherits without a prototype",
      Object.create(Object.assign(Object.create(null) as object, plain)),
      notPlain,
    ],
    [
      "one with a property that it does not list",
      Object.defineProperty({ kind: "some" }, "scopes", { value: [] }),
      notPlain,
    ],
    ["a list", [plain], notPlain],
    ["nothing", undefined, "nothing, as without a return or an await; kind must be some, all or none"],
    ...[null, "some", 5, {}, { kind: "constructor" }, { kind: ["all"] }].map(
      (given): [string, unknown, string] => [JSON.stringify(given), given, "kind must be some, all or none"],
    ),
    [
      "one with a misspelt key",
      { kind: "some", scope: ["read"] },
      "scope is not known here. Known: kind, scopes",
    ],
    [
      "one with a key of another kind",
      { kind: "all", scopes: ["read"] },
      "scopes is not known here. Known: kind",
    ],
    [
      "one with a key that is undefined",
      { kind: "some", scopes: undefined },
      "scopes is undefined. Leave the key out, or write a value",
    ],
  ])("is not %s", (_, given, problem) => {
    expect(() => read(given)).toThrow(
      expect.objectContaining({
        code: "wrong-answer-of-tokens",
        message: `tokens.decide returned an invalid answer: ${problem}.`,
      }),
    );
  });

  it("of authenticate may have a property of a promise in it, which is undefined", () => {
    const given = { kind: "some", scopes: undefined };
    expect(() => readAnswer<Answer>("authenticate", { given, keys })).toThrow(/Or an await is missing\.$/);
  });

  it("may have a promise in it, which is named", () => {
    const given = { kind: "some", scopes: Promise.resolve(["read"]) };
    expect(() => readAnswer<Answer>("authenticate", { given, keys })).toThrow(
      "authenticate returned an invalid answer: scopes is a promise: an await is missing.",
    );
  });

  it("is waited for in limited time", async () => {
    expect(await askHost<Answer>("tokens.decide", { ask: async () => plain, keys })).toEqual(plain);
    const onLate = jest.fn();
    const late = askHost<Answer>("tokens.decide", { ask: never, keys, onLate });
    await expect(late).rejects.toMatchObject({ code: "host-call-late" });
    expect(onLate).toHaveBeenCalledTimes(1);
  });
});
