/** What must hold once all operations have ended: the real server is asked. */
import { listAuthorizations, listConsents } from "../../lib/end-user/list-authorizations";
import { authorizationOf, type Family, type Held } from "./family";
import type { Host } from "./host";
import type { Operation, OperationName } from "./operations";
import { newProcess, type Heard, type Outcome, type Process } from "./server";

/** An operation and how it went. */
export interface Ran {
  readonly name: OperationName;
  readonly operation: Operation;
  /** `undefined` when its process has crashed. */
  readonly outcome: Outcome | undefined;
  readonly events: readonly Heard[];
  /** The call at which a fault was injected. */
  readonly faultAt: string | undefined;
}

/** All that a judge knows. */
export interface Case {
  readonly host: Host;
  readonly family: Family;
  readonly ran: readonly Ran[];
  /** Processes that were there all the time. */
  readonly processes: readonly Process[];
  /** How long a process may rely on what it remembers. */
  readonly lagSeconds: number;
}

/** The events of success, each of which must tell of one. */
const successes: readonly (Heard["kind"] | undefined)[] = [
  "token-issued",
  "token-refreshed",
  "refresh-retried",
  "authorization-granted",
  "consent-revoked",
  "nothing-to-revoke",
  "token-revoked",
  "authorization-ended",
  "subject-ended",
  "subject-erased",
  "client-ended",
  "client-registered",
];

const has = ({ ran }: Case, ...names: readonly OperationName[]): boolean =>
  ran.some(({ name }) => names.includes(name));

/** Everything that the client has by now. */
function lootOf({ family, ran }: Case): readonly Held[] {
  const [ofTokens, ofCode] = family.authorizationIds;
  const before: readonly Held[] = [
    ...family.refreshTokens.map(
      (text) => ({ kind: "refresh token", text, authorizationId: ofTokens }) as const,
    ),
    ...family.accessTokens.map(
      (text) => ({ kind: "access token", text, authorizationId: ofTokens }) as const,
    ),
    { kind: "code", text: family.code, authorizationId: ofCode },
  ];
  const since = ran.flatMap(({ outcome }): readonly Held[] => {
    const { code, body } = outcome ?? {};
    if (code !== undefined) return [{ kind: "code", text: code, authorizationId: authorizationOf(code) }];
    const [access, refresh] = [body?.["access_token"], body?.["refresh_token"]];
    if (typeof access !== "string" || typeof refresh !== "string") return [];
    const authorizationId = authorizationOf(refresh);
    return [
      { kind: "access token", text: access, authorizationId },
      { kind: "refresh token", text: refresh, authorizationId },
    ];
  });
  return [...new Map([...before, ...since].map((held) => [held.text, held])).values()];
}

/** What still works, and with which scopes. */
interface Living extends Held {
  readonly scope: string;
}

/** Which scopes the text still has; `undefined` when it no longer works. */
async function scopeOf(process: Process, { kind, text }: Held): Promise<string | undefined> {
  if (kind === "access token") return (await process.accepts(text)) ? "" : undefined;
  if (kind === "code") {
    const { kind: answer, body } = await process.post("token", {
      grant_type: "authorization_code",
      code: text,
    });
    return answer === "done" ? String(body?.["scope"]) : undefined;
  }
  const { body } = await process.post("introspect", { token: text });
  return body?.["active"] === true ? "" : undefined;
}

/** What of the loot works. Codes come last, because asking uses them up. */
async function livingOf(
  { now, before }: { now: Process; before: readonly Process[] },
  loot: readonly Held[],
): Promise<readonly Living[]> {
  const living: Living[] = [];
  const inOrder = [
    ...loot.filter(({ kind }) => kind !== "code"),
    ...loot.filter(({ kind }) => kind === "code"),
  ];
  for (const held of inOrder) {
    const scope = await scopeOf(now, held);
    if (scope !== undefined) living.push({ ...held, scope });
    // processes that were there before remember what they have accepted, but not for longer than the lag
    const others = held.kind === "access token" && scope === undefined ? before : [];
    for (const process of others) if (await process.accepts(held.text)) living.push({ ...held, scope: "" });
  }
  return living;
}

const isReplayed = ({ ran }: Case, authorizationId: string): boolean =>
  ran.some(({ events }) =>
    events.some((event) => event.kind === "replay-detected" && event.authorizationId === authorizationId),
  );

