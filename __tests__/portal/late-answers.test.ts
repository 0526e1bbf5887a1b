/** A callback of the host that never answers. It has a file of its own, because it needs a clock of its own. */
import { counterHost } from "./portal-host";

describe("person", () => {
  it("shows nothing when it never answers", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] });
    try {
      const made = counterHost();
      made.person = () => {
        setImmediate(() => jest.advanceTimersByTime(6_000));
        return new Promise(() => undefined);
      };
      expect((await made.get()).status).toBe(500);
      expect(made.failures).toMatchObject([{ code: "host-call-late" }]);
    } finally {
      jest.useRealTimers();
    }
  });
});
