/** What the rules about authorizations store, and how they look at it afterwards. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { ListedAuthorization, Storage } from "../port";
import { assertNothing, assertRecord, assertSame, race, type RuleSubject } from "./rule";

/** Creates these authorizations one after the other. */
export async function createAll(
  { authorizations }: Storage,
  records: readonly Authorization[],
  now: EpochSeconds,
): Promise<void> {
  for (const record of records) await authorizations.create(record, now);
}

/** Creates them at both ends of the store, eight at a time. */
export async function createSeveral(subject: RuleSubject, records: readonly Authorization[]): Promise<void> {
  await race(subject, {
    runners: 8,
    run: async ({ authorizations }, runner) => {
      for (const [index, record] of records.entries())
        if (index % 8 === runner) await authorizations.create(record, subject.now);
    },
  });
}

/** Fails unless each of these authorizations is found, and is revoked or not as expected. */
export async function assertAll(
  { authorizations }: Storage,
  { records, now, revoked }: { records: readonly Authorization[]; now: EpochSeconds; revoked: boolean },
): Promise<void> {
  for (const record of records) {
    const found = await authorizations.find(record.authorizationId, now);
    assertRecord(found, { ...record, revoked }, revoked ? "must be revoked" : "must be left alone");
  }
}

/** Fails unless none of these authorizations is found. */
export async function assertGone(
  { authorizations }: Storage,
  { records, now }: { records: readonly Authorization[]; now: EpochSeconds },
): Promise<void> {
  for (const { authorizationId } of records)
    assertNothing(await authorizations.find(authorizationId, now), "found though it was erased");
}

/** All that `list` gives, page after page. Fails when a page repeats what an earlier one had, for then there is no last one. */
export async function listAll(
  { authorizations }: Storage,
  { subject, now }: { subject: string; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  const limit = 50;
  const listed = new Map<string, ListedAuthorization>();
  let after: string | undefined;
  for (;;) {
    const page = await authorizations.list(subject, { limit, ...(after !== undefined && { after }) }, now);
    for (const one of page) {
      after = one.authorizationId;
      assertSame(listed.has(after), false, "listed twice");
      listed.set(after, one);
    }
    if (page.length < limit) return [...listed.values()];
  }
}
