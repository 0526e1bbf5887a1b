/** docs/deployment.md as it is printed: nginx and Caddy over TLS, in front of two processes of the page's server. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { Agent, createServer, get, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import path from "node:path";
import { connect as connectTls } from "node:tls";
import { codeBelow } from "../../__tests__/sources/doc-block";
import { read } from "../../__tests__/sources/pages-of-docs";
import { deploy, type Deployment, hostName, until } from "./deployed";
import { type FrontProxy, type ProxyKind, proxyKinds } from "./front-proxy";
import { type FrontClient, frontClient, issuerPath, shopClient, visit } from "./front-visitor";
import { postgres } from "../../__tests__/servers/postgres-server";
import { describeWith, freePort, newFolder } from "../../__tests__/servers/server-process";

let deployment: Deployment;
let proxy: FrontProxy;
let front: FrontClient;

function serve({ start }: ProxyKind): void {
  beforeAll(async () => {
    deployment = await deploy();
    const [one, two] = deployment.processes;
    proxy = await start([one.address, two.address]);
    front = frontClient(proxy);
  });
  afterAll(async () => {
    front?.close();
    await proxy?.close();
    await deployment?.close();
  });

  it("leads a person from sign-in and consent to the API, through both processes", async () => {
    const shop = shopClient(deployment, front.send);
    const servedBy = new Set<string>();
    await until(async () => {
      const { subject, code, answers } = await visit(front.send);
      const { refresh_token } = await shop.redeem(code);
      const call = await shop.call((await shop.refresh(refresh_token)).access_token);
      expect(JSON.parse(call.text)).toEqual({ orders: [], for: subject });
      for (const answer of answers) servedBy.add(answer.servedBy);
      return servedBy.size === 2;
    });
  });

  it("passes the cookies of pending requests with 3.5 KB, beside a session of that size", async () => {
    const { cookieBytes, answers } = await visit(front.send, {
      state: randomBytes(1_500).toString("base64url"),
    });
    expect(cookieBytes).toBeGreaterThan(5_500);
    const [asked] = answers;
    expect((asked?.headers["set-cookie"] ?? []).join("").length).toBeGreaterThan(2_000);
    const sizes = {
      Cookie: Array.from({ length: 3 }, (_, each) => `c${each}=${"x".repeat(3_500)}`).join("; "),
    };
    expect((await front.send({ path: "/healthz", headers: sizes })).status).toBe(200);
    expect((await front.send({ path: "/big" })).headers["x-big"]).toHaveLength(7_000);
  });

  it("reads no URL and no issuer from Host and X-Forwarded-* of a caller", async () => {
    const spoofed = {
      "X-Forwarded-For": "203.0.113.9",
      "X-Forwarded-Proto": "http",
      "X-Forwarded-Host": "evil.example",
      "X-Forwarded-Port": "1",
      Forwarded: "for=203.0.113.9;host=evil.example;proto=http",
    };
    const seen = await front.send({ path: "/seen", headers: spoofed });
    expect(JSON.parse(seen.text)).toMatchObject({
      ip: "127.0.0.1",
      forwardedFor: "127.0.0.1",
      protocol: "https",
      secure: true,
    });
    const document = `/.well-known/oauth-authorization-server${issuerPath}`;
    const [plain, withHeaders] = [
      await front.send({ path: document }),
      await front.send({ path: document, headers: spoofed }),
    ];
    expect(JSON.parse(plain.text)).toMatchObject({ issuer: `https://${hostName}${issuerPath}` });
    expect(withHeaders.text).toBe(plain.text);
    const asked = { path: `${issuerPath}/authorize?client_id=shop`, headers: spoofed };
    expect(JSON.stringify(await front.send(asked))).not.toContain("evil");
  });

  it("answers another Host with nothing that names it", async () => {
    const document = `/.well-known/oauth-authorization-server${issuerPath}`;
    const answer = await front.send({ path: document, headers: { Host: "evil.example" } });
    expect(JSON.stringify([answer.headers, answer.text])).not.toContain("evil.example");
  });

  it("keeps the connection of a client for further requests, and speaks HTTP/2", async () => {
    const client = frontClient(proxy);
    for (let count = 0; count < 20; count += 1) await client.send({ path: "/healthz" });
    client.close();
    expect(client.connections()).toBe(1);
    const session = connectHttp2(`https://${hostName}`, {
      ca: proxy.ca,
      servername: hostName,
      createConnection: () =>
        connectTls({
          host: "127.0.0.1",
          port: proxy.port,
          ca: proxy.ca,
          servername: hostName,
          ALPNProtocols: ["h2"],
        }),
    });
    const stream = session.request({ ":path": `${issuerPath}/token`, ":method": "POST" });
    const [headers] = (await once(stream.end("grant_type=none"), "response")) as [IncomingHttpHeaders];
    expect(headers[":status"]).toBe(400);
    stream.resume();
    await once(stream, "end");
    session.close();
  });

  it("takes chunked forms, and refuses huge ones without losing the connection of others", async () => {
    const headers = { "Content-Type": "application/x-www-form-urlencoded", "Transfer-Encoding": "chunked" };
    const chunked = await front.send({ path: `${issuerPath}/token`, method: "POST", headers });
    expect([400, 401]).toContain(chunked.status);
    const huge = { grant_type: "client_credentials", scope: "x".repeat(900_000) };
    // the process answers before it has read all; nginx may be still sending then, and says 502
    const { status } = await front.send({ path: `${issuerPath}/token`, form: huge });
    expect([413, 502]).toContain(status);
    expect((await front.send({ path: "/healthz" })).status).toBe(200);
  });

  it("writes no query string, cookie, code or token into the access log", async () => {
    const shop = shopClient(deployment, front.send);
    const { code } = await visit(front.send, { state: "state-in-no-log", loginHint: "hint-in-no-log" });
    const { access_token, refresh_token } = await shop.redeem(code);
    await shop.call(access_token);
    await front.send({ path: `/seen?code=${code}` });
    await front.send({ path: "/healthz?last=1" });
    await until(
      async () => (await proxy.accessLog()).trimEnd().split("\n").at(-1)?.includes("/healthz") === true,
    );
    const log = await proxy.accessLog();
    expect(log).toContain(`${issuerPath}/authorize`);
    for (const secret of [
      code,
      access_token,
      refresh_token,
      "in-no-log",
      "client_id=",
      "interaction=",
      "last=1",
    ])
      expect(log).not.toContain(secret);
    expect(log).not.toMatch(/authmount|Basic |Bearer |session=/i);
  });

  it("closes no idle connection before the proxy does", async () => {
    const [{ address }] = deployment.processes;
    const [response] = (await once(
      get(`http://127.0.0.1:${address}/healthz`, { agent: new Agent({ keepAlive: true }) }),
      "response",
    )) as [IncomingMessage];
    response.resume();
    const seconds = Number(/timeout=(\d+)/.exec(String(response.headers["keep-alive"]))?.[1]);
    // Caddy: two minutes; nginx: one, and four seconds as printed
    expect(seconds).toBeGreaterThan(120);
    response.destroy();
  });
}

interface FailingUpstream {
  readonly port: number;
  /** The requests that have come, by their first lines. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

/** Takes requests, keeps the connection after a GET, and breaks it instead of answering a POST. */
async function startFailingUpstream(): Promise<FailingUpstream> {
  const requests: string[] = [];
  const server = createServer((req, res) => {
    if (req.url !== "/readyz") requests.push(`${req.method} ${req.url}`);
    if (req.method !== "POST") return void res.end("ok");
    req.resume();
    req.once("end", () => req.socket.destroy());
  });
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function repeats({ start }: ProxyKind): void {
  it("sends no POST a second time when the process breaks the connection: that would be a replay", async () => {
    const upstreams = [await startFailingUpstream(), await startFailingUpstream()] as const;
    const failing = await start([String(upstreams[0].port), String(upstreams[1].port)]);
    const client = frontClient(failing);
    // both on connections that were good before, and on new ones
    for (let round = 1; round <= 6; round += 1) {
      await client.send({ path: `/warm/${round}` });
      const { status } = await client.send({ path: `/token/${round}`, form: { code: "once" } });
      expect(status).toBe(502);
    }
    client.close();
    await failing.close();
    const posts = upstreams.flatMap(({ requests }) => requests.filter((each) => each.startsWith("POST")));
    for (const { close } of upstreams) await close();
    expect(posts.toSorted()).toEqual(Array.from({ length: 6 }, (_, each) => `POST /token/${each + 1}`));
  });

  it("leads people from http to https, and passes nothing on", async () => {
    const upstream = await startFailingUpstream();
    const other = String(await freePort());
    const redirecting = await start([String(upstream.port), other]);
    const asked = get({
      host: "127.0.0.1",
      port: redirecting.httpPort,
      path: "/a?b=c",
      headers: { Host: hostName },
    });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    await redirecting.close();
    await upstream.close();
    expect(response.statusCode).toBe(308);
    expect(new URL(response.headers.location ?? "")).toMatchObject({
      protocol: "https:",
      hostname: hostName,
      search: "?b=c",
    });
    expect(upstream.requests).toEqual([]);
  });

  it("sends a request to the other process while one refuses connections", async () => {
    const upstream = await startFailingUpstream();
    const refusing = await start([String(await freePort()), String(upstream.port)]);
    const client = frontClient(refusing);
    const paths = Array.from({ length: 6 }, (_, each) => `/page/${each}`);
    const statuses: number[] = [];
    for (const each of paths) statuses.push((await client.send({ path: each })).status);
    client.close();
    await refusing.close();
    await upstream.close();
    expect(statuses).toEqual(paths.map(() => 200));
  });
}

describe("other blocks of the page", () => {
  it("names one Unix socket in the upstream, the unit and the loop of restarts", () => {
    const page = read("docs/deployment.md");
    expect(page).toContain("`server unix:/run/app-1/http.sock max_fails=0;`");
    const [unit = ""] = codeBelow("deployment.md", "systemd", "ini");
    expect(unit.replaceAll("%i", "1")).toContain("PORT=/run/app-1/http.sock");
    const [loop = ""] = codeBelow("deployment.md", "Rolling restarts", "sh");
    expect(loop.replaceAll("$process", "1")).toContain("/run/app-1/http.sock");
  });
});

const systemd = { name: "systemd-analyze", found: existsSync("/usr/bin/systemd-analyze") };
describeWith(systemd, {
  name: "the unit for systemd, as printed",
  tests: () => {
    it("is one that systemd takes", async () => {
      const [unit = ""] = codeBelow("deployment.md", "systemd", "ini");
      const folder = await newFolder("systemd");
      const text = unit.replace("/usr/bin/node", process.execPath);
      await writeFile(path.join(folder, "app@1.service"), text);
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", path.join(folder, "app@1.service")]);
      await rm(folder, { recursive: true });
      expect([status, String(stderr)]).toEqual([0, ""]);
    });
  },
});

for (const kind of proxyKinds) {
  const found = kind.found && postgres.found;
  describeWith({ name: kind.name, found }, { name: `${kind.name} as printed`, tests: () => serve(kind) });
  describeWith(kind, { name: `${kind.name} as printed, with failing processes`, tests: () => repeats(kind) });
}
