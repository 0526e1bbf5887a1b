/** Visits that end with the question what a client may have, and what came of them. */
import request, { type Response } from "supertest";
import type { ConsentAnswer } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorize, type CodeRequest, redirectParameters } from "./authorize";
import { type Browser, encode, type Fields, formFields } from "./browser";
import type { TestHost, TestHostOptions } from "../hosts/host";
import { watchedHost, type WatchedHost } from "../hosts/watched-host";

/** A request for both scopes of orders. */
export const bothScopes = { scope: "orders:read orders:write" };

/** What the host's consent adapter was asked, and what it answers. */
export function adapter(answer: ConsentAnswer | (() => ConsentAnswer)): {
  readonly consent: NonNullable<TestHostOptions["consent"]>;
  readonly questions: Record<string, unknown>[];
} {
  const questions: Record<string, unknown>[] = [];
  const consent: NonNullable<TestHostOptions["consent"]> = {
    decide({ req, ...question }) {
      questions.push({ ...question, path: req.path });
      return typeof answer === "function" ? answer() : answer;
    },
  };
  return { consent, questions };
}

/** Leads to the host's own consent page. */
export const onOwnPage: ConsentAnswer = { kind: "interaction", url: "/ask" };

/** `asked` for a question, else what the client is told. */
export function outcomeOf(response: Response): unknown {
  const location: string | undefined = response.headers["location"];
  if (response.status === 200 && response.text.includes('name="form_token"')) return "asked";
  if (location === undefined) return response.status;
  if (location.startsWith("/")) return location.replace(/interaction=[\w-]{22}$/, "interaction");
  const { code, error } = redirectParameters(response);
  return code === undefined ? error : "granted";
}

/** The scopes of the last grant that the host heard of. */
export function grantedScopes({ events }: TestHost): readonly string[] | undefined {
  const grant = events.findLast(({ kind }) => kind === "authorization-granted");
  return grant?.kind === "authorization-granted" ? grant.scopes : undefined;
}

/** The scopes of each remembered consent of an end user. */
export async function rememberedScopes(
  { auth }: TestHost,
  subject = "alice",
): Promise<readonly (readonly string[])[]> {
  return (await auth.consents.list(subject)).consents.map(({ scopes }) => scopes);
}

/** What comes of a visit: a question, or what the client is told. */
export async function outcomeOfVisit(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<unknown> {
  return outcomeOf(await authorize(asked.browser ?? host.browser(), { client: "web", ...asked }));
}

/** Asks and says yes to everything, once. */
export async function allow(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<void> {
  const browser = host.browser();
  const page = await authorize(browser, { client: "web", ...asked });
  expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
}

/** Alice, before the built-in page. */
export interface Shown extends WatchedHost {
  readonly browser: Browser;
  readonly page: Response;
}

/** Alice visits and is asked, on the built-in page. */
export async function showPage(): Promise<Shown> {
  const watched = watchedHost();
  const browser = watched.host.browser();
  return { ...watched, browser, page: await authorize(browser, { client: "web" }) };
}

/** A POST with the browser's cookies and these headers alone: no Origin unless it is one of them. */
export function postAnswer(
  { host, browser }: Shown,
  fields: Fields,
  headers: Record<string, string>,
): Promise<Response> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath()}/authorize/consent`)
      .set({ Cookie: cookie, "Content-Type": "application/x-www-form-urlencoded", ...headers })
      .send(encode(fields)),
  );
}

/** The fields of the form, with a yes. */
export function yes(page: Response): Fields {
  return { ...formFields(page.text), decision: "approve" };
}

/** Nothing was granted, and the person at the page can still say yes. */
export async function expectNothingGranted({ host, writes, browser, page }: Shown): Promise<void> {
  expect(writes).toEqual([]);
  expect(host.events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
  expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
}
