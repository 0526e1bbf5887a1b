import express from "express";
import request from "supertest";
import { createAuthServer, generateSigningKey, memoryStorage } from "../../lib";

const auth = createAuthServer({
  baseUrl: "http://localhost:3000/login",
  secrets: ["a test secret of at least 32 characters"],
  signingKeys: [generateSigningKey()],
  storage: memoryStorage({ clients: [] }),
  authMethods: { password: { authenticate: () => ({ kind: "denied" }) } },
  apis: { orders: { audience: "http://localhost:3000/orders", authMethods: ["password"], scopes: {} } },
  onEvent: () => undefined,
});
const app = express().use("/login", auth.router).use(auth.wellKnown);

const documents = [
  "/.well-known/oauth-authorization-server/login/auth/password/api/orders",
  "/.well-known/oauth-protected-resource/orders",
  "/login/auth/password/api/orders/.well-known/oauth-authorization-server",
  "/login/jwks",
];

describe.each(documents)("a preflight for %s (RFC 8414 §3, 9728 §3, 7517 §5)", (path) => {
  it("allows the headers that a script asks for", async () => {
    const answer = await request(app)
      .options(path)
      .set("Origin", "https://app.example")
      .set("Access-Control-Request-Method", "GET")
      .set("Access-Control-Request-Headers", "mcp-protocol-version, x-trace");
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "mcp-protocol-version, x-trace",
    });
    expect(answer.headers).not.toHaveProperty("access-control-allow-credentials");
  });

  it.each(["a b", "a,,b", "<script>", `a${",a".repeat(1_000)}`])(
    "reflects nothing but names: %j",
    async (names) => {
      const answer = await request(app).options(path).set("Access-Control-Request-Headers", names);
      expect(answer.status).toBe(204);
      expect(answer.headers).not.toHaveProperty("access-control-allow-headers");
    },
  );

  it("says which methods there are", async () => {
    const answer = await request(app).post(path);
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});
