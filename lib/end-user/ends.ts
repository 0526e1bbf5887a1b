/** Ends what an end user, a client or an API has: consents, authorizations and what descends from them. RFC 7009 §2.1, 6749 §10.2. */
import type { EmitEvent } from "../events/port";
import { suggestion } from "../host/plain";
import type { ConsentSelection } from "../protocol/consent";
import type { Api } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";
import {
  apiEndKey,
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endedKey,
  longestPossibleLifeSeconds,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../protocol/end-mark";
import { isPlain } from "../protocol/host-json";
import { isRandomId } from "../protocol/token-value";
import { bySlowestClock, type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";

// Each end stores its end mark before it revokes what it finds. After a failure it can be repeated.

const mistake = mistakesOf({
  "text-missing": (of: string, name: string) => `${of}: ${name} must be a non-empty string.`,
  "unknown-api": (apiId: string, known: readonly string[]) =>
    `auth.apis.revoke: the options have no API ${apiId}.${suggestion(apiId, known)} Known: ${known.join(", ")}.`,
  "unclear-context-key": (of: string) =>
    `${of}: contextKey must be a string, "" for what has no context. Leave it out for every context.`,
  "unclear-end-of-subject":
    'auth.subjects.revoke takes { consents: "keep" } or { consents: "revoke" } as options, or none.',
});

/** What an end needs. */
export interface EndPorts {
  readonly storage: Pick<Storage, "endMarks" | "authorizations" | "consents">;
  readonly emit: EmitEvent;
  readonly clock: Clock;
  /** Returns 128 random bits as base64url: a new end mark. */
  readonly randomId: () => string;
}

/** @throws TypeError when a text is missing: an end that ends nothing must not look like a success. */
function checkTexts(
  values: object | undefined,
  { of, names }: { of: string; names: readonly string[] },
): void {
  for (const name of names) {
    const value: unknown = (values as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (typeof value !== "string" || value === "") throw mistake("text-missing", of, name);
  }
}

/** A selection without anything else. @throws TypeError when a part is missing, or it is unclear which contexts are meant */
export function checkedSelection(given: ConsentSelection, of: string): ConsentSelection {
  checkTexts(given, { of, names: ["subject", "clientId", "apiId"] });
  const { subject, clientId, apiId, contextKey } = given;
  if (Object.hasOwn(given, "contextKey") && typeof contextKey !== "string")
    throw mistake("unclear-context-key", of);
  return { subject, clientId, apiId, ...(contextKey !== undefined && { contextKey }) };
}

/** Stores a new mark under this key and returns it. Each key gets its own: an approval that is born between two has the first only. */
export async function saveMark(
  { storage, randomId }: EndPorts,
  { key, longestLifeSeconds, now }: { key: string; longestLifeSeconds: number; now: EpochSeconds },
): Promise<string> {
  const mark = randomId();
  await storage.endMarks.save({ key, mark, expiresAt: now + longestLifeSeconds }, now);
  return mark;
}

/**
 * Deletes consents and revokes every authorization of this end user for this client at this API, in one context or in all.
 *
 * @throws TypeError when the selection is incomplete. Rejects with whatever storage rejects with.
 */
export async function withdrawConsent(
  ports: EndPorts,
  { selection: given, longestLifeSeconds }: { selection: ConsentSelection; longestLifeSeconds: number },
): Promise<void> {
  const { storage, emit, clock } = ports;
  const selection = checkedSelection(given, "auth.consents.revoke");
  const { subject, clientId, apiId } = selection;
  const now = clock();
  const life = { longestLifeSeconds, now };
  // in this order: nobody who knows the consent's mark can have missed the other one
  await saveMark(ports, { key: approvalEndKey(selection), ...life });
  const consentKey = consentEndKey(selection);
  const mark = await saveMark(ports, { key: consentKey, ...life });
  const revoked = await storage.authorizations.revokeAll(selection, now);
  // until here the consent stays listed, so that the person can try again; from here on any call may delete it. Only an approval that began
  // before the first marks reads this one, so it need not live long
  const key = endedKey({ key: consentKey, mark });
  await storage.endMarks.save({ key, mark, expiresAt: now + 2 * clockDriftSeconds }, now);
  const forgotten = await storage.consents.delete({ selection, exceptEndMark: mark }, now);
  const kind = revoked > 0 || forgotten ? "consent-revoked" : "nothing-to-revoke";
  emit({ kind, subject, clientId, apiId });
}

/**
 * Revokes one authorization, if it is this end user's: an id from a form must not end what somebody else has.
 *
 * @throws TypeError when one of the two is missing. Rejects with whatever storage rejects with.
 */
export async function endAuthorization(
  { storage, emit, clock }: EndPorts,
  target: { readonly subject: string; readonly authorizationId: string },
): Promise<void> {
  checkTexts(target, { of: "auth.authorizations.revoke", names: ["subject", "authorizationId"] });
  const { subject, authorizationId } = target;
  const now = clock();
  // an id from a form may be any text, which not every database takes as a key
  const isId = isRandomId(authorizationId);
  const found = isId ? await storage.authorizations.find(authorizationId, bySlowestClock(now)) : undefined;
  if (found?.subject !== subject) {
    emit({ kind: "nothing-to-revoke", subject });
    return;
  }
  await storage.authorizations.revoke(authorizationId, now);
  const { issuer, clientId } = found;
  emit({ kind: "authorization-ended", subject, authorizationId, clientId, issuer });
}

/**
 * What the options of `auth.subjects.revoke` say about consents.
 *
 * @throws TypeError for anything unclear: a misspelt name must not keep what was to be revoked.
 */
export function subjectEndOf(options: { readonly consents?: "keep" | "revoke" }): SubjectEnd {
  const names = isPlain(options) ? Object.keys(options) : undefined;
  if (names?.length === 0) return "keep-consents";
  if (names?.length === 1) {
    const { consents } = options;
    if (consents === "keep") return "keep-consents";
    if (consents === "revoke") return "revoke-consents";
  }
  throw mistake("unclear-end-of-subject");
}

/** What becomes of the remembered consents of an end user whose authorizations end. */
export type SubjectEnd = "keep-consents" | "revoke-consents" | "erase";

/**
 * Revokes every authorization of an end user. With `"erase"`, also deletes the records that name them.
 *
 * @throws TypeError when the subject is missing. Rejects with whatever storage rejects with.
 */
export async function endSubject(
  ports: EndPorts,
  { subject, end, longestLifeSeconds }: { subject: string; end: SubjectEnd; longestLifeSeconds: number },
): Promise<void> {
  const { storage, emit, clock } = ports;
  const of = end === "erase" ? "auth.subjects.erase" : "auth.subjects.revoke";
  checkTexts({ subject }, { of, names: ["subject"] });
  const now = clock();
  const life = { longestLifeSeconds, now };
  await saveMark(ports, { key: subjectEndKey(subject), ...life });
  const mark =
    end === "keep-consents"
      ? undefined
      : await saveMark(ports, { key: subjectConsentsEndKey(subject), ...life });
  await storage.authorizations.revokeAll({ subject }, now);
  if (mark !== undefined) await storage.consents.delete({ selection: { subject }, exceptEndMark: mark }, now);
  if (end === "erase") await storage.authorizations.erase({ subject }, now);
  emit({ kind: end === "erase" ? "subject-erased" : "subject-ended", subject });
}

/**
 * Ends everything that was issued under this client id. Authorizations, consents and tokens carry the mark that they were born under, so
 * nothing has to be looked for. Only the mark ends them, so it outlives what earlier options or another server, with longer lifetimes, left
 * in storage.
 *
 * @throws TypeError when the id is missing. Rejects with whatever storage rejects with.
 */
export async function endClient(ports: EndPorts, clientId: string): Promise<void> {
  checkTexts({ clientId }, { of: "auth.clients.revoke", names: ["clientId"] });
  const now = ports.clock();
  const key = clientEndKey(clientId);
  await saveMark(ports, { key, longestLifeSeconds: longestPossibleLifeSeconds, now });
  ports.emit({ kind: "client-ended", clientId });
}

/**
 * Ends everything that was issued for this API, to all clients and of all end users: authorizations, consents and the tokens that clients
 * got for themselves. As with a client, only the mark ends it.
 *
 * @throws TypeError when the server has no such API: an end that ends nothing must not look like a success. Rejects with whatever storage
 * rejects with.
 */
export async function endApi(
  ports: EndPorts,
  { apiId, apis }: { apiId: string; apis: readonly Pick<Api, "apiId" | "audience">[] },
): Promise<void> {
  checkTexts({ apiId }, { of: "auth.apis.revoke", names: ["apiId"] });
  const api = apis.find((one) => one.apiId === apiId);
  if (!api)
    throw mistake(
      "unknown-api",
      apiId,
      apis.map((one) => one.apiId),
    );
  const [key, now] = [apiEndKey(api.audience), ports.clock()];
  await saveMark(ports, { key, longestLifeSeconds: longestPossibleLifeSeconds, now });
  ports.emit({ kind: "api-ended", apiId });
}
