// The attacker sends more than a server can work on: authorization requests, bad tokens, long bodies. They hold no credential; in the flood
// of approvals they are a signed-in end user. They did not get to stall the server, to lock others out, or to have it keep what
// it does not need.
import { randomBytes } from "node:crypto";
import { type Client, memoryStorage } from "../../lib";
import { pairPath } from "../../__tests__/hosts/apis";
import { authorizationParameters } from "../../__tests__/browser/authorization-request";
import { authorize, redirectParameters } from "../../__tests__/browser/authorize";
import { encode, formFields } from "../../__tests__/browser/browser";
import { redeem, refresh } from "../../__tests__/requests/client-requests";
import { clients } from "../../__tests__/hosts/clients";
import { stopClock } from "../../__tests__/hosts/clock";
import { signedOut, testHost, type TestHost } from "../../__tests__/hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { interactionOf } from "../../__tests__/browser/interaction";
import { listen, type ListeningApp } from "../../__tests__/hosts/listening";
import { intercept, watchWrites } from "../../__tests__/storage/slow-storage";

const open: ListeningApp[] = [];

/** What no compression makes shorter. */
function randomState(length: number): string {
  return randomBytes(length).toString("base64url").slice(0, length);
}

beforeEach(() => void stopClock());

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.splice(0).map((app) => app.close()));
});

async function listenTo(host: TestHost): Promise<ListeningApp> {
  const app = await listen(host.app);
  open.push(app);
  return app;
}

/** Runs so many tasks, a few at a time. */
async function repeat(times: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < times) await task(next++);
  };
  await Promise.all(Array.from({ length: 50 }, worker));
}

// It was 2,500 times: nothing that an authorization request passes has a limit or a batch between the two numbers.
describe("a flood of authorization requests (RFC 6749 §10; house rule: nothing is stored before approval)", () => {
  it.each(["consent page", "sign-in page", "refusal by redirect", "refusal by page"])(
    "stores nothing: 500 times %s",
    async (page) => {
      const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
      const host = testHost({ storage });
      if (page === "sign-in page") host.session = signedOut;
      const app = await listenTo(host);
      const bent = {
        ...(page === "refusal by redirect" && { scope: "unknown" }),
        ...(page === "refusal by page" && { redirect_uri: "https://evil.example/" }),
      };
      const path = `${pairPath()}/authorize?${encode({ ...authorizationParameters("web"), ...bent })}`;
      const statuses = new Set<number>();
      await repeat(500, async () => {
        statuses.add((await app.send({ path })).status);
      });
      const expected = { "consent page": 200, "refusal by page": 400 }[page] ?? 302;
      expect([...statuses]).toEqual([expected]);
      expect(writes).toEqual([]);
    },
  );

  it("in one browser never makes its cookies too big, and keeps the newest", async () => {
    const browser = testHost().browser();
    let page = await authorize(browser, { client: "web", fields: { state: randomState(500) } });
    for (let tab = 0; tab < 60; tab += 1) {
      page = await authorize(browser, { client: "web", fields: { state: randomState(500) } });
      const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      expect(header.length).toBeLessThan(8_000);
    }
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it("with a request too long for a cookie is refused, and nothing is set", async () => {
    const response = await authorize(testHost().browser(), {
      client: "web",
      fields: { state: randomState(4_000) },
    });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_request" });
    expect(response.headers).not.toHaveProperty("set-cookie");
  });
});

describe("a flood of approvals into memory that is bounded (memoryStorage maxEntries)", () => {
  const trusted: readonly Client[] = Object.values(clients).map((client) => ({ ...client, trusted: true }));
  /** What one client may hold of 20. */
  const share = 11;

  it("is refused for now when there is no more room, and living codes can still be redeemed", async () => {
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 20 }) });
    const codes: string[] = [];
    for (let entry = 0; entry < share; entry += 1) codes.push(await obtainCode(host, { client: "web" }));
    for (let more = 0; more < 5; more += 1) {
      const refused = await authorize(host.browser(), { client: "web" });
      expect(redirectParameters(refused)).toEqual({
        error: "temporarily_unavailable",
        error_description: "Try again later.",
        state: "a state",
        iss: "https://host.example/login/auth/password/api/orders",
      });
    }
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: { code: expect.stringMatching(/^memory-(?:full|share-used-up)$/) as string },
    });
    for (const code of codes) {
      const redeemed = await redeem(host, { client: "web", code });
      expect(redeemed.status).toBe(200);
      const { access_token } = redeemed.body as Tokens;
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    }
  });

  it("makes room as soon as something has expired", async () => {
    const clock = stopClock();
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 20 }) });
    for (let entry = 0; entry < share; entry += 1) await obtainCode(host, { client: "spa" });
    expect(redirectParameters(await authorize(host.browser(), { client: "spa" }))).toMatchObject({
      error: "temporarily_unavailable",
    });
    // a code's minute and an access token's ten: then nothing descends from it any more
    clock.advance(60 + 600);
    await obtainCode(host, { client: "spa" });
  });

  it("leaves a refresh token usable that could not be rotated", async () => {
    const full = { now: false };
    const memory = memoryStorage({ clients: trusted, maxEntries: 20 });
    const storage = intercept(memory, (name, call) => {
      if (full.now && name === "refreshTokens.rotate") throw new Error("memoryStorage is full");
      return call();
    });
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "native" });
    full.now = true;
    const refused = await refresh(host, { client: "native", refreshToken });
    expect({ status: refused.status, body: refused.body as object }).toEqual({
      status: 500,
      body: { error: "server_error", error_description: "The server could not answer this request." },
    });
    full.now = false;
    expect((await refresh(host, { client: "native", refreshToken })).status).toBe(200);
  });

  it("leaves the refresh tokens of a full store usable", async () => {
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 3 }) });
    const first = await obtainTokens(host, { client: "native" });
    await obtainTokens(host, { client: "native" });
    for (let time = 0; time < 2; time += 1) {
      const refused = await refresh(host, { client: "native", refreshToken: first.refresh_token ?? "" });
      expect(refused.status).toBe(503);
    }
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    expect((await callApi(host, "/orders", first.access_token)).status).toBe(200);
  });
});

