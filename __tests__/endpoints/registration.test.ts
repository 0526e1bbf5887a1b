import request from "supertest";
import { pairPath } from "../hosts/apis";
import { publicKeys } from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { answerOf, corsHeaders, refusal, serverError } from "../requests/json-answers";
import { parsers } from "../requests/parsers";
import { rawRequest } from "../requests/raw-request";
import {
  nativeMetadata,
  register,
  registered,
  registerPath,
  registrationHost,
  webMetadata,
} from "../requests/registration";

const clock = stopClockForEachTest();

const codesOf = (host: TestHost): unknown[] =>
  host.events.map((event) => ("code" in event ? event.code : event.kind));

describe("the endpoint (RFC 7591 §3; RFC 8414 §2)", () => {
  it("is in the metadata of the issuers whose API allows it, and of no other", async () => {
    const host = registrationHost();
    const read = async (path: string): Promise<Record<string, unknown>> => {
      const { body } = await request(host.app).get(`${path}/.well-known/oauth-authorization-server`);
      return body as Record<string, unknown>;
    };
    for (const method of ["password", "otp", "sso"] as const) {
      const issuer = `https://host.example${pairPath({ method })}`;
      expect(await read(pairPath({ method }))).toMatchObject({ registration_endpoint: `${issuer}/register` });
    }
    expect(await read(pairPath({ api: "reports" }))).not.toHaveProperty("registration_endpoint");
  });

  it.each([
    ["an API that does not allow it", registerPath({ api: "reports" })],
    ["a pair that does not exist", "/login/auth/password/api/nothing/register"],
  ])("at %s is the same 404", async (_, path) => {
    const response = await request(registrationHost().app).post(path).send(webMetadata);
    expect(answerOf(response)).toEqual({
      status: 404,
      body: { error: "not_found", error_description: "There is no authorization server at this address." },
    });
  });

  it("does not exist by default", async () => {
    const response = await request(testHost().app).post(registerPath()).send(webMetadata);
    expect(response.status).toBe(404);
  });

  it.each(["GET", "PUT", "DELETE"])("answers %s with 405", async (method) => {
    const { app } = registrationHost();
    const response = await rawRequest(app, { method, path: registerPath() });
    expect([response.status, response.headers.allow]).toEqual([405, "POST, OPTIONS"]);
  });

  it("also answers in front of the app", async () => {
    const { auth, app } = registrationHost();
    const body = JSON.stringify(webMetadata);
    const headers = { "Content-Type": "application/json" };
    const message = { method: "POST", path: registerPath(), headers, chunks: [body] };
    const response = await rawRequest(auth.inFrontOf(app), message);
    expect(response.status).toBe(201);
  });
});

