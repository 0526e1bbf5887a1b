import { gzipSync } from "node:zlib";
import express from "express";
import request, { type Response } from "supertest";
import { codeVerifier } from "../browser/authorization-request";
import { encode } from "../browser/browser";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { credentials, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { answerOf, formType, invalidClient, invalidGrant, refusal } from "../requests/json-answers";
import { rawRequest, type RawResponse } from "../requests/raw-request";
import {
  clientCredentials,
  maxFormBytes,
  postTokenText,
  redemption,
  tokenPath,
  tokensOf,
} from "../requests/token-requests";

stopClockForEachTest();

describe("methods and paths of the token endpoint (RFC 6749 §3.2)", () => {
  it.each(["get", "head", "put", "patch", "delete"] as const)("refuses %s with 405", async (method) => {
    const response = await request(testHost().app)[method](tokenPath);
    expect(response.status).toBe(405);
    expect(response.headers["allow"]).toBe("POST, OPTIONS");
    expect(response.text ?? "").toBe("");
  });

  it("takes no code from a GET, and does not burn it", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect((await request(host.app).get(`${tokenPath}?${redemption(code)}`)).status).toBe(405);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  const unknownPairs = [
    "/login/auth/unknown/api/orders/token",
    "/login/auth/password/api/unknown/token",
    "/login/auth/PASSWORD/api/orders/token",
    "/login/auth/orders/api/password/token",
    "/login/auth/__proto__/api/constructor/token",
  ];
  it.each(unknownPairs)("answers %s with a 404 that lists nothing", async (path) => {
    const answers = await Promise.all([
      request(testHost().app).post(path).type("form").send(clientCredentials),
      request(testHost().app).get(path),
      request(testHost().app).options(path).set("Origin", "https://spa.example"),
    ]);
    for (const response of answers) {
      expect(response.headers["content-type"]).toBe("application/json");
      expect(response.headers["access-control-allow-origin"]).toBeUndefined();
      expect(answerOf(response)).toEqual(
        refusal(404, "not_found", "There is no authorization server at this address."),
      );
    }
  });
});

/** The form, made as long as this by a parameter that nobody knows. */
function padded(form: string, bytes: number): string {
  return `${form}&pad=`.padEnd(bytes, "x");
}

function sendRaw(
  host: TestHost,
  { body, withLength }: { body: string; withLength: boolean },
): Promise<RawResponse> {
  const length = { "Content-Length": String(Buffer.byteLength(body)) };
  return rawRequest(host.app, {
    method: "POST",
    path: tokenPath,
    headers: { "Content-Type": formType, ...(withLength && length) },
    chunks: [body.slice(0, 1000), body.slice(1000)],
  });
}

describe("body of a token request (RFC 6749 §3.2, §4.1.3, Appendix B)", () => {
  const otherTypes = ["application/json", "text/plain", "multipart/form-data; boundary=x", `${formType}x`];
  it.each(otherTypes)("refuses media type %s", async (type) => {
    const host = testHost();
    const response = await postTokenText(host, clientCredentials, { "Content-Type": type });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });

  it("refuses a body without a media type", async () => {
    const sent = { method: "POST", path: tokenPath, chunks: [clientCredentials] };
    const response = await rawRequest(testHost().app, sent);
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses JSON even when the host has parsed it", async () => {
    const host = testHost({ before: (app) => void app.use(express.json()) });
    const response = await request(host.app)
      .post(tokenPath)
      .send({ grant_type: "client_credentials", ...credentials("machine") });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });

  it.each([`${formType}; charset=utf-8`, `${formType};charset=UTF-8`, "Application/X-WWW-Form-Urlencoded"])(
    "takes media type %s",
    async (type) => {
      const response = await postTokenText(testHost(), clientCredentials, { "Content-Type": type });
      expect(response.status).toBe(200);
    },
  );

  it("refuses an empty body", async () => {
    expect(answerOf(await postTokenText(testHost(), ""))).toEqual(refusal(400, "invalid_request"));
  });

  const transfers = [
    ["with Content-Length", true],
    ["chunked", false],
  ] as const;
  it.each(transfers)("takes exactly 64 KiB, %s", async (_, withLength) => {
    const body = padded(clientCredentials, maxFormBytes);
    expect((await sendRaw(testHost(), { body, withLength })).status).toBe(200);
  });

  it.each(transfers)("answers 413 to one byte more, %s, and burns nothing", async (_, withLength) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const body = padded(redemption(code), maxFormBytes + 1);
    const response = await sendRaw(host, { body, withLength });
    expect(response.status).toBe(413);
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(JSON.parse(response.text)).toEqual({
      error: "invalid_request",
      error_description: "The body is too large.",
    });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it.each(transfers)("answers 413 to 5 MB, %s, so that the client can read it", async (_, withLength) => {
    const body = padded("a=b", 5_000_000);
    expect((await sendRaw(testHost(), { body, withLength })).status).toBe(413);
  });

  it("counts bytes, not characters", async () => {
    const body = `${clientCredentials}&pad=${"é".repeat(maxFormBytes / 2)}`;
    expect((await sendRaw(testHost(), { body, withLength: false })).status).toBe(413);
  });

  it.each(["gzip", "deflate", "br", "unknown"])("refuses content encoding %s", async (encoding) => {
    const response = await rawRequest(testHost().app, {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType, "Content-Encoding": encoding },
      chunks: [encoding === "gzip" ? gzipSync(clientCredentials) : clientCredentials],
    });
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toMatchObject({ error: "invalid_request" });
  });

  it("takes content encoding identity", async () => {
    const response = await postTokenText(testHost(), clientCredentials, { "Content-Encoding": "identity" });
    expect(response.status).toBe(200);
  });

  it("ignores unknown parameters", async () => {
    expect((await postTokenText(testHost(), `${clientCredentials}&colour=blue&__proto__=x`)).status).toBe(
      200,
    );
  });
});

describe("parameters of a token request (RFC 6749 §3.2)", () => {
  const names = ["client_id", "client_secret", "code", "code_verifier", "grant_type", "unknown"];

  it.each(names)("refuses a repeated %s and burns nothing", async (name) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const form = redemption(code);
    const again = new URLSearchParams(form).get(name) ?? "x";
    const response = await postTokenText(host, `${form}&${encode({ [name]: [again, again] })}`);
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "A parameter is repeated or is not UTF-8 text."),
    );
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("refuses a parameter that is repeated, once empty", async () => {
    const response = await postTokenText(testHost(), `${clientCredentials}&client_id=`);
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });

  it("counts an empty optional parameter as absent", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const empty = { redirect_uri: "", client_secret: "", resource: "", scope: "" };
    expect((await redeem(host, { client: "native", code, fields: empty })).status).toBe(200);
  });

  const needed = [
    ["client_id", refusal(400, "invalid_request", "client_id is missing.")],
    ["grant_type", refusal(400, "invalid_request", "grant_type is missing.")],
    ["code", refusal(400, "invalid_request", "code is missing.")],
    ["code_verifier", invalidGrant],
    ["client_secret", invalidClient],
  ] as const;
  it.each(needed)("refuses an empty %s as a missing one", async (name, expected) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const empty = await redeem(host, { client: "web", code, fields: { [name]: "" } });
    const missing = await redeem(host, { client: "web", code, fields: { [name]: undefined } });
    expect([empty, missing].map(answerOf)).toEqual([expected, expected]);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  const notText = [
    ["a byte that is not UTF-8, escaped", "%FF"],
    ["half a character, escaped", "%C3"],
    ["a broken escape", "%zz"],
    ["a byte that is not UTF-8, as it is", Buffer.from([0xff])],
  ] as const;
  it.each(notText)("refuses %s", async (_, value) => {
    const response = await rawRequest(testHost().app, {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType },
      chunks: [`${clientCredentials}&scope=`, value],
    });
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toEqual({
      error: "invalid_request",
      error_description: "A parameter is repeated or is not UTF-8 text.",
    });
  });

  it.each(["client_id", "client_secret", "code", "code_verifier", "refresh_token", "grant_type", "scope"])(
    "refuses %s in the URL and burns nothing (RFC 6749 §2.3.1)",
    async (name) => {
      const host = testHost();
      const code = await obtainCode(host, { client: "web" });
      const query = encode({ [name]: new URLSearchParams(redemption(code)).get(name) ?? "x" });
      for (const url of [`${tokenPath}?${query}`, `${tokenPath}?${query}&${query}`]) {
        const response = await request(host.app).post(url).type("form").send(redemption(code));
        expect(answerOf(response)).toEqual(
          refusal(400, "invalid_request", "Parameters belong in the body, not in the URL."),
        );
      }
      expect((await redeem(host, { client: "web", code })).status).toBe(200);
    },
  );

  it("takes no client credentials from the URL alone", async () => {
    const response = await request(testHost().app)
      .post(`${tokenPath}?${encode(credentials("machine"))}`)
      .type("form")
      .send("grant_type=client_credentials");
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });
});

