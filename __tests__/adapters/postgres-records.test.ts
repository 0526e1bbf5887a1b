import { randomBytes } from "node:crypto";
import { Client as Connection } from "pg";
import { browserOriginsOf, type Client } from "../../lib";
import { postgresStorage, type PostgresStorage } from "../../lib/postgres";
import { clientEndKey, longestPossibleLifeSeconds } from "../../lib/protocol/end-mark";
import { newRegistration } from "../../lib/testing/contract/records";
import { authorize } from "../browser/authorize";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { clients, machineSecret } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import {
  aliceAtOrders,
  ask,
  describeWithPostgres,
  newName,
  numbers,
  openStorage,
  pool,
  server,
  sqlError,
  untilOneWaits,
  webRecord,
  wrapPool,
} from "../servers/postgres-storage";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  publicRecord,
  refreshTokenRecord,
} from "../records/records";

const spa = (...origins: readonly string[]): Client =>
  publicRecord("browser", { redirectUris: origins.map((origin) => `${origin}/callback`) });

/** PostgreSQL takes neither of them as text of its own. */
const strangeTexts = ["a\u0000b", "cut \ud83d"];

function authorizationTests(): void {
  it.each(strangeTexts)("stores a second authorization beside one that has %j in it", async (text) => {
    const { authorizations } = await openStorage();
    const context = { key: "acme", data: { name: text } };
    const first = authorizationRecord({ context, acr: text, amr: [text], endMarks: [] });
    await authorizations.create(first, 1_100);
    await authorizations.create({ ...first, authorizationId: "B".repeat(22) }, 1_100);
    expect(await authorizations.find(first.authorizationId, 1_100)).toEqual(first);
  });
}

