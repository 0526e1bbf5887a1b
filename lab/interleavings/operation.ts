/** What an operation is: something that can happen to a family, or beside it. */
import type { AuthServerEvent, TokenDecision } from "../../lib";
import type { Family, Held, Owner, Part } from "./family";
import type { Format, Host } from "./host";
import type { Outcome, Process } from "./server";

/** What an operation works on. */
export interface Scene {
  readonly host: Host;
  readonly family: Family;
  readonly process: Process;
}

/** Something that can happen. */
export interface Operation {
  readonly begin: (scene: Scene) => Promise<Outcome>;
  /** What no longer works once it has resolved. */
  readonly ends?: (held: Held, family: Family) => boolean;
  /** It is no ban: what the client asks for itself afterwards works. */
  readonly sparesLater?: true;
  /** Where approvals without a page no longer work either: what the person has allowed there is taken back. */
  readonly takesConsent?: readonly Owner[];
  /** Whose `orders:write` works no longer, and does not come back without a page, once it has resolved. */
  readonly takesWriting?: readonly Owner[];
  /** Whose is what it brings; the family's when left out. */
  readonly brings?: Owner;
  /** What it needs beside the family. */
  readonly needs?: Part;
  /** The only form of tokens with which it can happen. */
  readonly only?: Format;
  /** What the host says about the token that it asks for. A refusal is how it ends something. */
  readonly word?: TokenDecision;
  /** So much time passes that only refresh tokens are sure to live. */
  readonly passesTime?: true;
  /** The events that may tell of its success, one of them each time; `undefined` for "none". */
  readonly succeeds: readonly (AuthServerEvent["kind"] | undefined)[];
  /** Which code or refresh token of the family it presents. */
  readonly presents?: (family: Family) => string;
}
