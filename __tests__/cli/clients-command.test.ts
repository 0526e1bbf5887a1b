/** `authmount clients`: what is refused, with its id, and what is printed of records. RFC 6749 §2. */
import { type AuthServerOptions, type Client, generateClientKey, memoryStorage } from "../../lib";
import type { World } from "../../lib/cli/command";
import { commandHelp, commands } from "../../lib/cli/run";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { goodOptions } from "../records/options";
import { confidentialRecord, publicRecord, secretDigest } from "../records/records";
import { keyed } from "../requests/client-assertions";
import { now, ran, ranWith, wronglyWritten } from "./world";

/** Options whose storage is not known to be in memory. */
function tableOf(records: readonly Client[], changes: object = {}): AuthServerOptions {
  const storage = memoryStorage({ clients: records });
  // without `records`, which is not enumerable
  const clients = { ...storage.clients, ...changes };
  return {
    ...goodOptions,
    storage: {
      ...storage,
      endMarks: { ...storage.endMarks },
      clients,
    },
  };
}

const run = (options: object, args: readonly string[], world?: Partial<World>) =>
  ranWith({ options }, ["clients", ...args], world);

const web = confidentialRecord();
const add = ["add", "a.js", "--name", "Shop", "--api", "orders"];
const all = [...add, "--all-scopes"];

const wrongOverlap = (text: string): string =>
  `--overlap "${text}" is no time of at most a year. Write 30m, 12h, 7d or 0.`;
const lacks = (port: string, method: string): string => `storage.${port} has no ${method}(), which this`;

describe("authmount clients, written wrongly", () => {
  const yes = "This cannot be undone. If you mean it, add --yes.";
  const scopes = 'Write which scopes the client may request: --scopes "a b", or --all-scopes.';
  const only = "Pass only one of: --native, --browser, --key.";
  it.each([
    [[], "The second word is missing, as in: authmount clients list FILE. See: authmount help clients."],
    [
      ["lst", "a.js"],
      'Unknown command "clients lst". Did you mean "list"? Known words after clients: list, show, add, rotate, disable, enable, end, remove.',
    ],
    [["list"], "FILE is missing: authmount clients list FILE."],
    [["show", "a.js"], "--id is missing. See the help of this command: --help."],
    [["show", "a.js", "--id", "ö"], "--id takes 1 to 255 visible ASCII characters."],
    [["end", "a.js", "--id", "web"], yes],
    [["remove", "a.js", "--id", "web"], yes],
    [["add", "a.js"], "--name is missing. See the help of this command: --help."],
    [["add", "a.js", "--name", "A"], "--api is missing. See the help of this command: --help."],
    [add, scopes],
    [[...all, "--scopes", "read"], scopes],
    [[...add, "--scopes", " "], scopes],
    [[...all, "--native", "--browser"], only],
    [[...all, "--native", "--key", "k.json"], only],
    [[...all, "--browser"], "--browser needs at least one --redirect URI."],
    [[...all, "--id", "a b"], "--id takes 1 to 255 visible ASCII characters."],
    [["rotate", "a.js", "--id", "web", "--overlap", "7"], wrongOverlap("7")],
    [["rotate", "a.js", "--id", "web", "--overlap", "7w"], wrongOverlap("7w")],
    [["rotate", "a.js", "--id", "web", "--overlap", "367d"], wrongOverlap("367d")],
  ])("%j", async (args, message) => {
    expect(await run(tableOf([web]), args)).toEqual(wronglyWritten(message));
  });

  it("has no option for a secret", async () => {
    const { exitCode, stderr } = await run(tableOf([]), [...all, "--secret", "hunter2"]);
    expect([exitCode, stderr.slice(0, 40)]).toEqual([2, 'authmount: Unknown option "--secret". Kn']);
    expect(stderr).not.toContain("hunter2");
  });
});

