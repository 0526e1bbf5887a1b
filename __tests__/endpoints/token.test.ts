import { gzipSync } from "node:zlib";
import express from "express";
import request, { type Response } from "supertest";
import {
  type AuthServerEvent,
  type Client,
  type ClientStore,
  digestClientSecret,
  generateClientSecret,
  type GrantType,
  memoryStorage,
  type Storage,
} from "../../lib";
import { encode, type Fields } from "../fixture/browser";
import { type Clock, stopClock } from "../fixture/clock";
import {
  type ClientName,
  clients,
  codeVerifier,
  credentials,
  machineSecret,
  otherSecret,
  type Pair,
  pairPath,
  type TestHost,
  testHost,
  webSecret,
} from "../fixture/host";
import { authorize, callApi, obtainCode, obtainTokens, postToken, redeem, refresh } from "../fixture/journey";
import { rawRequest, type RawResponse } from "../fixture/raw-request";
import { intercept, slowStorage } from "../fixture/slow-storage";

let clock: Clock;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => jest.restoreAllMocks());

const tokenPath = `${pairPath()}/token`;
const issuer = `https://host.example${pairPath()}`;
const formType = "application/x-www-form-urlencoded";
const maxFormBytes = 64 * 1024;
/** The default: so long may a client be served as it was. */
const revocationLagSeconds = 5;

type Answer = Pick<Response, "status"> & { readonly body: unknown };

function answerOf({ status, body }: Response): Answer {
  return { status, body: body as unknown };
}

function refusal(status: number, error: string, description: unknown = expect.any(String)): Answer {
  return { status, body: { error, error_description: description } };
}

const invalidGrant = refusal(
  400,
  "invalid_grant",
  "The code or refresh token is unknown, expired, used or not for this client.",
);
const invalidClient = refusal(401, "invalid_client", "Client authentication failed.");
const serverError = refusal(500, "server_error", "The server could not answer this request.");

interface TokenBody {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

function tokensOf(response: Response): TokenBody {
  expect(response.status).toBe(200);
  return response.body as TokenBody;
}

/** A form that redeems this code of `web`, as text. */
function redemption(code: string, fields: Fields = {}): string {
  const known = {
    grant_type: "authorization_code",
    ...credentials("web"),
    code,
    code_verifier: codeVerifier,
  };
  return encode({ ...known, ...fields });
}

const clientCredentials = encode({ grant_type: "client_credentials", ...credentials("machine") });

function post(host: TestHost, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return Promise.resolve(
    request(host.app)
      .post(tokenPath)
      .set({ "Content-Type": formType, ...headers })
      .send(body),
  );
}

/** Clients that a test may change while the server runs. */
function changingClients(records: Map<string, Client>): ClientStore {
  return { find: async (clientId) => records.get(clientId), isBrowserOrigin: async () => false };
}

/** Storage that keeps the names of the calls it gets. */
function countedStorage(): { readonly storage: Storage; readonly calls: string[] } {
  const calls: string[] = [];
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
    calls.push(name);
    return call();
  });
  return { storage, calls };
}

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
    const response = await post(host, clientCredentials, { "Content-Type": type });
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
      const response = await post(testHost(), clientCredentials, { "Content-Type": type });
      expect(response.status).toBe(200);
    },
  );

  it("refuses an empty body", async () => {
    expect(answerOf(await post(testHost(), ""))).toEqual(refusal(400, "invalid_request"));
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
    const response = await post(testHost(), clientCredentials, { "Content-Encoding": "identity" });
    expect(response.status).toBe(200);
  });

  it("ignores unknown parameters", async () => {
    expect((await post(testHost(), `${clientCredentials}&colour=blue&__proto__=x`)).status).toBe(200);
  });
});

