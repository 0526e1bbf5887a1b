import { type Client, digestClientSecret, generateClientSecret, memoryStorage } from "../../lib";
import { checkClient } from "../../lib/clients/client-record";
import { confidentialRecord, publicRecord } from "../records/records";

/** The message of the refusal, or `undefined` when the record is one. */
function problemOf(record: unknown): string | undefined {
  try {
    expect(checkClient(record)).toBe(record);
    return undefined;
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
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
      new TypeError('client "broken": name must NOT have fewer than 1 characters.'),
    );
  });
});

describe("the shape of a client record (RFC 6749 §2)", () => {
  it.each<[string, object, string]>([
    ["confidential", { confidential: undefined }, "confidential"],
    ["confidential", { confidential: "true" }, "confidential must be boolean"],
    ["clientId", { clientId: undefined }, "clientId"],
    ["clientId", { clientId: 5 }, "clientId must be string"],
    ["clientId", { clientId: "" }, "clientId must match pattern"],
    ["clientId", { clientId: "two words" }, "clientId must match pattern"],
    ["clientId", { clientId: "bücher" }, "clientId must match pattern"],
    ["clientId", { clientId: "web\n" }, "clientId must match pattern"],
    ["clientId", { clientId: "x".repeat(256) }, "clientId must match pattern"],
    ["name", { name: undefined }, "name"],
    ["name", { name: "" }, "name must NOT have fewer than 1 characters"],
    ["redirectUris", { redirectUris: undefined }, "redirectUris"],
    ["redirectUris", { redirectUris: "https://a.example/" }, "redirectUris must be array"],
    ["redirectUris", { redirectUris: [undefined] }, "redirectUris.0 must be string"],
    [
      "redirectUris",
      { redirectUris: ["https://a.example/", "http://a.example/"] },
      "redirectUris.1 is http, which only loopback hosts may use",
    ],
    ["redirectUris", { redirectUris: ["com.example.app:/cb"] }, "redirectUris.0 has a custom scheme"],
    ["subscriptions", { subscriptions: undefined }, "subscriptions"],
    ["subscriptions", { subscriptions: ["orders"] }, "subscriptions must be object"],
    ["subscriptions", { subscriptions: { orders: true } }, "subscriptions.orders must be object"],
    ["subscriptions", { subscriptions: { orders: { scope: ["a"] } } }, "subscriptions.orders must NOT"],
    [
      "subscriptions",
      { subscriptions: { orders: { scopes: "a b" } } },
      "subscriptions.orders.scopes must be array",
    ],
    [
      "subscriptions",
      { subscriptions: { orders: { scopes: [5] } } },
      "subscriptions.orders.scopes.0 must be string",
    ],
    [
      "subscriptions",
      { subscriptions: { orders: { trusted: "yes" } } },
      "subscriptions.orders.trusted must be boolean",
    ],
    [
      "subscriptions",
      { subscriptions: { orders: { grantTypes: ["password"] } } },
      "subscriptions.orders.grantTypes.0 must be equal to one of",
    ],
    ["trusted", { trusted: 1 }, "trusted must be boolean"],
    ["clientUri", { clientUri: "javascript:alert(1)" }, "clientUri must match pattern"],
    ["policyUri", { policyUri: "http://a.example/" }, "policyUri must match pattern"],
    ["tosUri", { tosUri: "https://a.example/ b" }, "tosUri must match pattern"],
    ["secretDigests", { secretDigests: undefined }, "secretDigests"],
    ["secretDigests", { secretDigests: [] }, "secretDigests must NOT have fewer than 1 items"],
    [
      "secretDigests",
      { secretDigests: [digest, digest, digest] },
      "secretDigests must NOT have more than 2 items",
    ],
    [
      "secretDigests",
      { secretDigests: [digest, "hunter2 hunter2"] },
      "secretDigests.1 must be a digest from generateClientSecret() or digestClientSecret()",
    ],
  ])("names %s when it is wrong: %j", (_, changes, message) => {
    const record = Object.fromEntries(
      Object.entries({ ...confidential, ...changes }).filter((field) => field[1] !== undefined),
    );
    expect(problemOf(record)).toContain(message);
  });

  it.each<[string, object, string]>([
    ["no platform", { platform: "" }, "platform must be equal to one of"],
    ["a platform that it does not know", { platform: "web" }, "platform must be equal to one of"],
    ["scopes for all APIs", { scopes: ["a"] }, "scopes belongs to an API: write subscriptions.<api>.scopes"],
    [
      "grant types for all APIs",
      { grantTypes: ["authorization_code"] },
      "grantTypes belongs to an API: write subscriptions.<api>.grantTypes",
    ],
    [
      "a secret",
      { secretDigests: [digest] },
      "secretDigests is not allowed for a public client, which cannot keep a secret",
    ],
    ["a remote http redirect", { redirectUris: ["http://a.example/"] }, "redirectUris.0 is http"],
    [
      "a scheme that browsers know",
      { redirectUris: ["sms:/cb"] },
      "redirectUris.0 has a scheme that browsers open",
    ],
  ])("refuses a public client with %s", (_, changes, message) => {
    expect(problemOf({ ...native, ...changes })).toContain(message);
  });
});

describe("what is said of a client record that is refused (RFC 6749 §2)", () => {
  it.each([undefined, null, 5, "web", [], true])("refuses %j, which is no record", (value) => {
    expect(problemOf(value)).toBe("client record: must be object.");
  });

  it("does not read what a record inherits", () => {
    expect(problemOf(Object.create(confidential))).toContain("is an instance of a model");
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
