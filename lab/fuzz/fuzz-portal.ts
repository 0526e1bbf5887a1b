/** A host with the pages of `authmount/portal`: what is stored there, who may change what, and the requests that the fuzz tests begin with. */
import type { AddressInfo } from "node:net";
import express, { type Express, type Request } from "express";
import {
  type Authentication,
  type Authorization,
  type Client,
  type ClientRegistry,
  type ConfidentialClient,
  type Consent,
  generateClientSecret,
  memoryStorage,
  type MemoryStorage,
  type Storage,
} from "../../lib";
import { accountPages, staffPages } from "../../lib/portal";
import { storagePortNames } from "../../lib/storage/port";
import { apis, origin } from "../../__tests__/hosts/apis";
import { testHost } from "../../__tests__/hosts/host";
import {
  authorizationRecord,
  confidentialRecord,
  consentRecord,
  publicRecord,
  secretDigest,
} from "../../__tests__/records/records";
import { chunkedBody, type WireAnswer, valuesOf } from "./fuzz-connection";
import { endOf, type FuzzHost, get, post } from "./fuzz-host";
import { listening } from "./fuzz-listening";
import { type FuzzRequest, marker } from "./fuzz-requests";

/** A part of the name of every client. It must not stand in a page for somebody who may not see clients. */
const named = "Marigold";
const subjects = ["alice", "bob", "staff"];
const year = 31_536_000;
const digests = Array.from({ length: 3 }, () => generateClientSecret().digest);
const [first = "", second = "", third = ""] = digests;
const signInId = "W".repeat(22);
const subscriptions = { orders: {}, reports: {} };

const clients: readonly Client[] = [
  confidentialRecord({ name: `Web ${named} ${marker}`, secretDigests: [first], subscriptions }),
  confidentialRecord({
    clientId: "other",
    name: `Other ${named} & Co ${marker}`,
    secretDigests: [second, third],
    redirectUris: ["https://other.example/callback?a=%3Cx%22%3E&b='"],
    subscriptions,
  }),
  publicRecord("native", { clientId: `odd${marker}`, name: `Odd ${named} '${marker}`, subscriptions }),
  confidentialRecord({ clientId: "house", name: `House ${named}`, trusted: true, subscriptions }),
];

const stranger: Client = {
  ...publicRecord("native", { clientId: "stranger", name: `Stranger ${named} ${marker}`, subscriptions }),
  selfDescription: { by: "registration", digest: "of the fuzz tests" },
};

/** The same each time, so that what the forms have seen stays right. */
async function seeded(now: number): Promise<MemoryStorage> {
  const storage = memoryStorage({ clients });
  const times = { grantedAt: now - 100, expiresAt: now + year };
  const both = ["orders:read", "orders:write"];
  await storage.clientRegistrations.create({ client: stranger, expiresAt: now + year }, { limit: 9, now });
  for (const consent of [
    { scopes: both },
    { scopes: both, contextKey: `org ${marker}` },
    { clientId: "other", apiId: "reports", scopes: ["reports:read", "gone:scope"] },
    { clientId: `odd${marker}` },
    { clientId: "stranger" },
    { clientId: "deleted" },
    { subject: "bob", scopes: both },
  ])
    await storage.consents.save(consentRecord({ ...times, ...consent }), now);
  for (const [number, authorization] of [
    { authorizationId: signInId, signedInFrom: `Browser of alice ${marker}` },
    { clientId: "house" },
    { clientId: "other", apiId: "reports" },
    { subject: "bob", signedInFrom: "Browser of bob" },
  ].entries())
    await storage.authorizations.create(
      authorizationRecord({
        authorizationId: String(number).repeat(22),
        createdAt: now - 100,
        expiresAt: now + year,
        ...authorization,
      }),
      now,
    );
  return storage;
}

/** A record that is there, by what it is about. */
interface Kept {
  readonly subject: string | undefined;
  readonly clientId: string;
  readonly text: string;
  readonly digests: readonly string[];
}

type Records = ReadonlyMap<string, Kept>;

async function recordsOf(storage: Storage, now: number): Promise<Records> {
  const found: object[] = [...(await (storage.clients as ClientRegistry).list({ limit: 100 }))];
  for (const subject of subjects) {
    found.push(...(await storage.consents.list(subject, now)));
    found.push(...(await storage.authorizations.list(subject, { limit: 100 }, now)));
  }
  const kept = (found as Partial<Consent & Authorization & ConfidentialClient>[]).map((one) => {
    const { subject, clientId = "", apiId, contextKey, authorizationId, secretDigests = [] } = one;
    const key = JSON.stringify([subject, clientId, apiId, contextKey, authorizationId]);
    return [key, { subject, clientId, text: JSON.stringify(one), digests: secretDigests }] as const;
  });
  return new Map(kept);
}

