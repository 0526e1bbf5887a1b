/** Pages where staff manage the clients of a table. RFC 6749 §2, §2.3.1; 9700 §4.14. */
import type { Router } from "express";
import { checkClient, sameRecordAs } from "../clients/client-record";
import { generateClientSecret } from "../clients/client-secret";
import { weekSeconds, withDisabled, withNewSecret } from "../clients/manage-clients";
import { inTime } from "../host/ask";
import { escapeHtml } from "../pages/page-frame";
import { type Client, isClientId } from "../protocol/client";
import { mistakesOf } from "../protocol/mistake";
import type { Parameters } from "../protocol/parameters";
import { parseUrl } from "../protocol/parsed-url";
import type { Clock } from "../protocol/time";
import { type Flight, flights } from "../recall/single-flight";
import type { ClientRegistry } from "../storage/port";
import { type FormOutcome, type PageContent, portalRouter } from "./portal";
import type { PortalOptions } from "./portal-options";
import * as pages from "./staff-page";
import type { StaffTexts, StaffVisit, ToldVisit } from "./staff-page";

/** What a member of the staff has done. It has no secret and no digest. */
export interface StaffChange {
  readonly kind: "client-disabled" | "client-enabled" | "secret-rotated" | "client-ended" | "client-deleted";
  /** The subject of who did it. */
  readonly by: string;
  readonly clientId: string;
}

/** What `staffPages` is given. */
export interface StaffPagesOptions extends PortalOptions<StaffTexts, StaffChange> {
  /** What `createAuthServer` has returned. */
  readonly auth: { readonly clients: { readonly revoke: (clientId: string) => Promise<void> } };
  /**
   * Says whether this person may see and change every client. It is asked at each request, for a form again when all of it has come, and
   * has five seconds. Anything but `true` is a no: your next handler answers.
   */
  readonly mayManage: (person: { readonly subject: string }) => boolean | Promise<boolean>;
  /** Links for the page of a client, such as to your logs. Each `href` is an http or https URL, or a relative one. */
  readonly links?: (clientId: string) => readonly { readonly href: string; readonly text: string }[];
}

const mistake = mistakesOf({
  "staff-table-read-only": (method: string) =>
    `staffPages: storage.clients has no ${method}(). Use the storage of authmount/postgres, /mysql, /redis or /sqlite, or give your table this method.`,
  "staff-links-wrong":
    "staffPages: links must return a list of { href, text }, each href an http or https URL or a relative one.",
});

type Outcome = FormOutcome<StaffChange>;
type Staff = Pick<StaffPagesOptions, "auth" | "links"> & { readonly table: ClientRegistry };

const pageLimit = 50;
const searchLimit = 1_000;
const outdated = { kind: "outdated" } as const;

/** The table, where each call has limited time. @throws TypeError when it cannot be managed */
function tableOf(clients: object): ClientRegistry {
  const calls = ["find", "list", "replace", "delete"].map((method) => {
    const call: unknown = Reflect.get(clients, method);
    if (typeof call !== "function") throw mistake("staff-table-read-only", method);
    const ask = (args: readonly unknown[]): unknown => Reflect.apply(call, clients, args);
    return [method, (...args: unknown[]) => inTime(`clients.${method}`, () => ask(args))];
  });
  return Object.fromEntries(calls) as ClientRegistry;
}

/** A table that ignores case must not turn one client into another. */
async function findIn(table: ClientRegistry, clientId: string): Promise<Client | undefined> {
  const found = isClientId(clientId) ? await table.find(clientId) : undefined;
  return found?.clientId === clientId ? found : undefined;
}

/** Stores the new record, unless somebody else has changed the client since it was found. */
async function isStored(table: ClientRegistry, step: { from: Client; to: Client }): Promise<boolean> {
  if ((await table.replace(step)) === "replaced") return true;
  // a database that did not hear an answer was asked twice, and has refused the second time what it had done the first
  return sameRecordAs(step.to)(await findIn(table, step.to.clientId));
}

async function showList({ table }: Staff, visit: ToldVisit): Promise<PageContent> {
  const { query, say, language, notices } = visit;
  // a client that is not there any more is searched for
  const q = query.get("client") ?? query.get("q")?.trim();
  if (q === undefined) {
    const after = query.get("after") ?? "";
    const found = await table.list({ limit: pageLimit + 1, ...(isClientId(after) && { after }) });
    const last = found.length > pageLimit ? found[pageLimit - 1]?.clientId : undefined;
    return pages.listPage(found.slice(0, pageLimit), { ...visit, ...(last !== undefined && { last }) });
  }
  const [client, all] = await Promise.all([findIn(table, q), table.list({ limit: searchLimit + 1 })]);
  const has = (text: unknown): boolean => String(text).toLowerCase().includes(q.toLowerCase());
  const named = all.slice(0, searchLimit).filter(({ clientId, name }) => clientId !== q && has(name));
  const count = searchLimit.toLocaleString(language);
  const told = all.length > searchLimit ? [...notices, say("firstOnly", { count })] : notices;
  return pages.listPage([client ?? [], named].flat(), { ...visit, notices: told, q });
}

