/** What a victim's browser may be made to send, and the page that it gets. */
import request, { type Response } from "supertest";
import { pairPath } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import { type Browser, encode, type Fields } from "../browser/browser";
import { stopClock } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";

/** Where the consent form goes. */
export const consentPath = `${pairPath()}/authorize/consent`;

/** Where the host's pages send the browser back to. */
export const resumePath = `${pairPath()}/authorize/resume`;

/** What the page says of a form from elsewhere. */
export const notFromHere = "The form was not sent from this site.";

/** What the page says of an interaction that cannot go on. */
export const lost = "This sign-in took too long, was already finished, or the browser does not keep cookies.";

/** A page for the person alone. */
export function expectPage({ status, headers, text }: Response, message: string): void {
  expect(text).toContain(`>${message}</p>`);
  expect(status).toBe(400);
  expect(headers["location"]).toBeUndefined();
}

/** The cookies of a browser, as it sends them. */
export function cookieHeader({ cookies }: Browser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

/** A form with these headers and no others. */
export function postForm(
  host: TestHost,
  { path, fields, headers }: { path: string; fields: Fields | string; headers: Record<string, string> },
): Promise<Response> {
  const body = typeof fields === "string" ? fields : encode(fields);
  return Promise.resolve(request(host.app).post(path).set(headers).type("form").send(body));
}

/** A browser before the consent page. */
export async function openConsent(): Promise<{ host: TestHost; browser: Browser; page: Response }> {
  stopClock();
  const host = testHost();
  const browser = host.browser();
  return { host, browser, page: await authorize(browser, { client: "web" }) };
}
