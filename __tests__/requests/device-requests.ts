/** A host where devices ask, what a device does there, and what a person does at another screen. RFC 8628. */
import request, { type Response } from "supertest";
import type { Client } from "../../lib";
import { type Browser, encode, type Fields } from "../browser/browser";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";

/** The grant of devices. */
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

const named = {
  grantTypes: ["authorization_code", "refresh_token", "client_credentials", deviceGrant],
} as const;
const everywhere = { orders: named, reports: named, files: named };

/** Clients that may ask as devices: `web`, `other` and `native`. `spa` names the grant, and its kind may not have it. */
export const deviceClients = {
  ...clients,
  web: { ...clients.web, subscriptions: everywhere },
  other: { ...clients.other, subscriptions: everywhere },
  native: { ...clients.native, subscriptions: everywhere },
  spa: { ...clients.spa, subscriptions: everywhere },
} as const satisfies Record<string, Client>;

const { orders, reports, files } = apis as Required<typeof apis>;

/** Where devices may ask: at `orders` and `reports`, and not at `files`. */
export const deviceApis = {
  orders: { ...orders, deviceAuthorization: true },
  reports: { ...reports, deviceAuthorization: true },
  files,
} as typeof apis;

/** The test host with these APIs and clients. */
export function deviceHost(options: TestHostOptions = {}): TestHost {
  return testHost({ apis: deviceApis, clients: Object.values(deviceClients), ...options });
}

/** What a device asks for, changed by `fields`. */
export interface DeviceAsking {
  readonly client?: ClientName;
  readonly pair?: Pair;
  readonly fields?: Fields;
  readonly headers?: Record<string, string>;
}

function post(
  host: TestHost,
  path: string,
  { fields, headers = {} }: Pick<DeviceAsking, "fields" | "headers">,
) {
  return request(host.app)
    .post(path)
    .set(headers)
    .type("form")
    .send(encode(fields ?? {}));
}

/** POST device_authorization. */
export async function askForDevice(
  host: TestHost,
  { client = "native", pair, fields, headers }: DeviceAsking = {},
): Promise<Response> {
  const sent = { scope: "orders:read", ...credentials(client), ...fields };
  return post(host, `${pairPath(pair)}/device_authorization`, { fields: sent, ...(headers && { headers }) });
}

/** The answer to a device. */
export interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

/** The codes of a device that has asked. */
export async function deviceCodes(host: TestHost, asked: DeviceAsking = {}): Promise<DeviceCodes> {
  const { status, body } = await askForDevice(host, asked);
  if (status !== 200) throw new Error(`no codes: ${JSON.stringify(body)}`);
  return body as DeviceCodes;
}

/** POST token with the device code. */
export async function poll(
  host: TestHost,
  codes: Pick<DeviceCodes, "device_code">,
  { client = "native", pair, fields, headers }: DeviceAsking = {},
): Promise<Response> {
  const { device_code } = codes;
  const sent = { grant_type: deviceGrant, device_code, ...credentials(client), ...fields };
  return post(host, `${pairPath(pair)}/token`, { fields: sent, ...(headers && { headers }) });
}

/** `tokens`, or the error that the device is told. */
export async function polled(...asked: Parameters<typeof poll>): Promise<string> {
  const { status, body } = await poll(...asked);
  return status === 200 ? "tokens" : (body as { error: string }).error;
}

/** Types the code, and follows to the page behind it: the consent page for a person who is signed in. */
export async function typeCode(
  browser: Browser,
  { user_code }: Pick<DeviceCodes, "user_code">,
): Promise<Response> {
  const answer = await browser.post("/login/device", { user_code });
  return answer.status === 303 ? browser.follow(answer) : answer;
}

/** What a person sees at the end: `allowed`, `denied`, `lost`, or the title of the page. */
export function endOf({ text }: Response): string {
  const title = /<h1[^>]*>([^<]*)/.exec(text)?.[1] ?? "";
  const known: Record<string, string> = {
    "Access allowed": "allowed",
    "Access not allowed": "denied",
    "Please start again": "lost",
  };
  return known[title] ?? title;
}

/** A person types the code, and says yes or no. */
export async function answerDevice(
  browser: Browser,
  codes: Pick<DeviceCodes, "user_code">,
  decision: "approve" | "deny" = "approve",
): Promise<string> {
  return endOf(await browser.answer(await typeCode(browser, codes), decision));
}
