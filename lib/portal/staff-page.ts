/** What the pages for staff show of clients: no digest, no key, and no secret but a new one. RFC 6749 §2, §2.3.1. */
import { ownClient } from "../clients/client-record";
import { escapeHtml } from "../pages/page-frame";
import { type Client, type ConfidentialClient, isKeyClient } from "../protocol/client";
import type { PageContent, Visit } from "./portal";

/** The texts of the pages for staff. */
export const staffTexts = {
  en: {
    clients: "Clients",
    searchLabel: "Id, or part of the name",
    search: "Search",
    next: "Next clients",
    noClients: "There are no clients yet.",
    noHit: "No client was found. An id must be exact; of a name, a part is enough.",
    firstOnly: "Names were searched for among the first {count} clients only, the id among all.",
    outdated:
      "Nothing was done: what you saw has changed, or what you typed is wrong. This is how it is now.",
    disabled: "disabled",
    trusted: "trusted",
    oldSecret: "old secret",
    id: "Id",
    kind: "Kind",
    server: "on a server, with a secret",
    keyServer: "on a server, with a private key",
    native: "an app on a device, without a secret",
    browser: "a script in a web page, without a secret",
    oldUntil: "The old secret works until {time}.",
    redirectUris: "Redirect URIs",
    scopes: "Scopes at {api}",
    all: "all",
    disable: "Disable",
    enable: "Enable",
    isDisabled:
      "This client is disabled: unknown everywhere, and its tokens are refused, within revocationLagSeconds (5, unless you set it). JWTs at APIs in other processes stay valid until they expire.",
    newSecret: "New secret",
    oldWorksOn: "The old secret works for 7 more days, and any older one ends now",
    oldEnds: "The old secret ends now",
    secretOf: "New secret of {name}",
    secretOnce: "Give it to the client now: it is shown only once, and stored nowhere.",
    end: "End everything of this client",
    endAdvice: "All its consents, codes and tokens end for good. The client itself stays.",
    ended: "Everything that this client had has ended.",
    delete: "Delete this client",
    deleteAdvice: "The record and everything the client has end for good. To confirm, type the id {id}.",
  },
};

/** The texts of `staffPages`. Names in braces are places: the page fills them in wherever they stand. */
export type StaffTexts = Readonly<Record<keyof typeof staffTexts.en, string>>;

/** A visit of staff. */
export type StaffVisit = Visit<keyof StaffTexts>;

/** A visit, and what is told at the top of the page, as HTML. */
export interface ToldVisit extends StaffVisit {
  readonly notices: readonly string[];
}

/** What the forms about a client have as `seen`. */
export function seenOf(client: Client, { seen }: StaffVisit): string {
  return seen(ownClient(client));
}

/** A query as an address. It needs no escaping. */
export function addressOf(query: Readonly<Record<string, string>>): string {
  return `?${new URLSearchParams(query).toString()}`;
}

/** A link. `text` is HTML. */
export function linkTo(href: string, text: string): string {
  return `<p><a href="${escapeHtml(href)}">${text}</a></p>`;
}

function isolated(text: string): string {
  return `<bdi>${escapeHtml(text)}</bdi>`;
}

/** Nothing when only one secret works now. */
function oldSecretOf(client: Client, { say, now, language }: StaffVisit): readonly string[] {
  const { secretDigests, oldSecretUntil: end } = client as Partial<ConfidentialClient>;
  if (!Array.isArray(secretDigests) || secretDigests.length < 2) return [];
  // without an end, or a time in other units that no date can be
  if (typeof end !== "number" || !(Math.abs(end) <= 8.64e12)) return [say("oldSecret")];
  const form = { dateStyle: "long", timeStyle: "long", timeZone: "UTC" } as const;
  const time = new Intl.DateTimeFormat(language, form).format(end * 1000);
  return now < end ? [say("oldUntil", { time })] : [];
}

/** A record that the server would refuse may lack any of it. */
function marksOf(client: Client, visit: StaffVisit): readonly string[] {
  const { say } = visit;
  const { disabled, subscriptions } = client as Partial<Client>;
  const trusted = [client, ...Object.values(subscriptions ?? {})].some((each) => each?.trusted === true);
  const marks = [
    disabled === true && say("disabled"),
    trusted && say("trusted"),
    ...oldSecretOf(client, visit),
  ];
  return marks.filter((mark) => typeof mark === "string");
}

function fact(name: string, values: readonly string[]): string {
  return `<dt class="soft">${name}</dt><dd>${values.join("<br>") || "–"}</dd>`;
}

