/** A page with one button, made of the shared parts of `authmount/portal`, in a host of its own. */
import express, { type Express, type Router } from "express";
import request, { type Response } from "supertest";
import type { Authentication } from "../../lib";
import type { PortalOptions, PortalPage } from "../../lib/portal";
import { type FormOutcome, type PortalPages, portalRouter } from "../../lib/portal/portal";
import { encode, type Fields, formFields } from "../browser/browser";
import { origin } from "../hosts/apis";
import { bob, signedIn, type TestHost, testHost } from "../hosts/host";

type Texts = { readonly title: string };
export type CounterOptions = Partial<PortalOptions<Texts, number>>;

/** What a button does that is not pressed for its count. */
export type Pressed = (value: string) => FormOutcome<number>;

export interface CounterPages extends PortalPages<"title", number> {
  count: number;
}

export function counterPages(pressed: Pressed = () => ({ kind: "outdated" })): CounterPages {
  const pages: CounterPages = {
    count: 0,
    by: "counterPages",
    texts: { en: { title: "Counter of {name}" }, de: { title: "Zähler von {name}" } },
    async show({ say, displayName: name, isOutdated, seen }) {
      const { count } = pages;
      const title = say("title", { name });
      const hidden = `<input type="hidden" name="seen" value="${seen(count)}">`;
      const main = `<h1>${title}</h1><p>${count}${isOutdated ? " outdated" : ""}</p><form method="post">${hidden}<button>Count</button></form>`;
      return { title, main };
    },
    async change({ seen }, form) {
      const press = form.get("press");
      if (press !== undefined) return pressed(press);
      if (form.get("seen") !== seen(pages.count)) return { kind: "outdated" };
      pages.count += 1;
      return { kind: "done", change: pages.count };
    },
  };
  return pages;
}

/** What is sent with a form, and where. */
export interface Sent {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A host with one page of the portal, and what a browser does with it. */
export interface PortalHost {
  readonly app: Express;
  readonly host: TestHost;
  /** Who is at the browser. */
  person: (question: { readonly change: boolean }) => Authentication | Promise<Authentication>;
  /** What the host's error handler was given. */
  readonly failures: unknown[];
  get(sent?: Sent): Promise<Response>;
  /** Sends the form of a page, with other fields in the place of its own. */
  send(fields: Fields, sent?: Sent & { readonly page?: Response }): Promise<Response>;
}

export const people = { alice: signedIn, bob } as const;

function headersOf(headers: Sent["headers"] = {}): Record<string, string> {
  const all = { Accept: "text/html", ...headers };
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

/** Mounts pages at `/apps`, with what a test wants ahead of them. */
export function portalHost(
  pagesFor: (host: PortalHost) => Router,
  {
    before,
    app = express(),
    host = testHost(),
  }: { before?: (app: Express) => void; app?: Express; host?: TestHost } = {},
): PortalHost {
  const made: PortalHost = {
    app,
    host,
    person: () => signedIn,
    failures: [],
    get: ({ path = "/apps", headers } = {}) => request(app).get(path).set(headersOf(headers)),
    send(fields, { path = "/apps", headers, page } = {}) {
      const body = encode({ ...(page && formFields(page.text)), ...fields });
      return request(app)
        .post(path)
        .set(headersOf({ Origin: origin, ...headers }))
        .type("form")
        .send(body);
    },
  };
  before?.(app);
  app.use("/apps", pagesFor(made));
  app.use((error: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
    made.failures.push(error);
    res.status(500).send("the host's own error page");
  });
  return made;
}

/** The options of pages, but for what is different for each kind. */
export function basicOptions(made: Pick<PortalHost, "host" | "person">) {
  const { host } = made;
  return {
    auth: host.auth,
    options: { baseUrl: `${origin}/login`, apis: {}, storage: host.storage },
    person: (question: { readonly change: boolean }) => made.person(question),
  };
}

/** For `render`: the page without a frame. */
export function unframed({ main }: PortalPage): string {
  return main;
}

/** What a page says, without its markup. */
export function wordsIn({ text }: Pick<Response, "text">): string {
  return text
    .replaceAll(/<[^>]*>|\s+/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
}

/** A host with the counter. */
export function counterHost(
  options: CounterOptions = {},
  { pages = counterPages(), ...about }: Parameters<typeof portalHost>[1] & { pages?: CounterPages } = {},
): PortalHost {
  return portalHost((made) => {
    const given = { ...basicOptions(made), ...options };
    return portalRouter<"title", number>(given, { pages, clock: () => 1_800_000_000 });
  }, about);
}
