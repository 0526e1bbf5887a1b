/** NestJS on Express, with its own copy of Express, as docs/recipes.md prints it. */
import { type MiddlewareConsumer, Module, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import type { NextFunction, Request, Response } from "express";
import { createAuthServer } from "../../lib";
import { asClient, live, newWalker, wholeLife } from "../../__tests__/clients/client-life";
import { runBlock } from "../../__tests__/sources/doc-block";
import { byCookie, issuerPath, type LocalServer, optionsAt } from "../../__tests__/hosts/neighbour-host";
import { freePort } from "../../__tests__/servers/server-process";

type Configure = (app: NestExpressApplication) => void;

interface NestHost extends LocalServer {
  readonly app: NestExpressApplication;
}

function signIn(req: Request, res: Response): Promise<boolean> {
  const { name, password } = req.body as { name?: string; password?: string };
  if (password !== "wonderland") return Promise.resolve(false);
  res.cookie("session", name, { httpOnly: true, sameSite: "lax" });
  return Promise.resolve(true);
}

async function start({ before, after }: { before?: Configure; after?: Configure } = {}): Promise<NestHost> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const given = { options: optionsAt(origin, byCookie), signIn };
  const { AppModule, mountAuth } = runBlock({ heading: "NestJS on Express" }, given);
  const app = await NestFactory.create<NestExpressApplication>(AppModule as Type, { logger: false });
  before?.(app);
  app.use("/sign-in", (req: Request, res: Response, next: NextFunction) => {
    if (req.method === "GET") res.send('<form method="post">');
    else next();
  });
  (mountAuth as Configure)(app);
  after?.(app);
  await app.listen(port, "localhost");
  return { origin, app, close: () => app.close() };
}

let host: NestHost;
afterEach(() => host.close());

/** The client's callback is another app's. */
const asInNest = wholeLife.map((line) => line.replace("/client/callback 200", "/client/callback 404"));

describe("NestJS on Express, as in the recipe", () => {
  const settings: Readonly<Record<string, { before?: Configure; after?: Configure }>> = {
    "as it is": {},
    "with CORS and credentials": {
      before: (app) => app.enableCors({ origin: true, credentials: true }),
    },
    "with CORS enabled afterwards": { after: (app) => app.enableCors() },
    "with body parsers ahead": {
      before: (app) => app.useBodyParser("urlencoded", { extended: true }).useBodyParser("json"),
    },
    "with shutdown hooks": { after: (app) => void app.enableShutdownHooks() },
  };

  it.each(Object.entries(settings))("lets a whole life pass, %s", async (_, setting) => {
    host = await start(setting);
    const life = await live(host);
    expect(life.trace).toEqual(asInNest);
    expect(life.to("GET /orders")[0]?.text).toBe('{"ordersOf":"alice"}');
  });

  it("answers a refusal with its challenge, and Nest adds nothing (RFC 6750 §3)", async () => {
    host = await start();
    const { status, headers, text } = await newWalker(host.origin).send("/orders");
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toMatch(/^Bearer realm=/);
    expect(text).not.toContain("statusCode");
  });

  it("goes on after refusals, many at once", async () => {
    host = await start();
    const walker = newWalker(host.origin);
    const refused = await Promise.all(Array.from({ length: 50 }, () => walker.send("/orders")));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401]));
    expect((await live(host)).trace).toEqual(asInNest);
  });

  it("lets no client's own token in where a person is required", async () => {
    host = await start();
    const walker = newWalker(host.origin);
    const own = await asClient(walker, "token", { grant_type: "client_credentials", scope: "orders:read" });
    const { access_token } = JSON.parse(own.text) as { access_token: string };
    const { status } = await walker.send("/orders", { headers: { authorization: `Bearer ${access_token}` } });
    expect([own.status, status]).toEqual([200, 401]);
  });

  it.each([
    ["login", 200],
    ["login/*splat", 404],
  ])("is mounted by a module at %s, and then answers %i", async (route, expected) => {
    const auth = createAuthServer(optionsAt("http://localhost", byCookie));
    class AuthModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(auth.router).forRoutes(route);
      }
    }
    Module({})(AuthModule);
    const app = await NestFactory.create<NestExpressApplication>(AuthModule, { logger: false });
    await app.listen(0, "localhost");
    host = { origin: await app.getUrl(), app, close: () => app.close() };
    const { status } = await fetch(`${host.origin}${issuerPath}/.well-known/oauth-authorization-server`);
    expect(status).toBe(expected);
  });

  it("leaves authmount where it is under a global prefix", async () => {
    host = await start({ after: (app) => void app.setGlobalPrefix("v1") });
    const walker = newWalker(host.origin);
    const paths = ["/login/jwks", "/.well-known/oauth-protected-resource/orders", "/v1/orders"];
    const answers = await Promise.all(paths.map((path) => walker.send(path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401]);
  });

  it("keeps the interaction when the password was wrong", async () => {
    host = await start();
    const walker = newWalker(host.origin);
    const page = await walker.browse("/sign-in?interaction=x");
    const again = await walker.submit(page, { name: "alice", password: "a guess" });
    expect([again.status, again.headers.get("location")]).toEqual([303, "/sign-in?interaction=x"]);
  });
});
