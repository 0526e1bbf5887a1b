/** A host with the pages for staff at `/apps`, and what a member of the staff does there. */
import type { Response } from "supertest";
import type { Client, ClientRegistry } from "../../lib";
import { type StaffChange, staffPages, type StaffPagesOptions } from "../../lib/portal";
import type { Fields } from "../browser/browser";
import { apis } from "../hosts/apis";
import { testHost } from "../hosts/host";
import { basicOptions, type PortalHost, portalHost, type Sent } from "./portal-host";

/** A host whose staff is at work. */
export interface StaffHost extends PortalHost {
  /** What `onChange` was told. */
  readonly changes: StaffChange[];
  readonly table: ClientRegistry;
  /** The page of a client. */
  page(clientId: string): Promise<Response>;
  /** Presses a button on a page that was shown; on the one of the moment when none is given. */
  press(button: string, on: Pressed): Promise<Response>;
}

/** Where a button is. */
export interface Pressed {
  readonly clientId: string;
  readonly page?: Response;
  readonly fields?: Fields;
  readonly headers?: Sent["headers"];
}

/** The path of a client's page. */
export function pathOf(clientId: string): string {
  return `/apps?client=${encodeURIComponent(clientId)}`;
}

/** What the forms of a page have as `seen`; empty where it has none. */
export function seenIn({ text }: Response): string {
  return /name="seen" value="([^"]+)"/.exec(text)?.[1] ?? "";
}

/** The secret that a page shows. */
export function secretIn({ text }: Response): string | undefined {
  return /<code>([\w-]{43})<\/code>/.exec(text)?.[1];
}

/** What a page tells at its top. */
export function noticesIn({ text }: Response): readonly string[] {
  const told = /<div class="warning" role="status">(.*?)<\/div>/s.exec(text)?.[1] ?? "";
  return [...told.matchAll(/<p>(.*?)<\/p>/gs)].map(([, notice = ""]) => notice);
}

/** The buttons of a page, by what they do. */
export function buttonsIn({ text }: Response): readonly string[] {
  return [...text.matchAll(/name="do" value="(\w+)"/g)].map(([, does = ""]) => does);
}

/** A record without what is only for the server. */
export function confidential(clientId: string, changes: Partial<Client> = {}): Client {
  return {
    clientId,
    name: `Client ${clientId}`,
    confidential: true,
    secretDigests: ["sha256:uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek"],
    redirectUris: [],
    subscriptions: {},
    ...changes,
  } as Client;
}

/** A host; everybody is a member of its staff unless `mayManage` says otherwise. */
export function staffHost(
  options: Partial<StaffPagesOptions> = {},
  { host = testHost(), ...about }: Parameters<typeof portalHost>[1] = {},
): StaffHost {
  const changes: StaffChange[] = [];
  const made = portalHost(
    (basic) => {
      const given = { ...basicOptions(basic), auth: host.auth };
      return staffPages({
        ...given,
        options: { ...given.options, apis },
        mayManage: () => true,
        onChange: (change) => void changes.push(change),
        ...options,
      });
    },
    { host, ...about },
  );
  const page = (clientId: string): Promise<Response> => made.get({ path: pathOf(clientId) });
  // the host is what it was made: `person` may be set later
  return Object.assign(made, {
    changes,
    table: host.storage.clients as ClientRegistry,
    page,
    async press(button: string, { clientId, page: shown, fields, headers }: Pressed) {
      const seen = seenIn(shown ?? (await page(clientId)));
      return made.send(
        { seen, do: button, ...fields },
        { path: pathOf(clientId), ...(headers && { headers }) },
      );
    },
  });
}
