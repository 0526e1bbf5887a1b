/** `authmount clients`, as processes of their own that change the table of a host, beside a server that runs on it. RFC 6749 §2, §2.3.1. */
import path from "node:path";
import { parseSecretDigest, secretMatches } from "../../lib/clients/client-secret";
import { type Client, type ConfidentialClient, generateClientKey } from "../../lib";
import { sqliteStorage } from "../../lib/sqlite";
import { testHost } from "../hosts/host";
import { postToken } from "../requests/client-requests";
import { type Ended, type HostFolder, hostFolder, jsonOf, optionsModule } from "../servers/command-line";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import { describeWith } from "../servers/server-process";

let host: HostFolder;

const onSqlite = (file: string): string =>
  `import { sqliteStorage } from "authmount/sqlite";\n${optionsModule(`storage: sqliteStorage({ file: "${file}" })`)}`;

beforeAll(async () => {
  host = await hostFolder(["pg", "libsql", "better-sqlite3"]);
  await host.write("sqlite.mjs", onSqlite("clients.sqlite"));
  expect(await host.run(["migrate", "sqlite.mjs"])).toMatchObject({ code: 0 });
});
afterAll(() => host.remove());

const secretOf = ({ stdout }: Ended): string => /^([\w-]{43})\n$/.exec(stdout)?.[1] ?? "";

const shop = ["--name", "Shop", "--redirect", "https://shop.example/callback", "--api", "orders"];

/** The whole life of a client, each step by a command. */
async function wholeLife(module: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const printed: string[] = [];
  const secrets: string[] = [];
  async function run(word: string, ...args: readonly string[]): Promise<Ended> {
    const ended = await host.run(["clients", word, module, ...args], { env });
    printed.push(ended.stdout + ended.stderr);
    return ended;
  }
  /** The same, with nothing but a secret on stdout. */
  async function runForSecret(...args: readonly [string, ...string[]]): Promise<string> {
    const ended = await run(...args);
    const secret = secretOf(ended);
    expect(ended).toEqual({ code: 0, stdout: `${secret}\n`, stderr: expect.any(String) as string });
    printed.pop();
    expect(ended.stderr).not.toContain(secret);
    secrets.push(secret);
    return secret;
  }
  await runForSecret("add", "--id", "shop", ...shop, "--scopes", "read");
  expect(await run("list")).toEqual({ code: 0, stdout: "shop\tShop\tsecret\torders\tenabled\n", stderr: "" });
  const shown = async (): Promise<unknown> => JSON.parse((await run("show", "--id", "shop")).stdout);
  expect(await shown()).toEqual({
    clientId: "shop",
    name: "Shop",
    confidential: true,
    redirectUris: ["https://shop.example/callback"],
    subscriptions: { orders: { scopes: ["read"] } },
    secrets: 1,
  });
  await runForSecret("rotate", "--id", "shop", "--overlap", "2h");
  expect(await shown()).toMatchObject({
    secrets: 2,
    oldSecretUntil: expect.stringMatching(/^\d{4}-\S+Z$/) as string,
  });
  expect(await run("disable", "--id", "shop")).toEqual({
    code: 0,
    stdout: "",
    stderr: 'Client "shop" is disabled.\n',
  });
  expect((await run("list")).stdout).toBe("shop\tShop\tsecret\torders\tdisabled\n");
  // what was changed meanwhile stays
  await runForSecret("rotate", "--id", "shop", "--overlap", "0");
  expect(await shown()).toMatchObject({ disabled: true, secrets: 1 });
  expect(await run("enable", "--id", "shop")).toMatchObject({ code: 0 });
  expect(jsonOf(await run("list", "--json"))).toEqual({
    clients: [{ clientId: "shop", name: "Shop", kind: "secret", apis: ["orders"], disabled: false }],
  });
  expect(await run("end", "--id", "shop", "--yes")).toMatchObject({ code: 0, stdout: "" });
  expect(await run("show", "--id", "shop")).toMatchObject({ code: 0 });
  expect(await run("remove", "--id", "shop", "--yes")).toMatchObject({ code: 0, stdout: "" });
  const gone = await run("show", "--id", "shop", "--json");
  expect([gone.code, gone.stdout]).toEqual([1, ""]);
  expect(JSON.parse(gone.stderr)).toHaveProperty("error.code", "client-not-in-table");
  expect(new Set(secrets).size).toBe(3);
  for (const text of printed) {
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toContain("sha256:");
  }
}