describe("the answer (RFC 7591 §3.2.1)", () => {
  it("to a web app: a secret that does not expire, and the defaults of §2", async () => {
    const response = await register(registrationHost(), webMetadata);
    expect(answerOf(response)).toEqual({
      status: 201,
      body: {
        client_id: expect.stringMatching(/^dcr-[\w-]{8}-[\w-]{22}$/),
        client_id_issued_at: clock.now(),
        client_secret: expect.stringMatching(/^[\w-]{43}$/),
        client_secret_expires_at: 0,
        redirect_uris: ["https://app.example/callback"],
        client_name: "app.example",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["authorization_code"],
        response_types: ["code"],
        scope: "orders:read orders:write",
      },
    });
    expect(response.headers).toMatchObject({
      "cache-control": "no-store",
      "content-type": "application/json",
    });
  });

  it("to an app on a device: no secret, and refresh tokens because it named them", async () => {
    const response = await register(registrationHost(), nativeMetadata);
    expect(response.body).toEqual({
      client_id: expect.any(String),
      client_id_issued_at: clock.now(),
      redirect_uris: ["http://127.0.0.1/callback"],
      client_name: "Desk App",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "orders:read orders:write",
    });
  });

  it.each(["registration_access_token", "registration_client_uri"])(
    "has no %s: RFC 7592 is left out",
    async (name) => {
      expect((await register(registrationHost(), webMetadata)).body).not.toHaveProperty(name);
    },
  );

  it("stores a digest in place of the secret, and a subscription to this API alone", async () => {
    const host = registrationHost();
    const { client_id, client_secret = "" } = await registered(host, webMetadata);
    const stored = await host.storage.clientRegistrations.find(client_id, clock.now());
    expect(stored).toEqual({
      clientId: client_id,
      name: "app.example",
      redirectUris: ["https://app.example/callback"],
      confidential: true,
      secretDigests: [expect.stringMatching(/^sha256:/)],
      subscriptions: { orders: { grantTypes: ["authorization_code"] } },
    });
    expect(client_secret).not.toBe("");
    expect(JSON.stringify(stored)).not.toContain(client_secret);
  });

  it("tells the host by an event that names the id and nothing that the client says", async () => {
    const host = registrationHost();
    const { client_id } = await registered(host, webMetadata);
    const issuer = `https://host.example${pairPath()}`;
    expect(host.events).toEqual([
      { kind: "client-registered", at: clock.now(), issuer, clientId: client_id },
    ]);
  });

  it("ends after an hour", async () => {
    const host = registrationHost();
    const { client_id } = await registered(host, webMetadata);
    const find = (): Promise<unknown> => host.storage.clientRegistrations.find(client_id, clock.now());
    clock.advance(3_599);
    expect(await find()).toBeDefined();
    clock.advance(1);
    expect(await find()).toBeUndefined();
  });
});

/** A host that approves every client, for these scopes or for all. */
function grantingHost(scopes?: readonly string[]): TestHost {
  return registrationHost({ approve: () => ({ kind: "approved", ...(scopes && { scopes }) }) });
}

describe("scope (RFC 7591 §2)", () => {
  it.each([
    // MCP clients register with the scopes of their first challenge, and need more with the next
    ["more than was asked for", "orders:read", undefined, "orders:read orders:write"],
    ["without what the API does not have", "openid orders:write", undefined, "orders:read orders:write"],
    ["without what the host does not allow", "orders:read orders:write", ["orders:read"], "orders:read"],
    ["what the host allows, where nothing was asked for", undefined, ["orders:read"], "orders:read"],
    ["everything for an empty text", " ", undefined, "orders:read orders:write"],
  ])("is %s", async (_, scope, allowed, expected) => {
    const { body } = await register(grantingHost(allowed), { ...webMetadata, scope });
    expect(body).toMatchObject({ scope: expected });
  });

  it("of which nothing remains is refused", async () => {
    const host = registrationHost();
    const response = await register(host, { ...webMetadata, scope: "openid" });
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_client_metadata", "This client may have none of these scopes."),
    );
    expect(codesOf(host)).toEqual(["no-scope-of-api"]);
  });

  it("of which the host allows nothing is refused, too", async () => {
    const host = grantingHost(["orders:read"]);
    const response = await register(host, { ...webMetadata, scope: "orders:write" });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_client_metadata"));
    expect(codesOf(host)).toEqual(["no-scope-allowed"]);
  });
});

