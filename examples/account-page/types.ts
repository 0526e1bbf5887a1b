/** The types of the example. This file contains no code. */
import type { AuthServer, ClientStore } from "authmount";
import type { People } from "../own-sign-in/people";

/** What the account page needs. */
export interface AccountOptions {
  readonly auth: AuthServer;
  readonly people: Pick<People, "endSessions" | "remove">;
  readonly clients: Pick<ClientStore, "find">;
  /** By id: the name of the API, and what its scopes mean. */
  readonly apis: Readonly<Record<string, { name: string; scopes: Readonly<Record<string, string>> }>>;
  /** The name of a context, if your people choose one. */
  readonly contextName?: (contextKey: string) => string | undefined;
}
