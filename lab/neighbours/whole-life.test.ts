/** Each neighbour in its ordinary way, ahead of the router and behind it: everything goes on as without it. */
import compression from "compression";
import cookieParser from "cookie-parser";
import cors from "cors";
import { doubleCsrf } from "csrf-csrf";
import express, { type Express, type RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import session from "express-session";
import helmet from "helmet";
import morgan from "morgan";
import passport from "passport";
import { pinoHttp } from "pino-http";
import { live, type LifeAnswer, wholeLife } from "../../__tests__/clients/client-life";
import { runBlock } from "../../__tests__/sources/doc-block";
import { express4 } from "../../__tests__/servers/express4";
import { type Neighbourhood, neighbourHost } from "../../__tests__/hosts/neighbour-host";

const nowhere = { write: () => true };
const sessions = (): RequestHandler =>
  session({ secret: "a session secret", resave: false, saveUninitialized: false });

/** What the old versions of `on-headers` (before 1.1) put in the place of `writeHead`. */
const oldOnHeaders: RequestHandler = (_req, res, next) => {
  const writeHead = res.writeHead.bind(res);
  res.writeHead = (status: number, ...more: unknown[]): typeof res => {
    const headers: unknown = more.at(-1);
    if (Array.isArray(headers)) {
      for (const [name, value] of headers as [string, string][]) res.setHeader(name, value);
    } else if (typeof headers === "object") {
      for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value as string);
    }
    return writeHead(status);
  };
  next();
};

/** What old session libraries and some loggers do: Express leaves the headers to the end of the answer. */
const headerAtEnd: RequestHandler = (_req, res, next) => {
  const end = res.end.bind(res) as (...given: unknown[]) => typeof res;
  res.end = (...given: unknown[]): typeof res => {
    res.setHeader("X-Answered", "1");
    return end(...given);
  };
  next();
};

/** The limits of the recipe, as they are in front of `/login`. */
function limits(app: Express): void {
  const given = {
    alarm: () => undefined,
    apiClients: new Set(),
    setInterval: () => ({ unref: () => undefined }),
  };
  app.use("/login", runBlock({ heading: "Rate limits" }, given)["limits"] as RequestHandler);
}

const { doubleCsrfProtection } = doubleCsrf({
  getSecret: () => "a csrf secret",
  getSessionIdentifier: () => "one session",
  skipCsrfProtection: ({ path }) => path.startsWith("/login/") || ["/orders", "/sign-in"].includes(path),
});

const neighbours: Readonly<Record<string, (app: Express) => unknown>> = {
  "helmet()": (app) => app.use(helmet()),
  "helmet, as in the recipe": (app) =>
    runBlock(
      { heading: "helmet in front of the router" },
      { app, auth: { router: express.Router(), wellKnown: express.Router() } },
    ),
  "cors()": (app) => app.use(cors()),
  "cors() with credentials": (app) => app.use(cors({ origin: true, credentials: true })),
  "compression()": (app) => app.use(compression({ threshold: 0 })),
  "express-session": (app) => app.use(sessions()),
  "express-session that keeps every session": (app) =>
    app.use(session({ secret: "a session secret", resave: true, saveUninitialized: true, rolling: true })),
  "passport.session()": (app) => app.use(sessions(), passport.session()),
  "csrf-csrf that skips the mount": (app) =>
    app.use(cookieParser(), express.urlencoded({ extended: false }), doubleCsrfProtection),
  morgan: (app) => app.use(morgan("combined", { stream: { write: () => undefined } })),
  "pino-http": (app) => app.use(pinoHttp({}, nowhere)),
  "express-rate-limit": (app) => app.use(rateLimit({ limit: 1000 })),
  "express-rate-limit, as in the recipe": limits,
  "middleware with on-headers before 1.1": (app) => app.use(oldOnHeaders),
  "middleware that sets a header in end": (app) => app.use(headerAtEnd),
};

const everything = (app: Express): void => {
  for (const mount of Object.values(neighbours)) mount(app);
};

const versions = { "Express 5": express, "Express 4": express4 };
const places = {
  "ahead of the router": (mount: (app: Express) => unknown): Neighbourhood => ({ ahead: mount }),
  "behind the router": (mount: (app: Express) => unknown): Neighbourhood => ({ behind: mount }),
};

const rows = Object.entries(versions).flatMap(([version, ofVersion]) =>
  Object.entries(places).flatMap(([place, placed]) =>
    Object.entries({ ...neighbours, "all of them": everything }).map(
      ([name, mount]) => [name, place, version, { ...placed(mount), express: ofVersion }] as const,
    ),
  ),
);

async function lifeIn(neighbourhood: Neighbourhood) {
  const host = await neighbourHost(neighbourhood);
  try {
    return await live(host);
  } finally {
    await host.close();
  }
}

/** What the answers to clients and people must keep, whoever is around. */
function headersOf({ request, headers }: LifeAnswer): readonly unknown[] {
  const ofAll = ["content-type", "cache-control", "www-authenticate", "x-content-type-options"];
  const ofPages = ["content-security-policy", "x-frame-options", "referrer-policy"];
  const isPage = headers.get("content-type")?.startsWith("text/html") === true;
  const names = isPage ? [...ofAll, ...ofPages] : ofAll;
  const valueOf = (name: string): unknown => headers.get(name)?.replaceAll(/localhost:\d+/g, "localhost");
  // a neighbour that watches answers may add a cookie, so no shared cache may keep them
  return [
    request,
    ...names.map(valueOf).map((value) => (value === "private, max-age=300" ? "public, max-age=300" : value)),
  ];
}

/** The answers that authmount has written. */
const written = (answers: readonly LifeAnswer[]): readonly LifeAnswer[] =>
  answers.filter(
    ({ request, status }) =>
      !/ \/(?:sign-in|client)/.test(request) && `${request} ${status}` !== "GET /orders 200",
  );

describe("a whole life beside a neighbour", () => {
  it("is the same with nobody around", async () => {
    expect((await lifeIn({})).trace).toEqual(wholeLife);
  });

  it.each(rows)("is the same with %s, %s, in %s", async (_name, _place, _version, neighbourhood) => {
    const alone = await lifeIn({});
    const life = await lifeIn(neighbourhood);
    expect(life.trace).toEqual(wholeLife);
    expect(written(life.answers).map(headersOf)).toEqual(written(alone.answers).map(headersOf));
    for (const { headers } of life.answers) expect(headers.has("0")).toBe(false);
  });
});