describe("what is ignored (RFC 7591 §2)", () => {
  const unusable = {
    "client_name#de": "Anders",
    logo_uri: "https://tracker.example/logo.png",
    application_type: "native",
    contacts: ["me@app.example"],
    software_id: "x",
    client_uri: "http://app.example",
    policy_uri: "javascript:alert(1)",
    tos_uri: 7,
    constructor: "x",
    trusted: true,
    client_id: "chosen",
    client_secret: "chosen",
    subscriptions: { reports: {} },
  };

  it("fields that this server does not use are neither stored nor returned", async () => {
    const host = registrationHost();
    const plain = (await register(host, nativeMetadata)).body as object;
    const { body } = await register(host, { ...nativeMetadata, ...unusable });
    expect(body).toEqual({ ...plain, client_id: expect.stringMatching(/^dcr-/) });
  });

  it("links that pages can show are kept", async () => {
    const links = {
      client_uri: "https://app.example/",
      policy_uri: "https://app.example/p",
      tos_uri: "https://app.example/t",
    };
    const { body } = await register(registrationHost(), { ...webMetadata, ...links });
    expect(body).toMatchObject(links);
  });

  it("null counts as left out", async () => {
    const nothing = { scope: null, grant_types: null, jwks_uri: null, token_endpoint_auth_method: null };
    const { status, body } = await register(registrationHost(), { ...webMetadata, ...nothing });
    expect([status, body]).toMatchObject([201, { grant_types: ["authorization_code"] }]);
  });

  it.each([
    ["an unknown grant", ["authorization_code", "urn:example:grant"], ["authorization_code"]],
    ["client_credentials", ["client_credentials", "authorization_code"], ["authorization_code"]],
    [
      "implicit",
      ["implicit", "refresh_token", "authorization_code"],
      ["authorization_code", "refresh_token"],
    ],
  ])("%s, and the answer says what was registered", async (_, asked, expected) => {
    const { body } = await register(registrationHost(), { ...webMetadata, grant_types: asked });
    expect(body).toMatchObject({ grant_types: expected });
  });
});

const [key] = publicKeys;

describe("refusals (RFC 7591 §3.2.2)", () => {
  it.each([
    ["a list in place of an object", [webMetadata]],
    ["another client authentication", { ...webMetadata, token_endpoint_auth_method: "tls_client_auth" }],
    ["client_secret_jwt", { ...webMetadata, token_endpoint_auth_method: "client_secret_jwt" }],
    ["grants without authorization_code", { ...webMetadata, grant_types: ["client_credentials"] }],
    ["no grant at all", { ...webMetadata, grant_types: [] }],
    ["grants that are no list", { ...webMetadata, grant_types: "authorization_code" }],
    ["response types without code", { ...webMetadata, response_types: ["token"] }],
    ["a scope that is no text", { ...webMetadata, scope: ["orders:read"] }],
    ["a malformed scope", { ...webMetadata, scope: 'orders:read "x"' }],
    ["private_key_jwt without a key", { ...webMetadata, token_endpoint_auth_method: "private_key_jwt" }],
    ["jwks and jwks_uri", { ...webMetadata, jwks: { keys: [key] }, jwks_uri: "https://app.example/jwks" }],
    [
      "a jwks_uri without TLS",
      {
        ...webMetadata,
        token_endpoint_auth_method: "private_key_jwt",
        jwks_uri: "http://app.example/jwks",
      },
    ],
    ["a private key", { ...webMetadata, jwks: { keys: [{ ...key, d: "d" }] } }],
    ["a symmetric key", { ...webMetadata, jwks: { keys: [{ kty: "oct", k: "k" }] } }],
    [
      "keys that this server cannot use",
      {
        ...webMetadata,
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [{ ...key, x: "x" }] },
      },
    ],
    ["a key set without a key", { ...webMetadata, jwks: { keys: [] } }],
    ["eleven keys", { ...webMetadata, jwks: { keys: Array.from({ length: 11 }, () => key) } }],
    ["a key that is none", { ...webMetadata, jwks: { keys: ["key"] } }],
  ])("invalid_client_metadata for %s", async (_, metadata) => {
    const host = registrationHost();
    expect(answerOf(await register(host, metadata))).toEqual(refusal(400, "invalid_client_metadata"));
    expect(host.events).toMatchObject([{ kind: "registration-refused", error: "invalid_client_metadata" }]);
  });

  it.each([
    ["none", {}],
    ["an empty list", { redirect_uris: [] }],
    ["a text", { redirect_uris: "https://app.example/callback" }],
    ["a number in the list", { redirect_uris: [7] }],
    ["a long one", { redirect_uris: [`https://app.example/${"x".repeat(2_000)}`] }],
    ["plain http", { redirect_uris: ["http://app.example/callback"] }],
    ["a fragment", { redirect_uris: ["https://app.example/#x"] }],
    ["a wildcard", { redirect_uris: ["https://*.app.example/"] }],
    ["one bad among good ones", { redirect_uris: ["https://app.example/", "ftp://app.example/"] }],
    ["a custom scheme of a client with a secret", { redirect_uris: ["com.example.app:/callback"] }],
  ])("invalid_redirect_uri for redirect URIs: %s", async (_, metadata) => {
    expect(answerOf(await register(registrationHost(), metadata))).toEqual(
      refusal(400, "invalid_redirect_uri"),
    );
  });

  it("tells the host that a client which sends an empty list may try again, and the client what to send", async () => {
    const host = registrationHost();
    const description = "redirect_uris must be a list of 1 to 10 URIs of at most 2000 characters.";
    const response = await register(host, { redirect_uris: [] });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_redirect_uri", description));
    expect(host.events).toMatchObject([{ kind: "registration-refused", code: "redirect-uris-empty" }]);
  });

  it("unapproved_software_statement for a software statement", async () => {
    const response = await register(registrationHost(), { ...webMetadata, software_statement: "e30.e30." });
    expect(answerOf(response)).toEqual(refusal(400, "unapproved_software_statement"));
  });

  it("access_denied with 403 when the host refuses, with its words", async () => {
    const host = registrationHost({ approve: () => ({ kind: "refused", description: "Ask us first." }) });
    expect(answerOf(await register(host, webMetadata))).toEqual(
      refusal(403, "access_denied", "Ask us first."),
    );
    expect(host.events).toMatchObject([{ kind: "registration-refused", error: "access_denied" }]);
  });

  it.each([
    ["a form", "redirect_uris=x", { "Content-Type": "application/x-www-form-urlencoded" }],
    ["no media type that is JSON", "{}", { "Content-Type": "text/json" }],
    ["broken JSON", '{"redirect_uris":', {}],
    ["nothing", "", {}],
  ])("invalid_request for %s", async (_, body, headers) => {
    const response = await register(registrationHost(), body, { headers });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });
});

