/** What a protected route answers (RFC 6750 §3), and tokens to ask it with. */
import { memoryStorage } from "../../lib";
import type { Pair } from "../hosts/apis";
import { ownToken } from "./client-requests";
import { type ClientName, clients } from "../hosts/clients";
import type { TestHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";

/** The API of each format of access tokens. */
export const formats = [
  ["JWT", { api: "orders" }],
  ["opaque", { api: "reports" }],
] as const;

/** The challenge to a request without a token. */
export function bareChallenge(api = "orders"): string {
  const metadata = `https://api.example/.well-known/oauth-protected-resource/${api}`;
  return `Bearer realm="https://api.example/${api}", resource_metadata="${metadata}"`;
}

const descriptions = {
  invalid_request: "The request's access token is malformed.",
  invalid_token: "The access token is invalid, expired or revoked.",
  insufficient_scope: "The access token lacks a scope.",
};

const statuses = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 };

/** What is compared of an answer. */
export interface BearerAnswer {
  readonly status: number;
  readonly challenge: unknown;
  readonly body: unknown;
}

/** An answer, taken apart. */
export function bearerAnswerOf(response: {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}): BearerAnswer {
  const { status, headers, text } = response;
  return { status, challenge: headers["www-authenticate"], body: JSON.parse(text) as unknown };
}

/** The whole answer to a request with a token that will not do. */
export function refusedByBearer(
  error: keyof typeof statuses,
  { api = "orders", scope }: { api?: string; scope?: string } = {},
) {
  const error_description = descriptions[error];
  const challenge = `${bareChallenge(api)}, error="${error}", error_description="${error_description}"`;
  return {
    status: statuses[error],
    challenge: scope === undefined ? challenge : `${challenge}, scope="${scope}"`,
    body: { error, error_description },
  };
}

/** The whole answer to a request without a token. */
export function noToken(api = "orders"): BearerAnswer {
  return {
    status: 401,
    challenge: bareChallenge(api),
    body: { error_description: "This request needs an access token." },
  };
}

/** An access token for Alice. */
export async function accessTokenOf(
  host: TestHost,
  { client = "web", pair = {} }: { client?: ClientName; pair?: Pair } = {},
): Promise<string> {
  return (await obtainTokens(host, { client, pair })).access_token;
}

/** An access token of the client's own, with the scope to read. */
export async function ownAccessToken(
  host: TestHost,
  { client = "machine", pair = {} }: { client?: ClientName; pair?: Pair },
) {
  const scope = `${pair.api ?? "orders"}:read`;
  const response = await ownToken(host, { client, pair, scope });
  return (response.body as { access_token: string }).access_token;
}

/** Storage that keeps the names of the calls it gets, and fails while `failure` is set. */
export function watchedStorage() {
  const watch: { calls: string[]; failure: Error | undefined } = { calls: [], failure: undefined };
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, call) => {
    watch.calls.push(name);
    if (watch.failure) throw watch.failure;
    return call();
  });
  return { storage, watch };
}
