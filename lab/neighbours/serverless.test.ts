/** serverless-http behind an API gateway, which is played by an HTTP server that makes its events. */
import { execFileSync } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import express, { type Express } from "express";
import { createAuthServer, memoryStorage, type Storage } from "../../lib";
import { authorizeUrl, live, newWalker, wholeLife } from "../../__tests__/clients/client-life";
import { clients } from "../../__tests__/hosts/clients";
import { buildOnce } from "../../__tests__/servers/build-once";
import { runBlock } from "../../__tests__/sources/doc-block";
import {
  byCookie,
  clientCallback,
  hostRoutes,
  listenLocally,
  type LocalServer,
  optionsAt,
} from "../../__tests__/hosts/neighbour-host";

interface Result {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly cookies?: readonly string[];
  readonly body: string;
  readonly isBase64Encoded: boolean;
}
type Handler = (event: object, context: object) => Promise<Result>;
type EventFor = (req: IncomingMessage, body: Buffer) => object;

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** An event of a REST API (payload format 1.0). */
const version1: EventFor = (req, body) => {
  const { pathname, searchParams } = new URL(req.url ?? "", "http://localhost");
  const names = [...new Set(searchParams.keys())];
  return {
    version: "1.0",
    httpMethod: req.method,
    path: pathname,
    headers: headersOf(req),
    multiValueHeaders: Object.fromEntries(
      Object.entries(headersOf(req)).map(([name, value]) => [name, [value]]),
    ),
    queryStringParameters: Object.fromEntries(searchParams),
    multiValueQueryStringParameters: Object.fromEntries(
      names.map((name) => [name, searchParams.getAll(name)]),
    ),
    requestContext: { stage: "$default", identity: { sourceIp: "203.0.113.7" } },
    body: body.length === 0 ? null : body.toString(),
    isBase64Encoded: false,
  };
};

/** An event of an HTTP API (payload format 2.0): cookies apart, the body in base64. */
const version2: EventFor = (req, body) => {
  const { pathname, search } = new URL(req.url ?? "", "http://localhost");
  const { cookie, ...headers } = headersOf(req);
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    ...(cookie && { cookies: cookie.split("; ") }),
    headers,
    requestContext: {
      stage: "$default",
      http: { method: req.method, path: pathname, sourceIp: "203.0.113.7", protocol: "HTTP/1.1" },
    },
    ...(body.length > 0 && { body: body.toString("base64") }),
    isBase64Encoded: body.length > 0,
  };
};

async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function write(res: ServerResponse, result: Result): void {
  for (const [name, value] of Object.entries(result.headers)) res.setHeader(name, value);
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) res.setHeader(name, values);
  for (const cookie of result.cookies ?? []) res.appendHeader("Set-Cookie", cookie);
  res.statusCode = result.statusCode;
  res.end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
}

/** The handler of the recipe as it is loaded by one instance. Sign-in pages are put into its app. */
function coldStart(origin: string, storage: Storage): Handler {
  const { storage: _, ...options } = optionsAt(origin, byCookie);
  const apps: Express[] = [];
  // the block has no sign-in page: the app that it makes gets the test host's
  const withPages = (): Express => apps[apps.push(express()) - 1] as Express;
  class Pool {
    on(): void {}
  }
  const modules = {
    express: withPages,
    pg: { Pool },
    "authmount/postgres": { postgresStorage: () => storage },
  };
  const { handler } = runBlock({ heading: "Serverless", modules }, { options });
  const [app] = apps;
  if (!app) throw new Error("the recipe makes no app");
  hostRoutes(app, { auth: createAuthServer({ ...options, storage }) });
  return handler as Handler;
}

const storageAt = (origin: string): Storage =>
  memoryStorage({ clients: [{ ...clients.web, redirectUris: [`${origin}${clientCallback}`] }] });

/** A gateway in front of these many instances, each of which gets a request in its turn. */
function startFunction(eventFor: EventFor, instances: number): Promise<LocalServer> {
  return listenLocally((origin) => {
    const storage = storageAt(origin);
    const handlers = Array.from({ length: instances }, () => coldStart(origin, storage));
    let turn = 0;
    return (req, res) => {
      const handler = handlers[(turn += 1) % instances];
      readBody(req)
        .then((body) => handler?.(eventFor(req, body), {}))
        .then((result) => result && write(res, result))
        .catch((error: unknown) => res.destroy(error as Error));
    };
  });
}

describe.each([
  ["1.0", version1],
  ["2.0", version2],
])("serverless-http, as in the recipe, with events of version %s", (_, eventFor) => {
  let host: LocalServer;
  afterEach(() => host.close());

  it.each([1, 2, 3])("lets a whole life pass over %i cold instances in turn", async (instances) => {
    host = await startFunction(eventFor, instances);
    const life = await live(host);
    expect(life.trace).toEqual(wholeLife);
    for (const { headers } of life.answers) expect(headers.has("0")).toBe(false);
  });

  it("keeps the headers of a page and of its cookie", async () => {
    host = await startFunction(eventFor, 1);
    const walker = newWalker(host.origin);
    walker.cookies.set("session", "alice");
    const { headers } = await walker.browse(authorizeUrl(host.origin));
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^authmount\..*HttpOnly/)]);
  });

  it("refuses a repeated parameter (RFC 6749 §3.2)", async () => {
    host = await startFunction(eventFor, 1);
    const { status, text } = await newWalker(host.origin).send("/login/auth/password/api/orders/token", {
      method: "POST",
      body: new URLSearchParams("grant_type=client_credentials&scope=a&scope=b"),
    });
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ error: "invalid_request" })]);
  });
});

describe("a cold start", () => {
  it("asks storage nothing", () => {
    const asked: string[] = [];
    const watched = (port: object, name: string): object =>
      Object.fromEntries(
        Object.entries(port).map(([method, value]) => [
          method,
          typeof value === "function"
            ? (...values: unknown[]) => {
                asked.push(`${name}.${method}`);
                return (value as (...given: unknown[]) => unknown).apply(port, values);
              }
            : value,
        ]),
      );
    const origin = "https://host.example";
    const storage = Object.fromEntries(
      Object.entries(storageAt(origin)).map(([name, port]) => [
        name,
        typeof port === "object" && port !== null ? watched(port as object, name) : port,
      ]),
    );
    const options = { ...optionsAt(origin, byCookie), storage: storage as unknown as Storage };
    const { router, wellKnown, requireBearer } = createAuthServer(options);
    express()
      .use(router)
      .use(wellKnown)
      .use(requireBearer({ api: "orders" }));
    expect(asked).toEqual([]);
  });

  it("leaves nothing behind that keeps a process alive", () => {
    buildOnce();
    const program = `
      const { createAuthServer, generateSigningKey, memoryStorage } = require("./dist");
      createAuthServer({
        baseUrl: "https://host.example/login",
        secrets: ["a secret of at least 32 characters in length"],
        signingKeys: [generateSigningKey()],
        storage: memoryStorage({ clients: [] }),
        authMethods: { password: { authenticate: () => ({ kind: "denied" }) } },
        apis: { orders: { audience: "https://host.example/orders", authMethods: ["password"], scopes: { read: "See" } } },
      });
      process.on("exit", () => console.log(process.getActiveResourcesInfo().filter((each) => each !== "PipeWrap").join()));`;
    const repository = path.resolve(__dirname, "../..");
    // it would never return if something waited
    const printed = execFileSync(process.execPath, ["-e", program], { cwd: repository, encoding: "utf8" });
    expect(printed.trim()).toBe("");
  });
});