describe("a flood of bad access tokens (RFC 6750 §5; revocationLagSeconds)", () => {
  it.each(["orders", "reports"] as const)(
    "at %s pushes no good one out of what is remembered",
    async (api) => {
      const asked: string[] = [];
      const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
        asked.push(name);
        return call();
      });
      const host = testHost({ storage, revocationLagSeconds: 300 });
      const { access_token } = await obtainTokens(host, { client: "web", pair: { api } });
      expect((await callApi(host, `/${api}`, access_token)).status).toBe(200);
      const app = await listenTo(host);
      const statuses = new Set<number>();
      await repeat(10_100, async (index) => {
        const headers = { Authorization: `Bearer ${api === "orders" ? "e30.e30." : ""}${index}` };
        statuses.add((await app.send({ path: `/${api}`, headers })).status);
      });
      expect([...statuses]).toEqual([401]);
      asked.length = 0;
      expect((await callApi(host, `/${api}`, access_token)).status).toBe(200);
      expect(asked).toEqual([]);
    },
  );
});

describe("a flood of answers to one page (RFC 6749 §10.12)", () => {
  it("stores nothing when they lack the form token", async () => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const host = testHost({ storage });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const app = await listenTo(host);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const form = { ...formFields(page.text), decision: "approve", scope_0: "on", form_token: "wrong" };
    await repeat(500, async () => {
      const headers = { Cookie: cookie, Origin: "https://host.example" };
      expect((await app.send({ path: `${pairPath()}/authorize/consent`, form, headers })).status).toBe(200);
    });
    expect(writes).toEqual([]);
  });
});

/** A body as a parser of the host has left it. Nobody may ask what is in it, or read anything but the interaction. */
function closedBody(body: object): object {
  return new Proxy(body, {
    ownKeys() {
      throw new Error("somebody walks through the body");
    },
    get(target, name) {
      if (name === "interaction") return Reflect.get(target, name) as unknown;
      throw new Error(`somebody reads ${String(name)}`);
    },
  });
}

describe("a flood of data in the body of a page of the host (RFC 6749 §10)", () => {
  it("the interaction id is read without walking through the body", async () => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    const interaction = interactionOf(await authorize(browser, { client: "web" }));
    let body: object = {};
    host.app.post("/large", async (req, res) => {
      req.body = closedBody(body);
      await host.auth.deny(req, res);
    });
    for (body of [Array.from({ length: 9 }, () => 0), Buffer.alloc(9), { interactions: interaction }])
      expect((await browser.post("/large")).status).toBe(400);
    body = { other: "x", interaction };
    expect(redirectParameters(await browser.post("/large"))).toMatchObject({ error: "access_denied" });
  });
});