/** True when something was begun that ends this, or a replay has ended it, or has tried to when it was interrupted. */
function mayHaveEnded({ ran, family, ...all }: Case, held: Held): boolean {
  const { authorizationId } = held;
  const byReplay = ran.some(
    ({ operation: { presents }, faultAt }) =>
      faultAt === "authorizations.revoke" &&
      presents &&
      authorizationOf(presents(family)) === authorizationId,
  );
  const byOperation = ran.some(({ operation }) => operation.ends?.(held, family) === true);
  return byReplay || byOperation || isReplayed({ ...all, ran, family }, authorizationId);
}

/** What was ended does not work. */
function endedOnes(all: Case, living: readonly Held[]): readonly string[] {
  return living.flatMap((held) => {
    const by = all.ran.filter(({ operation }) => operation.ends?.(held, all.family) === true);
    const found = by.map(
      ({ name }) => `"${name}" has resolved, and a ${held.kind} of the family still works`,
    );
    const replayed = isReplayed(all, held.authorizationId)
      ? ["a replay was detected, and something works"]
      : [];
    return [...found, ...replayed];
  });
}

/** A client gets no scope that it may no longer have. */
function takenScopes(all: Case, living: readonly Living[]): readonly string[] {
  const isChanged = all.ran.some(
    ({ name, outcome }) => name === "client changed" && outcome?.kind === "done",
  );
  const isWide = isChanged && living.some(({ scope }) => scope.includes("orders:write"));
  return isWide ? ["the client has changed, and gets a scope that it may no longer have"] : [];
}

/** A code or a refresh token has one living successor at most, and is not used without having one. */
function successors(all: Case, living: readonly Held[]): readonly string[] {
  const { ran, family } = all;
  const codes = ran.filter(({ name, outcome }) => name === "redeem" && outcome?.kind === "done");
  const twice = codes.length > 1 ? ["a code has bought tokens twice"] : [];
  const [ofTokens] = family.authorizationIds;
  const refreshTokens = living.filter(
    ({ kind, authorizationId }) => kind === "refresh token" && authorizationId === ofTokens,
  );
  const many = refreshTokens.length > 1 ? [`${refreshTokens.length} refresh tokens of one family live`] : [];
  return [...twice, ...many];
}

/** Whether an access token or a code must still work, by time alone. */
const mayHaveExpired = (all: Case, { kind }: Held): boolean => kind !== "refresh token" && has(all, "expire");

/** True for a text that something has used up, or may have. */
function mayBeSpent(all: Case, { kind, text }: Held, loot: readonly Held[]): boolean {
  const { family, ran } = all;
  if (kind === "code") return text === family.code && has(all, "redeem");
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
    .filter((held) => !mayHaveEnded(all, held) && !mayHaveExpired(all, held) && !mayBeSpent(all, held, loot))
    .filter(({ text }) => !alive.has(text))
    .map(({ kind }) => `a ${kind} was acknowledged and no longer works, though nothing has ended it`);
}

