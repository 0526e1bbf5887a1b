import express, { type Express } from "express";
import request from "supertest";
import { type AuthServer, createAuthServer, generateSigningKey, memoryStorage } from "../../lib";
import { apis } from "../fixture/host";

afterEach(() => jest.restoreAllMocks());

const method = { authenticate: () => ({ kind: "interaction", url: "/signin" }) as const };

function authServer(baseUrl: string): AuthServer {
  return createAuthServer({
    baseUrl,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [] }),
    authMethods: { password: method, otp: method, sso: method },
    apis,
  });
}

/** The warnings of mounting that three requests to a host's app bring up. */
async function warningsOf(
  baseUrl: string,
  mount: (app: Express, auth: AuthServer) => unknown,
): Promise<string[]> {
  const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const auth = authServer(baseUrl);
  const app = express();
  mount(app, auth);
  for (const path of ["/login/jwks", "/jwks", "/other/jwks"]) await request(app).get(path);
  return warned.mock.calls
    .map(([message]) => String(message))
    .filter((message) => message.includes("mounted"));
}

describe("mounting is checked with the first request (RFC 8414 §3.1, 9728 §3.1)", () => {
  it("has nothing to say where everything is mounted at its place", async () => {
    const warnings = await warningsOf("https://host.example/login", (app, { router, wellKnown }) => {
      app.use("/login", router).use(wellKnown);
    });
    expect(warnings).toEqual([]);
  });

  it("knows the root as a place", async () => {
    const warnings = await warningsOf("https://host.example", (app, { router, wellKnown }) => {
      app.use(router).use(wellKnown);
    });
    expect(warnings).toEqual([]);
  });

  it("says once where the router should be", async () => {
    const warnings = await warningsOf("https://host.example/login", (app, { router, wellKnown }) => {
      app.use("/other", router).use("/", router).use(wellKnown);
    });
    expect(warnings).toEqual([
      'auth.router is mounted at "", but baseUrl is https://host.example/login: write app.use("/login", auth.router), unless a proxy rewrites paths.',
    ]);
  });

  it("says that wellKnown is missing", async () => {
    const warnings = await warningsOf("https://host.example/login", (app, auth) => {
      app.use("/login", auth.router);
    });
    expect(warnings).toEqual([expect.stringContaining("auth.wellKnown is not mounted")]);
  });

  it("is left out in production", async () => {
    jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
    const warnings = await warningsOf("https://host.example/login", (app, { router }) => app.use(router));
    expect(warnings).toEqual([]);
  });
});

async function pageOf(environment: string): Promise<string> {
  jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: environment });
  const auth = authServer("https://host.example/login");
  const app = express();
  app.use("/login", auth.router).use(auth.wellKnown);
  const path = "/login/auth/password/api/orders/authorize?client_id=nobody";
  return (await request(app).get(path).set("Accept", "text/html")).text;
}

describe("an error page tells developers the rule and what to do (RFC 6749 §4.1.2.1)", () => {
  it("in development", async () => {
    expect(await pageOf("development")).toContain("RFC 6749 §2.2): register it, or mend client_id");
  });

  it("never in production", async () => {
    const page = await pageOf("production");
    expect(page).toContain("The client is unknown.");
    expect(page).not.toContain("For developers");
  });
});
