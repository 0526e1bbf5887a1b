// The host has found out that an API gives away too much, and ends everything that was issued for it. Clients poll silently, refresh, redeem
// and ask for themselves meanwhile, and storage is slow or fails. Nothing that comes out once `auth.apis.revoke` has resolved works when the
// lag has passed, or the call rejects and can be repeated.
import { memoryStorage, type Storage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { ownToken, redeem, refresh } from "../requests/client-requests";
import { apis } from "../hosts/apis";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { type HeldMoment, holdingStorage } from "../storage/held-call";
import { intercept } from "../storage/slow-storage";

const clock = stopClockForEachTest();
const silent = { client: "web", fields: { prompt: "none" } } as const;

/** A host whose next call with this name is held, before its work or after it, until the latch opens; or fails. */
function holding(
  call: string,
  { moment, format = "jwt" }: { moment: HeldMoment; format?: "jwt" | "opaque" },
) {
  const plain = memoryStorage({ clients: Object.values({ ...clients, web: trustedWeb }) });
  const { storage, ...held } = holdingStorage(plain, { call, moment });
  const orders = { ...apis["orders"]!, accessTokenFormat: format };
  return { host: testHost({ storage, apis: { ...apis, orders } }), ...held };
}

/** What these tokens open once the lag has passed. */
async function opens(host: TestHost, tokens: Partial<Tokens>): Promise<readonly string[]> {
  clock.advance(5);
  const { access_token: token = "none", refresh_token: refreshToken = "" } = tokens;
  const called = await callApi(host, "/orders", token);
  const next = await refresh(host, { client: "web", refreshToken });
  return [called.status === 200 ? "access token" : [], next.status === 200 ? "refresh token" : []].flat();
}

describe("the end of an API, and a silent visit at once (RFC 9700 §4.14)", () => {
  // the client is trusted, so that nobody has to be asked: only what was read before the end is old
  it.each([
    ["authorizations.create", "before"],
    ["authorizations.create", "after"],
    ["authorizationCodes.create", "before"],
    ["authorizationCodes.create", "after"],
  ] as const)("gives no code that is good for anything: %s is late, %s its work", async (call, moment) => {
    const { host, reached, release, arm } = holding(call, { moment });
    arm();
    const visit = authorize(host.browser(), silent);
    await reached.opened;
    await host.auth.apis.revoke("orders");
    release.open();
    const { code, error } = redirectParameters(await visit);
    expect([code, error]).toEqual([undefined, "access_denied"]);
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
    expect(await rememberedScopes(host)).toEqual([]);
  });
});

describe("the end of an API, and a visit that begins with it (RFC 6749 §4.1)", () => {
  it.each(["clients.find", "endMarks.find"])(
    "lets a visit count whose client was read before the end, and its person after it: %s is late",
    async (call) => {
      const { host, reached, release, arm } = holding(call, { moment: "after" });
      arm();
      const visit = authorize(host.browser(), silent);
      await reached.opened;
      await host.auth.apis.revoke("orders");
      release.open();
      const { code = "" } = redirectParameters(await visit);
      const tokens = (await redeem(host, { client: "web", code })).body as Tokens;
      expect(await opens(host, tokens)).toEqual(["access token", "refresh token"]);
    },
  );
});

describe("the end of an API, and a grant at once (RFC 6749 §6)", () => {
  it.each([
    ["refreshTokens.find", "after"],
    ["authorizations.find", "after"],
    ["refreshTokens.rotate", "before"],
    ["refreshTokens.rotate", "after"],
  ] as const)("ends what a refresh brings: %s is late, %s its work", async (call, moment) => {
    const { host, reached, release, arm } = holding(call, { moment });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    arm();
    const refreshing = refresh(host, { client: "web", refreshToken });
    await reached.opened;
    await host.auth.apis.revoke("orders");
    release.open();
    expect(await opens(host, (await refreshing).body as Tokens)).toEqual([]);
  });

  it.each([
    ["authorizationCodes.find", "after"],
    ["authorizationCodes.consume", "before"],
    ["authorizationCodes.consume", "after"],
    ["refreshTokens.create", "before"],
  ] as const)("ends what a code buys: %s is late, %s its work", async (call, moment) => {
    const { host, reached, release, arm } = holding(call, { moment });
    const code = await obtainCode(host, { client: "web" });
    arm();
    const redeeming = redeem(host, { client: "web", code });
    await reached.opened;
    await host.auth.apis.revoke("orders");
    release.open();
    expect(await opens(host, (await redeeming).body as Tokens)).toEqual([]);
  });

  it.each([
    ["clients.find", "after", "jwt"],
    ["endMarks.find", "after", "jwt"],
    ["endMarks.find", "after", "opaque"],
    ["accessTokens.create", "before", "opaque"],
    ["accessTokens.create", "after", "opaque"],
  ] as const)(
    "ends what a client gets for itself, whose marks were read before: %s is late, %s its work (%s)",
    async (call, moment, format) => {
      const { host, reached, release, arm } = holding(call, { moment, format });
      arm();
      const asking = ownToken(host, { client: "machine" });
      await reached.opened;
      await host.auth.apis.revoke("orders");
      release.open();
      const { access_token: token } = (await asking).body as Tokens;
      clock.advance(5);
      expect((await callApi(host, "/orders", token)).status).toBe(401);
      const { access_token: next } = (await ownToken(host, { client: "machine" })).body as Tokens;
      expect((await callApi(host, "/orders", next)).status).toBe(200);
    },
  );
});

describe("the end of an API, and a call that has just been checked (RFC 6750 §3.1)", () => {
  it.each(["authorizations.find", "accessTokens.isRevoked", "endMarks.find"])(
    "is not forgotten by what the call remembers: %s is late",
    async (call) => {
      const { host, reached, release, arm } = holding(call, { moment: "after" });
      const tokens = await obtainTokens(host, { client: "web" });
      clock.advance(5);
      arm();
      const calling = callApi(host, "/orders", tokens.access_token);
      await reached.opened;
      await host.auth.apis.revoke("orders");
      release.open();
      await calling;
      expect(await opens(host, tokens)).toEqual([]);
    },
  );
});

describe("the end of an API while storage fails (RFC 6749 §10.5)", () => {
  it("rejects and tells of no end, and can be repeated", async () => {
    const { host, arm } = holding("endMarks.save", { moment: "failing" });
    const tokens = await obtainTokens(host, { client: "web" });
    arm();
    await expect(host.auth.apis.revoke("orders")).rejects.toThrow("storage is away");
    expect(host.events.map(({ kind }) => kind)).not.toContain("api-ended");
    await host.auth.apis.revoke("orders");
    expect(host.events.at(-1)).toMatchObject({ kind: "api-ended" });
    expect(await opens(host, tokens)).toEqual([]);
  });

  it("does not let a token pass whose marks cannot be read", async () => {
    const { host, arm } = holding("endMarks.find", { moment: "failing" });
    const tokens = await obtainTokens(host, { client: "web" });
    clock.advance(5);
    arm();
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBeGreaterThanOrEqual(500);
  });
});

describe("a mark of an API's end that storage has lost (RFC 7009 §2.1)", () => {
  it("counts for as long as a process remembers it", async () => {
    let isLost = false;
    const plain: Storage = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(plain, async (name, run) => {
      const answer = await run();
      return isLost && name === "endMarks.find" ? (answer as unknown[]).map(() => undefined) : answer;
    });
    const host = testHost({ storage });
    const { access_token: token } = (await ownToken(host, { client: "machine" })).body as Tokens;
    await host.auth.apis.revoke("orders");
    clock.advance(5);
    expect((await callApi(host, "/orders", token)).status).toBe(401);
    isLost = true;
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });
});

describe("ends at once (RFC 7009 §2.1)", () => {
  it.each([1, 4])(
    "leave nothing of before: %i of the API, of its client and of its person",
    async (count) => {
      const host = testHost();
      const tokens = await obtainTokens(host, { client: "web" });
      const { apis: ofApi, clients: ofClient, subjects } = host.auth;
      const ends = () => [ofApi.revoke("orders"), ofClient.revoke("web"), subjects.revoke("alice")];
      await Promise.all(Array.from({ length: count }, ends).flat());
      expect(await opens(host, tokens)).toEqual([]);
      expect(await outcomeOfVisit(host, { fields: { prompt: "none" } })).toBe("consent_required");
    },
  );
});
