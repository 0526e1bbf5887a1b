import { memoryStorage } from "../../lib";
import { closeDevice, type DeviceAnswer } from "../../lib/end-user/close-device";
import { deviceKeyOf } from "../../lib/protocol/device";
import { now, refusalOf } from "../host/asked";
import { authorizationRecord } from "../records/records";

const { authorizationId } = authorizationRecord();
const userCode = "BBBB-BBBB";
const expiresAt = now + 900;
const device = { userCode, code: { authorizationId, digest: "D".repeat(43) }, expiresAt };

const yes = { device, as: "approved", by: "page", subject: "alice", now } as const;
const no = { device, as: "denied", by: "page", now } as const;

async function openRequest() {
  const { authorizations, parkedRequests } = memoryStorage({ clients: [] });
  const storage = { authorizations, parkedRequests };
  const request = { key: deviceKeyOf(userCode), owner: "native", state: "open", expiresAt } as const;
  await storage.parkedRequests.create(request, { now });
  return storage;
}

const over = {
  error: "invalid_request",
  description: "The request of the device is over.",
  code: "device-request-over",
};

describe("the answer to a device (RFC 8628 §3.3)", () => {
  it.each([yes, no])("is given once: $as", async (answer) => {
    expect(await closeDevice({ storage: await openRequest() }, answer)).toBe("closed");
  });

  /** What was answered before, and whether it was stored, and what is answered now. */
  const again: readonly (readonly [string, DeviceAnswer, boolean, DeviceAnswer, "repeated" | object])[] = [
    ["the same yes", yes, true, yes, "repeated"],
    ["the same no", no, false, no, "repeated"],
    ["a yes that was not stored", yes, false, yes, over],
    ["the yes of another person", yes, true, { ...yes, subject: "bob" }, over],
    ["a yes on another page", yes, true, { ...yes, by: "other" }, over],
    ["a no on another page", no, false, { ...no, by: "other" }, over],
    ["a no after a yes", yes, true, no, over],
    ["a yes after a no", no, false, yes, over],
  ];

  it.each(again)("comes again: %s", async (_, before, isStored, answer, expected) => {
    const storage = await openRequest();
    await closeDevice({ storage }, before);
    if (isStored) await storage.authorizations.create(authorizationRecord(), now);
    const outcome = closeDevice({ storage }, answer);
    expect(await (expected === over ? refusalOf(outcome) : outcome)).toEqual(expected);
  });

  it.each([yes, no])("is too late when the request has expired: $as", async (answer) => {
    const late = closeDevice({ storage: await openRequest() }, { ...answer, now: expiresAt });
    expect(await refusalOf(late)).toEqual(over);
  });
});
