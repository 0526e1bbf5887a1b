/** Verifies client assertions: key, signature, single use. RFC 7523 §3. */
import type { KeyClient } from "../protocol/client";
import {
  type AssertionProblem,
  claimsProblem,
  type ClientAssertion,
  usedAssertion,
} from "../protocol/client-assertion";
import type { Issuer } from "../protocol/issuer";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import { type FetchKeys, isFirstUse, signatureProblem, signatureProblemAt } from "./assertion-keys";
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
  const { issuer, client, assertion, mayFetch } = presented;
  const { jwks, jwksUri = "" } = client;
  const isStranger = client.selfDescription !== undefined;
  const problem =
    claimsProblemAt(issuer, { client, assertion, now: clock() }) ??
    (jwks
      ? signatureProblem(jwks, assertion)
      : await signatureProblemAt(
          (question) => fetchKeys(jwksUri, { ...question, isStranger, mayFetch }),
          assertion,
        ));
  if (problem !== undefined) return problem;
  // fetching takes time: an assertion that has expired meanwhile could have been used and forgotten
  const now = clock();
  const late = claimsProblemAt(issuer, { client, assertion, now });
  if (late !== undefined) return late;
  const isFirst = await isFirstUse(storage, { used: usedAssertion(assertion.claims), now });
  return isFirst ? undefined : "assertion-used-before";
}
