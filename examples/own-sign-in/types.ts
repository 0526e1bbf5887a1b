/** The types that the files of the example share. This file contains no code. */
import type { AuthServer } from "authmount";
import type { People } from "./people";

/** A person that the host knows. */
export interface Person {
  /** Stays the same whatever else changes. authmount and its clients identify a person by it. */
  readonly subject: string;
  readonly name: string;
}

/** A person who has entered their password. */
export interface SignedIn extends Person {
  /** The sessions of the person have this id until all of them are ended. */
  readonly sessionsId: string;
}

declare module "express-session" {
  interface SessionData {
    person: SignedIn & {
      /** When they entered their password, in seconds since 1970. */
      readonly authTime: number;
    };
    formToken: string;
  }
}

/** What the sign-in pages need. */
export interface SignInOptions {
  readonly auth: AuthServer;
  readonly people: People;
  /** Where people go after sign-in if they did not come from a client. */
  readonly home: string;
}
