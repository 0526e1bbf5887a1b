import { keptOptions } from "../../lib/options/kept-options";
import { goodApi, goodOptions, withChanges } from "../fixture/options";

/** Options whose values are inherited, as from an object of a class. */
const inherited = <T extends object>(values: T): T => Object.create(values) as T;

describe("options that are kept", () => {
  it("hold what is written, and no key for what is not", () => {
    expect(keptOptions(goodOptions)).toStrictEqual(goodOptions);
    expect(keptOptions(withChanges({ pages: undefined, onEvent: undefined }))).toStrictEqual(goodOptions);
  });

  it("hold what is inherited", () => {
    const lifetimes = { consentSeconds: 60 };
    const api = { ...goodApi, lifetimes };
    const written = withChanges({ lifetimes, apis: { orders: api } });
    const given = inherited({
      ...written,
      lifetimes: inherited(lifetimes),
      apis: { orders: inherited({ ...api, lifetimes: inherited(lifetimes) }) },
    });
    expect(keptOptions(given)).toStrictEqual(written);
  });

  it("stay as they were when the host changes its objects", () => {
    const ofApi = { consentSeconds: 60 };
    const api = { ...goodApi, accessTokenSeconds: 60, lifetimes: ofApi };
    const lifetimes = { consentSeconds: 60 };
    const given = { ...goodOptions, apis: { orders: api }, lifetimes, revocationLagSeconds: 1 };
    const kept = keptOptions(given);
    const before = structuredClone({ lifetimes: kept.lifetimes, apis: kept.apis });
    api.accessTokenSeconds = 9_000;
    ofApi.consentSeconds = 9_000;
    lifetimes.consentSeconds = 9_000;
    given.revocationLagSeconds = 300;
    expect(kept).toMatchObject({ ...before, revocationLagSeconds: 1 });
  });
});
