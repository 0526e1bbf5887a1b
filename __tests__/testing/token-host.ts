/** A host for minted tokens, over memory or SQLite: its options, and its app with the routes that tokens are sent to. */
import { type AuthServerOptions, type Client, memoryStorage, type Storage } from "../../lib";
import { sqliteStorage } from "../../lib/sqlite";
import { apis, baseUrl } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { signedOut, testHost, type TestHost } from "../hosts/host";
import { goodKey } from "../records/options";
import { drivers, newFile } from "../servers/sqlite-files";

/** Opens an empty storage with these clients. */
export interface StorageKind {
  readonly name: string;
  open(records: readonly Client[]): Promise<Storage>;
}

const memory: StorageKind = {
  name: "memory",
  open: (records) => Promise.resolve(memoryStorage({ clients: records })),
};

const sqlite = drivers.slice(0, 1).map((driver): StorageKind => ({
  name: `SQLite by ${driver.name}`,
  async open(records) {
    const storage = sqliteStorage({ handle: driver.open(newFile()) });
    await storage.migrate();
    for (const client of records) await storage.clients.save(client);
    return storage;
  },
}));

/** Memory, and SQLite by the first driver that this Node.js can load. */
export const storageKinds: readonly StorageKind[] = [memory, ...sqlite];

const method = { authenticate: () => signedOut };

/** The options of a host with a client of each kind. */
export async function tokenHostOptions(
  changes: Partial<AuthServerOptions> = {},
  kind: StorageKind = memory,
): Promise<AuthServerOptions> {
  return {
    baseUrl,
    secrets: ["a-test-secret-of-at-least-32-characters"],
    signingKeys: [goodKey],
    storage: await kind.open(Object.values(clients)),
    authMethods: { password: method, otp: method, sso: method },
    apis,
    ...changes,
  };
}

/** The real app over these options, with routes for people only, for people who allow reading, and for clients only. */
export function tokenHost(options: AuthServerOptions): TestHost {
  const host = testHost(options);
  const { app, auth } = host;
  for (const api of ["orders", "reports"]) {
    app.get(`/${api}/mine`, auth.requireBearer({ api, subject: "required" }), (req, res) => {
      res.json(auth.accessToken(req));
    });
    const reading = { api, subject: "required", scope: `${api}:read` } as const;
    app.get(`/${api}/read`, auth.requireBearer(reading), (req, res) => {
      res.json(auth.accessToken(req));
    });
    app.get(`/${api}/own`, auth.requireBearer({ api, subject: "forbidden" }), (req, res) => {
      res.json(auth.accessToken(req));
    });
  }
  return host;
}
