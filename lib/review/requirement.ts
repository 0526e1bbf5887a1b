/** An item of a standard, what this server does about it, and which options weaken that. RFC 9700 §2. */
import type { ApiOptions } from "../options/options";
import type { WeaknessCode } from "./weaknesses";

/** The standards that a report compares the configuration with. */
export type AssessedStandard = "RFC 9700" | "OAuth 2.1" | "FAPI 2.0" | "ASVS 5.0";

/**
 * `met`: the server does it with these options. `weakened`: an option takes part of it away. `not-met`: the server does not offer it.
 * `host`: your app or your deployment must do it. `not-applicable`: it is about something that this server does not do.
 */
export type AssessmentState = "met" | "weakened" | "not-met" | "host" | "not-applicable";

/** An item of a standard. */
export interface Requirement {
  readonly section: string;
  /** What it asks for, in our words. */
  readonly title: string;
  /** How it stands when no option weakens it. */
  readonly state: Exclude<AssessmentState, "weakened">;
  readonly note: string;
  /** True for an API whose options meet it, whatever else is so. It is `met` where they all do, and `state` says how it stands elsewhere. */
  readonly metAt?: (api: ApiOptions) => boolean;
  /** Tests that show it, as they are called below `__tests__/`. */
  readonly tests?: readonly string[];
  /** Only of what is met or for the host to do: what is not offered cannot be weakened. */
  readonly weakenedBy?: readonly WeaknessCode[];
  /** It is about each client, so that clients in storage would have to be looked at. */
  readonly aboutClients?: true;
  /** It only applies where this is found. When left out, it always applies. */
  readonly appliesWith?: WeaknessCode;
}

/** A standard, with what is compared of it. */
export interface Standard {
  readonly standard: AssessedStandard;
  /** Which edition. */
  readonly edition: string;
  readonly requirements: readonly Requirement[];
}

/** Where tokens are bound to keys, all of them. */
export const isBound = ({ dpop }: ApiOptions): boolean => dpop?.tokens === "required";

/** Where all requests are pushed. */
export const isPushed = ({ pushedRequests }: ApiOptions): boolean => pushedRequests === "required";

/** What lets a used or revoked code or refresh token be accepted again. */
export const lostRecords = ["storage-in-memory", "storage-may-lose-records"] as const;