describe("authmount clients, refused", () => {
  const readOnly = tableOf([web], { replace: undefined });
  const noList = tableOf([web], { list: undefined });
  const memory = { ...goodOptions, storage: memoryStorage({ clients: [web] }) };
  const marksInMemory = { ...tableOf([web]).storage, endMarks: memory.storage.endMarks };
  const { endMarks: _, ...noMarks } = tableOf([web]).storage;
  const clientsInMemory = { ...tableOf([web]).storage, clients: memory.storage.clients };
  const table = tableOf([web, publicRecord("browser")]);
  const { orders } = goodOptions.apis;
  const twoApis = { ...table, apis: { orders: { ...orders, scopes: { a: "A", b: "B" } }, files: orders } };
  const yes = ["--id", "web", "--yes"];
  const inMemory = ["client-table-in-memory", "The storage is in the memory of the process"] as const;
  const refused: readonly (readonly [string, object, readonly string[], string, string])[] = [
    ["no client", table, ["show", "a.js", "--id", "Web"], "client-not-in-table", 'There is no client "Web".'],
    ["no replace", readOnly, all, "client-table-lacks-method", lacks("clients", "replace")],
    ["no list", noList, ["list", "a.js"], "client-table-lacks-method", lacks("clients", "list")],
    [
      "no end marks",
      { storage: noMarks },
      ["end", "a.js", ...yes],
      "client-table-lacks-method",
      lacks("endMarks", "save"),
    ],
    ["no storage", { baseUrl: "x" }, ["list", "a.js"], "client-table-lacks-method", lacks("clients", "list")],
    ["clients in memory", memory, all, ...inMemory],
    ["clients in memory, to delete", { storage: clientsInMemory }, ["remove", "a.js", ...yes], ...inMemory],
    ["end marks in memory", { storage: marksInMemory }, ["end", "a.js", ...yes], ...inMemory],
    ["a taken id", table, [...all, "--id", "web"], "client-id-taken", 'there is a client "web" already.'],
    [
      "http",
      table,
      [...all, "--id", "x", "--redirect", "http://a.example/"],
      "wrong-client-record",
      'client "x": redirectUris.0 is http, which only loopback hosts may use',
    ],
    [
      "an unlisted scheme",
      table,
      [...all, "--native", "--redirect", "odd:/a"],
      "unlisted-redirect-scheme",
      "list the scheme under redirectSchemes",
    ],
    [
      "an API",
      table,
      ["add", "a.js", "--name", "A", "--all-scopes", "--api", "oders"],
      "client-api-unknown",
      '--api: the options have no API oders. Did you mean "orders"? Known: orders.',
    ],
    [
      "an API, of two",
      twoApis,
      ["add", "a.js", "--name", "A", "--all-scopes", "--api", "x"],
      "client-api-unknown",
      "no API x. Known: orders, files.",
    ],
    [
      "a scope, of two",
      twoApis,
      [...add, "--scopes", "delete"],
      "client-scope-unknown",
      "no scope delete. Known: a, b.",
    ],
    [
      "an API that is none",
      { ...table, apis: { orders: undefined } },
      [...add, "--scopes", "x"],
      "client-scope-unknown",
      "no scope x.",
    ],
    [
      "an inherited API",
      table,
      ["add", "a.js", "--name", "A", "--all-scopes", "--api", "constructor"],
      "client-api-unknown",
      "no API constructor.",
    ],
    [
      "a scope",
      table,
      [...add, "--scopes", "orders:reed"],
      "client-scope-unknown",
      '--scopes: the API has no scope orders:reed. Did you mean "orders:read"?',
    ],
    [
      "no secret",
      table,
      ["rotate", "a.js", "--id", "spa"],
      "client-without-secrets",
      'client "spa" has no secret.',
    ],
    ["no options", {}, ["list", "a.js"], "client-table-lacks-method", "storage.clients has no list()"],
  ];
  it.each(refused)("%s", async (_name, options, args, code, message) => {
    const { exitCode, stdout, stderr } = await run(options, [...args, "--json"]);
    expect([exitCode, stdout]).toEqual([1, ""]);
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(error).toEqual({ code, message: expect.stringContaining(message) as string });
    expect(await run(options, args)).toMatchObject({ exitCode: 1, stdout: "" });
  });

  it.each([
    ["cannot be read", new Error("ENOENT: no such file"), "could not be read: ENOENT"],
    ["is no JSON", '{"kty":"EC","d":"CANARY"', "could not be read: SyntaxError:"],
    [
      "holds a private key",
      JSON.stringify({ keys: [generateClientKey().privateKey] }),
      "jwks.keys.0 is a private key",
    ],
    ["holds something else", '{"jwks":{}}', "jwks.keys is missing: write a list"],
  ])("a file of keys that %s, without a word of it", async (_name, text, message) => {
    const readFile = (path: string): string => {
      expect(path).toBe("k.json");
      if (typeof text === "string") return text;
      throw text;
    };
    const args = [...all, "--id", "k", "--key", "k.json"];
    const { exitCode, stdout, stderr } = await run(table, args, { readFile });
    expect([exitCode, stdout]).toEqual([1, ""]);
    const isRead = message.startsWith("jwks");
    const { stderr: json } = await run(table, [...args, "--json"], { readFile });
    expect(JSON.parse(json)).toHaveProperty(
      "error.code",
      isRead ? "wrong-client-record" : "client-keys-not-read",
    );
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/CANARY|"d"/);
  });
});

