import { createAuthServer, digestClientSecret, memoryStorage } from "../lib";
import { expectRefusal, goodOptions, goodSecret, marker } from "./records/options";
import { confidentialRecord } from "./records/records";

afterEach(() => jest.restoreAllMocks());

describe("options of requireBearer", () => {
  const { requireBearer } = createAuthServer(goodOptions);

  it.each([
    ["an API that is not there", { api: "files" }, "api", "unknown-api-of-route"],
    ["an API that every object inherits", { api: "constructor" }, "api", "unknown-api-of-route"],
    ["no API", {}, "api", "unknown-api-of-route"],
    ["no options", undefined, "api", "unknown-api-of-route"],
    [
      "a scope that the API does not have",
      { api: "orders", scope: "files:read" },
      "scope",
      "unknown-scope-of-route",
    ],
    [
      "a scope that every object inherits",
      { api: "orders", scope: ["constructor"] },
      "scope",
      "unknown-scope-of-route",
    ],
    [
      "one wrong scope of two",
      { api: "orders", scope: "orders:read files:read" },
      "scope",
      "unknown-scope-of-route",
    ],
    [
      "an empty scope, which is a mistake and not no scope",
      { api: "orders", scope: "" },
      "scope",
      "unknown-scope-of-route",
    ],
    ["a number for the scope", { api: "orders", scope: 5 }, "scope", "unknown-scope-of-route"],
    ["null for the scope", { api: "orders", scope: null }, "scope", "unknown-scope-of-route"],
    [
      "another word for subject",
      { api: "orders", subject: "optional" },
      "subject",
      "unknown-subject-of-route",
    ],
    ["a yes for subject", { api: "orders", subject: true }, "subject", "unknown-subject-of-route"],
    [
      "scopes for scope, which would let everybody in",
      { api: "orders", scopes: "orders:read" },
      "scopes",
      "unknown-key",
    ],
  ])("refuses %s", (_, options, path, code) =>
    expectRefusal(() => requireBearer(options as never), { who: "requireBearer", path, code }),
  );
});

describe("options of memoryStorage", () => {
  const wrongEntries = "memory-max-entries-wrong";

  it.each([
    ["no room", { clients: [], maxEntries: 0 }, "maxEntries", wrongEntries],
    ["more than a Map holds", { clients: [], maxEntries: 2 ** 24 + 1 }, "maxEntries", wrongEntries],
    ["half a room", { clients: [], maxEntries: 1.5 }, "maxEntries", wrongEntries],
    ["endless room", { clients: [], maxEntries: Number.POSITIVE_INFINITY }, "maxEntries", wrongEntries],
    ["a text for a number", { clients: [], maxEntries: "5" }, "maxEntries", wrongEntries],
    [
      "two clients with one id",
      { clients: [confidentialRecord(), confidentialRecord({ name: "Twin" })] },
      "clients",
      "memory-clients-with-one-id",
    ],
    ["no options", undefined, "clients", "memory-clients-not-a-list"],
    ["no clients", {}, "clients", "memory-clients-not-a-list"],
    [
      "a record of clients",
      { clients: { web: confidentialRecord() } },
      "clients",
      "memory-clients-not-a-list",
    ],
  ])("refuses %s", (_, options, path, code) =>
    expectRefusal(() => memoryStorage(options as never), { who: "memoryStorage", path, code }),
  );

  it.each([
    ["secretDigests.0", { secretDigests: [marker] }],
    ["redirectUris.0", { redirectUris: [`http://${marker}.example/`] }],
  ])("refuses a client with wrong %s", (path, changes) =>
    expectRefusal(() => memoryStorage({ clients: [confidentialRecord(changes)] }), {
      who: 'client "web"',
      path,
      code: "wrong-client-record",
    }),
  );
});

describe("the secret of digestClientSecret", () => {
  it.each([
    ["short", marker],
    ["of eleven characters", `${marker}....`],
    ["missing", undefined],
    ["a number", 123_456_789_012],
    ["a buffer", Buffer.from(goodSecret)],
  ])("is refused when it is %s", (_, value) =>
    expectRefusal(() => digestClientSecret(value as string), {
      who: "digestClientSecret",
      path: "the secret",
      code: "short-client-secret",
    }),
  );
});