describe("parameters of a token request (RFC 6749 §3.2)", () => {
  const names = ["client_id", "client_secret", "code", "code_verifier", "grant_type", "unknown"];

  it.each(names)("refuses a repeated %s and burns nothing", async (name) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const form = redemption(code);
    const again = new URLSearchParams(form).get(name) ?? "x";
    const response = await post(host, `${form}&${encode({ [name]: [again, again] })}`);
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "A parameter is repeated or is not UTF-8 text."),
    );
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("refuses a parameter that is repeated, once empty", async () => {
    const response = await post(testHost(), `${clientCredentials}&client_id=`);
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
    const response = await post(testHost(), body);
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
    const response = await post(testHost(), clientCredentials);
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

function formEncode(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+");
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function basic(clientId: string, clientSecret: string): string {
  return `Basic ${base64(`${formEncode(clientId)}:${formEncode(clientSecret)}`)}`;
}

describe("client authentication (RFC 6749 §2.3, §3.2.1, §5.2)", () => {
  const grant = "grant_type=client_credentials";
  const machineBasic = basic("machine", machineSecret.secret);

  it("takes the secret in the body (client_secret_post)", async () => {
    expect((await post(testHost(), clientCredentials)).status).toBe(200);
  });

  it.each(["Basic", "basic", "BASIC"])("takes HTTP Basic with the scheme written %s", async (scheme) => {
    const header = machineBasic.replace("Basic", scheme);
    expect((await post(testHost(), grant, { Authorization: header })).status).toBe(200);
  });

  it("takes a client_id beside Basic when it is the same", async () => {
    const response = await post(testHost(), `${grant}&client_id=machine`, { Authorization: machineBasic });
    expect(response.status).toBe(200);
  });

  it("decodes both halves of Basic as form values", async () => {
    const secret = "p: a+s%s&=é w";
    const clientId = "shop:1+2%20&=";
    const records = [{ ...clients.machine, clientId, secretDigests: [await digestClientSecret(secret)] }];
    const host = testHost({ clients: records });
    const encoded = await post(host, grant, { Authorization: basic(clientId, secret) });
    expect(encoded.status).toBe(200);
    const bare = await post(host, grant, { Authorization: `Basic ${base64(`${clientId}:${secret}`)}` });
    expect(answerOf(bare)).toEqual(invalidClient);
  });

  it("takes a secret with a colon that is not encoded", async () => {
    const records = [{ ...clients.machine, secretDigests: [await digestClientSecret("one:two:three")] }];
    const header = `Basic ${base64("machine:one:two:three")}`;
    expect((await post(testHost({ clients: records }), grant, { Authorization: header })).status).toBe(200);
  });

  const twice = [
    ["the same secret", machineSecret.secret],
    ["a wrong secret", "wrong"],
  ] as const;
  it.each(twice)("refuses Basic beside %s in the body", async (_, secret) => {
    const body = encode({ grant_type: "client_credentials", client_secret: secret });
    const response = await post(testHost(), body, { Authorization: machineBasic });
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "Use one client authentication method."),
    );
  });

  it.each([
    ["the same", machineBasic],
    ["a wrong one", basic("machine", "wrong")],
  ])("refuses two Authorization headers, the second %s", async (_, second) => {
    const response = await rawRequest(testHost().app, {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType, Authorization: [machineBasic, second] },
      chunks: [grant],
    });
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses a client_id that is not the one of Basic", async () => {
    const response = await post(testHost(), `${grant}&client_id=web`, { Authorization: machineBasic });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });

  it("refuses a request without a client_id", async () => {
    const response = await post(testHost(), `${grant}&client_secret=${machineSecret.secret}`);
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "client_id is missing."));
  });

  const challenge = `Basic realm="${issuer}"`;
  const failedBasic = [
    ["a wrong secret", basic("machine", "wrong")],
    ["an unknown client", basic("nobody", machineSecret.secret)],
    ["the secret of another client", basic("web", machineSecret.secret)],
    ["an empty secret", basic("machine", "")],
    ["an empty client id", basic("", machineSecret.secret)],
    ["no colon", `Basic ${base64("machine")}`],
    ["no credentials", "Basic"],
    ["no base64", "Basic §§§"],
    ["a broken escape", `Basic ${base64("machine:%zz")}`],
    ["another scheme", `Bearer ${machineSecret.secret}`],
  ] as const;
  it.each(failedBasic)("answers Basic with %s with 401 and a challenge", async (_, header) => {
    const sent = {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType, Authorization: header },
      chunks: [grant],
    };
    const response = await rawRequest(testHost().app, sent);
    expect({ status: response.status, body: JSON.parse(response.text) as unknown }).toEqual(invalidClient);
    expect(response.headers["www-authenticate"]).toBe(challenge);
  });

  it("sends no challenge to a client that has proved itself by Basic", async () => {
    const response = await post(testHost(), "grant_type=password", { Authorization: machineBasic });
    expect(answerOf(response)).toEqual(refusal(400, "unsupported_grant_type"));
    expect(response.headers["www-authenticate"]).toBeUndefined();
  });

  const failedBody = [
    ["a wrong secret", { client_id: "machine", client_secret: "wrong" }],
    ["a secret that only begins right", { client_id: "machine", client_secret: `${machineSecret.secret}x` }],
    ["the secret's digest", { client_id: "machine", client_secret: machineSecret.digest }],
    ["no secret", { client_id: "machine" }],
    ["the secret of another client", { client_id: "machine", client_secret: webSecret.secret }],
    ["an unknown client", { client_id: "nobody", client_secret: machineSecret.secret }],
    ["an unknown client without secret", { client_id: "nobody" }],
    ["a client id in other case", { client_id: "MACHINE", client_secret: machineSecret.secret }],
    ["a client id of control characters", { client_id: "machine\n", client_secret: machineSecret.secret }],
    ["a client id of 256 characters", { client_id: "m".repeat(256), client_secret: "x" }],
    ["a name of every object", { client_id: "__proto__", client_secret: "x" }],
    ["a public client with a secret", { client_id: "native", client_secret: "anything" }],
    ["a browser client with a secret", { client_id: "spa", client_secret: "anything" }],
  ] as const;
  it.each(failedBody)("answers %s with one 401, without a challenge", async (_, sent) => {
    const response = await post(testHost(), encode({ grant_type: "client_credentials", ...sent }));
    expect(answerOf(response)).toEqual(invalidClient);
    expect(response.headers["www-authenticate"]).toBeUndefined();
  });

  it.each(["x", ""])('refuses a public client that uses Basic with secret "%s"', async (secret) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const form = encode({ grant_type: "authorization_code", code, code_verifier: codeVerifier });
    const response = await post(host, form, { Authorization: basic("native", secret) });
    expect(answerOf(response)).toEqual(invalidClient);
    expect((await redeem(host, { client: "native", code })).status).toBe(200);
  });

  it("answers an unknown client and a wrong secret alike in every header", async () => {
    const host = testHost();
    const answers = await Promise.all(
      ["machine", "nobody"].map(async (client_id) => {
        const body = encode({ grant_type: "client_credentials", client_id, client_secret: "wrong" });
        const { status, headers, text } = await post(host, body);
        return { status, text, headers: { ...headers, date: "" } };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  it("takes only the very client it asked for from a table that ignores case", async () => {
    const store: ClientStore = {
      find: async (clientId) => (clientId.toLowerCase() === "machine" ? clients.machine : undefined),
      isBrowserOrigin: async () => false,
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    const sent = { grant_type: "client_credentials", client_secret: machineSecret.secret };
    expect((await post(host, encode({ ...sent, client_id: "machine" }))).status).toBe(200);
    expect(answerOf(await post(host, encode({ ...sent, client_id: "Machine" })))).toEqual(invalidClient);
  });

  it("tells the host of a registered client that failed, and never repeats an unknown id", async () => {
    const host = testHost();
    for (const client_id of ["machine", "nobody"]) {
      await post(host, encode({ grant_type: "client_credentials", client_id, client_secret: "wrong" }));
    }
    const failures = host.events.filter(({ kind }) => kind === "client-authentication-failed");
    expect(failures).toEqual([
      {
        kind: "client-authentication-failed",
        at: clock.now(),
        issuer,
        clientId: "machine",
        reason: "the client secret is wrong",
      },
      { kind: "client-authentication-failed", at: clock.now(), issuer, reason: "the client is unknown" },
    ]);
    expect(JSON.stringify(host.events)).not.toContain("nobody");
  });
});

function trySecret(host: TestHost, client_secret: string): Promise<Response> {
  return post(host, encode({ grant_type: "client_credentials", client_id: "machine", client_secret }));
}

describe("client secrets during a rotation (RFC 6749 §2.3.1)", () => {
  const [old, fresh, third] = [generateClientSecret(), generateClientSecret(), generateClientSecret()];

  it("takes both of two secrets, and no third", async () => {
    const host = testHost({
      clients: [{ ...clients.machine, secretDigests: [fresh.digest, old.digest] }],
    });
    const answers = [];
    for (const { secret } of [old, fresh, third]) answers.push((await trySecret(host, secret)).status);
    expect(answers).toEqual([200, 200, 401]);
  });

  it("refuses to register three secrets", () => {
    const digests = [fresh.digest, old.digest, third.digest];
    expect(() => testHost({ clients: [{ ...clients.machine, secretDigests: digests }] })).toThrow(
      new TypeError('client "machine": secretDigests must NOT have more than 2 items.'),
    );
  });

  it("refuses a client with three secrets from the host's own table", async () => {
    const digests = [fresh.digest, old.digest, third.digest];
    const records = new Map([["machine", { ...clients.machine, secretDigests: digests }]]);
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    expect(answerOf(await trySecret(host, fresh.secret))).toEqual(serverError);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: expect.any(TypeError) }]);
  });

  it("checks scrypt digests, beside a generated one, however often", async () => {
    const secret = "chosen by a person";
    const secretDigests = [await digestClientSecret(secret), fresh.digest];
    const host = testHost({ clients: [{ ...clients.machine, secretDigests }] });
    const answers = [];
    for (const each of [secret, "chosen by an enemy", secret, fresh.secret, "chosen by an enemy"]) {
      answers.push((await trySecret(host, each)).status);
    }
    expect(answers).toEqual([200, 401, 200, 200, 401]);
  });

  it("stops taking a secret as soon as its digest is taken out, a remembered scrypt secret too", async () => {
    const secret = "chosen by a person";
    const records = new Map<string, Client>();
    records.set("machine", { ...clients.machine, secretDigests: [await digestClientSecret(secret)] });
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
      revocationLagSeconds: 0,
    });
    expect((await trySecret(host, secret)).status).toBe(200);
    const secretDigests = [await digestClientSecret("chosen by another person")];
    records.set("machine", { ...clients.machine, secretDigests });
    expect(answerOf(await trySecret(host, secret))).toEqual(invalidClient);
  });
});

