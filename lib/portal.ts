/** The public names of `authmount/portal`. */
import type { Router } from "express";
import { accountRouter, type AccountPagesOptions } from "./portal/account";
import { systemClock } from "./system";

export type { AccountChange, AccountPagesOptions, AccountServer } from "./portal/account";
export type { AccountTexts } from "./portal/account-texts";
export type { PortalOptions, PortalPage } from "./portal/portal-options";

/**
 * The page on which people see which apps may use their account, and take that back: scope by scope, sign-in by sign-in, an app, or all
 * of them. Mount it where nothing else answers: `app.use("/account/apps", accountPages({ auth, options, person }))`.
 *
 * @throws TypeError when an option is wrong
 */
export function accountPages(options: AccountPagesOptions): Router {
  return accountRouter(options, systemClock);
}
