import { readClientName } from "../../lib/clients/self-description";

const accent = "\u0301";

describe("the name that a client gives itself (RFC 7591 §2)", () => {
  it.each<[string, unknown, string | undefined]>([
    ["as it is", "Desk App", "Desk App"],
    ["beyond ASCII", "Bücher 🔑", "Bücher 🔑"],
    ["in its short form", `u\u0308`, "ü"],
    ["a number", 5, undefined],
    ["nothing", "", undefined],
    ["spaces", " \n\t", undefined],
    ["with one space between words", "  Desk \n App ", "Desk App"],
    ["without what changes the direction", "a\u202Eb", "ab"],
    ["without what nobody sees", "a\u200Bb\u2800c", "abc"],
    ["with four marks on a letter", `x${accent.repeat(4)}`, `x${accent.repeat(4)}`],
    ["without more marks", `x${accent.repeat(9)}y`, `x${accent.repeat(4)}y`],
    ["of a hundred letters", "🔑".repeat(100), "🔑".repeat(100)],
    ["without more letters", "🔑".repeat(101), "🔑".repeat(100)],
    ["that begins after 999 characters", `${"\u200B".repeat(999)}AB`, "A"],
    ["that would begin after a thousand", `${"\u200B".repeat(1_000)}AB`, undefined],
  ])("is read: %s", (_, value, expected) => {
    expect(readClientName(value)).toBe(expected);
  });
});