describe("grant type (RFC 6749 §4.5, §5.2)", () => {
  it("refuses a request without one", async () => {
    const response = await post(testHost(), encode(credentials("machine")));
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
    const response = await post(testHost(), encode({ grant_type, ...credentials("machine") }));
    expect(answerOf(response)).toEqual(
      refusal(400, "unsupported_grant_type", "The server does not know this grant_type."),
    );
  });

  it("says nothing of grants to a client that has not proved itself", async () => {
    const response = await post(testHost(), encode({ grant_type: "password", client_id: "machine" }));
    expect(answerOf(response)).toEqual(invalidClient);
  });
});

describe("which client may use which grant (RFC 6749 §4.4, 9700 §2.2.2)", () => {
  const accessToken = { access_token: expect.any(String), token_type: "bearer", expires_in: 600 };
  const access = { status: 200, body: { ...accessToken, scope: "orders:read" } };
  const accessAndRefresh = {
    status: 200,
    body: { ...accessToken, scope: "orders:read", refresh_token: expect.any(String) },
  };
  const refused = refusal(400, "unauthorized_client", "The client may not use this grant at this API.");
  const rows: readonly (readonly [ClientName, GrantType, unknown])[] = [
    ["web", "authorization_code", accessAndRefresh],
    ["web", "refresh_token", accessAndRefresh],
    ["web", "client_credentials", access],
    ["native", "authorization_code", accessAndRefresh],
    ["native", "refresh_token", accessAndRefresh],
    ["native", "client_credentials", refused],
    ["spa", "authorization_code", access],
    ["spa", "refresh_token", refused],
    ["spa", "client_credentials", refused],
  ];
  it.each(rows)("answers %s with grant %s by the table", async (client, grant_type, expected) => {
    const host = testHost();
    const code = await obtainCode(host, { client });
    const proof: Fields =
      grant_type === "authorization_code"
        ? { code, code_verifier: codeVerifier }
        : grant_type === "refresh_token"
          ? // a browser client has none of its own to send
            {
              refresh_token: (await obtainTokens(host, { client: client === "spa" ? "native" : client }))
                .refresh_token,
            }
          : {};
    const fields = { grant_type, ...credentials(client), ...proof };
    expect(answerOf(await postToken(host, { fields }))).toEqual(expected);
  });

  it("refuses a client without a subscription to the API", async () => {
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const response = await postToken(testHost(), { pair: { api: "files" }, fields });
    expect(answerOf(response)).toEqual(refused);
  });

  it.each(["authorization_code", "refresh_token"])(
    "refuses %s outside the subscription",
    async (grant_type) => {
      const fields = { grant_type, ...credentials("machine"), code: "x", refresh_token: "x" };
      expect(answerOf(await postToken(testHost(), { fields }))).toEqual(refused);
    },
  );

  it("refuses a grant that was taken out of the subscription, and burns nothing", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    records.set("web", {
      ...clients.web,
      subscriptions: { orders: { grantTypes: ["authorization_code"] } },
    });
    clock.advance(revocationLagSeconds);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(refused);
    records.set("web", clients.web);
    clock.advance(revocationLagSeconds);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });
});

