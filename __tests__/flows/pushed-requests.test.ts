import { decodeJwt } from "jose";
import type { Response } from "supertest";
import { changeClient, type Client, type Storage, type WritableClients } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Fields } from "../browser/browser";
import { bothScopes, outcomeOf, yes } from "../browser/consent";
import { interactionOf, signIn } from "../browser/interaction";
import { issuer, pairPath } from "../hosts/apis";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, bob, signedOut, type TestHost } from "../hosts/host";
import { provider } from "../openid/provider";
import { redeem } from "../requests/client-requests";
import { push, pushed, pushHost, visitPushed } from "../requests/pushed-requests";

const clock = stopClockForEachTest();

const lastEvent = ({ events }: TestHost): object | undefined => events.at(-1);

/** What a person sees who is not sent to the client. */
function shownPage(response: Response): object {
  return { status: response.status, location: response.headers["location"] as unknown };
}

async function change(host: TestHost, to: (client: Client) => Client): Promise<void> {
  await changeClient(host.storage.clients as Storage["clients"] & WritableClients, "web", to);
  clock.advance(6);
}

describe("the pushed authorization request endpoint (RFC 9126 §2)", () => {
  it("gives a request_uri of its own each time, for 300 seconds, and stores nothing", async () => {
    const host = pushHost();
    const first = await push(host);
    const second = await push(host);
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]+$/) as string,
      expires_in: 300,
    });
    expect(first.headers).toMatchObject({ "cache-control": "no-store" });
    expect((second.body as { request_uri: string }).request_uri).not.toBe(
      (first.body as { request_uri: string }).request_uri,
    );
    expect(host.events).toEqual([
      expect.objectContaining({ kind: "request-pushed", issuer, clientId: "web" }),
      expect.objectContaining({ kind: "request-pushed" }),
    ]);
  });

  it("hides the request: neither state nor login_hint can be read in it", async () => {
    const uri = await pushed(pushHost(), { fields: { login_hint: "alice@example.org" } });
    const bytes = Buffer.from(uri.split(":").at(-1) ?? "", "base64url").toString("latin1");
    expect(bytes).not.toMatch(/alice|a state|web|orders/);
  });

  it.each<[string, Fields, number, string]>([
    ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
    [
      "a redirect URI that is not registered",
      { redirect_uri: "https://evil.example/" },
      400,
      "invalid_request",
    ],
    ["no redirect URI", { redirect_uri: undefined }, 400, "invalid_request"],
    ["a request_uri in it (§2.1)", { request_uri: "urn:x" }, 400, "request_uri_not_supported"],
    ["a request object", { request: "e30.e30." }, 400, "request_not_supported"],
    ["an unknown scope", { scope: "orders:all" }, 400, "invalid_scope"],
    ["a response_type that is not code", { response_type: "token" }, 400, "unsupported_response_type"],
    ["PKCE with plain", { code_challenge_method: "plain" }, 400, "invalid_request"],
    ["two states", { state: ["a", "b"] }, 400, "invalid_request"],
    ["another API", { resource: "https://api.example/files" }, 400, "invalid_target"],
    ["a request that no cookie could hold", { state: "x".repeat(2_400) }, 400, "invalid_request"],
  ])("refuses %s, and tells the host", async (_, fields, status, error) => {
    const host = pushHost();
    const { status: answered, body } = await push(host, { fields });
    expect([answered, body]).toEqual([status, expect.objectContaining({ error })]);
    expect(lastEvent(host)).toMatchObject({ kind: "push-refused", error });
  });

  it("takes the client from Basic authentication, and from client_id of a public client", async () => {
    const host = pushHost();
    const { headers, fields } = {
      headers: { Authorization: `Basic ${Buffer.from("web:wrong").toString("base64")}` },
      fields: { client_secret: undefined },
    };
    expect((await push(host, { headers, fields })).status).toBe(401);
    expect((await push(host, { client: "native" })).status).toBe(201);
  });

  it("is where the option is, and nowhere else", async () => {
    const host = pushHost();
    expect((await push(host, { pair: { api: "reports" }, fields: { scope: "reports:read" } })).status).toBe(
      404,
    );
    const metadata = async (api: string): Promise<object> =>
      (
        await host
          .browser()
          .get(`${pairPath({ api: api as "orders" })}/.well-known/oauth-authorization-server`)
      ).body as object;
    expect(await metadata("orders")).toMatchObject({
      pushed_authorization_request_endpoint: `${issuer}/par`,
    });
    expect(await metadata("orders")).not.toHaveProperty("require_pushed_authorization_requests");
    expect(await metadata("reports")).not.toHaveProperty("pushed_authorization_request_endpoint");
  });

  it("answers scripts of browser clients, and only POST", async () => {
    const host = pushHost();
    const headers = { Origin: "https://spa.example" };
    const answer = await push(host, { client: "spa", headers });
    expect(answer.headers["access-control-allow-origin"]).toBe("https://spa.example");
    expect((await host.browser().get(`${pairPath()}/par`)).status).toBe(405);
  });

  it("is counted by rateLimit under its own name", async () => {
    const endpoints: string[] = [];
    const host = pushHost({
      rateLimit: ({ endpoint }) => {
        endpoints.push(endpoint);
        return { kind: "limited", retryAfterSeconds: 7 };
      },
    });
    const { status, headers } = await push(host);
    expect([status, headers["retry-after"], endpoints]).toEqual([429, "7", ["pushed_authorization_request"]]);
  });
});

