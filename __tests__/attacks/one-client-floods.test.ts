// The attacker is a registered client with its own secret, or an app with one willing end user. They fill the memory of the server
// with records that are theirs to make: tokens, refresh tokens, revocations, approvals. They did not get to lock other clients out.
import { type Client, memoryStorage } from "../../lib";
import { apis, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { stopClock } from "../hosts/clock";
import { clients, credentials, machineSecret } from "../hosts/clients";
import { testHost, type TestHost } from "../hosts/host";
import { obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { loggedStorage } from "../host/call-log";
import { maxConsents } from "../../lib/protocol/consent";
import { maxAuthorizations } from "../../lib/storage/port";
import { newConsent } from "../../lib/testing/contract/records";
import request from "supertest";

const everything: readonly Client[] = [
  clients.web,
  { ...clients.other, trusted: true },
  { ...clients.machine, subscriptions: { orders: {}, reports: {} } },
];

function smallHost(): TestHost {
  return testHost({ storage: memoryStorage({ clients: everything, maxEntries: 20 }) });
}

type Attempt = () => Promise<{ readonly status: number }>;

/** Repeats what succeeds until it is refused, and gives how often it did. */
async function untilRefused(attempt: Attempt): Promise<{ readonly times: number; readonly status: number }> {
  for (let times = 0; times < 100; times += 1) {
    const { status } = await attempt();
    if (status !== 200) return { times, status };
  }
  throw new Error("it was never refused");
}

function machineToken(host: TestHost, api: "orders" | "reports") {
  const scope = `${api}:read`;
  const fields = {
    grant_type: "client_credentials",
    scope,
    client_id: "machine",
    client_secret: machineSecret.secret,
  };
  return postToken(host, { pair: { api }, fields });
}

function revoke(host: TestHost, { client, token }: { client: "web" | "machine"; token: string }) {
  return request(host.app)
    .post(`${pairPath()}/revoke`)
    .type("form")
    .send({ ...credentials(client), token });
}

afterEach(() => jest.restoreAllMocks());

describe("one client that fills memoryStorage (maxEntries; RFC 6749 §4.4, 9700 §4.14)", () => {
  const half = { times: 11, status: 503 };

  it("is refused with opaque tokens for itself beyond half of the room, and others get theirs", async () => {
    const host = smallHost();
    expect(await untilRefused(() => machineToken(host, "reports"))).toEqual(half);
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: { api: "reports" } });
    expect(token).not.toContain(".");
  });

  it("is refused with revocations beyond half of the room, and others can revoke", async () => {
    const host = smallHost();
    const spend: Attempt = async () => {
      const { access_token: token } = (await machineToken(host, "orders")).body as Tokens;
      return revoke(host, { client: "machine", token });
    };
    expect(await untilRefused(spend)).toEqual(half);
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await revoke(host, { client: "web", token })).status).toBe(200);
    const bearer = { Authorization: `Bearer ${token}` };
    expect((await request(host.app).get("/orders").set(bearer)).status).toBe(401);
  });

  it("is refused with rotations beyond half of the room, and others can refresh", async () => {
    const host = smallHost();
    const web = await obtainTokens(host, { client: "web" });
    let { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "other" });
    const rotate: Attempt = async () => {
      const response = await refresh(host, { client: "other", refreshToken });
      refreshToken = (response.body as Tokens).refresh_token ?? refreshToken;
      return response;
    };
    const { times, status } = await untilRefused(rotate);
    expect({ few: times < 11, status }).toEqual({ few: true, status: 503 });
    expect((await refresh(host, { client: "web", refreshToken: web.refresh_token ?? "" })).status).toBe(200);
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
  });

  it("is refused with approvals beyond half of the room, and others get theirs", async () => {
    const host = smallHost();
    const approve: Attempt = async () => {
      const { code, error } = redirectParameters(await authorize(host.browser(), { client: "other" }));
      return { status: code === undefined && error === "temporarily_unavailable" ? 503 : 200 };
    };
    expect(await untilRefused(approve)).toEqual(half);
    expect((await obtainTokens(host, { client: "web" })).refresh_token).toBeDefined();
  });

  it("a flood of silent requests ends nobody's refresh", async () => {
    const host = testHost();
    const phone = await obtainTokens(host, { client: "other" });
    const laptop = await obtainTokens(host, { client: "other" });
    // a page that the person visits opens frames, and nobody redeems the codes
    const browser = host.browser();
    const silent = { client: "other", fields: { prompt: "none" } } as const;
    for (let count = 0; count < maxAuthorizations + 20; count += 1)
      expect(redirectParameters(await authorize(browser, silent))).toHaveProperty("code");
    // a sign-in of the person meanwhile waits for its client
    const code = await obtainCode(host, { client: "other" });
    for (let count = 0; count < 20; count += 1) await authorize(browser, silent);
    for (const { refresh_token: refreshToken = "" } of [phone, laptop])
      expect((await refresh(host, { client: "other", refreshToken })).status).toBe(200);
    expect((await redeem(host, { client: "other", code })).status).toBe(200);
  });

  it("a person with as many sign-ins in use as may be can sign in many times at once", async () => {
    const host = testHost();
    for (let count = 0; count < maxAuthorizations; count += 1) await obtainTokens(host, { client: "other" });
    for (let wave = 0; wave < 3; wave += 1) {
      const codes = [];
      for (let count = 0; count < 16; count += 1) codes.push(await obtainCode(host, { client: "other" }));
      const answers = await Promise.all(codes.map((code) => redeem(host, { client: "other", code })));
      expect(answers.map(({ status }) => status)).toEqual(codes.map(() => 200));
    }
  });

  it("codes that have expired unused take no place from those that can be redeemed", async () => {
    const clock = stopClock();
    const host = testHost();
    for (let count = 0; count < maxAuthorizations; count += 1) await obtainCode(host, { client: "other" });
    clock.advance(61);
    const codes = [];
    for (let count = 0; count < maxAuthorizations; count += 1)
      codes.push(await obtainCode(host, { client: "other" }));
    for (const code of codes) expect((await redeem(host, { client: "other", code })).status).toBe(200);
  });

  it("is named to the host, who can limit its rate", async () => {
    const host = smallHost();
    await untilRefused(() => machineToken(host, "reports"));
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: { code: "memory-share-used-up", message: expect.stringContaining('"machine"') as string },
    });
  });

  it("leaves room for the next one, however many clients do the same", async () => {
    const { accessTokens } = memoryStorage({ clients: [], maxEntries: 1_000 });
    const held: number[] = [];
    for (const clientId of ["a", "b", "c", "d"]) {
      let count = 0;
      try {
        for (;;) {
          const digest = `${clientId}${count}`;
          const token = {
            tokenId: digest,
            issuer: "i",
            clientId,
            scopes: [],
            issuedAt: 1,
            expiresAt: 9_000,
            digest,
          };
          await accessTokens.create(token, 1_000);
          count += 1;
        }
      } catch {
        held.push(count);
      }
    }
    expect(held).toEqual([501, 250, 125, 63]);
  });
});

