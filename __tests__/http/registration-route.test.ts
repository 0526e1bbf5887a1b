import request from "supertest";
import { hearAnswers, unsubscribeAfterEachTest } from "../requests/channels";
import type { TestHost } from "../hosts/host";
import { answerOf, corsHeaders, refusal } from "../requests/json-answers";
import { rawRequest } from "../requests/raw-request";
import {
  nativeMetadata,
  register,
  registerPath,
  registrationHost,
  webMetadata,
} from "../requests/registration";

unsubscribeAfterEachTest();

const page = "http://localhost:6274";

function preflight(host: TestHost, origin: string) {
  return request(host.app).options(registerPath()).set("Origin", origin);
}

describe("a registration that cannot be read (RFC 7591 §3.1, §3.2.2)", () => {
  it("has two Authorization headers: the host would see only one of them", async () => {
    const host = registrationHost();
    const answer = await rawRequest(host.app, {
      method: "POST",
      path: registerPath(),
      headers: { "Content-Type": "application/json", Authorization: ["Bearer one", "Bearer two"] },
      chunks: [JSON.stringify(webMetadata)],
    });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      400,
      { error: "invalid_request", error_description: "Send one Authorization header." },
    ]);
    expect(host.events).toMatchObject([{ kind: "registration-refused", error: "invalid_request" }]);
  });

  it("is too large, which ends the connection: more of it may be on its way (RFC 9110 §15.5.14)", async () => {
    const large = { ...webMetadata, note: "x".repeat(70_000) };
    const answer = await register(registrationHost(), large, { headers: { Connection: "keep-alive" } });
    expect(answerOf(answer)).toEqual(refusal(413, "invalid_request", "The body is too large."));
    expect(answer.headers).toHaveProperty("connection", "close");
  });
});

describe("scripts at the registration endpoint (Fetch standard)", () => {
  it("of a listed origin may wait as long as Retry-After says", async () => {
    const host = registrationHost({ browserOrigins: [page] });
    const answer = await register(host, nativeMetadata, { headers: { Origin: page } });
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-expose-headers": "Retry-After",
    });
  });

  it("of a listed origin may send the headers that they ask for, such as those of an MCP client", async () => {
    const host = registrationHost({ browserOrigins: [page] });
    const names = "content-type,mcp-protocol-version";
    const { headers } = await preflight(host, page).set("Access-Control-Request-Headers", names);
    expect(headers["access-control-allow-headers"]).toBe(names);
  });

  it("of a listed origin need not ask again for ten minutes", async () => {
    const host = registrationHost({ browserOrigins: [page] });
    const { status, headers } = await preflight(host, page);
    expect([status, headers["access-control-max-age"]]).toEqual([204, "600"]);
  });

  it.each([
    ["where no origin is listed", {}],
    ["of another origin", { browserOrigins: ["https://other.example"] }],
  ])("get an answer without CORS headers %s", async (_, adapter) => {
    const host = registrationHost(adapter);
    const asked = await preflight(host, page);
    const posted = await register(host, nativeMetadata, { headers: { Origin: page } });
    expect([asked.status, posted.status]).toEqual([204, 201]);
    expect([asked, posted].map(corsHeaders)).toEqual([[], []]);
  });

  it("that send no Origin are no scripts of another page", async () => {
    const host = registrationHost({ browserOrigins: [page] });
    const asked = await request(host.app).options(registerPath());
    const posted = await register(host, nativeMetadata);
    expect([asked.status, posted.status]).toEqual([204, 201]);
    expect([asked, posted].map(corsHeaders)).toEqual([[], []]);
  });
});

describe("a registration while somebody watches requests", () => {
  it("is told of by its name and the path of all issuers", async () => {
    const answers = hearAnswers();
    await register(registrationHost(), webMetadata);
    expect(answers).toMatchObject([
      { endpoint: "registration", route: "/login/auth/:authMethodId/api/:apiId/register", status: 201 },
    ]);
  });
});
