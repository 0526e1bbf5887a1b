/** What a failover is judged by: how often something can be bought, and what is acknowledged while the standby hears nothing. */
import type { Response } from "supertest";
import { refresh } from "../../__tests__/requests/client-requests";
import type { TestHost } from "../../__tests__/hosts/host";
import type { CutProxy } from "../../__tests__/servers/cut-proxy";
import { opaque, untilServed } from "./outage-bed";
import { journeys, type Purchase } from "./purchases";
import type { Replicated } from "./replication";

/** An answer of the token endpoint. */
export const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

/** Another one. */
export const failed = {
  error: "server_error",
  error_description: "The server could not answer this request.",
};

/** The served answers of 32 attempts at the same moment: how many bought, and how many were refused. */
export async function thirtyTwoAtOnce({
  attempt,
}: Pick<Purchase, "attempt">): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: 32 }, () => untilServed(attempt)));
  const bought = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ body }) => body.error === "invalid_grant").length;
  return { bought, refused };
}

/** What the 32 attempts give. */
export const usableOnce = { bought: 1, refused: 31 };
/** What they give otherwise. */
export const usedUp = { bought: 0, refused: 32 };

/** The standby takes over. */
export async function failOver({ losePrimary, promote }: Replicated): Promise<void> {
  await losePrimary();
  await promote();
}

/** What cuts the standby off as soon as something is spent or revoked, once it is armed. */
export function cutting(link: CutProxy): {
  readonly arm: () => void;
  readonly beforeCall: (name: string) => void;
} {
  let isArmed = false;
  return {
    arm: () => void (isArmed = true),
    beforeCall(name) {
      if (!isArmed || !/\.(consume|redeem|rotate|revoke)$/.test(name)) return;
      isArmed = false;
      link.freeze();
    },
  };
}

/** Ends whatever waits for the standby, until all of these are answered. */
export async function endingWaits(
  { untilWaiting, end }: { untilWaiting: Replicated["untilWaiting"]; end: (id: number) => Promise<unknown> },
  answers: readonly Promise<Response>[],
): Promise<readonly Response[]> {
  const pending = new Set(answers);
  for (const answer of answers) void answer.finally(() => pending.delete(answer));
  while (pending.size > 0) for (const id of await untilWaiting(0)) await end(id);
  return Promise.all(answers);
}

/** A refresh. */
export function refreshKept(
  host: TestHost,
  { refreshToken }: { readonly refreshToken: string },
): Promise<Response> {
  return refresh(host, { client: "web", refreshToken, pair: opaque });
}

/** A code and a refresh token. */
export function purchasesOf(host: TestHost): Promise<readonly Purchase[]> {
  return Promise.all(Object.values(journeys).map(({ prepare }) => prepare(host)));
}
