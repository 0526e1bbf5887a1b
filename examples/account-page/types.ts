/** The types of the example; nothing here runs. */
import type { AuthServer, ClientStore } from "authmount";

/** What the account page is made with. */
export interface AccountOptions {
  readonly auth: AuthServer;
  readonly clients: Pick<ClientStore, "find">;
  /** By id: what the API is called, and what its scopes mean. */
  readonly apis: Readonly<Record<string, { name: string; scopes: Readonly<Record<string, string>> }>>;
}
