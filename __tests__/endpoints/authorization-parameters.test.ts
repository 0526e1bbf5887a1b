import { issuer, pairPath } from "../hosts/apis";
import { description, redirectOf, refusedByRedirect } from "./authorization-answers";
import { codeChallenge } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, testHost } from "../hosts/host";
import { obtainCode, obtainTokens } from "../browser/journey";

stopClockForEachTest();

describe("repeated, empty and unknown parameters (RFC 6749 §3.1)", () => {
  const values = {
    response_type: "code",
    response_mode: "query",
    scope: "orders:read",
    state: "a state",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
    prompt: "login",
    resource: "https://api.example/orders",
    max_age: "60",
    login_hint: "alice",
    ui_locales: "en",
  };

  it.each(Object.entries(values))("refuses %s when it is repeated", async (name, value) => {
    const host = testHost();
    const response = await authorize(host.browser(), { client: "web", fields: { [name]: [value, value] } });
    const parameters = redirectParameters(response);
    // of two states neither is to be trusted
    const state = name === "state" ? {} : { state: "a state" };
    expect(parameters).toEqual({
      error: "invalid_request",
      error_description: description,
      ...state,
      iss: issuer,
    });
    expect(host.asked).toEqual([]);
  });

  it.each(Object.entries(values))("refuses %s when it is sent empty beside a value", async (name, value) => {
    const fields = { [name]: ["", value] };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses a repeated parameter that it does not know", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { utm: ["a", "b"] } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
  });

  it("ignores parameters that it does not know", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { nonce: "n", claims: "{}", display: "popup", "": "x" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(response)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it.each(["request", "request_uri"])("refuses %s, which it would overlook (Core §3.1.2.6)", async (name) => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { [name]: "eyJhbGciOiJub25lIn0.e30." };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectOf(response)).toEqual(refusedByRedirect(`${name}_not_supported`));
    expect(host.events).toMatchObject([
      {
        kind: "authorization-denied",
        code: "request-object-not-supported",
        reason: expect.not.stringContaining("eyJ"),
      },
    ]);
  });

  it("takes an empty state for none", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web", fields: { state: "" } });
    expect(Object.keys(redirectParameters(response))).toEqual(["code", "iss"]);
  });

  it("takes an empty scope for none: the API's default scopes", async () => {
    const tokens = await obtainTokens(testHost(), { client: "web", fields: { scope: "" } });
    expect(tokens.scope).toBe("orders:read");
  });

  it("takes an empty response_type for none", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { response_type: "" } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
  });

  it("takes empty PKCE parameters for none", async () => {
    const fields = { code_challenge: "", code_challenge_method: "" };
    const host = testHost({ clients: [trustedWeb, clients.spa] });
    expect(redirectParameters(await authorize(host.browser(), { client: "web", fields }))).toHaveProperty(
      "code",
    );
    const spa = await authorize(host.browser(), { client: "spa", fields });
    expect(redirectOf(spa)).toEqual(refusedByRedirect("invalid_request", { client: "spa" }));
  });

  it("takes empty prompt, max_age, resource, login_hint and ui_locales for none", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { prompt: "", max_age: "", resource: "", login_hint: "", ui_locales: "" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(response)).toHaveProperty("code");
    expect(host.asked).toEqual([{ reauthenticate: false, prompt: [] }]);
  });
});

describe("response_type (RFC 6749 §3.1.1, §4.1.2.1)", () => {
  it("is invalid_request when it is missing", async () => {
    const fields = { response_type: undefined };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
  });

  it.each(["token", "id_token", "code token", "CODE", "code "])(
    "is unsupported_response_type when it is %j",
    async (responseType) => {
      const fields = { response_type: responseType };
      const response = await authorize(testHost().browser(), { client: "web", fields });
      expect(redirectOf(response)).toEqual(refusedByRedirect("unsupported_response_type"));
    },
  );
});

describe("PKCE (RFC 7636 §4.3, §4.4.1; 9700 §2.1.1)", () => {
  const none = { code_challenge: undefined, code_challenge_method: undefined };
  const malformed = [
    ["a method without a challenge", { code_challenge: undefined }],
    ["a challenge without a method", { code_challenge_method: undefined }],
    ["the method plain", { code_challenge_method: "plain" }],
    ["the method s256", { code_challenge_method: "s256" }],
    ["a challenge of 42 characters", { code_challenge: "A".repeat(42) }],
    ["a challenge of 44 characters", { code_challenge: "A".repeat(44) }],
    ["a challenge with padding", { code_challenge: `${"A".repeat(42)}=` }],
    ["a challenge in base64", { code_challenge: `${"A".repeat(41)}+/` }],
    ["a challenge with a line feed", { code_challenge: `${"A".repeat(43)}\n` }],
  ] as const;

  describe.each(["web", "native", "spa"] as const)("client %s", (client) => {
    it.each(malformed)("may not send %s", async (_, fields) => {
      const response = await authorize(testHost().browser(), { client, fields });
      expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request", { client }));
    });
  });

  it.each(["native", "spa"] as const)("is needed by the public client %s", async (client) => {
    const response = await authorize(testHost().browser(), { client, fields: none });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request", { client }));
  });

  it("is needed by a public client that is trusted", async () => {
    const host = testHost({ clients: [{ ...clients.spa, trusted: true }] });
    const response = await authorize(host.browser(), { client: "spa", fields: none });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request", { client: "spa" }));
  });

  it("may be left out by a confidential client", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web", fields: none });
    const tokens = await redeem(host, { client: "web", code, fields: { code_verifier: undefined } });
    expect(tokens.status).toBe(200);
  });
});

