/** What `run.mjs` refuses before it starts a run of hours. */
import { spawnSync } from "node:child_process";
import path from "node:path";

it("refuses a flag that it does not know, and says what it knows", () => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(__dirname, "run.mjs"), "--help"], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([status, stderr]).toEqual([2, expect.stringMatching(/^usage: .*--survivors/)]);
});
