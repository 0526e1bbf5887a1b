/** Erases authorizations of one person in Redis. What has failed half-way can be repeated. RFC 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { AuthorizationSets } from "./authorization-sets";

/**
 * Everything of this person: by their index, and by the indexes of the clients that those name, which also have authorizations of
 * versions that did not write the other.
 */
async function everythingOf(
  { indexes, records }: AuthorizationSets,
  subject: string,
): Promise<readonly Authorization[]> {
  const own = await indexes.all(indexes.ofSubject(subject));
  const found = await records.read(own, 0);
  const known = new Set(own);
  const others: string[] = [];
  for (const index of new Set(found.map((one) => indexes.ofClient(one)))) {
    others.push(...(await indexes.all(index)).filter((id) => !known.has(id)));
  }
  return [...found, ...(await records.read(others, 0))];
}

/** Says where an authorization is, once its record is gone. */
function noteOf({ authorizationId, clientId, apiId }: Authorization): string {
  return JSON.stringify([authorizationId, clientId, apiId]);
}

function readNote(note: string): Pick<Authorization, "authorizationId" | "clientId" | "apiId"> {
  const [authorizationId, clientId, apiId] = JSON.parse(note) as [string, string, string];
  return { authorizationId, clientId, apiId };
}

interface Target {
  readonly subject: string;
  /** Left out: all of this person. */
  readonly authorizationId?: string;
  readonly now: EpochSeconds;
}

/**
 * Notes what is to be erased, so that a repeated call knows it without the records. Returns these notes, and those that a call which has
 * failed has left.
 */
async function noteAll(
  sets: AuthorizationSets,
  { subject, authorizationId, now }: Target,
): Promise<readonly string[]> {
  const { indexes, records } = sets;
  const found =
    authorizationId === undefined
      ? await everythingOf(sets, subject)
      : (await records.read([authorizationId], 0)).filter((one) => one.subject === subject);
  const index = indexes.ofErased(subject);
  const left = (await indexes.all(index)).filter(
    (note) => authorizationId === undefined || readNote(note).authorizationId === authorizationId,
  );
  const entries = found.map((one) => ({ id: noteOf(one), of: one }));
  await indexes.add(index, { entries, now });
  return [...new Set([...left, ...entries.map(({ id }) => id)])];
}

/** Deletes authorizations of this person, with their entries and those whose records are gone. Returns how many there were. */
export async function eraseOf(sets: AuthorizationSets, target: Target): Promise<number> {
  const { indexes, records } = sets;
  const { subject, now } = target;
  const notes = await noteAll(sets, target);
  const erased = notes.map(readNote);
  const ids = erased.map(({ authorizationId }) => authorizationId);
  // the records first: one without entries would live on where nobody can revoke it
  const count = await records.delete(ids);
  const entries = new Map<string, string[]>();
  for (const { authorizationId, ...client } of erased) {
    const index = indexes.ofClient({ subject, ...client });
    const ofClient = entries.get(index) ?? [];
    entries.set(index, ofClient);
    ofClient.push(authorizationId);
  }
  for (const [index, ofClient] of entries) await indexes.remove(index, { ids: ofClient, now });
  await indexes.remove(indexes.ofSubject(subject), { ids, now });
  if (notes.length > 0) await indexes.remove(indexes.ofErased(subject), { ids: notes, now });
  return count;
}
