/** Callbacks and storage that never answer. They have a file of their own, because they need a clock of their own. */
import { memoryStorage } from "../../lib";
import { allow } from "../browser/consent";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { aliceIn, tea } from "../hosts/contexts";
import { testHost } from "../hosts/host";
import { accountHost } from "./account-host";
import { counterHost, type PortalHost } from "./portal-host";
import { pathOf, staffHost } from "./staff-host";

stopClockForEachTest();

/** Lets the time pass that an answer may take. */
function never(): Promise<never> {
  setImmediate(() => jest.advanceTimersByTime(6_000));
  return new Promise(() => undefined);
}

/** Alice's apps, one of which has a context. */
async function appsWithContext(options: Parameters<typeof accountHost>[0]): Promise<PortalHost> {
  const made = accountHost(options);
  made.host.session = aliceIn(tea);
  await allow(made.host);
  return made;
}

/** Alice's apps, of a table that does not answer when it is asked for one. */
async function appsOfSilentTable(): Promise<PortalHost> {
  const host = testHost();
  await allow(host);
  const storage = { ...host.storage, clients: { ...host.storage.clients, find: never } };
  return accountHost({}, { host, ofServer: { storage } });
}

const pages: Readonly<Record<string, () => PortalHost | Promise<PortalHost>>> = {
  person: () => Object.assign(counterHost(), { person: never }),
  "clients.list": () => {
    const storage = memoryStorage({ clients: [clients.web] });
    const table = { ...storage.clients, list: never };
    return staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
  },
  mayManage: () => staffHost({ mayManage: never }),
  links: () => staffHost({ links: never as unknown as () => [] }),
  contextName: () => appsWithContext({ contextName: never }),
  "storage.clients.find": appsOfSilentTable,
};

describe("what never answers", () => {
  it.each(Object.keys(pages))("shows nothing, after five seconds, and is named: %s", async (name) => {
    const made = await pages[name]?.();
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask", "Date"] });
    try {
      const path = name === "links" ? pathOf("web") : "/apps";
      expect((await made?.get({ path }))?.status).toBe(500);
      const message = `${name} did not answer within 5 seconds`;
      expect(made?.failures).toMatchObject([{ code: "host-call-late", message }]);
    } finally {
      jest.useRealTimers();
    }
  });
});
