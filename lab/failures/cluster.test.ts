import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { buildOnce } from "../../__tests__/servers/build-once";
import { type Engine, serverEngines, type StoreServer } from "../../__tests__/servers/cluster-processes";
import { newWebBrowser, type WebBrowser } from "../../__tests__/servers/example";
import { describeWith, freePort } from "../../__tests__/servers/server-process";

const repository = path.resolve(__dirname, "../..");
const workers = 3;

interface Cluster {
  readonly child: ChildProcess;
  readonly origin: string;
  readonly printed: { out: string; err: string };
  /** All pids of workers that it has printed with this word after them. */
  pids(word: "serves" | "has ended"): readonly number[];
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 2_400; attempt += 1) {
    if (await isSo()) return;
    await delay(25);
  }
  throw new Error(`does not come true: ${isSo.toString()}`);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** `node examples/cluster/server.js`, as its README says, until all workers serve. */
async function startCluster({ postgresUrl, redisUrl }: StoreServer): Promise<Cluster> {
  buildOnce();
  const port = await freePort();
  const store = { DATABASE_URL: postgresUrl ?? "", REDIS_URL: redisUrl ?? "" };
  const settings = { PORT: String(port), WORKERS: String(workers), NODE_ENV: "development" };
  const child = spawn(process.execPath, ["examples/cluster/server.js"], {
    cwd: repository,
    env: { ...process.env, ...store, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.err += chunk.toString()));
  const pids: Cluster["pids"] = (word) =>
    [...printed.out.matchAll(new RegExp(`^worker (\\d+) ${word}`, "gm"))].map(([, pid]) => Number(pid));
  try {
    await until(() => child.exitCode !== null || pids("serves").length === workers);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  if (child.exitCode !== null) throw new Error(`the example has ended: ${printed.out}${printed.err}`);
  return { child, origin: `http://localhost:${port}`, printed, pids };
}

/** What the example has printed for people to use. */
function readPrinted({ printed: { out } }: Cluster) {
  const [, password = "", authorizeUrl = ""] = /Sign in with (\S+) at (\S+)/.exec(out) ?? [];
  const [, credentials = "", tokenUrl = ""] = /-u (\S+) .* (\S+\/token)/.exec(out) ?? [];
  return { password, authorizeUrl, credentials, tokenUrl };
}

async function obtainCode(cluster: Cluster, browser: WebBrowser): Promise<string> {
  const { password, authorizeUrl } = readPrinted(cluster);
  const stopAt = `${cluster.origin}/?`;
  const signIn = await browser.open(authorizeUrl, stopAt);
  const consent = await browser.submit(signIn, { password }, stopAt);
  const { url } = await browser.submit(consent, { decision: "approve" }, stopAt);
  return url.searchParams.get("code") ?? "";
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

async function requestToken(
  cluster: Cluster,
  form: Record<string, string>,
): Promise<{ status: number; body: Partial<Tokens> & { error?: string } }> {
  const { credentials, tokenUrl } = readPrinted(cluster);
  const headers = { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
  const answer = await fetch(tokenUrl, { method: "POST", headers, body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as Partial<Tokens> };
}

const redeem = (cluster: Cluster, code: string) =>
  requestToken(cluster, { grant_type: "authorization_code", code });

const refresh = (cluster: Cluster, { refresh_token = "" }: Partial<Tokens>) =>
  requestToken(cluster, { grant_type: "refresh_token", refresh_token });

/** The pid of the process that has answered, or why none did. */
async function callOrders({ origin }: Cluster, { access_token }: Partial<Tokens>): Promise<number | string> {
  const answer = await fetch(`${origin}/orders`, { headers: { authorization: `Bearer ${access_token}` } });
  if (answer.status !== 200) return `${answer.status}`;
  const { subject, servedBy } = (await answer.json()) as { subject: string; servedBy: number };
  return subject === "alice" ? servedBy : `it is ${subject}`;
}

/** Asks until each of these processes has answered. */
async function untilAllServe(
  cluster: Cluster,
  { tokens, pids }: { tokens: Partial<Tokens>; pids: Set<unknown> },
) {
  const left = new Set(pids);
  await until(async () => left.delete(await callOrders(cluster, tokens)) && left.size === 0);
}

/** A token request whose body is not sent yet, once a worker has it. */
async function beginRefresh(cluster: Cluster): Promise<{ finish(): Promise<number | undefined> }> {
  const { credentials, tokenUrl } = readPrinted(cluster);
  // well formed, so that storage is asked for it
  const token = `${"A".repeat(22)}.${"A".repeat(43)}`;
  const body = `grant_type=refresh_token&refresh_token=${token}`;
  const headers = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Content-Length": body.length,
    Expect: "100-continue",
  };
  const outgoing = request(tokenUrl, { method: "POST", auth: credentials, headers, agent: false });
  const answered = once(outgoing, "response");
  answered.catch(() => undefined); // whoever waits for it is told
  outgoing.flushHeaders();
  await once(outgoing, "continue");
  return {
    async finish() {
      outgoing.end(body);
      const [response] = (await answered) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    },
  };
}

function takesNoConnection({ origin }: Cluster): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), "localhost", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", () => resolve(true));
  });
}

