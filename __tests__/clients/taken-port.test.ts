/** Another program has the port of an example: the example must end and say so. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import path from "node:path";
import { buildOnce } from "../servers/build-once";
import { type Engine, serverEngines } from "../servers/cluster-processes";
import { describeWith } from "../servers/server-process";

const repository = path.resolve(__dirname, "../..");

let port: number;
let others: readonly Server[];

const listening = (onPort: number, host: string): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(onPort, host, () => resolve(server));
  });

beforeAll(async () => {
  buildOnce();
  const first = await listening(0, "127.0.0.1");
  port = (first.address() as AddressInfo).port;
  // "localhost" is one of the two addresses, and machines do not agree on which; not every machine has IPv6
  const second = await listening(port, "::1").catch(() => undefined);
  others = second === undefined ? [first] : [first, second];
});
afterAll(() => {
  for (const server of others) server.close();
});

interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs Node until it ends by itself, which takes it a second or two. One that listens after all would go on forever. */
async function runNode(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const settings = { ...process.env, NODE_ENV: "development", PORT: String(port), ...env };
  const child = spawn(process.execPath, args, {
    cwd: repository,
    env: settings,
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.err += chunk.toString()));
  const exitCode = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { exitCode, ...printed };
}

const run = (file: string, env?: Record<string, string>): Promise<Ended> =>
  runNode([path.join("examples", file)], env);

const files = [
  "minimal/server.mjs",
  "own-sign-in/server.js",
  "own-consent/server.js",
  "account-page/server.js",
  "browser-app/server.js",
  "web-app/start.js",
  "backend-for-frontend/start.js",
  "demo/server.js",
];

/** Begins the lines that name an address to open; somebody else would answer there. */
const invitation = /^(?:Open|Sign in|People) /m;

describe("an example whose port is taken", () => {
  it.each(files)("%s ends with a failure that names the port", async (file) => {
    const { exitCode, out, err } = await run(file);
    expect(exitCode).toBe(1);
    expect(err).toContain("EADDRINUSE");
    expect(err).toContain(`:${port}`);
    expect(out).not.toMatch(invitation);
  });
});

function clusterEnds(engine: Engine): void {
  it("ends with a failure that names the port, and starts no worker again and again", async () => {
    const store = await engine.start();
    const { postgresUrl = "", redisUrl = "" } = store;
    const env = { DATABASE_URL: postgresUrl, REDIS_URL: redisUrl, WORKERS: "2" };
    const { exitCode, out, err } = await run("cluster/server.js", env);
    await store.close();
    expect(exitCode).toBe(1);
    expect(err).toContain("EADDRINUSE");
    expect(err).toContain(`:${port}`);
    expect(out).not.toMatch(invitation);
    expect(out.match(/^worker \d+ has ended/gm)).toHaveLength(2);
  });
}

for (const engine of serverEngines) {
  describeWith(engine, { name: `examples/cluster over ${engine.name}`, tests: () => clusterEnds(engine) });
}

function filesIn(folder: string, name: RegExp): string[] {
  return readdirSync(path.join(repository, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => name.test(file))
    .map((file) => path.join(folder, file));
}

/** Each call of `listen` in code that people copy, with the callback that it is given. */
function callsOfListen(): readonly (readonly [string, string])[] {
  const texts = [
    ...filesIn("examples", /\.(?:m?js|md)$/),
    ...filesIn("docs", /\.(?:js|md)$/),
    "README.md",
  ].map((file) => [file, readFileSync(path.join(repository, file), "utf8")] as const);
  return texts.flatMap(([file, text]) =>
    [...text.matchAll(/\.listen\([^]*?\n(?=\S)/g)].map(([call]) => [file, call] as const),
  );
}

describe("a callback of listen in examples, README and docs", () => {
  it.each(["express4", "express"])("that throws its error is right in every version: %s", async (name) => {
    const script = `require("${name}")().listen(${port}, "127.0.0.1", (error) => {
      if (error) throw error;
      console.log("Open it");
    });`;
    const { exitCode, out, err } = await runNode(["--eval", script]);
    expect([exitCode, out]).toEqual([1, ""]);
    expect(err).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}`);
  });

  it("looks at its error first: Express 5 calls it with one, and then nobody else reports it", () => {
    const withCallback = callsOfListen().filter(([, call]) => /^\.listen\([^;]*=>/.test(call));
    expect(withCallback.length).toBeGreaterThan(8);
    const silent = withCallback.filter(
      ([, call]) =>
        !/^\.listen\([^;]*\(error(?:\?: Error)?\) => \{\s*if \(!?error\)/.test(call) &&
        !/^\.listen\([^=]*\)\.once\("listening"/.test(call),
    );
    expect(silent).toEqual([]);
  });
});
