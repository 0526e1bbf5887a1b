import type { IncomingMessage, ServerResponse } from "node:http";
import request from "supertest";
import { pairPath } from "../hosts/apis";
import { hearAnswers, unsubscribeAfterEachTest } from "../requests/channels";
import { ownToken } from "../requests/client-requests";
import { testHost } from "../hosts/host";
import { rawRequest } from "../requests/raw-request";

unsubscribeAfterEachTest();

const issuer = `https://host.example${pairPath()}`;
const template = "/auth/:authMethodId/api/:apiId";

describe("what those who watch requests are told of the route", () => {
  it.each([
    ["token", "/login", "token"],
    ["authorization", "/login", "authorize"],
    ["resume", "/login", "authorize/resume"],
    ["metadata", "/login", ".well-known/oauth-authorization-server"],
    ["metadata", "", ".well-known/oauth-authorization-server"],
    ["token", "/id/v1", "token"],
  ])("%s below %j: the path with the names of its parameters", async (endpoint, mountPath, name) => {
    const answers = hearAnswers();
    const { app } = testHost({ baseUrl: `https://host.example${mountPath}` });
    await request(app).get(`${mountPath}/auth/otp/api/reports/${name}`);
    expect(answers).toMatchObject([
      {
        endpoint,
        method: "GET",
        route: `${mountPath}${template}/${name}`,
        issuer: `https://host.example${mountPath}/auth/otp/api/reports`,
        apiId: "reports",
      },
    ]);
  });

  it("a document at the root has its own path", async () => {
    const answers = hearAnswers();
    const { app } = testHost();
    const paths = ["/login/jwks", "/.well-known/oauth-protected-resource/orders"];
    for (const path of paths) await request(app).get(`${path}?a=b`);
    expect(answers).toMatchObject([
      { endpoint: "keys", method: "GET", route: paths[0], status: 200 },
      { endpoint: "metadata", method: "GET", route: paths[1], status: 200 },
    ]);
  });

  it("comes with how the request was answered", async () => {
    const answers = hearAnswers();
    await ownToken(testHost(), { client: "web" });
    await ownToken(testHost(), { client: "web", scope: "nonsense" });
    const route = `/login${template}/token`;
    expect(answers).toMatchObject([
      { endpoint: "token", method: "POST", route, issuer, status: 200 },
      { endpoint: "token", method: "POST", route, issuer, status: 400, oauthError: "invalid_scope" },
    ]);
  });
});

describe("what a host adds to a router of this library", () => {
  it.each(["/login/anything", "/login/auth/otp/api/reports/anything"])("is reached: %s", async (path) => {
    const { app, auth } = testHost();
    auth.router.use((_req, res) => void res.json({ from: "the host" }));
    const { body } = await request(app).get(path);
    expect(body).toEqual({ from: "the host" });
  });
});

describe("two Authorization headers (RFC 6749 §2.3)", () => {
  it("are refused, and the client is told why", async () => {
    const { app } = testHost();
    const basic = `Basic ${Buffer.from("web:secret").toString("base64")}`;
    const { status, text } = await rawRequest(app, {
      method: "POST",
      path: `${pairPath()}/token`,
      headers: { Authorization: [basic, basic], "Content-Type": "application/x-www-form-urlencoded" },
    });
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { error: "invalid_request", error_description: "Use one client authentication method." },
    ]);
  });
});

function fails(): never {
  throw new Error("the response is broken");
}

describe("an answer in front of the app that can't be written", () => {
  it("ends the connection, so that nobody waits for it", async () => {
    const { auth, app } = testHost();
    const listener = auth.inFrontOf(app);
    const url = `${pairPath()}/.well-known/oauth-authorization-server`;
    const req = { url, method: "GET", headers: {}, rawHeaders: [], socket: {} } as unknown as IncomingMessage;
    await new Promise<void>((resolve) => {
      const res = { setHeader: fails, writeHead: fails, end: fails, destroy: () => resolve() };
      listener(req, res as unknown as ServerResponse);
    });
  });
});
