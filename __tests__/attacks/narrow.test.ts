// The client polls silently, refreshes or has a page open while the person takes a scope back, and storage is slow or fails. Nothing that
// comes out once `auth.consents.narrow` has resolved has the scope, or the call rejects and can be repeated.
import { memoryStorage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { bothScopes, outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { callApi, obtainTokens, type Tokens } from "../browser/journey";
import { redeem, refresh } from "../requests/client-requests";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { type HeldMoment, holdingStorage } from "../storage/held-call";

const clock = stopClockForEachTest();
const ofWeb = { subject: "alice", clientId: "web", apiId: "orders" };
const reading = { ...ofWeb, scopes: ["orders:read"] };
const silent = { client: "web", fields: { prompt: "none", ...bothScopes } } as const;

/** A host whose next call with this name is held, before its work or after it, until the latch opens; or fails. */
function holding(call: string, moment: HeldMoment) {
  const { storage, ...held } = holdingStorage(memoryStorage({ clients: Object.values(clients) }), {
    call,
    moment,
  });
  return { host: testHost({ storage }), ...held };
}

/** What this token may do, once the lag has passed. */
async function mayWrite(host: TestHost, { access_token: token }: Tokens): Promise<boolean> {
  clock.advance(5);
  return (await callApi(host, "/orders/changes", token)).status === 200;
}

/** Nothing that the person has taken back works or comes silently. */
async function expectTakenBack(host: TestHost): Promise<void> {
  expect(await outcomeOfVisit(host, { ...silent, browser: host.browser() })).toBe("consent_required");
  const { authorizations } = await host.auth.authorizations.list("alice");
  expect(authorizations.flatMap(({ scopes }) => scopes)).not.toContain("orders:write");
}

describe("taking back a scope, and a silent visit at once (RFC 9700 §4.14)", () => {
  it.each([
    ["consents.find", "after"],
    ["authorizations.create", "before"],
    ["authorizations.create", "after"],
    ["authorizationCodes.create", "before"],
    ["endMarks.find", "before"],
    ["endMarks.find", "after"],
  ] as const)(
    "gives the visit nothing that was taken back: %s is late, %s its work",
    async (call, moment) => {
      const { host, reached, release, arm } = holding(call, moment);
      await obtainTokens(host, { client: "web", fields: bothScopes });
      arm();
      const visit = authorize(host.browser(), silent);
      await reached.opened;
      await host.auth.consents.narrow(reading);
      release.open();
      const { code } = redirectParameters(await visit);
      if (code !== undefined) {
        const tokens = (await redeem(host, { client: "web", code })).body as Tokens;
        expect(tokens.scope ?? "orders:read").toBe("orders:read");
      }
      await expectTakenBack(host);
    },
  );
});

describe("taking back a scope, and a refresh at once (RFC 6749 §6)", () => {
  it.each([
    ["refreshTokens.find", "after"],
    ["authorizations.find", "after"],
    ["refreshTokens.rotate", "before"],
    ["refreshTokens.rotate", "after"],
  ] as const)("cuts the token that the refresh brings: %s is late, %s its work", async (call, moment) => {
    const { host, reached, release, arm } = holding(call, moment);
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
      fields: bothScopes,
    });
    arm();
    const refreshing = refresh(host, { client: "web", refreshToken });
    await reached.opened;
    await host.auth.consents.narrow(reading);
    release.open();
    const tokens = (await refreshing).body as Tokens;
    expect(await mayWrite(host, tokens)).toBe(false);
    const next = await refresh(host, { client: "web", refreshToken: tokens.refresh_token ?? "" });
    expect(next.body).toMatchObject({ scope: "orders:read" });
    await expectTakenBack(host);
  });
});

describe("taking back a scope while storage fails (RFC 6749 §10.5)", () => {
  it.each([
    "consents.list",
    "endMarks.find",
    "endMarks.save",
    "authorizations.narrowAll",
    "consents.save",
    "consents.delete",
  ])("rejects, and can be repeated: %s", async (call) => {
    const { host, arm } = holding(call, "failing");
    const tokens = await obtainTokens(host, { client: "web", fields: bothScopes });
    arm();
    await expect(host.auth.consents.narrow(reading)).rejects.toThrow("storage is away");
    expect(host.events.map(({ kind }) => kind)).not.toContain("consent-narrowed");
    await host.auth.consents.narrow(reading);
    await expectTakenBack(host);
    expect(await mayWrite(host, tokens)).toBe(false);
    // at worst the person is asked about the rest again
    expect([[], [["orders:read"]]]).toContainEqual(await rememberedScopes(host));
  });
});

describe("taking back at once (RFC 7009 §2.1)", () => {
  it.each([2, 8, 64])("takes away what each of %i calls takes away", async (count) => {
    const scopes = Object.fromEntries(Array.from({ length: count }, (_, at) => [`s:${at}`, `Do ${at}`]));
    const { orders, ...others } = apis;
    const all = Object.keys(scopes);
    const known = { ...orders?.scopes, ...scopes, stays: "Stay" };
    const host = testHost({ apis: { ...others, orders: { ...orders!, scopes: known } } });
    await obtainTokens(host, { client: "web", fields: { scope: ["stays", ...all].join(" ") } });
    await Promise.all(
      all.map((gone) =>
        host.auth.consents.narrow({ ...ofWeb, scopes: ["stays", ...all.filter((one) => one !== gone)] }),
      ),
    );
    const { authorizations } = await host.auth.authorizations.list("alice");
    expect(authorizations.map((one) => one.scopes)).toEqual([["stays"]]);
    expect([[], [["stays"]]]).toContainEqual(await rememberedScopes(host));
  });

  it("brings nothing back that is withdrawn at the same time", async () => {
    for (let round = 0; round < 20; round += 1) {
      const host = testHost();
      await obtainTokens(host, { client: "web", fields: bothScopes });
      const calls = [() => host.auth.consents.narrow(reading), () => host.auth.consents.revoke(ofWeb)];
      await Promise.all((round % 2 === 0 ? calls : calls.toReversed()).map((call) => call()));
      expect(await outcomeOfVisit(host, { fields: { prompt: "none" } })).toBe("consent_required");
      expect(await rememberedScopes(host)).toEqual([]);
    }
  });

  it("leaves nothing of a person who is erased at the same time", async () => {
    const { host, reached, release, arm } = holding("consents.save", "before");
    await obtainTokens(host, { client: "web", fields: bothScopes });
    arm();
    const narrowing = host.auth.consents.narrow(reading);
    await reached.opened;
    await host.auth.subjects.erase("alice");
    release.open();
    await narrowing;
    expect(await host.storage.consents.list("alice", clock.now())).toEqual([]);
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
  });

  it("changes nothing of another person with the same client", async () => {
    const host = testHost();
    const { scope } = await obtainTokens(host, { client: "web", fields: bothScopes });
    await host.auth.consents.narrow({ ...reading, subject: "bob" });
    expect(host.events.at(-1)).toMatchObject({ kind: "nothing-to-revoke", subject: "bob" });
    expect(await rememberedScopes(host)).toEqual([String(scope).split(" ")]);
  });
});
