/** A property that is there and undefined is a mistake, a misspelt constant say: it must not count as left out. */
import request from "supertest";
import { createAuthServer, memoryStorage } from "../lib";
import { testHost } from "./hosts/host";
import { goodApi, withChanges } from "./records/options";
import { confidentialRecord } from "./records/records";

/** An error with this id, whose text has these words. */
const mistake = (code: string, words: string): Error =>
  expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error;

describe("a route whose scope is undefined (RFC 6750 §3.1)", () => {
  const { requireBearer } = testHost().auth;

  it.each(["api", "scope"])("is refused by the name of the option: %s", (name) => {
    const options = { api: "orders", scope: "orders:read", [name]: undefined };
    expect(() => requireBearer(options as never)).toThrow(
      mistake("undefined-key", `requireBearer: ${name} is undefined`),
    );
  });

  it("may leave the scope out", () => {
    expect(() => requireBearer({ api: "orders" })).not.toThrow();
  });
});

const inSubscription = (name: string): object => ({ subscriptions: { orders: { [name]: undefined } } });

describe("a client record with a key that is undefined, which would mean everything", () => {
  it.each([
    ["scopes of a subscription", inSubscription("scopes"), "subscriptions.orders.scopes"],
    ["grantTypes of a subscription", inSubscription("grantTypes"), "subscriptions.orders.grantTypes"],
    ["trusted of a subscription", inSubscription("trusted"), "subscriptions.orders.trusted"],
    ["trusted of the client", { trusted: undefined }, "trusted"],
    ["scopes of the client", { scopes: undefined }, "scopes"],
  ])("is refused by its path: %s", (_, changes, path) => {
    const record = confidentialRecord(changes);
    expect(() => memoryStorage({ clients: [record] })).toThrow(
      mistake("wrong-client-record", `client "web": ${path} is undefined`),
    );
  });

  it("is refused when the host's own table answers with it", async () => {
    const record = confidentialRecord(inSubscription("scopes"));
    const storage = memoryStorage({ clients: [] });
    const clients = { ...storage.clients, find: () => Promise.resolve(record) };
    const { app, events } = testHost({ storage: { ...storage, clients } });
    await request(app).get("/login/auth/password/api/orders/authorize?client_id=web").expect(500);
    const cause = mistake("wrong-client-record", "subscriptions.orders.scopes");
    expect(events).toMatchObject([{ kind: "server-error", cause }]);
  });

  it("is refused where a record inherits them: the copy that is kept would lose them", () => {
    class Subscription {
      get scopes(): readonly string[] {
        return ["orders:read"];
      }
    }
    const record = confidentialRecord({ subscriptions: { orders: new Subscription() } });
    expect(() => memoryStorage({ clients: [record] })).toThrow(
      mistake("wrong-client-record", "subscriptions.orders.scopes is inherited"),
    );
  });

  it("may leave them out", () => {
    expect(() => memoryStorage({ clients: [confidentialRecord()] })).not.toThrow();
  });
});

const ofOrders = (api: object): object => ({ apis: { orders: api } });

describe("an option of createAuthServer", () => {
  it.each<[path: string, options: object]>([
    ["rateLimit", withChanges({ rateLimit: undefined })],
    ["lifetimes", withChanges({ lifetimes: undefined })],
    ["lifetimes.consentSeconds", withChanges({ lifetimes: { consentSeconds: undefined } })],
    ["apis.orders.scope", withChanges(ofOrders({ ...goodApi, scope: undefined }))],
    ["apis.orders.lifetimes", withChanges(ofOrders({ ...goodApi, lifetimes: undefined }))],
    [
      "apis.orders.lifetimes.authorizationCodeSeconds",
      withChanges(ofOrders({ ...goodApi, lifetimes: { authorizationCodeSeconds: undefined } })),
    ],
    [
      "apis.orders.scopes.read.implies",
      withChanges(ofOrders({ ...goodApi, scopes: { read: { text: "Read", implies: undefined } } })),
    ],
    [
      "apis.orders.clientRegistration.browserOrigins",
      withChanges(
        ofOrders({
          ...goodApi,
          // an adapter may be of a class
          clientRegistration: Object.create({
            approve: () => undefined,
            browserOrigins: undefined,
          }) as object,
        }),
      ),
    ],
  ])("is refused when it is undefined: %s", (path, options) => {
    expect(() => createAuthServer(options as never)).toThrow(
      mistake("option-undefined", `createAuthServer: ${path} `),
    );
  });

  it.each<[path: string, options: object]>([
    ["lifetime", withChanges({ lifetime: {} })],
    ["lifetimes.consentsSeconds", withChanges({ lifetimes: { consentsSeconds: 60 } })],
    ["apis.orders.scop", withChanges(ofOrders({ ...goodApi, scop: "required" }))],
    [
      "apis.orders.scopes.read.implied",
      withChanges(ofOrders({ ...goodApi, scopes: { read: { text: "Read", implied: [] } } })),
    ],
  ])("is refused when it is misspelt: %s", (path, options) => {
    expect(() => createAuthServer(options as never)).toThrow(
      mistake("option-unknown", `createAuthServer: ${path} `),
    );
  });
});