describe("redeeming an authorization code (RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1)", () => {
  interface FailedProof {
    readonly client?: ClientName;
    readonly fields: Fields;
    readonly expected: Answer;
  }

  const otherClient: Fields = { ...credentials("other") };
  const failures: Record<string, FailedProof> = {
    "the verifier of another request": {
      fields: { code_verifier: "v".repeat(43) },
      expected: invalidGrant,
    },
    "a verifier in other case": {
      fields: { code_verifier: codeVerifier.replace(/[a-z]/, (letter) => letter.toUpperCase()) },
      expected: invalidGrant,
    },
    "no verifier": { fields: { code_verifier: undefined }, expected: invalidGrant },
    "a verifier of 42 characters": {
      fields: { code_verifier: "v".repeat(42) },
      expected: refusal(400, "invalid_request"),
    },
    "a verifier of 129 characters": {
      fields: { code_verifier: "v".repeat(129) },
      expected: refusal(400, "invalid_request"),
    },
    "a verifier with a character beyond RFC 7636 §4.1": {
      fields: { code_verifier: "v".repeat(42) + "+" },
      expected: refusal(400, "invalid_request"),
    },
    "another confidential client": { fields: otherClient, expected: invalidGrant },
    "a public client": {
      fields: { client_id: "native", client_secret: undefined },
      expected: invalidGrant,
    },
    "a wrong client secret": {
      fields: { client_secret: otherSecret.secret },
      expected: invalidClient,
    },
    "no client secret, although the verifier is right": {
      fields: { client_secret: undefined },
      expected: invalidClient,
    },
    "another redirect_uri": {
      fields: { redirect_uri: "https://other.example/callback" },
      expected: invalidGrant,
    },
    "a redirect_uri with a slash more": {
      fields: { redirect_uri: "https://web.example/callback/" },
      expected: invalidGrant,
    },
    "the resource of another API": {
      fields: { resource: "https://api.example/files" },
      expected: refusal(400, "invalid_target"),
    },
    "a public client's missing verifier": {
      client: "native",
      fields: { code_verifier: undefined },
      expected: invalidGrant,
    },
    "a public client's wrong verifier": {
      client: "spa",
      fields: { code_verifier: "v".repeat(43) },
      expected: invalidGrant,
    },
    "another registered redirect_uri": {
      client: "native",
      fields: { redirect_uri: "http://127.0.0.1/callback" },
      expected: invalidGrant,
    },
  };
  it.each(Object.entries(failures))(
    "refuses %s and burns nothing",
    async (_, { client = "web", fields, expected }) => {
      const host = testHost();
      const code = await obtainCode(host, { client });
      expect(answerOf(await redeem(host, { client, code, fields }))).toEqual(expected);
      expect(tokensOf(await redeem(host, { client, code })).scope).toBe("orders:read");
    },
  );

  it("refuses a verifier without an earlier challenge (downgrade), and burns nothing", async () => {
    const host = testHost();
    const withoutPkce = { code_challenge: undefined, code_challenge_method: undefined };
    const code = await obtainCode(host, { client: "web", fields: withoutPkce });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
    const fields = { code_verifier: undefined };
    expect((await redeem(host, { client: "web", code, fields })).status).toBe(200);
  });

  const rightUris = [
    ["the redirect_uri that was used", "https://web.example/callback"],
    ["no redirect_uri", undefined],
    ["an empty redirect_uri", ""],
  ] as const;
  it.each(rightUris)("takes %s", async (_, redirect_uri) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect((await redeem(host, { client: "web", code, fields: { redirect_uri } })).status).toBe(200);
  });

  it("compares the port of a loopback redirect with the one used (RFC 8252 §7.3)", async () => {
    const host = testHost();
    const used = { redirect_uri: "http://127.0.0.1:5000/callback" };
    const code = await obtainCode(host, { client: "native", fields: used });
    for (const redirect_uri of ["http://127.0.0.1/callback", "http://127.0.0.1:5001/callback"]) {
      const response = await redeem(host, { client: "native", code, fields: { redirect_uri } });
      expect(answerOf(response)).toEqual(invalidGrant);
    }
    expect((await redeem(host, { client: "native", code, fields: used })).status).toBe(200);
  });

  it("compares with the registered redirect URI when the request had none", async () => {
    const host = testHost();
    const pair: Pair = { api: "reports" };
    const code = await obtainCode(host, { client: "web", pair, fields: { redirect_uri: undefined } });
    const attempt = (redirect_uri: string): Promise<Response> =>
      redeem(host, { client: "web", code, pair, fields: { redirect_uri } });
    expect(answerOf(await attempt("https://other.example/callback"))).toEqual(invalidGrant);
    expect((await attempt("https://web.example/callback")).status).toBe(200);
  });

  it.each([
    [59, 200],
    [60, 400],
  ])("after %i seconds answers a code with %i", async (seconds, status) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    clock.advance(seconds);
    expect((await redeem(host, { client: "web", code })).status).toBe(status);
  });

  it("lives as long as the host says", async () => {
    const host = testHost({ lifetimes: { authorizationCodeSeconds: 10 } });
    const code = await obtainCode(host, { client: "web" });
    clock.advance(10);
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
  });

  it("tells nothing of codes that buy nothing: one answer for all, in every header", async () => {
    const host = testHost();
    const [expired, used, foreign, elsewhere] = [
      await obtainCode(host, { client: "web" }),
      await obtainCode(host, { client: "web" }),
      await obtainCode(host, { client: "other" }),
      await obtainCode(host, { client: "web", pair: { method: "otp" } }),
    ];
    await redeem(host, { client: "web", code: used });
    const revoked = await obtainCode(host, { client: "web", pair: { api: "files" } });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "files" });
    const attempt = async (code: string, pair: Pair = {}): Promise<unknown> => {
      const { status, headers, text } = await redeem(host, { client: "web", code, pair });
      return { status, text, headers: { ...headers, date: "" } };
    };
    const answers = [
      await attempt("unknown"),
      await attempt(`${"A".repeat(22)}.${"A".repeat(43)}`),
      await attempt(`${used.slice(0, 22)}.${"A".repeat(43)}`),
      await attempt(`${expired} `),
      await attempt(foreign),
      await attempt(elsewhere),
      await attempt(revoked, { api: "files" }),
      await attempt(used),
    ];
    clock.advance(60);
    answers.push(await attempt(expired));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 400, text: JSON.stringify(invalidGrant.body) });
  });
});

