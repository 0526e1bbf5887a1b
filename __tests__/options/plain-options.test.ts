import { plainOptions } from "../../lib/options/plain-options";
import { goodApi, goodOptions, withChanges } from "../fixture/options";

/** Options whose values are inherited, as from an object of a class. */
const inherited = <T extends object>(values: T): T => Object.create(values) as T;

describe("plain options", () => {
  it.each([
    ["good ones", goodOptions],
    ["some that are undefined", withChanges({ pages: undefined, onEvent: undefined })],
    ["one of a strange name", { ...goodOptions, ["__proto__"]: 1 }],
  ])("hold what is written: %s", (_, options) => {
    const plain = plainOptions(options);
    expect(plain).toStrictEqual(options);
    expect(Object.keys(plain)).toEqual(Object.keys(options));
    expect(plain).not.toBe(options);
  });

  it("hold what is inherited", () => {
    const lifetimes = { consentSeconds: 60 };
    const api = { ...goodApi, lifetimes, scopes: { read: { text: "Read", implies: [] } } };
    const written = withChanges({ lifetimes, apis: { orders: api } });
    const scopes = inherited({ read: inherited(api.scopes.read) });
    const given = inherited({
      ...written,
      lifetimes: inherited(lifetimes),
      apis: inherited({ orders: inherited({ ...api, scopes, lifetimes: inherited(lifetimes) }) }),
    });
    expect(plainOptions(given)).toStrictEqual(written);
  });

  it("hold functions that are options, and no other methods of a class", () => {
    class Config {
      onEvent(): void {}
      isProduction(): boolean {
        return this instanceof Config;
      }
    }
    const config = Object.assign(new Config(), goodOptions);
    expect(plainOptions(config)).toStrictEqual({ ...goodOptions, onEvent: config.onEvent });
  });

  it("hold what the host's object has, but does not list", () => {
    const lifetimes = Object.defineProperty({}, "consentSeconds", { value: 60 });
    expect(plainOptions(withChanges({ lifetimes })).lifetimes).toStrictEqual({ consentSeconds: 60 });
  });

  it("hold storage, adapters and pages as the host has made them", () => {
    class Adapter {
      approve = (): undefined => undefined;
    }
    const clientRegistration = new Adapter();
    const pages = inherited({ name: "Shop" });
    const given = withChanges({ pages, apis: { orders: { ...goodApi, clientRegistration } } });
    const plain = plainOptions(given);
    expect(plain.apis["orders"]?.clientRegistration).toBe(clientRegistration);
    expect(plain.pages).toBe(pages);
    expect(plain.storage).toBe(goodOptions.storage);
  });

  it("stay as they were when the host changes its objects", () => {
    const ofApi = { consentSeconds: 60 };
    const api = { ...goodApi, authMethods: ["password"], accessTokenSeconds: 60, lifetimes: ofApi };
    const lifetimes = { consentSeconds: 60 };
    const given = { ...goodOptions, apis: { orders: api }, lifetimes, revocationLagSeconds: 1 };
    const plain = plainOptions(given);
    const before = structuredClone({ lifetimes: plain.lifetimes, apis: plain.apis });
    api.accessTokenSeconds = 9_000;
    api.authMethods.push("other");
    ofApi.consentSeconds = 9_000;
    lifetimes.consentSeconds = 9_000;
    given.revocationLagSeconds = 300;
    expect(plain).toMatchObject({ ...before, revocationLagSeconds: 1 });
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
    expect(plainOptions(given as never)).toStrictEqual(given);
  });
});
