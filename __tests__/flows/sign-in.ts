/** What a sign-in ends with: a redirect to the client `web`, or the page that says it is lost. */
import type { Response } from "supertest";
import { issuer } from "../hosts/apis";
import { redirectParameters } from "../browser/authorize";
import type { Browser } from "../browser/browser";
import type { TestHost } from "../hosts/host";

/** The cookies that an answer sets. */
export function cookieLines(response: Response): readonly string[] {
  return (response.headers["set-cookie"] as unknown as readonly string[] | undefined) ?? [];
}

/** The same browser at another process of the host. */
export function movedTo(host: TestHost, browser: Browser): Browser {
  const moved = host.browser();
  for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
  return moved;
}

/** The error page, which redirects nowhere and ends nothing. */
export function expectLost(response: Response): void {
  expect(response.status).toBe(400);
  expect(response.text).toContain("This sign-in took too long, was already finished");
  expect(response.headers["location"]).toBeUndefined();
  expect(response.headers["set-cookie"]).toBeUndefined();
}

/** What the client is told of an error. */
export function denial(
  error: string,
  { status = 302, description = expect.any(String) as unknown } = {},
): object {
  return { status, error, error_description: description, state: "a state", iss: issuer };
}

/** What the client is told; of any other redirect the address. */
export function answerAtClient(response: Response): object {
  const { status } = response;
  return response.headers["location"]?.startsWith("https://web.example/callback?")
    ? { status, ...redirectParameters(response) }
    : { status, location: response.headers["location"] };
}

/** The parameters of a good answer. */
export const granted = { code: expect.any(String), state: "a state", iss: issuer };
