/** What is printed of names, texts and errors that came from outside. */
import { errorSentence, errorText, printable, quoted } from "../../lib/cli/wording";
import { suggestion } from "../../lib/host/plain";

const characters = Array.from({ length: 0x20_70 + 1 }, (_, code) => String.fromCharCode(code));

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe("text from outside", () => {
  it("shows control characters and marks of direction by their number, and nothing else", () => {
    const changed = characters.filter((each) => printable(each) !== each && each !== "\n");
    const codes = changed.map((each) => each.charCodeAt(0));
    expect(codes).toEqual([
      ...range(0, 9),
      ...range(0x0b, 0x1f),
      ...range(0x7f, 0x9f),
      0x20_0e,
      0x20_0f,
      0x20_28,
      0x20_29,
      ...range(0x20_2a, 0x20_2e),
      ...range(0x20_66, 0x20_69),
    ]);
  });

  it.each([
    ["two\nlines\n", "two lines "],
    ["\u001b[2J\u009f", "\\u001b[2J\\u009f"],
    ["\u202e\u0000", "\\u202e\\u0000"],
    ["", ""],
  ])("is on one line: %j", (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it.each([
    ["a.js", '"a.js"'],
    ["\u0007", '"\\u0007"'],
    ["x".repeat(80), `"${"x".repeat(80)}"`],
    ["x".repeat(81), `"${"x".repeat(80)}…"`],
    ["postgres://anna:hunter2@host", "a URL"],
    ["a:b//", '"a:b//"'],
  ])("is quoted, cut, and left out if it is a URL: %j", (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });
});

describe("a suggestion", () => {
  const known = ["secret", "signing-key", "check", "migrate"];
  it.each([
    ["CHECK", "check"],
    ["chekc", "check"],
    ["hceck", "check"],
    ["heck", "check"],
    ["eck", "check"],
    ["checker", "check"],
    ["xxcheck", "check"],
    ["chxexck", "check"],
    ["chxck", "check"],
    ["sacred", "secret"],
    ["s", "secret"],
    ["m", "migrate"],
    ["signing", "signing-key"],
    ["si", "signing-key"],
    ["SIGN", "signing-key"],
  ])("of %j is %j", (written, meant) => {
    expect(suggestion(written, known)).toBe(` Did you mean "${meant}"?`);
  });

  it.each(["", "ck", "checking", "xxxcheck", "cxxxk", "igning", "scroll", "xyz"])(
    "of %j is none: too much would have to change",
    (written) => {
      expect(suggestion(written, known)).toBe("");
    },
  );

  it.each([
    ["ES265", ["RS256", "ES256"], "ES256"],
    ["es25", ["ES256"], "ES256"],
    ["es265", ["ES256"], "ES256"],
    ["abx", ["axy", "abc"], "abc"],
    ["ax", ["ay", "az"], "ay"],
    ["a", ["b", "ab"], "b"],
    ["ba", ["ab", "b"], "b"],
  ])(
    "is the nearest word, in letters of any case; of two as near, the first: %j of %j",
    (written, of, meant) => {
      expect(suggestion(written, of)).toBe(` Did you mean "${meant}"?`);
    },
  );

  it("is not looked for when what was written is long", () => {
    expect(suggestion("x".repeat(80), ["x".repeat(79)])).toBe(` Did you mean "${"x".repeat(79)}"?`);
    expect(suggestion("x".repeat(81), ["x".repeat(80)])).toBe("");
  });

  it("is none where nothing is known", () => {
    expect(suggestion("a", [])).toBe("");
  });
});

/** As of a connection to a name with several addresses. */
const twoAddresses = new AggregateError([new Error("refused"), new TypeError("no route")], "");

describe("what an error says of itself", () => {
  it.each([
    ["an error", new Error("no database"), "no database"],
    ["an error of another kind", new RangeError("too long"), "RangeError: too long"],
    ["several lines", new Error("two\nlines\u0007"), "two lines\\u0007"],
    ["no message", new Error(""), "an error without a message"],
    ["no message, of another kind", new TypeError(""), "TypeError: an error without a message"],
    ["what looks like an error", { message: "odd" }, "odd"],
    ["a name that is no text", { message: "odd", name: 5 }, "odd"],
    ["several errors without a message of their own", twoAddresses, "refused; TypeError: no route"],
    ["several errors with a message", new AggregateError([new Error("a")], "all"), "AggregateError: all"],
    ["no list of errors", { message: "", errors: "many" }, "an error without a message"],
    [
      "what JSON.parse quotes",
      new SyntaxError('Unexpected token, "CANARY" is not valid JSON'),
      "SyntaxError: a text that was parsed is not valid JSON",
    ],
    ["the same words elsewhere", new Error("a is not valid JSON here"), "a is not valid JSON here"],
    [
      "URLs with a password",
      new Error("no answer of redis://:CANARY@a.example:6379/0, nor of mysql://anna:CAN@ARY@b"),
      "no answer of a URL nor of a URL",
    ],
    [
      "a file with such letters",
      new Error("no file:///a/node_modules/@b/c:1"),
      "no file:///a/node_modules/@b/c:1",
    ],
    [
      "a key that was taken for a file",
      new Error("ENOENT: no such file, open '-----BEGIN PRIVATE KEY-----\nCANARY'"),
      "ENOENT: no such file, open a key",
    ],
    [
      "a JWK that was taken for a file",
      new Error('ENOENT: no such file, open \'{ "crv": "P-256", "kty": "EC", "d": "CANARY" }\''),
      "ENOENT: no such file, open a key",
    ],
    [
      "what Node.js has received",
      new TypeError("The argument 'key' must be a file. Received 'CANARY'"),
      "TypeError: The argument 'key' must be a file. Received another text or type",
    ],
    [
      "that Node.js has received nothing",
      new TypeError("The argument 'key' must be a file. Received undefined"),
      "TypeError: The argument 'key' must be a file. Received undefined",
    ],
    ["undefined", undefined, "it threw undefined"],
    ["null", null, "it threw null"],
    ["a text", "CANARY", "it threw a string"],
    ["a number", 5, "it threw a number"],
    ["a function", () => "CANARY", "it threw a function"],
    ["another object", { password: "CANARY" }, "it threw an object that is not an Error"],
    ["a message that is no text", { message: 5 }, "it threw an object that is not an Error"],
  ])("%s", (_, error, text) => {
    expect(errorText(error)).toBe(text);
  });

  it.each([
    ["no database", "no database."],
    ["no database.", "no database."],
    ["a.b", "a.b."],
  ])("is a sentence with one full stop: %j", (message, sentence) => {
    expect(errorSentence(new Error(message))).toBe(sentence);
  });
});
