import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { Request } from "express";
import request from "supertest";
import type { McpAuth } from "../../lib";
import { postToken } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";

stopClockForEachTest();

type Api = "orders" | "reports";

async function tokenOfAlice(host: TestHost, api: Api = "orders"): Promise<string> {
  const pair = { api } as const;
  const fields = { scope: `${api}:read` };
  return (await obtainTokens(host, { client: "web", pair, fields })).access_token;
}

/** A host whose route shows what `mcpAuth` gives, and a call of it. */
async function read(
  show: (info: McpAuth, req: Request & { auth?: unknown }) => unknown,
  { api = "orders", token, ...options }: TestHostOptions & { api?: Api; token?: string } = {},
): Promise<unknown> {
  const host = testHost(options);
  host.app.get("/mcp", host.auth.requireBearer({ api }), (req, res) => {
    res.json(show(host.auth.mcpAuth(req), req));
  });
  return (await callApi(host, "/mcp", token ?? (await tokenOfAlice(host, api)))).body;
}

describe("auth.mcpAuth", () => {
  it.each(["orders", "reports"] as const)("says what the token of %s says, with its text", async (api) => {
    const host = testHost();
    const token = await tokenOfAlice(host, api);
    host.app.get(
      "/mcp",
      host.auth.requireBearer({ api }),
      (req, res) => void res.json(host.auth.mcpAuth(req)),
    );
    expect((await callApi(host, "/mcp", token)).body).toEqual({
      token,
      clientId: "web",
      scopes: [`${api}:read`],
      expiresAt: 1_800_000_000 + (api === "orders" ? 600 : 120),
      resource: `https://api.example/${api}`,
      extra: {
        subject: "alice",
        issuer: `https://host.example/login/auth/password/api/${api}`,
        tokenId: expect.any(String),
        authorizationId: expect.any(String),
        issuedAt: 1_800_000_000,
        authTime: expect.any(Number),
      },
    });
  });

  it("names the resource by a URL, the audience of the API", async () => {
    expect(await read(({ resource }) => [resource instanceof URL, resource.href])).toEqual([
      true,
      "https://api.example/orders",
    ]);
  });

  it("hands on the claims of the host", async () => {
    const tokens = { decide: () => ({ kind: "issue", claims: { tenant: "acme" } }) as const };
    expect(await read(({ extra }) => extra["claims"], { tokens })).toEqual({ tenant: "acme" });
  });

  it("names no subject for a token that a client got for itself", async () => {
    const host = testHost();
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      const { clientId, extra } = host.auth.mcpAuth(req);
      res.json([clientId, "subject" in extra]);
    });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const { access_token } = (await postToken(host, { fields })).body as { access_token: string };
    expect((await callApi(host, "/mcp", access_token)).body).toEqual(["machine", false]);
  });

  it("takes the scheme written in any way, and any number of spaces (RFC 9110 §11.4)", async () => {
    const host = testHost();
    const token = await tokenOfAlice(host);
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      res.json(host.auth.mcpAuth(req).token === token);
    });
    const response = await request(host.app).get("/mcp").set("Authorization", `bEARER   ${token}  `);
    expect(response.body).toBe(true);
  });

  it("is a copy: what its holder changes stays with the holder", async () => {
    const host = testHost();
    const token = await tokenOfAlice(host);
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      const info = host.auth.mcpAuth(req);
      info.scopes.push("orders:write");
      info.extra["subject"] = "mallory";
      const { scopes, extra } = host.auth.mcpAuth(req);
      const { scopes: own, subject } = host.auth.accessToken(req);
      res.json([scopes, extra["subject"], own, subject]);
    });
    const expected = [["orders:read"], "alice", ["orders:read"], "alice"];
    expect((await callApi(host, "/mcp", token)).body).toEqual(expected);
    expect((await callApi(host, "/mcp", token)).body).toEqual(expected);
  });

  it("leaves req.auth as it is, without the text of the token", async () => {
    const answer = await read(({ token }, req) => [JSON.stringify(req.auth).includes(token), req.auth]);
    expect(answer).toEqual([false, expect.objectContaining({ clientId: "web", subject: "alice" })]);
  });

  it("does not believe what has been written to req.auth", async () => {
    const host = testHost();
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      Object.assign(req, { auth: { clientId: "mallory", scopes: ["orders:write"] } });
      res.json(host.auth.mcpAuth(req).clientId);
    });
    expect((await callApi(host, "/mcp", await tokenOfAlice(host))).body).toBe("web");
  });
});

describe("auth.mcpAuth where there is no verified token", () => {
  it("says what to do when the request has not passed requireBearer", async () => {
    const host = testHost();
    host.app.get("/open", (req, res) => {
      Object.assign(req, { auth: { clientId: "web", scopes: [] } });
      expect(() => host.auth.mcpAuth(req)).toThrow(expect.objectContaining({ code: "route-not-protected" }));
      res.json("thrown");
    });
    expect((await callApi(host, "/open", await tokenOfAlice(host))).body).toBe("thrown");
  });

  it("knows nothing of requests that another server has let pass", async () => {
    const [host, other] = [testHost(), testHost()];
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      expect(() => other.auth.mcpAuth(req)).toThrow(expect.objectContaining({ code: "route-not-protected" }));
      res.json("thrown");
    });
    expect((await callApi(host, "/mcp", await tokenOfAlice(host))).body).toBe("thrown");
  });

  it("says so when something has removed the header since", async () => {
    const host = testHost();
    host.app.get("/mcp", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      delete req.headers.authorization;
      expect(() => host.auth.mcpAuth(req)).toThrow(
        expect.objectContaining({ code: "authorization-header-gone" }),
      );
      res.json("thrown");
    });
    expect((await callApi(host, "/mcp", await tokenOfAlice(host))).body).toBe("thrown");
  });
});

describe("the type of auth.mcpAuth", () => {
  it("is the MCP SDK's AuthInfo without a cast", () => {
    const { mcpAuth } = testHost().auth;
    const authInfoOf = (req: Request): AuthInfo => mcpAuth(req);
    expect(() => authInfoOf({} as Request)).toThrow(TypeError);
  });
});
