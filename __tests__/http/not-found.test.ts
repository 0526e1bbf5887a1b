import { type Addresses, maxShownPath, notFoundReader, type RouterSeen } from "../../lib/http/not-found";

const atLogin: Addresses = {
  mountPath: "/Login",
  issuers: [
    "https://host.example/Login/auth/password/api/orders",
    "https://host.example/Login/auth/otp/api/orders",
  ],
  documents: [
    "https://host.example/.well-known/oauth-authorization-server/Login/auth/password/api/orders",
    "https://host.example/.well-known/oauth-protected-resource/orders",
  ],
};
const atRoot: Addresses = {
  mountPath: "",
  issuers: ["https://host.example/auth/password/api/orders"],
  documents: ["https://host.example/.well-known/oauth-authorization-server/auth/password/api/orders"],
};

const places: readonly RouterSeen[] = ["never", "in-place", "elsewhere"];
const openid = "/.well-known/openid-configuration";
const pair = "/login/auth/password/api/orders";

/** What is wrong, by where the router was found. */
function codesOf(addresses: Addresses, path: string): readonly (string | undefined)[] {
  const read = notFoundReader(addresses);
  return places.map((router) => read(path, router)?.code);
}

describe("a request that was answered with 404 (RFC 8414 §3.1, 9728 §3.1)", () => {
  it.each<[string, string, string | undefined, string | undefined, string | undefined]>([
    [
      "a document",
      "/.well-known/oauth-protected-resource/orders",
      "well-known-not-mounted",
      "well-known-not-mounted",
      "well-known-not-mounted",
    ],
    [
      "a document, in other case",
      "/.Well-Known/oauth-authorization-server/LOGIN/auth/password/api/orders",
      "well-known-not-mounted",
      "well-known-not-mounted",
      "well-known-not-mounted",
    ],
    ["an endpoint", `${pair}/token`, "router-never-reached", "unknown-address", undefined],
    [
      "an endpoint, in other case",
      `${pair.toUpperCase()}/TOKEN`,
      "router-never-reached",
      "unknown-address",
      undefined,
    ],
    ["the issuer itself", pair, "unknown-address", "unknown-address", "unknown-address"],
    [
      "an endpoint without the path of baseUrl",
      "/auth/otp/api/orders/token",
      "base-path-missing",
      "base-path-missing",
      undefined,
    ],
    [
      "another pair",
      "/login/auth/password/api/files/token",
      "unknown-address",
      "unknown-address",
      "unknown-address",
    ],
    [
      "a pair with slashes too many",
      "/login//auth//password//api/x",
      "unknown-address",
      "unknown-address",
      "unknown-address",
    ],
    ["an endpoint at baseUrl", "/login/token", "unknown-address", "unknown-address", "unknown-address"],
    ["an endpoint at the root", "/authorize", "unknown-address", "unknown-address", "unknown-address"],
    [
      "metadata of no issuer",
      "/.well-known/oauth-authorization-server",
      "unknown-address",
      "unknown-address",
      "unknown-address",
    ],
    [
      "metadata of another issuer",
      "/.well-known/oauth-authorization-server/login/auth/x",
      "unknown-address",
      "unknown-address",
      "unknown-address",
    ],
    [
      "OpenID Connect at the root",
      openid,
      "openid-metadata-asked",
      "openid-metadata-asked",
      "openid-metadata-asked",
    ],
    [
      "OpenID Connect at the root, of an issuer",
      `${openid}${pair}`,
      "openid-metadata-asked",
      "openid-metadata-asked",
      "openid-metadata-asked",
    ],
    [
      "OpenID Connect below an issuer",
      `${pair}${openid}`,
      "router-never-reached",
      "openid-metadata-asked",
      "openid-metadata-asked",
    ],
    ["OpenID Connect of another server", `${openid}/other`, undefined, undefined, undefined],
    [
      "metadata of another server",
      "/.well-known/oauth-authorization-server/logins",
      undefined,
      undefined,
      undefined,
    ],
    ["a page of the host", "/orders", undefined, undefined, undefined],
    [
      "a path like a pair, deeper down",
      "/login/v1/auth/password/api/orders/token",
      undefined,
      undefined,
      undefined,
    ],
    ["a path like a pair, outside of baseUrl", "/other/auth/x/api/y", undefined, undefined, undefined],
    ["an endpoint's name below another path", "/other/token", undefined, undefined, undefined],
  ])("for %s, with the router never reached, in place, elsewhere", (_, path, ...codes) => {
    expect(codesOf(atLogin, path)).toEqual(codes);
  });

  it.each<[string, string, readonly (string | undefined)[]]>([
    [
      "an endpoint",
      "/auth/password/api/orders/token",
      ["router-never-reached", "unknown-address", undefined],
    ],
    ["another pair", "/auth/x/api/y/token", ["unknown-address", "unknown-address", "unknown-address"]],
    ["a path like a pair, deeper down", "/v1/auth/x/api/y", [undefined, undefined, undefined]],
    [
      "OpenID Connect at the root",
      openid,
      ["openid-metadata-asked", "openid-metadata-asked", "openid-metadata-asked"],
    ],
  ])("where baseUrl has no path, for %s", (_, path, codes) => {
    expect(codesOf(atRoot, path)).toEqual(codes);
  });
});

