/** The types of the example. This file contains no code. */
declare module "express-session" {
  interface SessionData {
    /** The organization that the person has chosen last. */
    organizationId: string;
  }
}

/** An organization that people act for. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  /** The subjects of its people. */
  readonly members: readonly string[];
}

/** The claims that `tokens.decide` adds. In a real app, declare them as docs/tokens.md says. */
export interface OrganizationClaims {
  readonly org?: { readonly id: string; readonly name: string };
}
