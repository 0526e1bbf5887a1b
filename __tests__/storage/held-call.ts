/** Storage of which one call is held or fails, at the moment that a test chooses. */
import type { Storage } from "../../lib";
import { type Latch, newLatch } from "./latch";
import { intercept } from "./slow-storage";

/** When a call is held: before its work, or after it. Or it fails in place of its work. */
export type HeldMoment = "before" | "after" | "failing";

/** The same storage, whose next call with this name is held once `arm` was called, until `release` opens. */
export function holdingStorage(
  plain: Storage,
  { call, moment }: { call: string; moment: HeldMoment },
): { readonly storage: Storage; readonly reached: Latch; readonly release: Latch; readonly arm: () => void } {
  const [reached, release] = [newLatch(), newLatch()];
  let armed = false;
  const storage = intercept(plain, async (name, run) => {
    if (!armed || name !== call) return run();
    armed = false;
    if (moment === "failing") throw new Error("storage is away");
    const answer = moment === "after" ? await run() : undefined;
    reached.open();
    await release.opened;
    return moment === "after" ? answer : run();
  });
  return { storage, reached, release, arm: () => void (armed = true) };
}
