/** What must hold once all operations have ended. */
import { listAuthorizations, listConsents } from "../../lib/end-user/list-authorizations";
import { authorizationOf, type Held, otherSelection, type Owner, visitOf } from "./family";
import { familyScopes } from "./host";
import { assertions, boundTokens, deviceOnes, registrations, vouchedOnes } from "./judge-clients";
import { identities } from "./judge-identity";
import {
  broughtBy,
  type Case,
  has,
  isAcknowledged,
  isFaulty,
  isLongAgo,
  type Living,
  livingOf,
  lootOf,
  type Ran,
  silentVisit,
} from "./loot";
import type { OperationName } from "./operations";
import { newProcess, type Heard, type Process } from "./server";

const lessScopes: OperationName = "approve fewer scopes";

/** The events of success, each of which must tell of one. */
const successes: readonly (Heard["kind"] | undefined)[] = [
  "token-issued",
  "token-refreshed",
  "refresh-retried",
  "authorization-granted",
  "consent-narrowed",
  "consent-revoked",
  "nothing-to-revoke",
  "token-revoked",
  "authorization-ended",
  "subject-ended",
  "subject-erased",
  "client-ended",
  "api-ended",
  "client-registered",
];

const isReplayed = ({ ran }: Case, { authorizationId }: Pick<Held, "authorizationId">): boolean =>
  authorizationId !== undefined &&
  ran.some(({ events }) =>
    events.some((event) => event.kind === "replay-detected" && event.authorizationId === authorizationId),
  );

/** Who gets tokens without a person. */
const isItself = ({ owner }: Held): boolean => owner === "client itself" || owner === "keyed client";

/**
 * True when a client itself has asked for its token after everything of the client or API was ended: it has read the mark of that end. An end
 * that was interrupted was repeated since, so it ends this too.
 */
function isSpared({ ran }: Case, { end, held }: { end: Ran; held: Held }): boolean {
  if (end.outcome?.kind !== "done") return false;
  const giver = ran.find((one) => broughtBy(one).some(({ text }) => text === held.text));
  // after the end of a person the host denies them, and a deleted client is gone; any other end is no ban for whom a provider vouches
  if (held.owner === "vouched person") {
    const basis = giver?.stepOf("endMarks.find", giver.stepOf("host.decideToken")) ?? -1;
    return !/subject|delete/.test(end.name) && basis > (end.stepOf("endMarks.save") ?? Infinity);
  }
  const isExchanged = held.owner === "resource server" && end.operation.needs === "resource server";
  if (!(isItself(held) || isExchanged) || !end.operation.sparesLater) return false;
  // an exchange reads those of its own client before it looks for the token
  const lookedFor = isExchanged ? giver?.stepOf("accessTokens.find") : undefined;
  const read = giver?.stepOf("endMarks.find", lookedFor) ?? -1;
  const stored = end.stepOf("endMarks.save") ?? Infinity;
  return read > stored;
}

/** What ends a token of the family also ends what it was exchanged for, unless it ends that token alone. RFC 8693 §1.1. */
const originsOf = (held: Held): readonly Held[] =>
  held.owner === "resource server" ? [held, { ...held, owner: "family" }] : [held];

/** The operations that were begun to end this. */
function endsOf(all: Case, held: Held): readonly Ran[] {
  return all.ran.filter(
    (end) =>
      originsOf(held).some((one) => end.operation.ends?.(one, all.family) === true) &&
      !isSpared(all, { end, held }),
  );
}

/** True when something was begun that ends this, or a replay has ended it, or has tried to when it was interrupted. */
function mayHaveEnded(all: Case, held: Held): boolean {
  const { ran, family } = all;
  const byReplay = ran.some(
    ({ operation: { presents }, faultAt }) =>
      faultAt === "authorizations.revoke" &&
      presents &&
      authorizationOf(presents(family)) === held.authorizationId,
  );
  const isPart = held.owner === "resource server" && takersOf(all, "family").length > 0;
  // who has said yes was told that it failed, though the device may have asked in between
  const byFailure =
    held.owner === "device" && ran.some(({ faultAt }) => faultAt === "authorizationCodes.create");
  return byReplay || isPart || byFailure || endsOf(all, held).length > 0 || isReplayed(all, held);
}

