/** An MCP client in a page of another origin, in a real browser: it has to read the challenge. */
import cors from "cors";
import type { Express, RequestHandler } from "express";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import {
  chromium,
  closeAll,
  closeChromium,
  consentPage,
  htmlPage,
  newContext,
  signedInPage,
  startWebHost,
  type WebHost,
} from "./chromium";
import { describeWith } from "../../__tests__/servers/server-process";

afterEach(closeAll);
afterAll(closeChromium);

/** What a script of the client's page is told when it calls the MCP server without a token. */
async function challengeSeenBy(...middleware: readonly RequestHandler[]): Promise<unknown> {
  const protect: RequestHandler = (req, res, next) =>
    host.auth.requireBearer({ api: "orders", scope: "orders:read" })(req, res, next);
  const before = (app: Express): void => void app.use("/mcp", ...middleware, protect);
  const host: WebHost = await startWebHost({ before });
  const page = await (await newContext()).newPage();
  await page.goto(`${host.site.loopback}/app`);
  return page.evaluate(async (url) => {
    const headers = { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
    try {
      const response = await fetch(url, { method: "POST", headers, body: "{}" });
      return `${response.status} ${response.headers.get("www-authenticate")}`;
    } catch {
      return "blocked";
    }
  }, `${host.origin}/mcp`);
}

describeWith(chromium, {
  name: "the challenge in a page of another origin (RFC 9728 §5.1)",
  tests: () => {
    it("can be read where the host's CORS lets the page call the MCP server", async () => {
      expect(await challengeSeenBy(cors())).toMatch(
        /^401 Bearer realm=.*, resource_metadata="https:\/\/api\.example\/\.well-known\/oauth-protected-resource\/orders", scope="orders:read"$/,
      );
    });

    it("is out of reach where the host has no CORS", async () => {
      expect(await challengeSeenBy((_req, _res, next) => next())).toBe("blocked");
    });
  },
});

interface Found {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
}

/** From the address of the MCP server to a client id. It runs in the page. */
async function findAndRegister({
  origin,
  redirectUri,
}: {
  origin: string;
  redirectUri: string;
}): Promise<Found> {
  const version = { "mcp-protocol-version": "2025-11-25" };
  const json = { ...version, "content-type": "application/json" };
  const refused = await fetch(`${origin}/mcp`, { method: "POST", headers: json, body: "{}" });
  const [, metadataUrl = ""] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  // the host of the test has another address than its API
  const metadata = await fetch(origin + new URL(metadataUrl).pathname, { headers: version });
  const { authorization_servers: servers } = (await metadata.json()) as { authorization_servers: string[] };
  const { pathname } = new URL(servers[0] ?? "");
  const server = await fetch(`${origin}/.well-known/oauth-authorization-server${pathname}`, {
    headers: version,
  });
  const known = (await server.json()) as Record<string, string>;
  const registered = await fetch(known["registration_endpoint"] ?? "", {
    method: "POST",
    headers: json,
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      client_name: "MCP Inspector",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      scope: "",
    }),
  });
  return {
    authorizationEndpoint: known["authorization_endpoint"] ?? "",
    tokenEndpoint: known["token_endpoint"] ?? "",
    clientId: ((await registered.json()) as { client_id: string }).client_id,
  };
}

/** Redeems the code and calls the MCP server. It runs in the page. */
async function redeemAndCall({
  origin,
  tokenEndpoint,
  fields,
}: {
  origin: string;
  tokenEndpoint: string;
  fields: Record<string, string>;
}): Promise<{ tokens: Record<string, unknown>; called: unknown }> {
  const redeemed = await fetch(tokenEndpoint, { method: "POST", body: new URLSearchParams(fields) });
  const tokens = (await redeemed.json()) as Record<string, string>;
  const headers = { authorization: `Bearer ${tokens["access_token"]}`, "content-type": "application/json" };
  const called = await fetch(`${origin}/mcp`, { method: "POST", headers, body: "{}" });
  return { tokens, called: await called.json() };
}

const inspectorPath = "/oauth/callback";

/** A host whose API "orders" is behind /mcp, and where scripts of the given names of the client's site may register. */
async function inspectedHost(...names: readonly (keyof WebHost["site"])[]): Promise<WebHost> {
  const protect: RequestHandler = (req, res, next) =>
    host.auth.requireBearer({ api: "orders", scope: "orders:read" })(req, res, next);
  const answer: RequestHandler = (req, res) => res.json(host.auth.mcpAuth(req).extra);
  const host: WebHost = await startWebHost({
    before: (app) => void app.use("/mcp", cors(), protect, answer),
    forSite: (site) => ({
      apis: {
        orders: {
          audience: "https://api.example/orders",
          authMethods: ["password"],
          scopes: { "orders:read": "See your orders" },
          defaultScopes: ["orders:read"],
          clientRegistration: {
            approve: () => ({ kind: "approved" }),
            browserOrigins: names.map((name) => site[name]),
          },
        },
      },
    }),
  });
  host.pages.set(inspectorPath, htmlPage("MCP Inspector", ""));
  return host;
}

describeWith(chromium, {
  name: "the MCP Inspector's direct mode: a client in a page that registers itself (RFC 7591 §3, Fetch standard)",
  tests: () => {
    it("registers, gets a token and calls the MCP server, all from its page", async () => {
      const host = await inspectedHost("localhost");
      const { origin, site } = host;
      const redirectUri = site.localhost + inspectorPath;
      const page = await signedInPage(host, await newContext());
      await page.goto(`${site.localhost}/app`);
      const { clientId, authorizationEndpoint, tokenEndpoint } = await page.evaluate(findAndRegister, {
        origin,
        redirectUri,
      });
      const common = {
        client_id: clientId,
        redirect_uri: redirectUri,
        resource: "https://api.example/orders",
      };
      const challenge = { code_challenge: codeChallenge, code_challenge_method: "S256" };
      const query = new URLSearchParams({ response_type: "code", ...common, ...challenge });
      await page.goto(`${authorizationEndpoint}?${query.toString()}`);
      await consentPage(page).allow.click();
      await page.getByRole("heading", { name: "MCP Inspector" }).waitFor();
      const code = new URL(page.url()).searchParams.get("code") ?? "";
      const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier, ...common };
      const { tokens, called } = await page.evaluate(redeemAndCall, { origin, tokenEndpoint, fields });
      expect(called).toMatchObject({ subject: "alice" });
      // a script cannot protect one from other scripts on its page
      expect(tokens).not.toHaveProperty("refresh_token");
    });

    it("cannot register from a page that is not listed", async () => {
      const { origin, site, requests } = await inspectedHost("localhost");
      const page = await (await newContext()).newPage();
      await page.goto(`${site.loopback}/app`);
      const redirectUri = site.loopback + inspectorPath;
      await expect(page.evaluate(findAndRegister, { origin, redirectUri })).rejects.toThrow(
        "Failed to fetch",
      );
      expect(requests.at(-1)).toMatch(/^OPTIONS .*\/register$/);
    });
  },
});
