/** A host tests what relying parties learn, with `authmount/testing`. OpenID Connect Core §5.3. */
import express from "express";
import request from "supertest";
import { createAuthServer, memoryStorage } from "../../lib";
import { testSignIn, testTokens } from "../../lib/testing";
import { clients } from "../hosts/clients";
import { baseUrl, pairPath } from "../hosts/apis";
import { accessKey, aliceClaims, idKey } from "./provider";

const options = {
  baseUrl,
  secrets: ["a-test-secret-of-at-least-32-characters"],
  signingKeys: [accessKey, idKey],
  storage: memoryStorage({ clients: [clients.web] }),
  authMethods: { password: testSignIn().authMethod },
  apis: {
    orders: {
      audience: "https://api.example/orders",
      authMethods: ["password"],
      scopes: {},
      openid: {
        claims: ({ subject }: { subject: string }) => (subject === "alice" ? aliceClaims : undefined),
      },
    },
  },
};

describe("tokens with identity scopes for the tests of a host", () => {
  const tokens = testTokens(options);
  const app = express().use("/login", createAuthServer({ ...options, onEvent: () => undefined }).router);
  const told = async (subject: string) => {
    const token = await tokens.issue({ api: "orders", client: "web", subject, scope: "openid email" });
    return request(app).get(`${pairPath()}/userinfo`).auth(token, { type: "bearer" });
  };

  it("show what userinfo tells", async () => {
    const { body } = await told("alice");
    expect(body).toEqual({ sub: "alice", email: "alice@example.org", email_verified: true });
    expect((await told("a person who is gone")).status).toBe(401);
  });

  it("are never a client's own", async () => {
    await expect(tokens.issue({ api: "orders", client: "web", scope: "email" })).rejects.toMatchObject({
      code: "scope-not-allowed",
    });
  });
});