const named = ({ kind, owner }: Held): string =>
  `${kind === "access token" ? "an" : "a"} ${kind} of the ${owner}`;

/** What was ended does not work. */
function endedOnes(all: Case, living: readonly Held[]): readonly string[] {
  return living.flatMap((held) => {
    // what the host has not said, because something else was refused first, ends nothing
    const by = endsOf(all, held).filter((end) => end.operation.word === undefined || isAcknowledged(end));
    const found = by.map(({ name }) => `"${name}" has resolved, and ${named(held)} still works`);
    const replayed = isReplayed(all, held) ? ["a replay was detected, and something works"] : [];
    return [...found, ...replayed];
  });
}

const isWide = (scope: unknown): boolean => String(scope).includes("orders:write");

/** A client gets no scope that it may no longer have. */
function takenScopes(all: Case, living: readonly Living[]): readonly string[] {
  const changes = all.ran.filter(
    ({ name, outcome }) => name === "client changed" && outcome?.kind === "done",
  );
  const asked = all.ran.filter(({ stepOf }) =>
    changes.some((change) => {
      // what is looked at once more when the claims are there decides no scopes
      const found = stepOf("clients.find", stepOf("host.claims")) ?? -1;
      return found > (change.stepOf("clients.save") ?? Infinity);
    }),
  );
  const wide = [
    ...living.filter(({ kind, owner, scope }) => kind === "code" && owner === "family" && isWide(scope)),
    ...asked.filter((one) => broughtBy(one).length > 0 && isWide(one.outcome?.body?.["scope"])),
  ];
  return changes.length > 0 && wide.length > 0
    ? ["the client has changed, and gets a scope that it may no longer have"]
    : [];
}

/** The host's word holds for the one access token that it was said about, and for nothing else. */
function saidScopes(all: Case, living: readonly Living[]): readonly string[] {
  const words = all.ran.filter(({ operation: { word } }) => word?.kind === "issue");
  const narrow = words.flatMap(broughtBy).filter(({ kind }) => kind === "access token");
  const wide = living.filter(
    ({ text, scope }) => scope !== "orders:read" && narrow.some((one) => one.text === text),
  );
  const others = words.filter(
    ({ outcome }) => outcome?.kind === "done" && outcome.body?.["scope"] !== "orders:read",
  );
  const [ofTokens] = all.family.authorizationIds;
  const { all: allScopes } = familyScopes[all.family.format];
  const narrowed = (has(all, "take back a part") ? [] : living).filter(
    ({ kind, authorizationId, scope }) =>
      kind === "refresh token" && authorizationId === ofTokens && scope !== allScopes,
  );
  return [
    ...(wide.length > 0 ? ["the host has said fewer scopes, and the access token has more"] : []),
    ...(others.length > 0 ? ["the host has said fewer scopes, and the client is told others"] : []),
    ...(narrowed.length > 0 ? ["a refresh token has lost scopes that the person has granted"] : []),
  ];
}

/** The operations that take back writing from this owner. */
const takersOf = ({ ran }: Case, owner: Owner): readonly Ran[] =>
  ran.filter(({ operation }) => operation.takesWriting?.includes(owner) === true);

/** What was taken back does not work, and comes back only by a page. */
async function takenBack(
  all: Case,
  { process, living }: { process: Process; living: readonly Living[] },
): Promise<readonly string[]> {
  const problems = living
    .filter(({ owner, scope }) => {
      const isExchanged = owner === "resource server" && scope.includes("stock:reserve");
      return isExchanged
        ? takersOf(all, "family").length > 0
        : isWide(scope) && takersOf(all, owner).length > 0;
    })
    .map((held) => `writing was taken back, and ${named(held)} has it`);
  for (const owner of ["family", "other context"] as const) {
    if (takersOf(all, owner).length === 0) continue;
    const { code } = await process.silent(visitOf(owner, all.family), "orders:write");
    if (code !== undefined) problems.push("writing was taken back, and the next visit for it is silent");
  }
  return problems;
}

