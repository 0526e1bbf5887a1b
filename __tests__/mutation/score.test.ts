/** The records of the mutation runs fit the code: `npm run test:mutation` makes them. */
import { explained } from "./explained";
import { mutatedFiles, readScore, textOf } from "./score";

describe("the records of mutation runs", () => {
  it("name files that are mutated", () => {
    const files = new Set(mutatedFiles());
    expect(Object.keys(readScore()).filter((file) => !files.has(file))).toEqual([]);
  });

  it("explain only what stands in the file", () => {
    expect(explained.filter(({ file, from }) => !textOf(file).includes(from))).toEqual([]);
  });
});
