/** That everything which createAuthServer would refuse is found at once. */
import { type AuthServerOptions, createAuthServer } from "../../lib";
import { refusals } from "../../lib/options/problems";
import { publicRecord } from "../fixture/records";
import {
  goodApi,
  goodOptions,
  jwk,
  marker,
  strongWithClients,
  thrownBy,
  withChanges,
} from "../fixture/options";

const now = 1_800_000_000;
const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const messages = (changes: object): readonly string[] =>
  refusals(withChanges(changes), now).map(({ message }) => message);
const paths = (options: AuthServerOptions): readonly string[] =>
  refusals(options, now).map(({ path }) => path);

/** Native clients whose redirect URIs have these schemes. */
const schemed = (...schemes: readonly string[]): AuthServerOptions["storage"] =>
  strongWithClients(
    ...schemes.map((scheme) =>
      publicRecord("native", { clientId: scheme, redirectUris: [`${scheme}:/callback`] }),
    ),
  ).storage;

/** What is said about a client with this id and a scheme that is not listed. */
const refusal = (id: string): object => ({
  path: "storage.clients",
  message: `client "${id}": redirectUris.0 has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot.`,
});

describe("what is refused", () => {
  beforeEach(() => void jest.spyOn(process, "emitWarning").mockImplementation(() => undefined));
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ["good options", goodOptions],
    ["nothing for secrets and keys", withChanges({ secrets: undefined, signingKeys: undefined })],
    [
      "clients with a scheme that is listed",
      withChanges({ storage: schemed("cursor"), redirectSchemes: ["cursor"] }),
    ],
  ])("is nothing of %s", (_, options) => {
    expect(refusals(options, now)).toEqual([]);
  });

  it.each([
    { typo: 1 },
    { baseUrl: "https://host.example/login/" },
    { secrets: ["short"] },
    { secrets: "one secret" },
    { signingKeys: ["no key"] },
    { signingKeys: [{ ...jwk, d: undefined }] },
    { signingKeys: [jwk, jwk] },
    { signingKeys: [{ key: jwk, signsFrom: 9_999_999_999 }] },
    { apis: {} },
    orders({ authMethods: ["none"] }),
    orders({ scopes: { read: { text: "" } } }),
    { apis: undefined },
    { lifetimes: { consentSeconds: undefined } },
    { pages: { texts: { de: { unknown: "x" } } } },
    { storage: {} },
    { storage: schemed("cursor") },
  ])("begins with what createAuthServer throws: %j", async (changes) => {
    const options = withChanges(changes);
    const { message } = await thrownBy(() => createAuthServer({ ...options, onEvent: () => undefined }));
    const all = refusals(options, now);
    expect(all[0]?.message).toBe(message.replace(/^createAuthServer: /, ""));
    expect(JSON.stringify(all)).not.toContain(marker);
  });

  it("is all of it, by path: shape, values, then keys", () => {
    const options = withChanges({
      typo: 1,
      baseUrl: "https://host.example/login/",
      secrets: ["", "short"],
      ...orders({ name: "", defaultScopes: ["a"] }),
      signingKeys: ["", jwk, "no key"],
    });
    expect(paths(options)).toEqual([
      "typo",
      "apis.orders.name",
      "baseUrl",
      "secrets.0",
      "secrets.1",
      "apis.orders.defaultScopes",
      "signingKeys.0",
      "signingKeys.2",
    ]);
  });

  it.each<readonly [string, readonly string[], object]>([
    [
      "of the same option",
      ["lifetimes.refreshTokenIdleSeconds must be <= 31536000. Write whole seconds from 1 to 31536000."],
      { lifetimes: { refreshTokenIdleSeconds: 40_000_000 } },
    ],
    [
      "of the server, and not of each API that has no lifetimes of its own",
      [
        "lifetimes.refreshTokenIdleSeconds is longer than refreshTokenSeconds. Write an idle lifetime of at most refreshTokenSeconds.",
      ],
      { lifetimes: { refreshTokenSeconds: 60 } },
    ],
    [
      "inside of an option whose shape is wrong",
      [
        "apis.orders.clientRegistration lacks the method approve. Write an adapter: { approve(req, metadata) { … } }.",
      ],
      orders({ clientRegistration: { browserOrigins: ["https://app.example/"] } }),
    ],
  ])("is told once %s", (_, expected, changes) => {
    expect(messages(changes)).toEqual(expected);
  });

  it.each<readonly [string, object, string]>([
    ["an unreadable option", { lifetimes: null }, "apis.orders.name"],
    ["options that no rule can read", { authMethods: null, secrets: 5 }, "apis.orders.name"],
  ])("is told beside %s", (_, changes, path) => {
    expect(paths(withChanges({ ...changes, ...orders({ name: undefined }) }))).toContain(path);
  });

  it("is told of each client, once nothing is wrong with the shape", () => {
    const storage = schemed("cursor", "com.example", "vscode");
    expect(refusals(withChanges({ storage }), now)).toEqual([refusal("cursor"), refusal("vscode")]);
    expect(refusals(withChanges({ storage, redirectSchemes: ["cursor"] }), now)).toEqual([refusal("vscode")]);
    expect(paths(withChanges({ storage, typo: 1 }))).toEqual(["typo"]);
  });

  it("is nothing of clients that are in a database", () => {
    const { storage } = withChanges({ storage: schemed("cursor") });
    const clients = { ...storage.clients, records: undefined };
    expect(refusals(withChanges({ storage: { ...storage, clients } }), now)).toEqual([]);
  });

  it.each([undefined, null, 42, "text", [], () => undefined])(
    "is told first of options that are none: %p",
    (options) => {
      expect(refusals(options as never, now)[0]).toEqual({
        path: "options",
        message: "options must be object.",
      });
    },
  );
});
