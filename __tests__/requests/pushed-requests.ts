/** A host whose APIs take pushed requests, and what a client does there. RFC 9126. */
import request, { type Response } from "supertest";
import { authorizationParameters } from "../browser/authorization-request";
import { type Browser, encode, type Fields } from "../browser/browser";
import { type ClientName, credentials } from "../hosts/clients";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";

/** What a test may change. */
export interface PushHostOptions extends TestHostOptions {
  readonly pushedRequests?: "optional" | "required";
}

/** The test host, where requests may be pushed at `orders` and `files`, and not at `reports`. */
export function pushHost({ pushedRequests = "optional", ...options }: PushHostOptions = {}): TestHost {
  const { orders, reports, files } = apis as Required<typeof apis>;
  return testHost({
    apis: {
      orders: { ...orders, pushedRequests },
      reports,
      files: { ...files, pushedRequests },
    } as typeof apis,
    ...options,
  });
}

/** A push, changed by `fields`. */
export interface Push {
  readonly client?: ClientName;
  readonly pair?: Pair;
  readonly fields?: Fields;
  readonly headers?: Record<string, string>;
}

/** POST par with a good request and the client's own credentials. */
export async function push(
  host: TestHost,
  { client = "web", pair, fields = {}, headers = {} }: Push = {},
): Promise<Response> {
  const sent = { ...authorizationParameters(client), ...credentials(client), ...fields };
  return request(host.app)
    .post(`${pairPath(pair)}/par`)
    .set(headers)
    .type("form")
    .send(encode(sent));
}

/** The `request_uri` of a good push. */
export async function pushed(host: TestHost, asked: Push = {}): Promise<string> {
  const { status, body } = await push(host, asked);
  if (status !== 201) throw new Error(`not pushed: ${JSON.stringify(body)}`);
  return (body as { request_uri: string }).request_uri;
}

/** GET authorize with a `request_uri`. */
export function visitPushed(
  browser: Browser,
  { uri, client = "web", pair, fields = {} }: { uri: string } & Omit<Push, "headers">,
): Promise<Response> {
  return browser.get(`${pairPath(pair)}/authorize`, { client_id: client, request_uri: uri, ...fields });
}