describe("authmount clients, on SQLite", () => {
  it("lists, shows, adds, rotates, disables, enables, ends and removes", () => wholeLife("sqlite.mjs"));

  it("adds one client of two with one id at once", async () => {
    const args = ["clients", "add", "sqlite.mjs", "--id", "twice", ...shop, "--all-scopes"];
    const both = await Promise.all([host.run(args), host.run([...args, "--json"])]);
    expect(both.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 1]);
    const refused = both.find(({ code }) => code === 1);
    expect(refused?.stdout).toBe("");
    expect(refused?.stderr).toContain("there is a client");
  });

  it("makes clients of each kind, as the server reads them", async () => {
    const { jwks } = generateClientKey();
    await host.write("jwks.json", JSON.stringify(jwks));
    const add = (id: string, ...args: readonly string[]): Promise<Ended> =>
      host.run(["clients", "add", "sqlite.mjs", "--id", id, ...shop, "--all-scopes", ...args]);
    const two = ["--redirect", "http://127.0.0.1/callback"];
    const web = await add("web");
    expect(await add("phone", "--native", ...two)).toEqual({
      code: 0,
      stdout: "",
      stderr: 'Added client "phone".\n',
    });
    expect(await add("spa", "--browser")).toMatchObject({ code: 0, stdout: "" });
    expect(await add("bank", "--key", "jwks.json")).toMatchObject({ code: 0, stdout: "" });
    const { clients, close } = sqliteStorage({ file: path.join(host.folder, "clients.sqlite") });
    const record = async (id: string): Promise<Client | undefined> => clients.find(id);
    const { secretDigests = [] } = (await record("web")) as Partial<ConfidentialClient>;
    const digest = parseSecretDigest(secretDigests[0] ?? "");
    expect(digest && (await secretMatches(secretOf(web), digest))).toBe(true);
    const common = {
      name: "Shop",
      redirectUris: ["https://shop.example/callback"],
      subscriptions: { orders: {} },
    };
    expect(await record("phone")).toEqual({
      ...common,
      clientId: "phone",
      redirectUris: [...common.redirectUris, "http://127.0.0.1/callback"],
      confidential: false,
      platform: "native",
    });
    expect(await record("spa")).toEqual({
      ...common,
      clientId: "spa",
      confidential: false,
      platform: "browser",
    });
    expect(await record("bank")).toEqual({ ...common, clientId: "bank", confidential: true, jwks });
    await close();
  });
});

describe("a server that runs on the same file", () => {
  it("takes a client that is added, both secrets once it is rotated, and nothing once it is disabled", async () => {
    await host.write("running.mjs", onSqlite("running.sqlite"));
    await host.run(["migrate", "running.mjs"]);
    const storage = sqliteStorage({ file: path.join(host.folder, "running.sqlite") });
    const running = testHost({ storage, revocationLagSeconds: 1 });
    const withSecret = async (client_secret: string): Promise<number> => {
      const fields = { grant_type: "client_credentials", client_id: "job", client_secret };
      return (await postToken(running, { fields })).status;
    };
    const made = ["--id", "job", "--name", "Job", "--api", "orders", "--all-scopes"];
    const first = secretOf(await host.run(["clients", "add", "running.mjs", ...made]));
    expect(await withSecret(first)).toBe(200);
    const second = secretOf(await host.run(["clients", "rotate", "running.mjs", "--id", "job"]));
    expect([await withSecret(second), await withSecret(first)]).toEqual([200, 200]);
    expect(running.events.map(({ kind }) => kind)).toContain("old-secret-used");
    expect(await host.run(["clients", "disable", "running.mjs", "--id", "job"])).toMatchObject({ code: 0 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([await withSecret(second), await withSecret(first)]).toEqual([401, 401]);
    await storage.close();
  });
});

describeWith(postgres, {
  name: "authmount clients, on PostgreSQL",
  tests() {
    let server: PostgresServer;
    const module = `import pg from "pg";
import { postgresStorage } from "authmount/postgres";
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
${optionsModule("storage: postgresStorage({ pool })")}`;

    beforeAll(async () => {
      server = await startPostgres();
      await host.write("postgres.mjs", module);
    });
    afterAll(() => server.close());

    it("lists, shows, adds, rotates, disables, enables, ends and removes", async () => {
      const env = { DATABASE_URL: server.url };
      expect(await host.run(["migrate", "postgres.mjs"], { env })).toMatchObject({ code: 0 });
      await wholeLife("postgres.mjs", env);
    });
  },
});
