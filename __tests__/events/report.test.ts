// The warnings that a host without `onEvent` gets, by the reporter alone.
import { inspect } from "node:util";
import type { NewEvent } from "../../lib/events/port";
import { adviser, eventReporter } from "../../lib/events/report";
import { hostMistake } from "../../lib/protocol/mistake";
import { lateError } from "../../lib/protocol/oauth-error";

const hint = "Pass onEvent to handle events yourself.";
const unreadable = Object.defineProperty({}, "name", {
  get() {
    throw new Error("no name");
  },
});
const unprintable = {
  [inspect.custom]() {
    throw new Error("not printable");
  },
};

type Warning = readonly [code: string, message: string, detail?: string];

function reporter({ isProduction = false } = {}) {
  const warnings: Warning[] = [];
  const clock = { now: 1_000 };
  const warn = (...warning: Warning): void => void warnings.push(warning);
  return { warnings, clock, emit: eventReporter({ warn, isProduction, clock: () => clock.now }) };
}

function refused(changes: Partial<NewEvent> = {}): NewEvent {
  return {
    kind: "token-refused",
    error: "invalid_client",
    code: "secret-wrong",
    reason: "wrong",
    ...changes,
  } as NewEvent;
}

/** The one warning about what was thrown. */
function warningOf(cause: unknown): Warning | undefined {
  const { warnings, emit } = reporter();
  emit({ kind: "server-error", cause });
  expect(warnings).toHaveLength(1);
  return warnings[0];
}

describe("the warning of a refusal", () => {
  it.each<[string, NewEvent, string]>([
    ["ends a reason without a full stop", refused(), "token-refused (invalid_client): wrong."],
    [
      "writes one full stop behind a reason that ends with one",
      refused({ reason: "wrong." }),
      "token-refused (invalid_client): wrong.",
    ],
    [
      "leaves full stops within a reason",
      refused({ reason: "RFC 7591 §3.2.2 says no. Do this." }),
      "token-refused (invalid_client): RFC 7591 §3.2.2 says no. Do this.",
    ],
    [
      "names the issuer and the client",
      refused({ issuer: "https://host.example", clientId: "web" }),
      "token-refused (invalid_client) at https://host.example, client web: wrong.",
    ],
  ])("%s", (_, event, text) => {
    const { warnings, emit } = reporter();
    emit(event);
    expect(warnings).toEqual([["secret-wrong", `${text} ${hint}`]]);
  });
});

describe("the warning of a failure", () => {
  it.each<[string, unknown, string]>([
    ["its name", new TypeError("a password"), "TypeError"],
    [
      "its name and its code",
      Object.assign(new Error("a password"), { code: "ECONNREFUSED" }),
      "Error ECONNREFUSED",
    ],
    ["the code where there is no name", { code: "23505" }, "23505"],
    ["the longest name there may be", { name: "x".repeat(64) }, "x".repeat(64)],
    ["no name that is longer", { name: "x".repeat(65) }, "an error"],
    ["no name with a space at its end", { name: "a " }, "an error"],
    ["no name with a line break at its beginning", { name: "\na" }, "an error"],
    ["no name that is a number", { name: 7 }, "an error"],
    ["no name and no code", {}, "an error"],
    ["nothing of undefined", undefined, "an error"],
    ["nothing of null", null, "an error"],
    ["nothing of an object that throws when it is read", unreadable, "an error"],
  ])("says of what was thrown: %s", (_, cause, text) => {
    const line = `server-error: storage or a callback failed with ${text}. ${hint}`;
    expect(warningOf(cause)?.slice(0, 2)).toEqual(["storage-or-callback-failed", line]);
  });

  it("has the id and the text of an error of this library", () => {
    expect(warningOf(hostMistake("approval-by-link", "Use POST."))?.slice(0, 2)).toEqual([
      "approval-by-link",
      `server-error: Use POST. ${hint}`,
    ]);
  });

  it("has the id of such an error alone in production", () => {
    const { warnings, emit } = reporter({ isProduction: true });
    emit({ kind: "server-error", cause: lateError("memory-full", "a password") });
    const line = `server-error: a request failed with Error memory-full. ${hint}`;
    expect(warnings).toEqual([["memory-full", line, undefined]]);
  });

  it("shows ten thousand characters of it at most in development", () => {
    expect(warningOf("x".repeat(20_000))?.[2]).toHaveLength(10_000);
  });

  it("says that it cannot be printed", () => {
    expect(warningOf(unprintable)?.[2]).toBe("(the thrown value cannot be printed)");
  });
});