describe("what is printed of clients", () => {
  const escape = "\u001b[2J\u009b2JShop\tLtd\n";
  const named = confidentialRecord({ name: escape });

  it("has nothing that a terminal would obey", async () => {
    const options = tableOf([named]);
    for (const args of [
      ["list", "a.js"],
      ["show", "a.js", "--id", "web"],
    ])
      for (const more of [[], ["--json"]]) {
        const { exitCode, stdout } = await run(options, [...args, ...more]);
        expect(exitCode).toBe(0);
        // eslint-disable-next-line no-control-regex -- they are what it looks for
        expect(stdout.replaceAll(/[\t\n]/g, "")).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
      }
    const { stdout } = await run(options, ["list", "a.js", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ clients: [{ name: escape }] });
  });

  it("has no digest, and nothing that the host keeps beside it", async () => {
    const options = tableOf([confidentialRecord({ plainSecret: "CANARY" } as object)]);
    for (const args of [
      ["list", "a.js"],
      ["show", "a.js", "--id", "web"],
      ["show", "a.js", "--id", "web", "--json"],
    ]) {
      const { stdout, stderr } = await run(options, args);
      expect(stdout).toContain("web");
      expect(stdout + stderr).not.toContain(secretDigest);
      expect(stdout + stderr).not.toContain("CANARY");
    }
  });

  it.each([
    [{}, { secrets: 1 }],
    [{ secretDigests: [secretDigest, secretDigest] }, { secrets: 2 }],
    [
      { secretDigests: [secretDigest, secretDigest], oldSecretUntil: now + 1 },
      { secrets: 2, oldSecretUntil: "2027-01-15T08:00:01Z" },
    ],
    [{ secretDigests: [secretDigest, secretDigest], oldSecretUntil: now }, { secrets: 1 }],
  ])("shows the record, and which secrets work: %j", async (changes, expected) => {
    const { secretDigests: _, ...record } = confidentialRecord();
    const { stdout } = await run(tableOf([confidentialRecord(changes)]), ["show", "a.js", "--id", "web"]);
    expect(JSON.parse(stdout)).toEqual({ ...record, ...expected });
  });

  it("shows a public client as it is", async () => {
    const phone = publicRecord("native", { trusted: true, disabled: true });
    const { stdout } = await run(tableOf([phone]), ["show", "a.js", "--id", "phone"]);
    expect(JSON.parse(stdout)).toEqual(phone);
  });

  it("lists a record that the server refuses, and shows why", async () => {
    const wrong = { clientId: "odd", confidential: false, name: 5 };
    const options = tableOf([], { list: async () => [wrong], find: async () => wrong });
    expect((await run(options, ["list", "a.js"])).stdout).toBe("odd\t5\twrong\t-\tenabled\n");
    const shown = await run(options, ["show", "a.js", "--id", "odd"]);
    expect(shown).toMatchObject({ exitCode: 1, stdout: "" });
    expect(shown.stderr).toContain('client "odd": ');
  });

  it("lists each on a line of its own, from a table in memory as well", async () => {
    const records = [
      confidentialRecord({ subscriptions: { orders: {}, files: {} } }),
      publicRecord("native", { disabled: true }),
    ];
    const options = { ...goodOptions, storage: memoryStorage({ clients: records }) };
    expect(await run(options, ["list", "a.js"])).toEqual({
      exitCode: 0,
      stdout: "phone\tPublic App\tnative\torders\tdisabled\nweb\tWeb Shop\tsecret\torders,files\tenabled\n",
      stderr: "",
    });
  });

  it("is a page of a thousand, and tells where the next begins", async () => {
    const records = Array.from({ length: 1_001 }, (_, index) =>
      confidentialRecord({ clientId: `c${String(index).padStart(4, "0")}` }),
    );
    const first = await run(tableOf(records), ["list", "a.js"]);
    expect(first.stdout.split("\n")).toHaveLength(1_001);
    expect(first.stderr).toBe("There are more. Add: --after c0999\n");
    const json = JSON.parse((await run(tableOf(records), ["list", "a.js", "--json"])).stdout) as object;
    expect(json).toHaveProperty("next", "c0999");
    const last = await run(tableOf(records), ["list", "a.js", "--after", "c0999"]);
    expect(last).toEqual({ exitCode: 0, stdout: "c1000\tWeb Shop\tsecret\torders\tenabled\n", stderr: "" });
  });
});

