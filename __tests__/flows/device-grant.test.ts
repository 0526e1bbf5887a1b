import { decodeJwt } from "jose";
import type { AuthServerEvent, ClientAttempt, ClientOutcome, RateLimitDecision } from "../../lib";
import { createAuthServer, memoryStorage } from "../../lib";
import { authorize } from "../browser/authorize";
import { adapter, outcomeOf, rememberedScopes } from "../browser/consent";
import { interactionOf, signIn } from "../browser/interaction";
import { type apis, baseUrl, issuer, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, signedOut, type TestHost, testHost } from "../hosts/host";
import { watchedHost } from "../hosts/watched-host";
import { goodOptions } from "../records/options";
import { refresh } from "../requests/client-requests";
import {
  answerDevice,
  askForDevice,
  deviceApis,
  deviceClients,
  deviceCodes,
  deviceGrant,
  deviceHost,
  endOf,
  poll,
  polled,
  typeCode,
} from "../requests/device-requests";
import { type TokenBody, tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const kinds = ({ events }: TestHost): readonly string[] => events.map(({ kind }) => kind);
const last = ({ events }: TestHost): AuthServerEvent | undefined => events.at(-1);

/** A host at which somebody at a device and Alice at her telephone have got as far as this. */
async function waiting(options: Parameters<typeof deviceHost>[0] = {}) {
  const host = deviceHost(options);
  return { host, codes: await deviceCodes(host), browser: host.browser() };
}

describe("the device authorization endpoint (RFC 8628 §3.1, §3.2)", () => {
  it("gives a device code and a user code, and tells the host without them", async () => {
    const host = deviceHost();
    const answer = await askForDevice(host);
    const { device_code, user_code, ...rest } = answer.body as Record<string, string>;
    expect(answer.status).toBe(200);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(device_code).toMatch(/^[\w-]{22}\.[\w-]{43}$/);
    expect(user_code).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
    expect(rest).toEqual({
      verification_uri: `${baseUrl}/device`,
      verification_uri_complete: `${baseUrl}/device?user_code=${user_code}`,
      expires_in: 900,
      interval: 5,
    });
    expect(host.events).toEqual([
      { kind: "device-requested", at: clock.now(), issuer, clientId: "native", scopes: ["orders:read"] },
    ]);
  });

  it("is where the option is, and nowhere else, with its grant (RFC 8414 §2)", async () => {
    const host = deviceHost();
    const metadata = async (api: "orders" | "files"): Promise<object> =>
      (await host.browser().get(`${pairPath({ api })}/.well-known/oauth-authorization-server`))
        .body as object;
    expect(await metadata("orders")).toMatchObject({
      device_authorization_endpoint: `${issuer}/device_authorization`,
      grant_types_supported: expect.arrayContaining([deviceGrant]) as string[],
    });
    expect(await metadata("files")).not.toHaveProperty("device_authorization_endpoint");
    expect(JSON.stringify(await metadata("files"))).not.toContain("device_code");
    const fields = { scope: "files:read" };
    expect((await askForDevice(host, { pair: { api: "files" }, fields })).status).toBe(404);
    const foreign = await poll(host, { device_code: "x" }, { pair: { api: "files" } });
    expect(foreign.body).toMatchObject({ error: "unsupported_grant_type" });
    expect((await testHost().browser().get("/login/device")).status).toBe(404);
  });

  it.each<[string, Parameters<typeof askForDevice>[1], number, string]>([
    ["a wrong secret", { client: "web", fields: { client_secret: "wrong" } }, 401, "invalid_client"],
    ["a client that nobody knows", { fields: { client_id: "nobody" } }, 401, "invalid_client"],
    ["a browser client, whatever its record names", { client: "spa" }, 400, "unauthorized_client"],
    ["a client whose record does not name the grant", { client: "machine" }, 400, "unauthorized_client"],
    ["an unknown scope", { fields: { scope: "orders:all" } }, 400, "invalid_scope"],
    ["another API", { fields: { resource: "https://api.example/files" } }, 400, "invalid_target"],
  ])("refuses %s, and tells the host", async (_, asked, status, error) => {
    const host = deviceHost();
    const answer = await askForDevice(host, asked);
    expect([answer.status, (answer.body as { error: string }).error]).toEqual([status, error]);
    expect(last(host)).toMatchObject({ kind: "device-refused", error });
    expect(kinds(host)).not.toContain("device-requested");
  });

  it("stores which scopes were asked for, and which these imply", async () => {
    const scopes = {
      "orders:read": "See your orders",
      "orders:write": { text: "Change your orders", implies: ["orders:read"] },
    };
    const orders = { ...deviceApis["orders"], scopes } as (typeof apis)[string];
    const storage = memoryStorage({ clients: Object.values(deviceClients) });
    const create = jest.spyOn(storage.parkedRequests, "create");
    const host = deviceHost({ storage, apis: { ...deviceApis, orders } });
    const codes = await deviceCodes(host, { fields: { scope: "orders:write" } });
    expect(create.mock.calls[0]?.[0].device).toMatchObject({
      scopes: ["orders:write"],
      impliedScopes: ["orders:read"],
    });
    await answerDevice(host.browser(), codes);
    expect(tokensOf(await poll(host, codes)).scope).toBe("orders:write orders:read");
  });

  it("refuses at once where storage is full", async () => {
    const storage = memoryStorage({ clients: Object.values(deviceClients) });
    const create = jest.spyOn(storage.parkedRequests, "create");
    create.mockResolvedValue("full");
    const answer = await askForDevice(deviceHost({ storage }));
    const refused = { error: "temporarily_unavailable", error_description: "Too many devices are waiting." };
    expect([answer.status, answer.body]).toEqual([503, refused]);
    expect(create).toHaveBeenCalledTimes(1);
  });

  it("refuses clients that left grantTypes out: an upgrade gives nobody the grant", async () => {
    const host = deviceHost({ clients: Object.values(clients) });
    expect((await askForDevice(host)).body).toMatchObject({ error: "unauthorized_client" });
    const answer = await poll(host, { device_code: "x" });
    expect(answer.body).toMatchObject({ error: "unauthorized_client" });
  });

  it("refuses parameters in the URL, device codes too (RFC 6749 §3.2)", async () => {
    const host = deviceHost();
    const answer = await host.browser().post(`${pairPath()}/token?device_code=x`, { client_id: "native" });
    expect(answer.body).toMatchObject({ error: "invalid_request" });
    expect(last(host)).toMatchObject({ code: "parameters-in-url" });
  });

  it("needs storage.parkedRequests, and says so at the start", () => {
    const { parkedRequests: _, ...storage } = memoryStorage({ clients: [] });
    const api = { ...goodOptions.apis["orders"], deviceAuthorization: true } as never;
    expect(() => createAuthServer({ ...goodOptions, storage, apis: { orders: api } })).toThrow(
      "storage.parkedRequests is missing. Write a ParkedRequestStore. apis.orders.deviceAuthorization needs it.",
    );
  });

  it("is refused beside the FAPI profile, which knows no such grant", () => {
    const api = { ...goodOptions.apis["orders"], deviceAuthorization: true, profile: "fapi2" } as never;
    expect(() => createAuthServer({ ...goodOptions, apis: { orders: api } })).toThrow(
      "apis.orders.deviceAuthorization contradicts apis.orders.profile",
    );
  });
});

describe("a device and a person (RFC 8628 §3)", () => {
  it("get tokens once the person has said yes, and the page says to go back", async () => {
    const { host, codes, browser } = await waiting();
    expect(await polled(host, codes)).toBe("authorization_pending");
    const page = await typeCode(browser, codes);
    expect(outcomeOf(page)).toBe("asked");
    const end = await browser.answer(page, "approve");
    expect([end.status, endOf(end)]).toEqual([200, "allowed"]);
    expect(end.text).toContain("Go back to your device.");
    const tokens = tokensOf(await poll(host, codes));
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: issuer,
      sub: "alice",
      client_id: "native",
      scope: "orders:read",
    });
    expect(kinds(host)).toEqual([
      "device-requested",
      "token-refused",
      "authorization-granted",
      "token-issued",
    ]);
    expect(last(host)).toMatchObject({ kind: "token-issued", grantType: deviceGrant, subject: "alice" });
    const refreshed = await refresh(host, { client: "native", refreshToken: tokens.refresh_token });
    expect(refreshed.status).toBe(200);
  });

  it("hear of a no, by the page and by the poll, for as long as the device asks", async () => {
    const { host, codes, browser } = await waiting();
    expect(await answerDevice(browser, codes, "deny")).toBe("denied");
    for (let round = 0; round < 2; round += 1) expect(await polled(host, codes)).toBe("access_denied");
    expect(kinds(host)).toContain("authorization-denied");
    expect(await answerDevice(host.browser(), codes)).not.toBe("allowed");
  });

  it("sign in on the way, and come back as in any other request", async () => {
    const { host, codes, browser } = await waiting();
    host.session = signedOut;
    const answer = await typeCode(browser, codes);
    expect(outcomeOf(answer)).toBe("/signin?interaction");
    const shown = await browser.follow(answer);
    expect(shown.body).toMatchObject({
      client: { clientId: "native" },
      device: { userCode: codes.user_code },
      destination: "",
    });
    const page = await signIn({ browser, id: interactionOf(answer) });
    expect(outcomeOf(page)).toBe("asked");
    expect(endOf(await browser.answer(page, "approve"))).toBe("allowed");
    expect(await polled(host, codes)).toBe("tokens");
    expect(kinds(host)).not.toContain("sign-in-repeated");
  });

  it("may answer on pages of the host: auth.approve and auth.deny", async () => {
    const { consent, questions } = adapter({ kind: "interaction", url: "/ask" });
    const { host, codes, browser } = await waiting({ consent });
    const leave = await typeCode(browser, codes);
    const interaction = interactionOf(leave);
    expect(questions[0]).toMatchObject({ device: { userCode: codes.user_code } });
    expect(endOf(await browser.post("/allow", { interaction, scopes: "orders:read" }))).toBe("allowed");
    expect(await polled(host, codes)).toBe("tokens");
    const other = await deviceCodes(host);
    const later = interactionOf(await typeCode(browser, other));
    expect(endOf(await browser.post("/cancel", { interaction: later }))).toBe("denied");
    expect(await polled(host, other)).toBe("access_denied");
  });

  it("may say no before a sign-in", async () => {
    const { host, codes, browser } = await waiting();
    host.session = signedOut;
    const interaction = interactionOf(await typeCode(browser, codes));
    expect(endOf(await browser.post("/cancel", { interaction }))).toBe("denied");
    expect(await polled(host, codes)).toBe("access_denied");
  });

  it("hear of a no of the host: by authenticate, and by consent.decide", async () => {
    const denying = await waiting({ consent: { decide: () => ({ kind: "denied" }) } });
    expect(endOf(await typeCode(denying.browser, denying.codes))).toBe("denied");
    expect(await polled(denying.host, denying.codes)).toBe("access_denied");
    const { host, codes, browser } = await waiting();
    host.session = { kind: "denied" };
    expect(endOf(await typeCode(browser, codes))).toBe("denied");
    expect(await polled(host, codes)).toBe("access_denied");
  });

  it("may have less than was asked, and another account", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host, { fields: { scope: "orders:read orders:write" } });
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    const toSignIn = await browser.answer(page, "switch");
    expect(host.asked.at(-1)).toEqual({ reauthenticate: true, prompt: ["select_account"] });
    host.session = bob;
    const again = await signIn({ browser, id: interactionOf(toSignIn) }, "bob");
    expect(again.text).toContain(codes.user_code);
    expect(endOf(await browser.answer(again, "approve", { scope_1: undefined }))).toBe("allowed");
    expect(decodeJwt(tokensOf(await poll(host, codes)).access_token)).toMatchObject({
      sub: "bob",
      scope: "orders:read",
    });
  });

  it("are asked with every code: nothing of a device is remembered or relied on", async () => {
    const trusted = { ...deviceClients.web, trusted: true };
    const host = deviceHost({ clients: [trusted, deviceClients.native] });
    for (let round = 0; round < 2; round += 1) {
      const codes = await deviceCodes(host, { client: "web" });
      expect(outcomeOf(await typeCode(host.browser(), codes))).toBe("asked");
      expect(await answerDevice(host.browser(), codes)).toBe("allowed");
    }
    expect(await rememberedScopes(host)).toEqual([]);
  });

  it("are asked where a consent is remembered for the same client, and it stays as it was", async () => {
    const host = deviceHost();
    const browser = host.browser();
    const asked = { client: "web", fields: { scope: "orders:read orders:write" } } as const;
    expect(outcomeOf(await browser.answer(await authorize(browser, asked), "approve"))).toBe("granted");
    const codes = await deviceCodes(host, { client: "web" });
    expect(outcomeOf(await typeCode(browser, codes))).toBe("asked");
    expect(await answerDevice(host.browser(), codes)).toBe("allowed");
    expect(await rememberedScopes(host)).toEqual([["orders:read", "orders:write"]]);
  });

  it("are asked where consent.decide answers granted", async () => {
    const { host, codes, browser } = await waiting({
      consent: { decide: ({ scopes }) => ({ kind: "granted", scopes: Object.keys(scopes) }) },
    });
    const page = await typeCode(browser, codes);
    expect(outcomeOf(page)).toBe("asked");
    expect(await polled(host, codes)).toBe("authorization_pending");
  });

  it("get ID tokens where the API has openid", async () => {
    const openid = { claims: () => ({ name: "Alice" }), idTokenAlgorithm: "ES256" } as const;
    const orders = { ...deviceApis["orders"], openid } as (typeof apis)[string];
    const host = deviceHost({ apis: { ...deviceApis, orders } });
    const codes = await deviceCodes(host, { fields: { scope: "openid profile orders:read" } });
    expect(await answerDevice(host.browser(), codes)).toBe("allowed");
    const { id_token = "" } = tokensOf(await poll(host, codes)) as TokenBody & { id_token?: string };
    expect(decodeJwt(id_token)).toMatchObject({ aud: "native", sub: "alice", name: "Alice" });
  });
});

