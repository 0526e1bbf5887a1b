/** What clients have by the end, and what of it still works: the real server is asked. */
import { deviceGrant } from "../../lib/protocol/client";
import { authorizationOf, type Family, type Held, type Part, visitOf } from "./family";
import type { Host } from "./host";
import type { Operation } from "./operation";
import type { OperationName } from "./operations";
import type { Heard, Outcome, Process } from "./server";

/** An operation and how it went. */
export interface Ran {
  readonly name: OperationName;
  readonly operation: Operation;
  /** `undefined` when its process has crashed. */
  readonly outcome: Outcome | undefined;
  readonly events: readonly Heard[];
  /** The call at which a fault was injected. */
  readonly faultAt: string | undefined;
  /** The number of the step in which it has made its last call of this name. */
  readonly stepOf: (call: string, before?: number) => number | undefined;
}

/** All that a judge knows. */
export interface Case {
  readonly host: Host;
  readonly family: Family;
  /** What was there beside the family. */
  readonly parts: readonly Part[];
  readonly ran: readonly Ran[];
  /** Processes that were there all the time. */
  readonly processes: readonly Process[];
  /** How long a process may rely on what it remembers. */
  readonly lagSeconds: number;
}

/** True when one of these operations was begun. */
export const has = ({ ran }: Case, ...names: readonly OperationName[]): boolean =>
  ran.some(({ name }) => names.includes(name));

/** True when a fault was injected somewhere. */
export const isFaulty = ({ ran }: Case): boolean => ran.some(({ faultAt }) => faultAt !== undefined);

/** True when so much time has passed that only refresh tokens are sure to live. */
export const isLongAgo = ({ ran }: Case): boolean =>
  ran.some(({ operation }) => operation.passesTime === true);

/** True when the operation has done what it is for, as far as whoever asked for it knows. */
export function isAcknowledged({ operation: { word }, outcome, events }: Ran): boolean {
  if (word?.kind !== "refuse") return outcome?.kind === "done";
  return events.some(({ kind }) => kind === "authorization-ended");
}

function partsOfLoot({ family, parts }: Case): readonly Held[] {
  const { ownToken, other, devices } = family;
  const { approved } = devices;
  const { authorizationId } = other;
  const own: Held = { kind: "access token", text: ownToken, owner: "client itself" };
  const inOther = { owner: "other context", authorizationId } as const;
  const ofDevice: Held = {
    kind: "code",
    text: approved,
    owner: "device",
    authorizationId: authorizationOf(approved),
  };
  return [
    ...(parts.includes("client itself") ? [own] : []),
    ...(parts.includes("device") ? [ofDevice] : []),
    ...(parts.includes("other context")
      ? ([
          { kind: "access token", text: other.accessToken, ...inOther },
          { kind: "refresh token", text: other.refreshToken, ...inOther },
        ] as const)
      : []),
  ];
}

/** What an operation has brought. */
export function broughtBy({ operation, outcome }: Pick<Ran, "operation" | "outcome">): readonly Held[] {
  const { brings: owner = "family" } = operation;
  const { code, body } = outcome ?? {};
  if (code !== undefined)
    return [{ kind: "code", text: code, owner, authorizationId: authorizationOf(code) }];
  const [access, refresh] = [body?.["access_token"], body?.["refresh_token"]];
  if (typeof access !== "string") return [];
  if (typeof refresh !== "string") return [{ kind: "access token", text: access, owner }];
  const authorizationId = authorizationOf(refresh);
  return [
    { kind: "access token", text: access, owner, authorizationId },
    { kind: "refresh token", text: refresh, owner, authorizationId },
  ];
}

/** Everything that clients have by now. */
export function lootOf(all: Case): readonly Held[] {
  const { family, ran } = all;
  const [ofTokens, ofCode] = family.authorizationIds;
  const owned = { owner: "family", authorizationId: ofTokens } as const;
  const before: readonly Held[] = [
    ...family.refreshTokens.map((text) => ({ kind: "refresh token", text, ...owned }) as const),
    ...family.accessTokens.map((text) => ({ kind: "access token", text, ...owned }) as const),
    { kind: "code", text: family.code, owner: "family", authorizationId: ofCode },
    ...partsOfLoot(all),
  ];
  // nobody but the client itself can ask about what is bound to its key
  const brought = ran.filter(({ operation }) => operation.needs !== "bound client").flatMap(broughtBy);
  // what was exchanged descends from what it was exchanged for
  const since = brought.map((held) =>
    held.owner === "resource server" ? { ...held, authorizationId: ofTokens } : held,
  );
  return [...new Map([...before, ...since].map((held) => [held.text, held])).values()];
}

/** What still works, and with which scopes. */
export interface Living extends Held {
  readonly scope: string;
}

const apiOf = (owner: Held["owner"]): "orders" | "stock" =>
  owner === "resource server" ? "stock" : "orders";
/** The parameters with which a device asks for its tokens. @rfc 8628 §3.4 */
export function redeemingDevice(code: string): Readonly<Record<string, string>> {
  return { grant_type: deviceGrant, device_code: code };
}

/** Which scopes the text still has; `undefined` when it no longer works. */
async function scopeOf(
  { now: process, family }: { now: Process; family: Family },
  { kind, text, owner }: Held,
): Promise<string | undefined> {
  if (kind === "access token") return process.scopeOf(text, apiOf(owner));
  const by = owner === "registered client" ? family.registered.credentials : {};
  if (kind === "code") {
    const fields =
      owner === "device" ? redeemingDevice(text) : { grant_type: "authorization_code", code: text, ...by };
    const { kind: answer, body } = await process.post("token", fields);
    return answer === "done" ? String(body?.["scope"]) : undefined;
  }
  const { body } = await process.post("introspect", { token: text, ...by });
  return body?.["active"] === true ? String(body["scope"]) : undefined;
}

/** What of the loot works. Codes come last, because asking uses them up. */
export async function livingOf(
  by: { now: Process; before: readonly Process[]; family: Family },
  loot: readonly Held[],
): Promise<readonly Living[]> {
  const living: Living[] = [];
  const inOrder = [
    ...loot.filter(({ kind }) => kind !== "code"),
    ...loot.filter(({ kind }) => kind === "code"),
  ];
  for (const held of inOrder) {
    const scope = await scopeOf(by, held);
    if (scope !== undefined) living.push({ ...held, scope });
    // processes that were there before remember what they have accepted, but not for longer than the lag
    const others = held.kind === "access token" && scope === undefined ? by.before : [];
    for (const process of others) {
      const remembered = await process.scopeOf(held.text, apiOf(held.owner));
      if (remembered !== undefined) living.push({ ...held, scope: remembered });
    }
  }
  return living;
}

/** A visit without a page: the code of this owner, if it is given. */
export async function silentVisit(
  process: Process,
  { owner, family }: { owner: Held["owner"]; family: Family },
): Promise<string | undefined> {
  return (await process.silent(visitOf(owner, family))).code;
}
