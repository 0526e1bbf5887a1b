/** The program of a client library that lives in a page of a real browser. */
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Express } from "express";
import type { Page } from "playwright-core";
import { type DpopOptions, generateSigningKey, type OpenIdOptions } from "../../lib";
import { bendIdTokens } from "./bent-id-tokens";
import { htmlPage, newContext, signedInPage, startWebHost, type WebHost } from "./chromium";

const repository = path.resolve(__dirname, "../..");

/** A page of the client, with the program and what it imports. */
function programPage(issuer: string): string {
  return htmlPage(
    "App",
    `<meta name="issuer" content="${issuer}">
    <script type="importmap">{ "imports": { "oidc-client-ts": "/oidc-client-ts.js", "jwt-decode": "/jwt-decode.js" } }</script>
    <script type="module">
      globalThis.app = await import("/app.mjs");
      if (location.pathname === "/silent") await app.finishRenewal();
    </script>`,
  );
}

const browserFiles: Readonly<Record<string, string>> = {
  "/oidc-client-ts.js": "lab/node_modules/oidc-client-ts/dist/esm/oidc-client-ts.js",
  "/jwt-decode.js": "lab/node_modules/jwt-decode/build/esm/index.js",
  "/app.mjs": "lab/clients/libraries/oidc-client-ts.mjs",
};

/** Of ID tokens. */
const rsaKey = generateSigningKey("RS256");

/** The host and the client's site, with Alice at a page of the client. */
export async function openBrowserClient(
  file?: string,
  openid?: OpenIdOptions,
  dpop?: DpopOptions,
): Promise<{ host: WebHost; page: Page; bending: ReturnType<typeof bendIdTokens> }> {
  let app: Express | undefined;
  const bending = bendIdTokens(createPrivateKey({ key: { ...rsaKey }, format: "jwk" }));
  const apis = {
    orders: {
      audience: "https://api.example/orders",
      authMethods: ["password"],
      scopes: { read: "See your orders" },
      ...(openid && { openid }),
      ...(dpop && { dpop }),
    },
  };
  const webHost = await startWebHost({
    apis,
    revocationLagSeconds: 0,
    signingKeys: [generateSigningKey(), rsaKey],
    before: (given) => void (app = given.use(bending.middleware)),
  });
  app?.get("/orders", webHost.auth.requireBearer({ api: "orders" }), (req, res) => void res.json(req.auth));
  const { pages } = webHost;
  const issuer = `${webHost.origin}/login/auth/password/api/orders`;
  for (const page of ["/app", "/callback", "/silent"]) pages.set(page, programPage(issuer));
  for (const [name, source] of Object.entries(browserFiles)) {
    const text = readFileSync(
      file !== undefined && name === "/app.mjs" ? file : path.join(repository, source),
    );
    pages.set(name, (_, res) => res.type("js").send(text));
  }
  const page = await signedInPage(webHost, await newContext());
  await page.goto(`${webHost.site.localhost}/app`);
  return { host: webHost, page, bending };
}

/** Calls a function of the program in the page, once it is loaded. */
export async function callInPage(page: Page, call: string): Promise<{ access_token: string }> {
  await page.waitForFunction("globalThis.app !== undefined");
  return page.evaluate<{ access_token: string }>(`app.${call}`);
}

/** Alice comes back to the client's page with an answer, which nobody has looked at. */
export async function comeBackToPage({ host: webHost, page }: { host: WebHost; page: Page }): Promise<URL> {
  await page.waitForFunction("globalThis.app !== undefined");
  await page.evaluate("void app.start()");
  await page.waitForURL(`${webHost.site.localhost}/callback?**`);
  expect(webHost.requests.findLast((request) => request.includes("/authorize?"))).toContain("S256");
  return new URL(page.url());
}

/** The status of an API call with this token. */
export async function statusOfCall({ origin: at }: WebHost, token: string): Promise<number> {
  return (await fetch(`${at}/orders`, { headers: { authorization: `Bearer ${token}` } })).status;
}