/** A code or a refresh token has one living successor at most, and is not used without having one. */
function successors(all: Case, living: readonly Held[]): readonly string[] {
  const { family } = all;
  const { code, devices } = family;
  const twice = [code, devices.open, devices.approved].flatMap((text) =>
    usesOf(all, text).filter(({ outcome }) => outcome?.kind === "done").length > 1
      ? ["a code has bought tokens twice"]
      : [],
  );
  const [ofTokens] = family.authorizationIds;
  const refreshTokens = living.filter(
    ({ kind, authorizationId }) => kind === "refresh token" && authorizationId === ofTokens,
  );
  const many = refreshTokens.length > 1 ? [`${refreshTokens.length} refresh tokens of one family live`] : [];
  return [...twice, ...many];
}

/** Whether an access token or a code must still work, by time alone. */
const mayHaveExpired = (all: Case, { kind }: Held): boolean => kind !== "refresh token" && isLongAgo(all);

/** The operations that present this code. */
function usesOf({ ran, family: { code, devices } }: Case, text: string): readonly Ran[] {
  const byName = {
    redeem: code,
    poll: devices.open,
    "poll for what is approved": devices.approved,
  } as const;
  return ran.filter(({ name }) => name in byName && byName[name as keyof typeof byName] === text);
}

/** True for a text that something has used up, or may have. */
function mayBeSpent(
  all: Case,
  { held: { kind, text }, loot }: { held: Held; loot: readonly Held[] },
): boolean {
  const { family, ran } = all;
  if (kind === "code") return usesOf(all, text).length > 0;
  if (kind === "access token") return false;
  const last = loot.findLast(
    (held) => held.kind === kind && authorizationOf(held.text) === authorizationOf(text),
  );
  if (last?.text !== text) return true;
  return ran.some(({ operation, faultAt }) => faultAt !== undefined && operation.presents?.(family) === text);
}

/** What was acknowledged and was not ended works. */
function lostOnes(
  all: Case,
  { loot, living }: { loot: readonly Held[]; living: readonly Held[] },
): readonly string[] {
  const alive = new Set(living.map(({ text }) => text));
  return loot
    .filter((held) => !mayHaveEnded(all, held) && !mayHaveExpired(all, held))
    .filter((held) => !mayBeSpent(all, { held, loot }) && !alive.has(held.text))
    .map((held) => `${named(held)} was acknowledged and no longer works, though nothing has ended it`);
}

/** The client repeats what has failed or whose answer was lost. It must not be taken for a thief. */
async function repeated(all: Case, process: Process): Promise<readonly string[]> {
  const { ran, family } = all;
  const problems: string[] = [];
  for (const { name, operation, outcome, faultAt } of ran) {
    if (faultAt === undefined || outcome?.kind === "done" || !operation.presents) continue;
    // a device asks again anyway
    if (operation.needs === "device") continue;
    const text = operation.presents(family);
    const kind = name === "redeem" ? "code" : "refresh token";
    const held: Held = { kind, text, owner: "family", authorizationId: authorizationOf(text) };
    // a code that was used up is refused, and after some time a refresh token too; others present it as well
    const isSpent = kind === "code" && faultAt === "authorizationCodes.consume";
    const others = ran.filter((one) => one.operation.presents && one.faultAt === undefined);
    if (name === "replay" || mayHaveEnded(all, held) || isSpent || isLongAgo(all) || others.length > 0)
      continue;
    const fields: Record<string, string> =
      kind === "code"
        ? { grant_type: "authorization_code", code: text }
        : { grant_type: "refresh_token", refresh_token: text };
    const again = await process.post("token", fields);
    if (again.kind !== "done")
      problems.push(`"${name}" was interrupted at ${faultAt}, and its retry is refused`);
  }
  return problems;
}

/** Nobody but who uses something up twice, or too late, is taken for a thief. */
function falseAlarms(all: Case): readonly string[] {
  const [ofTokens, ofCode] = all.family.authorizationIds;
  const count = (...names: readonly OperationName[]): number =>
    all.ran.filter(({ name }) => names.includes(name)).length;
  const refreshes = count("refresh", "refresh to fewer scopes");
  const isAlarm = has(all, "replay") || isLongAgo(all) || (count("retry") > 0 && refreshes > 0);
  const [tokens, code] = [{ authorizationId: ofTokens }, { authorizationId: ofCode }];
  return [
    ...(isReplayed(all, tokens) && !isAlarm ? ["a refresh was taken for a replay"] : []),
    ...(isReplayed(all, code) && count("redeem") < 2 ? ["a redemption was taken for a replay"] : []),
  ];
}

