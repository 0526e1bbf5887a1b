/** The package cors on the API, and on everything. */
import cors from "cors";
import express, { type Express } from "express";
import request from "supertest";
import { authorizeUrl, live, newWalker } from "../../__tests__/clients/client-life";
import { pairPath } from "../../__tests__/hosts/apis";
import { testHost } from "../../__tests__/hosts/host";
import { runBlock } from "../../__tests__/sources/doc-block";
import {
  byCookie,
  issuerPath,
  listenLocally,
  type LocalServer,
  neighbourHost,
  optionsAt,
} from "../../__tests__/hosts/neighbour-host";
import { createAuthServer } from "../../lib";

const shop = "https://shop.example";
const stranger = "https://stranger.example";

let host: LocalServer;

const ask = (path: string, init: RequestInit): Promise<Response> => fetch(`${host.origin}${path}`, init);

const preflightHeaders = (origin: string): Record<string, string> => ({
  origin,
  "access-control-request-method": "GET",
  "access-control-request-headers": "authorization",
});

describe("cors on the API, as in the recipe", () => {
  afterEach(() => host.close());
  beforeEach(async () => {
    host = await listenLocally((origin) => {
      const app = express();
      const auth = createAuthServer(optionsAt(origin, byCookie));
      runBlock({ heading: "cors" }, { app, auth });
      return app;
    });
  });

  it("answers the preflight of the site that it knows, without a token", async () => {
    const { status, headers } = await ask("/orders", { method: "OPTIONS", headers: preflightHeaders(shop) });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([204, shop]);
    expect(headers.get("access-control-allow-headers")).toBe("authorization");
  });

  it("lets a script of that site read why it was refused (RFC 6750 §3)", async () => {
    const { status, headers } = await ask("/orders", { headers: { origin: shop } });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([401, shop]);
    const exposed = headers.get("access-control-expose-headers")?.split(/, ?|,/) ?? [];
    expect(exposed).toEqual(expect.arrayContaining(["WWW-Authenticate", "Retry-After"]));
    expect(headers.get("vary")).toContain("Origin");
  });

  it("lets no other site read an answer", async () => {
    const { headers } = await ask("/orders", { headers: { origin: stranger } });
    expect(headers.get("access-control-allow-origin")).not.toBe(stranger);
  });

  it("changes nothing at the token endpoint", async () => {
    const body = new URLSearchParams({ client_id: "none" });
    const { headers } = await ask(`${issuerPath}/token`, { method: "POST", headers: { origin: shop }, body });
    expect(headers.has("access-control-allow-origin")).toBe(false);
  });
});

const mount = (app: Express): void => void app.use(cors({ origin: true, credentials: true }));
const readable = (headers: Headers): boolean =>
  headers.has("access-control-allow-origin") || headers.has("access-control-allow-credentials");

describe("cors on everything, and a browser client (Fetch standard: CORS check)", () => {
  const spa = "https://spa.example";
  const token = `${pairPath()}/token`;

  it.each([
    ["cors()", cors()],
    ["cors() with credentials", cors({ origin: true, credentials: true })],
  ])("%s: the answer names one origin, that of the client, and exposes what it says", async (_, handler) => {
    const { app } = testHost({ before: (bare) => void bare.use(handler) });
    const asked = request(app).post(token).set("Origin", spa).type("form");
    const { headers } = await asked.send({ grant_type: "authorization_code", client_id: "spa", code: "x" });
    expect(headers["access-control-allow-origin"]).toBe(spa);
    expect(headers["access-control-expose-headers"]).toBe("Retry-After");
  });

  it("documents stay open to everybody", async () => {
    const { app } = testHost({ before: (bare) => void bare.use(cors()) });
    for (const path of ["/login/jwks", `${pairPath()}/.well-known/oauth-authorization-server`]) {
      const { headers } = await request(app).get(path).set("Origin", spa);
      expect(headers["access-control-allow-origin"]).toBe("*");
    }
  });
});

describe("cors with credentials on everything, which nobody should do (RFC 9700 §2.6)", () => {
  afterEach(() => host.close());
  beforeEach(async () => {
    host = await neighbourHost({ ahead: mount });
  });

  it("lets no script read the consent page, a redirect or an error page", async () => {
    const walker = newWalker(host.origin);
    walker.cookies.set("session", "alice");
    const headers = { origin: stranger };
    const page = await walker.browse(authorizeUrl(host.origin), { headers });
    expect([page.status, page.text.includes("form_token"), readable(page.headers)]).toEqual([
      200,
      true,
      false,
    ]);
    const silent = await walker.browse(authorizeUrl(host.origin, { prompt: "none" }), { headers });
    expect([silent.status, readable(silent.headers)]).toEqual([302, false]);
    for (const accept of ["text/html", "application/json"]) {
      const wrong = authorizeUrl(host.origin, { client_id: "nobody" });
      const failed = await walker.browse(wrong, { headers: { ...headers, accept } });
      expect([failed.status, readable(failed.headers)]).toEqual([400, false]);
    }
  });

  it("cannot make the consent form take a script's answer", async () => {
    const walker = newWalker(host.origin);
    walker.cookies.set("session", "alice");
    const page = await walker.browse(authorizeUrl(host.origin));
    const token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const interaction = /name="interaction" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const forged = await walker.browse(`${issuerPath}/authorize/consent`, {
      method: "POST",
      headers: { origin: stranger },
      body: new URLSearchParams({ form_token: token, interaction, decision: "approve" }),
    });
    expect(forged.headers.get("location") ?? "").not.toContain("code=");
  });

  it("leaves the answers of the API readable, and their challenge", async () => {
    const life = await live(host);
    expect(life.to("GET /orders")).not.toEqual([]);
    const { headers } = await ask("/orders", { headers: { origin: stranger } });
    expect(headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
  });
});
