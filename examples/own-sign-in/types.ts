/** The types that the files of the example share; nothing here runs. */
import type { AuthServer } from "authmount";
import type { People } from "./people";

/** Somebody whom the host knows. */
export interface Person {
  /** Stays the same whatever else changes: what authmount and its clients know a person by. */
  readonly subject: string;
  readonly name: string;
}

declare module "express-session" {
  interface SessionData {
    person: Person & {
      /** When they entered their password, in seconds since 1970. */
      readonly authTime: number;
    };
    formToken: string;
  }
}

/** What the sign-in pages are made with. */
export interface SignInOptions {
  readonly auth: AuthServer;
  readonly people: People;
  /** Where people go who came by themselves, and not from a client. */
  readonly home: string;
}