/** Whether the events of success tell of what happened and of nothing else. */
function isTold({ operation: { succeeds, word }, outcome }: Ran, heard: readonly Heard["kind"][]): boolean {
  if (outcome?.kind === "done") return heard.length <= 1 && succeeds.includes(heard[0]);
  // the host's no reaches the client only when it has ended what it is about
  const isEnd = word?.kind === "refuse" && outcome?.description === word.description;
  return isEnd ? heard.join() === "authorization-ended" : heard.length === 0;
}

/** No failure without a fault, and events that tell of what happened and of nothing else. */
function told(all: Case, one: Ran): readonly string[] {
  const { name, outcome, events, faultAt } = one;
  const kinds = events.map(({ kind }) => kind);
  const problems: string[] = [];
  // a request that takes longer than its token would live may come again
  const isTooLate = outcome?.error === "temporarily_unavailable" && isLongAgo(all);
  const isFailed = (outcome?.kind === "failed" && !isTooLate) || kinds.includes("server-error");
  if (isFailed && faultAt === undefined)
    problems.push(`"${name}" has failed, and no fault was injected into it`);
  const heard = kinds.filter((kind) => successes.includes(kind));
  if (outcome === undefined) return problems;
  if (!isTold(one, heard))
    problems.push(`"${name}" was ${outcome.kind}, and the events say: ${kinds.join(", ") || "nothing"}`);
  const refused = kinds.some((kind) => /-(?:refused|denied)$/.test(kind));
  if (outcome.kind === "refused" && !refused && !/^(?:ask|interaction|bearer)$/.test(outcome.error ?? ""))
    problems.push(`"${name}" was refused, and no event says so`);
  return problems;
}

/**
 * True when what stays of a consent may have been forgotten: it was taken back twice, in part or as a whole, while an approval was under
 * way, or with a fault.
 */
function isForgottenWithAPart({ ran }: Case): boolean {
  const takers = ran.filter(({ operation: { takesWriting, takesConsent } }) => takesWriting ?? takesConsent);
  const approvals = ran.filter(({ name }) => /^(?:approve|deny)/.test(name));
  const isPart = takers.some(({ operation }) => operation.takesWriting !== undefined);
  return (
    isPart &&
    (takers.length > 1 || approvals.length > 0 || takers.some(({ faultAt }) => faultAt !== undefined))
  );
}

/** What has remained of what the person has allowed this owner. */
async function consentAt(
  all: Case,
  { process, owner }: { process: Process; owner: Owner },
): Promise<readonly string[]> {
  const { ran, family, parts } = all;
  const takers = ran.filter(({ operation }) => operation.takesConsent?.includes(owner));
  const approvals = ran.filter(
    ({ name, operation }) => name.startsWith("approve") && (operation.brings ?? "family") === owner,
  );
  const isApproved = approvals.some(({ outcome }) => outcome?.code !== undefined);
  // nobody has allowed a registered client anything before
  const isGiven = parts.length > 0 && (owner !== "registered client" || isApproved);
  // an approval that is ended while it is stored, also by one of fewer scopes, or that fails once its consent may be saved, takes along what
  // was remembered before: the person is asked again
  const isEnded = isAnyEnded(all, owner) || (owner === "family" && has(all, lessScopes));
  const isOverwritten = approvals.some(
    ({ outcome, stepOf }) => outcome?.kind !== "done" && (isEnded || stepOf("consents.save") !== undefined),
  );
  if (takers.length === 0 && isForgottenWithAPart(all)) return [];
  if (takers.length === 0 && (!isGiven || isOverwritten)) return [];
  const code = await silentVisit(process, { owner, family });
  if (takers.length > 0)
    return code === undefined ? [] : ["the consent was taken back, and the next visit is silent"];
  return code === undefined ? [`what the person has allowed the ${owner} is forgotten`] : [];
}

/** True when something was begun that ends approvals of this owner. */
const isAnyEnded = ({ ran, family }: Case, owner: Owner): boolean =>
  ran.some(({ operation }) => operation.ends?.({ kind: "code", text: "", owner }, family) === true);

