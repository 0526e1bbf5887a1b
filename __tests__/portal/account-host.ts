/** A host with `accountPages`, and what a person does on the page. */
import type { Response } from "supertest";
import type { AuthServer, ConsentSelection } from "../../lib";
import { type AccountChange, accountPages, type AccountPagesOptions } from "../../lib/portal";
import type { Fields } from "../browser/browser";
import { formFields } from "../browser/browser";
import { apis } from "../hosts/apis";
import { type TestHost, testHost } from "../hosts/host";
import { basicOptions, type PortalHost, portalHost, type Sent } from "./portal-host";

/** What `auth.consents.narrow` was called with. */
export type Narrowed = ConsentSelection & { readonly scopes: readonly string[] };

/** A host with the page of connected apps. */
export interface AccountHost extends PortalHost {
  readonly changes: AccountChange[];
  readonly narrowed: Narrowed[];
  /** Presses a button of a form of the page, the first that has all of these texts. */
  press(
    page: Response,
    pressed: { readonly form: readonly string[]; readonly fields: Fields } & Sent,
  ): Promise<Response>;
}

/** The same server, and what it was asked to narrow. */
function watchingNarrow(auth: AuthServer, narrowed: Narrowed[]): AuthServer {
  const narrow: AuthServer["consents"]["narrow"] = async (step) => {
    narrowed.push(step);
    await auth.consents.narrow(step);
  };
  return { ...auth, consents: { ...auth.consents, narrow } };
}

/** The forms of a page as text, each up to the next one. */
export function formsOf({ text }: Response): readonly string[] {
  return text
    .split("<form ")
    .slice(1)
    .map((part) => part.split("</form>")[0] ?? "");
}

/** The headings of the apps, without markup. */
export function appsOf({ text }: Response): readonly string[] {
  return [...text.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, heading = ""]) =>
    heading.replaceAll(/<[^>]*>/g, ""),
  );
}

export function accountHost(
  options: Partial<AccountPagesOptions> = {},
  {
    host = testHost(),
    ofServer = {},
  }: { host?: TestHost; ofServer?: Partial<AccountPagesOptions["options"]> } = {},
): AccountHost {
  const changes: AccountChange[] = [];
  const narrowed: Narrowed[] = [];
  const made = portalHost(
    (portal) => {
      const basic = basicOptions(portal);
      return accountPages({
        ...basic,
        auth: watchingNarrow(host.auth, narrowed),
        options: { ...basic.options, apis, ...ofServer },
        onChange: (change) => void changes.push(change),
        ...options,
      });
    },
    { host },
  );
  const press: AccountHost["press"] = (page, { form, fields, ...sent }) => {
    const found = formsOf(page).find((each) => form.every((part) => each.includes(part)));
    if (found === undefined) throw new Error(`no form with ${form.join(", ")}: ${page.text}`);
    // boxes are sent with the form as they are ticked
    return made.send({ ...formFields(found), ...fields }, sent);
  };
  return Object.assign(made, { changes, narrowed, press });
}
