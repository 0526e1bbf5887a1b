import { readFileSync } from "node:fs";
import path from "node:path";

it.each(["own-sign-in", "own-consent", "account-page"])(
  "examples/%s/server.js has at most 120 lines",
  (name) => {
    const file = path.resolve(__dirname, `../../examples/${name}/server.js`);
    expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(120);
  },
);