/** The consents of this owner that the person sees. */
async function listedConsents(
  { family, host }: Case,
  { process, owner }: { process: Process; owner: Owner },
) {
  const { consents } = await listConsents(process.ports, {
    subject: "alice",
    page: {},
    apis: [host.issuer.api],
  });
  const { clientId } = owner === "registered client" ? family.registered.client : otherSelection;
  const ofContext = owner === "other context" ? otherSelection.contextKey : "";
  return consents.filter((consent) => consent.clientId === clientId && consent.contextKey === ofContext);
}

/** What the person no longer allows is asked again, whatever another page is about to remember. */
async function widened({ ran }: Case, process: Process): Promise<readonly string[]> {
  const narrowed = ran.filter(({ name, outcome }) => name === lessScopes && outcome?.kind === "done");
  const stored = Math.max(...narrowed.map(({ stepOf }) => stepOf("endMarks.save") ?? 0));
  // a yes that has read its mark came after it, from a page that was still open: it is the last word
  const isAllowedAgain = ran.some(
    ({ name, stepOf }) =>
      name === "approve" && (stepOf("endMarks.find", stepOf("authorizations.create")) ?? 0) > stored,
  );
  if (narrowed.length === 0 || isAllowedAgain) return [];
  const { code } = await process.silent({}, "orders:write");
  return code === undefined
    ? []
    : ["fewer scopes were approved, and the next visit for the others is silent"];
}

/** The operations that answer one page, and whose approvals without a page come of it. */
const pages: readonly {
  readonly no: readonly OperationName[];
  readonly yes: readonly OperationName[];
  readonly owner?: Owner;
}[] = [
  { no: ["deny", "deny on a page of the host"], yes: ["approve", lessScopes] },
  {
    no: ["deny the registered client"],
    yes: ["approve the registered client", "visit the registered client silently"],
    owner: "registered client",
  },
  { no: ["deny the device"], yes: ["approve the device", "approve the device elsewhere"] },
];

/** Once the client was told a no, the page gives nothing, and nobody remembers a yes of it. */
async function toldNoes({ ran, family }: Case, process: Process): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { no, yes, owner } of pages) {
    const wasTold = ran.some(({ name, outcome }) => no.includes(name) && outcome?.error === "access_denied");
    if (!wasTold) continue;
    const given = ran.filter(({ name, outcome }) => yes.includes(name) && outcome?.code !== undefined);
    problems.push(...given.map(({ name }) => `a no was told, and "${name}" gave a code`));
    // the family has allowed everything before
    const code = owner && (await silentVisit(process, { owner, family }));
    if (code !== undefined) problems.push("a no was told, and the next visit is silent");
  }
  return problems;
}

/** A no is a no: to this page, and to what the person has allowed. And a yes is remembered. */
async function noes(all: Case, process: Process): Promise<readonly string[]> {
  const { ran, host, parts } = all;
  const problems = ran
    .filter(({ name, outcome }) => name.startsWith("deny") && outcome?.kind === "done")
    .map(({ name }) => `"${name}" gave a code`);
  host.signIn("in");
  problems.push(...(await widened(all, process)), ...(await toldNoes(all, process)));
  const owners = parts.filter(
    (part): part is "other context" | "registered client" =>
      part === "other context" || part === "registered client",
  );
  for (const owner of ["family", ...owners] as const) {
    problems.push(...(await consentAt(all, { process, owner })));
    const isTaken = ran.some(({ operation }) => operation.takesConsent?.includes(owner));
    // an approval that was interrupted may leave its record, which counts for nothing
    const listed = isTaken && !isFaulty(all) ? await listedConsents(all, { process, owner }) : [];
    if (listed.length > 0) problems.push("the consent was taken back, and is still listed");
  }
  return problems;
}

/** Of two browsers with one pushed request, one gets codes; and one does where nothing has failed or ended. */
function pushedOnes(all: Case): readonly string[] {
  const asked = all.ran.filter(({ operation }) => operation.needs === "pushed request");
  const given = new Set(asked.filter(({ outcome }) => outcome?.code !== undefined).map(({ name }) => name));
  if (given.size > 1) return ["two browsers got codes for one pushed request"];
  const isLost = asked.length > 0 && asked.every(({ outcome }) => outcome?.error === "invalid_request_uri");
  return isLost && !isFaulty(all) ? ["a pushed request was used up, and nobody got a code"] : [];
}

