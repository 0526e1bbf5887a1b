/** Every storage call of every request of a client fails once, before its work or after it, when only the answer is lost. */
import { authorize } from "../../__tests__/browser/authorize";
import { refresh } from "../../__tests__/requests/client-requests";
import { stopClockForEachTest } from "../../__tests__/hosts/clock";
import {
  acknowledgedTokens,
  expectReported,
  failure,
  internalError,
  moments,
  newBed,
  onceEach,
  outcomeAfter,
  rowsOf,
  statusesOf,
  writtenUntil,
} from "./faulty-host";
import { buying, callWith, failingAttempt, repeatable, replays, revocations } from "./faulty-journeys";
import { callApi, obtainTokens, type Tokens } from "../../__tests__/browser/journey";

stopClockForEachTest();

describe("storage fails in one call, where the answer is JSON (RFC 6749 §5.2)", () => {
  const journeys = { ...buying, ...replays, ...revocations, ...repeatable };

  it.each(Object.entries(journeys))("is tried below in every call of %s", async (name, journey) => {
    const { host, faulty } = newBed();
    const { attempt } = await journey.prepare(host);
    faulty.arm(journey.calls.length, "before");
    expect((await attempt()).status).toBe(name in replays ? 400 : 200);
    expect(faulty.calls).toEqual(journey.calls);
  });

  const rows = rowsOf(journeys);
  const seen = onceEach(async (row: (typeof rows)[number]) => outcomeAfter(await failingAttempt(row)));

  it.each(rows)(
    "is a server_error that the host is told of: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { events, response } = await seen(row);
      expect([response.status, response.body]).toEqual([500, internalError]);
      expectReported(events);
    },
  );

  it.each(rows)("begins no later step: $call ($index) of $name throws $moment its work", async (row) => {
    const { written } = await seen(row);
    expect(written).toEqual(writtenUntil(row.flow.calls, row));
  });

  it.each(rows)(
    "takes nothing away from another authorization: $call ($index) of $name throws $moment its work",
    async (row) => {
      const bed = newBed();
      const acknowledged = await acknowledgedTokens(bed.host);
      const { attempt } = await failingAttempt(row, bed);
      await attempt();
      expect(await statusesOf(bed.host, acknowledged)).toEqual([200, 200]);
    },
  );
});

describe("storage fails in one call, and the client buys again (RFC 6749 §5.2)", () => {
  it.each(rowsOf(buying))(
    "lets a code or refresh token buy once, and only when it was not spent: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const tries = [await attempt(), await attempt(), await attempt()].map(({ status }) => status);
      expect(tries).toEqual(spent ? [400, 400, 400] : [200, 400, 400]);
    },
  );

  it.each(rowsOf(buying))(
    "lets one of several simultaneous retries win, and none when it was spent: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const tries = await Promise.all([attempt(), attempt(), attempt()]);
      expect(tries.filter(({ status }) => status === 200)).toHaveLength(spent ? 0 : 1);
    },
  );

  it.each(rowsOf(buying))(
    "leaves nothing that works after a replay, and all until then: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family } = await failingAttempt(row);
      const good = async (tokens: Tokens): Promise<number> => (await callWith(host, row.flow, tokens)).status;
      if (family) expect(await good(family)).toBe(200);
      const retry = await attempt();
      const bought = retry.status === 200 ? [retry.body as Tokens] : [];
      for (const tokens of bought) expect(await good(tokens)).toBe(200);
      if (family) expect(await good(family)).toBe(retry.status === 200 ? 200 : 401);
      await attempt();
      for (const tokens of [...bought, ...(family ? [family] : [])]) expect(await good(tokens)).toBe(401);
    },
  );

  it.each(rowsOf(buying).filter(({ flow }) => flow.calls.includes("refreshTokens.create")))(
    "lets the refresh token that a retry bought be used: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const { refresh_token: refreshToken } = (await attempt()).body as Partial<Tokens>;
      expect(refreshToken === undefined).toBe(spent);
      if (refreshToken === undefined) return;
      const client = row.name.includes("native") ? "native" : "web";
      expect((await refresh(host, { client, refreshToken, pair: row.flow.pair })).status).toBe(200);
    },
  );
});

