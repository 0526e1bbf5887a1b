/** Hosts in processes of their own, which share one store, keys and secrets. */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { generateClientSecret, generateSigningKey, type ParkedRequest, type UsedAssertion } from "../../lib";
import { encode, type Fields } from "../browser/browser";
import { buildOnce } from "./build-once";
import { mariadb, startMariadb } from "./mariadb-server";
import { postgres, startPostgres } from "./postgres-server";
import { redis, startRedis } from "./redis-server";
import { freePort } from "./server-process";
import { drivers } from "./sqlite-files";

const repository = path.resolve(__dirname, "../..");

export interface StoreServer {
  /** By the name that the host takes it by. */
  readonly postgresUrl?: string;
  readonly mysqlUrl?: string;
  readonly redisUrl?: string;
  readonly sqliteFile?: string;
  close(): Promise<void>;
}

export interface Engine {
  readonly name: string;
  readonly found: boolean;
  /** How many rounds a race takes in its long form. */
  readonly longRounds: number;
  start(): Promise<StoreServer>;
}

/** Those that `examples/cluster` can use: database servers. */
export const serverEngines: readonly Engine[] = [
  {
    ...postgres,
    longRounds: 10_000,
    async start() {
      const server = await startPostgres();
      return { postgresUrl: server.url, close: () => server.close() };
    },
  },
  {
    ...redis,
    longRounds: 10_000,
    async start() {
      // only processes of the host are killed here: what the server had on disk does not matter
      const server = await startRedis(["--appendfsync", "no"]);
      return { redisUrl: server.url, close: () => server.close() };
    },
  },
];

const mysql: Engine = {
  ...mariadb,
  longRounds: 1_000,
  async start() {
    const server = await startMariadb();
    return { mysqlUrl: server.url, close: () => server.close() };
  },
};

