/** What docs/terminals-and-agents.md prints is run. RFC 8628, 8693. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import express from "express";
import * as openid from "openid-client";
import { createAuthServer, digestClientSecret, generateSigningKey, memoryStorage } from "../lib";
import { newWebBrowser } from "./servers/example";
import { serverForEachTest, visit } from "./servers/free-port";
import { codeBelow, runBlock } from "./sources/doc-block";

const page = "terminals-and-agents.md";
const startServer = serverForEachTest();

/** A host with the printed client, where Alice is signed in. */
async function listen(): Promise<{ origin: string; env: Record<"ISSUER" | "API_URL", string> }> {
  const { origin, serve } = await startServer();
  const { cli } = runBlock({ page, heading: "Sign in from a terminal" }, {});
  const auth = createAuthServer({
    baseUrl: `${origin}/oauth`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [cli as never] }),
    authMethods: { account: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["account"],
        scopes: { "orders:read": "See your orders" },
        deviceAuthorization: true,
      },
    },
    rateLimit: () => ({ kind: "allowed" }),
    onEvent: () => undefined,
  });
  const guard = auth.requireBearer({ api: "orders", scope: "orders:read", subject: "required" });
  const app = express().use("/oauth", auth.router).use(auth.wellKnown);
  app.get("/orders", guard, (req, res) => void res.json({ ordersOf: auth.accessToken(req).subject }));
  serve(app);
  const env = { ISSUER: `${origin}/oauth/auth/account/api/orders`, API_URL: `${origin}/orders` };
  return { origin, env };
}

describe("a container without a browser", () => {
  it("signs in with the eight printed lines", async () => {
    const [program = ""] = codeBelow(page, "Sign in from a terminal", "js");
    expect(program.trim().split("\n")).toHaveLength(8);
    const { origin, env } = await listen();
    // the printed one is for https
    const code = program.replace('"oauth2" }', '"oauth2", execute: [oauth.allowInsecureRequests] }');
    const container = spawn(process.execPath, ["--input-type=module", "--eval", code], {
      cwd: path.resolve(__dirname, ".."),
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(container.stdout, "data")) as [Buffer];
    const [, url = "", userCode = ""] = /^Open (\S+) on any screen and type (\S+)/.exec(String(line)) ?? [];
    expect(url).toBe(`${origin}/oauth/device`);
    const phone = newWebBrowser();
    const consent = await phone.submit(await phone.open(url), { user_code: userCode });
    expect(consent.text).toContain(userCode);
    expect((await phone.submit(consent, { decision: "approve" })).status).toBe(200);
    const [orders] = (await once(container.stdout, "data")) as [Buffer];
    expect(String(orders)).toContain("ordersOf: 'alice'");
  });
});

type Body = (...values: readonly unknown[]) => Promise<void>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
  ...parts: readonly string[]
) => Body;

/** The lines that a diff adds. */
const linesOf = (diff: string): readonly string[] =>
  [...diff.matchAll(/^\+\s*(.*)$/gm)].map(([, line = ""]) => line);

describe("an API that calls another one for Alice", () => {
  const heading = "Call another API for a person";
  const [atServer = "", inApi = ""] = codeBelow(page, heading, "diff");
  it("changes nine lines", async () => {
    expect([...linesOf(atServer), ...linesOf(inApi)]).toHaveLength(9);
  });

  it("gets a token that acts for her", async () => {
    const { origin, serve } = await startServer();
    const secret = "a secret of the test that is long enough";
    const [exchange = "", subscription = ""] = linesOf(atServer);
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- what the page prints
    const { tokenExchange, subscriptions } = new Function(
      `return { ${exchange} ${subscription} }`,
    )() as never;
    const auth = createAuthServer({
      baseUrl: `${origin}/oauth`,
      secrets: ["a test secret of at least 32 characters"],
      signingKeys: [generateSigningKey()],
      storage: memoryStorage({
        clients: [
          {
            clientId: "shop",
            name: "Shop",
            confidential: true,
            secretDigests: [await digestClientSecret(secret)],
            redirectUris: ["https://shop.example/callback"],
            trusted: true,
            subscriptions: { orders: {} },
          },
          {
            clientId: "orders-api",
            name: "Orders API",
            confidential: true,
            secretDigests: [await digestClientSecret(secret)],
            redirectUris: [],
            subscriptions,
          },
        ],
      }),
      authMethods: { account: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
      apis: {
        orders: {
          audience: `${origin}/orders`,
          authMethods: ["account"],
          scopes: { "orders:write": "Order goods" },
        },
        stock: {
          audience: `${origin}/stock`,
          authMethods: ["account"],
          scopes: { "stock:reserve": "Reserve goods" },
          tokenExchange,
        },
      },
      onEvent: () => undefined,
    });
    const heard: unknown[] = [];
    const app = express().use("/oauth", auth.router).use(auth.wellKnown);
    app.post("/stock", auth.requireBearer({ api: "stock", scope: "stock:reserve" }), (req, res) => {
      heard.push(auth.accessToken(req));
      res.sendStatus(204);
    });
    serve(app);
    const oauth = {
      ...openid,
      // the printed call is for https
      discovery: (...[url, clientId, ofClient, proof, options]: Parameters<typeof openid.discovery>) =>
        openid.discovery(url, clientId, ofClient, proof, {
          ...options,
          execute: [openid.allowInsecureRequests],
        }),
    };
    const printed = inApi.replaceAll(/^[+ ]/gm, "");
    const given = { oauth, auth, app, secret, baseUrl: `${origin}/oauth`, stockUrl: `${origin}/stock` };
    await new AsyncFunction(...Object.keys(given), printed)(...Object.values(given));
    const issuer = new URL(`${origin}/oauth/auth/account/api/orders`);
    const config = await oauth.discovery(issuer, "shop", secret, undefined, { algorithm: "oauth2" });
    const codeVerifier = openid.randomPKCECodeVerifier();
    const back = await visit(
      openid.buildAuthorizationUrl(config, {
        redirect_uri: "https://shop.example/callback",
        scope: "orders:write",
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      }),
    );
    const { access_token } = await openid.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: codeVerifier,
    });
    const called = await openid.fetchProtectedResource(
      config,
      access_token,
      new URL(`${origin}/orders`),
      "POST",
    );
    expect(called.status).toBe(204);
    expect(heard).toMatchObject([
      {
        subject: "alice",
        clientId: "orders-api",
        actor: { subject: "orders-api" },
        scopes: ["stock:reserve"],
      },
    ]);
  });
});