describe("replay of an authorization code (RFC 6749 §4.1.2, 9700 §4.5)", () => {
  it("revokes what came of the code, rotated refresh tokens too, and nothing else", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const stolen = tokensOf(await redeem(host, { client: "web", code }));
    const rotated = tokensOf(await refresh(host, { client: "web", refreshToken: stolen.refresh_token }));
    const otherVisit = await obtainTokens(host, { client: "web" });
    const phone = await obtainTokens(host, { client: "native" });

    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);

    for (const { access_token } of [stolen, rotated]) {
      expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    }
    const dead = await refresh(host, { client: "web", refreshToken: rotated.refresh_token });
    expect(answerOf(dead)).toEqual(invalidGrant);
    for (const [client, { access_token, refresh_token: refreshToken = "" }] of [
      ["web", otherVisit],
      ["native", phone],
    ] as const) {
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
      expect((await refresh(host, { client, refreshToken })).status).toBe(200);
    }
  });

  it("tells the host of it", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code });
    await redeem(host, { client: "web", code });
    const authorizationId = code.slice(0, code.indexOf("."));
    expect(host.events.slice(-2)).toEqual([
      {
        kind: "replay-detected",
        at: clock.now(),
        replayed: "authorization_code",
        authorizationId,
        issuer,
        clientId: "web",
      },
      {
        kind: "token-refused",
        at: clock.now(),
        issuer,
        clientId: "web",
        error: "invalid_grant",
        reason: "it was used before: its authorization is revoked",
      },
    ]);
  });

  const unproven: Record<string, Fields> = {
    "another client": { ...credentials("other") },
    "a wrong verifier": { code_verifier: "v".repeat(43) },
    "no verifier": { code_verifier: undefined },
    "another redirect_uri": { redirect_uri: "https://other.example/callback" },
    "a wrong secret": { client_secret: "wrong" },
  };
  it.each(Object.entries(unproven))("revokes nothing for a used code with %s", async (_, fields) => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const tokens = tokensOf(await redeem(host, { client: "web", code }));
    expect((await redeem(host, { client: "web", code, fields })).status).toBeGreaterThanOrEqual(400);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken: tokens.refresh_token })).status).toBe(200);
  });

  it("is noticed while the first access token lives", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const tokens = tokensOf(await redeem(host, { client: "web", code }));
    clock.advance(599);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(invalidGrant);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(401);
  });

  it("lets exactly one of 20 simultaneous redemptions win, and ends what it won", async () => {
    const storage = slowStorage(memoryStorage({ clients: Object.values(clients) }), 2);
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "web" });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => redeem(host, { client: "web", code })),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(answers.filter(({ status }) => status === 400).map(answerOf)).toEqual(
      Array.from({ length: 19 }, () => invalidGrant),
    );
    const won = winner?.body as TokenBody;
    expect((await callApi(host, "/orders", won.access_token)).status).toBe(401);
    const refreshed = await refresh(host, { client: "web", refreshToken: won.refresh_token });
    expect(answerOf(refreshed)).toEqual(invalidGrant);
  });
});

async function obtainRefreshToken(
  host: TestHost,
  { client = "web", fields = {} }: { client?: ClientName; fields?: Fields } = {},
): Promise<string> {
  const { refresh_token = "" } = await obtainTokens(host, { client, fields });
  return refresh_token;
}