describe("answers of the token endpoint (RFC 6749 §5.1, §5.2)", () => {
  const cases = [
    ["success", clientCredentials, 200],
    ["invalid_request", "", 400],
    ["invalid_client", encode({ client_id: "web", client_secret: "wrong" }), 401],
    ["unsupported_grant_type", encode({ ...credentials("web"), grant_type: "none" }), 400],
    ["invalid_grant", redemption("unknown"), 400],
  ] as const;
  it.each(cases)("sends %s as JSON that is never stored", async (_, body, status) => {
    const response = await postTokenText(testHost(), body);
    expect(response.status).toBe(status);
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      pragma: "no-cache",
    });
  });

  it.each([
    ["orders", 600],
    ["reports", 120],
    ["files", 60],
  ] as const)("says the lifetime of %s in whole seconds", async (api, seconds) => {
    const tokens = await obtainTokens(testHost(), { client: "web", pair: { api } });
    expect(tokens.expires_in).toBe(seconds);
  });

  it("writes token_type in lower case (RFC 6749 §7.1)", async () => {
    const response = await postTokenText(testHost(), clientCredentials);
    expect(response.body).toMatchObject({ token_type: "bearer" });
  });

  it("leaves the scope out when there is none, as it has no form then (RFC 6749 §3.3)", async () => {
    const sent = { grant_type: "client_credentials", ...credentials("web") };
    const response = await postToken(testHost(), { pair: { api: "files" }, fields: sent });
    expect(answerOf(response)).toEqual({
      status: 200,
      body: { access_token: expect.any(String), token_type: "bearer", expires_in: 60 },
    });
  });
});

