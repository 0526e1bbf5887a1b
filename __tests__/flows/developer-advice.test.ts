import express, { type Express } from "express";
import request from "supertest";
import { type AuthServer, createAuthServer, generateSigningKey, memoryStorage } from "../../lib";
import { apis, pairPath } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import type { Fields } from "../browser/browser";
import { postToken } from "../requests/client-requests";
import { type ClientName, credentials } from "../hosts/clients";
import { testHost } from "../hosts/host";

afterEach(() => jest.restoreAllMocks());

const method = { authenticate: () => ({ kind: "interaction", url: "/signin" }) as const };

function authServer(baseUrl: string): AuthServer {
  return createAuthServer({
    baseUrl,
    secrets: ["a-test-secret-of-at-least-32-characters"],
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
      'auth.router is mounted at "/", but the path of baseUrl (https://host.example/login) is "/login". Write app.use("/login", auth.router). If a proxy in front of this app changes "/login" to "/", the mount is right and you can ignore this warning.',
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
    expect(await pageOf("development")).toContain("client-document-refused says more (no-such-client).");
  });

  it("never in production", async () => {
    const page = await pageOf("production");
    expect(page).toContain("The client is unknown.");
    expect(page).not.toContain("For developers");
  });
});

describe("a pending request that does not come back tells developers why (RFC 6265 §5.4)", () => {
  const resume = `${pairPath()}/authorize/resume?interaction=${"A".repeat(22)}`;

  async function codeFor(headers: Record<string, string>, options = {}): Promise<string> {
    const host = testHost(options);
    await request(host.app).get(resume).set(headers);
    const [event] = host.events;
    return event?.kind === "authorization-denied" ? event.code : "";
  }

  it.each([
    ["in a frame", { "Sec-Fetch-Dest": "iframe" }, "cookie-lost-in-frame"],
    ["over http where baseUrl is https", {}, "cookie-lost-over-http"],
    ["behind a proxy", { "X-Forwarded-Proto": "https" }, "cookie-lost"],
    ["with another pending request", { Cookie: "__Host-authmount.B=x" }, "interaction-over"],
  ])("%s", async (_, headers, code) => {
    expect(await codeFor(headers)).toBe(code);
  });

  it("at another host than baseUrl's", async () => {
    const local = { baseUrl: "http://localhost:3000/login" };
    expect(await codeFor({ Host: "127.0.0.1:3000" }, local)).toBe("cookie-lost-at-other-host");
    expect(await codeFor({ Host: "localhost:3000" }, local)).toBe("cookie-lost");
  });
});

describe("the event of a refusal tells the rule and what to do (RFC 6749 §4.1.2.1, §5.2)", () => {
  const advice = /(?:RFC \d{4}|OpenID Connect Core) .*: .+/;

  it.each<readonly [string, ClientName, Fields]>([
    ["no PKCE of a public client", "native", { code_challenge: "", code_challenge_method: "" }],
    ["a plain challenge", "native", { code_challenge_method: "plain" }],
    ["a malformed challenge", "native", { code_challenge: "short" }],
    ["no response_type", "web", { response_type: "" }],
    ["another response_type", "web", { response_type: "token" }],
    ["a malformed scope", "web", { scope: '"' }],
    ["a scope beyond the subscription", "web", { scope: "orders:delete" }],
    ["another resource", "web", { resource: "https://api.example/files" }],
    ["an unknown prompt", "web", { prompt: "create" }],
    ["prompt=none beside login", "web", { prompt: "none login" }],
    ["max_age in words", "web", { max_age: "long" }],
    ["another redirect URI", "web", { redirect_uri: "https://web.example/other" }],
    ["an unknown client", "web", { client_id: "nobody" }],
    ["prompt=none without a consent", "web", { prompt: "none" }],
  ])("at the authorization endpoint: %s", async (_, client, fields) => {
    const host = testHost();
    await authorize(host.browser(), { client, fields });
    const denied = host.events.find(({ kind }) => kind === "authorization-denied");
    expect(denied).toMatchObject({ reason: expect.stringMatching(advice) as unknown });
  });

  it.each<readonly [string, Fields]>([
    ["no grant_type", {}],
    ["an unknown grant_type", { grant_type: "password" }],
    ["a missing code", { grant_type: "authorization_code" }],
    ["a grant of another kind of client", { grant_type: "client_credentials", client_id: "native" }],
    ["no client_id", { client_id: "", client_secret: "" }],
  ])("at the token endpoint: %s", async (_, fields) => {
    const host = testHost();
    const { client_secret: secret, ...named } = { ...credentials("web"), ...fields };
    const isPublic = named["client_id"] === "native";
    await postToken(host, { fields: isPublic ? named : { ...named, client_secret: secret ?? "" } });
    const refused = host.events.find(({ kind }) => kind === "token-refused");
    expect(refused).toMatchObject({ reason: expect.stringMatching(advice) as unknown });
  });
});
