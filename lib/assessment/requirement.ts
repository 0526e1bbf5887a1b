/** A line of a standard, what this server does about it, and which options weaken that. RFC 9700 §2. */
import { type ListedClients, listedClients } from "../clients/client-lookup";
import type { AuthServerOptions } from "../options/options";
import type { Weakness } from "../options/weakness";
import { weaknessesOf } from "../options/weaknesses";
import type { Client } from "../protocol/client";

/** The standards that a report compares the configuration with. */
export type AssessedStandard = "RFC 9700" | "OAuth 2.1" | "FAPI 2.0" | "ASVS 5.0";

/**
 * `met`: the server does it with these options. `weakened`: an option takes part of it away. `not-met`: the server does not offer it.
 * `host`: your app or your deployment must do it. `not-applicable`: it is about something that this server does not do.
 */
export type AssessmentState = "met" | "weakened" | "not-met" | "host" | "not-applicable";

/** An option that weakens something, and what is so about it. */
export interface Weakening {
  readonly path: string;
  readonly problem: string;
}

/** What the requirements are judged by. */
export interface Facts {
  readonly options: AuthServerOptions;
  readonly weaknesses: readonly Weakness[];
  /** The clients that are known without asking the storage. */
  readonly clients: readonly Client[];
  /** False when the storage keeps clients that it does not list. */
  readonly knowsClients: boolean;
}

/** Something that weakens requirements. */
export interface Weakener {
  /** What it is, for readers: an option's name. */
  readonly option: string;
  /** Where it is so. */
  readonly find: (facts: Facts) => readonly Weakening[];
}

/** A line of a standard. */
export interface Requirement {
  readonly section: string;
  /** What it asks for, in our words. */
  readonly title: string;
  /** How it stands when no option weakens it. */
  readonly state: Exclude<AssessmentState, "weakened">;
  readonly note: string;
  /** Tests that show it, as they are called below `__tests__/`. */
  readonly tests?: readonly string[];
  /** Only of what is met or for the host to do: what is not offered cannot be weakened. */
  readonly weakenedBy?: readonly Weakener[];
  /** It is about each client, so that clients in storage would have to be looked at. */
  readonly aboutClients?: true;
  /** When left out, it always applies. */
  readonly appliesTo?: (facts: Facts) => boolean;
}

/** A standard, with what is compared of it. */
export interface Standard {
  readonly standard: AssessedStandard;
  /** Which edition. */
  readonly edition: string;
  readonly requirements: readonly Requirement[];
}

/** Reads the options once for all requirements. It connects to nothing. */
export function factsOf(options: AuthServerOptions): Facts {
  const { clients } = options.storage;
  return {
    options,
    weaknesses: weaknessesOf(options),
    clients: listedClients(clients),
    knowsClients: Array.isArray((clients as Partial<ListedClients>).records),
  };
}