function factsOf(client: Client, visit: StaffVisit): string {
  const { say, apis } = visit;
  const kind = isKeyClient(client) ? "keyServer" : client.confidential ? "server" : client.platform;
  const keys = "jwksUri" in client && client.jwksUri !== undefined ? [isolated(client.jwksUri)] : [];
  const facts = [
    fact(say("id"), [isolated(client.clientId)]),
    fact(say("kind"), [say(kind), ...keys, ...marksOf(client, visit)]),
    fact(say("redirectUris"), client.redirectUris.map(isolated)),
    ...Object.entries(client.subscriptions).map(([apiId, { scopes }]) =>
      fact(say("scopes", { api: apis.get(apiId)?.name ?? apiId }), scopes?.map(isolated) ?? [say("all")]),
    ),
  ];
  return `<dl>${facts.join("")}</dl>`;
}

function formsOf(client: Client, visit: StaffVisit): string {
  const { say } = visit;
  const { clientId: id } = client;
  const start = `<form method="post" action="${addressOf({ client: id })}"><input type="hidden" name="seen" value="${seenOf(client, visit)}">`;
  const form = (does: "disable" | "enable" | "newSecret" | "end" | "delete", inner = ""): string =>
    `${start}${inner}<p class="choices"><button name="do" value="${does}">${say(does)}</button></p></form>`;
  const within = (does: "end" | "delete", inner: string): string =>
    `<details><summary>${say(does)}</summary>${form(does, inner)}</details>`;
  const choices = `<fieldset><legend>${say("newSecret")}</legend><label><input type="radio" name="old" value="works" checked><span>${say("oldWorksOn")}</span></label><label><input type="radio" name="old" value="ends"><span>${say("oldEnds")}</span></label></fieldset>`;
  const typed = `<p>${say("deleteAdvice", { id })}</p><label><span>${say("id")}</span><input type="text" name="id" required autocomplete="off"></label>`;
  const secret = "secretDigests" in client ? form("newSecret", choices) : "";
  const ending = within("end", `<p>${say("endAdvice")}</p>`);
  return `${form(client.disabled ? "enable" : "disable")}${secret}${ending}${within("delete", typed)}`;
}

function contentOf(
  title: string,
  { notices, content }: { notices: readonly string[]; content: string },
): PageContent {
  const told = notices.map((notice) => `<p>${notice}</p>`).join("");
  const warning = told && `<div class="warning" role="status">${told}</div>`;
  return { title, main: `<h1>${title}</h1>${warning}${content}` };
}

/** The page of one client, with links of the host as HTML. */
export function clientPage(client: Client, visit: ToldVisit & { links: string }): PageContent {
  const { say, notices, links } = visit;
  const content = `${factsOf(client, visit)}${links}${formsOf(client, visit)}${linkTo("?", say("clients"))}`;
  const told = client.disabled ? [...notices, say("isDisabled")] : notices;
  return contentOf(isolated(client.name), { notices: told, content });
}

function rowOf(client: Client, visit: StaffVisit): string {
  const { clientId: id, name } = client as { readonly clientId: string; readonly name: unknown };
  const about = [`<code>${isolated(id)}</code>`, ...marksOf(client, visit)].join(" · ");
  return `<li><a href="${addressOf({ client: id })}">${isolated(String(name))}</a><br><small>${about}</small></li>`;
}

/** The page with a list, of those found for `q` or from somewhere on. `last` is the one behind which it goes on. */
export function listPage(
  clients: readonly Client[],
  visit: ToldVisit & { q?: string; last?: string },
): PageContent {
  const { say, query, notices, q, last: after } = visit;
  const isWhole = q === undefined && query.get("after") === undefined;
  const field = `<label><span>${say("searchLabel")}</span><input type="search" name="q" value="${escapeHtml(q ?? "")}"></label>`;
  const search = `<form method="get" action="?" role="search">${field}<p class="choices"><button>${say("search")}</button></p></form>`;
  const list = clients.length > 0 ? `<ul>${clients.map((client) => rowOf(client, visit)).join("")}</ul>` : "";
  const next = after === undefined ? "" : linkTo(addressOf({ after }), say("next"));
  const content = `${search}${list}${next}${isWhole ? "" : linkTo("?", say("clients"))}`;
  const told = clients.length > 0 ? notices : [...notices, say(isWhole ? "noClients" : "noHit")];
  return contentOf(say("clients"), { notices: told, content });
}

/** The page that shows a new secret, once. */
export function secretPage(client: Client, visit: StaffVisit & { secret: string }): PageContent {
  const { say, secret } = visit;
  const { clientId, name } = client;
  const notices = [say("secretOnce"), ...oldSecretOf(client, visit)];
  const content = `<p><code>${secret}</code></p>${linkTo(addressOf({ client: clientId }), isolated(name))}`;
  return contentOf(say("secretOf", { name }), { notices, content });
}
