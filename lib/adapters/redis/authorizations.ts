/** Authorizations and end marks in Redis: one key each, and two indexes for each end user. Redis removes expired ones. RFC 6749 §1.3, 7009 §2.1. */
import { type Authorization, narrowed } from "../../protocol/authorization";
import type { EndMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import { allStored } from "../../storage/calls";
import { surplusOf } from "../../storage/ending-order";
import {
  type AuthorizationPage,
  type AuthorizationSelection,
  type AuthorizationStore,
  type EndMarkStore,
  type ListedAuthorization,
  maxAuthorizations,
} from "../../storage/port";
import { numberOf, textOf } from "./answers";
import { type AuthorizationIndexes, authorizationIndexes, type IndexEntry } from "./authorization-index";
import {
  atOnce,
  authorizationKey,
  chunksOf,
  lastUse,
  moveLastUse,
  newRest,
  readAuthorization,
  readListed,
  readRecord,
  readValues,
  replaceRest,
  restOf,
  type RedisStoreOptions,
  runScript,
  setAuthorization,
  setRecord,
} from "./records";

/**
 * Flags records. KEYS: records. Returns how many had no flag before; missing records are not counted. Writes the flag of those that
 * have it too: replicas may lack it, and `WAIT` waits for nothing behind a script that changes nothing.
 */
const flagScript = `
local count = 0
for i = 1, #KEYS do
  local flag = redis.call("GETRANGE", KEYS[i], 0, 0)
  if flag ~= "" then redis.call("SETRANGE", KEYS[i], 0, "1") end
  if flag == "0" then count = count + 1 end
end
return count`;

type Keys = readonly [string, ...string[]];

/** The records of authorizations. Missing ones are skipped. */
interface AuthorizationRecords {
  /** Those that have not expired at `now`, in the order of their ids. Time 0 gives all that are stored. */
  read(ids: readonly string[], now: EpochSeconds): Promise<readonly ListedAuthorization[]>;
  /** Revokes them. Returns how many were not revoked before. */
  revoke(ids: readonly string[]): Promise<number>;
  /** Deletes them. Returns how many there were. */
  delete(ids: readonly string[]): Promise<number>;
}

/** The records of authorizations, of which one command takes many. In a cluster it reaches one slot, so each record gets its own. */
function authorizationRecords(options: RedisStoreOptions): AuthorizationRecords {
  const { prefix, isOneServer, sendReplicated } = options;
  const keyOf = (authorizationId: string): string => authorizationKey(prefix, authorizationId);

  /** What these writes count together. */
  async function countAll(ids: readonly string[], write: (keys: Keys) => Promise<unknown>): Promise<number> {
    let sum = 0;
    for (const some of chunksOf(ids)) {
      const [first, ...others] = some.map(keyOf);
      if (first === undefined) continue;
      const writes: readonly Keys[] = isOneServer
        ? [[first, ...others]]
        : [first, ...others].map((key) => [key]);
      for (const count of await allStored(writes.map(write))) sum += numberOf(count);
    }
    return sum;
  }

  return {
    async read(ids, now) {
      const found: ListedAuthorization[] = [];
      for (const some of chunksOf(ids)) {
        const values = await readValues(options, some.map(keyOf));
        found.push(...values.map((value) => readListed(value, now)).filter((one) => one !== undefined));
      }
      return found;
    },
    revoke: (ids) =>
      countAll(ids, (keys) => runScript(sendReplicated, { script: flagScript, keys, args: [] })),
    delete: (ids) => countAll(ids, (keys) => sendReplicated(keys[0], ["DEL", ...keys])),
  };
}

/** Where authorizations are, and what is stored of them. */
interface AuthorizationSets {
  readonly indexes: AuthorizationIndexes;
  readonly records: AuthorizationRecords;
}

const idOf = ({ authorizationId }: Authorization): string => authorizationId;
const contextKeyOf = ({ context }: Authorization): string => context?.key ?? "";

/** The ids of a selection, whatever their context. */
function idsOf(
  indexes: AuthorizationIndexes,
  { subject, clientId, apiId }: AuthorizationSelection,
): Promise<readonly string[]> {
  return indexes.all(
    clientId === undefined || apiId === undefined
      ? indexes.ofSubject(subject)
      : indexes.ofClient({ subject, clientId, apiId }),
  );
}

/** Revokes all of a selection. Entries without a record stay: an approval under way writes its record after them. */
async function revokeSelection(
  { indexes, records }: AuthorizationSets,
  selection: AuthorizationSelection,
): Promise<number> {
  const { contextKey } = selection;
  const ids = await idsOf(indexes, selection);
  if (contextKey === undefined) return records.revoke(ids);
  // those that have expired too: the caller's clock may be ahead of others
  const found = await records.read(ids, 0);
  return records.revoke(found.filter((one) => contextKeyOf(one) === contextKey).map(idOf));
}

/**
 * Narrows all of a selection: replaces what still is as it was read, and looks again until there is nothing to change. Those that are
 * narrow already are written once more: a call whose answer was lost has changed them, and replicas may lack that.
 */
async function narrowSelection(
  { indexes }: AuthorizationSets,
  options: RedisStoreOptions,
  { selection, scopes }: Parameters<AuthorizationStore["narrowAll"]>[0],
): Promise<number> {
  const { contextKey } = selection;
  const ids = await idsOf(indexes, selection);
  const keys = ids.map((id) => authorizationKey(options.prefix, id));
  const narrow = async (key: string, isAgain = false): Promise<number> => {
    const stored = textOf(await options.send(key, ["GET", key]));
    const found = readAuthorization(stored, 0);
    if (stored === undefined || !found || found.revoked) return 0;
    if (contextKey !== undefined && contextKeyOf(found) !== contextKey) return 0;
    const lesser = narrowed(found, scopes);
    if (!lesser && (isAgain || !found.approvedScopes)) return 0;
    const next = lesser ?? found;
    const args = [restOf(stored), newRest(next), next.revoked ? 1 : 0];
    const isReplaced = await runScript(options.sendReplicated, { script: replaceRest, keys: [key], args });
    if (numberOf(isReplaced) === 0) return narrow(key, true);
    return lesser ? 1 : 0;
  };
  let changed = 0;
  for (const some of chunksOf(keys)) {
    const counts = await allStored(some.map((key) => narrow(key)));
    changed += counts.reduce((sum, count) => sum + count, 0);
  }
  return changed;
}

/** A new authorization, and the time of its creation. */
interface Created {
  readonly authorization: Authorization;
  readonly now: EpochSeconds;
}

/**
 * Revokes what exceeds `maxAuthorizations` in the contexts of these new authorizations of one end user, client and API. Takes what is
 * revoked out of the index of the client, so that nobody reads it again. It stays in the index of its person, where it marks its place
 * for pages.
 */
async function limitContexts(
  { indexes, records }: AuthorizationSets,
  created: readonly [Created, ...Created[]],
): Promise<void> {
  const [{ authorization, now }] = created;
  const index = indexes.ofClient(authorization);
  const found = await records.read(await indexes.all(index), 0);
  const isLiving = ({ revoked, expiresAt }: Authorization): boolean => !revoked && now < expiresAt;
  const newIds = new Set(created.map((one) => idOf(one.authorization)));
  const contextKeys = new Set(created.map((one) => contextKeyOf(one.authorization)));
  const surplus = [...contextKeys].flatMap((contextKey) =>
    surplusOf(
      found.filter((one) => isLiving(one) && contextKeyOf(one) === contextKey),
      (one) => newIds.has(idOf(one)),
    ).map(idOf),
  );
  await records.revoke(surplus);
  // what has expired stays: by a clock that is behind it still lives, and an end must find it
  const ids = [...found.filter(({ revoked }) => revoked).map(idOf), ...surplus];
  await indexes.remove(index, { ids, now });
}

/** A page of the active ones, from the index of their person. It goes on behind what has ended until the page is full. */
async function listPage(
  { indexes, records }: AuthorizationSets,
  { subject, page, now }: { subject: string; page: AuthorizationPage; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  const { limit } = page;
  const index = indexes.ofSubject(subject);
  const living: ListedAuthorization[] = [];
  let after: IndexEntry | undefined = page.after === undefined ? undefined : { id: page.after };
  // more at once when many have ended: each read is a trip
  for (let count = limit; living.length < limit; count = Math.max(limit, atOnce)) {
    const entries = await indexes.page(index, { count, after });
    const ids = entries.map(({ id }) => id);
    const found = await records.read(ids, now);
    living.push(...found.filter(({ revoked }) => !revoked));
    // with its end: it may be erased before the next look
    after = entries.at(-1);
    if (ids.length < count) break;
  }
  return living.slice(0, limit);
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
      ? await records.read(await indexes.all(indexes.ofSubject(subject)), 0)
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
async function eraseOf(sets: AuthorizationSets, target: Target): Promise<number> {
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

/**
 * A function that runs `act` for a key with the items that have come, one run at a time. What comes during a run shares the next one,
 * and fails with it.
 */
function sharedRuns<T>(
  act: (items: readonly [T, ...T[]]) => Promise<void>,
): (key: string, item: T) => Promise<void> {
  const waiting = new Map<string, { items: [T, ...T[]]; run: Promise<void> }>();
  const last = new Map<string, Promise<void>>();

  return (key, item) => {
    const joined = waiting.get(key);
    if (joined) {
      joined.items.push(item);
      return joined.run;
    }
    const items: [T, ...T[]] = [item];
    const run = (last.get(key) ?? Promise.resolve()).then(() => {
      waiting.delete(key);
      return act(items);
    });
    waiting.set(key, { items, run });
    const ended: Promise<void> = run
      .catch(() => undefined)
      .then(() => {
        if (last.get(key) === ended) last.delete(key);
      });
    last.set(key, ended);
    return run;
  };
}

/** Authorizations. @rfc 6749 §1.3 */
export function redisAuthorizations(options: RedisStoreOptions): AuthorizationStore {
  const { prefix, send } = options;
  const [indexes, records] = [authorizationIndexes(options), authorizationRecords(options)];
  const sets = { indexes, records };
  const limit = sharedRuns<Created>((created) => limitContexts(sets, created));
  return {
    async create(authorization, now) {
      const key = authorizationKey(prefix, authorization.authorizationId);
      const added = { entries: [{ id: authorization.authorizationId, of: authorization }], now } as const;
      // the indexes first: an authorization that they lack could not be revoked together with the consent
      const [count] = await allStored([
        indexes.add(indexes.ofClient(authorization), added),
        indexes.add(indexes.ofSubject(authorization.subject), added),
      ]);
      await send(key, setAuthorization(key, authorization));
      if (count > maxAuthorizations) await limit(indexes.ofClient(authorization), { authorization, now });
    },
    async find(authorizationId, now) {
      const key = authorizationKey(prefix, authorizationId);
      return readAuthorization(await send(key, ["GET", key]), now);
    },
    async revoke(authorizationId) {
      await records.revoke([authorizationId]);
    },
    revokeAll: (selection) => revokeSelection(sets, selection),
    narrowAll: (step) => narrowSelection(sets, options, step),
    list: (subject, page, now) => listPage(sets, { subject, page, now }),
    erase: (target, now) => eraseOf(sets, { ...target, now }),
    async noteUse(authorizationId, now) {
      const keys = [authorizationKey(prefix, authorizationId)] as const;
      await runScript(send, { script: moveLastUse, keys, args: [lastUse(now)] });
    },
  };
}

/** End marks: one key each. They are replicated, because without a mark, what was revoked would be valid again. @rfc 7009 §2.1 */
export function redisEndMarks(options: RedisStoreOptions): EndMarkStore {
  // the braces keep the marks of one person in one slot, so that one command reads them at one moment
  const keyOf = (key: string): string => `${options.prefix}end:${key.replace(/^([^.]+)\./, "{$1}.")}`;
  return {
    async find(keys, now) {
      const values = await readValues(options, keys.map(keyOf));
      return values.map((value) => readRecord<EndMark>(value, now)?.record.mark);
    },
    async save(endMark) {
      const key = keyOf(endMark.key);
      await options.sendReplicated(key, setRecord(key, { record: endMark }));
    },
  };
}
