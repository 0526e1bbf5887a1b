// What the hook of the host is asked and told, by clients of each kind.
import request, { type Response } from "supertest";
import type { ClientOutcome } from "../../lib";
import { issuer, pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import type { Fields } from "../browser/browser";
import { assertionOf, presenting, tokenBy } from "../requests/client-assertions";
import { introspect, ownToken, postToken, redeem, refresh, revoke } from "../requests/client-requests";
import { basic, credentials, webSecret } from "../hosts/clients";
import { listeners, ways } from "../hosts/in-front";
import { obtainCode, obtainTokens } from "../browser/journey";
import { answerOf, corsHeaders, invalidClient, preflight, refusal } from "../requests/json-answers";
import { newLatch } from "../storage/latch";
import { limited, limitedHost, type LimitedHost } from "./rate-limits";
import {
  allConnectionsEnded,
  closeServersAfterEachTest,
  connectTo,
  form,
  serverOf,
  talk,
} from "../requests/raw-connections";
import { clientCredentials, maxFormBytes, postTokenText, tokenPath } from "../requests/token-requests";

closeServersAfterEachTest();

/** The client credentials grant, with what a client says of itself. */
function asking(fields: Fields = {}, headers: Readonly<Record<string, string>> = {}) {
  return { fields: { grant_type: "client_credentials", ...fields }, headers };
}

/** What the hook was asked about this one request. */
async function attemptOf({ fields, headers }: ReturnType<typeof asking>): Promise<object> {
  const { host, attempts } = limitedHost();
  await request(host.app).post(tokenPath).set(headers).type("form").send(fields);
  const [attempt, ...more] = attempts;
  if (!attempt || more.length > 0) throw new Error(`asked ${attempts.length} times`);
  return attempt;
}

describe("the client that a request claims (RFC 6749 §2.3.1, §3.2.1, 7521 §4.2)", () => {
  const webBasic = { Authorization: basic("web", webSecret.secret) };
  it.each<[string, ReturnType<typeof asking>, string]>([
    ["by Basic", asking({}, webBasic), "web"],
    ["by Basic and once more in the form", asking({ client_id: "web" }, webBasic), "web"],
    [
      "by Basic, with the id in other characters",
      asking({}, { Authorization: `Basic ${btoa("%77eb:no")}` }),
      "web",
    ],
    ["with its secret in the form", asking(credentials("web")), "web"],
    ["with a wrong secret", asking({ client_id: "web", client_secret: "a guess" }), "web"],
    ["by an assertion", asking(presenting(assertionOf())), "keyed"],
    ["by an assertion with a wrong signature", asking(presenting(`${assertionOf()}AAAA`)), "keyed"],
    ["without a secret", asking({ client_id: "native" }), "native"],
    ["that does not exist", asking({ client_id: "nobody" }), "nobody"],
    ["of the greatest length", asking({ client_id: "x".repeat(255) }), "x".repeat(255)],
  ])("%s", async (_, sent, clientId) => {
    expect(await attemptOf(sent)).toMatchObject({ clientId });
  });

  it.each<[string, ReturnType<typeof asking>]>([
    ["none is named", asking()],
    ["only a secret is sent", asking({ client_secret: "a guess" })],
    ["the header is not Basic", asking({ client_id: "web" }, { Authorization: "Bearer abc" })],
    ["header and form name two", asking({ client_id: "other" }, webBasic)],
    ["there are two methods", asking({ client_secret: "a guess" }, webBasic)],
    ["assertion and form name two", asking({ client_id: "web", ...presenting(assertionOf()) })],
    ["the assertion is no JWT", asking({ client_id: "web", ...presenting("web") })],
    ["the id has 256 characters", asking({ client_id: "x".repeat(256) })],
    ["the id has a space", asking({ client_id: "192.0.2.1 web" })],
    ["the id has a line break", asking({ client_id: "web\r\n" })],
    ["the id is not ASCII", asking({ client_id: "wéb" })],
  ])("is not named when %s", async (_, sent) => {
    expect(await attemptOf(sent)).not.toHaveProperty("clientId");
  });

  it.each(["client_id=web&client_id=web", "client_id=web&scope=a&scope=a", "client_id=web&x=%ff"])(
    "is not named in a form that authentication does not read: %s",
    async (text) => {
      const { host, attempts } = limitedHost();
      await postTokenText(host, text);
      expect(attempts).toEqual([expect.not.objectContaining({ clientId: "web" })]);
    },
  );

  it("is not named when there are several Authorization headers", async () => {
    const { host, attempts, outcomes } = limitedHost();
    const header = `Authorization: ${basic("web", webSecret.secret)}`;
    const server = await serverOf(host.app);
    await talk(server, form({ grant_type: "client_credentials" }, { headers: [header, header] }));
    expect(attempts).toEqual([expect.not.objectContaining({ clientId: "web" })]);
    expect(outcomes).toEqual([{ status: 400, oauthError: "invalid_request" }]);
  });
});

describe("what else an attempt says (RFC 6749 §3.2, 7009 §2.1, 7662 §2.1)", () => {
  it("names endpoint, issuer and grant, and has the request", async () => {
    const { host, attempts, requests } = limitedHost();
    await request(host.app).post(tokenPath).set("User-Agent", "a test").type("form").send(clientCredentials);
    await revoke(host, { token: "x", fields: { grant_type: "refresh_token" } });
    await introspect(host, { token: "x", pair: { method: "otp" } });
    const ip = expect.stringMatching(/127\.0\.0\.1$/) as string;
    expect(attempts).toEqual([
      { ip, endpoint: "token", issuer, clientId: "machine", grantType: "client_credentials" },
      { ip, endpoint: "revocation", issuer, clientId: "web" },
      { ip, endpoint: "introspection", issuer: issuer.replace("password", "otp"), clientId: "web" },
    ]);
    expect(requests[0]).toMatchObject({ method: "POST", headers: { "user-agent": "a test" } });
  });

  it.each(["password", "constructor", ""])(
    "names no grant that the server does not know: %j",
    async (grant) => {
      const { host, attempts } = limitedHost();
      await postToken(host, { fields: { ...credentials("web"), grant_type: grant } });
      expect(attempts).toEqual([expect.not.objectContaining({ grantType: grant })]);
    },
  );

  it("is the host's to keep and to change", async () => {
    const made = limitedHost();
    made.answer = (attempt, allowed) => {
      Object.assign(attempt, { clientId: "other", grantType: "password", issuer: "https://evil.example" });
      return allowed;
    };
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
    expect(made.outcomes).toEqual([{ status: 200, clientId: "machine" }]);
  });
});

describe("requests that are not asked about", () => {
  it.each<[string, (made: LimitedHost) => Promise<Response>, number]>([
    ["one by another method", ({ host: { app } }) => Promise.resolve(request(app).get(tokenPath)), 405],
    ["JSON", ({ host }) => postTokenText(host, "{}", { "Content-Type": "application/json" }), 400],
    ["a form that is too large", ({ host }) => postTokenText(host, "x".repeat(maxFormBytes + 1)), 413],
  ])("%s", async (_, send, status) => {
    const made = limitedHost();
    expect((await send(made)).status).toBe(status);
    expect(made.attempts).toEqual([]);
  });

  it("bytes that are not UTF-8", async () => {
    const { host, attempts } = limitedHost();
    expect(await talk(await serverOf(host.app), form("client_id=\xff"))).toContain("invalid_request");
    expect(attempts).toEqual([]);
  });

  it("those of people's browsers, and those for documents", async () => {
    const { host, attempts } = limitedHost();
    await obtainCode(host, { client: "web" });
    await request(host.app).get(`${pairPath()}/.well-known/oauth-authorization-server`).expect(200);
    await request(host.app).get("/login/jwks").expect(200);
    expect(attempts).toEqual([]);
  });
});

const tooMany = refusal(429, "temporarily_unavailable", "Too many requests: try again later.");

describe.each(ways)("a limited request (RFC 6585 §4, 9110 §10.2.3) %s", (way) => {
  function post(made: LimitedHost, endpoint: string, headers: Readonly<Record<string, string>> = {}) {
    const sent = request(listeners[way](made.host)).post(`${pairPath()}/${endpoint}`).set(headers);
    return sent.type("form").send(credentials("web"));
  }

  it.each(["token", "revoke", "introspect"])("gets 429 and when to come back at %s", async (endpoint) => {
    const made = limitedHost();
    made.answer = () => limited;
    const answer = await post(made, endpoint);
    expect(answerOf(answer)).toEqual(tooMany);
    expect(answer.headers).toMatchObject({
      "retry-after": "7",
      "cache-control": "no-store",
      pragma: "no-cache",
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
    });
    expect(corsHeaders(answer)).toEqual([]);
  });

  it.each(["token", "revoke"])(
    "lets every script read it at %s: it tells nothing of anybody",
    async (endpoint) => {
      const made = limitedHost();
      made.answer = () => limited;
      const answer = await post(made, endpoint, { Origin: "https://evil.example" });
      expect(answer.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "Retry-After",
        vary: "Origin",
        "retry-after": "7",
      });
      expect(corsHeaders(await post(made, "introspect", { Origin: "https://spa.example" }))).toEqual([]);
    },
  );

  it("does not challenge who sent Basic: their proof was not looked at", async () => {
    const made = limitedHost();
    made.answer = () => limited;
    const answer = await post(made, "token", { Authorization: basic("web", "a guess") });
    expect(answer.headers).not.toHaveProperty("www-authenticate");
  });
});

