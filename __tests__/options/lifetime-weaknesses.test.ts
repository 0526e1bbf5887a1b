import type { AuthServerOptions } from "../../lib";
import { lifetimeRules } from "../../lib/options/lifetime-weaknesses";
import { strongWith, strongWithApi } from "../fixture/options";

const found = (options: AuthServerOptions): readonly object[] =>
  lifetimeRules.flatMap((rule) => rule(options));

const everywhere: readonly (readonly [string, (lifetimes: object) => AuthServerOptions])[] = [
  ["lifetimes", (lifetimes) => strongWith({ lifetimes })],
  ["apis.orders.lifetimes", (lifetimes) => strongWithApi({ lifetimes })],
];

interface Limit {
  readonly name: string;
  readonly most: number;
  readonly problem: string;
  readonly why: string;
  readonly fix: string;
}

const limits: readonly Limit[] = [
  {
    name: "authorizationCodeSeconds",
    most: 120,
    problem: "is 121 seconds",
    why: "Clients redeem a code within seconds. The longer it lives, the longer a stolen one can be tried.",
    fix: "Write 120 or less.",
  },
  {
    name: "interactionSeconds",
    most: 1_800,
    problem: "is 1801 seconds",
    why: "Somebody else may sit down at the browser and finish the sign-in.",
    fix: "Write 1800 or less.",
  },
  {
    name: "refreshTokenIdleSeconds",
    most: 5_184_000,
    problem: "is 5184001 seconds (60 days)",
    why: "A token of a client that nobody uses any more can be stolen and used for that long.",
    fix: "Write 5184000 (60 days) or less.",
  },
  {
    name: "refreshTokenSeconds",
    most: 15_552_000,
    problem: "is 15552001 seconds (180 days)",
    why: "A person who has signed in once is not asked again for that long, whatever has changed since.",
    fix: "Write 15552000 (180 days) or less.",
  },
  {
    name: "consentSeconds",
    most: 63_072_000,
    problem: "is 63072001 seconds (730 days)",
    why: "People forget what they have allowed so long ago.",
    fix: "Write 63072000 (730 days) or less.",
  },
];

describe.each(everywhere)("lifetimes that are too long, in %s (RFC 9700 §4.14)", (path, withLifetimes) => {
  it.each(limits)("$name", ({ name, most, ...texts }) => {
    expect(found(withLifetimes({ [name]: most }))).toEqual([]);
    const weakness = { level: "weak", path: `${path}.${name}`, ...texts };
    expect(found(withLifetimes({ [name]: most + 1 }))).toEqual([weakness]);
  });

  it("refreshRetrySeconds, unless it is 0", () => {
    expect(found(withLifetimes({ refreshRetrySeconds: 0 }))).toEqual([]);
    expect(found(withLifetimes({ refreshRetrySeconds: 10 }))).toEqual([
      {
        level: "note",
        path: `${path}.refreshRetrySeconds`,
        problem: "is 10 seconds",
        why: "Within that time, a stolen refresh token that is used a second time is not noticed.",
        fix: "Write it only for clients that lose answers, such as phones, and as short as they need.",
      },
    ]);
  });
});

describe("access tokens that live too long (RFC 9700 §4.14)", () => {
  it.each([
    [14_401, "is 14401 seconds"],
    [86_400, "is 86400 seconds"],
    [172_799, "is 172799 seconds"],
    [172_800, "is 172800 seconds (2 days)"],
  ])("%d seconds, said in days from two on", (accessTokenSeconds, problem) => {
    expect(found(strongWithApi({ accessTokenSeconds }))).toEqual([
      {
        level: "weak",
        path: "apis.orders.accessTokenSeconds",
        problem,
        why: "An API that does not ask this server accepts a stolen or revoked token for that long.",
        fix: "Write 14400 or less.",
      },
    ]);
  });

  it("are none of four hours", () => {
    expect(found(strongWithApi({ accessTokenSeconds: 14_400 }))).toEqual([]);
  });
});