describe("a visit with a request_uri (RFC 9126 §4)", () => {
  it("leads to tokens, through the sign-in and the consent page", async () => {
    const host = pushHost();
    host.session = signedOut;
    const uri = await pushed(host, { fields: bothScopes });
    const browser = host.browser();
    const first = await visitPushed(browser, { uri });
    const page = await signIn({ browser, id: interactionOf(first) });
    const answer = redirectParameters(await browser.answer(page, "approve"));
    expect(answer).toMatchObject({ state: "a state", iss: issuer });
    const { body } = await redeem(host, { client: "web", code: answer["code"] ?? "" });
    const { access_token: token, scope } = body as { access_token: string; scope: string };
    expect([scope, decodeJwt(token).sub]).toEqual(["orders:read orders:write", "alice"]);
  });

  it("ignores everything else in the URL", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const fields = {
      scope: "orders:write",
      state: "changed",
      redirect_uri: "https://evil.example",
      request: "x",
    };
    const browser = host.browser();
    const page = await visitPushed(browser, { uri, fields });
    expect(redirectParameters(await browser.answer(page, "approve"))).toMatchObject({ state: "a state" });
    expect(host.events.find(({ kind }) => kind === "authorization-granted")).toMatchObject({
      scopes: ["orders:read"],
    });
  });

  it("is used up by a yes, and by nothing before it", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const [one, other] = [host.browser(), host.browser()];
    await visitPushed(one, { uri });
    const [page, late] = [await visitPushed(one, { uri }), await visitPushed(other, { uri })];
    expect(outcomeOf(await one.answer(page, "approve"))).toBe("granted");
    expect(redirectParameters(await other.answer(late, "approve"))).toMatchObject({
      error: "invalid_request_uri",
      state: "a state",
    });
    expect(lastEvent(host)).toMatchObject({ code: "request-uri-used-before" });
    const { authorizations } = await host.auth.authorizations.list("alice");
    expect(authorizations).toHaveLength(1);
  });

  it("stays used up for as long as a page that was opened in time can be answered", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const [one, other] = [host.browser(), host.browser()];
    clock.advance(299);
    const [page, late] = [await visitPushed(one, { uri }), await visitPushed(other, { uri })];
    clock.advance(300);
    expect(outcomeOf(await one.answer(page, "approve"))).toBe("granted");
    clock.advance(299);
    expect(outcomeOf(await other.answer(late, "approve"))).toBe("invalid_request_uri");
  });

  it("lets the second click of an impatient person through", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const browser = host.browser();
    const page = await visitPushed(browser, { uri });
    const post = (): Promise<Response> => browser.post(`${pairPath()}/authorize/consent`, yes(page));
    const answers = await Promise.all([post(), post()]);
    expect(answers.map(outcomeOf)).toEqual(["granted", "granted"]);
  });

  it("is used up by an approval without a page, too", async () => {
    const host = pushHost({ clients: [trustedWeb] });
    const uri = await pushed(host);
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("granted");
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("invalid_request_uri");
  });

  it("can be tried again after a no", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const browser = host.browser();
    expect(outcomeOf(await browser.answer(await visitPushed(browser, { uri }), "deny"))).toBe(
      "access_denied",
    );
    expect(outcomeOf(await browser.answer(await visitPushed(browser, { uri }), "approve"))).toBe("granted");
  });

  it("is over after 300 seconds, and the person is told so", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    clock.advance(299);
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("asked");
    clock.advance(1);
    const answer = await visitPushed(host.browser(), { uri });
    expect(shownPage(answer)).toEqual({ status: 400, location: undefined });
    expect(lastEvent(host)).toMatchObject({ code: "request-uri-expired", error: "invalid_request_uri" });
  });

  it("is checked again: what the client may no longer have is refused", async () => {
    const host = pushHost();
    const uri = await pushed(host, { fields: bothScopes });
    await change(host, (client) => ({ ...client, subscriptions: { orders: { scopes: ["orders:read"] } } }));
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("invalid_scope");
    await change(host, (client) => ({ ...client, redirectUris: ["https://web.example/new"] }));
    expect(shownPage(await visitPushed(host.browser(), { uri }))).toEqual({
      status: 400,
      location: undefined,
    });
  });

  it("keeps the person of an id_token_hint, and not the hint (OpenID Connect Core §3.1.2.1)", async () => {
    const host = provider({ api: { pushedRequests: "required" }, clients: [trustedWeb] });
    const openid = { scope: "openid" };
    const first = await visitPushed(host.browser(), { uri: await pushed(host, { fields: openid }) });
    const { code = "" } = redirectParameters(first);
    const { id_token: hint } = (await redeem(host, { client: "web", code })).body as { id_token: string };
    const fields = { ...openid, prompt: "none", id_token_hint: hint };
    const uri = await pushed(host, { fields });
    expect(uri.length).toBeLessThan(hint.length + 400);
    host.session = bob;
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("login_required");
    host.session = alice();
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("granted");
    const forged = { ...fields, id_token_hint: `${hint}x` };
    expect((await push(host, { fields: forged })).body).toMatchObject({ error: "invalid_request" });
  });
});

