/** What a route wants of a sign-in, and what a token that lacks it is told. RFC 9470 §3. */
import { readSignIn, type SignInOptions } from "../../lib/bearer/step-up";
import type { ProtectedApi } from "../../lib/protocol/issuer";
import { clockDriftSeconds } from "../../lib/protocol/time";
import { accessTokenRecord, apiRecord, resourceApiRecord } from "../records/records";

const now = 10_000;
const orders = apiRecord({ acrValues: ["pwd", "otp", "mfa"] });

const ruleOf = (options: object, api: ProtectedApi = orders) =>
  readSignIn(options, { api, by: "requireBearer", clock: () => now });

const isMet = (options: SignInOptions, token: { acr?: string; authTime?: number }) =>
  ruleOf(options)?.isMet(accessTokenRecord(token));

describe("a token is enough (RFC 9470 §3)", () => {
  it.each<[SignInOptions, { acr?: string; authTime?: number }, boolean]>([
    [{ acr: "otp" }, { acr: "otp" }, true],
    [{ acr: ["otp", "mfa"] }, { acr: "mfa" }, true],
    [{ acr: ["otp", "mfa"] }, { acr: "otp mfa" }, false],
    [{ acr: "otp" }, { authTime: now }, false],
    [{ maxAge: 60 }, { authTime: now - 60 }, true],
    [{ maxAge: 60 }, { authTime: now - 61 }, false],
    [{ maxAge: 60 }, {}, false],
    [{ maxAge: 0 }, { authTime: now }, true],
    [{ acr: "otp", maxAge: 60 }, { acr: "otp", authTime: now }, true],
    [{ acr: "otp", maxAge: 60 }, { acr: "pwd", authTime: now }, false],
    [{ acr: "otp", maxAge: 60 }, { acr: "otp", authTime: now - 61 }, false],
  ])("for %j with %j: %s", (options, token, expected) => {
    expect(isMet(options, token)).toBe(expected);
  });

  it("by the oldest time that a clock ahead of this one can mean", () => {
    const ahead = { authTime: now + 1 };
    expect(isMet({ maxAge: clockDriftSeconds - 1 }, ahead)).toBe(true);
    expect(isMet({ maxAge: clockDriftSeconds - 2 }, ahead)).toBe(false);
  });

  it("by the values that there were when the route was made", () => {
    const acr = ["otp"];
    const rule = ruleOf({ acr });
    acr.push("pwd");
    expect(rule?.isMet(accessTokenRecord({ acr: "pwd" }))).toBe(false);
  });
});

describe("what the client and the developer are told", () => {
  it.each<[SignInOptions, object]>([
    [{ acr: "otp" }, { acr_values: "otp" }],
    [
      { acr: ["otp", "mfa"], maxAge: 0 },
      { acr_values: "otp mfa", max_age: "0" },
    ],
    [{ maxAge: 60 }, { max_age: "60" }],
  ])("%j is a challenge with %j", (options, parameters) => {
    expect(ruleOf(options)?.parameters).toStrictEqual(parameters);
  });

  it.each<[string, SignInOptions, { acr?: string }, string, string]>([
    [
      "another acr",
      { acr: ["otp", "mfa"], maxAge: 60 },
      { acr: "pwd" },
      "access-token-acr-differs",
      'the access token has acr "pwd", and the route takes "otp mfa" (',
    ],
    ["no acr", { acr: "otp" }, {}, "access-token-acr-differs", "the access token has no acr, and"],
    ["its age", { acr: "otp", maxAge: 60 }, { acr: "otp" }, "access-token-sign-in-too-old", "the sign-in"],
    ["its age alone", { maxAge: 60 }, {}, "access-token-sign-in-too-old", "older than maxAge of the route"],
  ])("the event names %s", (_, options, token, code, reason) => {
    const why = { code, reason: expect.stringContaining(reason) as string };
    expect(ruleOf(options)?.why(accessTokenRecord(token))).toEqual(why);
  });
});

describe("the options of a route", () => {
  it("are no rule where neither acr nor maxAge is given", () => {
    expect(ruleOf({})).toBeUndefined();
  });

  const code = "unknown-acr-of-route";
  const wrongAcr = "requireBearer: acr must be one or more";

  it("name only values that the API has", () => {
    expect(() => ruleOf({ acr: "gold" })).toThrow(
      expect.objectContaining({ code, message: `${wrongAcr} of acrValues of orders: pwd, otp, mfa.` }),
    );
    expect(() => ruleOf({ acr: "gold" }, apiRecord({ acrValues: [] }))).toThrow(
      expect.objectContaining({ code, message: `${wrongAcr} of acrValues of orders, and it has none.` }),
    );
  });

  it.each(["a b", "a a", "", 'a"', 7, [[]], [["gold", 7]]])("name no value such as %j", (acr) => {
    expect(() => ruleOf({ acr }, resourceApiRecord())).toThrow(
      expect.objectContaining({ code, message: `${wrongAcr} values without spaces.` }),
    );
  });

  it.each([-1, 0.5, "60", Number.NaN])("have no maxAge of %j", (maxAge) => {
    const message = "requireBearer: maxAge must be whole seconds, 0 or more.";
    expect(() => ruleOf({ maxAge })).toThrow(
      expect.objectContaining({ code: "wrong-max-age-of-route", message }),
    );
  });

  it("are taken as they are where the values of the API are not known", () => {
    expect(ruleOf({ acr: ["gold"] }, resourceApiRecord())?.parameters).toEqual({ acr_values: "gold" });
  });
});
