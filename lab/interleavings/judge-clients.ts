/** What must hold of clients that have registered themselves, of devices, and of a client that presents an assertion twice. RFC 7591 §3, 7523 §3, 8628 §3.5. */
import { naming, proving } from "./bound-client";
import { type Case, has, isFaulty, isLongAgo, type Ran } from "./loot";
import { operationOf } from "./operations";
import type { Process } from "./server";

const withoutRoom = "register where there is no room";

async function isKnown({ host }: Case, clientId: string): Promise<boolean> {
  return (await host.storage.clientRegistrations.find(clientId, host.now())) !== undefined;
}

/** A registration that was acknowledged is there, unless time or a later one has ended it. */
async function acknowledged(all: Case): Promise<readonly string[]> {
  const made = all.ran.filter(({ name, outcome }) => /^register\b/.test(name) && outcome?.kind === "done");
  if (made.length === 0 || isLongAgo(all)) return [];
  const ids = made.map(({ outcome }) => String(outcome?.body?.["client_id"]));
  const known = await Promise.all(ids.map((clientId) => isKnown(all, clientId)));
  // where there is no room, the last one drops the others, also where nobody hears of it
  const isUnheard = all.ran.some(({ name, faultAt }) => name === withoutRoom && faultAt !== undefined);
  const isEnough = has(all, withoutRoom) ? known.includes(true) || isUnheard : !known.includes(false);
  return isEnough ? [] : ["a registration was acknowledged and is lost"];
}

/** Once a person has approved a registered client, it stays; and only then it takes the place of a new one. */
export async function registrations(all: Case): Promise<readonly string[]> {
  const approvals = all.ran.filter(({ name }) => name === "approve the registered client");
  const isApproved = approvals.some(({ outcome }) => outcome?.kind === "done");
  const isLost = isApproved && !(await isKnown(all, all.family.registered.client.clientId));
  const refused = all.ran.filter(({ name, outcome }) => name === withoutRoom && outcome?.kind === "refused");
  return [
    ...(await acknowledged(all)),
    ...(isLost ? ["the approval of a registered client was acknowledged, and the client is unknown"] : []),
    ...(refused.length > 0 && approvals.length === 0
      ? ["a registration was refused, though nobody uses the one that takes its place"]
      : []),
  ];
}

/** Without the key, a token is worth nothing, and cannot end what the client has. */
export async function boundTokens(all: Case, process: Process): Promise<readonly string[]> {
  const { host, family, parts, ran } = all;
  if (!parts.includes("bound client")) return [];
  const thieves = ran.filter(
    ({ name, outcome }) => name.endsWith("without the key") && outcome?.kind === "done",
  );
  const refreshed = ran.findLast(({ name, outcome }) => name === "refresh with the key" && outcome?.body);
  const newest = refreshed?.outcome?.body?.["refresh_token"];
  const token = typeof newest === "string" ? newest : family.boundTokens[1];
  const fields = { ...naming, grant_type: "refresh_token", refresh_token: token };
  const headers = proving({ issuer: host.issuer.identifier, now: host.now() });
  const { kind } = await process.post("token", fields, headers);
  return [
    ...thieves.map(({ name }) => `"${name}" got tokens`),
    ...(kind === "done" ? [] : ["a client with its key can no longer refresh, though nobody else has it"]),
  ];
}

const isDone = ({ outcome }: Ran): boolean => outcome?.kind === "done";

/** Of two browsers with the code of one device, one answers it. A device gets nothing before somebody has said yes, or after a no. */
export function deviceOnes({ ran }: Case): readonly string[] {
  const yes = ran.filter((one) => one.name.startsWith("approve the device") && isDone(one));
  const given = ran.some((one) => one.name === "poll" && isDone(one));
  const isApproving = ran.some(({ name }) => name.startsWith("approve the device"));
  return [
    ...(new Set(yes.map(({ name }) => name)).size > 1 ? ["two browsers have answered one device"] : []),
    ...(given && !isApproving ? ["a device got tokens, and nobody has said yes"] : []),
  ];
}

/** Of all that present one assertion, exactly one is the client: whoever presents it afterwards is nobody. */
export async function assertions(all: Case, process: Process): Promise<readonly string[]> {
  const { host, family } = all;
  const ran = all.ran.filter(({ operation }) => operation.brings === "keyed client");
  if (ran.length === 0) return [];
  const accepted = ran.filter(({ outcome }) => outcome?.kind === "done").length;
  let since = 0;
  for (const name of ["prove by the assertion", "introspect by the assertion"] as const) {
    const outcome = await operationOf(name).begin({ host, family, process });
    if (outcome.kind === "done") since += 1;
  }
  const isMissing = accepted === 0 && !isFaulty(all) && !isLongAgo(all);
  return [
    ...(accepted + since > 1 ? [`an assertion was accepted ${accepted + since} times`] : []),
    ...(isMissing ? ["a good assertion was refused each time"] : []),
  ];
}

/** One assertion of an identity provider is one authorization, whatever has ended it: whoever presents it afterwards gets nothing. */
export async function vouchedOnes(all: Case, process: Process): Promise<readonly string[]> {
  const { host, family } = all;
  const ran = all.ran.filter(({ operation }) => operation.needs === "identity provider");
  const accepted = ran.filter(({ outcome }) => outcome?.kind === "done").length;
  if (accepted === 0) return [];
  const again = await operationOf("present an identity assertion").begin({ host, family, process });
  const count = accepted + (again.kind === "done" ? 1 : 0);
  return count > 1 ? [`an assertion of an identity provider was accepted ${count} times`] : [];
}
