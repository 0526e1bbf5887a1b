// The end user withdraws, or the client gives its tokens back, while the host is still thinking about a new one.
import { memoryStorage, type Storage, type TokenAdapter, type TokenDecision } from "../../lib";
import type { Pair } from "../hosts/apis";
import { introspect, redeem, refresh, revoke } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, consentKey, familyOf, obtainCode, type Tokens } from "../browser/journey";
import { answerOf, refusal } from "../requests/json-answers";
import { newLatch } from "../storage/latch";
import { intercept, watchWrites } from "../storage/slow-storage";

stopClockForEachTest();

const formats = [
  ["JWT", { api: "orders" }],
  ["opaque", { api: "reports" }],
] as const satisfies readonly (readonly [string, Pair])[];

const ended = refusal(400, "invalid_grant");

/** The same adapter, which thinks until the latch opens when it is asked about this grant. */
function thinking(grantType: string) {
  const asked = newLatch();
  const gate = newLatch();
  const tokens: TokenAdapter = {
    async decide(request): Promise<TokenDecision> {
      if (request.grantType === grantType) {
        asked.open();
        await gate.opened;
      }
      return { kind: "issue" };
    },
  };
  return { tokens, asked, gate };
}

/** A host that thinks about this grant, and what was written for it. */
function thinkingHost(grantType: "authorization_code" | "refresh_token") {
  const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
  const { tokens, asked, gate } = thinking(grantType);
  return { host: testHost({ tokens, storage }), writes, asked, gate };
}

describe("an authorization that ends while tokens.decide thinks (RFC 6749 §10.4, 7009 §2.1)", () => {
  it.each(formats)("gives nothing for its code, and nothing is stored: %s", async (_, pair) => {
    const { host, writes, asked, gate } = thinkingHost("authorization_code");
    const code = await obtainCode(host, { client: "web", pair });
    const answer = redeem(host, { client: "web", code, pair });
    await asked.opened;
    await host.auth.consents.revoke(consentKey(pair));
    writes.length = 0;
    gate.open();
    expect(answerOf(await answer)).toEqual(ended);
    expect(writes).toEqual([]);
    expect(host.events.at(-1)).toMatchObject({
      kind: "token-refused",
      code: "revoked-during-decision",
    });
  });

  describe.each(formats)("at a refresh: %s", (_, pair) => {
    it.each([
      ["the end user withdraws", (host: TestHost) => host.auth.consents.revoke(consentKey(pair))],
      ["the client revokes it", (host: TestHost, token: string) => revoke(host, { token, pair })],
    ])("gives nothing when %s, and nothing is stored", async (__, end) => {
      const { host, writes, asked, gate } = thinkingHost("refresh_token");
      const { refreshToken } = await familyOf(host, "web", pair);
      const answer = refresh(host, { client: "web", refreshToken, pair });
      await asked.opened;
      await end(host, refreshToken);
      writes.length = 0;
      gate.open();
      expect(answerOf(await answer)).toEqual(ended);
      expect(writes).toEqual([]);
    });
  });

  it("gives nothing when the host itself ends it in decide", async () => {
    const host: TestHost = testHost({
      tokens: {
        async decide() {
          await host.auth.consents.revoke(consentKey({}));
          return { kind: "issue" };
        },
      },
    });
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(ended);
  });
});

/** A storage that stops before this call until the latch opens. */
function stoppingBefore(stopped: string) {
  const reached = newLatch();
  const gate = newLatch();
  let isArmed = false;
  const storage: Storage = intercept(
    memoryStorage({ clients: Object.values(clients) }),
    async (name, call) => {
      if (isArmed && name === stopped) {
        reached.open();
        await gate.opened;
      }
      return call();
    },
  );
  const arm = (): void => {
    isArmed = true;
  };
  return { storage, reached, gate, arm };
}

/** None of the tokens works. */
async function expectDead(host: TestHost, { tokens, pair }: { tokens: Tokens; pair: Pair }): Promise<void> {
  const { access_token: token, refresh_token: refreshToken = "" } = tokens;
  expect((await callApi(host, `/${pair.api}`, token)).status).toBe(401);
  expect((await introspect(host, { token, pair })).body).toEqual({ active: false });
  expect((await introspect(host, { token: refreshToken, pair })).body).toEqual({ active: false });
  expect((await refresh(host, { client: "web", refreshToken, pair })).status).toBe(400);
}

describe("an authorization that ends after the last look at it (RFC 7009 §2.1)", () => {
  const adapters = [
    ["without tokens.decide", undefined],
    ["after tokens.decide", { decide: async () => ({ kind: "issue" }) } satisfies TokenAdapter],
  ] as const;

  describe.each(adapters)("%s", (__, tokens) => {
    it.each(formats)("leaves an exchange with tokens that open nothing: %s", async (_, pair) => {
      const { storage, reached, gate, arm } = stoppingBefore("authorizationCodes.consume");
      const host = testHost({ storage, ...(tokens && { tokens }) });
      const code = await obtainCode(host, { client: "web", pair });
      arm();
      const answer = redeem(host, { client: "web", code, pair });
      await reached.opened;
      await host.auth.consents.revoke(consentKey(pair));
      gate.open();
      await expectDead(host, { tokens: (await answer).body as Tokens, pair });
    });

    it.each(formats)("leaves a refresh with tokens that open nothing: %s", async (_, pair) => {
      const { storage, reached, gate, arm } = stoppingBefore("refreshTokens.rotate");
      const host = testHost({ storage, ...(tokens && { tokens }) });
      const { refreshToken } = await familyOf(host, "web", pair);
      arm();
      const answer = refresh(host, { client: "web", refreshToken, pair });
      await reached.opened;
      await host.auth.consents.revoke(consentKey(pair));
      gate.open();
      await expectDead(host, { tokens: (await answer).body as Tokens, pair });
    });
  });
});
