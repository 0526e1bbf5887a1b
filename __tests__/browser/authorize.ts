/** The authorization request of a browser, and what it is told by redirect. */
import type { Response } from "supertest";
import { type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters } from "./authorization-request";
import type { Browser, Fields } from "./browser";
import type { ClientName } from "../hosts/clients";

/** The parameters that an answer has put on the redirect URI. */
export function redirectParameters(
  response: Pick<Response, "status" | "headers" | "text">,
): Record<string, string> {
  const location: unknown = response.headers["location"];
  if (typeof location !== "string") throw new Error(`no redirect but ${response.status}: ${response.text}`);
  return Object.fromEntries(new URL(location).searchParams);
}

/** Who asks for a code, where and how. */
export interface CodeRequest {
  readonly client: ClientName;
  readonly pair?: Pair;
  readonly fields?: Fields;
  readonly browser?: Browser;
}

const defaultScope = { orders: "orders:read", reports: "reports:read", files: "files:read" };

/** GET authorize with a good request, changed by `fields`. */
export function authorize(
  browser: Browser,
  { client, pair = {}, fields = {} }: { client: ClientName; pair?: Pair; fields?: Fields },
): Promise<Response> {
  const parameters = {
    ...authorizationParameters(client),
    scope: defaultScope[pair.api ?? "orders"],
    ...fields,
  };
  return browser.get(`${pairPath(pair)}/authorize`, parameters);
}
