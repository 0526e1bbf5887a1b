/** Visits that wait for an answer of a person, on a page of the host or on a built-in one. */
import type { Response } from "supertest";
import { origin, type Pair, pairPath } from "../hosts/apis";
import { authorize, type CodeRequest } from "./authorize";
import type { Browser } from "./browser";
import { signedOut, type TestHost } from "../hosts/host";

/** What the name of a sealed cookie begins with, over https. */
export const cookiePrefix = "__Host-authmount.";

/** Where the browser comes back to from a page of the host. */
export function resumePath(id: string, pair: Pair = {}): string {
  return `${pairPath(pair)}/authorize/resume?interaction=${id}`;
}

/** The interaction that a redirect to a page of the host names. */
export function interactionOf(response: Response): string {
  const { searchParams } = new URL(String(response.headers["location"]), origin);
  const id = searchParams.get("interaction");
  if (id === null) throw new Error(`no interaction: ${response.status} ${response.text}`);
  return id;
}

/** Somebody before the sign-in page. */
export interface Visit {
  readonly host: TestHost;
  readonly browser: Browser;
  readonly first: Response;
  readonly id: string;
}

/** A visit of somebody who has to sign in. */
export async function visit(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<Visit> {
  host.session = signedOut;
  const browser = asked.browser ?? host.browser();
  const first = await authorize(browser, { client: "web", ...asked });
  return { host, browser, first, id: interactionOf(first) };
}

/** Signs in on the host's page and goes on to what follows. */
export async function signIn(
  { browser, id }: Pick<Visit, "browser" | "id">,
  subject = "alice",
): Promise<Response> {
  return browser.follow(await browser.post("/signin", { interaction: id, subject }));
}
