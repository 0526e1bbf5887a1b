/** The types of the example. This file contains no code. */
import type { AuthServer } from "authmount";
import type { People } from "../own-sign-in/people";

/** What the pages that end everything need. */
export interface AccountOptions {
  readonly auth: AuthServer;
  readonly people: Pick<People, "endSessions" | "remove">;
}