/** Records that name a person who was erased. */
async function leftOvers(all: Case): Promise<readonly string[]> {
  const { host } = all;
  if (!has(all, "erase the subject") || isFaulty(all)) return [];
  const left = await host.storage.authorizations.erase({ subject: "alice" }, host.now());
  return left > 0 ? [`"erase the subject" has resolved, and ${left} authorizations name the person`] : [];
}

async function listedIds({ host }: Case, process: Process): Promise<ReadonlySet<string>> {
  const { authorizations } = await listAuthorizations(process.ports, {
    subject: "alice",
    page: {},
    apis: [host.issuer.api],
  });
  return new Set(authorizations.map(({ authorizationId }) => authorizationId));
}

/** What lives on is listed, so that the person can end it. */
function unlisted(living: readonly Living[], listed: ReadonlySet<string>): readonly string[] {
  return living
    .filter(({ authorizationId }) => authorizationId !== undefined && !listed.has(authorizationId))
    .map(({ kind }) => `a ${kind} works, and its authorization is not listed`);
}

/** Ends that were interrupted are repeated until they resolve, as the documentation asks. */
async function repeatEnds({ host, family, ran }: Case): Promise<void> {
  for (const [number, one] of ran.entries()) {
    const { word } = one.operation;
    const { ends, takesWriting } = one.operation;
    if ((!ends && !takesWriting) || isAcknowledged(one)) continue;
    // whom the host has refused something else is not asked again
    if (word && one.outcome?.kind === "refused") continue;
    const process = newProcess(host, { name: `again ${number}`, lagSeconds: 0, word });
    await one.operation.begin({ host, family, process });
  }
}

const isOfAnotherClient = (owner: Owner): boolean =>
  owner === "registered client" || owner === "keyed client";

/** While the client is disabled, nothing of it works. Then it is enabled, and nothing of it is lost. */
async function disabledOnes(all: Case): Promise<readonly string[] | undefined> {
  if (!has(all, "disable the client")) return undefined;
  const { host, family } = all;
  host.setDisabled(true);
  const now = newProcess(host, { name: "after", lagSeconds: 0 });
  // what others have is not asked for: asking uses codes up
  const ofClient = lootOf(all).filter(({ owner }) => !isOfAnotherClient(owner));
  const living = await livingOf({ now, before: [], family }, ofClient);
  host.setDisabled(false);
  return living.map((held) => `"disable the client" has resolved, and ${named(held)} still works`);
}

/**
 * What is wrong, or nothing. First, a disabled client is enabled, and ends that were interrupted are repeated; then late calls do their
 * work; then the server is asked.
 */
export async function judged(all: Case, lateCalls: () => Promise<void>): Promise<readonly string[]> {
  const { host, family, lagSeconds } = all;
  const disabled = await disabledOnes(all);
  await repeatEnds(all);
  await lateCalls();
  // a late call may have disabled it once more
  if (disabled) host.setDisabled(false);
  host.advance(lagSeconds);
  const process = newProcess(host, { name: "after", lagSeconds: 0 });
  const loot = lootOf(all);
  const spoken = [
    ...all.ran.flatMap((one) => told(all, one)),
    ...falseAlarms(all),
    ...pushedOnes(all),
    ...deviceOnes(all),
  ];
  const again = await repeated(all, process);
  const consents = await noes(all, process);
  // read before codes are presented, which may be a replay
  const listed = await listedIds(all, process);
  const processes = { now: process, before: all.processes, family };
  const living = await livingOf(processes, again.length > 0 ? [] : loot);
  return [
    ...spoken,
    ...(disabled ?? []),
    ...again,
    ...consents,
    ...endedOnes(all, living),
    ...successors(all, living),
    ...takenScopes(all, living),
    ...saidScopes(all, living),
    ...(await takenBack(all, { process, living })),
    ...(again.length > 0 ? [] : lostOnes(all, { loot, living })),
    ...unlisted(living, listed),
    ...(await leftOvers(all)),
    ...(await registrations(all)),
    ...(await assertions(all, process)),
    ...(await vouchedOnes(all, process)),
    ...(await boundTokens(all, process)),
    ...identities(all),
  ];
}