/** A file, which each process opens by a driver that it finds itself. */
const sqlite: Engine = {
  name: "SQLite",
  found: drivers.length > 0,
  // there is one writer at a time, and each transaction of it waits for the disk
  longRounds: 1_000,
  async start() {
    const folder = await mkdtemp(path.join(tmpdir(), "authmount-sqlite-"));
    return {
      sqliteFile: path.join(folder, "authmount.sqlite"),
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

/** All that several processes can share. */
export const engines: readonly Engine[] = [...serverEngines, mysql, sqlite];

export interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  /** The JSON object of the body; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Question {
  readonly path: string;
  readonly accessToken?: string;
  /** GET without a form, POST with one. */
  readonly form?: Fields;
}

export interface HostProcess {
  /** Rejects with the failure of the connection when there is no answer. */
  send(question: Question): Promise<Answer>;
  /** Starts it again on the same port, until it serves. */
  restart(): Promise<void>;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
  /** Ends it for good: `restart` fails from now on, whoever still calls it. */
  close(): Promise<void>;
}

export interface HostProcesses {
  readonly processes: readonly HostProcess[];
  /** What the hosts have printed of their failures. */
  readonly failures: readonly string[];
  /** The processes and the store, whatever state they are in. */
  close(): Promise<void>;
}

const { secret, digest } = generateClientSecret();
const redirectUri = "https://shop.example/callback";

/** Nobody is asked, so one GET gives a code. */
const client = {
  clientId: "shop",
  name: "Shop",
  confidential: true,
  trusted: true,
  secretDigests: [digest],
  redirectUris: [redirectUri],
  subscriptions: { orders: {}, reports: {} },
};

export type ApiId = "orders" | "reports";

const issuerPath = (api: ApiId): string => `/login/auth/password/api/${api}`;
const credentials = { client_id: "shop", client_secret: secret };

/** A client, and the API at which it asks. */
export interface ClientAt {
  readonly clientId: string;
  readonly apiId: ApiId;
  /** What it asks people for, with spaces. Left out: `read`. */
  readonly scope?: string;
}

/** What a host ends: each function of the server that ends something of one client or person, all of it. */
export const endNames = [
  "auth.consents.revoke",
  "auth.authorizations.revoke",
  "auth.subjects.revoke",
  "auth.subjects.revoke with consents",
  "auth.subjects.erase",
  "auth.clients.revoke",
] as const;

/** The name of one of them. */
export type EndName = (typeof endNames)[number];

/** The functions of the server that end a part, and more than one client's. */
type OtherEndName = "auth.consents.narrow" | "auth.apis.revoke";

function toToken({ clientId, apiId }: ClientAt, fields: Fields): Question {
  const form = { client_id: clientId, client_secret: secret, ...fields };
  return { path: `${issuerPath(apiId)}/token`, form };
}

/** The questions of a client, for `send`. */
export const ask = {
  /** A visit of a new person. */
  code: (api: ApiId): Question => {
    const fields = { client_id: "shop", response_type: "code", redirect_uri: redirectUri, scope: "read" };
    // a person has at most 100 living authorizations for a client at an API: the oldest would end
    const query = encode({ ...fields, login_hint: `person-${randomUUID()}` });
    return { path: `${issuerPath(api)}/authorize?${query}` };
  },
  /** A request of the client, pushed. */
  push: (): Question => {
    const fields = { response_type: "code", redirect_uri: redirectUri, scope: "read" };
    return { path: `${issuerPath("orders")}/par`, form: { ...credentials, ...fields } };
  },
  /** A visit of a person by it. */
  pushedCode: (requestUri: string): Question => {
    const query = encode({ client_id: "shop", request_uri: requestUri });
    return { path: `${issuerPath("orders")}/authorize?${query}` };
  },
  tokens: (api: ApiId, code: string): Question => ({
    path: `${issuerPath(api)}/token`,
    form: { ...credentials, grant_type: "authorization_code", code },
  }),
  refresh: (api: ApiId, refreshToken: string): Question => ({
    path: `${issuerPath(api)}/token`,
    form: { ...credentials, grant_type: "refresh_token", refresh_token: refreshToken },
  }),
  call: (api: ApiId, accessToken: string): Question => ({ path: `/${api}`, accessToken }),
  /** A silent visit of this client, while this person is at the browser. */
  silentCode: ({ clientId, apiId, scope = "read" }: ClientAt, subject: string): Question => {
    const fields = { client_id: clientId, response_type: "code", redirect_uri: redirectUri, scope };
    const query = encode({ ...fields, prompt: "none", login_hint: subject });
    return { path: `${issuerPath(apiId)}/authorize?${query}` };
  },
  tokensOf: (at: ClientAt, code: string): Question => toToken(at, { grant_type: "authorization_code", code }),
  refreshOf: (at: ClientAt, refreshToken: string): Question =>
    toToken(at, { grant_type: "refresh_token", refresh_token: refreshToken }),
  revoke: (api: ApiId, token: string): Question => ({
    path: `${issuerPath(api)}/revoke`,
    form: { ...credentials, token },
  }),
  ownTokens: (at: ClientAt): Question => toToken(at, { grant_type: "client_credentials", scope: "read" }),
  /** The client `shop` asks about the token of another one. */
  introspect: (api: ApiId, token: string): Question => ({
    path: `${issuerPath(api)}/introspect`,
    form: { ...credentials, token },
  }),
  /** The person's consent, as if they had given it on the page. */
  allow: (at: ClientAt, subject: string): Question => ({
    path: `/people/${subject}/allow`,
    form: { scope: "read", ...at },
  }),
  end: (name: EndName | OtherEndName, target: ClientAt & { readonly subject: string }): Question => ({
    path: `/ends/${encodeURIComponent(name)}`,
    form: { ...target },
  }),
  register: (
    clientId: string,
    { apiIds = "orders reports", trusted = false }: { apiIds?: string; trusted?: boolean } = {},
  ): Question => ({ path: `/clients/${clientId}`, form: { apiIds, trusted: String(trusted) } }),
  /** What client authentication asks once the signature of an assertion is good. */
  useAssertion: ({ expiresAt, ...assertion }: UsedAssertion): Question => ({
    path: "/assertions",
    form: { digest: assertion.digest, expiresAt: String(expiresAt) },
  }),
  /** What the device authorization endpoint asks for a client that it knows. */
  park: ({ key, owner, expiresAt }: ParkedRequest): Question => ({
    path: "/requests",
    form: { key, owner, expiresAt: String(expiresAt) },
  }),
  /** What a poll of the device asks. */
  parked: (key: string): Question => ({ path: `/requests/${key}` }),
  /** What a person's answer asks. */
  close: (key: string, answer: { readonly as: string; readonly by: string }): Question => ({
    path: `/requests/${key}`,
    form: { ...answer },
  }),
  delete: (clientId: string): Question => ({ path: `/clients/${clientId}/delete`, form: {} }),
};

function exchange(target: { port: number; agent: Agent }, question: Question): Promise<Answer> {
  const { path: where, form, accessToken } = question;
  const body = form && encode(form);
  const headers = {
    ...(accessToken !== undefined && { Authorization: `Bearer ${accessToken}` }),
    ...(body !== undefined && {
      "Content-Type": "application/x-www-form-urlencoded",
      "Content-Length": Buffer.byteLength(body),
    }),
  };
  return new Promise((resolve, reject) => {
    const method = form ? "POST" : "GET";
    const outgoing = request({ ...target, host: "127.0.0.1", path: where, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { headers: received, statusCode: status = 0 } = response;
        const read = (): Answer["body"] => JSON.parse(text) as Answer["body"];
        const isJson = received["content-type"]?.startsWith("application/json") === true;
        resolve({ status, location: received.location, body: isJson ? read() : {} });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function startProcess(settings: { readonly port: number }, failures: string[]): Promise<HostProcess> {
  const agent = new Agent({ keepAlive: true });
  const target = { port: settings.port, agent };
  let child: ChildProcess;
  let closed = false;

  async function restart(): Promise<void> {
    if (closed) throw new Error("the hosts are closed");
    const file = path.join(__dirname, "cluster-host.cjs");
    child = fork(file, { cwd: repository, execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    child.stderr?.on("data", (chunk: Buffer) => failures.push(chunk.toString()));
    const ended = new AbortController();
    const stop = (): void => ended.abort(new Error(`the process has ended: ${failures.join("")}`));
    child.once("exit", stop);
    const serves = once(child, "message", { signal: ended.signal });
    child.send(settings);
    await serves;
    child.off("exit", stop);
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async function close(): Promise<void> {
    closed = true;
    await kill();
    agent.destroy();
  }

  try {
    await restart();
  } catch (error) {
    await close();
    throw error;
  }
  return { send: (question) => exchange(target, question), restart, kill, close };
}

/** What may differ between tests. */
export interface HostSettings {
  readonly revocationLagSeconds?: number;
  readonly refreshRetrySeconds?: number;
}

/** Starts the store of this engine, and so many hosts over it at the same moment. */
export async function startHosts(
  engine: Pick<Engine, "start">,
  count: number,
  settings: HostSettings = {},
): Promise<HostProcesses> {
  buildOnce();
  const signedOutFolder = await mkdtemp(path.join(tmpdir(), "authmount-signed-out-"));
  const store = await engine.start();
  const failures: string[] = [];
  const shared = {
    postgresUrl: store.postgresUrl,
    mysqlUrl: store.mysqlUrl,
    redisUrl: store.redisUrl,
    sqliteFile: store.sqliteFile,
    baseUrl: "http://localhost:4000/login",
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    client,
    signedOutFolder,
    revocationLagSeconds: 0,
    refreshRetrySeconds: 0,
    ...settings,
  };
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  const started = await Promise.allSettled(
    [...ports].map((port) => startProcess({ ...shared, port }, failures)),
  );
  const processes = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  async function close(): Promise<void> {
    await Promise.all(processes.map((each) => each.close()));
    await store.close();
    await rm(signedOutFolder, { recursive: true, force: true });
  }
  if (processes.length < count) {
    await close();
    throw new Error(`a host does not start: ${failures.join("")}`);
  }
  return { processes, failures, close };
}

/** The code of the redirect. */
export function codeOf({ status, location, body }: Answer): string {
  const code = new URL(location ?? "none:").searchParams.get("code");
  if (code === null) throw new Error(`no code: ${status} ${location} ${JSON.stringify(body)}`);
  return code;
}

export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

export function tokensOf({ status, body }: Answer): TokenPair {
  const { access_token: accessToken, refresh_token: refreshToken } = body;
  if (status !== 200 || typeof accessToken !== "string" || typeof refreshToken !== "string") {
    throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  }
  return { accessToken, refreshToken };
}

/** The long form of a test, and its short one. */
export function lengthOf<T>({ short, long }: { readonly short: T; readonly long: T }): T {
  return process.env["AUTHMOUNT_LONG"] === "1" ? long : short;
}
