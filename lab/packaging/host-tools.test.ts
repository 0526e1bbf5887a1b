/** Tools that hosts use around the installed package: their test runners, and a bundler. */
import { copyFile, mkdtemp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { findNode } from "./newer-node";
import { imported, printed, program, required, suite } from "./host-programs";
import { entryPoints, installed, pack, type Packed, run, writeFiles } from "./packed-host";
import { describeWith } from "../../__tests__/servers/server-process";
import matrix from "./matrix.json";

const { esbuild, supertest, vitest } = matrix;
const [olderJest = "", ownJest = ""] = matrix.jest;
const vitestNode = findNode(vitest.node);

let packed: Packed;
let host: string;

beforeAll(async () => {
  packed = await pack();
  const tools = [`jest@${olderJest}`, `vitest@${vitest.version}`, `esbuild@${esbuild}`];
  host = await packed.install("express@5", `supertest@${supertest}`, ...tools);
  await writeFiles(host, {
    "host.test.cjs": `const request = require("supertest");\n${required}${suite}`,
    "host.test.mjs": `import request from "supertest";\n${imported}${suite}`,
    "vitest.test.mjs": `import request from "supertest";\nimport { expect, test } from "vitest";\n${imported}${suite}`,
  });
});

afterAll(() => packed.remove());

describe("a host's own tests, with supertest", () => {
  const jests = [
    [olderJest, () => path.join(host, "node_modules/jest/bin/jest.js")],
    [ownJest, () => path.join(installed, "jest/bin/jest.js")],
  ] as const;

  it.each(
    jests.flatMap(([version, jest]) => [
      [version, "CommonJS", "cjs", jest] as const,
      [version, "ES modules", "mjs", jest] as const,
    ]),
  )("pass in Jest %s, as %s", async (version, _, extension, jest) => {
    expect((await run(process.execPath, [jest(), "--version"])).stdout.trim()).toBe(version);
    const config = JSON.stringify({ testMatch: [`**/host.test.${extension}`], transform: {} });
    const flags = extension === "mjs" ? ["--experimental-vm-modules"] : [];
    const args = [...flags, jest(), "--rootDir", host, "--config", config];
    const { stderr } = await run(process.execPath, args, { cwd: host });
    expect(stderr).toContain("Tests:       4 passed, 4 total");
  });

  describeWith(
    { name: `Node.js ${vitest.node}`, found: vitestNode !== undefined },
    {
      name: `Vitest ${vitest.version}`,
      tests() {
        it("passes them", async () => {
          const file = path.join(host, "node_modules/vitest/vitest.mjs");
          const args = [file, "run", "--reporter=json", "--outputFile=vitest.json", "vitest.test.mjs"];
          await run(vitestNode ?? "", args, { cwd: host });
          const report = await readFile(path.join(host, "vitest.json"), "utf8");
          expect(JSON.parse(report)).toMatchObject({ success: true, numPassedTests: 4, numTotalTests: 4 });
        });
      },
    },
  );
});

/** Bundles this text into one file in a folder without packages, and gives the file. */
async function bundle(text: string, format: "cjs" | "esm"): Promise<string> {
  const name = format === "esm" ? "bundle.mjs" : "bundle.cjs";
  const made = path.join(host, name);
  await writeFiles(host, { "entry.mjs": text });
  // Express and other packages call require(), which an ES module does not have
  const banner = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;
  const flags = format === "esm" ? [`--banner:js=${banner}`] : [];
  const bin = path.join(host, "node_modules/esbuild/bin/esbuild");
  const args = ["entry.mjs", "--bundle", "--platform=node", `--format=${format}`, `--outfile=${name}`];
  const { stderr } = await run(bin, [...args, ...flags, "--log-level=warning"], { cwd: host });
  expect(stderr).toBe("");
  const file = path.join(await mkdtemp(path.join(path.dirname(packed.tarball), "bundle-")), name);
  await copyFile(made, file);
  return file;
}

/** Uses every entry point; the import of authmount/express for its types alone is the one that its page shows. */
async function allEntries(): Promise<string> {
  const entries = await entryPoints();
  const imports = entries.map((entry, index) => `import * as entry${index} from "${entry}";\n`).join("");
  const all = entries.map((_, index) => `entry${index}`).join(", ");
  return `${imports}import "authmount/express";\nglobalThis.loaded = [${all}].map((entry) => Object.keys(entry));\n`;
}

/**
 * A host that uses what is loaded only when it is needed: assertions of clients with keys, clients that register or describe
 * themselves, documents of strangers, and a driver of SQLite. It prints an answer of each.
 */
const onDemand = `
import { createPrivateKey, randomUUID, sign } from "node:crypto";
import express from "express";
import { createAuthServer, generateClientKey, memoryStorage } from "authmount";
import { sqliteStorage } from "authmount/sqlite";

const { privateKey, jwks } = generateClientKey();
const auth = createAuthServer({
  baseUrl: "http://localhost/login",
  storage: memoryStorage({
    clients: [{ clientId: "keyed", name: "Keyed", confidential: true, jwks, redirectUris: [], subscriptions: { orders: {} } }],
  }),
  authMethods: { password: { authenticate: () => ({ kind: "interaction", url: "/signin" }) } },
  apis: {
    orders: {
      audience: "http://localhost/orders",
      authMethods: ["password"],
      scopes: { read: "Read" },
      clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) },
      clientRegistration: { approve: () => ({ kind: "approved" }) },
    },
  },
  onEvent: (event) => {
    if (event.cause) console.log(event.cause);
  },
});
const server = express().use("/login", auth.router).listen(0, "127.0.0.1", async () => {
  const path = "/login/auth/password/api/orders";
  const origin = "http://127.0.0.1:" + server.address().port;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = { iss: "keyed", sub: "keyed", aud: "http://localhost" + path, jti: randomUUID(), exp };
  const unsigned = part({ alg: "ES256" }) + "." + part(claims);
  const key = createPrivateKey({ key: privateKey, format: "jwk" });
  const signature = sign("sha256", Buffer.from(unsigned), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
  const post = async (form) => {
    const answer = await fetch(origin + path + "/token", { method: "POST", body: new URLSearchParams(form) });
    return (await answer.json()).error ?? answer.status;
  };
  const registered = await fetch(origin + path + "/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: ["https://app.example/callback"], token_endpoint_auth_method: "none" }),
  });
  let sqlite = "opened";
  try {
    sqliteStorage({ file: "host.sqlite" });
  } catch (error) {
    sqlite = error.message;
  }
  console.log(JSON.stringify({
    assertion: await post({
      grant_type: "client_credentials",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: unsigned + "." + signature,
    }),
    stranger: await post({ grant_type: "authorization_code", code: "x", client_id: "https://127.0.0.1/client.json" }),
    registration: registered.status,
    sqlite,
  }));
  server.close();
});
`;

describe.each(["cjs", "esm"] as const)("bundled by esbuild into one file, format %s", (format) => {
  it("serves a host with every entry point", async () => {
    const file = await bundle((await allEntries()) + imported + program, format);
    const { stdout } = await run(process.execPath, [file], { cwd: path.dirname(file) });
    expect(stdout).toBe(printed);
  });

  it.each([
    ["without SQLite", "20.19.0", expect.stringContaining("no SQLite driver was found")],
    ["with SQLite", "24.21.0", "opened"],
  ])("loads its parts on demand, in a Node.js %s", async (_, version, sqlite) => {
    const file = await bundle(onDemand, format);
    const node = findNode(version) ?? "";
    const { stdout } = await run(node, ["--no-warnings", file], { cwd: path.dirname(file) });
    expect(JSON.parse(stdout)).toEqual({
      assertion: 200,
      registration: 201,
      stranger: "invalid_client",
      sqlite,
    });
  });
});

it("a bundle as an ES module needs the banner because of Express, not of this package", async () => {
  const file = await bundle('import express from "express"; express();', "esm");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.slice(text.indexOf("\n") + 1));
  const failed = await run(process.execPath, [file]).catch((error: { stderr: string }) => error);
  expect(failed.stderr).toContain("Dynamic require of");
});
