import { generateKeyPairSync } from "node:crypto";
import express, { type Express } from "express";
import request, { type Response } from "supertest";
import * as authmount from "../lib";
import { apis, baseUrl, pairPath } from "./hosts/apis";
import { authorizationParameters, codeVerifier } from "./browser/authorization-request";
import { redirectParameters } from "./browser/authorize";
import { newBrowser } from "./browser/browser";
import { clients, credentials } from "./hosts/clients";
import { stopClock } from "./hosts/clock";

afterEach(() => jest.restoreAllMocks());

const { createAuthServer, memoryStorage } = authmount;

const signingKeys = [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey];

function authServer(consent: authmount.AuthServerOptions["consent"]): authmount.AuthServer {
  const method: authmount.AuthMethod = {
    authenticate: () => ({ kind: "authenticated", subject: "alice", authTime: 1_799_999_000 }),
  };
  return createAuthServer({
    baseUrl,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys,
    storage: memoryStorage({ clients: Object.values(clients) }),
    authMethods: { password: method, otp: method, sso: method },
    apis,
    ...(consent && { consent }),
  });
}

/** The interaction id that a page of the host was given. */
function interactionIn({ headers }: Response): string {
  return new URL(headers["location"] as string, baseUrl).searchParams.get("interaction") ?? "none";
}

describe("the package", () => {
  it("exports these names at run time and no others", () => {
    expect(Object.keys(authmount).toSorted()).toEqual([
      "addClient",
      "browserOriginsOf",
      "changeClient",
      "createAuthServer",
      "defaultLifetimes",
      "digestClientSecret",
      "generateClientKey",
      "generateClientSecret",
      "generateSigningKey",
      "maxAuthorizations",
      "maxConsents",
      "memoryStorage",
      "rotateClientSecret",
    ]);
  });

  it("has the default lifetimes that the documents name", () => {
    expect(authmount.defaultLifetimes).toEqual({
      authorizationCodeSeconds: 60,
      interactionSeconds: 600,
      refreshTokenIdleSeconds: 14 * 24 * 3_600,
      refreshTokenSeconds: 90 * 24 * 3_600,
      refreshRetrySeconds: 0,
      consentSeconds: 365 * 24 * 3_600,
    });
  });
});

/** A host that has taken the server apart: none of its parts can reach the others by `this`. */
function hostOf({
  router,
  wellKnown,
  requireBearer,
  accessToken,
  interaction,
  resume,
  approve,
  deny,
}: authmount.AuthServer): Express {
  const app = express();
  app.use("/login", router);
  app.use(wellKnown);
  app.get("/orders", requireBearer({ api: "orders" }), (req, res) => void res.json(accessToken(req)));
  app.get("/asks", async (req, res) => void res.json(await interaction(req)));
  app.post("/back", (req, res) => resume(req, res));
  app.post("/yes", (req, res) => approve(req, res));
  app.post("/no", (req, res) => deny(req, res));
  return app;
}

describe("an authorization server", () => {
  it("has these members and no others", () => {
    const server = authServer(undefined);
    expect(Object.keys(server).toSorted()).toEqual([
      "accessToken",
      "apis",
      "approve",
      "assessment",
      "authorizations",
      "challenge",
      "clients",
      "consents",
      "deny",
      "inFrontOf",
      "interaction",
      "mcpAuth",
      "mcpScopes",
      "requireBearer",
      "resume",
      "rotateKeys",
      "router",
      "subjects",
      "wellKnown",
    ]);
    expect(Object.keys(server.consents).toSorted()).toEqual(["list", "narrow", "revoke"]);
    expect(Object.keys(server.authorizations).toSorted()).toEqual(["list", "revoke"]);
    expect(Object.keys(server.subjects).toSorted()).toEqual(["erase", "revoke"]);
    expect(Object.keys(server.clients)).toEqual(["revoke"]);
    expect(Object.keys(server.apis)).toEqual(["revoke"]);
  });

  it("works in parts, without this", async () => {
    stopClock();
    const server = authServer({ decide: () => ({ kind: "interaction", url: "/asks" }) });
    const { list, revoke } = server.consents;
    const app = hostOf(server);
    const browser = newBrowser(app);
    const parameters = authorizationParameters("web");

    const first = await browser.get(`${pairPath()}/authorize`, parameters);
    const interaction = interactionIn(first);
    const page = await browser.get(`/asks?interaction=${interaction}`);
    expect(page.body).toMatchObject({ interactionId: interaction, client: { clientId: "web" } });
    const back = await browser.post(`/back?interaction=${interaction}`);
    expect(back.headers["location"]).toBe(
      `https://host.example${pairPath()}/authorize/resume?interaction=${interaction}`,
    );

    const answer = await browser.post(`/yes?interaction=${interaction}`);
    expect(answer.status).toBe(303);
    const { code = "" } = redirectParameters(answer);
    const tokens = await request(app)
      .post(`${pairPath()}/token`)
      .type("form")
      .send({
        ...credentials("web"),
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
      });
    const { access_token } = tokens.body as { access_token: string };
    const called = await request(app).get("/orders").auth(access_token, { type: "bearer" });
    expect(called.body).toMatchObject({ subject: "alice", clientId: "web" });

    const document = await request(app).get("/.well-known/oauth-protected-resource/orders");
    expect(document.body).toMatchObject({ resource: "https://api.example/orders" });

    expect((await list("alice")).consents).toMatchObject([
      { clientId: "web", apiId: "orders", scopes: ["orders:read"] },
    ]);
    await revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await list("alice")).consents).toEqual([]);

    const again = await browser.get(`${pairPath()}/authorize`, parameters);
    const denied = await browser.post(`/no?interaction=${interactionIn(again)}`);
    expect(redirectParameters(denied)).toMatchObject({ error: "access_denied", state: "a state" });
  });
});
