/** The public names of `authmount/portal`. */
export type { PortalOptions } from "./portal/portal-options";
export type { PortalPage } from "./portal/portal";
