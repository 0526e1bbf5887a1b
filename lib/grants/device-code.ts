/** The device grant: a device asks until a person has answered. Loaded when it is first used. RFC 8628 §3.4, §3.5. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { TokenResponse } from "../protocol/access-token";
import { deviceGrant } from "../protocol/client";
import { deviceKeyOf, pollSeconds, userCodeOf } from "../protocol/device";
import { because, OAuthError, type OAuthErrorCode } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import { parseTokenHandle } from "../protocol/token-value";
import { boundedCache } from "../recall/bounded-cache";
import { requireParameter } from "../requests/check-parameters";
import { redeemCode } from "./authorization-code";
import { type GrantPorts, invalidGrant, type PolledTooSoon } from "./grant";

/** Why a device gets no tokens yet, or none. */
export const pollReasons = {
  "device-not-answered": "nobody has answered the device yet (RFC 8628 §3.5): ask again after interval",
  "device-polls-too-fast":
    "the device asks more often than its interval says, which grows by five seconds each time (RFC 8628 §3.5): wait for longer",
  "device-denied": "the person has answered with a no (RFC 8628 §3.5): do not ask again",
  "device-code-expired":
    "the device code is older than 15 minutes, was issued to another client or at another pair, or storage does not know it (RFC 8628 §3.5): start again with a new one",
} as const;

const descriptions = {
  "device-not-answered": ["authorization_pending", "Nobody has answered yet."],
  "device-polls-too-fast": ["slow_down", "Ask less often."],
  "device-denied": ["access_denied", "The end user did not grant access."],
  "device-code-expired": ["expired_token", "The device code has expired."],
} as const satisfies Readonly<Record<keyof typeof pollReasons, readonly [OAuthErrorCode, string]>>;

function refused(code: keyof typeof pollReasons): OAuthError {
  const [error, description] = descriptions[code];
  return new OAuthError(error, { description, ...because(pollReasons, code) });
}

const maxRemembered = 10_000;

/** Remembers polls in this process only: they must cost storage nothing. One more second may be that of the clock, at its turn. */
export function pollPace(): PolledTooSoon {
  const polls = boundedCache<{ readonly at: EpochSeconds; readonly interval: number }>(maxRemembered);
  return (code, now) => {
    const last = polls.get(code);
    const interval = last?.interval ?? pollSeconds;
    const isTooSoon = last !== undefined && last.at <= now && now + 1 < last.at + interval;
    polls.set(code, { at: now, interval: isTooSoon ? interval + pollSeconds : interval });
    return isTooSoon;
  };
}

/**
 * Asks what has become of the request. While it is open, that is one read, and nothing is written. A yes is stored before the code is: in
 * between, the device waits, and where the code could not be stored, it waits until its time is over.
 */
export async function redeemDeviceCode(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { issuer, client, parameters, now } = request;
  const handle = parseTokenHandle(requireParameter(parameters, "device_code"));
  if (!handle) throw invalidGrant("device-code-not-of-this-server");
  const key = deviceKeyOf(userCodeOf(handle.digest));
  const parked = await ports.storage.parkedRequests?.find(key, now);
  const { device, owner, state: reached } = parked ?? {};
  // another device may have the same user code by now, or have had it
  const isSame = device?.code.digest === handle.digest;
  const isOwn = isSame && owner === client.clientId && device.issuer === issuer.identifier;
  const state = isOwn ? reached : undefined;
  if (state === "open")
    throw refused(
      ports.polledTooSoon?.(handle.digest, now) ? "device-polls-too-fast" : "device-not-answered",
    );
  if (state === "denied") throw refused("device-denied");
  const presented = {
    grantType: deviceGrant,
    replayed: "device_code",
    handle,
    redemption: { as: "device", redirectUri: undefined, codeVerifier: undefined },
    unknown: () => refused(state === "approved" ? "device-not-answered" : "device-code-expired"),
    expired: () => refused("device-code-expired"),
    raced: () => invalidGrant("device-code-polled-twice"),
  } as const;
  return redeemCode(ports, { presented, request });
}
