/** The contract of a client table that can be written: a deletion ends what was issued to the client. RFC 6749 §2.2, 7009 §2.1. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { clientEndKey } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, Storage } from "../port";
import { registryOf } from "./client-save-rules";
import { newId } from "./records";
import { assertNothing, assertSame, race, type Rule, type RuleSubject } from "./rule";

async function markOf(
  { endMarks }: Storage,
  { clientId, now }: { clientId: string; now: EpochSeconds },
): Promise<string | undefined> {
  const [mark] = await endMarks.find([clientEndKey(clientId)], now);
  return mark ?? undefined;
}

const runners = 8;
/** Enough to meet an adapter that has a single trip between its steps. */
const rounds = 32;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/**
 * Deletes a client while servers look it up again and again. Returns the end marks with which they have found it: what they issue to
 * it then carries these.
 */
async function deleteWhileSeen(
  subject: RuleSubject,
  { registry, clientId }: { registry: ClientRegistry; clientId: string },
): Promise<readonly (string | undefined)[]> {
  const { now } = subject;
  const state = { isOver: false };
  const looks = race(subject, {
    runners,
    async run(store, runner) {
      const seen: (string | undefined)[] = [];
      // so that the runners are at different steps
      await turns(runner);
      while (!state.isOver) {
        const mark = await markOf(store, { clientId, now });
        if (await store.clients.find(clientId)) seen.push(mark);
        // a store in this process may answer at once, and would never come to the deletion
        await nextTurn();
      }
      return seen;
    },
  });
  const deletion = turns(runners)
    .then(() => registry.delete(clientId))
    .finally(() => (state.isOver = true));
  const [seen] = await Promise.all([looks, deletion]);
  return seen.flat();
}

/** The rules of `clients.delete`, for a table that can be written; one that cannot be written keeps them. @rfc 6749 §2.2 */
export const clientDeleteRules: readonly Rule[] = [
  {
    name: "clients.delete leaves an end mark with which nobody has found the client, and none when there was no client",
    async check(subject) {
      const { storage, peer, now, clients } = subject;
      const registry = registryOf(storage.clients);
      if (!registry) return;
      for (let round = 0; round < rounds; round += 1) {
        const clientId = newId();
        await registry.save({ ...clients[0], clientId });
        const seen = await deleteWhileSeen(subject, { registry, clientId });
        assertNothing(await peer.clients.find(clientId), "found though it was deleted");
        const mark = await markOf(peer, { clientId, now });
        assertSame(typeof mark, "string", "the type of the end mark");
        assertSame(seen.includes(mark), false, "the client was found with the end mark that stays");
      }
      const clientId = newId();
      await registry.delete(clientId);
      assertNothing(await markOf(peer, { clientId, now }), "an end mark of a client that never existed");
    },
  },
];
