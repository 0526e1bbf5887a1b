// Storage is slow or fails while it saves what a person allows. The client is told to try again, and the person then answers otherwise. What
// is stored late, or was stored although storage said that it failed, must not count; and nothing may come back after an erasure.
import type { Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { authorize } from "../browser/authorize";
import type { Browser, Fields } from "../browser/browser";
import { clients } from "../hosts/clients";
import { bothScopes, outcomeOf, rememberedScopes } from "../browser/consent";
import { signedOut, type TestHost, testHost } from "../hosts/host";
import { everythingUnderWay, type Latch, newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";
import { shortenTimeLimitForEachTest } from "../storage/time-limit";

shortenTimeLimitForEachTest();

interface Fault {
  /** The call that it meets, once. */
  readonly name: string;
  /** The call does its work when this is opened, or at once, and then fails. */
  readonly late?: Latch;
}

function hostWith({ name: broken, late }: Fault): TestHost {
  let isOver = false;
  const storage: Storage = intercept(
    memoryStorage({ clients: Object.values(clients) }),
    async (name, run) => {
      if (name !== broken || isOver) return run();
      isOver = true;
      if (late) await late.opened;
      const answer = await run();
      if (!late) throw new Error("the connection was lost before the answer");
      return answer;
    },
  );
  return testHost({ storage, revocationLagSeconds: 0 });
}

const ask = (browser: Browser, fields: Fields = {}): Promise<Response> =>
  authorize(browser, { client: "web", fields: { ...bothScopes, prompt: "consent", ...fields } });

const silently = (host: TestHost, scope: string): Promise<Response> =>
  authorize(host.browser(), { client: "web", fields: { scope, prompt: "none" } });

const failures = [
  ["is given up, and lands later", true, "temporarily_unavailable"],
  ["fails, although it was done", false, "server_error"],
] as const;

describe.each(failures)("a consent whose saving %s (RFC 6749 §10.2)", (_, isLate, told) => {
  async function yesThatFails() {
    const late = isLate ? newLatch() : undefined;
    const host = hostWith({ name: "consents.save", ...(late && { late }) });
    const browser = host.browser();
    const page = await ask(browser);
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe(told);
    const land = async (): Promise<void> => {
      late?.open();
      await everythingUnderWay();
    };
    return { host, browser, land };
  }

  it("does not count after the no that follows", async () => {
    const { host, browser, land } = await yesThatFails();
    expect(outcomeOf(await browser.answer(await ask(browser), "deny"))).toBe("access_denied");
    expect(outcomeOf(await silently(host, "orders:write"))).toBe("consent_required");
    await land();
    expect(outcomeOf(await silently(host, "orders:write"))).toBe("consent_required");
    expect(outcomeOf(await silently(host, "orders:read"))).toBe("consent_required");
  });

  it("does not widen the narrower yes that follows", async () => {
    const { host, browser, land } = await yesThatFails();
    const less = await browser.answer(await ask(browser), "approve", { scope_1: undefined });
    expect(outcomeOf(less)).toBe("granted");
    await land();
    expect(outcomeOf(await silently(host, "orders:write"))).toBe("consent_required");
  });

  it("keeps nobody from allowing it again", async () => {
    const { host, browser, land } = await yesThatFails();
    await land();
    expect(outcomeOf(await browser.answer(await ask(browser), "approve"))).toBe("granted");
    expect(outcomeOf(await silently(host, "orders:read orders:write"))).toBe("granted");
    expect(await rememberedScopes(host)).toEqual([["orders:read", "orders:write"]]);
  });
});

describe("a record of a person that lands after they were erased", () => {
  it.each(["consents.save", "authorizations.create"])("is taken back: %s", async (name) => {
    const late = newLatch();
    const host = hostWith({ name, late });
    const browser = host.browser();
    expect(outcomeOf(await browser.answer(await ask(browser), "approve"))).toBe("temporarily_unavailable");
    host.session = signedOut;
    await host.auth.subjects.erase("alice");
    late.open();
    await everythingUnderWay();
    // also what counts for nothing any more
    expect(await host.storage.consents.list("alice", 0)).toEqual([]);
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
  });
});
