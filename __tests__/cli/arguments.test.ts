/** What is written after the name of a command, and what is refused in it. */
import { readArguments } from "../../lib/cli/run";
import { type Command, everywhere, isUsageError, usageError } from "../../lib/cli/command";

const plain: Command = {
  name: "make",
  summary: "Make it.",
  options: {
    fast: { text: "Fast." },
    size: { value: "N", text: "How big." },
    part: { value: "P", text: "A part.", repeats: true },
  },
  help: "Help.",
  run: () => ({ exitCode: 0, text: "", advice: "", json: {} }),
};
const withFile: Command = { ...plain, operand: { name: "FILE", text: "A file.", isRequired: true } };
const maybeFile: Command = { ...plain, operand: { name: "FILE", text: "A file.", isRequired: false } };

describe("arguments of a command", () => {
  it.each([
    [[], { command: plain, operand: undefined, options: {} }],
    [["--fast"], { command: plain, operand: undefined, options: { fast: "" } }],
    [
      ["--size", "3", "--fast", "--json"],
      { command: plain, operand: undefined, options: { size: "3", fast: "", json: "" } },
    ],
    [
      ["--part", "a", "--part=b"],
      { command: plain, operand: undefined, options: { part: "b" }, repeated: { part: ["a", "b"] } },
    ],
    [["--size=3"], { command: plain, operand: undefined, options: { size: "3" } }],
    [["--size=-3"], { command: plain, operand: undefined, options: { size: "-3" } }],
    [["--size", "a=b"], { command: plain, operand: undefined, options: { size: "a=b" } }],
    [["a.js"], { command: withFile, operand: "a.js", options: {} }],
    [
      ["--fast", "a.js", "--size", "3"],
      { command: withFile, operand: "a.js", options: { fast: "", size: "3" } },
    ],
    [["--", "--fast"], { command: withFile, operand: "--fast", options: {} }],
    [["-"], { command: withFile, operand: "-", options: {} }],
    [["--help"], { command: withFile, operand: undefined, options: { help: "" } }],
    [["a", "b", "--help"], { command: withFile, operand: undefined, options: { help: "" } }],
    [[], { command: maybeFile, operand: undefined, options: {} }],
    [["a.js"], { command: maybeFile, operand: "a.js", options: {} }],
  ] as const)("are read: %j", (args, { command, ...given }) => {
    expect(readArguments(command, args)).toEqual(given);
  });

  const known = "Known options: --fast, --size, --part, --json, --help.";
  it.each([
    [["--bogus"], plain, `Unknown option "--bogus". ${known}`],
    [["--sise", "3"], plain, `Unknown option "--sise". Did you mean "size"? ${known}`],
    [["-x"], plain, `Unknown option "-x". ${known}`],
    [["--constructor"], plain, `Unknown option "--constructor". ${known}`],
    [["--fast=no"], plain, "--fast takes no value."],
    [["--fast="], plain, "--fast takes no value."],
    [["--size"], plain, "--size needs a value: --size N."],
    [["--size", ""], plain, "--size needs a value: --size N."],
    [["--size="], plain, "--size needs a value: --size N."],
    [["--size", "--fast"], plain, "--size needs a value: --size N."],
    [["--size", "1", "--size", "2"], plain, "--size is given twice."],
    [["--fast", "--fast"], plain, "--fast is given twice."],
    [["a.js"], plain, 'Unexpected argument "a.js". See: authmount help make.'],
    [[""], plain, 'Unexpected argument "". See: authmount help make.'],
    [["a.js", "b.js"], withFile, 'Unexpected argument "b.js". See: authmount help make.'],
    [["a.js", ""], maybeFile, 'Unexpected argument "". See: authmount help make.'],
    [[], withFile, "FILE is missing: authmount make FILE."],
    [[""], withFile, "FILE is empty."],
    [[""], maybeFile, "FILE is empty."],
  ] as const)("are refused: %j", (args, command, message) => {
    expect(() => readArguments(command, args)).toThrow(usageError(message));
  });
});

describe("an error of usage", () => {
  it("is told from other errors", () => {
    const error = usageError("wrong");
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe("wrong");
    expect([error, new TypeError("wrong"), undefined, null, { isUsage: "yes" }].map(isUsageError)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

it("two options are everywhere", () => {
  expect(everywhere).toEqual({
    json: { text: "Print JSON: results on stdout, errors on stderr." },
    help: { text: "Show help for this command." },
  });
});