describe("polling (RFC 8628 §3.5)", () => {
  it("costs one read of the request while it is open, and writes nothing", async () => {
    const { host, writes } = watchedHost({ clients: Object.values(deviceClients), apis: deviceApis });
    const codes = await deviceCodes(host);
    const before = [...writes];
    await polled(host, codes);
    clock.advance(5);
    await polled(host, codes);
    expect(writes).toEqual(before);
  });

  it("has to be slower after each poll that came too early, by five seconds", async () => {
    const { host, codes } = await waiting();
    const after = async (seconds: number): Promise<string> => {
      clock.advance(seconds);
      return polled(host, codes);
    };
    expect(await after(0)).toBe("authorization_pending");
    expect(await after(5)).toBe("authorization_pending");
    expect(await after(2)).toBe("slow_down");
    expect(await after(5)).toBe("slow_down");
    expect(await after(10)).toBe("slow_down");
    expect(await after(20)).toBe("authorization_pending");
    expect(await after(10)).toBe("slow_down");
    // the other devices have their own pace
    expect(await polled(host, await deviceCodes(host))).toBe("authorization_pending");
  });

  it("may come a second early, and after a clock that was set back", async () => {
    const { host, codes } = await waiting();
    await polled(host, codes);
    clock.advance(4);
    expect(await polled(host, codes)).toBe("authorization_pending");
    clock.advance(3);
    expect(await polled(host, codes)).toBe("slow_down");
    clock.advance(-60);
    expect(await polled(host, codes)).toBe("authorization_pending");
  });

  it("is refused in words for the client, and by an id for the host", async () => {
    const { host, codes, browser } = await waiting();
    const refusal = async (device_code = codes.device_code) => {
      const { body } = await poll(host, { device_code });
      const { error, error_description } = body as Record<"error" | "error_description", string>;
      return [error, error_description, (last(host) as { code?: string }).code];
    };
    const waits = ["authorization_pending", "Nobody has answered yet.", "device-not-answered"];
    expect(await refusal()).toEqual(waits);
    expect(await refusal()).toEqual(["slow_down", "Ask less often.", "device-polls-too-fast"]);
    await answerDevice(browser, codes, "deny");
    const denied = ["access_denied", "The end user did not grant access.", "device-denied"];
    expect(await refusal()).toEqual(denied);
    clock.advance(900);
    const expired = ["expired_token", "The device code has expired.", "device-code-expired"];
    expect(await refusal()).toEqual(expired);
    expect((await refusal("x")).at(-1)).toBe("device-code-not-of-this-server");
  });

  it("gets the tokens at once when the person has answered, however fast it is", async () => {
    const { host, codes, browser } = await waiting();
    await polled(host, codes);
    await answerDevice(browser, codes);
    expect(await polled(host, codes)).toBe("tokens");
  });

  it("ends with the code after 15 minutes, whether nobody has answered or nobody has asked", async () => {
    const { host, codes, browser } = await waiting();
    const second = await deviceCodes(host);
    expect(await answerDevice(browser, second)).toBe("allowed");
    clock.advance(899);
    expect(await polled(host, codes)).toBe("authorization_pending");
    const page = await typeCode(browser, codes);
    clock.advance(1);
    expect(await polled(host, codes)).toBe("expired_token");
    expect(await polled(host, second)).toBe("expired_token");
    expect(endOf(await browser.answer(page, "approve"))).toBe("lost");
    expect(await polled(host, codes)).toBe("expired_token");
    expect(kinds(host)).not.toContain("replay-detected");
  });

  it("outlives a short lifetime of authorization codes, and the token its record", async () => {
    const { host, codes, browser } = await waiting({
      clients: [{ ...deviceClients.native, subscriptions: { orders: { grantTypes: [deviceGrant] } } }],
    });
    await answerDevice(browser, codes);
    clock.advance(890);
    const { access_token } = tokensOf(await poll(host, codes));
    clock.advance(599);
    const answer = await host.browser().get("/orders", {}, { Authorization: `Bearer ${access_token}` });
    expect(answer.status).toBe(200);
  });

  it.each<[string, Parameters<typeof poll>[2], string]>([
    ["by another client", { client: "web" }, "expired_token"],
    ["at another pair", { pair: { method: "otp" } }, "expired_token"],
    ["with a device code of another form", { fields: { device_code: "x" } }, "invalid_grant"],
    ["without a device code", { fields: { device_code: undefined } }, "invalid_request"],
  ])("tells nothing %s, and does not wait for it", async (_, asked, error) => {
    const { host, codes, browser } = await waiting();
    expect(await polled(host, codes, asked)).toBe(error);
    await answerDevice(browser, codes);
    const after = error === "expired_token" ? "invalid_grant" : error;
    expect(await polled(host, codes, asked)).toBe(after);
    expect(await polled(host, codes)).toBe("tokens");
  });
});

