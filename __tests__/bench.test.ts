/** The benchmark still works: every server passes its checks, ours are sampled. Nothing here judges a time. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { buildOnce } from "./fixture/build-once";

const run = promisify(execFile);
const folder = path.resolve(__dirname, "../bench");

beforeAll(async () => {
  buildOnce();
  if (!existsSync(path.join(folder, "node_modules"))) {
    await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
  }
}, 300_000);

it.each([
  ["every server", [], {}],
  ["ours, by the other generator", ["--servers=authmount"], { BENCH_GENERATOR: "autocannon" }],
])(
  "checks %s and samples ours",
  async (_, parameters, env) => {
    const { stderr } = await run(process.execPath, ["run.js", "--smoke", ...parameters], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    expect(stderr).toMatch(/^\d+ servers were checked, ours were sampled$/m);
  },
  300_000,
);
