/** An authorization server on a port, and an API apart from it that accepts its tokens. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express } from "express";
import {
  createResourceServer,
  type AuthServerEvent,
  type ResourceServer,
  type ResourceServerOptions,
} from "../../lib/resource-server";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { credentials } from "../hosts/clients";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";

/** The authorization server, and what a test can do to it. */
export interface RemoteServer {
  readonly host: TestHost;
  readonly origin: string;
  readonly baseUrl: string;
  /** Method and path of each request, in order. */
  readonly asked: string[];
  /** Answers instead of the server, if it is set, except where it returns `false`. */
  instead: ((...args: Parameters<RequestListener>) => void | false) | undefined;
  /** Awaited before each answer, if it is set. */
  hold: (() => Promise<void>) | undefined;
  /** Serves another host at the same address, with the same storage unless told otherwise: a restart. */
  restart(options?: TestHostOptions): void;
  /** Nobody listens any more. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
}

async function listenOn(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Starts the authorization server of the test host on a free port. */
export async function remoteServer(options: TestHostOptions = {}): Promise<RemoteServer> {
  const listener: RequestListener = (req, res) => {
    made.asked.push(`${req.method} ${req.url}`);
    const answer = (): void => {
      if (!made.instead || made.instead(req, res) === false) host.app(req, res);
    };
    if (made.hold) void made.hold().then(answer);
    else answer();
  };
  let server = createServer(listener);
  const port = await listenOn(server, 0);
  const origin = `http://127.0.0.1:${port}`;
  const baseUrl = `${origin}/login`;
  const whole: TestHostOptions = {
    consent: { decide: ({ scopes }) => ({ kind: "granted", scopes: Object.keys(scopes) }) },
    ...options,
    baseUrl,
  };
  let host = testHost(whole);
  const made: RemoteServer = {
    get host() {
      return host;
    },
    origin,
    baseUrl,
    asked: [],
    instead: undefined,
    hold: undefined,
    restart(changed = {}) {
      host = testHost({ storage: host.storage, ...whole, ...changed });
    },
    stop: () => close(server),
    async start() {
      server = createServer(listener);
      await listenOn(server, port);
    },
  };
  return made;
}

/** The issuer of a pair. */
export function issuerAt({ baseUrl }: RemoteServer, pair: Pair = {}): string {
  return `${baseUrl}${pairPath(pair).slice("/login".length)}`;
}

/** An API apart from its authorization server. */
export interface RemoteApi {
  readonly app: Express;
  readonly auth: ResourceServer;
  readonly events: AuthServerEvent[];
}

/** What the client `web` introspects with: it has a subscription to every API. */
export const introspection = {
  clientId: "web",
  clientSecret: String(credentials("web")["client_secret"]),
};

/** The same routes as those of the test host, protected from afar. */
export function remoteApi(
  server: Pick<RemoteServer, "baseUrl">,
  { apis: changed = {}, ...options }: Partial<ResourceServerOptions> = {},
): RemoteApi {
  const events: AuthServerEvent[] = [];
  const listed = Object.entries(apis).map(([apiId, { audience, scopes, name = apiId }]) => [
    apiId,
    { audience, name, scopes: Object.keys(scopes) },
  ]);
  const auth = createResourceServer({
    baseUrl: server.baseUrl,
    apis: { ...(Object.fromEntries(listed) as ResourceServerOptions["apis"]), ...changed },
    onEvent: (event) => void (event.kind === "started" || events.push(event)),
    ...options,
  });
  const app = express().use(auth.wellKnown);
  for (const api of Object.keys(apis)) {
    app.route(`/${api}`).all(auth.requireBearer({ api }), (req, res) => void res.json(req.auth));
  }
  app.get("/orders/changes", auth.requireBearer({ api: "orders", scope: "orders:write" }), (req, res) => {
    res.json(req.auth);
  });
  return { app, auth, events };
}