describe("keys (RFC 7591 §2, RFC 7517 §4)", () => {
  const keyMetadata = { ...webMetadata, token_endpoint_auth_method: "private_key_jwt" };

  it("are stored and returned without members that are not theirs, and there is no secret", async () => {
    const { body } = await register(registrationHost(), {
      ...keyMetadata,
      jwks: { keys: [{ ...key, x5c: ["…"], note: "x".repeat(10_000) }] },
    });
    expect(body).toMatchObject({ jwks: { keys: [key] } });
    expect(body).not.toHaveProperty("client_secret");
    expect((body as { jwks: { keys: unknown[] } }).jwks.keys).toEqual([key]);
  });

  it("may be at a URL", async () => {
    const host = registrationHost();
    const { client_id } = await registered(host, { ...keyMetadata, jwks_uri: "https://app.example/jwks" });
    expect(await host.storage.clientRegistrations.find(client_id, clock.now())).toMatchObject({
      confidential: true,
      jwksUri: "https://app.example/jwks",
    });
  });
});

describe("an app that registers several redirect URIs at once (RFC 8252 §7)", () => {
  const metadata = {
    ...nativeMetadata,
    redirect_uris: [
      "editor://vendor.editor-mcp/oauth/callback",
      "https://www.editor.example/agents/oauth/callback",
      "http://localhost:8787/callback",
    ],
  };

  it("works when the host lists its scheme", async () => {
    const host = registrationHost({}, { redirectSchemes: ["editor"] });
    const { client_id } = await registered(host, metadata);
    const stored = await host.storage.clientRegistrations.find(client_id, clock.now());
    expect(stored).toMatchObject({ platform: "native", redirectUris: metadata.redirect_uris });
  });

  it("is refused as a whole when it does not: the client hears which kind, the host which option", async () => {
    const host = registrationHost();
    expect(answerOf(await register(host, metadata))).toEqual(
      refusal(
        400,
        "invalid_redirect_uri",
        "This server does not accept a redirect URI with this custom scheme.",
      ),
    );
    expect(codesOf(host)).toEqual(["redirect-scheme-without-dot"]);
  });
});

