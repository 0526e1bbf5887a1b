// The client polls silently or has a page open while the person withdraws, and storage is slow or fails. The person's no holds, or
// they are told that it failed and can say it again. (Random orders: withdrawal-schedules; real databases: ends-processes.)
import type { Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { obtainCode, obtainTokens } from "../browser/journey";
import { type HeldMoment, holdingStorage } from "../storage/held-call";
import { newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";

stopClockForEachTest();

const key = { subject: "alice", clientId: "web", apiId: "orders" };
const newStorage = (): Storage => memoryStorage({ clients: Object.values(clients) });
const silent = { client: "web", fields: { prompt: "none" } } as const;
const both = { scope: "orders:read orders:write" };

async function remembered(host: TestHost): Promise<readonly string[]> {
  return (await host.auth.consents.list("alice")).consents.flatMap(({ scopes }) => scopes);
}

function idOf({ headers }: Response): string {
  return /interaction=([\w-]+)/.exec(String(headers["location"]))?.[1] ?? "";
}

/** A host whose next call with this name is held, before its work or its answer, until the latch opens. */
function holding(call: string, moment: HeldMoment) {
  const { storage, ...held } = holdingStorage(newStorage(), { call, moment });
  return { host: testHost({ storage }), ...held };
}

describe("a withdrawal and a silent visit at once (RFC 7009 §2.1, 9700 §4.14)", () => {
  it.each([
    ["consents.find", "after"],
    ["authorizations.create", "before"],
    ["authorizations.create", "after"],
    ["authorizationCodes.create", "before"],
    ["endMarks.find", "before"],
  ] as const)("ends what the visit was about to get: %s is late, %s its work", async (call, moment) => {
    const { host, reached, release, arm } = holding(call, moment);
    await obtainCode(host, { client: "web" });
    arm();
    const visit = authorize(host.browser(), silent);
    await reached.opened;
    await host.auth.consents.revoke(key);
    release.open();
    const { code, error } = redirectParameters(await visit);
    if (code === undefined) expect(["access_denied", "consent_required"]).toContain(error);
    else expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "consent_required",
    });
  });

  it("is told to the client as access_denied, and to the host with the reason", async () => {
    const { host, reached, release, arm } = holding("authorizations.create", "before");
    await obtainCode(host, { client: "web" });
    arm();
    const visit = authorize(host.browser(), silent);
    await reached.opened;
    await host.auth.consents.revoke(key);
    release.open();
    expect(redirectParameters(await visit)).toMatchObject({ error: "access_denied" });
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      code: "ended-meanwhile",
    });
  });

  it.each(["trusted", "granted by the host"])("ends what a client gets that is %s", async (why) => {
    const trusted = { ...clients.web, trusted: why === "trusted" };
    const [reached, release] = [newLatch(), newLatch()];
    const storage = intercept(memoryStorage({ clients: [trusted] }), async (name, run) => {
      if (name === "authorizations.create") {
        reached.open();
        await release.opened;
      }
      return run();
    });
    const consent = { decide: () => ({ kind: "granted", scopes: ["orders:read"] }) as const };
    const host = testHost({ storage, consent });
    const visit = authorize(host.browser(), { client: "web" });
    await reached.opened;
    await host.auth.consents.revoke(key);
    release.open();
    expect(redirectParameters(await visit)).toMatchObject({ error: "access_denied" });
  });
});

describe("a withdrawal and a yes at once (RFC 6749 §10.2)", () => {
  it.each(["consents.find", "authorizations.create", "authorizationCodes.create", "consents.save"])(
    "brings no withdrawn scope back when %s of the yes is late",
    async (call) => {
      const { host, reached, release, arm } = holding(call, call === "consents.find" ? "after" : "before");
      await obtainCode(host, { client: "web" });
      const browser = host.browser();
      const page = await authorize(browser, { client: "web", fields: both });
      arm();
      const answer = browser.answer(page, "approve");
      await reached.opened;
      await host.auth.consents.revoke(key);
      release.open();
      expect(redirectParameters(await answer)).toMatchObject({ error: "access_denied" });
      expect(await remembered(host)).toEqual([]);
    },
  );

  it("does not count a form whose page was shown before the withdrawal, though the cookie was renewed since", async () => {
    const host = testHost();
    await obtainCode(host, { client: "web" });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: both });
    const interaction = /name="interaction" value="([^"]*)"/.exec(page.text)?.[1];
    await host.auth.consents.revoke(key);
    await browser.get("/login/auth/password/api/orders/authorize/resume", { interaction });
    const answer = await browser.answer(page, "approve");
    expect(answer.headers["location"]).toBeUndefined();
    expect(await remembered(host)).toEqual([]);
  });

  it("does not count a page of the host's own that was shown before, under the id of the one after", async () => {
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const browser = host.browser();
    const interaction = idOf(await authorize(browser, { client: "web" }));
    await host.auth.consents.revoke(key);
    const again = await browser.get("/login/auth/password/api/orders/authorize/resume", { interaction });
    expect(idOf(again)).not.toBe(interaction);
    const old = await browser.post("/allow", { interaction });
    expect([old.status, old.headers["location"]]).toEqual([400, undefined]);
    const { code } = redirectParameters(await browser.post("/allow", { interaction: idOf(again) }));
    expect(code).toBeDefined();
  });

  it("lets the next page count, for what it shows alone", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    await host.auth.consents.revoke(key);
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: { scope: "orders:write" } });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect(await remembered(host)).toEqual(["orders:write"]);
    const again = await authorize(host.browser(), {
      client: "web",
      fields: { scope: "orders:write", prompt: "none" },
    });
    expect(redirectParameters(again)).toHaveProperty("code");
  });
});

describe("a withdrawal that fails half-way (RFC 7009 §2.2.1)", () => {
  const steps = ["endMarks.save", "authorizations.revokeAll", "consents.delete"];

  it.each(steps)("rejects when %s fails, and what may live on is still listed", async (call) => {
    let broken = false;
    const storage = intercept(newStorage(), async (name, run) => {
      if (broken && name === call) throw new Error("the database is gone");
      return run();
    });
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    broken = true;
    await expect(host.auth.consents.revoke(key)).rejects.toThrow("the database is gone");
    broken = false;
    expect(await remembered(host)).toEqual(["orders:read"]);
    await host.auth.consents.revoke(key);
    expect(await remembered(host)).toEqual([]);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
  });

  it.each([
    [undefined, "subject"],
    [{ subject: "alice", clientId: "web", api: "orders" }, "apiId"],
    [{ ...key, subject: "" }, "subject"],
    [{ ...key, clientId: undefined }, "clientId"],
  ])("rejects a key that is not whole: %j", async (odd, name) => {
    const host = testHost();
    await obtainCode(host, { client: "web" });
    await expect(host.auth.consents.revoke(odd as never)).rejects.toThrow(
      `${name} must be a non-empty string`,
    );
    expect(await remembered(host)).toEqual(["orders:read"]);
  });
});

describe("an end that is slow to store its mark, while the person approves (RFC 7009 §2.1)", () => {
  const ends = {
    "auth.subjects.revoke": ({ auth }: TestHost) => auth.subjects.revoke("alice"),
    "auth.consents.revoke": ({ auth }: TestHost) => auth.consents.revoke(key),
  };

  it.each(Object.entries(ends))(
    "%s ends the approval too: what it revokes is looked for last",
    async (_, end) => {
      const { host, reached, release, arm } = holding("endMarks.save", "before");
      arm();
      const ending = end(host);
      await reached.opened;
      const code = await obtainCode(host, { client: "web" });
      release.open();
      await ending;
      expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
    },
  );
});
