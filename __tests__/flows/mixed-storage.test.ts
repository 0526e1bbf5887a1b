// A host keeps some of the stores itself, or each kind of record where it suits: the journeys are the same, and none of the
// stores is given anything that opens something.
import type { Pool } from "pg";
import type { Response } from "supertest";
import { browserOriginsOf, type Client, type ClientStore, memoryStorage, type Storage } from "../../lib";
import { type PostgresStorage, postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { digestToken } from "../../lib/protocol/token-value";
import type { Pair } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { formats } from "../requests/bearer-answers";
import { redeem, refresh, revoke } from "../requests/client-requests";
import { clients, webSecret } from "../hosts/clients";
import { signedIn, testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, type Tokens } from "../browser/journey";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import { redis, redisClient, type RedisServer, startRedis } from "../servers/redis-server";
import { describeWith } from "../servers/server-process";

/** The host's own table of apps, with columns of its own liking. */
async function hostClients(pool: Pool): Promise<ClientStore> {
  await pool.query("CREATE TABLE shop_apps (app_id text PRIMARY KEY, details jsonb, web_origins text[])");
  for (const client of Object.values(clients) as readonly Client[]) {
    const values = [client.clientId, JSON.stringify(client), browserOriginsOf(client)];
    await pool.query("INSERT INTO shop_apps VALUES ($1, $2, $3)", values);
  }
  return {
    async find(clientId) {
      const { rows } = await pool.query("SELECT details FROM shop_apps WHERE app_id = $1", [clientId]);
      return (rows[0] as { details: Client } | undefined)?.details;
    },
    async isBrowserOrigin(origin) {
      const { rowCount } = await pool.query("SELECT 1 FROM shop_apps WHERE $1 = ANY (web_origins)", [origin]);
      return rowCount !== 0;
    },
  };
}

describeWith(
  { name: `${postgres.name} and ${redis.name}`, found: postgres.found && redis.found },
  { name: "mixed storage (RFC 6749 §10.5)", tests: mixedStorage },
);

type RedisConnection = Awaited<ReturnType<typeof redisClient>>;

interface Stores {
  readonly pool: Pool;
  readonly connection: RedisConnection;
}

async function migrated(pool: Pool, schema: string): Promise<PostgresStorage> {
  const storage = postgresStorage({ pool, schema });
  await storage.migrate();
  return storage;
}

async function withHostClients({ pool }: Stores): Promise<Storage> {
  return { ...(await migrated(pool, "with_host_clients")), clients: await hostClients(pool) };
}

async function divided({ pool, connection }: Stores): Promise<Storage> {
  const storage = await migrated(pool, "divided");
  for (const client of Object.values(clients)) await storage.clients.save(client);
  const { authorizationCodes, refreshTokens } = redisStorage({ client: connection, prefix: "divided:" });
  return { ...storage, authorizationCodes, refreshTokens };
}

async function withListedClients({ connection }: Stores): Promise<Storage> {
  const listed = memoryStorage({ clients: Object.values(clients) });
  return { ...redisStorage({ client: connection }), clients: listed.clients };
}

/** Every row of every table, as text. */
async function dumpPostgres(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  const dumps = tables.map(async ({ name }) => {
    const { rows } = await pool.query<{ row: string }>(`SELECT line::text AS row FROM ${name} AS line`);
    return [name, ...rows.map(({ row }) => row)].join("\n");
  });
  return (await Promise.all(dumps)).join("\n");
}

const readCommands: Readonly<Record<string, readonly string[]>> = {
  string: ["GET"],
  hash: ["HGETALL"],
  set: ["SMEMBERS"],
  zset: ["ZRANGE", "0", "-1", "WITHSCORES"],
};

/** Every key and value. */
async function dumpRedis(connection: RedisConnection): Promise<string> {
  const ask = async (command: string[]): Promise<readonly string[]> =>
    [(await connection.sendCommand(command)) as unknown as string | string[]].flat();
  const dumps = (await ask(["KEYS", "*"])).map(async (key) => {
    const [type = ""] = await ask(["TYPE", key]);
    const [command, ...args] = readCommands[type] ?? [];
    if (command === undefined) throw new Error(`${key} is a ${type}`);
    return [key, ...(await ask([command, key, ...args]))].join("\n");
  });
  return (await Promise.all(dumps)).join("\n");
}

const partLength = 16;

/** What is random of a code or refresh token, the signature of a JWT: the parts before it may be known. */
function secretPart(token: string): string {
  return token.split(".").at(-1) ?? "";
}

function writings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
}

