/** What an approval stores, and what a code pays for: in one step where the storage can, else in calls one after the other. RFC 6749 §4.1.2, §10.5. */
import type { EpochSeconds } from "../protocol/time";
import { allStored } from "./calls";
import type { StepsAtOnce, Storage } from "./port";

type CodePorts = StepsAtOnce["of"];
type Approving = Parameters<Required<StepsAtOnce>["approve"]>[0];
type Redeeming = Parameters<Required<StepsAtOnce>["redeem"]>[0];

/** The same storage with these steps of its ports. */
export function withSteps<S extends CodePorts>(storage: S, steps: Omit<StepsAtOnce, "of">): S {
  const { authorizations, authorizationCodes, refreshTokens, accessTokens } = storage;
  const of: CodePorts = {
    authorizations: { ...authorizations },
    authorizationCodes: { ...authorizationCodes },
    refreshTokens: { ...refreshTokens },
    accessTokens: { ...accessTokens },
  };
  return Object.assign(storage, { atOnce: { of, ...steps } });
}

/** Stores an authorization and its code. If storing one of them fails, the other cannot be used. */
export async function approve(
  storage: Pick<Storage, "authorizations" | "authorizationCodes" | "atOnce">,
  step: Approving,
  now: EpochSeconds,
): Promise<void> {
  const { atOnce, authorizations, authorizationCodes } = storage;
  if (atOnce?.approve) return atOnce.approve(step, now);
  await allStored([
    authorizations.create(step.authorization, now),
    authorizationCodes.create(step.code, now),
  ]);
}

/**
 * Consumes a code, with the tokens that it pays for stored ahead of it: if storing fails, the client can try again with the same code.
 * Of any number of simultaneous calls exactly one gets `"consumed"`; the tokens that the others stored are given to nobody.
 *
 * @param when `proceed`: called last before the code is spent; it throws if that must not happen any more.
 */
export async function redeem(
  storage: CodePorts & Pick<Storage, "atOnce">,
  step: Redeeming,
  { now, proceed }: { readonly now: EpochSeconds; readonly proceed: () => void },
): Promise<"consumed" | "not-consumed"> {
  const { code, refreshToken, accessToken } = step;
  const { atOnce, accessTokens, refreshTokens, authorizationCodes } = storage;
  if (atOnce?.redeem) {
    proceed();
    return atOnce.redeem(step, now);
  }
  await allStored([
    accessToken && accessTokens.create(accessToken, now),
    refreshToken && refreshTokens.create(refreshToken, now),
  ]);
  proceed();
  return authorizationCodes.consume(code, now);
}
