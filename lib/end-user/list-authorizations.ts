/** Lists the remembered consents and the active authorizations of an end user. RFC 6749 §1.3, §10.2. */
import type { Authorization } from "../protocol/authorization";
import { hostMistake } from "../protocol/mistake";
import type { Consent } from "../protocol/consent";
import { apiEndKey, clientEndKey, isBornUnder } from "../protocol/end-mark";
import type { Api } from "../protocol/issuer";
import type { Clock, EpochSeconds } from "../protocol/time";
import { isRandomId } from "../protocol/token-value";
import { findMarks } from "../storage/end-marks";
import type { ListedAuthorization, Storage } from "../storage/port";

/** An active authorization, as an account page shows it. Those of trusted clients are listed too. */
export interface ActiveAuthorization {
  readonly authorizationId: string;
  readonly clientId: string;
  readonly apiId: string;
  /** How the person signed in. */
  readonly authMethodId: string;
  /** What the person allowed, implied scopes included. */
  readonly scopes: readonly string[];
  /** The key of the context that the person chose; `""` when there is none. */
  readonly contextKey: string;
  /** By what the person will know this sign-in, as `authenticate` said it; `undefined` when it said nothing. Escape it. */
  readonly signedInFrom?: string;
  readonly createdAt: EpochSeconds;
  /** When tokens were last issued under it, with `lastUses: "calls"` also when one has called; `undefined` when none were issued. */
  readonly lastUsedAt?: EpochSeconds;
  /** By then, everything that was issued under it has expired. */
  readonly expiresAt: EpochSeconds;
}

/** A page of the list. */
export interface ActiveAuthorizations {
  readonly authorizations: readonly ActiveAuthorization[];
  /** Pass it as `after` for the next page; `undefined` when there is none. */
  readonly next?: string;
}

/** A page of the remembered consents. */
export interface RememberedConsents {
  readonly consents: readonly Consent[];
  /** Pass it as `after` for the next page; `undefined` when there is none. */
  readonly next?: string;
}

/** What was issued to a client for an API. */
type BornForClient = Pick<Authorization, "clientId" | "apiId" | "endMarks">;

const pageSize = 100;

function active(listed: ListedAuthorization): ActiveAuthorization {
  const { authorizationId, clientId, apiId, authMethodId, context, createdAt, expiresAt } = listed;
  const { signedInFrom, lastUsedAt } = listed;
  return {
    authorizationId,
    clientId,
    apiId,
    authMethodId,
    scopes: [...listed.grantedScopes],
    contextKey: context?.key ?? "",
    ...(signedInFrom !== undefined && { signedInFrom }),
    createdAt,
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    expiresAt,
  };
}

/** Tells what was there already when everything of its client or API was ended: only their marks say so. */
async function findEnds(
  { storage }: { readonly storage: Pick<Storage, "endMarks"> },
  { listed, apis, now }: Pick<PageQuestion, "apis"> & { listed: readonly BornForClient[]; now: EpochSeconds },
): Promise<(one: BornForClient) => boolean> {
  const keys = Object.fromEntries([
    ...listed.map(({ clientId }) => [`client ${clientId}`, clientEndKey(clientId)] as const),
    ...apis.map(({ apiId, audience }) => [`api ${apiId}`, apiEndKey(audience)] as const),
  ]);
  const marks = await findMarks(storage.endMarks, { keys, now });
  return ({ clientId, apiId, endMarks }) =>
    !isBornUnder(endMarks, { client: marks[`client ${clientId}`], api: marks[`api ${apiId}`] });
}

/** Which page of whose list, and the APIs of the server. */
interface PageQuestion {
  readonly subject: string;
  readonly apis: readonly Pick<Api, "apiId" | "audience">[];
  readonly page: { readonly after?: string | undefined };
}

/** @throws TypeError when an argument is wrong. */
function checkPage(
  { subject, page }: Pick<PageQuestion, "subject" | "page">,
  { of, isAfter }: { of: string; isAfter: (after: string) => boolean },
): void {
  const { after } = page;
  const isNamed = Object.keys(page).every((name) => name === "after");
  // undefined is what the last `next` gives to a loop: the first page
  const isClear = isNamed && (after === undefined || (typeof after === "string" && isAfter(after)));
  if (typeof subject === "string" && isClear) return;
  throw hostMistake(
    "unclear-page",
    `${of} takes a subject and, for a later page, { after } with the \`next\` of the page before.`,
  );
}

/** The place of a consent in the list. It stays when the consent is given again, or withdrawn. */
function placeOf({ clientId, apiId, contextKey = "" }: Consent): string {
  return JSON.stringify([clientId, apiId, contextKey]);
}

/**
 * A page of the remembered consents of an end user. One whose withdrawal has failed half-way stays listed, so that it can be withdrawn
 * again.
 *
 * @throws TypeError when an argument is wrong. Rejects with whatever storage rejects with.
 */
export async function listConsents(
  { storage, clock }: { readonly storage: Pick<Storage, "consents" | "endMarks">; readonly clock: Clock },
  question: PageQuestion,
): Promise<RememberedConsents> {
  checkPage(question, { of: "auth.consents.list", isAfter: () => true });
  const { subject, page, apis } = question;
  const now = clock();
  const placed = ((await storage.consents.list(subject, now)) ?? []).map(
    // always with a context: auth.consents.revoke would take a record without one for every context
    (one) => ({ place: placeOf(one), consent: { ...one, contextKey: one.contextKey ?? "" } }),
  );
  const behind = placed.filter(({ place }) => page.after === undefined || place > page.after);
  const listed = behind.toSorted((a, b) => (a.place < b.place ? -1 : 1)).slice(0, pageSize);
  const consented = listed.map(({ consent }) => consent);
  const hasEnded = await findEnds({ storage }, { listed: consented, apis, now });
  const consents = consented.filter((consent) => !hasEnded(consent));
  const next = behind.length > pageSize ? listed.at(-1)?.place : undefined;
  return { consents, ...(next !== undefined && { next }) };
}

/**
 * A page of the active authorizations of an end user: the one that expires last comes first.
 *
 * @throws TypeError when an argument is wrong. Rejects with whatever storage rejects with.
 */
export async function listAuthorizations(
  {
    storage,
    clock,
  }: { readonly storage: Pick<Storage, "authorizations" | "endMarks">; readonly clock: Clock },
  question: PageQuestion,
): Promise<ActiveAuthorizations> {
  checkPage(question, { of: "auth.authorizations.list", isAfter: isRandomId });
  const { subject, page, apis } = question;
  const { after } = page;
  const now = clock();
  const wanted = { ...(after !== undefined && { after }), limit: pageSize };
  const listed = (await storage.authorizations.list(subject, wanted, now)) ?? [];
  const hasEnded = await findEnds({ storage }, { listed, apis, now });
  const next = listed.length < pageSize ? undefined : listed.at(-1)?.authorizationId;
  const authorizations = listed.flatMap((one) => (hasEnded(one) ? [] : active(one)));
  return { authorizations, ...(next !== undefined && { next }) };
}