describe("request_uris of others (RFC 9126 §7.1 to §7.3)", () => {
  const notOurs = {
    kind: "authorization-denied",
    code: "request-uri-not-ours",
    error: "invalid_request_uri",
  };

  it.each<[string, { client?: "other"; pair?: { method?: "otp"; api?: "files" } }]>([
    ["another client", { client: "other" }],
    ["the same API by another authentication method", { pair: { method: "otp" } }],
    ["another API", { pair: { api: "files" } }],
  ])("are worth nothing for %s: the person sees a page", async (_, foreign) => {
    const host = pushHost();
    const uri = await pushed(host);
    const answer = await visitPushed(host.browser(), { uri, ...foreign });
    expect([shownPage(answer), lastEvent(host)]).toEqual([
      { status: 400, location: undefined },
      expect.objectContaining(notOurs),
    ]);
  });

  it("are not opened without client_id, with other secrets, or bent", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const elsewhere = await pushed(pushHost({ secrets: ["another-secret-of-at-least-32-characters"] }));
    for (const [sent, client] of [
      [uri, ""],
      [elsewhere, "web"],
      [`${uri}x`, "web"],
      [`${uri.slice(0, -1)}${uri.endsWith("A") ? "B" : "A"}`, "web"],
      ["urn:ietf:params:oauth:request_uri:", "web"],
    ] as const) {
      const answer = await host
        .browser()
        .get(`${pairPath()}/authorize`, { client_id: client, request_uri: sent });
      expect(shownPage(answer)).toEqual({ status: 400, location: undefined });
      expect(lastEvent(host)).toMatchObject(notOurs);
    }
  });

  it("survive a rotation of secrets", async () => {
    const old = "a-test-secret-of-at-least-32-characters";
    const uri = await pushed(pushHost({ secrets: [old] }));
    const host = pushHost({ secrets: ["a-new-secret-of-at-least-32-characters!", old] });
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("asked");
  });

  it("of other servers are refused by redirect where the rest of the request is good", async () => {
    const host = pushHost();
    const fields = { request_uri: "https://client.example/request.jwt" };
    expect(outcomeOf(await authorize(host.browser(), { client: "web", fields }))).toBe(
      "request_uri_not_supported",
    );
  });

  it("are refused as ever where the API has no pushed requests", async () => {
    const host = pushHost();
    const uri = await pushed(host);
    const pair = { api: "reports" } as const;
    const fields = { request_uri: uri };
    expect(outcomeOf(await authorize(host.browser(), { client: "web", pair, fields }))).toBe(
      "request_uri_not_supported",
    );
  });
});