describe("the warning about it", () => {
  const at = (path: string, router: RouterSeen, addresses = atLogin) =>
    notFoundReader(addresses)(path, router);
  const [document, orders] = atLogin.documents as [string, string];

  it("says where wellKnown belongs", () => {
    const path = new URL(orders).pathname;
    expect(at(path, "in-place")).toEqual({
      code: "well-known-not-mounted",
      message: `A request for ${path} was answered with 404. Clients look there for metadata: write app.use(auth.wellKnown), without a path and before the handler that answers 404.`,
    });
  });

  it.each([
    [atLogin, "/Login", "/Login/auth/… was"],
    [atRoot, "/", "/auth/… was"],
  ])("says where the router belongs", (addresses, mount, asked) => {
    const { pathname } = new URL(`${addresses.issuers[0]}/token`);
    expect(at(pathname, "never", addresses)).toEqual({
      code: "router-never-reached",
      message: `A request for ${asked} answered with 404 and never reached auth.router. Write app.use("${mount}", auth.router), before the handler that answers 404.`,
    });
  });

  it("says that the path of baseUrl was left out", () => {
    expect(at("/auth/password/api/orders/token", "in-place")).toEqual({
      code: "base-path-missing",
      message:
        'A request for /auth/… was answered with 404, because the path of baseUrl is "/Login". If the client left out "/Login", correct the client. If a proxy in front of this app removes it, write app.use("/", auth.router), or let the proxy keep the path.',
    });
  });

  it("says that this is no OpenID Connect", () => {
    expect(at(openid, "in-place")).toEqual({
      code: "openid-metadata-asked",
      message: `A client asked for ${openid}, the metadata of OpenID Connect, and the answer was 404: no API has openid at this address. Set the client to OAuth 2.0 and have it read ${document}, or give its API the option openid.`,
    });
  });

  it("says where the endpoints are", () => {
    expect(at("/token", "in-place")).toEqual({
      code: "unknown-address",
      message: `A request for /token was answered with 404: there is no such address. Endpoints are directly below an issuer, such as ${atLogin.issuers[0]}/token; its metadata is at ${document}. Issuers: ${atLogin.issuers.join(", ")}.`,
    });
  });

  it.each([`${pair}/`, `${openid}/login/`])("shows only the beginning of a long path: %s…", (start) => {
    const path = start.padEnd(maxShownPath + 1, "x");
    const message = at(path, "in-place")?.message ?? "";
    expect(message).toContain(path.slice(0, maxShownPath));
    expect(message).not.toContain(path);
  });
});
