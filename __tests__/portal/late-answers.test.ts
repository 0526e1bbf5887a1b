/** Callbacks and storage that never answer. They have a file of their own, because they need a clock of their own. */
import { memoryStorage } from "../../lib";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { counterHost, type PortalHost } from "./portal-host";
import { staffHost } from "./staff-host";

stopClockForEachTest();

/** Lets the time pass that an answer may take. */
function never(): Promise<never> {
  setImmediate(() => jest.advanceTimersByTime(6_000));
  return new Promise(() => undefined);
}

const pages: Readonly<Record<string, () => PortalHost>> = {
  person: () => Object.assign(counterHost(), { person: never }),
  "clients.list": () => {
    const storage = memoryStorage({ clients: [clients.web] });
    const table = { ...storage.clients, list: never };
    return staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
  },
  mayManage: () => staffHost({ mayManage: never }),
};

describe("what never answers", () => {
  it.each(Object.keys(pages))("shows nothing, after five seconds: %s", async (name) => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask", "Date"] });
    try {
      const made = pages[name]?.();
      expect((await made?.get())?.status).toBe(500);
      expect(made?.failures).toMatchObject([{ code: "host-call-late" }]);
    } finally {
      jest.useRealTimers();
    }
  });
});
