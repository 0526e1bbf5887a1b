/** How an authorization is stored in Redis: with its last use, which scripts write. RFC 6749 §1.3, 9700 §4.14.2. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { ListedAuthorization } from "../port";
import { forgetAt, readRecord } from "./records";

/** The key of an authorization. The braces keep the keys of its codes and tokens, which begin with it, in the same slot. */
export function authorizationKey(prefix: string, authorizationId: string): string {
  return `${prefix}{${authorizationId}}`;
}

/**
 * What a record begins with, behind the flag. At this fixed place, a script that spends a code or a refresh token can write the last
 * use without a further key. Versions before 0.2 wrote records without it, and read those that have it.
 */
const beginning = '{"lastUsedAt":';
/** The time is padded with spaces, which JSON allows. */
const width = 16;

interface StoredAuthorization extends Omit<Authorization, "revoked"> {
  /** 0 before the first use. */
  readonly lastUsedAt?: EpochSeconds;
}

/** The command that stores a new authorization until Redis may remove it. */
export function setAuthorization(
  key: string,
  { revoked, ...authorization }: Authorization,
): readonly (string | number)[] {
  const rest = JSON.stringify(authorization).slice(1);
  const value = `${revoked ? 1 : 0}${beginning}${lastUse(0)},${rest}`;
  return ["SET", key, value, "EXAT", forgetAt(authorization)];
}

interface Found {
  readonly authorization: Authorization;
  readonly lastUsedAt: EpochSeconds | undefined;
}

function read(answer: unknown, now: EpochSeconds): Found | undefined {
  const found = readRecord<StoredAuthorization>(answer, now);
  if (found === undefined) return undefined;
  const { lastUsedAt, ...authorization } = found.record;
  return { authorization: { ...authorization, revoked: found.flag }, lastUsedAt: lastUsedAt || undefined };
}

/** The authorization in an answer, or `undefined` when there is none or it has expired at `now`. */
export function readAuthorization(answer: unknown, now: EpochSeconds): Authorization | undefined {
  return read(answer, now)?.authorization;
}

/** The same with its last use. */
export function readListed(answer: unknown, now: EpochSeconds): ListedAuthorization | undefined {
  const { authorization, lastUsedAt } = read(answer, now) ?? {};
  return authorization && { ...authorization, ...(lastUsedAt !== undefined && { lastUsedAt }) };
}

/** The argument of a script for a last use at this time. */
export function lastUse(now: EpochSeconds): string {
  return String(now).padStart(width);
}

/** The step of a script that writes the last use ARGV[2] into the authorization KEYS[2]. It never creates one. */
export const noteLastUse: string = `
if redis.call("GETRANGE", KEYS[2], 1, ${beginning.length}) == '${beginning}' then
  redis.call("SETRANGE", KEYS[2], ${beginning.length + 1}, ARGV[2])
end`;
