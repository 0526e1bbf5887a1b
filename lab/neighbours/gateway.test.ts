/** http-proxy-middleware: a gateway in front of the app, each listening on its own. */
import express, { type Express, type RequestHandler } from "express";
import { createProxyMiddleware, type Options } from "http-proxy-middleware";
import { createAuthServer, type RateLimit } from "../../lib";
import {
  asClient,
  authorizeUrl,
  type Life,
  live,
  newWalker,
  wholeLife,
} from "../../__tests__/clients/client-life";
import { runBlock } from "../../__tests__/sources/doc-block";
import {
  byCookie,
  hostRoutes,
  listenLocally,
  type LocalServer,
  optionsAt,
} from "../../__tests__/hosts/neighbour-host";

/** What the app behind has been asked, and by whom. */
interface Seen {
  readonly url: string;
  readonly ip: string | undefined;
}

interface Both extends LocalServer {
  readonly app: LocalServer;
  readonly seen: readonly Seen[];
}

interface Setting {
  readonly gateway: (target: string) => Express;
  /** The path of `baseUrl`, as the world knows it. */
  readonly publicPath?: string;
  readonly before?: (app: Express) => void;
  readonly rateLimit?: RateLimit;
}

/** The gateway, and the app that it knows. */
async function startBoth({ gateway, publicPath = "/login", before, ...options }: Setting): Promise<Both> {
  const seen: Seen[] = [];
  const late: { app?: Express } = {};
  const app = await listenLocally(() => (req, res) => late.app?.(req, res));
  const front = await listenLocally((origin) => {
    const auth = createAuthServer({
      ...optionsAt(origin, byCookie),
      baseUrl: `${origin}${publicPath}`,
      ...options,
    });
    late.app = express().set("trust proxy", 1);
    late.app.use((req, _res, next) => {
      seen.push({ url: req.url, ip: req.ip });
      next();
    });
    before?.(late.app);
    late.app.use("/login", auth.router).use(auth.wellKnown);
    hostRoutes(late.app, { auth });
    return gateway(app.origin);
  });
  const close = async (): Promise<void> => {
    await front.close();
    await app.close();
  };
  return { origin: front.origin, app, seen, close };
}

let both: Both;
afterEach(() => both.close());

const fromPage =
  (prefix: string) =>
  (target: string): Express =>
    runBlock({ heading: "http-proxy-middleware" }, { target, prefix })["gateway"] as Express;

/** The client's callback is another app's, in a real life. */
const withoutCallback = ({ trace }: Life): readonly string[] =>
  trace.filter((line) => !line.includes("/client/callback"));

function urlsIn({ answers }: Life): readonly string[] {
  const written = answers.map(({ headers, text }) => `${JSON.stringify([...headers])} ${text}`);
  return written.flatMap((text) => text.match(/https?:\/\/localhost:\d+/g) ?? []);
}

describe("a gateway of http-proxy-middleware, as in the recipe", () => {
  beforeEach(async () => {
    both = await startBoth({ gateway: fromPage("") });
  });

  it("lets a whole life pass", async () => {
    const life = await live(both);
    expect(withoutCallback(life)).toEqual(wholeLife.filter((line) => !line.includes("/client/callback")));
  });

  it("names its own origin in every answer, and never that of the app behind it", async () => {
    expect(new Set(urlsIn(await live(both)))).toEqual(new Set([both.origin]));
  });

  it("passes on no path that it does not list", async () => {
    const walker = newWalker(both.origin);
    const answers = [await walker.send("/client/callback"), await walker.send("/.well-known/other")];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(both.seen).toEqual([]);
  });

  it("tells the app the address of the caller, and not the one that the caller claims", async () => {
    await fetch(`${both.origin}/login/jwks`, { headers: { "x-forwarded-for": "203.0.113.7" } });
    expect(both.seen.map(({ ip }) => ip)).toEqual([
      expect.stringMatching(/^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/),
    ]);
  });
});

describe("a gateway that rewrites the path, as in the recipe", () => {
  beforeEach(async () => {
    both = await startBoth({ gateway: fromPage("/id"), publicPath: "/id/login" });
  });

  it("leads a person from the public URL through the pages to a code", async () => {
    const walker = newWalker(both.origin);
    const start = authorizeUrl(both.origin).replace("/login/auth", "/id/login/auth");
    const signIn = await walker.follow(await walker.browse(start));
    const consent = await walker.follow(await walker.submit(signIn, { name: "alice" }));
    expect(consent.text).toContain(
      `action="${both.origin}/id/login/auth/password/api/orders/authorize/consent"`,
    );
    const answered = await walker.submit(consent, { decision: "approve" });
    const { searchParams } = new URL(answered.headers.get("location") ?? "");
    expect(searchParams.get("iss")).toBe(`${both.origin}/id/login/auth/password/api/orders`);
    expect(searchParams.get("code")).toEqual(expect.any(String));
  });

  it("serves the root documents under their public name (RFC 8414 §3)", async () => {
    const issuer = "/id/login/auth/password/api/orders";
    const { status, text } = await newWalker(both.origin).send(
      `/.well-known/oauth-authorization-server${issuer}`,
    );
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      issuer: `${both.origin}${issuer}`,
      token_endpoint: `${both.origin}${issuer}/token`,
    });
  });
});

const settings: readonly Options[] = [
  { changeOrigin: true },
  { changeOrigin: false },
  { xfwd: false },
  { autoRewrite: true },
  { hostRewrite: "localhost" },
  { protocolRewrite: "https" },
];

describe("other settings of http-proxy-middleware", () => {
  it.each(settings.map((each) => [JSON.stringify(each), each] as const))(
    "a whole life passes with %s",
    async (_, options) => {
      both = await startBoth({
        gateway: (target) => express().use(createProxyMiddleware({ target, ...options })),
      });
      expect((await live(both)).trace).toEqual(wholeLife);
    },
  );

  it("lies in Host and X-Forwarded-* change no answer (RFC 9700 §4.13)", async () => {
    both = await startBoth({
      gateway: (target) =>
        express().use(
          createProxyMiddleware({
            target,
            headers: {
              host: "evil.example",
              "x-forwarded-host": "evil.example",
              "x-forwarded-proto": "https",
            },
          }),
        ),
    });
    const life = await live(both);
    expect(life.trace).toEqual(wholeLife);
    expect(new Set(urlsIn(life))).toEqual(new Set([both.origin]));
  });
});

describe("rate limits of the app behind a gateway", () => {
  it("count each caller by itself, whatever X-Forwarded-For a caller sends", async () => {
    const given = { alarm: () => undefined, setInterval: () => ({ unref: () => undefined }) };
    const { limits, rateLimit } = runBlock({ heading: "Rate limits" }, given);
    both = await startBoth({
      gateway: fromPage(""),
      before: (app) => void app.use("/login", limits as RequestHandler),
      rateLimit: rateLimit as RateLimit,
    });
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "web",
      client_secret: "no",
    });
    const token = `${both.origin}/login/auth/password/api/orders/token`;
    const statuses: number[] = [];
    for (let caller = 1; caller <= 11; caller += 1) {
      const headers = { "x-forwarded-for": `203.0.113.${caller}` };
      const { status, headers: answered } = await fetch(token, { method: "POST", headers, body });
      statuses.push(status);
      if (status === 429) expect(Number(answered.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    const right = await asClient(newWalker(both.origin), "token", { grant_type: "client_credentials" });
    expect(right.status).toBe(429);
  });
});