describe("scripts (Fetch standard, RFC 9700 §2.6)", () => {
  const page = "http://localhost:6274";
  const browserHost = (): TestHost => registrationHost({ browserOrigins: [page] });
  const atPage = { ...nativeMetadata, redirect_uris: [`${page}/oauth/callback`] };

  it("of a listed origin become browser clients, without refresh tokens", async () => {
    const host = browserHost();
    const { body } = await register(host, atPage, { headers: { Origin: page } });
    const { client_id } = body as { client_id: string };
    expect(body).toMatchObject({ grant_types: ["authorization_code"] });
    expect(await host.storage.clientRegistrations.find(client_id, clock.now())).toMatchObject({
      platform: "browser",
    });
  });

  it("stay native when one redirect URI leads elsewhere", async () => {
    const { redirect_uris } = atPage;
    const elsewhere = { ...atPage, redirect_uris: [...redirect_uris, "http://localhost:9999/callback"] };
    const { body } = await register(browserHost(), elsewhere);
    expect(body).toMatchObject({ grant_types: ["authorization_code", "refresh_token"] });
  });

  it("may read the answer, and ask for it first", async () => {
    const host = browserHost();
    const names = "content-type,authorization,mcp-protocol-version";
    const asked = await request(host.app)
      .options(registerPath())
      .set({ Origin: page, "Access-Control-Request-Headers": names });
    expect(asked.headers).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": names,
      vary: "Origin",
    });
    const posted = await register(host, atPage, { headers: { Origin: page } });
    expect(posted.headers).toMatchObject({ "access-control-allow-origin": page, vary: "Origin" });
    const refused = await register(host, {}, { headers: { Origin: page } });
    expect(refused.headers).toMatchObject({ "access-control-allow-origin": page });
  });

  it.each(["https://evil.example", "null", "https://spa.example"])("of %s may not", async (origin) => {
    const host = browserHost();
    const asked = await request(host.app).options(registerPath()).set("Origin", origin);
    const posted = await register(host, atPage, { headers: { Origin: origin } });
    expect([asked, posted].map(corsHeaders)).toEqual([[], []]);
  });
});

describe("the decision of the host (clientRegistration.approve)", () => {
  it("is asked with the request and the metadata, which nobody can change", async () => {
    const asked: unknown[] = [];
    const host = registrationHost({
      approve: (req, metadata) => {
        asked.push([req.headers.authorization, metadata, Object.isFrozen(metadata.redirect_uris)]);
        return { kind: "approved" };
      },
    });
    await register(host, { ...nativeMetadata, x: [1] }, { headers: { Authorization: "Bearer initial" } });
    const metadata = { ...nativeMetadata, sent: { ...nativeMetadata, x: [1] } };
    expect(asked).toEqual([["Bearer initial", metadata, true]]);
  });

  it.each([
    ["nothing", undefined],
    ["true", true],
    ["another kind", { kind: "accepted" }],
    ["scopes that the API does not have", { kind: "approved", scopes: ["openid"] }],
    ["scopes that are no list", { kind: "approved", scopes: "orders:read" }],
    ["undefined scopes", { kind: "approved", scopes: undefined }],
    ["a description with a quotation mark", { kind: "refused", description: 'No "x".' }],
  ])("that is nonsense is a server_error and stores nothing: %s", async (_, answer) => {
    const host = registrationHost({ approve: () => answer as never });
    expect(answerOf(await register(host, webMetadata))).toEqual(serverError);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: expect.any(TypeError) }]);
  });
});

describe("body parsers of the host ahead of the router (RFC 7591 §3.1)", () => {
  it.each(Object.entries(parsers))("%s: registers", async (_, handlers) => {
    const before: NonNullable<Parameters<typeof testHost>[0]>["before"] = (app) => {
      for (const handler of handlers) app.use(handler);
    };
    const host = registrationHost({}, { before });
    expect((await register(host, nativeMetadata)).body).toMatchObject({ client_name: "Desk App" });
    expect((await register(host, [])).body).toMatchObject({ error: "invalid_client_metadata" });
  });
});