function holds(text: string, secret: string): boolean {
  return writings(secret).some((writing) => {
    for (let at = 0; at + partLength <= writing.length; at += 1) {
      if (text.includes(writing.slice(at, at + partLength))) return true;
    }
    return false;
  });
}

interface Family {
  readonly code: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

function familyFrom(code: string, response: Response): Family {
  const { access_token: accessToken, refresh_token: refreshToken = "" } = response.body as Tokens;
  return { code, accessToken, refreshToken };
}

async function obtainFamily(host: TestHost, pair: Pair): Promise<Family> {
  const code = await obtainCode(host, { client: "web", pair });
  return familyFrom(code, await redeem(host, { client: "web", pair, code }));
}

async function callStatus(host: TestHost, { pair, token }: { pair: Pair; token: string }): Promise<number> {
  return (await callApi(host, `/${pair.api ?? "orders"}`, token)).status;
}

/** What each of them still opens: nothing, when the family is dead. */
async function opens(host: TestHost, { pair, family }: { pair: Pair; family: Family }): Promise<unknown> {
  const { refreshToken, accessToken } = family;
  const call = await callStatus(host, { pair, token: accessToken });
  const refreshed = await refresh(host, { client: "web", pair, refreshToken });
  return { call, refresh: (refreshed.body as { error?: string }).error ?? refreshed.status };
}

const nothing = { call: 401, refresh: "invalid_grant" };

let stores: Stores;
let storage: Storage;
let host: TestHost;
let endUsers = 0;

/** What ends the codes and tokens of a pair. */
function familiesDie(pair: Pair): void {
  it("lets a family die with the second use of its code", async () => {
    const family = await obtainFamily(host, pair);
    const replay = await redeem(host, { client: "web", pair, code: family.code });
    expect(replay.body).toMatchObject({ error: "invalid_grant" });
    expect(await opens(host, { pair, family })).toEqual(nothing);
  });

  it("lets a family die with the second use of a refresh token", async () => {
    const first = await obtainFamily(host, pair);
    const { refreshToken } = first;
    const second = familyFrom(first.code, await refresh(host, { client: "web", pair, refreshToken }));
    const replay = await refresh(host, { client: "web", pair, refreshToken });
    expect(replay.body).toMatchObject({ error: "invalid_grant" });
    expect(await opens(host, { pair, family: second })).toEqual(nothing);
    expect(await callStatus(host, { pair, token: first.accessToken })).toBe(401);
  });

  it("lets a family die with its revoked refresh token", async () => {
    const family = await obtainFamily(host, pair);
    expect((await revoke(host, { pair, token: family.refreshToken })).status).toBe(200);
    expect(await opens(host, { pair, family })).toEqual(nothing);
  });

  it("lets a revoked access token die alone", async () => {
    const family = await obtainFamily(host, pair);
    expect((await revoke(host, { pair, token: family.accessToken })).status).toBe(200);
    expect(await opens(host, { pair, family })).toEqual({ call: 401, refresh: 200 });
  });

  it("lets every family die with the consent, and asks again", async () => {
    const families = [await obtainFamily(host, pair), await obtainFamily(host, pair)];
    const subject = `end user ${endUsers}`;
    const [consent, ...more] = (await host.auth.consents.list(subject)).consents;
    expect(consent).toMatchObject({ subject, clientId: "web", apiId: pair.api });
    expect(more).toEqual([]);
    if (consent) await host.auth.consents.revoke(consent);
    expect((await host.auth.consents.list(subject)).consents).toEqual([]);
    for (const family of families) expect(await opens(host, { pair, family })).toEqual(nothing);
    const page = await authorize(host.browser(), { client: "web", pair });
    expect(page.text).toContain("Allow Web Shop");
  });

  it("stores no code, token, verifier or secret, used or not", async () => {
    const unused = await obtainCode(host, { client: "web", pair });
    const first = await obtainFamily(host, pair);
    const { refreshToken } = first;
    const second = familyFrom(first.code, await refresh(host, { client: "web", pair, refreshToken }));
    const revoked = await obtainFamily(host, pair);
    await revoke(host, { pair, token: revoked.accessToken });
    await revoke(host, { pair, token: revoked.refreshToken });

    const dump = `${await dumpPostgres(stores.pool)}\n${await dumpRedis(stores.connection)}`;
    const tokens = [
      unused,
      ...[first, second, revoked].flatMap((family) => Object.values(family) as string[]),
    ];
    const secrets = [...tokens.map(secretPart), codeVerifier, webSecret.secret];
    expect(secrets.filter((secret) => secret.length < partLength)).toEqual([]);
    expect(secrets.filter((secret) => holds(dump, secret))).toEqual([]);
    // what is there instead shows that this is the place to look
    const storedAsDigests = [unused, first.code, first.refreshToken, second.refreshToken];
    for (const token of storedAsDigests) expect(dump).toContain(digestToken(token));
    expect(dump.includes(digestToken(first.accessToken))).toBe(pair.api === "reports");
  });
}

function mixedStorage(): void {
  let postgresServer: PostgresServer;
  let redisServer: RedisServer;

  beforeAll(async () => {
    [postgresServer, redisServer] = await Promise.all([startPostgres(), startRedis()]);
    stores = { pool: postgresServer.pool({ max: 4 }), connection: await redisClient(redisServer.url) };
  });
  afterAll(async () => {
    stores.connection.destroy();
    await Promise.all([postgresServer.close(), redisServer.close()]);
  });

  describe.each([
    ["PostgreSQL with the host's own client table", withHostClients],
    ["PostgreSQL with codes and refresh tokens in Redis", divided],
    ["Redis with a list of clients", withListedClients],
  ])("%s", (_, mix) => {
    beforeAll(async () => {
      storage = await mix(stores);
    });
    beforeEach(() => {
      host = testHost({ storage, revocationLagSeconds: 0 });
      endUsers += 1;
      const authTime = Math.floor(Date.now() / 1000) - 60;
      host.session = { ...signedIn, subject: `end user ${endUsers}`, authTime };
    });

    it.each(formats)(
      "takes an end user from the consent page to a second %s access token",
      async (_format, pair) => {
        const browser = host.browser();
        const page = await authorize(browser, { client: "web", pair });
        expect(page.text).toContain("Allow Web Shop");
        const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
        const first = familyFrom(code, await redeem(host, { client: "web", pair, code }));
        expect(await callStatus(host, { pair, token: first.accessToken })).toBe(200);
        const refreshed = await refresh(host, { client: "web", pair, refreshToken: first.refreshToken });
        const second = familyFrom(code, refreshed);
        expect(await callStatus(host, { pair, token: second.accessToken })).toBe(200);
        expect(await opens(host, { pair, family: second })).toEqual({ call: 200, refresh: 200 });
      },
    );

    it("remembers the consent", async () => {
      await obtainCode(host, { client: "web" });
      const again = await authorize(host.browser(), { client: "web" });
      expect(redirectParameters(again)).toHaveProperty("code");
    });

    it("knows the origin of a browser client and no other", async () => {
      expect(await storage.clients.isBrowserOrigin("https://spa.example")).toBe(true);
      expect(await storage.clients.isBrowserOrigin("https://web.example")).toBe(false);
    });

    it("knows no client that is not registered", async () => {
      const response = await authorize(host.browser(), { client: "web", fields: { client_id: "WEB" } });
      expect(response.status).toBe(400);
    });

    describe.each(formats)("with %s access tokens", (_format, pair) => familiesDie(pair));
  });
}