describe("storage fails in one call, and the client asks again (RFC 6749 §5.2)", () => {
  it.each(rowsOf(replays))(
    "does not hide a replay: the next one revokes: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family, faulty } = await failingAttempt(row);
      const tokens = family as Tokens;
      const revoked = faulty.written.includes("authorizations.revoke");
      expect((await callWith(host, row.flow, tokens)).status).toBe(revoked ? 401 : 200);
      expect((await attempt()).body).toMatchObject({ error: "invalid_grant" });
      expect((await callWith(host, row.flow, tokens)).status).toBe(401);
    },
  );

  it.each(rowsOf(revocations))(
    "leaves a token good until it is revoked, and the next attempt revokes it: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family, faulty } = await failingAttempt(row);
      const tokens = family as Tokens;
      expect((await callWith(host, row.flow, tokens)).status).toBe(faulty.written.length > 0 ? 401 : 200);
      expect((await attempt()).status).toBe(200);
      expect((await callWith(host, row.flow, tokens)).status).toBe(401);
    },
  );

  it.each(rowsOf(repeatable))(
    "does not stand in the way of the next attempt: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family } = await failingAttempt(row);
      const { status, body } = await attempt();
      expect(status).toBe(200);
      if (row.name.includes("introspection")) expect(body).toMatchObject({ active: true });
      expect((await callWith(host, row.flow, family as Tokens)).status).toBe(200);
    },
  );

  it.each(rowsOf(repeatable).filter(({ name }) => name.startsWith("an API call")))(
    "does not let a request reach the route: $call ($index) of $name throws $moment its work",
    async ({ flow, index, moment }) => {
      const { host, faulty } = newBed();
      let reached = 0;
      host.app.get("/counted", host.auth.requireBearer({ api: flow.pair.api ?? "orders" }), (_, res) => {
        reached += 1;
        res.end();
      });
      const { access_token: token } = await obtainTokens(host, { client: "web", pair: flow.pair });
      faulty.arm(index, moment);
      expect((await callApi(host, "/counted", token)).status).toBe(500);
      expect(reached).toBe(0);
    },
  );
});

describe("storage fails in one call, where the host asks (RFC 6749 §10.3)", () => {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };
  const listing = ["consents.list", "endMarks.find"];
  const steps = [
    "endMarks.save",
    "endMarks.save",
    "authorizations.revokeAll",
    "endMarks.save",
    "consents.delete",
  ];
  const rows = steps.flatMap((call, index) => moments.map((moment) => ({ call, index, moment })));

  it("is tried below in every call", async () => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    faulty.arm(listing.length + steps.length, "before");
    await host.auth.consents.list("alice");
    await host.auth.consents.revoke(key);
    expect(faulty.calls).toEqual([...listing, ...steps]);
  });

  const listed = listing.flatMap((call, index) => moments.map((moment) => ({ call, index, moment })));

  it.each(listed)("is what auth.consents.list rejects with: $call $moment its work", async (row) => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    faulty.arm(row.index, row.moment);
    await expect(host.auth.consents.list("alice")).rejects.toBe(failure);
    faulty.fix();
    expect((await host.auth.consents.list("alice")).consents).toMatchObject([key]);
  });

  it.each(rows)("is what auth.consents.revoke rejects with: $call throws $moment its work", async (row) => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    host.events.length = 0;
    faulty.arm(row.index, row.moment);
    await expect(host.auth.consents.revoke(key)).rejects.toBe(failure);
    expect(faulty.written).toEqual(writtenUntil(steps, row));
    expect(host.events.filter(({ kind }) => kind === "consent-revoked")).toEqual([]);
  });

  it("can be repeated until it holds, whatever has failed before", async () => {
    const { host, faulty } = newBed();
    const acknowledged = await acknowledgedTokens(host);
    const { access_token: accessToken, refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
    });
    for (const { index, moment } of rows) {
      faulty.arm(index, moment);
      await expect(host.auth.consents.revoke(key)).rejects.toBe(failure);
    }
    faulty.fix();
    await host.auth.consents.revoke(key);
    expect((await callApi(host, "/orders", accessToken)).status).toBe(401);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect(await statusesOf(host, acknowledged)).toEqual([200, 200]);
  });
});