const isFull = ([, message]: Warning): boolean => !message.startsWith("again");

describe("what is remembered of the warnings", () => {
  it("is a hundred of them, and then nothing", () => {
    const { warnings, emit } = reporter();
    const send = (id: number): number => {
      emit(refused({ clientId: `c${id}` }));
      return warnings.filter(isFull).length;
    };
    for (let id = 1; id <= 100; id += 1) send(id);
    expect([send(1), send(100)]).toEqual([100, 100]);
    expect([send(101), send(1), send(101)]).toEqual([101, 102, 102]);
  });

  it.each([
    ["in development for a minute", { isProduction: false }, 60],
    ["in production for an hour", { isProduction: true }, 3_600],
  ])("is kept %s, also when the clock is set back", (_, options, seconds) => {
    const { warnings, clock, emit } = reporter(options);
    const numberAt = (now: number): number => {
      clock.now = now;
      emit({ kind: "server-error", cause: "a text" });
      return warnings.filter(isFull).length;
    };
    const times = [0, seconds - 1, 1 - seconds, seconds, 0];
    expect(times.map((time) => numberAt(10_000 + time))).toEqual([1, 1, 1, 2, 3]);
  });
});

describe("a warning that comes again within a minute", () => {
  it("is printed in short, once a second at most, with how often it has come since", () => {
    const { warnings, clock, emit } = reporter();
    const about = "token-refused (invalid_client) at https://host.example, client web";
    const times = (number: number): readonly string[] => {
      warnings.length = 0;
      for (let time = 0; time < number; time += 1)
        emit(refused({ issuer: "https://host.example", clientId: "web" }));
      return warnings.map(([code, message]) => `${code} ${message}`);
    };
    times(1);
    expect(times(1)).toEqual([`secret-wrong again: ${about}`]);
    expect(times(1_000)).toEqual([]);
    clock.now += 1;
    expect(times(1_000)).toEqual([`secret-wrong again, 1001 times: ${about}`]);
    clock.now += 30;
    expect(times(1)).toEqual([`secret-wrong again, 1000 times: ${about}`]);
    clock.now += 1;
    expect(times(1)).toEqual([`secret-wrong again: ${about}`]);
    clock.now += 60;
    expect(times(1)).toEqual([expect.stringContaining(": wrong. Pass onEvent")]);
  });

  it("names a failure, without what was thrown", () => {
    const { warnings, emit } = reporter();
    for (const _ of [1, 2]) emit({ kind: "server-error", cause: new Error("a password") });
    expect(warnings[1]).toEqual([
      "storage-or-callback-failed",
      "again: server-error: storage or a callback failed with Error",
    ]);
  });

  it("is not printed in production", () => {
    const { warnings, clock, emit } = reporter({ isProduction: true });
    for (clock.now of [0, 0, 5, 3_599]) emit({ kind: "server-error", cause: "a text" });
    expect(warnings).toHaveLength(1);
  });
});

describe("advice to the developer", () => {
  it("comes again up to its first colon or full stop, whatever the rest is about", () => {
    const warnings: Warning[] = [];
    const warn = (...warning: Warning): void => void warnings.push(warning);
    const advise = adviser({ warn, isProduction: false, clock: () => 1_000 });
    advise("unknown-address", "A request for http://a/x was answered with 404: there is no such address.");
    advise("unknown-address", "A request for http://a/y was answered with 404: there is no such address.");
    advise("base-path-missing", "A request. Do this.");
    advise("base-path-missing", "A request. Do this.");
    expect(warnings.map(([, message]) => message)).toEqual([
      "A request for http://a/x was answered with 404: there is no such address.",
      "again: A request for http://a/y was answered with 404",
      "A request. Do this.",
      "again: A request",
    ]);
  });
});
