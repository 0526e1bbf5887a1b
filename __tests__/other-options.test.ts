import { createAuthServer, digestClientSecret, memoryStorage } from "../lib";
import { expectRefusal, goodOptions, goodSecret, marker } from "./fixture/options";
import { confidentialRecord } from "./fixture/records";

afterEach(() => jest.restoreAllMocks());

describe("options of requireBearer", () => {
  const { requireBearer } = createAuthServer(goodOptions);
  const knownApis = "Write one of: orders.";
  const knownScopes = "Known scopes: orders:read.";

  it.each([
    ["an API that is not there", { api: "files" }, "api", knownApis],
    ["an API that every object inherits", { api: "constructor" }, "api", knownApis],
    ["no API", {}, "api", knownApis],
    ["no options", undefined, "api", knownApis],
    ["a scope that the API does not have", { api: "orders", scope: "files:read" }, "scope", knownScopes],
    ["a scope that every object inherits", { api: "orders", scope: ["constructor"] }, "scope", knownScopes],
    ["one wrong scope of two", { api: "orders", scope: "orders:read files:read" }, "scope", knownScopes],
    [
      "an empty scope, which is a mistake and not no scope",
      { api: "orders", scope: "" },
      "scope",
      knownScopes,
    ],
    ["a number for the scope", { api: "orders", scope: 5 }, "scope", knownScopes],
    ["null for the scope", { api: "orders", scope: null }, "scope", knownScopes],
    [
      "another word for subject",
      { api: "orders", subject: "optional" },
      "subject",
      "Leave it out to accept both kinds of token.",
    ],
    ["a yes for subject", { api: "orders", subject: true }, "subject", "to accept both kinds of token."],
    [
      "scopes for scope, which would let everybody in",
      { api: "orders", scopes: "orders:read" },
      "scopes",
      "Known options: api, scope, subject.",
    ],
  ])("refuses %s", (_, options, path, fix) =>
    expectRefusal(() => requireBearer(options as never), { who: "requireBearer", path, fix }),
  );
});

describe("options of memoryStorage", () => {
  const wrongEntries = "must be a whole number from 1 to 16777216.";

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
      "must have different clientIds.",
    ],
    ["no options", undefined, "clients", "Write a list of clients."],
    ["no clients", {}, "clients", "Write a list of clients."],
    [
      "a record of clients",
      { clients: { web: confidentialRecord() } },
      "clients",
      "Write a list of clients.",
    ],
  ])("refuses %s", (_, options, path, fix) =>
    expectRefusal(() => memoryStorage(options as never), { who: "memoryStorage", path, fix }),
  );

  it.each([
    ["secretDigests.0", { secretDigests: [marker] }, "from generateClientSecret() or digestClientSecret()."],
    [
      "redirectUris.0",
      { redirectUris: [`http://${marker}.example/`] },
      "with the host as browsers write it, without fragment, user name or wildcard.",
    ],
  ])("refuses a client with wrong %s", (path, changes, fix) =>
    expectRefusal(() => memoryStorage({ clients: [confidentialRecord(changes)] }), {
      who: 'client "web"',
      path,
      fix,
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
      fix: "must have at least 12 characters.",
    }),
  );
});
