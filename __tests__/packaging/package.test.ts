import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { installed, pack, type Packed, run, typeCheck } from "../fixture/packed-host";
import { freePort } from "../fixture/server-process";

const repository = path.resolve(__dirname, "../..");

/** A host program: mounts the server, gets a token from it and calls an API of its own. */
const program = `
const baseUrl = "http://localhost/login";
const { secret, digest } = generateClientSecret();
const app = express();
const auth = createAuthServer({
  baseUrl,
  storage: memoryStorage({
    clients: [{ clientId: "job", name: "Job", confidential: true, secretDigests: [digest], redirectUris: [], subscriptions: { orders: {} } }],
  }),
  authMethods: { password: { authenticate: ({ req }) => ({ kind: "interaction", url: "/signin?from=" + req.ip }) } },
  apis: { orders: { audience: "http://localhost/orders", authMethods: ["password"], scopes: { read: "Read" }, defaultScopes: ["read"] } },
});
app.use("/login", auth.router);
app.use(auth.wellKnown);
app.get("/orders", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => {
  res.json({ clientId: auth.accessToken(req).clientId });
});
app.get("/signin", (req, res) => auth.resume(req, res));

async function drive(origin) {
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id: "job", client_secret: secret });
  const answer = await fetch(origin + "/login/auth/password/api/orders/token", { method: "POST", body });
  const { access_token } = await answer.json();
  const call = await fetch(origin + "/orders", { headers: { authorization: "Bearer " + access_token } });
  return call.text();
}

const server = app.listen(0, "127.0.0.1", async () => {
  console.log(await drive("http://127.0.0.1:" + server.address().port));
  server.close();
});
`;

const names = "{ createAuthServer, generateClientSecret, memoryStorage }";
const required = `const express = require("express");\nconst ${names} = require("authmount");\n`;
const imported = `import express from "express";\nimport ${names} from "authmount";\n`;
const typed = program
  .replace("origin)", "origin: string)")
  .replace("server.address().port", "(server.address() as { port: number }).port");

const hostSuite = `${required}
test("the server can be made inside a host's own suite", () => {
  expect(() => createAuthServer({})).toThrow(TypeError);
  expect(typeof memoryStorage({ clients: [] }).clients.find).toBe("function");
});
`;

/** No driver of a database is installed here. */
const storages = `
import { memoryStorage, type Storage } from "authmount";
import { postgresStorage } from "authmount/postgres";
import { redisStorage } from "authmount/redis";
import { sqliteStorage } from "authmount/sqlite";
import { storageContract, testSignIn, testTokens } from "authmount/testing";

export const stores: Storage[] = [
  postgresStorage({ pool: { query: async () => ({ rows: [] }) } }),
  redisStorage({ client: { sendCommand: async () => "OK" } }),
  sqliteStorage({ file: "host.sqlite" }),
];
storageContract({ test: (name, run) => [name, run], open: async ({ clients }) => ({ storage: memoryStorage({ clients }) }) });
const { authMethod } = testSignIn();
export const { issue } = testTokens({
  baseUrl: "https://host.example/login",
  storage: memoryStorage({ clients: [] }),
  authMethods: { password: authMethod },
  apis: { orders: { audience: "https://host.example/orders", authMethods: ["password"], scopes: {} } },
});
`;

/** Each driver's own handle, without a cast. */
const sqliteHandles = `
import { DatabaseSync } from "node:sqlite";
import Better from "better-sqlite3";
import Libsql from "libsql";
import { sqliteStorage } from "authmount/sqlite";

export const stores = [
  sqliteStorage({ handle: new DatabaseSync("a.sqlite") }),
  sqliteStorage({ handle: new Better("b.sqlite") }),
  sqliteStorage({ handle: new Libsql("c.sqlite") }),
];
`;

let packed: Packed;

beforeAll(async () => {
  packed = await pack();
});

afterAll(() => packed.remove());

describe.each(["express", "express4"] as const)("the packed package in a host with %s", (express) => {
  let host: string;

  beforeAll(async () => {
    const types = express === "express" ? "@types/express" : "types-express4";
    host = await packed.newHost({ express, types });
  });

  it.each([
    ["require", "host.cjs", required + program],
    ["import", "host.mjs", imported + program],
  ])("serves a program that loads it by %s", async (_, file, text) => {
    await writeFile(path.join(host, file), text);
    const { stdout } = await run(process.execPath, [file], { cwd: host });
    expect(stdout).toBe('{"clientId":"job"}\n');
  });

  it.each([
    ["postgres", "postgresStorage,postgresMigrations"],
    ["redis", "redisStorage"],
    ["sqlite", "sqliteStorage"],
    ["testing", "storageContract,refusedKinds,testClock,testSignIn,testTokens"],
  ])("loads authmount/%s where no driver is installed", async (subpath, name) => {
    const text = `process.stdout.write(Object.keys(require("authmount/${subpath}")).join());`;
    const { stdout } = await run(process.execPath, ["-e", text], { cwd: host });
    expect(stdout).toBe(name);
  });

  it("runs inside the host's own Jest suite", async () => {
    await writeFile(path.join(host, "host.test.js"), hostSuite);
    const jest = path.join(installed, "jest/bin/jest.js");
    const { stderr } = await run(process.execPath, [jest, "--rootDir", host, "--config", "{}"], {
      cwd: host,
    });
    expect(stderr).toContain("1 passed");
  });

  it.each([
    ["nodenext", "nodenext"],
    ["node16", "node16"],
    ["esnext", "bundler"],
  ])("type-checks without skipLibCheck under %s, %s", async (module, resolution) => {
    const files = { "host.ts": imported + typed, "storages.ts": storages };
    expect(await typeCheck(host, { files, options: { module, moduleResolution: resolution } })).toBe("");
  });
});

