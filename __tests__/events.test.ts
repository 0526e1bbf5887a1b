import type { AuthServerEvent } from "../lib";
import { eventEmitter, type OnEvent } from "../lib/events/port";
import { postToken } from "./requests/client-requests";
import { credentials } from "./hosts/clients";
import { stopClock } from "./hosts/clock";
import { testHost } from "./hosts/host";
import { obtainTokens } from "./browser/journey";

afterEach(() => jest.restoreAllMocks());

const event = { kind: "token-refreshed", issuer: "https://host.example", scopes: ["a"] } as const;

/** Lets what is under way come to its end. Jest fails the test in which a rejection has gone unhandled by then. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

function thenable(then: (resolve: () => void, reject: (reason: Error) => void) => void): OnEvent {
  // eslint-disable-next-line unicorn/no-thenable -- what some promise libraries give
  return () => ({ then }) as never;
}

const onFailure = jest.fn<void, [unknown]>();
beforeEach(() => onFailure.mockClear());

describe("events", () => {
  it("reach the host with the time of the server's clock", () => {
    const heard: AuthServerEvent[] = [];
    let now = 1_000;
    const emit = eventEmitter((each) => void heard.push(each), { clock: () => now, onFailure });
    emit(event);
    now = 2_000;
    emit(event);
    expect(heard).toEqual([
      { at: 1_000, ...event },
      { at: 2_000, ...event },
    ]);
  });

  it("do not wait for the handler", () => {
    const emit = eventEmitter(() => new Promise(() => undefined), { clock: () => 1_000, onFailure });
    expect(emit(event)).toBeUndefined();
  });

  it("go on after a handler has failed", async () => {
    const onEvent = jest.fn<void, [AuthServerEvent]>(() => {
      throw new Error("the log is full");
    });
    const emit = eventEmitter(onEvent, { clock: () => 1_000, onFailure });
    emit(event);
    emit(event);
    await settle();
    expect(onEvent).toHaveBeenCalledTimes(2);
    // told once: the next failures would be as many as the events
    expect(onFailure.mock.calls).toEqual([[new Error("the log is full")]]);
  });

  it.each<[string, OnEvent]>([
    [
      "throws",
      () => {
        throw new Error("the log is full");
      },
    ],
    [
      "throws no error but undefined",
      () => {
        // what careless code throws
        throw undefined;
      },
    ],
    ["rejects", () => Promise.reject(new Error("the log is full"))],
    [
      "rejects later",
      async () => {
        await Promise.resolve();
        throw new Error("the log is full");
      },
    ],
    ["gives a thenable that rejects", thenable((_, reject) => reject(new Error("the log is full")))],
    [
      "gives a thenable that throws",
      thenable(() => {
        throw new Error("the log is full");
      }),
    ],
    [
      "gives an object whose then cannot be read",
      () =>
        // eslint-disable-next-line unicorn/no-thenable -- the worst that a handler can give
        Object.defineProperty({}, "then", {
          get() {
            throw new Error("the log is full");
          },
        }) as never,
    ],
  ])("are not disturbed by a handler that %s", async (_, onEvent) => {
    const emit = eventEmitter(onEvent, { clock: () => 1_000, onFailure });
    expect(emit(event)).toBeUndefined();
    await settle();
    expect(onFailure).toHaveBeenCalledTimes(1);
  });
});

describe("a handler that fails", () => {
  it.each<[string, unknown]>([
    ["TypeError", new TypeError("the subject is alice")],
    ["undefined", undefined],
  ])("is told once as a warning, without its message: %s", async (name, thrown) => {
    const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const host = testHost({ onEvent: () => Promise.reject(thrown) });
    for (const _ of [1, 2]) await obtainTokens(host, { client: "web" });
    const message = `onEvent has failed with ${name}: events are lost. Handle errors inside onEvent.`;
    expect(warned.mock.calls).toEqual([[message, { type: "AuthmountWarning", code: "events-lost" }]]);
    warned.mockRestore();
  });

  it.each<[string, OnEvent]>([
    [
      "throwing",
      () => {
        throw new Error("the log is full");
      },
    ],
    ["rejecting", () => Promise.reject(new Error("the log is full"))],
  ])("breaks no request by %s", async (_, onEvent) => {
    stopClock();
    const host = testHost({ onEvent });
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect(access_token).toEqual(expect.any(String));
    const refused = await postToken(host, {
      fields: { ...credentials("web"), grant_type: "authorization_code", code: "wrong" },
    });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ error: "invalid_grant" });
  });
});
