import cors from "cors";
import express, { type RequestHandler } from "express";
import request from "supertest";
import { stopClockForEachTest } from "../../__tests__/hosts/clock";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { callApi, obtainTokens } from "../../__tests__/browser/journey";

stopClockForEachTest();

const origin = "https://page.example";

function hostWith(...middleware: readonly RequestHandler[]): TestHost {
  const host = testHost({ before: (app) => middleware.forEach((each) => app.use("/orders", each)) });
  host.app.get("/orders/later", host.auth.requireBearer({ api: "orders" }), (req, res) =>
    host.auth.challenge(req, res, { api: "orders", scope: "orders:write" }),
  );
  return host;
}

async function exposed(host: TestHost, path = "/orders"): Promise<unknown> {
  const { headers } = await request(host.app).get(path).set("Origin", origin);
  expect(headers).toHaveProperty("www-authenticate");
  return headers["access-control-expose-headers"];
}

function preflight({ app }: TestHost) {
  return request(app).options("/orders").set({
    Origin: origin,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization",
  });
}

describe("the challenge, for a page of another origin (RFC 6750 §3, Fetch standard: CORS)", () => {
  it.each([
    ["any origin", cors()],
    ["this origin", cors({ origin })],
    ["this origin, with credentials", cors({ origin, credentials: true })],
  ])("can be read where the host allows %s", async (_, middleware) => {
    expect(await exposed(hostWith(middleware))).toBe("WWW-Authenticate");
  });

  it("keeps the headers that the host lets the page read", async () => {
    const middleware = cors({ exposedHeaders: ["Mcp-Session-Id", "Retry-After"] });
    expect(await exposed(hostWith(middleware))).toBe("Mcp-Session-Id,Retry-After, WWW-Authenticate");
  });

  it("can be read when it comes from auth.challenge", async () => {
    const host = hostWith(cors());
    const { access_token } = await obtainTokens(host, { client: "web", fields: { scope: "orders:read" } });
    const response = await callApi(host, "/orders/later", access_token);
    expect(response.status).toBe(403);
    expect(response.headers["access-control-expose-headers"]).toBe("WWW-Authenticate");
  });

  it.each([
    ["says nothing", []],
    ["allows another origin only", [cors({ origin: ["https://other.example"] })]],
  ])("cannot be read where the host %s", async (_, middleware) => {
    const { headers } = await request(hostWith(...middleware).app)
      .get("/orders")
      .set("Origin", origin);
    expect(headers).not.toHaveProperty("access-control-expose-headers");
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  });
});

describe("a preflight at a protected route (Fetch standard: CORS-preflight request)", () => {
  it("is the host's to answer, in front of requireBearer", async () => {
    const host = hostWith(cors({ origin }));
    const { status, headers } = await preflight(host);
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization",
    });
    expect(host.events).toEqual([]);
  });

  it("is refused by requireBearer, which lets nothing pass without a token, and the host hears what to do", async () => {
    const host = hostWith();
    const { status, headers } = await preflight(host);
    expect(status).toBe(401);
    expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect(host.events).toMatchObject([
      {
        kind: "bearer-refused",
        code: "no-access-token-in-preflight",
      },
    ]);
  });

  it("is not every OPTIONS request", async () => {
    const host = hostWith();
    expect((await request(host.app).options("/orders")).status).toBe(401);
    expect(host.events).toMatchObject([{ kind: "bearer-refused", code: "no-access-token" }]);
  });

  it("reaches no handler, whatever it asks for", async () => {
    const host = testHost();
    let reached = 0;
    const handler: RequestHandler = (_req, res) => void res.json((reached += 1));
    host.app.all("/all", host.auth.requireBearer({ api: "orders" }), handler);
    host.app.use(
      "/below",
      host.auth.requireBearer({ api: "orders" }),
      express.Router().all("/*any", handler),
    );
    for (const path of ["/all", "/below/x"])
      for (const method of ["GET", "DELETE", "OPTIONS"])
        expect(
          (
            await request(host.app)
              .options(path)
              .set({ Origin: origin, "Access-Control-Request-Method": method })
          ).status,
        ).toBe(401);
    expect(reached).toBe(0);
  });
});