describe("refresh (RFC 6749 §6, 9700 §4.14.2)", () => {
  it.each(["web", "native"] as const)("rotates: each answer to %s has a new token", async (client) => {
    const host = testHost();
    const seen = new Set([await obtainRefreshToken(host, { client })]);
    let [refreshToken = ""] = seen;
    for (let round = 0; round < 3; round += 1) {
      refreshToken = tokensOf(await refresh(host, { client, refreshToken })).refresh_token;
      seen.add(refreshToken);
    }
    expect(seen.size).toBe(4);
  });

  it("gives an access token for the end user that the API takes", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(1_000);
    const { access_token } = tokensOf(await refresh(host, { client: "web", refreshToken }));
    expect((await callApi(host, "/orders", access_token)).body).toMatchObject({
      subject: "alice",
      clientId: "web",
      issuedAt: clock.now(),
      expiresAt: clock.now() + 600,
      authTime: 1_799_999_000,
    });
  });

  it("revokes its authorization when a used token comes again, and no other", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const first = await obtainRefreshToken(host);
    const otherVisit = await obtainRefreshToken(host);
    const phone = await obtainRefreshToken(host, { client: "native" });
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(200);

    expect(answerOf(await refresh(host, { client: "web", refreshToken: first }))).toEqual(invalidGrant);

    expect((await callApi(host, "/orders", second.access_token)).status).toBe(401);
    const dead = await refresh(host, { client: "web", refreshToken: second.refresh_token });
    expect(answerOf(dead)).toEqual(invalidGrant);
    expect((await refresh(host, { client: "web", refreshToken: otherVisit })).status).toBe(200);
    expect((await refresh(host, { client: "native", refreshToken: phone })).status).toBe(200);
    expect(host.events).toContainEqual(
      expect.objectContaining({ kind: "replay-detected", replayed: "refresh_token", clientId: "web" }),
    );
  });

  it("notices a token from several rotations ago", async () => {
    const host = testHost();
    const first = await obtainRefreshToken(host);
    let newest = first;
    for (let round = 0; round < 4; round += 1) {
      newest = tokensOf(await refresh(host, { client: "web", refreshToken: newest })).refresh_token;
    }
    await refresh(host, { client: "web", refreshToken: first });
    expect(answerOf(await refresh(host, { client: "web", refreshToken: newest }))).toEqual(invalidGrant);
  });

  it.each(["other", "native"] as const)(
    "lets %s, another client, change nothing by a used token",
    async (thief) => {
      const host = testHost({ revocationLagSeconds: 0 });
      const first = await obtainRefreshToken(host);
      const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
      for (const refreshToken of [first, second.refresh_token]) {
        expect(answerOf(await refresh(host, { client: thief, refreshToken }))).toEqual(invalidGrant);
      }
      expect((await callApi(host, "/orders", second.access_token)).status).toBe(200);
      const third = await refresh(host, { client: "web", refreshToken: second.refresh_token });
      expect(third.status).toBe(200);
    },
  );

  it("lets exactly one of 20 simultaneous refreshes win, and ends what it won", async () => {
    const storage = slowStorage(memoryStorage({ clients: Object.values(clients) }), 2);
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const refreshToken = await obtainRefreshToken(host);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refresh(host, { client: "web", refreshToken })),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const won = winner?.body as TokenBody;
    expect((await callApi(host, "/orders", won.access_token)).status).toBe(401);
    const next = await refresh(host, { client: "web", refreshToken: won.refresh_token });
    expect(answerOf(next)).toEqual(invalidGrant);
  });

  const failures: Record<string, { client: ClientName; fields: Fields; expected: Answer }> = {
    "a wrong secret": { client: "web", fields: { client_secret: "wrong" }, expected: invalidClient },
    "no secret": { client: "web", fields: { client_secret: undefined }, expected: invalidClient },
    "a native client's secret": {
      client: "native",
      fields: { client_secret: "anything" },
      expected: invalidClient,
    },
    "the resource of another API": {
      client: "web",
      fields: { resource: "https://api.example/reports" },
      expected: refusal(400, "invalid_target"),
    },
    "a wider scope": {
      client: "web",
      fields: { scope: "orders:read orders:write" },
      expected: refusal(400, "invalid_scope"),
    },
    "an unknown scope": {
      client: "web",
      fields: { scope: "orders:delete" },
      expected: refusal(400, "invalid_scope"),
    },
    "a malformed scope": {
      client: "web",
      fields: { scope: 'orders:read "' },
      expected: refusal(400, "invalid_scope"),
    },
    "a browser client": {
      client: "web",
      fields: { client_id: "spa", client_secret: undefined },
      expected: refusal(400, "unauthorized_client"),
    },
  };
  it.each(Object.entries(failures))(
    "refuses %s and burns nothing",
    async (_, { client, fields, expected }) => {
      const host = testHost();
      const refreshToken = await obtainRefreshToken(host, { client });
      expect(answerOf(await refresh(host, { client, refreshToken, fields }))).toEqual(expected);
      expect((await refresh(host, { client, refreshToken })).status).toBe(200);
    },
  );

  it("refuses a request without refresh_token", async () => {
    const response = await refresh(testHost(), { client: "web", refreshToken: "" });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "refresh_token is missing."));
  });

  it("narrows the access token, while the new refresh token keeps the original scope", async () => {
    const host = testHost();
    const first = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    const narrow = tokensOf(
      await refresh(host, { client: "web", refreshToken: first, fields: { scope: "orders:read" } }),
    );
    expect(narrow.scope).toBe("orders:read");
    expect((await callApi(host, "/orders", narrow.access_token)).body).toMatchObject({
      scopes: ["orders:read"],
    });
    expect((await callApi(host, "/orders/changes", narrow.access_token)).status).toBe(403);
    const full = tokensOf(await refresh(host, { client: "web", refreshToken: narrow.refresh_token }));
    expect(full.scope).toBe("orders:read orders:write");
    expect((await callApi(host, "/orders/changes", full.access_token)).status).toBe(200);
  });

  it("takes an equal scope, in any order", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    const fields = { scope: "orders:write orders:read" };
    const { scope } = tokensOf(await refresh(host, { client: "web", refreshToken, fields }));
    expect(new Set(scope.split(" "))).toEqual(new Set(["orders:read", "orders:write"]));
  });

  it("no longer issues scopes that were taken out of the subscription", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const first = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    clock.advance(revocationLagSeconds);
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
    expect(second.scope).toBe("orders:read");
    expect((await callApi(host, "/orders/changes", second.access_token)).status).toBe(403);
    const fields = { scope: "orders:read orders:write" };
    const third = tokensOf(
      await refresh(host, { client: "web", refreshToken: second.refresh_token, fields }),
    );
    expect(third.scope).toBe("orders:read");
  });

  it("serves no client that was taken out of the table", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const refreshToken = await obtainRefreshToken(host);
    records.delete("web");
    clock.advance(revocationLagSeconds);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidClient);
  });

  const idle = { refreshTokenIdleSeconds: 100, refreshTokenSeconds: 250 };

  it.each([
    [99, 200],
    [100, 400],
  ])("%i seconds after its issue answers a token with %i", async (seconds, status) => {
    const host = testHost({ lifetimes: idle });
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(seconds);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(status);
  });

  it("starts the idle time anew with each rotation, and never the absolute one", async () => {
    const host = testHost({ lifetimes: idle });
    let refreshToken = await obtainRefreshToken(host);
    for (const seconds of [90, 90, 69]) {
      clock.advance(seconds);
      refreshToken = tokensOf(await refresh(host, { client: "web", refreshToken })).refresh_token;
    }
    // second 249 of 250
    clock.advance(1);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });

  it("is not left to storage that forgets too late", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const { refreshTokens } = storage;
    const late: Storage["refreshTokens"] = {
      ...refreshTokens,
      find: (handle) => refreshTokens.find(handle, 0),
      rotate: (step) => refreshTokens.rotate(step, 0),
    };
    const host = testHost({ lifetimes: idle, storage: { ...storage, refreshTokens: late } });
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(100);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });

  it("gives no token to a subscription without the grant", async () => {
    const subscriptions = { orders: { grantTypes: ["authorization_code"] } } as const;
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    const code = await obtainCode(host, { client: "web" });
    expect(tokensOf(await redeem(host, { client: "web", code }))).not.toHaveProperty("refresh_token");
  });

  it("tells nothing of tokens that buy nothing: one answer for all, in every header", async () => {
    const host = testHost({ lifetimes: idle });
    const foreign = await obtainRefreshToken(host, { client: "other" });
    const elsewhere = await obtainTokens(host, { client: "web", pair: { method: "sso" } });
    const used = await obtainRefreshToken(host);
    await refresh(host, { client: "web", refreshToken: used });
    const expired = await obtainRefreshToken(host);
    const code = await obtainCode(host, { client: "web" });
    const attempt = async (refreshToken: string): Promise<unknown> => {
      const { status, headers, text } = await refresh(host, { client: "web", refreshToken });
      return { status, text, headers: { ...headers, date: "" } };
    };
    const answers = [
      await attempt("unknown"),
      await attempt(`${"A".repeat(22)}.${"A".repeat(43)}`),
      await attempt(`${used.slice(0, 22)}.${"A".repeat(43)}`),
      await attempt(code),
      await attempt(foreign),
      await attempt(elsewhere.refresh_token ?? ""),
      await attempt(used),
    ];
    clock.advance(100);
    answers.push(await attempt(expired));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 400, text: JSON.stringify(invalidGrant.body) });
  });

  it("takes no refresh token as a code, and does not burn it", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    expect(answerOf(await redeem(host, { client: "web", code: refreshToken }))).toEqual(invalidGrant);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("takes no code as a refresh token, and does not burn it", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await refresh(host, { client: "web", refreshToken: code }))).toEqual(invalidGrant);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("refuses all tokens of a consent that was revoked", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });
});

function ownToken(
  host: TestHost,
  { client, pair = {}, scope }: { client: ClientName; pair?: Pair; scope?: string },
): Promise<Response> {
  const fields = { grant_type: "client_credentials", ...credentials(client), scope };
  return postToken(host, { pair, fields });
}