describe("what a limited request leaves as it was", () => {
  it("looks nothing up, and so compares no secret", async () => {
    const made = limitedHost();
    made.answer = () => limited;
    await ownToken(made.host, { client: "web" });
    await redeem(made.host, { client: "web", code: "a guess" });
    await tokenBy(made.host);
    await revoke(made.host, { token: "x" });
    await introspect(made.host, { token: "x" });
    expect(made.attempts).toHaveLength(5);
    expect([made.calls, made.outcomes]).toEqual([[], []]);
  });

  it.each(["https://spa.example", "https://made-up.example"])(
    "looks up no origin either, for a request or a preflight of %s (Fetch standard)",
    async (Origin) => {
      const made = limitedHost();
      made.answer = () => limited;
      const posted = await postTokenText(made.host, clientCredentials, { Origin });
      const asked = await preflight(made.host, tokenPath, Origin);
      expect([posted.status, asked.status]).toEqual([429, 429]);
      expect([made.attempts.length, made.calls]).toEqual([2, []]);
    },
  );

  it("tells the host by the refusal of the endpoint, without the id that was claimed", async () => {
    const made = limitedHost();
    made.answer = () => limited;
    await ownToken(made.host, { client: "web" });
    await revoke(made.host, { token: "x" });
    await introspect(made.host, { token: "x" });
    const told = {
      at: expect.any(Number) as number,
      issuer,
      error: "temporarily_unavailable",
      code: "rate-limited",
      reason: expect.any(String) as string,
    };
    expect(made.host.events).toEqual([
      { kind: "token-refused", ...told },
      { kind: "revocation-refused", ...told },
      { kind: "introspection-refused", ...told },
    ]);
  });

  it("leaves a code to be redeemed (RFC 6749 §4.1.2)", async () => {
    const made = limitedHost();
    const code = await obtainCode(made.host, { client: "web" });
    const allow = made.answer;
    made.answer = () => limited;
    expect(answerOf(await redeem(made.host, { client: "web", code }))).toEqual(tooMany);
    made.answer = allow;
    expect((await redeem(made.host, { client: "web", code })).status).toBe(200);
  });

  it("leaves a refresh token to be used (RFC 6749 §6), and a token valid that was to be revoked", async () => {
    const made = limitedHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(made.host, { client: "web" });
    const allow = made.answer;
    made.answer = () => limited;
    expect(answerOf(await refresh(made.host, { client: "web", refreshToken }))).toEqual(tooMany);
    expect(answerOf(await revoke(made.host, { token: refreshToken }))).toEqual(tooMany);
    made.answer = allow;
    expect((await refresh(made.host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("leaves an assertion to be used (RFC 7523 §3)", async () => {
    const made = limitedHost();
    const assertion = assertionOf();
    const allow = made.answer;
    made.answer = () => limited;
    expect(answerOf(await tokenBy(made.host, { assertion }))).toEqual(tooMany);
    made.answer = allow;
    expect((await tokenBy(made.host, { assertion })).status).toBe(200);
    expect((await tokenBy(made.host, { assertion })).status).toBe(401);
  });
});

describe("a preflight (Fetch standard)", () => {
  it.each([
    ["https://spa.example", ["https://spa.example"]],
    ["https://evil.example", []],
  ])(
    "is asked about as a request that names no client, and answered if it is allowed: %s",
    async (origin, allowed) => {
      const made = limitedHost();
      const answer = await preflight(made.host, tokenPath, origin);
      expect([answer.headers["access-control-allow-origin"]].flatMap((value) => value ?? [])).toEqual(
        allowed,
      );
      const ip = expect.stringMatching(/127\.0\.0\.1$/) as string;
      expect(made.attempts).toEqual([{ ip, endpoint: "token", issuer }]);
      expect([made.calls, made.outcomes]).toEqual([["clients.isBrowserOrigin"], [{ status: 204 }]]);
    },
  );

  it("of no page is asked about by nobody, and looks nothing up", async () => {
    const made = limitedHost();
    await request(made.host.app).options(tokenPath).expect(204);
    expect([made.attempts, made.calls]).toEqual([[], []]);
  });

  it("tells the host of its outcome when storage fails", async () => {
    const made = limitedHost();
    made.failing = "clients.isBrowserOrigin";
    expect((await preflight(made.host, tokenPath, "https://spa.example")).status).toBe(500);
    expect(made.outcomes).toEqual([{ status: 500, oauthError: "server_error" }]);
  });
});

describe("a request that no client could make good (Fetch standard)", () => {
  it.each(["grant_type=a&grant_type=b", "client_id=%ff"])("looks up no origin: %s", async (text) => {
    const made = limitedHost();
    await postTokenText(made.host, text, { Origin: "https://made-up.example" });
    expect(made.calls).toEqual([]);
  });
});

describe("the outcome (RFC 6749 §5.1, §5.2)", () => {
  const guess = { client_id: "web", client_secret: "a guess" };
  const unknownCode = { grant_type: "authorization_code", code: "x", code_verifier: codeVerifier };
  it.each<[string, Fields, ClientOutcome]>([
    ["of a success", asking(credentials("machine")).fields, { status: 200, clientId: "machine" }],
    ["of a wrong secret", asking(guess).fields, { status: 401, oauthError: "invalid_client" }],
    [
      "of a client that does not exist",
      asking({ ...guess, client_id: "nobody" }).fields,
      { status: 401, oauthError: "invalid_client" },
    ],
    [
      "of a code that is not known, from a proven client",
      { ...unknownCode, ...credentials("web") },
      { status: 400, oauthError: "invalid_grant", clientId: "web" },
    ],
    [
      "of a code that is not known, from a public client, which only names itself",
      { ...unknownCode, client_id: "native" },
      { status: 400, oauthError: "invalid_grant", clientId: "native" },
    ],
    [
      "of a client that may not do this",
      asking({ client_id: "native" }).fields,
      { status: 400, oauthError: "unauthorized_client", clientId: "native" },
    ],
    ["of a request without a client", asking().fields, { status: 400, oauthError: "invalid_request" }],
  ])("%s", async (_, fields, outcome) => {
    const { host, outcomes } = limitedHost();
    await postToken(host, { fields });
    expect(outcomes).toEqual([outcome]);
  });

  it("at the other endpoints", async () => {
    const { host, outcomes } = limitedHost();
    await revoke(host, { token: "x" });
    await introspect(host, { token: "x" });
    await introspect(host, { client: "native", token: "x" });
    await revoke(host, { token: "x", fields: { client_secret: "a guess" } });
    expect(outcomes).toEqual([
      { status: 200, clientId: "web" },
      { status: 200, clientId: "web" },
      { status: 401, oauthError: "invalid_client", clientId: "native" },
      { status: 401, oauthError: "invalid_client" },
    ]);
  });

  it.each([
    ["before the client was proven", "clients.find", undefined],
    ["after it", "accessTokens.create", "web"],
  ])("of a failure of storage %s", async (_, name, clientId) => {
    const made = limitedHost();
    made.failing = name;
    const fields = { ...asking(credentials("web")).fields, scope: "reports:read" };
    const answer = await postToken(made.host, { pair: { api: "reports" }, fields });
    expect(answer.status).toBe(500);
    expect(made.outcomes).toEqual([
      { status: 500, oauthError: "server_error", ...(clientId !== undefined && { clientId }) },
    ]);
  });

  it("of a token for which the client has to come later", async () => {
    const { host, outcomes } = limitedHost({
      tokens: { decide: () => ({ kind: "later", retryAfterSeconds: 5 }) },
    });
    await ownToken(host, { client: "web" });
    expect(outcomes).toEqual([{ status: 503, oauthError: "temporarily_unavailable", clientId: "web" }]);
  });

  it("is known before the client has its answer", async () => {
    const made = limitedHost();
    expect(answerOf(await postToken(made.host, asking(guess)))).toEqual(invalidClient);
    expect(made.outcomes).toHaveLength(1);
  });

  it.each(ways)("is told when the client has disconnected meanwhile, %s", async (way) => {
    const [entered, goOn] = [newLatch(), newLatch()];
    const made = limitedHost();
    made.answer = async (_, allowed) => {
      entered.open();
      await goOn.opened;
      return allowed;
    };
    const server = await serverOf(listeners[way](made.host));
    const socket = await connectTo(server);
    socket.write(form(asking(guess).fields));
    await entered.opened;
    socket.destroy();
    await allConnectionsEnded(server);
    goOn.open();
    await new Promise(setImmediate);
    await allConnectionsEnded(server);
    expect(made.attempts).toMatchObject([{ ip: expect.stringMatching(/127\.0\.0\.1$/) as string }]);
    expect(made.outcomes).toEqual([{ status: 401, oauthError: "invalid_client" }]);
  });
});