describe("SQLite in a host that has installed the packed package", () => {
  it("takes the handle of each driver without a cast", async () => {
    const host = await packed.newHost({ express: "express", types: false });
    const modules = path.join(host, "node_modules");
    await rm(path.join(modules, "@types/node"));
    for (const [name, from] of [
      ["@types/node", "types-node24"],
      ["@types/better-sqlite3", "@types/better-sqlite3"],
      ["better-sqlite3", "better-sqlite3"],
      ["libsql", "libsql"],
    ] as const) {
      await symlink(path.join(installed, from), path.join(modules, name), "junction");
    }
    // the types of libsql need names that nobody has declared
    const checked = { files: { "handles.ts": sqliteHandles }, options: { skipLibCheck: true } };
    expect(await typeCheck(host, checked)).toBe("");
  });

  it("says what to install where there is no driver, and makes no file", async () => {
    const host = await packed.newHost({ express: "express", types: false });
    // a driver that this Node.js brings along is hidden
    const text = `const { Module } = require("node:module");
      const load = Module._load;
      Module._load = (name, ...rest) => {
        if (name === "node:sqlite") throw Object.assign(new Error(name), { code: "ERR_UNKNOWN_BUILTIN_MODULE" });
        return load(name, ...rest);
      };
      try { require("authmount/sqlite").sqliteStorage({ file: "host.sqlite" }); }
      catch (error) { process.stdout.write(error.message); }`;
    const { stdout } = await run(process.execPath, ["-e", text], { cwd: host });
    expect(stdout).toMatch(/no SQLite driver was found.*Node\.js 22\.13.*npm install libsql/);
    expect(existsSync(path.join(host, "host.sqlite"))).toBe(false);
  });
});

describe("the tarball", () => {
  let files: readonly string[];

  beforeAll(async () => {
    const { stdout } = await run("tar", ["-tzf", packed.tarball]);
    files = stdout
      .trim()
      .split("\n")
      .map((file) => file.replace("package/", ""));
  });

  it("holds what a host needs and reads, and nothing else", () => {
    expect([...new Set(files.map((file) => file.split("/")[0] ?? ""))].toSorted()).toEqual([
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "dist",
      "docs",
      "examples",
      "package.json",
    ]);
    const unread = files.filter(
      (file) => !/^dist\/.*\.(?:js|d\.ts)$|^docs\/.*\.md$|^examples\/|^[^/]+$/.test(file),
    );
    expect(unread).toEqual([]);
  });

  it("holds what its pages link to, except the screenshots", async () => {
    const dead: string[] = [];
    for (const page of files.filter((file) => file.endsWith(".md"))) {
      const text = await readFile(path.join(repository, page), "utf8");
      const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
      const targets = links.map((link) => path.posix.join(path.posix.dirname(page), link));
      const isThere = (target: string): boolean =>
        files.some((file) => file === target || file.startsWith(`${target}/`));
      dead.push(...targets.filter((target) => !isThere(target)).map((target) => `${page} → ${target}`));
    }
    expect(dead.filter((link) => !/ → docs\/screenshots\/[\w-]+\.png$/.test(link))).toEqual([]);
  });

  it.each(["minimal/server.mjs", "demo/server.js"])(
    "runs its example %s where it is installed",
    async (file) => {
      const host = await packed.newHost({ express: "express", types: false });
      const port = await freePort();
      const child = spawn(process.execPath, [path.join("node_modules/authmount/examples", file)], {
        cwd: host,
        env: { ...process.env, NODE_ENV: "development", PORT: String(port) },
      });
      const printed = await new Promise<string>((resolve) => {
        let out = "";
        child.once("close", () => resolve(`ended: ${out}`));
        const add = (chunk: Buffer): void => {
          out += chunk.toString();
          if (/ http:\/\/localhost:\d+\/\n/.test(out)) resolve("serves");
        };
        child.stdout.on("data", add);
        child.stderr.on("data", add);
      });
      expect(printed).toBe("serves");
      const { status } = await fetch(`http://localhost:${port}/`);
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill();
      await ended;
      expect(status).toBe(200);
    },
  );
});

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

it("locks the packages of every platform, so that npm ci works on Linux, macOS and Windows", async () => {
  const lock = JSON.parse(await readFile(path.join(repository, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const known = Object.keys(lock.packages);
  const missing = Object.entries(lock.packages).flatMap(([from, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter(
        (name) =>
          !known.some((key) => key === `node_modules/${name}` || key === `${from}/node_modules/${name}`),
      )
      .map((name) => `${from} → ${name}`),
  );
  expect(missing).toEqual([]);
});