/** A host that remembers what alice has allowed: a client each, as many as she can register. */
async function crowdedHost() {
  const { storage, calls } = loggedStorage();
  const host = testHost({ storage });
  const now = Math.floor(Date.now() / 1000);
  for (let count = 0; count < 3 * maxConsents; count += 1)
    await storage.consents.save(newConsent(now, { subject: "alice" }), now);
  calls.length = 0;
  return { host, calls, storage, now };
}

describe("one person who allows thousands of clients (RFC 6749 §10.2, 7591 §5)", () => {
  it("has a bounded number remembered", async () => {
    const { storage, now } = await crowdedHost();
    expect(await storage.consents.list("alice", now)).toHaveLength(maxConsents);
  });

  it("is listed in pages, which compare the marks of their own clients and of the APIs only", async () => {
    const { host, calls } = await crowdedHost();
    const clientIds: string[] = [];
    let after: string | undefined;
    do {
      const page = await host.auth.consents.list("alice", { after });
      expect(page.consents.length).toBeLessThanOrEqual(100);
      clientIds.push(...page.consents.map(({ clientId }) => clientId));
      after = page.next;
    } while (after !== undefined);
    expect(new Set(clientIds).size).toBe(maxConsents);
    expect(clientIds).toHaveLength(maxConsents);
    const most = 100 + Object.keys(apis).length;
    for (const [name, keys] of calls)
      if (name === "endMarks.find") expect((keys as readonly string[]).length).toBeLessThanOrEqual(most);
  });

  it("is erased with as many storage calls as somebody who has allowed nothing", async () => {
    const { host, calls, storage, now } = await crowdedHost();
    await host.auth.subjects.erase("alice");
    const names = calls.splice(0).map(([name]) => name);
    await host.auth.subjects.erase("nobody");
    expect(names).toEqual(calls.map(([name]) => name));
    expect(await storage.consents.list("alice", now)).toEqual([]);
  });
});
