import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildOnce } from "../servers/build-once";

const repository = path.resolve(__dirname, "../..");
const example = path.join(repository, "examples/tested-host");

function runIn(folder: string): { status: number | null; printed: string } {
  const args = ["--test", "--test-reporter=tap", path.join(folder, "app.test.js")];
  const { PATH } = process.env;
  const env = PATH === undefined ? {} : { PATH };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return { status, printed: stdout + stderr };
}

describe("examples/tested-host", () => {
  beforeAll(buildOnce);

  it("passes its own tests", () => {
    const { status, printed } = runIn(example);
    expect(printed).toContain("# pass 9\n");
    expect(status).toBe(0);
  });

  it.each<[string, string, string, string, number]>([
    ["a route is open", '"/orders", reading,', '"/orders",', "", 2],
    [
      "a route needs no scope",
      'scope: "read", subject',
      "subject",
      "the token with no scope was answered with 200",
      1,
    ],
    [
      "a route needs only one of two scopes",
      '["read", "write"]',
      '["read"]',
      "with only the scope read was",
      1,
    ],
  ])("fails when %s", (_, from, to, says, least) => {
    const folder = mkdtempSync(path.join(tmpdir(), "authmount-tested-host-"));
    cpSync(example, folder, { recursive: true });
    symlinkSync(path.join(repository, "node_modules"), path.join(folder, "node_modules"), "junction");
    const text = readFileSync(path.join(folder, "app.js"), "utf8");
    expect(text).toContain(from);
    const own = JSON.stringify(path.join(repository, "dist"));
    for (const [name, was] of [
      ["app.js", text.replace(from, to)],
      ["app.test.js", readFileSync(path.join(folder, "app.test.js"), "utf8")],
    ] as const) {
      const loads = was
        .replaceAll('require("authmount")', `require(${own})`)
        .replaceAll('require("authmount/testing")', `require(${own} + "/testing")`);
      writeFileSync(path.join(folder, name), loads);
    }
    const { status, printed } = runIn(folder);
    rmSync(folder, { recursive: true });
    expect(status).toBe(1);
    expect(printed).toContain(says);
    expect(Number(/^# fail (\d+)$/m.exec(printed)?.[1])).toBeGreaterThanOrEqual(least);
  });
});