/** Storage that begins anew whenever the test says so, and tells what was written. */
interface Fresh {
  readonly storage: Storage;
  readonly now: number;
  readonly writes: string[];
  current(): MemoryStorage;
  restart(): Promise<void>;
}

async function freshStorage(): Promise<Fresh> {
  const now = Math.floor(Date.now() / 1000);
  const writes: string[] = [];
  let current = await seeded(now);
  const ports = storagePortNames.map((port) => {
    const read = (target: object, name: string | symbol): unknown => {
      if (typeof Reflect.get(target, name) !== "function") return Reflect.get(current[port], name);
      return (...args: unknown[]): unknown => {
        if (!/^(?:find|list|is)/.test(String(name))) writes.push(`${port}.${String(name)}`);
        return Reflect.apply(Reflect.get(current[port], name) as () => unknown, current[port], args);
      };
    };
    return [port, new Proxy(current[port], { get: read })];
  });
  return {
    storage: Object.fromEntries(ports) as Storage,
    now,
    writes,
    current: () => current,
    async restart() {
      current = await seeded(now);
      writes.length = 0;
    },
  };
}

/** What a `seen` of a page is about. */
interface Seen {
  readonly page: "apps" | "staff";
  /** Who was shown it. */
  readonly by: string;
  /** Left out: all clients. */
  readonly clientId?: string;
}

type SeenValues = ReadonlyMap<string, Seen>;

/** The last request that has come to the host. */
interface Last {
  readonly req: Request;
  page?: Seen["page"];
  subject?: string;
  change?: boolean;
}

function personOf({ headers: { cookie = "" } }: Request): Authentication {
  const [, subject = ""] = /session=(\w+)/.exec(cookie) ?? [];
  if (subject === "denied") return { kind: "denied" };
  return subjects.includes(subject)
    ? { kind: "authenticated", subject, displayName: `${subject} ${marker}` }
    : { kind: "interaction", url: "/signin" };
}

/** Which parsers of the host are ahead of the pages. */
export const parsers: Readonly<Record<string, (app: Express) => void>> = {
  "without body parsers": () => undefined,
  "behind body parsers": (app) =>
    void app.use(express.urlencoded({ extended: true }), express.json({ strict: false }), express.text()),
};

const known = [...clients, stranger];

/** The client that a part of a page is about. */
function clientIn(part: string): string {
  const shown = known.find(({ name }) => part.includes(name.slice(0, name.indexOf(named) + named.length)));
  return shown?.clientId ?? "deleted";
}

/** What the forms of all pages have as `seen`. */
async function seenOn(read: (path: string, session: string) => Promise<string>): Promise<SeenValues> {
  const all = new Map<string, Seen>();
  const add = (part: string, about: Seen): void => {
    for (const [, seen = ""] of part.matchAll(/name="seen" value="([^"]*)"/g)) all.set(seen, about);
  };
  for (const by of subjects) {
    const [apps = "", footer = ""] = (await read("/apps", by)).split("<footer");
    const parts = apps.split("<section").slice(1);
    for (const part of parts) add(part, { page: "apps", by, clientId: clientIn(part) });
    add(footer, { page: "apps", by });
  }
  for (const { clientId } of clients) {
    const page = await read(`/staff?client=${encodeURIComponent(clientId)}`, "staff");
    add(page, { page: "staff", by: "staff", clientId });
  }
  return all;
}

/** What the words of requests stand for. */
function wordsOf(seen: SeenValues): Readonly<Record<string, string | undefined>> {
  const of = (page: Seen["page"], by: string, clientId?: string): readonly string[] =>
    [...seen].flatMap(([value, about]) =>
      about.page === page && about.by === by && about.clientId === clientId ? value : [],
    );
  return {
    save: of("apps", "alice", "web")[0],
    app: of("apps", "alice", "web").at(-1),
    all: of("apps", "alice")[0],
    bobs: of("apps", "bob", "web").at(-1),
    record: of("staff", "staff", "web")[0],
    other: of("staff", "staff", "other")[0],
  };
}