describe("grant type (RFC 6749 §4.5, §5.2)", () => {
  it("refuses a request without one", async () => {
    const response = await postTokenText(testHost(), encode(credentials("machine")));
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "grant_type is missing."));
  });

  it.each([
    "password",
    "implicit",
    "urn:ietf:params:oauth:grant-type:device_code",
    "Client_Credentials",
    "client_credentials ",
    "__proto__",
    "constructor",
  ])('refuses "%s"', async (grant_type) => {
    const response = await postTokenText(testHost(), encode({ grant_type, ...credentials("machine") }));
    expect(answerOf(response)).toEqual(
      refusal(400, "unsupported_grant_type", "The server does not know this grant_type."),
    );
  });

  it("says nothing of grants to a client that has not proved itself", async () => {
    const response = await postTokenText(
      testHost(),
      encode({ grant_type: "password", client_id: "machine" }),
    );
    expect(answerOf(response)).toEqual(invalidClient);
  });
});

describe("resource of a token request (RFC 8707 §2.2)", () => {
  const audience = "https://api.example/orders";
  const grants: Record<string, (host: TestHost) => Promise<(resource: string) => Promise<Response>>> = {
    async authorization_code(host) {
      const code = await obtainCode(host, { client: "web" });
      return (resource) => redeem(host, { client: "web", code, fields: { resource } });
    },
    async refresh_token(host) {
      const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
      return (resource) => refresh(host, { client: "web", refreshToken, fields: { resource } });
    },
    client_credentials: async (host) => (resource) =>
      postTokenText(host, `${clientCredentials}&${encode({ resource })}`),
  };
  const wrong = [
    "https://api.example/files",
    `${audience}/`,
    "https://API.example/orders",
    "https://api.example",
    "orders",
  ];
  it.each(Object.entries(grants))("of grant %s must be the API", async (_, prepare) => {
    const attempt = await prepare(testHost());
    for (const resource of wrong) {
      expect(answerOf(await attempt(resource))).toEqual(
        refusal(400, "invalid_target", "The resource is not the API of this endpoint."),
      );
    }
    expect((await attempt(audience)).status).toBe(200);
  });

  it("is refused when it comes twice", async () => {
    const resource = [audience, audience];
    const response = await postTokenText(testHost(), `${clientCredentials}&${encode({ resource })}`);
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });
});

describe("events of token requests (RFC 9700 §4.14)", () => {
  it("hold no code, token, verifier or secret", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const wrongVerifier = "w".repeat(43);
    await redeem(host, { client: "web", code, fields: { code_verifier: wrongVerifier } });
    const unknown = `${"a".repeat(22)}.${"u".repeat(43)}`;
    await redeem(host, { client: "web", code: unknown });
    await refresh(host, { client: "web", refreshToken: unknown });
    const first = tokensOf(await redeem(host, { client: "web", code }));
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first.refresh_token }));
    await callApi(host, "/orders", second.access_token);
    await redeem(host, { client: "web", code });
    await refresh(host, { client: "web", refreshToken: first.refresh_token });
    await redeem(host, { client: "web", code, fields: { client_secret: "a wrong secret" } });
    const opaque = await obtainTokens(host, { client: "web", pair: { api: "reports" } });
    await callApi(host, "/orders", opaque.access_token);
    const secrets = [
      code,
      unknown,
      codeVerifier,
      wrongVerifier,
      webSecret.secret,
      webSecret.digest,
      "a wrong secret",
      first.access_token,
      first.refresh_token,
      second.access_token,
      second.refresh_token,
      opaque.access_token,
    ];
    const written = JSON.stringify(host.events);
    expect(host.events.length).toBeGreaterThan(8);
    expect(secrets.filter((secret) => written.includes(secret))).toEqual([]);
  });
});