describe("client credentials (RFC 6749 §4.4)", () => {
  it("answers with an access token and nothing else", async () => {
    const response = await ownToken(testHost(), { client: "machine", scope: "orders:read" });
    expect(answerOf(response)).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        token_type: "bearer",
        expires_in: 600,
        scope: "orders:read",
      },
    });
  });

  it("issues the API's default scopes when none are named", async () => {
    expect(tokensOf(await ownToken(testHost(), { client: "machine" })).scope).toBe("orders:read");
  });

  it("issues only those default scopes that the subscription has", async () => {
    const subscriptions = { orders: { scopes: ["orders:write"] } };
    const host = testHost({ clients: [{ ...clients.machine, subscriptions }] });
    expect(tokensOf(await ownToken(host, { client: "machine" }))).not.toHaveProperty("scope");
  });

  it("issues every scope of the API to a subscription that names none", async () => {
    const { scope } = tokensOf(
      await ownToken(testHost(), { client: "web", scope: "orders:read orders:write" }),
    );
    expect(scope).toBe("orders:read orders:write");
  });

  it.each([
    ["beyond the subscription", "orders:write"],
    ["partly beyond the subscription", "orders:read orders:write"],
    ["of another API", "files:read"],
    ["unknown", "anything"],
    ["malformed", "orders:read  orders:read"],
    ["of every object", "constructor"],
  ])("refuses a scope that is %s", async (_, scope) => {
    const response = await ownToken(testHost(), { client: "machine", scope });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_scope"));
  });

  it("refuses an omitted scope where the API requires one", async () => {
    const host = testHost();
    const pair: Pair = { api: "reports" };
    const response = await ownToken(host, { client: "web", pair });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_scope", "This API requires a scope."));
    expect(tokensOf(await ownToken(host, { client: "web", pair, scope: "reports:read" })).scope).toBe(
      "reports:read",
    );
  });

  it("writes nothing to storage for a JWT", async () => {
    const { storage, calls } = countedStorage();
    expect((await ownToken(testHost({ storage }), { client: "machine" })).status).toBe(200);
    expect(calls).toEqual(["clients.find"]);
  });

  it("writes once to storage for an opaque token", async () => {
    const { storage, calls } = countedStorage();
    const response = await ownToken(testHost({ storage }), {
      client: "web",
      pair: { api: "reports" },
      scope: "reports:read",
    });
    expect(response.status).toBe(200);
    expect(calls).toEqual(["clients.find", "accessTokens.create"]);
  });

  it("tells the host of it", async () => {
    const host = testHost();
    await ownToken(host, { client: "machine" });
    expect(host.events).toEqual([
      {
        kind: "token-issued",
        at: clock.now(),
        grantType: "client_credentials",
        issuer,
        clientId: "machine",
        scopes: ["orders:read"],
      },
    ]);
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
      post(host, `${clientCredentials}&${encode({ resource })}`),
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
    const response = await post(testHost(), `${clientCredentials}&${encode({ resource })}`);
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });
});

describe("storage that fails during a token request (RFC 6749 §5.2)", () => {
  const pair: Pair = { api: "reports" };
  const failure = new Error("the database says: password=hunter2");

  type When = "before" | "after";
  /** Storage that can be told to fail in one call, before or after the work is done. */
  function failingStorage() {
    const failing: { name: string | undefined; when: When } = { name: undefined, when: "before" };
    const calls: string[] = [];
    const storage = intercept(
      memoryStorage({ clients: Object.values(clients) }),
      async (name, call): Promise<unknown> => {
        calls.push(name);
        if (failing.name !== name) return call();
        if (failing.when === "after") await call();
        throw failure;
      },
    );
    return { storage, failing, calls };
  }

  type Attempt = () => Promise<Response>;
  const prepare: Record<GrantType, (host: TestHost) => Promise<Attempt>> = {
    async authorization_code(host) {
      const code = await obtainCode(host, { client: "web", pair });
      return () => redeem(host, { client: "web", code, pair });
    },
    async refresh_token(host) {
      const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web", pair });
      return () => refresh(host, { client: "web", refreshToken, pair });
    },
    async client_credentials(host) {
      const grant_type = "client_credentials";
      const fields = { grant_type, ...credentials("web"), scope: "reports:read" };
      return () => postToken(host, { pair, fields });
    },
  };

  /** Storage call → what a second attempt with the same code or token gets, once storage works again. */
  type Outcomes = Record<string, { before: number; after: number }>;
  const free = { before: 200, after: 200 };
  const step = { before: 200, after: 400 };
  const outcomes: Record<GrantType, Outcomes> = {
    authorization_code: {
      "clients.find": free,
      "authorizationCodes.find": free,
      "authorizations.find": free,
      "accessTokens.create": free,
      "refreshTokens.create": free,
      "authorizationCodes.consume": step,
    },
    refresh_token: {
      "clients.find": free,
      "refreshTokens.find": free,
      "authorizations.find": free,
      "accessTokens.create": free,
      "refreshTokens.rotate": step,
    },
    client_credentials: { "clients.find": free, "accessTokens.create": free },
  };
  const grantTypes = Object.keys(outcomes) as GrantType[];

  it.each(grantTypes)("is tried below in every call of grant %s", async (grantType) => {
    const { storage, calls } = failingStorage();
    const attempt = await prepare[grantType](testHost({ storage, revocationLagSeconds: 0 }));
    calls.length = 0;
    tokensOf(await attempt());
    expect(calls.toSorted()).toEqual(Object.keys(outcomes[grantType]).toSorted());
  });

  const rows = grantTypes.flatMap((grantType) =>
    Object.entries(outcomes[grantType]).flatMap(([name, { before, after }]) => [
      { grantType, name, when: "before" as const, secondAttempt: before },
      { grantType, name, when: "after" as const, secondAttempt: after },
    ]),
  );
  it.each(rows)(
    "answers $grantType with server_error when $name throws $when its work",
    async ({ grantType, name, when, secondAttempt }) => {
      const { storage, failing } = failingStorage();
      const host = testHost({ storage, revocationLagSeconds: 0 });
      const attempt = await prepare[grantType](host);
      Object.assign(failing, { name, when });
      const response = await attempt();
      expect(answerOf(response)).toEqual(serverError);
      expect(response.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      expect(response.text).not.toMatch(/hunter2|database|\bat\b.*:\d+/);
      const event = host.events.at(-1) as Extract<AuthServerEvent, { kind: "server-error" }>;
      expect(event).toMatchObject({ kind: "server-error", issuer: `https://host.example${pairPath(pair)}` });
      expect(event.cause).toBe(failure);

      failing.name = undefined;
      expect((await attempt()).status).toBe(secondAttempt);
      // a code or refresh token buys once, whatever storage did meanwhile
      expect((await attempt()).status).toBe(grantType === "client_credentials" ? 200 : 400);
    },
  );

  it.each(["authorization_code", "refresh_token"] as const)(
    "does not hide a replay of %s: the next one revokes",
    async (grantType) => {
      const { storage, failing } = failingStorage();
      const host = testHost({ storage, revocationLagSeconds: 0 });
      const attempt = await prepare[grantType](host);
      const { access_token } = tokensOf(await attempt());
      failing.name = "authorizations.revoke";
      expect(answerOf(await attempt())).toEqual(serverError);
      failing.name = undefined;
      expect((await callApi(host, "/reports", access_token)).status).toBe(200);
      expect(answerOf(await attempt())).toEqual(invalidGrant);
      expect((await callApi(host, "/reports", access_token)).status).toBe(401);
    },
  );

  it("answers server_error when the look for a browser origin fails", async () => {
    const { storage, failing } = failingStorage();
    const host = testHost({ storage });
    failing.name = "clients.isBrowserOrigin";
    for (const method of ["post", "options"] as const) {
      const response = await request(host.app)[method](tokenPath).set("Origin", "https://spa.example");
      expect(answerOf(response)).toEqual(serverError);
    }
    expect(host.events).toMatchObject([
      { kind: "server-error", issuer, cause: failure },
      { kind: "server-error", issuer, cause: failure },
    ]);
  });

  const thrown = [
    ["nothing", undefined],
    ["a text", "broken"],
    [
      "what looks like an OAuth error",
      Object.assign(new Error("no"), { code: "invalid_grant", status: 400 }),
    ],
  ] as const;
  it.each(thrown)("answers server_error to storage that throws %s, at once", async (_, cause) => {
    const store: ClientStore = {
      find() {
        throw cause;
      },
      isBrowserOrigin: async () => false,
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    expect(answerOf(await post(host, clientCredentials))).toEqual(serverError);
    expect(host.events).toEqual([{ kind: "server-error", at: clock.now(), issuer, cause }]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no log");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no log");
      },
    ],
  ] as const)("answers as ever when the host's onEvent %s", async (_, onEvent) => {
    const host = testHost({ onEvent });
    expect((await post(host, clientCredentials)).status).toBe(200);
    expect(answerOf(await post(host, ""))).toEqual(refusal(400, "invalid_request"));
  });
});

