/** The log lines of morgan and pino-http, searched for what must not be in them. */
import type { Express, RequestHandler } from "express";
import morgan from "morgan";
import { pinoHttp } from "pino-http";
import { live, type Life, wholeLife } from "../../__tests__/clients/client-life";
import { runBlock } from "../../__tests__/sources/doc-block";
import { neighbourHost } from "../../__tests__/hosts/neighbour-host";

interface Logged {
  readonly lines: readonly string[];
  readonly life: Life;
  /** The kinds of secrets that stand in the log. */
  readonly found: readonly string[];
}

interface Stream {
  write(line: string): boolean;
}

/** A whole life with this logger as the first of the app, and inside routers too when `path` says so. */
async function logOf(
  loggerTo: (stream: Stream) => RequestHandler,
  mount: (app: Express, logger: RequestHandler) => unknown = (app, logger) => app.use(logger),
): Promise<Logged> {
  const lines: string[] = [];
  const logger = loggerTo({ write: (line) => lines.push(line) > 0 });
  const host = await neighbourHost({ ahead: (app) => void mount(app, logger) });
  const life = await live(host);
  // the last line is written when the answer has ended
  await host.close();
  return { lines, life, found: life.secrets.findIn(lines.join("\n")).toSorted() };
}

const fromPage = (name: "withMorgan" | "withPino") => (stream: Stream) =>
  runBlock({ heading: "morgan and pino-http" }, { stream })[name] as RequestHandler;

describe.each([
  ["morgan", fromPage("withMorgan")],
  ["pino-http", fromPage("withPino")],
])("%s, as in the recipe", (_, logger) => {
  const mounts: Readonly<Record<string, (app: Express, given: RequestHandler) => unknown>> = {
    "first of all": (app, given) => app.use(given),
    "at the mount of the router, whose url has lost its beginning": (app, given) => app.use("/login", given),
  };

  it.each(Object.entries(mounts))("writes no secret and no login_hint, mounted %s", async (_place, mount) => {
    const { life, found, lines } = await logOf(logger, mount);
    expect(life.trace).toEqual(wholeLife);
    expect(life.secrets.kinds()).toEqual(
      expect.arrayContaining(["code", "access token", "refresh token", "client secret", "code verifier"]),
    );
    expect(found).toEqual([]);
    expect(lines.join("\n")).not.toMatch(
      /[?]|code=|eyJ[\w-]+\.eyJ|Basic |Bearer |state of this browser|form_token/,
    );
  });

  it("writes a line for each request, with its path and status", async () => {
    const { lines } = await logOf(logger);
    expect(lines).toHaveLength(wholeLife.length);
    expect(lines[0]).toMatch(/GET.*\/login\/auth\/password\/api\/orders\/authorize.*302/s);
    expect(lines.join("")).toContain("/client/callback");
  });
});

describe("what they write by themselves, which the recipe is there for", () => {
  it.each(["combined", "common", "dev", "short", "tiny"])(
    "morgan(%p): codes and login_hint",
    async (format) => {
      const { found } = await logOf((stream) => morgan(format, { stream }));
      expect(found).toEqual(expect.arrayContaining(["code", "login hint"]));
    },
  );

  it("pino-http: all of it but what is in bodies", async () => {
    const { found } = await logOf((stream) => pinoHttp({}, stream));
    expect(found).toEqual(expect.arrayContaining(["access token", "client secret", "code", "login hint"]));
    expect(found).not.toContain("refresh token");
  });

  it("pino-http with redacted headers: still the code, in url and Location", async () => {
    const redact = ["req.headers.authorization", "req.headers.cookie", 'res.headers["set-cookie"]'];
    const { found } = await logOf((stream) => pinoHttp({ redact }, stream));
    expect(found).toEqual(expect.arrayContaining(["code", "login hint"]));
  });
});
