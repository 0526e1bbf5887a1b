/** What the authorization endpoint answers: a redirect, or JSON to a program where no redirect URI is proven. */
import type { Response } from "supertest";
import { issuer, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { type CodeRequest, redirectParameters } from "../browser/authorize";
import { type ClientName, clients } from "../hosts/clients";
import type { TestHost } from "../hosts/host";

/** `error_description` in the characters of RFC 6749 §4.1.2.1. */
export const description: unknown = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);

/** A redirect, taken apart; of any other answer the status. */
export function redirectOf(response: Response): object {
  const { status } = response;
  const location: string | undefined = response.headers["location"];
  if (location === undefined) return { status };
  const parameters = redirectParameters(response);
  return { status, uri: location.slice(0, location.indexOf("?")), parameters };
}

/** An error that is sent to the client, of a request with the state `a state`. */
export function refusedByRedirect(
  error: string,
  { client = "web", status = 302 }: { client?: ClientName; status?: number } = {},
): object {
  const parameters = { error, error_description: description, state: "a state", iss: issuer };
  return { status, uri: clients[client].redirectUris[0], parameters };
}

/** What a refusal that may not redirect looks like to a program. */
export async function refusedAsJson(host: TestHost, fields: CodeRequest): Promise<unknown> {
  const { api = "orders" } = fields.pair ?? {};
  const sent = {
    ...authorizationParameters(fields.client),
    scope: api === "reports" ? "reports:read" : "orders:read",
    ...fields.fields,
  };
  const response = await host
    .browser()
    .get(`${pairPath(fields.pair)}/authorize`, sent, { Accept: "application/json" });
  expect(response.headers["location"]).toBeUndefined();
  expect(response.headers["set-cookie"]).toBeUndefined();
  return { status: response.status, ...(response.body as object) };
}

/** The causes that the host was told of. */
export function causes(host: TestHost): readonly unknown[] {
  return host.events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []));
}
