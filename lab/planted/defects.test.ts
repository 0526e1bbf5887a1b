/** The list of planted defects fits the code: `npm run planted` in `lab/` plants them, which takes minutes. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { defects } from "./defects";

const root = path.resolve(__dirname, "../..");

function timesFound({ file, find }: { readonly file: string; readonly find: string }): number {
  return readFileSync(path.join(root, file), "utf8").split(find).length - 1;
}

describe("the list of planted defects", () => {
  it("has at least 60, each with a name of its own", () => {
    expect(defects.length).toBeGreaterThanOrEqual(60);
    expect(new Set(defects.map(({ name }) => name)).size).toBe(defects.length);
  });

  it("names texts that occur exactly once, and changes them", () => {
    const unplaced = defects.filter((defect) => timesFound(defect) !== 1 || defect.find === defect.replace);
    expect(unplaced.map(({ name, file }) => `${name} (${file})`)).toEqual([]);
  });

  it("names tests that exist", () => {
    const missing = defects
      .flatMap(({ tests }) => tests)
      .filter(
        (name) => !existsSync(path.join(root, name.startsWith("lab/") ? "" : "__tests__", `${name}.test.ts`)),
      );
    expect(missing).toEqual([]);
  });
});