describe("the page for the code of a device (RFC 8628 §3.3)", () => {
  it("asks for the code, and fills in one of the URL without sending or looking it up", async () => {
    const { host, codes, browser } = await waiting();
    const empty = await browser.get("/login/device");
    expect(empty.status).toBe(200);
    expect(empty.text).toMatch(/<input type="text" name="user_code" value="" [^>]*required/);
    expect(empty.text).toContain(`<form method="post" action="${baseUrl}/device">`);
    expect(empty.text).not.toContain('role="alert"');
    const filled = await browser.get("/login/device", { user_code: codes.user_code.toLowerCase() });
    expect(filled.text).toContain(`name="user_code" value="${codes.user_code}"`);
    expect(filled.text).not.toMatch(/<script|http-equiv/);
    const unknown = await browser.get("/login/device", { user_code: "BBBB-BBBB" });
    expect(unknown.text).toContain('value="BBBB-BBBB"');
    const other = await browser.get("/login/device", { user_code: '"><b>call us' });
    expect(other.text).toContain('value=""');
    expect(kinds(host)).toEqual(["device-requested"]);
    expect(browser.cookies.size).toBe(0);
  });

  it("takes the code in any case, with spaces and dashes", async () => {
    const { codes, browser } = await waiting();
    const typed = ` ${codes.user_code.toLowerCase().replace("-", " – ")} `;
    expect(outcomeOf(await typeCode(browser, { user_code: typed }))).toBe("asked");
  });

  it.each([
    ["https://host.example/login", "https:"],
    ["http://localhost:3000/login", "https: http:"],
  ])("of %s leads to sign-in pages by %s", async (url, schemes) => {
    const page = await deviceHost({ baseUrl: url }).browser().get("/login/device");
    const policy = page.headers["content-security-policy"]?.split(";") ?? [];
    expect(policy.map((directive) => directive.trim())).toContain(`form-action 'self' ${schemes}`);
  });

  it("knows no request of a pair that is gone", async () => {
    const storage = memoryStorage({ clients: Object.values(deviceClients) });
    const { user_code } = await deviceCodes(deviceHost({ storage }));
    const orders = { ...deviceApis["orders"], authMethods: ["otp"] } as (typeof apis)[string];
    const later = deviceHost({ storage, apis: { ...deviceApis, orders } });
    expect((await later.browser().post("/login/device", { user_code })).status).toBe(400);
    expect(last(later)).toMatchObject({ kind: "device-refused", code: "device-request-over" });
  });

  it.each([
    ["BBBB-BBBB", "device-request-over"],
    ["wrong", "user-code-malformed"],
    ["", "user-code-malformed"],
  ])("says that no device waits with %j, and no more", async (typed, code) => {
    const { host, browser } = await waiting();
    const answer = await browser.post("/login/device", { user_code: typed });
    expect([answer.status, answer.headers["location"]]).toEqual([400, undefined]);
    expect(answer.text).toContain('role="alert"><p>This code isn’t valid.');
    expect(answer.text).toContain('aria-invalid="true" aria-describedby="problem"');
    expect(last(host)).toMatchObject({ kind: "device-refused", error: "invalid_request", code });
    expect(JSON.stringify(last(host))).not.toContain("BBBB");
    expect(browser.cookies.size).toBe(0);
  });

  it("shows the code on the consent page, with when to continue, and where nothing leads", async () => {
    const { codes, browser } = await waiting();
    const page = await typeCode(browser, codes);
    expect(page.text).toContain(
      `Continue only if a device of yours shows this code: <bdi>${codes.user_code}</bdi>`,
    );
    expect(page.text).toContain('aria-describedby="warning">Allow');
    expect(page.text).toContain("Either way, you can then go back to your device.");
    expect(page.text).not.toContain("you will be taken to");
    expect(page.headers["content-security-policy"]).toMatch(/form-action 'self' https:$/);
  });

  it("answers HEAD with nothing, refuses other methods and what is no form", async () => {
    const { host, browser } = await waiting();
    const { default: request } = await import("supertest");
    expect((await request(host.app).head("/login/device")).status).toBe(200);
    expect((await request(host.app).delete("/login/device")).status).toBe(405);
    const json = await request(host.app).post("/login/device").send({ user_code: "x" });
    expect([json.status, endOf(json)]).toEqual([400, "Your answer wasn’t accepted"]);
    expect((await browser.get("/login/device/")).status).toBe(404);
  });

  it("is told by request traces under its own name, and by events without a code", async () => {
    const { host, codes, browser } = await waiting();
    const { subscribe, unsubscribe } = await import("node:diagnostics_channel");
    const traces: unknown[] = [];
    const hear = (trace: unknown): void => void traces.push({ ...(trace as object) });
    subscribe("tracing:authmount:request:asyncEnd", hear);
    await browser.post("/login/device", { user_code: "BBBB-BBBB" });
    await typeCode(browser, codes);
    unsubscribe("tracing:authmount:request:asyncEnd", hear);
    const route = "/login/device";
    expect(traces).toEqual([
      { endpoint: "device", method: "POST", route, status: 400, oauthError: "invalid_request" },
      { endpoint: "device", method: "POST", route, status: 303 },
      expect.objectContaining({ endpoint: "resume", status: 200 }),
    ]);
    await browser.answer(await typeCode(browser, codes), "approve");
    await polled(host, codes);
    const told = JSON.stringify([host.events, traces]);
    for (const secret of [codes.device_code, codes.user_code, codes.user_code.replace("-", "")])
      expect(told).not.toContain(secret);
  });
});

