/** A host that listens on a port of localhost, with other libraries around the router and the API. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import cookieParser from "cookie-parser";
import express, { type Express, type RequestHandler } from "express";
import {
  type AuthMethod,
  type AuthServer,
  type AuthServerOptions,
  createAuthServer,
  generateSigningKey,
  memoryStorage,
} from "../../lib";
import { clients, webSecret } from "./clients";

const signingKeys = [generateSigningKey()];

/** A server on a free port of localhost. */
export interface LocalServer {
  readonly origin: string;
  close(): Promise<void>;
}

/** Listens before the app is there, as the app may need to know its own origin. */
export async function listenLocally(
  appFor: (origin: string) => RequestListener | Promise<RequestListener>,
): Promise<LocalServer> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  server.on("request", await appFor(origin));
  return {
    origin,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}

/** The path of the only issuer of the host. */
export const issuerPath = "/login/auth/password/api/orders";

/** Where the client of a host that has this origin takes its answers: on the host, so that the host's log sees them. */
export const clientCallback = "/client/callback";

/** The options of an authorization server at this origin, with one client, `web`. */
export function optionsAt(origin: string, password: AuthMethod): AuthServerOptions {
  return {
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys,
    storage: memoryStorage({
      clients: [{ ...clients.web, redirectUris: [`${origin}${clientCallback}`] }],
    }),
    authMethods: { password },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password"],
        scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
      },
    },
    revocationLagSeconds: 0,
    // refusals are expected here, and are not printed
    onEvent: () => undefined,
  };
}

/** Who is signed in by a cookie of the simplest kind. */
export const byCookie: AuthMethod = {
  authenticate({ req, reauthenticate }) {
    const subject = /(?:^|; )session=(\w+)/.exec(req.headers.cookie ?? "")?.[1];
    return subject === undefined || reauthenticate
      ? { kind: "interaction", url: "/sign-in" }
      : { kind: "authenticated", subject };
  },
};

const setCookie: RequestHandler = (req, res, next) => {
  const { name } = req.body as { name: string };
  res.cookie("session", name, { httpOnly: true, sameSite: "lax" });
  next();
};

/** What a test puts around the router. */
export interface Neighbourhood {
  readonly express?: typeof express;
  /** Ahead of the router. */
  readonly ahead?: (app: Express, origin: string) => unknown;
  /** Behind the router and `auth.wellKnown`, ahead of the sign-in page and the API. */
  readonly behind?: (app: Express, origin: string) => unknown;
  /** The last of the app. */
  readonly last?: (app: Express) => unknown;
  readonly authMethod?: AuthMethod;
  /** What the sign-in form does before the person goes back. */
  readonly signIn?: RequestHandler;
  /** Between the API's path and its bearer check. */
  readonly api?: RequestHandler;
  readonly options?: Partial<AuthServerOptions>;
}

/** A host and its authorization server. */
export interface NeighbourHost extends LocalServer {
  readonly auth: AuthServer;
}

/** The sign-in form: one that asks for its fields by their names. */
export const signInForm = `<!doctype html><title>Sign in</title><form method="post"><input name="name"> <input name="password"></form>`;

/** The routes of a host behind the router: the sign-in page, the API and, as if it were another app, the client's callback. */
export function hostRoutes(
  app: Express,
  {
    auth,
    signIn = setCookie,
    api = (_req, _res, next) => next(),
  }: { auth: AuthServer } & Pick<Neighbourhood, "signIn" | "api">,
): void {
  app.get("/sign-in", (_req, res) => {
    // what the person typed for another site does not come back in this page
    res.set("Cache-Control", "no-store").send(signInForm);
  });
  app.post("/sign-in", express.urlencoded({ extended: false }), signIn, (req, res) =>
    auth.resume(req, res, { otherwise: "/" }),
  );
  app.use("/orders", api);
  app.all("/orders", auth.requireBearer({ api: "orders", scope: "orders:read" }), (req, res) => {
    res.json({ ordersOf: auth.accessToken(req).subject });
  });
  app.get(clientCallback, (_req, res) => void res.send("Thank you."));
}

/** Starts a host with its neighbours. */
export async function neighbourHost(neighbours: Neighbourhood = {}): Promise<NeighbourHost> {
  const { ahead, behind, last, authMethod = byCookie, options } = neighbours;
  const started: { auth?: AuthServer } = {};
  const server = await listenLocally((origin) => {
    const app = (neighbours.express ?? express)();
    const auth = createAuthServer({ ...optionsAt(origin, authMethod), ...options });
    started.auth = auth;
    app.use(cookieParser());
    ahead?.(app, origin);
    app.use("/login", auth.router);
    app.use(auth.wellKnown);
    behind?.(app, origin);
    hostRoutes(app, { auth, ...neighbours });
    last?.(app);
    return app;
  });
  if (!started.auth) throw new Error("the host has no server");
  return { ...server, auth: started.auth };
}

/** What the client of the host proves itself with. */
export const clientSecret = webSecret.secret;
