import { createAuthServer } from "../../lib";
import { plainOptions } from "../../lib/options/shape";
import { refusals } from "../../lib/options/refused-options";
import { goodApi, goodOptions, withChanges } from "../records/options";

/** Options whose values are inherited, as from an object of a class. */
const inherited = <T extends object>(values: T): T => Object.create(values) as T;

class Lifetimes {
  get consentSeconds(): number {
    return 60;
  }
}

const read = { text: "Read", implies: [] };
const ofOrders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });

describe("options that are no plain objects (RFC 6749 §10)", () => {
  it.each<[string, object]>([
    ["options", inherited(goodOptions)],
    ["apis", withChanges({ apis: inherited({ orders: goodApi }) })],
    ["apis.orders", withChanges({ apis: { orders: inherited(goodApi) } })],
    ["apis.orders.lifetimes", withChanges(ofOrders({ lifetimes: new Lifetimes() }))],
    ["apis.orders.scopes", withChanges(ofOrders({ scopes: inherited({ read }) }))],
    ["apis.orders.scopes.read", withChanges(ofOrders({ scopes: { read: inherited(read) } }))],
    ["authMethods", withChanges({ authMethods: inherited(goodOptions.authMethods) })],
    ["lifetimes", withChanges({ lifetimes: new Lifetimes() })],
    ["lifetimes", withChanges({ lifetimes: Object.defineProperty({}, "consentSeconds", { value: 60 }) })],
    ["pages", withChanges({ pages: inherited({ name: "Shop" }) })],
    ["pages.texts.de", withChanges({ pages: { texts: { de: inherited({ allow: "Ja" }) } } })],
  ])("are refused by their path: %s", (path, options) => {
    expect(() => createAuthServer(options as never)).toThrow(
      expect.objectContaining({
        code: "option-not-plain",
        message: expect.stringContaining(`createAuthServer: ${path} `) as string,
      }),
    );
    expect(refusals(options as never, 0)[0]).toMatchObject({ code: "option-not-plain", path });
  });

  it("are storage and adapters, which are kept as the host has made them", () => {
    class Adapter {
      approve = (): undefined => undefined;
    }
    const clientRegistration = new Adapter();
    const { options, problems } = plainOptions(withChanges(ofOrders({ clientRegistration })));
    expect(problems).toEqual([]);
    expect(options.apis["orders"]?.clientRegistration).toBe(clientRegistration);
    expect(options.storage).toBe(goodOptions.storage);
  });
});

describe("plain options", () => {
  it.each([
    ["good ones", goodOptions],
    ["some that are undefined", withChanges({ pages: undefined, onEvent: undefined })],
    ["one of a strange name", { ...goodOptions, ["__proto__"]: 1 }],
    ["some without a prototype", Object.assign(Object.create(null) as object, goodOptions)],
  ])("hold what is written: %s", (_, given) => {
    const { options, problems } = plainOptions(given);
    expect([{ ...options }, problems]).toEqual([{ ...given }, []]);
    expect(Object.keys(options)).toEqual(Object.keys(given));
    expect(options).not.toBe(given);
  });

  it("stay as they were when the host changes its objects", () => {
    const ofApi = { consentSeconds: 60 };
    const api = { ...goodApi, authMethods: ["password"], accessTokenSeconds: 60, lifetimes: ofApi };
    const lifetimes = { consentSeconds: 60 };
    const given = { ...goodOptions, apis: { orders: api }, lifetimes, revocationLagSeconds: 1 };
    const { options } = plainOptions(given);
    const before = structuredClone({ lifetimes: options.lifetimes, apis: options.apis });
    api.accessTokenSeconds = 9_000;
    api.authMethods.push("other");
    ofApi.consentSeconds = 9_000;
    lifetimes.consentSeconds = 9_000;
    given.revocationLagSeconds = 300;
    expect(options).toMatchObject({ ...before, revocationLagSeconds: 1 });
  });

  it.each([
    [undefined],
    [null],
    ["options"],
    [[]],
    [withChanges({ apis: undefined })],
    [withChanges({ apis: [] })],
    [withChanges({ apis: { orders: null } })],
    [withChanges({ apis: { orders: { ...goodApi, scopes: "read" } } })],
    [withChanges({ lifetimes: 5 })],
  ])("are as wrong as what is given: %j", (given) => {
    expect(plainOptions(given as never)).toStrictEqual({ options: given, problems: [] });
  });
});
