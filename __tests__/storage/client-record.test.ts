import { type Client, digestClientSecret, generateClientSecret, memoryStorage } from "../../lib";
import { checkClient } from "../../lib/clients/client-record";
import { confidentialRecord, publicRecord } from "../records/records";

/** What the refusal says, which begins with the path, or `undefined` when the record is one. */
function problemOf(record: unknown): string | undefined {
  try {
    expect(checkClient(record)).toBe(record);
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    expect(error).toHaveProperty("code", "wrong-client-record");
    return error.message;
  }
}

/** Fails unless the record is refused by its path: what the text says of it may be improved. */
function expectRefused(record: unknown, path: string): void {
  expect(problemOf(record)?.split(/[:' ]+/)).toContain(path);
}

const confidential = confidentialRecord();
const native = publicRecord("native");
const { digest } = generateClientSecret();

describe("a client record that is taken (RFC 6749 §2)", () => {
  it.each<[string, Client]>([
    ["confidential", confidential],
    ["native", native],
    ["browser", publicRecord("browser")],
    ["with two digests", { ...confidential, secretDigests: [digest, generateClientSecret().digest] }],
    ["without redirect URIs", { ...confidential, redirectUris: [] }],
    ["without subscriptions", { ...confidential, subscriptions: {} }],
    ["trusted", { ...confidential, trusted: true }],
    [
      "with links",
      {
        ...native,
        clientUri: "https://a.example/",
        policyUri: "https://a.example/b",
        tosUri: "https://a.example/c",
      },
    ],
    [
      "with a whole subscription",
      { ...native, subscriptions: { orders: { scopes: [], trusted: false, grantTypes: ["refresh_token"] } } },
    ],
    ["with a name beyond ASCII", { ...native, name: "Bücher 🔑" }],
    ["with the longest id", { ...native, clientId: "x".repeat(255) }],
    ["with columns of the host's table", { ...native, createdBy: "somebody" } as Client],
  ])("is good: %s", (_, record) => {
    expect(problemOf(record)).toBeUndefined();
  });

  it("takes the digest of a secret that a person chose", async () => {
    const secretDigests = [await digestClientSecret("a chosen secret")];
    expect(problemOf({ ...confidential, secretDigests })).toBeUndefined();
  });

  it("is checked when memoryStorage is made", () => {
    const broken = { ...confidential, clientId: "broken", name: "" };
    expect(() => memoryStorage({ clients: [confidential, broken] })).toThrow(
      expect.objectContaining({
        code: "wrong-client-record",
        message: expect.stringContaining('client "broken": name ') as string,
      }),
    );
  });
});

describe("the shape of a client record (RFC 6749 §2)", () => {
  it.each<[string, object, string]>([
    ["confidential", { confidential: undefined }, "confidential"],
    ["confidential", { confidential: "true" }, "confidential"],
    ["clientId", { clientId: undefined }, "clientId"],
    ["clientId", { clientId: 5 }, "clientId"],
    ["clientId", { clientId: "" }, "clientId"],
    ["clientId", { clientId: "two words" }, "clientId"],
    ["clientId", { clientId: "bücher" }, "clientId"],
    ["clientId", { clientId: "web\n" }, "clientId"],
    ["clientId", { clientId: "x".repeat(256) }, "clientId"],
    ["name", { name: undefined }, "name"],
    ["name", { name: "" }, "name"],
    ["redirectUris", { redirectUris: undefined }, "redirectUris"],
    ["redirectUris", { redirectUris: "https://a.example/" }, "redirectUris"],
    ["redirectUris", { redirectUris: [undefined] }, "redirectUris.0"],
    ["redirectUris", { redirectUris: ["https://a.example/", "http://a.example/"] }, "redirectUris.1"],
    ["redirectUris", { redirectUris: ["com.example.app:/cb"] }, "redirectUris.0"],
    ["subscriptions", { subscriptions: undefined }, "subscriptions"],
    ["subscriptions", { subscriptions: ["orders"] }, "subscriptions"],
    ["subscriptions", { subscriptions: { orders: true } }, "subscriptions.orders"],
    ["subscriptions", { subscriptions: { orders: { scope: ["a"] } } }, "subscriptions.orders.scope"],
    ["subscriptions", { subscriptions: { orders: { scopes: "a b" } } }, "subscriptions.orders.scopes"],
    ["subscriptions", { subscriptions: { orders: { scopes: [5] } } }, "subscriptions.orders.scopes.0"],
    ["subscriptions", { subscriptions: { orders: { trusted: "yes" } } }, "subscriptions.orders.trusted"],
    [
      "subscriptions",
      { subscriptions: { orders: { grantTypes: ["password"] } } },
      "subscriptions.orders.grantTypes.0",
    ],
    ["trusted", { trusted: 1 }, "trusted"],
    ["clientUri", { clientUri: "javascript:alert(1)" }, "clientUri"],
    ["policyUri", { policyUri: "http://a.example/" }, "policyUri"],
    ["tosUri", { tosUri: "https://a.example/ b" }, "tosUri"],
    ["secretDigests", { secretDigests: undefined }, "secretDigests"],
    ["secretDigests", { secretDigests: [] }, "secretDigests"],
    ["secretDigests", { secretDigests: [digest, digest, digest] }, "secretDigests"],
    ["secretDigests", { secretDigests: [digest, "hunter2 hunter2"] }, "secretDigests.1"],
  ])("names %s when it is wrong: %j", (_, changes, path) => {
    const record = Object.fromEntries(
      Object.entries({ ...confidential, ...changes }).filter((field) => field[1] !== undefined),
    );
    expectRefused(record, path);
  });

  it.each<[string, object, string]>([
    ["no platform", { platform: "" }, "platform"],
    ["a platform that it does not know", { platform: "web" }, "platform"],
    ["scopes for all APIs", { scopes: ["a"] }, "scopes"],
    ["grant types for all APIs", { grantTypes: ["authorization_code"] }, "grantTypes"],
    ["a secret", { secretDigests: [digest] }, "secretDigests"],
    ["a remote http redirect", { redirectUris: ["http://a.example/"] }, "redirectUris.0"],
    ["a scheme that browsers know", { redirectUris: ["sms:/cb"] }, "redirectUris.0"],
  ])("refuses a public client with %s", (_, changes, path) => {
    expectRefused({ ...native, ...changes }, path);
  });
});

describe("what is said of a client record that is refused (RFC 6749 §2)", () => {
  it.each([undefined, null, 5, "web", [], true])("refuses %j, which is no record", (value) => {
    expect(problemOf(value)).toMatch(/^client record: /);
  });

  it("does not read what a record inherits", () => {
    expect(problemOf(Object.create(confidential))).toContain("model");
  });

  it("says what to write where a value is one of a few", () => {
    expect(problemOf({ ...native, platform: "web" })).toMatch(/native.*browser/);
    const subscriptions = { orders: { grantTypes: ["implicit"] } };
    expect(problemOf({ ...native, subscriptions })).toMatch(/authorization_code.*client_credentials/);
  });

  it("says which property of a subscription it does not know", () => {
    const subscriptions = { orders: { scope: ["orders:read"] } };
    expect(problemOf({ ...native, subscriptions })).toMatch(/subscriptions\.orders\.scope\b/);
  });

  it("names the client, so that a host finds it in its table", () => {
    expect(problemOf({ ...confidential, name: "" })).toMatch(/^client "web": /);
  });

  it("repeats no secret, digest or URI", () => {
    const values = {
      secretDigests: ["hunter2 hunter2"],
      redirectUris: ["http://hunter2.example/"],
      clientUri: "hunter2",
      name: ["hunter2"],
      subscriptions: { orders: { scopes: "hunter2" } },
    };
    for (const [name, value] of Object.entries(values)) {
      const message = problemOf({ ...confidential, [name]: value });
      expect(message).toContain(name);
      expect(message).not.toContain("hunter2");
    }
  });
});
