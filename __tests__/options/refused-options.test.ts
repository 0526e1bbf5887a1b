/** That everything which createAuthServer would refuse is found at once. */
import { type AuthServerOptions, createAuthServer } from "../../lib";
import { refusals } from "../../lib/options/refused-options";
import { publicRecord } from "../records/records";
import {
  goodApi,
  goodOptions,
  jwk,
  marker,
  strongWithClients,
  thrownBy,
  withChanges,
} from "../records/options";

const now = 1_800_000_000;
const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const codes = (changes: object): readonly string[] =>
  refusals(withChanges(changes), now).map(({ code, path }) => `${code}: ${path}`);
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
const refusal = (id: string): unknown =>
  expect.objectContaining({
    code: "unlisted-redirect-scheme",
    path: "storage.clients",
    message: expect.stringContaining(`client "${id}": redirectUris.0 `) as string,
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
    const thrown = await thrownBy(() => createAuthServer({ ...options, onEvent: () => undefined }));
    const all = refusals(options, now);
    expect(thrown).toHaveProperty("code", all[0]?.code);
    expect(all[0]?.message).toBe(thrown.message.replace(/^createAuthServer: /, ""));
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
      ["option-of-wrong-form: lifetimes.refreshTokenIdleSeconds"],
      { lifetimes: { refreshTokenIdleSeconds: 40_000_000 } },
    ],
    [
      "of the server, and not of each API that has no lifetimes of its own",
      ["idle-lifetime-too-long: lifetimes.refreshTokenIdleSeconds"],
      { lifetimes: { refreshTokenSeconds: 60 } },
    ],
    [
      "inside of an option whose shape is wrong",
      ["option-without-method: apis.orders.clientRegistration"],
      orders({ clientRegistration: { browserOrigins: ["https://app.example/"] } }),
    ],
  ])("is told once %s", (_, expected, changes) => {
    expect(codes(changes)).toEqual(expected);
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
        code: "option-of-wrong-form",
        path: "options",
        message: "options must be an object.",
      });
    },
  );
});
