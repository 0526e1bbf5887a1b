import request from "supertest";
import { pairPath } from "../fixture/apis";
import { hearAnswers, unsubscribeAfterEachTest } from "../fixture/channels";
import { ownToken } from "../fixture/client-requests";
import { testHost } from "../fixture/host";

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