/** A host with a limit, and what that was asked and told. */
function limitedHost(decide: (attempt: ClientAttempt) => RateLimitDecision["kind"]) {
  const attempts: Omit<ClientAttempt, "req">[] = [];
  const outcomes: ClientOutcome[] = [];
  const host = deviceHost({
    rateLimit({ req: _, ...attempt }) {
      attempts.push(attempt);
      return decide({ req: _, ...attempt }) === "allowed"
        ? { kind: "allowed", answered: (outcome) => void outcomes.push(outcome) }
        : { kind: "limited", retryAfterSeconds: 7 };
    },
  });
  return { host, attempts, outcomes };
}

describe("rateLimit, the endpoint and the page (RFC 8628 §5.1, 6585 §4)", () => {
  it("is asked for both, and hears how each was answered", async () => {
    const { host, attempts, outcomes } = limitedHost(() => "allowed");
    const codes = await deviceCodes(host);
    const browser = host.browser();
    await browser.get("/login/device");
    await browser.post("/login/device", { user_code: "BBBB-BBBB" });
    await typeCode(browser, codes);
    const page = { endpoint: "device", ip: expect.any(String) as string, issuer: baseUrl };
    expect(attempts).toEqual([
      { endpoint: "device_authorization", ip: expect.any(String) as string, issuer, clientId: "native" },
      page,
      page,
    ]);
    expect(outcomes).toEqual([
      { status: 200, clientId: "native" },
      { status: 400, oauthError: "invalid_request" },
      { status: 303 },
    ]);
  });

  it("keeps a guesser from learning anything, a right code too", async () => {
    const { host } = limitedHost(({ endpoint }) => (endpoint === "device" ? "limited" : "allowed"));
    const codes = await deviceCodes(host);
    for (const user_code of [codes.user_code, "BBBB-BBBB"]) {
      const answer = await host.browser().post("/login/device", { user_code });
      expect([answer.status, answer.headers["location"]]).toEqual([429, undefined]);
      expect(answer.headers["set-cookie"]).toBeUndefined();
    }
    expect(last(host)).toMatchObject({ kind: "device-refused", code: "rate-limited" });
  });

  it("fails the request where it fails itself", async () => {
    const host = deviceHost({ rateLimit: () => Promise.reject(new Error("down")) });
    const answer = await host.browser().post("/login/device", { user_code: "BBBB-BBBB" });
    expect(answer.status).toBe(500);
    expect(last(host)).toMatchObject({ kind: "server-error" });
  });
});
