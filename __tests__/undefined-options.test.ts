/** A property that is there and undefined is a mistake, a misspelt constant say: it must not count as left out. */
import request from "supertest";
import { createAuthServer, memoryStorage } from "../lib";
import { testHost } from "./fixture/host";
import { goodApi, withChanges } from "./fixture/options";
import { confidentialRecord } from "./fixture/records";

describe("a route whose scope is undefined (RFC 6750 §3.1)", () => {
  const { requireBearer } = testHost().auth;

  it.each(["api", "scope"])("is refused by the name of the option: %s", (name) => {
    const options = { api: "orders", scope: "orders:read", [name]: undefined };
    expect(() => requireBearer(options as never)).toThrow(
      new TypeError(`requireBearer: ${name} is undefined. Leave the key out, or write a value.`),
    );
  });

  it("may leave the scope out", () => {
    expect(() => requireBearer({ api: "orders" })).not.toThrow();
  });
});

const inSubscription = (name: string): object => ({ subscriptions: { orders: { [name]: undefined } } });

describe("a client record with a key that is undefined, which would mean everything", () => {
  it.each([
    ["scopes of a subscription", inSubscription("scopes"), "subscriptions.orders.scopes", "a list"],
    [
      "grantTypes of a subscription",
      inSubscription("grantTypes"),
      "subscriptions.orders.grantTypes",
      "a list",
    ],
    ["trusted of a subscription", inSubscription("trusted"), "subscriptions.orders.trusted", "true or false"],
    ["trusted of the client", { trusted: undefined }, "trusted", "true or false"],
    ["scopes of the client", { scopes: undefined }, "scopes", "a list"],
  ])("is refused by its path: %s", (_, changes, path, value) => {
    const record = confidentialRecord(changes);
    expect(() => memoryStorage({ clients: [record] })).toThrow(
      new TypeError(`client "web": ${path} is undefined: leave the key out, or write ${value}.`),
    );
  });

  it("is refused when the host's own table answers with it", async () => {
    const record = confidentialRecord(inSubscription("scopes"));
    const storage = memoryStorage({ clients: [] });
    const clients = { ...storage.clients, find: () => Promise.resolve(record) };
    const { app, events } = testHost({ storage: { ...storage, clients } });
    await request(app).get("/login/auth/password/api/orders/authorize?client_id=web").expect(500);
    expect(events).toMatchObject([
      { kind: "server-error", cause: { message: expect.stringContaining("scopes is undefined") as string } },
    ]);
  });

  it("is refused where a record inherits them: the copy that is kept would lose them", () => {
    class Subscription {
      get scopes(): readonly string[] {
        return ["orders:read"];
      }
    }
    const record = confidentialRecord({ subscriptions: { orders: new Subscription() } });
    expect(() => memoryStorage({ clients: [record] })).toThrow("subscriptions.orders.scopes is inherited");
  });

  it("may leave them out", () => {
    expect(() => memoryStorage({ clients: [confidentialRecord()] })).not.toThrow();
  });
});

/** An object that inherits these values. */
const heir = (values: object): object => Object.create(values) as object;

/** The same as an object of a class that has these values by getters. */
function byGetters(values: object): object {
  const getters = Object.entries(values).map(
    ([name, value]) => [name, { get: () => value as unknown }] as const,
  );
  return Object.create(Object.defineProperties({}, Object.fromEntries(getters))) as object;
}

/** An object that has these values itself, but does not list them. */
function unlisted(values: object): object {
  const listed = Object.entries(values).map(([name, value]) => [name, { value: value as unknown }] as const);
  return Object.defineProperties({}, Object.fromEntries(listed));
}

const makers = [
  ["is inherited", heir],
  ["is made by a getter", byGetters],
  ["is not listed", unlisted],
] as const;
const ofOrders = (api: object): object => ({ apis: { orders: api } });

describe.each(makers)("an option of createAuthServer that %s", (_, make) => {
  it.each<[path: string, options: () => object]>([
    ["rateLimit", () => make(withChanges({ rateLimit: undefined }))],
    ["lifetimes", () => make(withChanges({ lifetimes: undefined }))],
    ["lifetimes.consentSeconds", () => withChanges({ lifetimes: make({ consentSeconds: undefined }) })],
    ["apis.orders.scope", () => withChanges(ofOrders(make({ ...goodApi, scope: undefined })))],
    ["apis.orders.lifetimes", () => withChanges(ofOrders(make({ ...goodApi, lifetimes: undefined })))],
    [
      "apis.orders.lifetimes.authorizationCodeSeconds",
      () => withChanges(ofOrders({ ...goodApi, lifetimes: make({ authorizationCodeSeconds: undefined }) })),
    ],
    [
      "apis.orders.scopes.read.implies",
      () =>
        withChanges(ofOrders({ ...goodApi, scopes: { read: make({ text: "Read", implies: undefined }) } })),
    ],
    [
      "apis.orders.clientRegistration.browserOrigins",
      () => {
        const clientRegistration = make({ approve: () => undefined, browserOrigins: undefined });
        return withChanges(ofOrders({ ...goodApi, clientRegistration }));
      },
    ],
  ])("is refused when it is undefined: %s", (path, options) => {
    expect(() => createAuthServer(options() as never)).toThrow(
      new TypeError(
        `createAuthServer: ${path} is undefined. Leave the key out for the default, or write a value.`,
      ),
    );
  });

  it("counts, also as a function", () => {
    const onEvent = jest.fn();
    createAuthServer(make(withChanges({ onEvent })) as never);
    expect(onEvent).toHaveBeenCalledWith(expect.objectContaining({ kind: "started" }));
  });
});

describe.each(makers.slice(0, 2))("a misspelt option of createAuthServer that %s", (_, make) => {
  it.each<[path: string, options: () => object]>([
    ["lifetime", () => make(withChanges({ lifetime: {} }))],
    ["lifetimes.consentsSeconds", () => withChanges({ lifetimes: make({ consentsSeconds: 60 }) })],
    ["apis.orders.scop", () => withChanges(ofOrders(make({ ...goodApi, scop: "required" })))],
    [
      "apis.orders.scopes.read.implied",
      () => withChanges(ofOrders({ ...goodApi, scopes: { read: make({ text: "Read", implied: [] }) } })),
    ],
  ])("is refused: %s", (path, options) => {
    expect(() => createAuthServer(options() as never)).toThrow(
      `createAuthServer: ${path} is not an option. Known options: `,
    );
  });
});

describe("options of createAuthServer from a class", () => {
  class Config {
    readonly #name = "Orders";
    readonly baseUrl = "https://host.example/login";
    onEvent(): void {}
    get apis(): object {
      return {
        orders: byGetters({ ...goodApi, name: this.#name, lifetimes: byGetters({ consentSeconds: 60 }) }),
      };
    }
    isProduction(): boolean {
      return this.baseUrl.startsWith("https:");
    }
  }

  it("may have methods that are no options", () => {
    const { baseUrl: _, apis: _apis, ...others } = withChanges({});
    expect(() => createAuthServer(Object.assign(new Config(), others) as never)).not.toThrow();
  });

  it("are assessed with what their getters give", () => {
    const codes = { authorizationCodeSeconds: 600 };
    const options = withChanges(ofOrders(byGetters({ ...goodApi, lifetimes: byGetters(codes) })));
    const { items } = createAuthServer(options).assessment();
    expect(items.flatMap(({ by }) => by)).toContain("apis.orders.lifetimes.authorizationCodeSeconds");
  });
});
