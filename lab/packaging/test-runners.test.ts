/** The tests of a host, with the packed package: Vitest, Jest with CommonJS and with ES modules, and node:test. */
import { spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { refusedKinds } from "../../lib/testing";
import { buildOnce } from "../../__tests__/servers/build-once";
import { installed, pack, type Packed } from "./packed-host";
import { describeWith } from "../../__tests__/servers/server-process";
import { findVitest } from "./vitest";

type Modules = "cjs" | "mjs";

function importsOf(modules: Modules, imports: Readonly<Record<string, string>>): string {
  const lines = Object.entries(imports).map(([from, names]) =>
    modules === "mjs"
      ? `import ${names} from "${from}";`
      : `const ${names.replaceAll(" as ", ": ")} = require("${from}");`,
  );
  return `${lines.join("\n")}\n`;
}

/** The app of a host, and the options of its server. */
function app(modules: Modules): string {
  return `${importsOf(modules, {
    express: "express",
    authmount: "{ createAuthServer, generateSigningKey, memoryStorage, generateClientSecret }",
  })}
const subscriptions = { orders: {}, reports: {} };
const shop = { clientId: "shop", name: "Shop", confidential: true, redirectUris: ["https://shop.example/callback"] };
const secretDigests = [generateClientSecret().digest];
const api = (name) => ({ audience: "https://host.example/" + name, authMethods: ["password"], scopes: { read: "Read" } });
const options = {
  baseUrl: "https://host.example/login",
  secrets: ["a-test-secret-of-at-least-32-characters"],
  signingKeys: [generateSigningKey()],
  storage: memoryStorage({ clients: [{ ...shop, secretDigests, subscriptions }] }),
  apis: { orders: api("orders"), reports: { ...api("reports"), accessTokenFormat: "opaque" } },
  authMethods: { password: { authenticate: () => ({ kind: "interaction", url: "/sign-in" }) } },
};
const auth = createAuthServer(options);
const app = express();
app.use("/login", auth.router);
for (const api of ["orders", "reports"]) {
  app.get("/" + api, auth.requireBearer({ api, scope: "read", subject: "required" }), (req, res) => {
    res.json({ of: auth.accessToken(req).subject, at: new Date() });
  });
}
${modules === "mjs" ? "export { app, options };" : "module.exports = { app, options };"}
`;
}

/** The same tests for each runner. They end well only if each of the real routes accepts and refuses what it should. */
function tests(modules: Modules, runner: Readonly<Record<string, string>>): string {
  return `${importsOf(modules, {
    ...runner,
    "node:assert/strict": "assert",
    supertest: "request",
    "authmount/testing": "{ refusedKinds, testClock, testTokens }",
    [`./app.${modules}`]: "{ app, options }",
  })}
const tokens = testTokens(options);
for (const api of ["orders", "reports"]) {
  const alice = { api, client: "shop", subject: "alice", scope: "read" };
  const get = (token) => request(app).get("/" + api).auth(token, { type: "bearer" });

  test("good, " + api, async () => {
    const { body } = await get(await tokens.issue(alice)).expect(200);
    assert.equal(body.of, "alice");
  });
  for (const kind of refusedKinds) {
    test(kind + ", " + api, async () => {
      await get(await tokens[kind](alice)).expect(401).expect("www-authenticate", /error="invalid_token"/);
    });
  }
  test("without a scope, " + api, async () => {
    const { scope, ...less } = alice;
    await get(await tokens.issue(less)).expect(403);
  });
  test("the whole route, " + api, async () => {
    await tokens.checkRoute(alice, (headers) => request(app).get("/" + api).set(headers));
  });
  test("the clock, " + api, async () => {
    const token = await tokens.issue(alice);
    const clock = testClock();
    try {
      clock.advance(3_600);
      await get(token).expect(401);
      const { body } = await get(await tokens.issue(alice)).expect(200);
      assert.ok(Math.abs(Date.parse(body.at) / 1000 - clock.now()) < 3_000);
    } finally {
      clock.restore();
    }
    await get(token).expect(200);
  });
}
`;
}

const testsInFile = 2 * (refusedKinds.length + 4);

interface Run {
  readonly status: number | null;
  readonly printed: string;
}

describe("the tests of a host with authmount/testing", () => {
  let packed: Packed;
  let host: string;
  beforeAll(async () => {
    buildOnce();
    packed = await pack();
    host = await packed.install("express");
    symlinkSync(path.join(installed, "supertest"), path.join(host, "node_modules/supertest"), "junction");
    for (const modules of ["cjs", "mjs"] as const)
      writeFileSync(path.join(host, `app.${modules}`), app(modules));
  });
  afterAll(() => packed.remove());

  function runTests(
    file: { name: string; text: string },
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Run {
    writeFileSync(path.join(host, file.name), file.text);
    // what this Jest has set must not reach the runner
    const { PATH, HOME } = process.env;
    const environment = { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }), ...env };
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: host,
      encoding: "utf8",
      timeout: 300_000,
      env: environment,
    });
    return { status, printed: stdout + stderr };
  }

  const jest = path.join(installed, "jest/bin/jest.js");
  const jestArgs = (name: string): string[] => [
    jest,
    "--rootDir=.",
    "--config",
    JSON.stringify({ transform: {}, testEnvironment: "node", testMatch: [`**/${name}`] }),
  ];

  it.each<Modules>(["cjs", "mjs"])("pass in node:test (%s)", (modules) => {
    const name = `node.test.${modules}`;
    const text = tests(modules, { "node:test": "{ test }" });
    const { status, printed } = runTests({ name, text }, ["--test", "--test-reporter=tap", name]);
    expect(printed).toContain(`# pass ${testsInFile}\n`);
    expect(status).toBe(0);
  });

  it("pass in Jest with CommonJS", () => {
    const name = "jest.test.cjs";
    const { status, printed } = runTests({ name, text: tests("cjs", {}) }, jestArgs(name));
    expect(printed).toContain(`Tests:       ${testsInFile} passed, ${testsInFile} total`);
    expect(status).toBe(0);
  });

  it("pass in Jest with ES modules", () => {
    const name = "jest.test.mjs";
    const args = ["--experimental-vm-modules", ...jestArgs(name)];
    const { status, printed } = runTests({ name, text: tests("mjs", {}) }, args);
    expect(printed).toContain(`Tests:       ${testsInFile} passed, ${testsInFile} total`);
    expect(status).toBe(0);
  });

  it("fail in production, with the reason", () => {
    const name = "production.test.cjs";
    const text = tests("cjs", { "node:test": "{ test }" });
    const { status, printed } = runTests({ name, text }, ["--test", name], { NODE_ENV: "production" });
    expect(printed).toContain("testTokens: authmount/testing is for tests, and NODE_ENV is production.");
    expect(status).toBe(1);
  });

  const vitest = findVitest();
  describeWith(
    { name: "Vitest", found: vitest !== undefined },
    {
      name: "Vitest",
      tests() {
        let link: string;
        beforeAll(() => {
          link = path.join(host, "node_modules/vitest");
          symlinkSync(vitest ?? "", link, "junction");
        });

        it.each(["forks", "threads"])("pass with the pool %s", (pool) => {
          const name = `${pool}.test.mjs`;
          const text = tests("mjs", { vitest: "{ test }" });
          const args = [path.join(link, "vitest.mjs"), "run", "--root=.", `--pool=${pool}`, name];
          const { status, printed } = runTests({ name, text }, args, { NO_COLOR: "1" });
          expect(printed).toMatch(new RegExp(`Tests +${testsInFile} passed \\(${testsInFile}\\)`));
          expect(status).toBe(0);
        });
      },
    },
  );
});
