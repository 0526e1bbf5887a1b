import { findRegistration, isRegistrationId, registrationIdsOf } from "../../lib/clients/registered-clients";
import { selfDescriptionOf } from "../../lib/clients/self-description";
import type { Client } from "../../lib/protocol/client";
import { now } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { issuerRecord, publicRecord } from "../records/records";

const issuer = issuerRecord();
const clientId = `${registrationIdsOf(issuer)}1`;
const registered = publicRecord("native", { clientId });

/** What is found at "orders" where storage answers with this record for any id. */
async function find(record: unknown, { sought = clientId, apiId = "orders" } = {}) {
  const { storage, calls } = loggedStorage({ "clientRegistrations.find": async () => record });
  const work = findRegistration({ storage, clock: () => now }, { clientId: sought, apiId });
  return { found: await work, calls };
}

describe("a client that has registered itself (RFC 7591 §3)", () => {
  it("is found at its API, with what it says of itself", async () => {
    const { found, calls } = await find(registered);
    const expected: Client = { ...registered, trusted: false, subscriptions: { orders: { trusted: false } } };
    expect(found).toEqual({ ...expected, selfDescription: selfDescriptionOf(registered, "registration") });
    expect(calls).toEqual([["clientRegistrations.find", clientId, now]]);
  });

  it("is trusted nowhere, whatever its record says", async () => {
    const subscriptions = { orders: { trusted: true, scopes: ["orders:read"] } };
    const { found } = await find({ ...registered, trusted: true, subscriptions });
    expect(found).toMatchObject({
      trusted: false,
      subscriptions: { orders: { trusted: false, scopes: ["orders:read"] } },
    });
  });

  it.each<[string, unknown, object]>([
    ["there is none", undefined, {}],
    ["the table gives another one, whose id differs in case", registered, { sought: clientId.toUpperCase() }],
    ["the table gives another one", { ...registered, clientId: `${clientId}2` }, {}],
    ["it has registered at another API", registered, { apiId: "billing" }],
    ["the API is called like what every object has", registered, { apiId: "constructor" }],
  ])("is none: %s", async (_, record, at) => {
    expect((await find(record, at)).found).toBeUndefined();
  });

  it("is not looked for under another kind of id", async () => {
    const { found, calls } = await find({ ...registered, clientId: "web" }, { sought: "web" });
    expect(found).toBeUndefined();
    expect(calls).toEqual([]);
  });

  it("is refused when its record is wrong", async () => {
    await expect(find({ ...registered, name: "" })).rejects.toThrow(TypeError);
  });
});

describe("the ids of clients that register themselves (RFC 7591 §3.2.1)", () => {
  it("name the API and the server, and can be no URL", () => {
    const ids = registrationIdsOf(issuer);
    expect(ids).toMatch(/^dcr-[\w-]{8}-$/);
    expect(isRegistrationId(ids)).toBe(true);
    expect(isRegistrationId(`x${ids}`)).toBe(false);
    expect(registrationIdsOf(issuerRecord({}, "otp"))).toBe(ids);
    expect(registrationIdsOf(issuerRecord({ apiId: "billing" }))).not.toBe(ids);
    const elsewhere = { ...issuer, identifier: issuer.identifier.replace("host", "other") };
    expect(registrationIdsOf(elsewhere)).not.toBe(ids);
  });
});