/** The fields of a form as it was sent; none when it is not a form. */
function fieldsOf(sent: string): URLSearchParams {
  const head = sent.indexOf("\r\n\r\n");
  const body = sent.slice(head + 4);
  const isChunked = /\r\nTransfer-Encoding: chunked/.test(sent.slice(0, head));
  return new URLSearchParams(Buffer.from(isChunked ? chunkedBody(body).body : body, "latin1").toString());
}

function valuesIn({ rawHeaders }: Request, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** Why nothing may be changed by this request; what it may change, otherwise. */
function mayChange(
  sent: string,
  { last, seen }: { last: Last | undefined; seen: SeenValues },
): Seen | string {
  if (last?.req.method !== "POST") return "without a POST";
  const origins = valuesIn(last.req, "origin");
  if (origins.length !== 1 || origins[0] !== origin) return `by a form of ${JSON.stringify(origins)}`;
  if (last.change !== true) return "that person was not told of";
  const [value = "", ...others] = fieldsOf(sent).getAll("seen");
  const about = seen.get(value);
  if (!about || others.length > 0) return "by a form that no page has";
  return about.page === last.page && about.by === last.subject ? about : "by a form of another person";
}

/** The first thing that was changed and is not of what the form was about. */
function strayOf(before: Records, { after, about }: { after: Records; about: Seen }): string | undefined {
  const { page, by, clientId } = about;
  const found = [...new Set([...before.keys(), ...after.keys()])].find((key) => {
    const [was, is] = [before.get(key), after.get(key)];
    if (was?.text === is?.text) return false;
    const { subject, clientId: of } = (was ?? is)!;
    return (page === "apps" && subject !== by) || (clientId !== undefined && of !== clientId);
  });
  return found && `${found} was changed by a form about ${JSON.stringify(about)}`;
}

/** What is wrong with a page, whoever asked for it. */
function wrongPage(answer: WireAnswer, { last, wrote }: { last: Last | undefined; wrote: boolean }) {
  const { body } = answer;
  if (!/html/.test(valuesOf(answer, "content-type")[0] ?? "")) return undefined;
  const policy = valuesOf(answer, "content-security-policy").join(",");
  if (!/frame-ancestors 'none'/.test(policy) || !/default-src 'none'/.test(policy))
    return `the policy ${policy}`;
  if (!valuesOf(answer, "cache-control").join(",").includes("no-store")) return "a page may be stored";
  if (/<script/i.test(body)) return "a page has a script";
  if (/<code>[\w-]{43}<\/code>/.test(body) && !wrote) return "a secret is shown that is not new";
  const isOfStaff = last?.page === "staff";
  if (body.includes(named) && isOfStaff && last.subject !== "staff") return "a stranger sees clients";
  if (body.includes("Browser of alice") && last?.subject !== "alice") return "a stranger sees sign-ins";
  return undefined;
}

const mayManage = ({ subject }: { readonly subject: string }): boolean => subject === "staff";

/** Such a host, and the kinds of changes that `onChange` was told. */
export interface PortalFuzzHost extends FuzzHost {
  readonly changes: readonly string[];
}

/** A host with `accountPages` at `/apps` and `staffPages` at `/staff`. */
export async function portalHost(way = "without body parsers"): Promise<PortalFuzzHost> {
  const fresh = await freshStorage();
  const { storage, now, writes } = fresh;
  const host = testHost({ storage, before: (app) => void app.disable("x-powered-by") });
  const { app, auth } = host;
  const changes: string[] = [];
  let last: Last | undefined;
  const options = {
    auth,
    options: { baseUrl: `${origin}/login`, apis, storage },
    onChange: ({ kind }: { readonly kind: string }) => void changes.push(kind),
  };
  const person = (page: Seen["page"]) => (question: { readonly req: Request; readonly change: boolean }) => {
    const answer = personOf(question.req);
    if (last) Object.assign(last, { page, change: question.change, ...("subject" in answer && answer) });
    return answer;
  };
  parsers[way]?.(app);
  app.use((req, _res, next) => {
    last = { req };
    next();
  });
  app.use("/apps", accountPages({ ...options, person: person("apps") }));
  app.use("/staff", staffPages({ ...options, person: person("staff"), mayManage }));
  endOf(app);
  const listened = await listening(app);
  const { port } = listened.server.address() as AddressInfo;
  const read = async (path: string, session: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { Cookie: `session=${session}` } })).text();
  const seen = await seenOn(read);
  const words = wordsOf(seen);
  const before = await recordsOf(fresh.current(), now);
  return {
    ...listened,
    host,
    changes,
    secrets: [...digests, secretDigest],
    fill: (text) => text.replaceAll(/~([a-z]+)~/g, (whole, word: string) => words[word] ?? whole),
    async offenceOf(sent, answer) {
      const [asked, wrote] = [last, writes.length > 0];
      last = undefined;
      const offence = wrongPage(answer, { last: asked, wrote });
      if (!wrote) return offence;
      const after = await recordsOf(fresh.current(), now);
      const what = writes.join(", ");
      await fresh.restart();
      const about = mayChange(sent, { last: asked, seen });
      if (typeof about === "string") return `${what} ${about}`;
      const told = [...after.values()].some(({ digests: of }) =>
        of.some((each) => answer.body.includes(each)),
      );
      return offence ?? (told ? "a digest is shown" : strayOf(before, { after, about }));
    },
  };
}