function clientTests(): void {
  it("replaces a client, and forgets the origins that it had before", async () => {
    const { clients: registry } = await openStorage();
    await registry.save(spa("https://one.example", "https://two.example"));
    const changed = spa("https://two.example", "https://three.example");
    await registry.save(changed);
    expect(await registry.find("spa")).toEqual(changed);
    const origins = ["https://one.example", "https://two.example", "https://three.example"];
    expect(await Promise.all(origins.map((origin) => registry.isBrowserOrigin(origin)))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("forgets every origin of a client that is no browser client any more", async () => {
    const { clients: registry } = await openStorage();
    await registry.save(spa("https://one.example"));
    await registry.save(
      confidentialRecord({ clientId: "spa", redirectUris: ["https://one.example/callback"] }),
    );
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(false);
  });

  it.each([
    ["of the wrong shape", { clientId: "web" }],
    ["with an unsafe redirect URI", { ...webRecord, redirectUris: ["javascript:alert(1)"] }],
    ["with a secret that is no digest", { ...webRecord, secretDigests: ["a secret"] }],
    ["that is none", undefined],
  ])("refuses a record %s and keeps the one before", async (_, wrong) => {
    const { clients: registry } = await openStorage();
    await registry.save(webRecord);
    await expect(registry.save(wrong as Client)).rejects.toThrow(TypeError);
    await expect(registry.replace({ from: webRecord, to: wrong as Client })).rejects.toThrow(TypeError);
    expect(await registry.find("web")).toEqual(webRecord);
  });

  it("stores nothing of a wrong record", async () => {
    const prefix = newName();
    const { clients: registry } = await openStorage({ prefix });
    const wrong = { ...spa("https://one.example"), name: "" };
    await expect(registry.save(wrong)).rejects.toThrow(TypeError);
    expect(
      await ask(
        `SELECT client_id FROM ${prefix}clients UNION SELECT client_id FROM ${prefix}browser_origins`,
      ),
    ).toEqual([]);
  });

  it("keeps an origin that two clients share until both are deleted", async () => {
    const { clients: registry } = await openStorage();
    const other = { ...spa("https://one.example"), clientId: "other" };
    await registry.save(spa("https://one.example"));
    await registry.save(other);
    await registry.delete("spa");
    expect(await registry.find("spa")).toBeUndefined();
    expect(await registry.find("other")).toEqual(other);
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(true);
    await registry.delete("other");
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(false);
  });

  it("ends everything of a client that it deletes, for as long as anything can live (RFC 6749 §10.2)", async () => {
    const prefix = newName();
    const { clients: registry, endMarks } = await openStorage({ prefix });
    const now = Math.floor(Date.now() / 1000);
    const keys = [clientEndKey("web"), clientEndKey("spa")];
    await registry.save(webRecord);
    expect(await endMarks.find(keys, now)).toEqual([undefined, undefined]);
    await registry.delete("web");
    const [first, other] = await endMarks.find(keys, now + longestPossibleLifeSeconds - 1);
    expect(first).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(other).toBeUndefined();
    await registry.save(webRecord);
    expect(await endMarks.find(keys, now)).toEqual([first, undefined]);
    await registry.delete("web");
    expect((await endMarks.find(keys, now))[0]).not.toBe(first);
  });

  it("lists every client once, in pages", async () => {
    const { clients: registry } = await openStorage();
    const ids = ["web", "Web", "a%", "%", "~", "!", "0"];
    for (const clientId of ids) await registry.save({ ...webRecord, clientId });
    for (const limit of [1, 2, 3, 7, 50]) {
      const found: string[] = [];
      for (;;) {
        const after = found.at(-1);
        const page = await registry.list({ limit, ...(after !== undefined && { after }) });
        found.push(...page.map(({ clientId }) => clientId));
        if (page.length < limit) break;
      }
      expect(found.toSorted()).toEqual(ids.toSorted());
    }
    await registry.delete("0");
    const rest = await registry.list({ after: "0", limit: 50 });
    expect(rest.map(({ clientId }) => clientId)).not.toContain("0");
    expect(await registry.list({ after: "~~", limit: 50 })).toEqual([]);
  });

  it("does nothing when there is no client to delete", async () => {
    const { clients: registry, endMarks } = await openStorage();
    await registry.save(webRecord);
    await registry.delete("WEB");
    expect(await registry.find("web")).toEqual(webRecord);
    expect(await endMarks.find([clientEndKey("WEB"), clientEndKey("web")], 1_000)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("ends in one whole client when 16 save it at once", async () => {
    const { clients: registry } = await openStorage();
    const versions = numbers(16).map((n) => spa("https://every.example", `https://only-${n}.example`));
    const origins = [...new Set(versions.flatMap(browserOriginsOf))];
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(versions.map((version) => registry.save(version)));
      const found = await registry.find("spa");
      const known = await Promise.all(origins.map((origin) => registry.isBrowserOrigin(origin)));
      expect(origins.filter((_, index) => known[index])).toEqual(found && browserOriginsOf(found));
    }
  });

  it("knows the origin of a client that is saved and deleted at once if and only if it is there", async () => {
    const { clients: registry } = await openStorage();
    for (let round = 0; round < 30; round += 1) {
      await Promise.all([registry.save(spa("https://one.example")), registry.delete("spa")]);
      const found = await registry.find("spa");
      expect(await registry.isBrowserOrigin("https://one.example")).toBe(found !== undefined);
      await registry.delete("spa");
    }
  });
}

/** Codes, spent, by a statement of the test's own. */
async function fillCodes(
  prefix: string,
  { rows, expiresAt }: { rows: number; expiresAt: number },
): Promise<void> {
  await ask(`INSERT INTO ${prefix}authorization_codes
    SELECT 'code-' || n, '{}', ${expiresAt} FROM generate_series(1, ${rows}) AS n`);
  await ask(
    `INSERT INTO ${prefix}spent_tokens SELECT digest, '', expires_at FROM ${prefix}authorization_codes`,
  );
}

const unmarked = (
  prefix: string,
): string => `SELECT count(*)::int AS tokens FROM ${prefix}authorization_codes AS token
  WHERE NOT EXISTS (SELECT 1 FROM ${prefix}spent_tokens AS mark WHERE mark.digest = token.digest)`;

async function storeOneOfEach(storage: PostgresStorage, expiresAt: number): Promise<void> {
  const name = `of ${expiresAt}`;
  const authorizationId = String(expiresAt).padStart(22, "A");
  const code = codeRecord(`code ${name}`, { expiresAt });
  const from = refreshTokenRecord(`token ${name}`, { expiresAt });
  const consent = { ...aliceAtOrders, subject: name, scopes: [], grantedAt: 1_000, endMarks: [], expiresAt };
  await storage.consents.save(consent, 1_000);
  await storage.consents.save({ ...consent, contextKey: "acme" }, 1_000);
  await storage.authorizations.create(authorizationRecord({ authorizationId, expiresAt }), 1_000);
  await storage.authorizationCodes.create(code, 1_000);
  await storage.authorizationCodes.consume(code, 1_000);
  await storage.refreshTokens.create(from, 1_000);
  await storage.accessTokens.create({ ...accessTokenRecord({ expiresAt }), digest: name }, 1_000);
  await storage.accessTokens.revoke({ tokenId: name, expiresAt }, 1_000);
  await storage.endMarks.save({ key: name, mark: "a mark", expiresAt }, 1_000);
  await storage.clientAssertions.use({ digest: name, expiresAt }, 1_000);
  await storage.parkedRequests.create({ key: name, owner: "web", state: "open", expiresAt }, { now: 1_000 });
  const registration = newRegistration(1_000, { expiresAt });
  await storage.clientRegistrations.create(registration, { limit: 10, now: 1_000 });
}

function deleteTests(): void {
  const expiring = [
    "consents",
    "authorizations",
    "authorization_codes",
    "refresh_tokens",
    "spent_tokens",
    "access_tokens",
    "revoked_access_tokens",
    "end_marks",
    "used_assertions",
    "client_registrations",
    "parked_requests",
  ];

  it("deletes what ended 300 seconds ago and nothing else, and tells how much", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await storage.clients.save(spa("https://one.example"));
    for (const expiresAt of [2_000, 2_001]) await storeOneOfEach(storage, expiresAt);
    expect(await storage.deleteExpired(2_299)).toBe(0);
    expect(await storage.deleteExpired(2_300)).toBe(12);
    for (const table of expiring)
      expect(await ask(`SELECT DISTINCT expires_at::int FROM ${prefix}${table}`)).toEqual([
        { expires_at: 2_001 },
      ]);
    expect(await storage.deleteExpired(2_301)).toBe(12);
    expect(await storage.deleteExpired(2_000_000)).toBe(0);
    expect(await storage.clients.find("spa")).toBeDefined();
    expect(await storage.clients.isBrowserOrigin("https://one.example")).toBe(true);
  });

  it("goes by the clock of the process when it is given no time", async () => {
    const storage = await openStorage();
    const now = Math.floor(Date.now() / 1000);
    await storage.authorizationCodes.create(codeRecord("old", { expiresAt: now - 301 }), 1_000);
    await storage.authorizationCodes.create(codeRecord("new", { expiresAt: now }), 1_000);
    expect(await storage.deleteExpired()).toBe(1);
  });

  it("deletes 1000 rows at most by one statement, and goes on until all are gone", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
    const deleted: number[] = [];
    const watched = wrapPool(pool, async ({ text }, run) => {
      const result = await run();
      if (text.startsWith("DELETE")) deleted.push(result.rows.length);
      return result;
    });
    expect(await postgresStorage({ pool: watched, prefix }).deleteExpired(9_000)).toBe(5_000);
    expect(Math.max(...deleted)).toBeLessThanOrEqual(1_000);
    expect(await ask(`SELECT * FROM ${prefix}authorization_codes`)).toEqual([]);
    expect(await ask(`SELECT * FROM ${prefix}spent_tokens`)).toEqual([]);
  });

  it("keeps a consent that is given again in the same moment", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await storage.consents.save(
      { ...aliceAtOrders, scopes: [], grantedAt: 1_000, endMarks: [], expiresAt: 1_100 },
      1_000,
    );
    const renewing = new Connection({ connectionString: server.url });
    await renewing.connect();
    await renewing.query("BEGIN");
    await renewing.query(`UPDATE ${prefix}consents SET expires_at = 99000`);
    const deleting = storage.deleteExpired(9_000);
    await untilOneWaits();
    await renewing.query("COMMIT");
    await renewing.end();
    await deleting;
    expect(await storage.consents.find(aliceAtOrders, 9_000)).toMatchObject({ expiresAt: 99_000 });
  });
}

function markTests(): void {
  const expiresAt = 2_000;
  const spendings: [string, (storage: PostgresStorage, now: number) => Promise<unknown>][] = [
    ["code", (storage, now) => storage.authorizationCodes.consume(codeRecord("a", { expiresAt }), now)],
    [
      "refresh token",
      (storage, now) => {
        const to = refreshTokenRecord(randomBytes(8).toString("hex"));
        return storage.refreshTokens.rotate({ from: refreshTokenRecord("a", { expiresAt }), to }, now);
      },
    ],
  ];

  it.each(spendings)("never lets a %s be spent twice by clocks 300 seconds apart", async (_, spend) => {
    const storage = await openStorage();
    await storage.authorizationCodes.create(codeRecord("a", { expiresAt }), 1_000);
    await storage.refreshTokens.create(refreshTokenRecord("a", { expiresAt }), 1_000);
    expect(await spend(storage, 1_000)).toMatch(/^(?:consumed|rotated)$/);
    for (let ahead = expiresAt - 2; ahead <= expiresAt + 302; ahead += 1) {
      await storage.deleteExpired(ahead);
      expect(await spend(storage, ahead - 300)).toMatch(/^not-/);
    }
  });

  it.each(spendings)(
    "shows a %s as spent for as long as it is found by such a clock",
    async (kind, spend) => {
      const storage = await openStorage();
      const [code, token] = [codeRecord("a", { expiresAt }), refreshTokenRecord("a", { expiresAt })];
      await storage.authorizationCodes.create(code, 1_000);
      await storage.refreshTokens.create(token, 1_000);
      await spend(storage, 1_000);
      await storage.deleteExpired(expiresAt + 299);
      const at = expiresAt - 1;
      if (kind === "code") {
        expect(await storage.authorizationCodes.find(code, at)).toEqual({ ...code, consumed: true });
      } else expect(await storage.refreshTokens.find(token, at)).toEqual({ ...token, used: true });
    },
  );

  it("removes no mark before its token, wherever it is interrupted", async () => {
    let finished = false;
    for (let crashAt = 1; !finished; crashAt += 1) {
      const prefix = newName();
      await openStorage({ prefix });
      await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
      let at = 0;
      const crashing = wrapPool(pool, (_, run) => {
        at += 1;
        return at === crashAt ? Promise.reject(sqlError("57P01")) : run();
      });
      finished = await postgresStorage({ pool: crashing, prefix })
        .deleteExpired(9_000)
        .then(
          () => true,
          () => false,
        );
      expect(await ask(unmarked(prefix))).toEqual([{ tokens: 0 }]);
    }
  });
}

/** Tables with 2,500 expired codes, refresh tokens and marks, and a host that serves from them. */
async function busyHost() {
  const prefix = newName();
  const storage = await openStorage({ prefix });
  await storage.clients.save({ ...clients.web, trusted: true });
  await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
  await ask(
    `INSERT INTO ${prefix}refresh_tokens SELECT 'token-' || n, '{}', 1000 FROM generate_series(1, 2500) AS n`,
  );
  return { prefix, storage, host: testHost({ storage }) };
}

function servingTests(): void {
  it("loses nothing that lives while 4 processes delete and 100 codes are exchanged", async () => {
    const { prefix, host } = await busyHost();
    const cleaners = numbers(4).map(() => postgresStorage({ pool: server.pool({ max: 1 }), prefix }));
    const state = { serving: true };
    const deleting = cleaners.map(async (cleaner) => {
      let deleted = 0;
      do deleted += await cleaner.deleteExpired();
      while (state.serving);
      return deleted;
    });
    let next = 0;
    const tokens: string[] = [];
    async function exchange(): Promise<void> {
      while (next < 100) {
        next += 1;
        const code = await obtainCode(host, { client: "web" });
        const { status, body } = await redeem(host, { client: "web", code });
        expect(status).toBe(200);
        tokens.push((body as Tokens).refresh_token ?? "");
      }
    }
    await Promise.all(numbers(10).map(exchange));
    state.serving = false;
    const deleted = await Promise.all(deleting);
    expect(deleted.reduce((sum, each) => sum + each)).toBe(7_500);
    const statuses: number[] = [];
    for (const refreshToken of tokens)
      statuses.push((await refresh(host, { client: "web", refreshToken })).status);
    expect(statuses).toEqual(numbers(100).map(() => 200));
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("carries every journey of the server", async () => {
    const storage = await openStorage();
    for (const client of Object.values(clients)) await storage.clients.save(client);
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
    const opaque = await obtainTokens(host, { client: "native", pair: { api: "reports" } });
    expect(opaque.access_token).not.toContain(".");
    const fields = {
      grant_type: "client_credentials",
      client_id: "machine",
      client_secret: machineSecret.secret,
    };
    expect((await postToken(host, { fields })).status).toBe(200);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(302);
  });
}

describeWithPostgres(() => {
  describe("postgresStorage authorizations (RFC 6749 §1.3)", authorizationTests);
  describe("postgresStorage client table (RFC 6749 §2)", clientTests);
  describe("postgresStorage deleteExpired() (RFC 6749 §10.5)", deleteTests);
  describe("postgresStorage marks of spent tokens (RFC 6749 §4.1.2, 9700 §4.14.2)", markTests);
  describe("postgresStorage while it serves (RFC 6749 §4.1)", servingTests);
});
