import { discoverAuthorizationServerMetadata as discoverBy2 } from "@modelcontextprotocol/client";
import { discoverAuthorizationServerMetadata as discoverBy1 } from "@modelcontextprotocol/sdk/client/auth.js";
import request from "supertest";
import { apis, baseUrl, issuer } from "../../__tests__/hosts/apis";
import { testHost } from "../../__tests__/hosts/host";

const atRoot = "/.well-known/oauth-authorization-server";

describe("the order of the authorization servers of an API (RFC 9728 §2; MCP clients take the first)", () => {
  it.each([
    ["orders", ["sso", "password", "otp"]],
    ["reports", ["otp", "sso"]],
    ["files", ["password", "otp", "sso"]],
  ] as const)("is that of the authMethods of %s", async (api, authMethods) => {
    const changed = Object.entries(apis).map(([id, options]) => [
      id,
      { ...options, ...(id === api && { authMethods }) },
    ]);
    const host = testHost({ apis: Object.fromEntries(changed) as typeof apis });
    const { body } = await request(host.app).get(`/.well-known/oauth-protected-resource/${api}`);
    expect(body).toMatchObject({
      authorization_servers: authMethods.map((id) => `${baseUrl}/auth/${id}/api/${api}`),
    });
  });
});

describe("the root of an origin (RFC 8414 §3.3; MCP 2025-03-26)", () => {
  it.each([atRoot, "/.well-known/oauth-protected-resource", "/authorize", "/token", "/register"])(
    "is left to the host: %s",
    async (path) => {
      const host = testHost();
      host.app.all(path, (_, res) => void res.json("of the host"));
      for (const method of ["get", "post", "options"] as const)
        expect((await request(host.app)[method](path)).body).toBe("of the host");
    },
  );

  /** What a host would send that puts the document of its first issuer there. */
  async function fetchAtRoot(): Promise<typeof fetch> {
    const host = testHost();
    const { body } = await request(host.app).get(`${atRoot}${new URL(issuer).pathname}`);
    return async (url) =>
      url instanceof URL && url.href === `https://host.example${atRoot}`
        ? Response.json(body)
        : new Response("", { status: 404 });
  }

  it("cannot help clients that compare the issuer: the MCP SDK 2 refuses the document of another one", async () => {
    const discovered = discoverBy2("https://host.example", { fetchFn: await fetchAtRoot() });
    await expect(discovered).rejects.toThrow("Issuer mismatch");
  });

  it("would lead clients that do not compare it to an issuer that they have not chosen: the MCP SDK 1", async () => {
    const discovered = await discoverBy1("https://host.example", { fetchFn: await fetchAtRoot() });
    expect(discovered?.issuer).toBe(issuer);
  });
});
