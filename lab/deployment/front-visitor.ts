/** People, clients and API calls that come to a deployment through its proxy. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { encode, type Fields, formFields } from "../../__tests__/browser/browser";
import { baseUrl, type Deployment, hostName, redirectUri } from "./deployed";
import type { FrontProxy } from "./front-proxy";

/** What came back through the proxy. */
export interface FrontAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The process that has answered; empty when it was the proxy itself. */
  readonly servedBy: string;
}

/** What is sent to the proxy. */
export interface FrontQuestion {
  readonly path: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly form?: Fields;
}

/** Sends requests to a proxy, by connections that it keeps. */
export interface FrontClient {
  readonly send: (question: FrontQuestion) => Promise<FrontAnswer>;
  /** How many connections it has opened. */
  readonly connections: () => number;
  close(): void;
}

/** Opens connections to the proxy under the name of the host. */
export function frontClient({ port, ca }: Pick<FrontProxy, "port" | "ca">): FrontClient {
  const agent = new Agent({ keepAlive: true, ca, servername: hostName });
  const connections = new Set<unknown>();
  return {
    connections: () => connections.size,
    close: () => agent.destroy(),
    send({ path, method, headers = {}, form }) {
      const body = form && encode(form);
      const sent = {
        Host: hostName,
        ...(body !== undefined && {
          "Content-Type": "application/x-www-form-urlencoded",
          "Content-Length": Buffer.byteLength(body),
        }),
        ...headers,
      };
      const target = { agent, host: "127.0.0.1", port, path, method: method ?? (form ? "POST" : "GET") };
      return new Promise((resolve, reject) => {
        const outgoing = request({ ...target, headers: sent }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const { headers: received, statusCode: status = 0 } = response;
            const servedBy = (received["x-served-by"] as string | undefined) ?? "";
            resolve({ status, headers: received, text: Buffer.concat(chunks).toString(), servedBy });
          });
        });
        outgoing.once("socket", (socket) => connections.add(socket));
        outgoing.on("error", reject);
        outgoing.end(body);
      });
    },
  };
}

/** The path of the issuer. */
export const issuerPath = `${new URL(baseUrl).pathname}/auth/account/api/orders`;

/** Tokens as the token endpoint answers them. */
export interface FrontTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Where `send` comes from: one proxy, or several in turn. */
export type Send = FrontClient["send"];

/** Throws unless the answer has this status. */
export function expectStatus(answer: FrontAnswer, status: number): FrontAnswer {
  if (answer.status === status) return answer;
  const { host, pathname } = new URL(answer.headers.location ?? "none:", baseUrl);
  throw new Error(`${answer.status} instead of ${status}: ${host}${pathname} ${answer.text.slice(0, 300)}`);
}

/** A client's requests. */
export function shopClient({ client }: Pick<Deployment, "client">, send: Send) {
  const headers = {
    Authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`,
  };
  const token = (form: Fields) => send({ path: `${issuerPath}/token`, headers, form });
  const tokens = async (form: Fields): Promise<FrontTokens> =>
    JSON.parse(expectStatus(await token(form), 200).text) as FrontTokens;
  return {
    token,
    redeem: (code: string) => tokens({ grant_type: "authorization_code", code, redirect_uri: redirectUri }),
    refresh: (refresh_token: string) => tokens({ grant_type: "refresh_token", refresh_token }),
    own: () => tokens({ grant_type: "client_credentials", scope: "read" }),
    introspect: async (value: string) => {
      const answer = await send({ path: `${issuerPath}/introspect`, headers, form: { token: value } });
      return JSON.parse(expectStatus(answer, 200).text) as { active: boolean };
    },
    call: (accessToken: string) =>
      send({ path: "/orders", headers: { Authorization: `Bearer ${accessToken}` } }),
  };
}

/** What a person's browser has been through. */
export interface Visit {
  readonly subject: string;
  readonly code: string;
  readonly answers: readonly FrontAnswer[];
  /** The longest `Cookie` header that it has sent. */
  readonly cookieBytes: number;
}

/** A new person who signs in and allows the client; `state` may be as long as a client makes it. */
export async function visit(
  send: Send,
  { state = "s", loginHint }: { state?: string; loginHint?: string } = {},
): Promise<Visit> {
  const subject = `person-${randomUUID()}`;
  const cookies = new Map<string, string>();
  const answers: FrontAnswer[] = [];
  let cookieBytes = 0;
  async function go(path: string, status: number, form?: Fields): Promise<FrontAnswer> {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    cookieBytes = Math.max(cookieBytes, cookie.length);
    const origin = form && { Origin: new URL(baseUrl).origin };
    const headers = { Accept: "text/html", ...origin, ...(cookie !== "" && { Cookie: cookie }) };
    const answer = expectStatus(await send({ path, headers, ...(form && { form }) }), status);
    answers.push(answer);
    for (const line of answer.headers["set-cookie"] ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }
  const next = ({ headers }: FrontAnswer): string => {
    const { pathname, search, origin } = new URL(headers.location ?? "", baseUrl);
    if (origin !== new URL(baseUrl).origin) throw new Error(`leads away: ${headers.location}`);
    return pathname + search;
  };
  const query = encode({
    client_id: "shop",
    response_type: "code",
    redirect_uri: redirectUri,
    scope: "read",
    state,
    login_hint: loginHint,
  });
  const asked = await go(`${issuerPath}/authorize?${query}`, 302);
  const signIn = next(asked);
  await go(signIn, 200);
  const interaction = new URL(signIn, baseUrl).searchParams.get("interaction") ?? "";
  const back = await go(`/signin?${encode({ interaction, as: subject })}`, 303, {});
  const page = await go(next(back), 200);
  const action = /action="([^"]*)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const { pathname, search } = new URL(action, baseUrl);
  const done = await go(pathname + search, 303, { ...formFields(page.text), decision: "approve" });
  const answered = new URL(done.headers.location ?? "");
  const code = answered.searchParams.get("code");
  if (code === null || answered.searchParams.get("state") !== state)
    throw new Error(`no code: ${answered.href}`);
  return { subject, code, answers, cookieBytes };
}
