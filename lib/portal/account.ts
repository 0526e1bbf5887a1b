/** What people take back from their apps. RFC 6749 §10.2, 7009. */
import type { Router } from "express";
import { scopeField } from "../pages/consent-page";
import type { ConsentSelection } from "../protocol/consent";
import type { Parameters } from "../protocol/parameters";
import { intersect } from "../protocol/scope";
import type { Clock } from "../protocol/time";
import { type Access, type AccountVisit, type AppSources, readApps } from "./account-apps";
import { accountPage } from "./account-page";
import { type AccountTexts, accountTexts } from "./account-texts";
import { type FormOutcome, portalRouter } from "./portal";
import type { PortalOptions } from "./portal-options";

/** What a person has taken back. */
export type AccountChange = { readonly subject: string } & (
  | ({ readonly kind: "access-narrowed"; readonly scopes: readonly string[] } & ConsentSelection)
  | ({ readonly kind: "access-removed" } & ConsentSelection)
  | { readonly kind: "app-removed"; readonly clientId: string }
  | { readonly kind: "sign-in-ended"; readonly clientId: string; readonly authorizationId: string }
  | { readonly kind: "all-apps-removed" }
);

/** What `accountPages` uses of what `createAuthServer` returns. */
export interface AccountServer {
  readonly authorizations: AppSources["auth"]["authorizations"] & {
    readonly revoke: (target: {
      readonly subject: string;
      readonly authorizationId: string;
    }) => Promise<void>;
  };
  readonly consents: AppSources["auth"]["consents"] & {
    readonly revoke: (selection: ConsentSelection) => Promise<void>;
    readonly narrow: (step: ConsentSelection & { readonly scopes: readonly string[] }) => Promise<void>;
  };
  readonly subjects: {
    readonly revoke: (subject: string, options: { readonly consents: "revoke" }) => Promise<void>;
  };
}

/** The options of `accountPages`. */
export interface AccountPagesOptions extends PortalOptions<AccountTexts, AccountChange> {
  /** What `createAuthServer` returned. */
  readonly auth: AccountServer;
  /** The name that people know a context by, such as that of an organization. Left out, or where it gives nothing: the key. */
  readonly contextName?: (contextKey: string) => string | undefined | Promise<string | undefined>;
}

async function narrow(
  consents: AccountServer["consents"],
  { subject, access, form }: { subject: string; access: Access; form: Parameters },
): Promise<AccountChange | undefined> {
  const { clientId, apiId, contextKey, boxes, scopes } = access;
  const ticked = boxes.filter((_, index) => form.get(scopeField(index)) === "on");
  const kept = intersect(
    scopes,
    ticked.flatMap(({ scope, implied }) => [scope, ...implied]),
  );
  const selection = { subject, clientId, apiId, contextKey };
  if (kept.length === scopes.length) return undefined;
  if (kept.length === 0) {
    await consents.revoke(selection);
    return { kind: "access-removed", ...selection };
  }
  await consents.narrow({ ...selection, scopes: kept });
  return { kind: "access-narrowed", ...selection, scopes: kept };
}

/** Takes back what the form asks for. Its `seen` says what that is about, and the rest is read again: nothing of a form is quoted. */
async function takeBack(
  sources: Pick<AccountPagesOptions, "auth" | "options" | "contextName">,
  { visit, form }: { visit: AccountVisit; form: Parameters },
): Promise<FormOutcome<AccountChange>> {
  const { authorizations, consents, subjects } = sources.auth;
  const { subject } = visit;
  const [seen, button, end] = ["seen", "do", "end"].map((name) => form.get(name));
  if (button === "remove-all" && seen === visit.seen("all")) {
    await subjects.revoke(subject, { consents: "revoke" });
    return { kind: "done", change: { kind: "all-apps-removed", subject } };
  }
  const { apps, areAll } = await readApps(sources, visit);
  const access = apps.flatMap(({ accesses }) => accesses).find((one) => one.seen === seen);
  if (button === "save" && access && !access.isFixed)
    return { kind: "done", change: await narrow(consents, { subject, access, form }) };
  const app = apps.find((one) => one.seen === seen);
  if (button === "remove" && app) {
    const { clientId } = app;
    const seenAt = app.accesses.map(({ apiId }) => apiId);
    for (const apiId of new Set(areAll ? seenAt : [...seenAt, ...visit.apis.keys()]))
      await consents.revoke({ subject, clientId, apiId });
    return { kind: "done", change: { kind: "app-removed", subject, clientId } };
  }
  const signIn = app?.signIns.find(({ authorizationId }) => authorizationId === end);
  if (!signIn) return { kind: "outdated" };
  const { authorizationId, clientId } = signIn;
  await authorizations.revoke({ subject, authorizationId });
  return { kind: "done", change: { kind: "sign-in-ended", subject, clientId, authorizationId } };
}

/** The router of `accountPages`. @throws TypeError when an option is wrong */
export function accountRouter(options: AccountPagesOptions, clock: Clock): Router {
  const sources = { ...options };
  return portalRouter(options, {
    clock,
    pages: {
      by: "accountPages",
      functions: ["contextName"],
      texts: accountTexts,
      show: async (visit) => accountPage(visit, await readApps(sources, visit)),
      change: (visit, form) => takeBack(sources, { visit, form }),
    },
  });
}
