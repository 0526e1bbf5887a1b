/** The public names of `authmount/portal`. */
export type { PortalOptions, PortalPage } from "./portal/portal-options";