function living(cluster: Cluster): Set<number> {
  const ended = new Set(cluster.pids("has ended"));
  return new Set(cluster.pids("serves").filter((pid) => !ended.has(pid)));
}

/** The next request comes by another connection, so another worker takes it. */
function closeConnections(): void {
  const { fetch: real } = globalThis;
  jest.spyOn(globalThis, "fetch").mockImplementation((input, init = {}) => {
    const headers = { ...(init.headers as Record<string, string>), connection: "close" };
    return real(input, { ...init, headers });
  });
}

function serves(engine: Engine): void {
  let store: StoreServer | undefined;
  let cluster: Cluster;

  beforeAll(async () => {
    store = await engine.start();
    cluster = await startCluster(store);
  });
  beforeEach(closeConnections);
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    const pids = cluster ? [...living(cluster), cluster.child.pid ?? 0] : [];
    for (const pid of pids.filter((each) => each > 0 && isRunning(each))) process.kill(pid, "SIGKILL");
    await store?.close();
  });

  it("leads a person through sign-in and consent to the API, whichever worker is asked", async () => {
    const { status, body: tokens } = await redeem(cluster, await obtainCode(cluster, newWebBrowser()));
    expect(status).toBe(200);
    await untilAllServe(cluster, { tokens, pids: living(cluster) });
    const refreshed = await refresh(cluster, tokens);
    expect(refreshed.status).toBe(200);
    await untilAllServe(cluster, { tokens: refreshed.body, pids: living(cluster) });
  });

  it("knows a person who has signed in, at every worker", async () => {
    const browser = newWebBrowser();
    await obtainCode(cluster, browser);
    const { authorizeUrl } = readPrinted(cluster);
    for (let visit = 0; visit < workers; visit += 1) {
      const { url } = await browser.open(authorizeUrl, `${cluster.origin}/?`);
      expect(url.searchParams.get("code")).toEqual(expect.any(String));
    }
  });

  it("takes no session that it has not signed", async () => {
    const session = `j:${JSON.stringify({ subject: "alice", authTime: Math.floor(Date.now() / 1000) })}`;
    const cookie = `session=${encodeURIComponent(session)}`;
    const { authorizeUrl } = readPrinted(cluster);
    const answer = await fetch(authorizeUrl, { headers: { cookie }, redirect: "manual" });
    expect(answer.headers.get("location")).toMatch(/^\/signin\?|\/signin\?interaction=/);
  });

  it("redeems a code once, though every worker is asked at the same moment (RFC 6749 §4.1.2)", async () => {
    const code = await obtainCode(cluster, newWebBrowser());
    const answers = await Promise.all(Array.from({ length: 12 }, () => redeem(cluster, code)));
    const outcomes = answers.map(({ status, body }) => body.error ?? status);
    expect(outcomes.filter((each) => each === 200)).toHaveLength(1);
    expect(outcomes.filter((each) => each === "invalid_grant")).toHaveLength(11);
  });

  it("goes on without a killed worker, and puts another in its place", async () => {
    const { body: tokens } = await redeem(cluster, await obtainCode(cluster, newWebBrowser()));
    const before = living(cluster);
    const [victim = 0] = before;
    process.kill(victim, "SIGKILL");
    await until(() => cluster.pids("has ended").includes(victim));
    expect(before).toContain(await callOrders(cluster, tokens));
    await until(() => living(cluster).size === workers);
    expect(living(cluster)).not.toEqual(before);
    await untilAllServe(cluster, { tokens, pids: living(cluster) });
    expect((await refresh(cluster, tokens)).status).toBe(200);
  });

  it("ends by SIGTERM with code 0, answers what has come before, and leaves no process behind", async () => {
    const pids = [...living(cluster), cluster.child.pid ?? 0];
    const closed = once(cluster.child, "close");
    const begun = await beginRefresh(cluster);
    cluster.child.kill("SIGTERM");
    await until(() => takesNoConnection(cluster));
    expect(await begun.finish()).toBe(400);
    expect(await closed).toEqual([0, null]);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(cluster.printed.out.match(/^worker \d+ has ended \(0\)$/gm)).toHaveLength(workers);
    expect(cluster.printed.err).toBe("");
  });
}

for (const engine of serverEngines) {
  describeWith(engine, { name: `examples/cluster over ${engine.name}`, tests: () => serves(engine) });
}

it("examples/cluster says what it needs when it is given no storage", async () => {
  buildOnce();
  const env = { ...process.env, DATABASE_URL: "", REDIS_URL: "" };
  const child = spawn(process.execPath, ["examples/cluster/server.js"], { cwd: repository, env });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  expect(await once(child, "close")).toEqual([1, null]);
  expect(err).toContain("Set DATABASE_URL=postgres://… or REDIS_URL=redis://…");
});