type Header = FuzzRequest["headers"][number];

const good: Header = ["Origin", origin];
const wrongOrigins: readonly (readonly Header[])[] = [
  [],
  [["Origin", "null"]],
  [["Origin", "https://evil.example"]],
  [["Origin", "http://host.example"]],
  [["Origin", "https://HOST.example"]],
  [["Origin", "https://host.example:443"]],
  [["Origin", "https://sub.host.example"]],
  [good, ["Origin", "https://evil.example"]],
  [["Referer", `${origin}/apps`]],
];
const session = (name: string): Header => ["Cookie", `session=${name}`];

const ofApps: readonly Readonly<Record<string, string>>[] = [
  { seen: "~save~", do: "save", scope_0: "on" },
  { seen: "~save~", do: "save" },
  { seen: "~app~", do: "remove" },
  { seen: "~app~", end: signInId },
  { seen: "~all~", do: "remove-all" },
];
const wrongSeen = ["~bobs~", "~record~", "", "x".repeat(43)];
const ofStaff: readonly Readonly<Record<string, string>>[] = [
  { seen: "~record~", do: "disable" },
  { seen: "~record~", do: "enable" },
  { seen: "~record~", do: "newSecret", old: "works" },
  { seen: "~record~", do: "newSecret", old: "ends" },
  { seen: "~record~", do: "end" },
  { seen: "~record~", do: "delete", id: "web" },
];

/** A form of staff about the client `web`. */
function staffPost(fields: Readonly<Record<string, string>>, headers: FuzzRequest["headers"]): FuzzRequest {
  return { ...post("/staff", fields, headers), query: [["client", "web"]] };
}

/** The forms that change something, each of them. */
export const goodForms: readonly FuzzRequest[] = [
  ...ofApps.map((fields) => post("/apps", fields, [session("alice"), good])),
  ...ofStaff.map((fields) => staffPost(fields, [session("staff"), good])),
];

const visits = [
  {},
  { client: "web" },
  { client: `odd${marker}` },
  { q: `gold ${marker}` },
  { after: "other" },
];

/** Good requests, and some that must change nothing, by what they are for. */
export const portalRequests: Readonly<Record<string, readonly FuzzRequest[]>> = {
  "the page of apps": ofApps.flatMap((fields) => [
    post("/apps", fields, [session("alice"), good]),
    ...wrongOrigins.map((headers) => post("/apps", fields, [session("alice"), ...headers])),
    ...wrongSeen.map((seen) => post("/apps", { ...fields, seen }, [session("alice"), good])),
    ...["bob", "staff", "denied", "nobody"].map((name) => post("/apps", fields, [session(name), good])),
    post("/apps", { ...fields, seen: "~bobs~" }, [session("bob"), good]),
  ]),
  "the pages for staff": ofStaff.flatMap((fields) => [
    staffPost(fields, [session("staff"), good]),
    ...wrongOrigins.map((headers) => staffPost(fields, [session("staff"), ...headers])),
    ...[...wrongSeen, "~other~"].map((seen) => staffPost({ ...fields, seen }, [session("staff"), good])),
    ...["alice", "denied", "nobody"].map((name) => staffPost(fields, [session(name), good])),
  ]),
  "both by visits": [
    ...[...subjects, "denied", "nobody"].map((name) => get("/apps", { a: "1" }, [session(name)])),
    ...visits.flatMap((query) => ["staff", "alice"].map((name) => get("/staff", query, [session(name)]))),
    { ...staffPost({ seen: "~record~", do: "end" }, [session("staff"), good]), method: "DELETE" },
    { ...get("/apps", {}, [session("alice"), good]), method: "PUT" },
  ],
};
