import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const repository = path.resolve(__dirname, "../..");
const installed = path.join(repository, "node_modules");
const dependencies = ["ajv", "cookie-parser", "jsonwebtoken", "lru-cache"];

jest.setTimeout(120_000);

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
  res.json({ clientId: req.auth?.clientId });
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
import { storageContract } from "authmount/testing";

export const stores: Storage[] = [
  postgresStorage({ pool: { query: async () => ({ rows: [] }) } }),
  redisStorage({ client: { sendCommand: async () => "OK" } }),
];
storageContract({ test: (name, run) => [name, run], open: async ({ clients }) => ({ storage: memoryStorage({ clients }) }) });
`;

const tsconfig = (module: string, moduleResolution: string): string =>
  JSON.stringify({
    compilerOptions: {
      module,
      moduleResolution,
      target: "es2022",
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    },
    files: ["host.ts", "storages.ts"],
  });

let tarball: string;
let folder: string;

async function newHost(express: "express" | "express4"): Promise<string> {
  const host = await mkdtemp(path.join(folder, "host-"));
  const modules = path.join(host, "node_modules");
  await mkdir(path.join(modules, "authmount"), { recursive: true });
  await mkdir(path.join(modules, "@types"));
  await run("tar", ["-xzf", tarball, "-C", path.join(modules, "authmount"), "--strip-components=1"]);
  const types = express === "express" ? "@types/express" : "types-express4";
  const links = [
    ...dependencies.map((name) => [name, name] as const),
    ["express", express],
    ["@types/express", types],
    ["@types/node", "@types/node"],
  ] as const;
  for (const [name, from] of links)
    await symlink(path.join(installed, from), path.join(modules, name), "junction");
  await writeFile(
    path.join(host, "package.json"),
    JSON.stringify({ name: "host", private: true, type: "commonjs" }),
  );
  return host;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "authmount-"));
  const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: repository,
  });
  const packed: unknown = JSON.parse(stdout);
  const [first] = (Array.isArray(packed) ? packed : Object.values(packed as object)) as {
    filename: string;
  }[];
  tarball = path.join(folder, first?.filename ?? "");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(["express", "express4"] as const)("the packed package in a host with %s", (express) => {
  let host: string;

  beforeAll(async () => {
    host = await newHost(express);
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
    ["postgres", "postgresStorage"],
    ["redis", "redisStorage"],
    ["testing", "storageContract"],
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
    await writeFile(path.join(host, "host.ts"), imported + typed);
    await writeFile(path.join(host, "storages.ts"), storages);
    await writeFile(path.join(host, "tsconfig.json"), tsconfig(module, resolution));
    const tsc = path.join(installed, "@typescript/native/bin/tsc");
    const checked = run(process.execPath, [tsc, "-p", host, "--esModuleInterop"], { cwd: host });
    const output = await checked.catch((failed: { stdout: string }) => failed);
    expect(output.stdout).toBe("");
  });
});

it("packs what a host needs and nothing else", async () => {
  const { stdout } = await run("tar", ["-tzf", tarball]);
  const folders = new Set(
    stdout
      .trim()
      .split("\n")
      .map((file) =>
        file
          .split("/")
          .slice(1, file.split("/").length > 2 ? 2 : undefined)
          .join("/"),
      ),
  );
  expect([...folders].toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "dist",
    "lib",
    "package.json",
  ]);
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
