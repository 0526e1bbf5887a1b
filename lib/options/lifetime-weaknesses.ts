/** Lifetimes that are longer than they should be. RFC 6749 §4.1.2, §10.4; 9700 §4.14. */
import type { Lifetimes } from "../protocol/issuer";
import type { AuthServerOptions } from "./options";
import type { Weakness, WeaknessRule } from "./weakness";

interface Limit {
  readonly most: number;
  readonly why: string;
}

const day = 86_400;

/** What is longer than this is weak. The defaults are shorter. */
const limits: Readonly<Record<Exclude<keyof Lifetimes, "refreshRetrySeconds">, Limit>> = {
  authorizationCodeSeconds: {
    most: 120,
    why: "Clients redeem a code within seconds. The longer it lives, the longer a stolen one can be tried.",
  },
  interactionSeconds: {
    most: 1_800,
    why: "Somebody else may sit down at the browser and finish the sign-in.",
  },
  refreshTokenIdleSeconds: {
    most: 60 * day,
    why: "A token of a client that nobody uses any more can be stolen and used for that long.",
  },
  refreshTokenSeconds: {
    most: 180 * day,
    why: "A person who has signed in once is not asked again for that long, whatever has changed since.",
  },
  consentSeconds: { most: 730 * day, why: "People forget what they have allowed so long ago." },
};

/** A JWT is often checked without asking this server, and lives on after it was revoked. */
const accessTokens: Limit = {
  most: 4 * 3_600,
  why: "An API that does not ask this server accepts a stolen or revoked token for that long.",
};

function inDays(seconds: number): string {
  return seconds >= 2 * day ? ` (${Math.round(seconds / day)} days)` : "";
}

function tooLong(
  path: string,
  { seconds = 0, limit }: { seconds: number | undefined; limit: Limit },
): readonly Weakness[] {
  if (seconds <= limit.most) return [];
  const { most, why } = limit;
  const problem = `is ${seconds} seconds${inDays(seconds)}`;
  const fix = `Write ${most}${inDays(most)} or less.`;
  return [{ level: "weak", path, problem, why, fix }];
}

/** The lifetimes as they are written, by the path at which they stand. */
function writtenLifetimes({
  lifetimes = {},
  apis,
}: AuthServerOptions): readonly [string, Partial<Lifetimes>][] {
  return [
    ["lifetimes", lifetimes],
    ...Object.entries(apis).map(([apiId, api]): [string, Partial<Lifetimes>] => [
      `apis.${apiId}.lifetimes`,
      api.lifetimes ?? {},
    ]),
  ];
}

const longLives: WeaknessRule = (options) =>
  writtenLifetimes(options).flatMap(([path, lifetimes]) =>
    (Object.keys(limits) as (keyof typeof limits)[]).flatMap((name) =>
      tooLong(`${path}.${name}`, { seconds: lifetimes[name], limit: limits[name] }),
    ),
  );

const longAccessTokens: WeaknessRule = ({ apis }) =>
  Object.entries(apis).flatMap(([apiId, { accessTokenSeconds }]) =>
    tooLong(`apis.${apiId}.accessTokenSeconds`, { seconds: accessTokenSeconds, limit: accessTokens }),
  );

const refreshRetries: WeaknessRule = (options) =>
  writtenLifetimes(options).flatMap(([path, { refreshRetrySeconds = 0 }]) =>
    refreshRetrySeconds === 0
      ? []
      : {
          level: "note",
          path: `${path}.refreshRetrySeconds`,
          problem: `is ${refreshRetrySeconds} seconds`,
          why: "Within that time, a stolen refresh token that is used a second time is not noticed.",
          fix: "Write it only for clients that lose answers, such as phones, and as short as they need.",
        },
  );

/** The rules about lifetimes. */
export const lifetimeRules: readonly WeaknessRule[] = [longLives, longAccessTokens, refreshRetries];