describe("what authmount clients stores", () => {
  it.each([
    ["30m", now + 1_800],
    ["7d", now + 604_800],
    [undefined, now + 604_800],
    ["0", undefined],
    ["0d", undefined],
  ])("an old secret works for the overlap: %s", async (overlap, until) => {
    const options = tableOf([web]);
    const args = overlap === undefined ? [] : ["--overlap", overlap];
    const { stdout } = await run(options, ["rotate", "a.js", "--id", "web", ...args, "--json"]);
    const { secret, ...others } = JSON.parse(stdout) as { secret: string };
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(others).toEqual({ clientId: "web", ...(until !== undefined && { oldSecretUntil: until }) });
    const stored = await options.storage.clients.find("web");
    expect(stored).toMatchObject({ secretDigests: { length: until === undefined ? 1 : 2 } });
    expect(Reflect.get(stored ?? {}, "oldSecretUntil")).toBe(until);
  });

  it("several redirect URIs, and a random id", async () => {
    const options = tableOf([]);
    const uris = ["https://a.example/", "https://b.example/"];
    const args = uris.flatMap((uri) => ["--redirect", uri]);
    const { stdout } = await run(options, [...add, "--scopes", "orders:read", ...args, "--json"]);
    const { clientId } = JSON.parse(stdout) as { clientId: string };
    expect(await options.storage.clients.find(clientId)).toMatchObject({
      redirectUris: uris,
      subscriptions: { orders: { scopes: ["orders:read"] } },
    });
  });

  it("an end mark for what has ended or is removed, and the record is deleted", async () => {
    const options = tableOf([web]);
    const saved: string[] = [];
    const { endMarks } = options.storage;
    const storage = {
      ...options.storage,
      endMarks: { ...endMarks, save: async ({ key }: { key: string }) => void saved.push(key) },
    };
    expect(await run({ ...options, storage }, ["end", "a.js", "--id", "web", "--yes"])).toMatchObject({
      exitCode: 0,
    });
    expect([saved.length, await options.storage.clients.find("web")]).toEqual([1, web]);
    await run({ ...options, storage }, ["remove", "a.js", "--id", "web", "--yes"]);
    expect([new Set(saved).size, saved.length, await options.storage.clients.find("web")]).toEqual([
      1,
      2,
      undefined,
    ]);
  });

  it("nothing of a client whose record is wrong, but it can be removed", async () => {
    const wrong = { ...web, name: "" };
    const options = tableOf([web], { find: async () => wrong });
    expect(await run(options, ["disable", "a.js", "--id", "web"])).toMatchObject({ exitCode: 1 });
    expect(await run(options, ["remove", "a.js", "--id", "web", "--yes"])).toMatchObject({ exitCode: 0 });
  });
});

