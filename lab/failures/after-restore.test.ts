/** What docs/storage.md says to do after a restore, done to a store that holds things of before (RFC 7009 §2.1). */
import { Redis } from "ioredis";
import type { Storage } from "../../lib";
import { mysqlStorage } from "../../lib/mysql";
import { type ClientRegistry, postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { sqliteStorage } from "../../lib/sqlite";
import {
  newAccessToken,
  newAuthorization,
  newConsent,
  newId,
  newRegistration,
} from "../../lib/testing/contract/records";
import { codeBelow, runWaitingBlock } from "../../__tests__/sources/doc-block";
import { mariadb, startMariadb } from "../../__tests__/servers/mariadb-server";
import { postgres, startPostgres } from "../../__tests__/servers/postgres-server";
import { publicRecord } from "../../__tests__/records/records";
import { redis, redisClient, startRedis } from "../../__tests__/servers/redis-server";
import { drivers, newFile, type SqliteDriver } from "../../__tests__/servers/sqlite-files";
import { describeWith } from "../../__tests__/servers/server-process";

const now = Math.floor(Date.now() / 1000);
const page = "storage.md";
const heading = "After a restore";
const [statements = ""] = codeBelow(page, heading, "sql");
const spa = publicRecord("browser", { redirectUris: ["https://spa.example/callback"] });

interface Restored {
  readonly storage: Storage & { readonly clients: ClientRegistry };
  /** Does what the page says. */
  readonly followPage: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

interface Engine {
  readonly name: string;
  readonly found: boolean;
  readonly open: () => Promise<Restored>;
}

const engines: readonly Engine[] = [
  {
    ...postgres,
    async open() {
      const server = await startPostgres();
      const pool = server.pool();
      const storage = postgresStorage({ pool });
      await storage.migrate();
      return {
        storage,
        followPage: () => pool.query(statements),
        close: () => server.close(),
      };
    },
  },
  {
    ...mariadb,
    async open() {
      const server = await startMariadb();
      const storage = mysqlStorage({ pool: server.pool() });
      await storage.migrate();
      const script = server.pool({ multipleStatements: true });
      return { storage, followPage: () => script.query(statements), close: () => server.close() };
    },
  },
  {
    name: "SQLite",
    found: drivers.length > 0,
    async open() {
      const handle = (drivers[0] as SqliteDriver).open(newFile());
      const storage = sqliteStorage({ handle });
      await storage.migrate();
      return {
        storage,
        followPage: async () => handle.exec(statements),
        close: async () => handle.close(),
      };
    },
  },
  {
    ...redis,
    async open() {
      const server = await startRedis();
      const client = await redisClient(server.url);
      const storage = redisStorage({ client });
      const send = (...args: string[]) => client.sendCommand(args);
      return {
        storage,
        followPage: () => runWaitingBlock({ page, heading }, { send }),
        close: () => (client.destroy(), server.close()),
      };
    },
  },
  {
    name: "redis-server by ioredis",
    found: redis.found,
    async open() {
      const server = await startRedis();
      const client = new Redis(server.url, { maxRetriesPerRequest: 0 });
      const storage = redisStorage({ client });
      const send = (name: string, ...args: string[]) => client.call(name, ...args);
      return {
        storage,
        followPage: () => runWaitingBlock({ page, heading }, { send }),
        close: () => (client.disconnect(), server.close()),
      };
    },
  },
];

function ends({ open }: Engine): void {
  const authorization = newAuthorization(now);
  const { authorizationId, subject } = authorization;
  const consent = newConsent(now, { subject });
  const accessToken = newAccessToken(now);
  const registration = newRegistration(now);
  const revoked = { tokenId: newId(), expiresAt: now + 600 };
  let storage: Restored["storage"];
  let close: Restored["close"];

  beforeAll(async () => {
    const restored = await open();
    ({ storage, close } = restored);
    await storage.clients.save(spa);
    await storage.authorizations.create(authorization, now);
    await storage.consents.save(consent, now);
    await storage.accessTokens.create(accessToken, now);
    await storage.accessTokens.revoke(revoked, now);
    await storage.clientRegistrations.create(registration, { limit: 10, now });
    await restored.followPage();
  });
  afterAll(() => close());

  it("keeps what says that a token of client credentials was revoked", async () => {
    expect(await storage.accessTokens.isRevoked(revoked.tokenId, now)).toBe(true);
  });

  it("ends every authorization", async () => {
    expect((await storage.authorizations.find(authorizationId, now))?.revoked ?? true).toBe(true);
  });

  it("forgets consents, which could have been withdrawn since", async () => {
    expect(await storage.consents.list(subject, now)).toEqual([]);
  });

  it("forgets opaque access tokens, which could have been revoked since", async () => {
    expect(await storage.accessTokens.find(accessToken.digest, now)).toBeUndefined();
  });

  it("keeps the clients that have registered themselves", async () => {
    const { client } = registration;
    expect(await storage.clientRegistrations.find(client.clientId, now)).toEqual(client);
  });

  it("keeps the clients and their origins", async () => {
    expect(await storage.clients.find(spa.clientId)).toEqual(spa);
    expect(await storage.clients.isBrowserOrigin("https://spa.example")).toBe(true);
  });
}

for (const engine of engines) {
  describeWith(engine, { name: `${engine.name} after a restore`, tests: () => ends(engine) });
}
