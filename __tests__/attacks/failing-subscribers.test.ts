// A tool that watches the process throws in what it has subscribed. No request suffers from it: Node rethrows the error outside of the
// request, as an uncaught exception. What the process does then is decided by the host, as for any other one.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { buildOnce } from "../servers/build-once";

beforeAll(buildOnce);

const host = `
const { AsyncLocalStorage } = require("node:async_hooks");
const { subscribe, tracingChannel } = require("node:diagnostics_channel");
const { createServer } = require("node:http");
const { createAuthServer, generateClientSecret, memoryStorage } = require("./dist");
const { secret, digest } = generateClientSecret();
const client = { clientId: "job", name: "Job", confidential: true, secretDigests: [digest], redirectUris: [], subscriptions: { orders: {} } };
function fail() { throw new Error("the tool is broken"); }
async function main() {
  const auth = createAuthServer({
    baseUrl: "https://host.example/login",
    secrets: ["a test secret of at least 32 characters"],
    storage: memoryStorage({ clients: [client] }),
    onEvent() {},
    authMethods: { password: { authenticate: () => ({ kind: "denied" }) } },
    apis: { orders: { audience: "https://host.example/orders", authMethods: ["password"], scopes: { read: "Read" } } },
  });
  const server = createServer(auth.inFrontOf((req, res) => res.end()));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  SUBSCRIBE
  const url = "http://127.0.0.1:" + server.address().port + "/login/auth/password/api/orders/token";
  const body = () => new URLSearchParams({ grant_type: "client_credentials", client_id: "job", client_secret: secret });
  const statuses = [];
  for (let count = 0; count < 2; count += 1) statuses.push((await fetch(url, { method: "POST", body: body() })).status);
  console.log(JSON.stringify(statuses));
  server.close();
  server.closeAllConnections();
}
main();
`;

/** Runs a host with a tool in it. */
function runWith(subscribing: string): {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
} {
  const repository = path.resolve(__dirname, "../..");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["-e", host.replace("SUBSCRIBE", subscribing)],
    { cwd: repository, encoding: "utf8", timeout: 60_000 },
  );
  return { code: status, out: stdout, err: stderr };
}

const catching = `process.on("uncaughtException", ({ message }) => console.error("caught: " + message));`;

describe("a subscriber that throws", () => {
  it.each([
    ["events", `subscribe("authmount:event", fail);`],
    ["the start of requests", `subscribe("tracing:authmount:request:start", fail);`],
    ["the end of requests", `subscribe("tracing:authmount:request:asyncEnd", fail);`],
    [
      "the store of requests",
      `tracingChannel("authmount:request").start.bindStore(new AsyncLocalStorage(), fail);`,
    ],
  ])("at %s breaks no request, and the host hears of the error", (_, subscribing) => {
    const { code, out, err } = runWith(`${catching}\n${subscribing}`);
    expect([code, out, err]).toEqual([
      0,
      "[200,200]\n",
      expect.stringContaining("caught: the tool is broken"),
    ]);
  });

  it("ends a process that handles no uncaught exceptions, as any other one does", () => {
    const { code, out, err } = runWith(`subscribe("authmount:event", fail);`);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("the tool is broken");
  });
});