describe("the help of authmount clients", () => {
  const group = commands.find(({ name }) => name === "clients");
  const parts = group?.parts ?? [];

  it("lists its commands, and each has an example, what comes next, and fits a terminal of 140 columns", async () => {
    const { exitCode, stdout } = await ran(["clients", "--help"]);
    expect(exitCode).toBe(0);
    expect(parts).toHaveLength(8);
    for (const part of parts) {
      expect(stdout).toContain(`\n  ${part.name} `);
      const help = commandHelp(part);
      expect(help).toMatch(new RegExp(`\n {2}npx authmount ${part.name} \\./auth-options\\.mjs`));
      expect(help).toContain("\nNext: ");
      expect(help.split("\n").filter((line) => line.length > 140)).toEqual([]);
      for (const args of [
        ["help", ...part.name.split(" ")],
        [...part.name.split(" "), "-h"],
      ])
        expect(await ran(args)).toEqual({ exitCode: 0, stdout: help, stderr: "" });
    }
  });

  it("of add teaches how to keep the secret", async () => {
    const { stdout } = await ran(["clients", "add", "--help"]);
    expect(stdout).toContain("  (umask 077; npx authmount clients add");
    expect(stdout).toContain("--redirect URI ");
  });
});

const answered = async (options: AuthServerOptions, args: readonly string[]): Promise<unknown> => {
  const { exitCode, stdout, stderr } = await run(options, [...args, "--json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

describe("authmount clients, done", () => {
  const one = ["a.js", "--id", "web"];

  it("disables, enables, ends and removes, and says so as JSON", async () => {
    const options = tableOf([web]);
    const { clients, endMarks } = options.storage;
    expect(await answered(options, ["disable", ...one])).toEqual({ clientId: "web", disabled: true });
    expect(await clients.find("web")).toEqual({ ...web, disabled: true });
    expect(await answered(options, ["list", "a.js"])).toEqual({
      clients: [{ clientId: "web", name: web.name, kind: "secret", apis: ["orders"], disabled: true }],
    });
    expect(await answered(options, ["enable", ...one])).toEqual({ clientId: "web", disabled: false });
    expect(await clients.find("web")).toEqual(web);
    expect(await answered(options, ["end", ...one, "--yes"])).toEqual({ clientId: "web", ended: true });
    const [mark] = await endMarks.find([clientEndKey("web")], now);
    expect(mark).toBeDefined();
    expect(await answered(options, ["remove", ...one, "--yes"])).toEqual({ clientId: "web", removed: true });
    expect(await clients.find("web")).toBeUndefined();
    expect(await endMarks.find([clientEndKey("web")], now)).not.toEqual([mark]);
  });

  it("says so on stderr, and has nothing but a new secret on stdout", async () => {
    const options = tableOf([web]);
    const about =
      "The line on stdout is the secret. Give it to the client once, and do not keep a copy: only its digest is stored.\n";
    const native = ["--id", "phone", "--native", "--redirect", "com.a.b:/c"];
    const steps: readonly (readonly [args: readonly string[], line: string, hasSecret?: true])[] = [
      [[...all, "--id", "shop"], 'Added client "shop".', true],
      [[...all, ...native], 'Added client "phone".'],
      [
        ["rotate", ...one],
        'Client "web" has a new secret. The old one works until 2027-01-22T08:00:00Z.',
        true,
      ],
      [["rotate", ...one, "--overlap", "0"], 'Client "web" has a new secret. The old one has ended.', true],
      [["disable", ...one], 'Client "web" is disabled.'],
      [["enable", ...one], 'Client "web" is enabled.'],
      [["end", ...one, "--yes"], 'Everything that client "web" had has ended.'],
      [["remove", ...one, "--yes"], 'Client "web" is deleted, and all that it had has ended.'],
    ];
    for (const [args, line, hasSecret] of steps) {
      const { exitCode, stdout, stderr } = await run(options, args);
      expect([exitCode, stderr]).toEqual([0, `${line}\n${hasSecret ? about : ""}`]);
      expect(stdout).toMatch(hasSecret ? /^[\w-]{43}\n$/ : /^$/);
    }
  });

  it.each(["disable", "enable"])(
    "does not say that it could %s a client that was deleted meanwhile",
    async (word) => {
      let looks = 0;
      const options = tableOf([], { find: async () => (looks++ === 0 ? web : undefined) });
      const { exitCode, stderr } = await run(options, [word, ...one, "--json"]);
      expect([exitCode, JSON.parse(stderr)]).toMatchObject([1, { error: { code: "client-not-in-table" } }]);
    },
  );

  it("adds: with a secret, or with none for a client that has keys", async () => {
    const options = tableOf([]);
    const secret = expect.stringMatching(/^[\w-]{43}$/) as string;
    expect(await answered(options, [...all, "--id", "shop"])).toEqual({ clientId: "shop", secret });
    const native = [...add, "--scopes", " orders:read  orders:read ", "--native", "--redirect", "com.a.b:/c"];
    expect(await answered(options, [...native, "--id", "phone"])).toEqual({ clientId: "phone" });
    expect(await options.storage.clients.find("phone")).toEqual({
      clientId: "phone",
      name: "Shop",
      confidential: false,
      platform: "native",
      redirectUris: ["com.a.b:/c"],
      subscriptions: { orders: { scopes: ["orders:read", "orders:read"] } },
    });
    expect(await options.storage.clients.find("shop")).toMatchObject({
      redirectUris: [],
      subscriptions: { orders: {} },
    });
  });

  it("rotates for a year at most", async () => {
    const options = tableOf([web]);
    expect(await answered(options, ["rotate", ...one, "--overlap", "366d"])).toMatchObject({
      clientId: "web",
      oldSecretUntil: now + 366 * 86_400,
    });
  });

  it.each([
    [publicRecord("native"), "native"],
    [publicRecord("browser"), "browser"],
    [confidentialRecord(), "secret"],
    [keyed, "key"],
    [{ ...publicRecord("native"), platform: "tv" } as unknown as Client, "wrong"],
  ])("lists the kind: %#", async (record, kind) => {
    const options = tableOf([], { list: async () => [record] });
    expect(await answered(options, ["list", "a.js"])).toMatchObject({ clients: [{ kind, disabled: false }] });
  });

  it.each([
    [1_000, undefined],
    [1_001, "c999"],
  ])("lists %d clients in a page of 1,000", async (count, next) => {
    const records = Array.from({ length: count }, (_, index) =>
      confidentialRecord({ clientId: `c${index}` }),
    );
    const asked: object[] = [];
    const list = async (page: object) => {
      asked.push(page);
      return records;
    };
    const told = await answered(tableOf([], { list }), ["list", "a.js", "--after", "b"]);
    expect(told).toMatchObject({ clients: { length: 1_000 } });
    expect((told as { next?: string }).next).toBe(next);
    await answered(tableOf([], { list }), ["list", "a.js"]);
    expect(asked).toStrictEqual([{ limit: 1_001, after: "b" }, { limit: 1_001 }]);
  });
});