function linkOf(given: unknown): string {
  const { href, text } = Object(given) as { href?: unknown; text?: unknown };
  const url = parseUrl(String(href), "https://relative.example");
  const isWeb = /^https?:$/.test(url?.protocol ?? "");
  if (typeof href !== "string" || typeof text !== "string" || !isWeb) throw mistake("staff-links-wrong");
  return pages.linkTo(href, escapeHtml(text));
}

async function linksOf(staff: Staff, { clientId }: Client): Promise<string> {
  const links = await inTime("links", () => staff.links?.(clientId) ?? []);
  if (!Array.isArray(links)) throw mistake("staff-links-wrong");
  return links.map(linkOf).join("");
}

async function show(staff: Staff, visit: StaffVisit): Promise<PageContent> {
  const { query, isOutdated, say } = visit;
  const client = await findIn(staff.table, query.get("client") ?? "");
  const told = { ...visit, notices: isOutdated ? [say("outdated")] : [] };
  if (!client) return showList(staff, told);
  return pages.clientPage(checkClient(client), { ...told, links: await linksOf(staff, client) });
}

type Sent = Staff & { readonly visit: StaffVisit; readonly form: Parameters };

/** Does what a form asks for. */
async function change(client: Client, sent: Sent): Promise<Outcome> {
  const { visit, form, table, auth } = sent;
  const { clientId } = client;
  const here = pages.addressOf({ client: clientId });
  const done = (kind: StaffChange["kind"], to = here) =>
    ({ kind: "done", change: { kind, by: visit.subject, clientId }, to }) as const;
  const store = async (to: Client, outcome: Outcome): Promise<Outcome> =>
    (await isStored(table, { from: client, to })) ? outcome : outdated;
  switch (form.get("do")) {
    case "disable":
      return store(withDisabled(client, true), done("client-disabled"));
    case "enable":
      return store(withDisabled(client, false), done("client-enabled"));
    case "newSecret": {
      if (!("secretDigests" in client)) return outdated;
      const { secret, digest } = generateClientSecret();
      const overlapSeconds = form.get("old") === "ends" ? 0 : weekSeconds;
      const to = withNewSecret(client, { digest, overlapSeconds, now: visit.now });
      const page = pages.secretPage(to, { ...visit, secret });
      return store(to, { ...done("secret-rotated"), kind: "page", page });
    }
    case "end": {
      const links = await linksOf(sent, client);
      await auth.clients.revoke(clientId);
      // the answer itself says so: a link that says it could come from anybody
      const page = pages.clientPage(client, { ...visit, links, notices: [visit.say("ended")] });
      return { ...done("client-ended"), kind: "page", page };
    }
    case "delete":
      if (form.get("id")?.trim() !== clientId) return outdated;
      await table.delete(clientId);
      // again, for a table that keeps its clients apart from the end marks
      await auth.clients.revoke(clientId);
      return done("client-deleted", "?");
    default:
      return outdated;
  }
}

async function answer(sent: Sent): Promise<Outcome> {
  const client = await findIn(sent.table, sent.visit.query.get("client") ?? "");
  return client && sent.form.get("seen") === pages.seenOf(client, sent.visit)
    ? change(client, sent)
    : outdated;
}

/** See `staffPages` in `lib/portal.ts`. */
export function staffRouter(options: StaffPagesOptions, clock: Clock): Router {
  const { auth, mayManage, links } = options;
  const underWay = flights<Flight<Outcome>>();
  const router = portalRouter<keyof StaffTexts, StaffChange>(options, {
    clock,
    pages: {
      by: "staffPages",
      functions: ["mayManage", "links"],
      texts: pages.staffTexts,
      mayVisit: async ({ subject }) => (await inTime("mayManage", () => mayManage({ subject }))) === true,
      show: (visit) => show(staff, visit),
      async change(visit, form) {
        const fields = ["seen", "do", "old", "id"].map((name) => form.get(name));
        const key = JSON.stringify([visit.subject, visit.query.get("client"), ...fields]);
        const other = underWay.get(key);
        if (!other) return underWay.show(key, { answer: answer({ ...staff, visit, form }) }).answer;
        // a browser shows the last answer to a double click, so that must have the new secret too
        const same = await other.answer;
        return same.kind === "outdated" ? same : { ...same, change: undefined };
      },
    },
  });
  // the options are checked by now
  const staff: Staff = { auth, table: tableOf(options.options.storage.clients), ...(links && { links }) };
  return router;
}