describe("requests that must be pushed (RFC 9126 §5, §6)", () => {
  const pushedClient = { ...clients.web, requirePushedRequests: true };
  const notPushed = { error: "invalid_request", state: "a state", iss: issuer };

  it.each<[string, () => TestHost]>([
    ["by the API", () => pushHost({ pushedRequests: "required" })],
    ["by the client's record", () => pushHost({ clients: [pushedClient] })],
  ])("are refused in the URL, and told to the client, where that is said %s", async (_, hosted) => {
    const host = hosted();
    const browser = host.browser();
    expect(redirectParameters(await authorize(browser, { client: "web" }))).toMatchObject(notPushed);
    expect(lastEvent(host)).toMatchObject({ code: "request-not-pushed" });
    const page = await visitPushed(browser, { uri: await pushed(host) });
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  });

  it("cannot come from a client whose record demands it, at an API that takes none", async () => {
    const host = pushHost({ clients: [pushedClient] });
    const pair = { api: "reports" } as const;
    const fields = { scope: "reports:read" };
    expect(outcomeOf(await authorize(host.browser(), { client: "web", pair, fields }))).toBe(
      "invalid_request",
    );
    expect(lastEvent(host)).toMatchObject({ code: "client-flag-refused" });
  });

  it("are named in the metadata of the API", async () => {
    const host = pushHost({ pushedRequests: "required" });
    const { body } = await host.browser().get(`${pairPath()}/.well-known/oauth-authorization-server`);
    expect(body).toMatchObject({ require_pushed_authorization_requests: true });
  });

  it("stay pushed on the way through pages, also for pages of the host", async () => {
    const host = pushHost({ pushedRequests: "required" });
    host.session = signedOut;
    const browser = host.browser();
    const first = await visitPushed(browser, { uri: await pushed(host) });
    const shown = await browser.get("/signin", { interaction: interactionOf(first) });
    expect(shown.body).toMatchObject({ client: { clientId: "web" } });
    const page = await signIn({ browser, id: interactionOf(first) });
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  });

  it("end a silent refresh with an error that the client can read", async () => {
    const host = pushHost({ pushedRequests: "required" });
    host.session = alice();
    const uri = await pushed(host, { fields: { prompt: "none" } });
    expect(outcomeOf(await visitPushed(host.browser(), { uri }))).toBe("consent_required");
  });
});
