/** What a rule about weak options says. RFC 6819 §5, 9700 §2. */
import type { AuthServerOptions } from "./options";

/** Something that `createAuthServer` accepts, and that the host should know. */
export interface Weakness {
  /** `weak` should be changed before production; `note` is right for some hosts. */
  readonly level: "weak" | "note";
  /** The option, such as `apis.orders.accessTokenSeconds`. */
  readonly path: string;
  /** What is so. It quotes no secret and no key. */
  readonly problem: string;
  /** What may come of it. */
  readonly why: string;
  /** What to write instead, or when it may stay. */
  readonly fix: string;
}

/** Looks at options that `createAuthServer` accepts. */
export type WeaknessRule = (options: AuthServerOptions) => readonly Weakness[];
