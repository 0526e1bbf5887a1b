/** Verifies client assertions: key, signature, single use. RFC 7523 §3. */
import type { KeyClient } from "../protocol/client";
import {
  type AssertionProblem,
  claimsProblem,
  type ClientAssertion,
  usedAssertion,
} from "../protocol/client-assertion";
import type { Issuer } from "../protocol/issuer";
import { because, lateError } from "../protocol/oauth-error";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import { type FetchKeys, type KeySource, signatureProblem, signatureProblemAt } from "./assertion-keys";
import type { ClientPlace } from "./client-lookup";

/** What verification uses. */
export interface AssertionPorts {
  readonly storage: Pick<Storage, "clientAssertions">;
  readonly fetchKeys: FetchKeys;
  readonly clock: Clock;
}

/** An assertion of a client that is known. */
export interface PresentedAssertion extends Pick<ClientPlace, "issuer" | "mayFetch"> {
  readonly client: KeyClient;
  readonly assertion: ClientAssertion;
}

/** Refusals that say nothing about the assertion. */
export const clientKeyReasons = {
  "client-keys-unreachable": (why: string): string =>
    `the keys at the client's jwksUri cannot be fetched now: ${why}`,
  "client-keys-not-asked-again":
    "no remembered key of the client verifies the assertion, and its jwksUri was asked for newer keys less than 30 seconds ago: try again after 30 seconds",
} as const;

/** What is at the `jwksUri` of a client. */
function keysAt(
  jwksUri: string,
  { fetchKeys, presented: { client, mayFetch } }: { fetchKeys: FetchKeys; presented: PresentedAssertion },
): KeySource {
  const isStranger = client.selfDescription !== undefined;
  return {
    ask: ({ refresh }) => fetchKeys(jwksUri, { isStranger, mayFetch, refresh }),
    unreachable: (why) => because(clientKeyReasons, "client-keys-unreachable", why),
    notAskedAgain: () => because(clientKeyReasons, "client-keys-not-asked-again"),
  };
}

/** Stores that the assertion has been used. If that fails, it may have been used up, and the client needs another one. */
async function useOnce(
  { clientAssertions }: AssertionPorts["storage"],
  { claims, now }: { claims: ClientAssertion["claims"]; now: number },
): Promise<boolean> {
  try {
    return (await clientAssertions.use(usedAssertion(claims), now)) === "used";
  } catch (cause) {
    throw lateError("assertion-use-failed", "storage.clientAssertions.use failed: see the cause", { cause });
  }
}

function claimsProblemAt(
  issuer: Issuer,
  { client, assertion, now }: Pick<PresentedAssertion, "client" | "assertion"> & { now: number },
): AssertionProblem | undefined {
  const { clientId, allowTokenEndpointAudience = false } = client;
  return claimsProblem(assertion.claims, { issuer, clientId, allowTokenEndpointAudience, now });
}

/**
 * Why the assertion does not prove the client, or `undefined` when it does: then it is used, and will be refused from now on. The
 * claims come first, because keys are fetched only for an assertion that could be good. A refusal stores nothing.
 *
 * @throws OAuthError `temporarily_unavailable` when the keys cannot be had, and an error that leads to it when storage fails
 * @rfc 7523 §3
 */
export async function assertionProblem(
  { storage, fetchKeys, clock }: AssertionPorts,
  presented: PresentedAssertion,
): Promise<AssertionProblem | undefined> {
  const { issuer, client, assertion } = presented;
  const { jwks, jwksUri = "" } = client;
  const problem =
    claimsProblemAt(issuer, { client, assertion, now: clock() }) ??
    (jwks
      ? signatureProblem(jwks, assertion)
      : await signatureProblemAt(keysAt(jwksUri, { fetchKeys, presented }), assertion));
  if (problem !== undefined) return problem;
  // fetching takes time: an assertion that has expired meanwhile could have been used and forgotten
  const now = clock();
  const late = claimsProblemAt(issuer, { client, assertion, now });
  if (late !== undefined) return late;
  const isFirst = await useOnce(storage, { claims: assertion.claims, now });
  return isFirst ? undefined : "assertion-used-before";
}
