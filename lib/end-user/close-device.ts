/** The answer to a device: of several people with its code, one gives it. RFC 8628 §3.3, §5.1. */
import { type DeviceAnswering, deviceKeyOf } from "../protocol/device";
import { because, OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";
import { endUserReasons } from "./refusals";

/** What giving it needs. */
export interface DevicePorts {
  readonly storage: Pick<Storage, "authorizations" | "parkedRequests">;
}

/** An answer. */
export interface DeviceAnswer {
  readonly device: DeviceAnswering;
  readonly as: "approved" | "denied";
  /** Names the page that was answered. */
  readonly by: string;
  /** Who has answered it with a yes. Left out after a no. */
  readonly subject?: string;
  readonly now: EpochSeconds;
}

/** The refusal of an answer, or of a page, to a device that nobody can answer any more. */
export function deviceRequestOver(): OAuthError {
  return new OAuthError("invalid_request", {
    description: "The request of the device is over.",
    ...because(endUserReasons, "device-request-over"),
    situation: "device",
  });
}

/**
 * Closes the request of a device. It is the first step of an answer: two people with one code would otherwise store two authorizations under
 * one id. `"repeated"` is the second click of an impatient person: the answer is there, and nothing is to be stored.
 *
 * @throws OAuthError `invalid_request` when another page has answered it, when it has expired, and when a yes of this page was not stored
 */
export async function closeDevice(
  { storage: { authorizations, parkedRequests } }: DevicePorts,
  { device, as, by, subject, now }: DeviceAnswer,
): Promise<"closed" | "repeated"> {
  const { code, userCode } = device;
  const key = deviceKeyOf(userCode);
  if ((await parkedRequests?.close({ key, as, by }, now)) === "closed") return "closed";
  const found = await parkedRequests?.find(key, now);
  // nothing is stored after a no, which names nobody
  const stored = await authorizations.find(code.authorizationId, now);
  if (found?.by === by && found.state === as && stored?.subject === subject) return "repeated";
  throw deviceRequestOver();
}