/** The client repeats what has failed or whose answer was lost. It must not be taken for a thief. */
async function repeated(all: Case, process: Process): Promise<readonly string[]> {
  const { ran, family } = all;
  const problems: string[] = [];
  for (const { name, operation, outcome, faultAt } of ran) {
    if (faultAt === undefined || outcome?.kind === "done" || !operation.presents) continue;
    const text = operation.presents(family);
    const kind = name === "redeem" ? "code" : "refresh token";
    const held: Held = { kind, text, authorizationId: authorizationOf(text) };
    // a code that was used up is refused, and after some time a refresh token too; others present it as well
    const isSpent = kind === "code" && faultAt === "authorizationCodes.consume";
    const others = ran.filter((one) => one.operation.presents && one.faultAt === undefined);
    if (name === "replay" || mayHaveEnded(all, held) || isSpent || has(all, "expire") || others.length > 0)
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
  const isAlarm = has(all, "replay", "expire") || (count("retry") > 0 && count("refresh") > 0);
  return [
    ...(isReplayed(all, ofTokens) && !isAlarm ? ["a refresh was taken for a replay"] : []),
    ...(isReplayed(all, ofCode) && count("redeem") < 2 ? ["a redemption was taken for a replay"] : []),
  ];
}

/** No failure without a fault, and events that tell of what happened and of nothing else. */
function told({ name, operation, outcome, events, faultAt }: Ran): readonly string[] {
  const { succeeds } = operation;
  const kinds = events.map(({ kind }) => kind);
  const problems: string[] = [];
  const isFailed = outcome?.kind === "failed" || kinds.includes("server-error");
  if (isFailed && faultAt === undefined)
    problems.push(`"${name}" has failed, and no fault was injected into it`);
  const heard = kinds.filter((kind) => successes.includes(kind));
  if (outcome === undefined) return problems;
  const isTold =
    outcome.kind === "done" ? heard.length <= 1 && succeeds.includes(heard[0]) : heard.length === 0;
  if (!isTold)
    problems.push(`"${name}" was ${outcome.kind}, and the events say: ${kinds.join(", ") || "nothing"}`);
  const refused = kinds.some((kind) => /-(?:refused|denied)$/.test(kind));
  if (outcome.kind === "refused" && !refused && !/^(?:ask|interaction|bearer)$/.test(outcome.error ?? ""))
    problems.push(`"${name}" was refused, and no event says so`);
  return problems;
}

/** A no is a no: to this page, and to what the person has allowed. */
async function noes(all: Case, process: Process): Promise<readonly string[]> {
  const { ran, host } = all;
  const problems = ran
    .filter(({ name, outcome }) => name.startsWith("deny") && outcome?.kind === "done")
    .map(({ name }) => `"${name}" gave a code`);
  if (!ran.some(({ operation }) => operation.takesConsent)) return problems;
  host.signIn("in");
  const next = await process.silent();
  if (next.code !== undefined) problems.push("the consent was taken back, and the next visit is silent");
  const isListed = (await listConsents(process.ports, "alice")).length > 0;
  // an approval that was interrupted may leave its record, which counts for nothing
  if (isListed && ran.every(({ faultAt }) => faultAt === undefined))
    problems.push("the consent was taken back, and is still listed");
  return problems;
}

/** Records that name a person who was erased. */
async function leftOvers(all: Case): Promise<readonly string[]> {
  const { host, ran } = all;
  if (!has(all, "erase the subject") || ran.some(({ faultAt }) => faultAt !== undefined)) return [];
  const left = await host.storage.authorizations.erase({ subject: "alice" }, host.now());
  return left > 0 ? [`"erase the subject" has resolved, and ${left} authorizations name the person`] : [];
}

async function listedIds(process: Process): Promise<ReadonlySet<string>> {
  const { authorizations } = await listAuthorizations(process.ports, { subject: "alice", page: {} });
  return new Set(authorizations.map(({ authorizationId }) => authorizationId));
}

/** What lives on is listed, so that the person can end it. */
function unlisted(living: readonly Living[], listed: ReadonlySet<string>): readonly string[] {
  return living
    .filter(({ authorizationId }) => !listed.has(authorizationId))
    .map(({ kind }) => `a ${kind} works, and its authorization is not listed`);
}

async function registrations({ host, ran }: Case): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { name, outcome } of ran) {
    if (name !== "register" || outcome?.kind !== "done") continue;
    const found = await host.storage.clientRegistrations.find(
      String(outcome.body?.["client_id"]),
      host.now(),
    );
    if (!found) problems.push("a registration was acknowledged and is lost");
  }
  return problems;
}

/** Ends that were interrupted are repeated until they resolve, as the documentation asks. */
async function repeatEnds({ host, family, ran }: Case, process: Process): Promise<void> {
  for (const { operation, outcome } of ran)
    if (operation.ends && outcome?.kind !== "done") await operation.begin({ host, family, process });
}

/**
 * What is wrong, or nothing. First, ends that were interrupted are repeated; then late calls do their work; then the server is asked.
 */
export async function judged(all: Case, lateCalls: () => Promise<void>): Promise<readonly string[]> {
  const { host, lagSeconds } = all;
  const process = newProcess(host, { name: "after", lagSeconds: 0 });
  await repeatEnds(all, process);
  await lateCalls();
  host.advance(lagSeconds);
  const loot = lootOf(all);
  const spoken = [...all.ran.flatMap(told), ...falseAlarms(all)];
  const again = await repeated(all, process);
  const consents = await noes(all, process);
  // read before codes are presented, which may be a replay
  const listed = await listedIds(process);
  const processes = { now: process, before: all.processes };
  const living = await livingOf(processes, again.length > 0 ? [] : loot);
  return [
    ...spoken,
    ...again,
    ...consents,
    ...endedOnes(all, living),
    ...successors(all, living),
    ...takenScopes(all, living),
    ...(again.length > 0 ? [] : lostOnes(all, { loot, living })),
    ...unlisted(living, listed),
    ...(await leftOvers(all)),
    ...(await registrations(all)),
  ];
}