describe("events of token requests (RFC 9700 §4.14)", () => {
  it("hold no code, token, verifier or secret", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const wrongVerifier = "w".repeat(43);
    await redeem(host, { client: "web", code, fields: { code_verifier: wrongVerifier } });
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

function preflight(host: TestHost, origin: string): Promise<Response> {
  const headers = {
    Origin: origin,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
  };
  return Promise.resolve(request(host.app).options(tokenPath).set(headers));
}

function corsHeaders({ headers }: Response): string[] {
  return Object.keys(headers).filter((name) => name.startsWith("access-control-"));
}

describe("cross-origin requests (Fetch standard, RFC 9700 §2.6)", () => {
  const registered = "https://spa.example";
  const others = [
    "https://evil.example",
    "https://spa.example.evil.example",
    "https://spa.example:8443",
    "http://spa.example",
    "https://SPA.example",
    "https://spa.example/",
    "https://web.example",
    "https://phone.example",
    "null",
  ];
  it("answers the preflight of a browser client's origin, without credentials", async () => {
    const response = await preflight(testHost(), registered);
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({
      "access-control-allow-origin": registered,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "Content-Type",
      "access-control-max-age": "600",
      vary: "Origin",
    });
    expect(response.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it.each(others)("allows %s nothing", async (origin) => {
    const host = testHost();
    const asked = await preflight(host, origin);
    expect(asked.status).toBe(204);
    expect(asked.headers["vary"]).toBe("Origin");
    expect(corsHeaders(asked)).toEqual([]);
    const posted = await post(host, clientCredentials, { Origin: origin });
    expect(posted.status).toBe(200);
    expect(posted.headers["vary"]).toBe("Origin");
    expect(corsHeaders(posted)).toEqual([]);
  });

  it("varies by origin even where none was sent", async () => {
    const response = await post(testHost(), clientCredentials);
    expect(response.headers["vary"]).toBe("Origin");
    expect(corsHeaders(response)).toEqual([]);
  });

  it("lets a browser client read its tokens", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "spa" });
    const fields = { grant_type: "authorization_code", client_id: "spa", code, code_verifier: codeVerifier };
    const response = await post(host, encode(fields), { Origin: registered });
    expect(response.status).toBe(200);
    expect(response.headers["access-control-allow-origin"]).toBe(registered);
    expect(corsHeaders(response)).toEqual(["access-control-allow-origin"]);
    expect(response.headers["vary"]).toBe("Origin");
  });

  it.each([
    ["a refusal", "", formType, 400],
    ["a wrong media type", "{}", "application/json", 400],
    ["a body that is too large", "x".repeat(maxFormBytes + 1), formType, 413],
  ])("lets a browser client read %s", async (_, body, type, status) => {
    const response = await post(testHost(), body, { Origin: registered, "Content-Type": type });
    expect(response.status).toBe(status);
    expect(response.headers["access-control-allow-origin"]).toBe(registered);
  });

  it("allows origins that the host's client table lists", async () => {
    const store: ClientStore = {
      find: async () => undefined,
      isBrowserOrigin: async (origin) => origin === "https://listed.example",
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    const listed = await preflight(host, "https://listed.example");
    expect(listed.headers["access-control-allow-origin"]).toBe("https://listed.example");
    expect(corsHeaders(await preflight(host, registered))).toEqual([]);
  });

  it("allows no script to read the authorization endpoint", async () => {
    const host = testHost();
    const headers = { Origin: registered };
    const authorizePath = `${pairPath()}/authorize`;
    const redirected = await obtainCode(host, { client: "spa" }).then(() =>
      authorize(host.browser(), { client: "spa" }),
    );
    expect(redirected.status).toBe(302);
    const answers = [
      redirected,
      await request(host.app).get(authorizePath).set(headers),
      await request(host.app).options(authorizePath).set(headers),
      await request(host.app).get(`${authorizePath}/resume`).set(headers),
      await request(host.app).post(`${authorizePath}/consent`).set(headers).type("form").send("a=b"),
      await request(host.app).options(`${authorizePath}/consent`).set(headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([302, 400, 405, 400, 400, 405]);
    expect(answers.flatMap(corsHeaders)).toEqual([]);
  });

  it.each(["https://evil.example", undefined])(
    "lets every script, such as of %s, read the documents at the root (RFC 9728 §3)",
    async (origin) => {
      const response = await request(testHost().app)
        .get("/.well-known/oauth-protected-resource/orders")
        .set(origin === undefined ? {} : { Origin: origin });
      expect(response.status).toBe(200);
      expect(response.headers["access-control-allow-origin"]).toBe("*");
      expect(corsHeaders(response)).toEqual(["access-control-allow-origin"]);
    },
  );
});
