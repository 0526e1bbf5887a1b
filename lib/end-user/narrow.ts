/** Takes back a part of what an end user has allowed a client at an API. RFC 6749 §1.5, §6, 7009 §2.1. */
import { isTrusted } from "../protocol/client";
import type { Consent, ConsentSelection } from "../protocol/consent";
import { type CurrentMarks, endKeysOf, isBornUnder, lessenedKey } from "../protocol/end-mark";
import type { Api } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";
import { intersect, isSubset } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";
import { consentMarks } from "./approval-basis";
import { checkedSelection, type EndPorts, saveMark } from "./ends";

const mistake = mistakesOf({
  "unclear-scopes-to-keep":
    "auth.consents.narrow: scopes must list the scopes that stay, at least one. To take back all of them, call auth.consents.revoke.",
  "client-is-trusted": (clientId: string, apiId: string) =>
    `auth.consents.narrow: client "${clientId}" is trusted at API "${apiId}", so nobody is asked and the next sign-in would give the scopes back. End its authorizations (auth.authorizations.revoke), or take "trusted" from its record.`,
});

/** What narrowing needs. */
export interface NarrowPorts extends EndPorts {
  readonly storage: Pick<Storage, "endMarks" | "authorizations" | "consents" | "clients">;
}

/** A consent, and the end marks that concern it. */
interface Marked {
  readonly consent: Consent;
  readonly marks: Partial<CurrentMarks>;
}

async function marked(
  { storage }: Pick<NarrowPorts, "storage">,
  { consents, audience, now }: { consents: readonly Consent[]; audience: string; now: EpochSeconds },
): Promise<readonly Marked[]> {
  const mark = async (consent: Consent): Promise<Marked> => {
    const found = await findMarks(storage.endMarks, { keys: endKeysOf(consent, audience), now });
    return { consent, marks: consentMarks(found) };
  };
  return Promise.all(consents.map(mark));
}

const contextOf = ({ contextKey = "" }: Pick<Consent, "contextKey">): string => contextKey;
const counts = ({ consent, marks }: Marked): boolean => isBornUnder(consent.endMarks, marks);

/** What stays of a consent, or nothing. */
function lessened(
  consent: Consent,
  { kept, mark }: { kept: readonly string[] | undefined; mark: string },
): readonly Consent[] {
  const scopes = kept ? intersect(consent.scopes, kept) : consent.scopes;
  return scopes.length > 0 ? [{ ...consent, scopes, endMarks: [...consent.endMarks, mark] }] : [];
}

/** What is asked for, checked. */
interface Narrowing {
  readonly selection: ConsentSelection;
  /** The scopes that stay, and what they imply. */
  readonly kept: readonly string[];
  /** Of the API; empty for one that this server does not have. Nothing ends such an API. */
  readonly audience: string;
}

async function checkedStep(
  { storage }: Pick<NarrowPorts, "storage">,
  { step, apis }: Pick<NarrowQuestion, "step" | "apis">,
): Promise<Narrowing> {
  const selection = checkedSelection(step, "auth.consents.narrow");
  const { clientId, apiId } = selection;
  const scopes: unknown = step.scopes;
  const isList = Array.isArray(scopes) && scopes.length > 0;
  if (!isList || !scopes.every((scope) => typeof scope === "string")) throw mistake("unclear-scopes-to-keep");
  const client = await storage.clients.find(clientId);
  if (client && isTrusted(client, apiId)) throw mistake("client-is-trusted", clientId, apiId);
  const { impliedScopes: implied, audience = "" } = apis.find((api) => api.apiId === apiId) ?? {};
  const kept = scopes.flatMap((scope) => [scope, ...(implied?.get(scope) ?? [])]);
  return { selection, kept, audience };
}

async function findConsents(
  { storage }: Pick<NarrowPorts, "storage">,
  { selection: { subject, clientId, apiId }, now }: { selection: ConsentSelection; now: EpochSeconds },
): Promise<readonly Consent[]> {
  const all = (await storage.consents.list(subject, now)) ?? [];
  return all.filter((one) => one.clientId === clientId && one.apiId === apiId);
}

/** Which part is to stay, the APIs of the server, and how long what it issues can live at most. */
interface NarrowQuestion {
  readonly step: ConsentSelection & { readonly scopes: readonly string[] };
  readonly apis: readonly Pick<Api, "apiId" | "audience" | "impliedScopes">[];
  readonly longestLifeSeconds: number;
}

/**
 * Keeps only these scopes, and what they imply, of what this end user allows this client at this API, in one context or in all: of the
 * authorizations, and of the consents.
 *
 * A new mark ends every consent of the two, and approvals under way. What stays is then stored again under that mark, which nothing else
 * stores: a withdrawal at the same time so keeps its own mark, and ends what is stored here. Whether a consent counted is told by the marks
 * of before, but it is read again: one that another call has narrowed meanwhile is narrowed further. If anything has ended the new ones by
 * the end, they are all forgotten, and the person is asked again.
 *
 * @throws TypeError when an argument is wrong, or the client is trusted. Rejects with whatever storage rejects with.
 */
export async function narrowConsent(ports: NarrowPorts, question: NarrowQuestion): Promise<void> {
  const { storage, emit, clock } = ports;
  const { selection, kept, audience } = await checkedStep(ports, question);
  const { subject, clientId, apiId, contextKey } = selection;
  const now = clock();
  const found = await findConsents(ports, { selection, now });
  const before = await marked(ports, { consents: found, audience, now });
  const end = { key: lessenedKey(selection), longestLifeSeconds: question.longestLifeSeconds, now };
  const mark = await saveMark(ports, end);
  const changed = await storage.authorizations.narrowAll({ selection, scopes: kept }, now);
  const stood = (await findConsents(ports, { selection, now })).filter((consent) =>
    before.some(
      ({ consent: earlier, marks }) =>
        contextOf(earlier) === contextOf(consent) && counts({ consent, marks }),
    ),
  );
  const isSelected = (one: Consent): boolean => contextKey === undefined || contextOf(one) === contextKey;
  const lesser = stood.flatMap((one) => lessened(one, { kept: isSelected(one) ? kept : undefined, mark }));
  for (const consent of lesser) await storage.consents.save(consent, now);
  const stands = (await marked(ports, { consents: lesser, audience, now })).every(counts);
  const exceptEndMark = stands ? mark : await saveMark(ports, end);
  await storage.consents.delete({ selection: { subject, clientId, apiId }, exceptEndMark }, now);
  const isNarrower = changed > 0 || stood.some((one) => isSelected(one) && !isSubset(one.scopes, kept));
  if (isNarrower) emit({ kind: "consent-narrowed", subject, clientId, apiId, scopes: question.step.scopes });
  else emit({ kind: "nothing-to-revoke", subject, clientId, apiId });
}
