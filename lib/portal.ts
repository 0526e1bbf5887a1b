/** The public names of `authmount/portal`. */
import type { Router } from "express";
import { accountRouter, type AccountPagesOptions } from "./portal/account";
import { staffRouter, type StaffPagesOptions } from "./portal/staff";
import { systemClock } from "./system";

export type { AccountChange, AccountPagesOptions, AccountServer } from "./portal/account";
export type { AccountTexts } from "./portal/account-texts";
export type { PortalOptions, PortalPage } from "./portal/portal-options";
export type { StaffChange, StaffPagesOptions } from "./portal/staff";
export type { StaffTexts } from "./portal/staff-page";

/**
 * The page on which people see which apps may use their account, and take that back: scope by scope, sign-in by sign-in, an app, or all
 * of them. Mount it where nothing else answers: `app.use("/account/apps", accountPages({ auth, options, person }))`.
 *
 * @throws TypeError when an option is wrong
 */
export function accountPages(options: AccountPagesOptions): Router {
  return accountRouter(options, systemClock);
}

/**
 * Pages where your staff list the clients of your table, disable and enable them, make new secrets, end what they have, and delete them.
 * Mount the router at a path of its own, ahead of your own CSRF protection: its forms have one.
 *
 * @throws TypeError when an option is wrong, or the table lacks `list`, `replace` or `delete`
 */
export function staffPages(options: StaffPagesOptions): Router {
  return staffRouter(options, systemClock);
}