describe("scope (RFC 6749 §3.3)", () => {
  it("stands for the API's default scopes when it is left out", async () => {
    const tokens = await obtainTokens(testHost(), { client: "web", fields: { scope: undefined } });
    expect(tokens.scope).toBe("orders:read");
  });

  it("stands for no scope when it is left out and the API has no default", async () => {
    const host = testHost();
    const asked = { client: "web", pair: { api: "files" }, fields: { scope: undefined } } as const;
    const browser = host.browser();
    const page = await authorize(browser, asked);
    expect(page.text).not.toContain('type="checkbox"');
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const tokens = await redeem(host, { client: "web", code, pair: { api: "files" } });
    expect(tokens.status).toBe(200);
    expect(host.events.at(-1)).toMatchObject({ kind: "token-issued", scopes: [] });
  });

  it("is cut to the subscription when it is left out", async () => {
    const writer = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:write"] } } };
    const host = testHost({ clients: [writer] });
    await authorize(host.browser(), { client: "web", fields: { scope: undefined } });
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", scopes: [] });
  });

  it("may not be left out where the API requires it", async () => {
    const asked = { client: "web", pair: { api: "reports" }, fields: { scope: undefined } } as const;
    const response = await authorize(testHost().browser(), asked);
    expect(redirectParameters(response)).toEqual({
      error: "invalid_scope",
      error_description: description,
      state: "a state",
      iss: `https://host.example${pairPath({ api: "reports" })}`,
    });
  });

  it.each([
    ["malformed", " orders:read"],
    ["malformed", "orders:read "],
    ["malformed", "orders:read  orders:write"],
    ["malformed", "orders:read\torders:write"],
    ["malformed", "orders:read,orders:write\n"],
    ["malformed", 'orders:"read"'],
    ["malformed", "orders:\\read"],
    ["malformed", "orders:réad"],
    ["unknown", "orders:delete"],
    ["unknown beside a known one", "orders:read orders:delete"],
    ["that of another API", "files:read"],
    ["in another case", "Orders:Read"],
    ["a property of every object", "constructor"],
    ["a property of every object", "__proto__"],
  ])("is invalid_scope when it is %s: %j", async (_, scope) => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { scope } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_scope"));
  });

  it("is invalid_scope beyond the client's subscription", async () => {
    const reader = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:read"] } } };
    const host = testHost({ clients: [reader] });
    const beyond = { scope: "orders:read orders:write" };
    expect(redirectOf(await authorize(host.browser(), { client: "web", fields: beyond }))).toEqual(
      refusedByRedirect("invalid_scope"),
    );
    expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
  });

  it("is invalid_scope when the subscription names a scope that the API has not", async () => {
    const client = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:read", "orders:admin"] } } };
    const fields = { scope: "orders:admin" };
    const response = await authorize(testHost({ clients: [client] }).browser(), { client: "web", fields });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_scope"));
  });

  it("counts a scope once that is named twice, and keeps the order", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { scope: "orders:write orders:read orders:write" };
    await authorize(host.browser(), { client: "web", fields });
    expect(host.events.at(-1)).toMatchObject({ scopes: ["orders:write", "orders:read"] });
  });
});

describe("resource (RFC 8707 §2)", () => {
  it("may name the API's audience", async () => {
    const fields = { resource: "https://api.example/orders" };
    expect((await authorize(testHost().browser(), { client: "web", fields })).status).toBe(200);
  });

  it.each([
    "https://api.example/files",
    "https://api.example/orders/",
    "https://api.example/orders#",
    "https://API.example/orders",
    "https://api.example",
    "orders",
    "https://evil.example/orders",
    "https://api.example/orders https://api.example/files",
  ])("is invalid_target when it is %j", async (resource) => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { resource } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_target"));
  });
});

describe("prompt (OpenID Connect Core §3.1.2.1)", () => {
  it.each(["none login", "none consent", "login none", "consent login none"])(
    "is invalid_request when none stands beside another value: %j",
    async (prompt) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { prompt } });
      expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
    },
  );

  it.each(["select", "create", "NONE", "login,consent", "login ", " login", "login  consent"])(
    "is invalid_request with a value that it does not know: %j",
    async (prompt) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { prompt } });
      expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
    },
  );

  it("is login_required for none when nobody is signed in", async () => {
    const host = testHost();
    host.session = signedOut;
    const response = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("login_required"));
  });

  it("is consent_required for none when consent is missing", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { prompt: "none" } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("consent_required"));
  });

  it("is interaction_required for none when the host needs a page", async () => {
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const response = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("interaction_required"));
  });

  it("may be login and consent together", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { prompt: "login consent" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
    expect(host.asked).toEqual([{ reauthenticate: true, prompt: ["login", "consent"] }]);
  });
});

describe("max_age (OpenID Connect Core §3.1.2.1)", () => {
  it.each(["-1", "+5", "1.5", "1e3", "0x10", "abc", " 5", "5 ", "1234567890", "٣"])(
    "is invalid_request when it is %j",
    async (maxAge) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { max_age: maxAge } });
      expect(redirectOf(response)).toEqual(refusedByRedirect("invalid_request"));
    },
  );
});
