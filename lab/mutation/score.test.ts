/** What the mutation runs have shown, and that their records fit the code: `npm run test:mutation` makes them. */
import { explained } from "./explained";
import { mutatedFiles, percentOf, readScore, roomOf, textOf, unexplained } from "./score";

const score = Object.entries(readScore());
/** Where the rules of the standards are. */
const exactRooms = ["protocol", "grants", "tokens"];
const ofRoom = (room: string) => score.filter(([file]) => roomOf(file) === room);

describe("the mutation score", () => {
  it("is at least 90 % over all of lib/ that is mutated", () => {
    expect(percentOf(score.map(([, ofFile]) => ofFile))).toBeGreaterThanOrEqual(90);
  });

  it.each(exactRooms)("is at least 95 %% in lib/%s", (room) => {
    expect(percentOf(ofRoom(room).map(([, ofFile]) => ofFile))).toBeGreaterThanOrEqual(95);
  });

  it.each(exactRooms)("leaves no survivor without a reason in lib/%s", (room) => {
    expect(ofRoom(room).flatMap(([file, ofFile]) => unexplained(file, ofFile))).toEqual([]);
  });
});

describe("the records of mutation runs", () => {
  it("name every file that is mutated, and no other", () => {
    expect(score.map(([file]) => file)).toEqual(mutatedFiles());
  });

  it("explain only what stands in the file", () => {
    const gone = Object.entries(explained).flatMap(([file, reasons]) =>
      reasons.filter(([from]) => !textOf(file).includes(from)),
    );
    expect(gone).toEqual([]);
  });
});
