import * as fc from "fast-check";
import {
  ownText,
  type Parameters,
  parametersFromObject,
  parametersOfUrl,
  parseParameters,
  quoted,
  quotedUri,
} from "../../lib/protocol/parameters";
import { codeVerifierMatches, isCodeChallenge, isCodeVerifier } from "../../lib/protocol/authorization";
import { formatScope, intersect, isSubset, parseScope } from "../../lib/protocol/scope";

function unusable(parameters: Parameters): readonly string[] {
  return [...parameters.unusable];
}

describe("decoding parameters (RFC 6749 Appendix B)", () => {
  it.each([
    ["a plain value", "name=value", "value"],
    ["a plus as a space", "name=a+b", "a b"],
    ["an encoded plus as a plus", "name=a%2Bb", "a+b"],
    ["UTF-8", "name=%C3%A4%E2%82%AC%F0%9F%94%91", "ä€🔑"],
    ["characters that came unencoded", "name=ä/:?", "ä/:?"],
    ["an equals sign in the value", "name=a=b==", "a=b=="],
    ["an encoded ampersand", "name=a%26other=b", "a&other=b"],
    ["an encoded name", "n%61me=value", "value"],
    ["a control character", "name=%00%0A", "\0\n"],
    ["a value between empty pairs", "&&name=value&", "value"],
  ])("reads %s", (_, text, expected) => {
    const parameters = parseParameters(text);
    expect(parameters.get("name")).toBe(expected);
    expect(unusable(parameters)).toEqual([]);
  });

  it.each([
    ["a byte that is not UTF-8", "name=%FF"],
    ["an overlong form", "name=%C0%AF"],
    ["half a surrogate pair", "name=%ED%A0%80"],
    ["a sequence cut short", "name=%E2%82"],
    ["a percent sign alone", "name=100%"],
    ["a percent sign before other characters", "name=%zz"],
  ])("finds a value unusable for %s", (_, text) => {
    const parameters = parseParameters(`${text}&other=good`);
    expect(parameters.get("name")).toBeUndefined();
    expect(unusable(parameters)).toEqual(["name"]);
    expect(parameters.get("other")).toBe("good");
  });

  it("ignores names that are not UTF-8, however many", () => {
    const parameters = parseParameters("%FF=value&%FF=value&name=value");
    expect(parameters.get("name")).toBe("value");
    expect(parameters.unusable.size).toBe(0);
  });

  it("gives back what URLSearchParams has encoded", () => {
    const value = fc.string({ unit: "binary", minLength: 1 });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(value, value), { selector: ([name]) => name }), (entries) => {
        const parameters = parseParameters(new URLSearchParams(entries).toString());
        expect(entries.map(([name]) => parameters.get(name))).toEqual(entries.map((entry) => entry[1]));
      }),
    );
  });

  it("never throws, and never gives a value that it calls unusable", () => {
    const piece = fc.constantFrom("a", "b", "=", "&", "%", "+", "%41", "%FF", "ä", "__proto__");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const parameters = parseParameters(pieces.join(""));
        for (const name of parameters.unusable) expect(parameters.get(name)).toBeUndefined();
      }),
    );
  });
});

describe("repeated and empty parameters (RFC 6749 §3.1, §3.2)", () => {
  it.each([
    ["an empty value", "name="],
    ["no equals sign", "name"],
    ["another parameter only", "other=value"],
    ["nothing", ""],
  ])("counts a parameter as absent for %s", (_, text) => {
    const parameters = parseParameters(text);
    expect(parameters.get("name")).toBeUndefined();
    expect(unusable(parameters)).toEqual([]);
  });

  it.each([
    ["twice the same", "name=a&name=a"],
    ["two values", "name=a&name=b"],
    ["three values", "name=a&name=b&name=c"],
    ["an empty one first", "name=&name=a"],
    ["an empty one last", "name=a&name="],
    ["two spellings of the name", "name=a&n%61me=b"],
  ])("trusts no value of a repeated parameter: %s", (_, text) => {
    const parameters = parseParameters(`${text}&other=good`);
    expect(parameters.get("name")).toBeUndefined();
    expect(unusable(parameters)).toEqual(["name"]);
    expect(parameters.get("other")).toBe("good");
  });

  it("tells names apart that have no value, and takes no part of a pair without a name for one", () => {
    expect(unusable(parseParameters("ab&ac&=b&c"))).toEqual([]);
    expect(unusable(parseParameters("=a&=b"))).toEqual([""]);
    expect(parseParameters("=x").get("")).toBe("x");
  });

  it.each([
    ["a query", "/token?name=value", "value"],
    ["nothing but a query", "?name=value", "value"],
    ["no query", "name=value", undefined],
    ["an empty query", "/name=value?", undefined],
  ])("are those behind the question mark of a URL with %s", (_, url, expected) => {
    expect(parametersOfUrl(url).get("name")).toBe(expected);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "has no value for %s, which every object inherits",
    (name) => {
      expect(parseParameters("a=b").get(name)).toBeUndefined();
      expect(parametersFromObject({ a: "b" }).get(name)).toBeUndefined();
      expect(parseParameters(`${name}=value`).get(name)).toBe("value");
    },
  );
});

describe("parameters that a host's body parser has read (RFC 6749 §3.2)", () => {
  it("takes texts as they are, without decoding them again", () => {
    const parameters = parametersFromObject({ name: "a+b%20c", empty: "" });
    expect(parameters.get("name")).toBe("a+b%20c");
    expect(parameters.get("empty")).toBeUndefined();
    expect(unusable(parameters)).toEqual([]);
  });

  it.each([
    ["a list", ["a", "b"]],
    ["a list of one", ["a"]],
    ["an empty list", []],
    ["an object", { nested: "a" }],
    ["a number", 5],
    ["true", true],
    ["null", null],
    ["undefined", undefined],
  ])("trusts nothing but texts: %s", (_, value) => {
    const parameters = parametersFromObject({ name: value, other: "good" });
    expect(parameters.get("name")).toBeUndefined();
    expect(unusable(parameters)).toEqual(["name"]);
    expect(parameters.get("other")).toBe("good");
  });

  it("reads an object without a prototype", () => {
    const body = Object.assign(Object.create(null) as object, { name: "value" });
    expect(parametersFromObject(body).get("name")).toBe("value");
  });

  it("ignores what the object inherits", () => {
    expect(parametersFromObject(Object.create({ name: "value" }) as object).get("name")).toBeUndefined();
  });
});

describe("a text that is kept (RFC 6749 §10)", () => {
  it.each(["", "a", "ä€🔑", " a "])("is the same as that of the request: %j", (text) => {
    expect(ownText(text)).toBe(text);
  });
});

describe("scope (RFC 6749 §3.3)", () => {
  it.each([
    ["one", "a", ["a"]],
    ["several in their order", "b a c", ["b", "a", "c"]],
    ["each once", "a b a", ["a", "b"]],
    ["every character that is allowed", "! # [ ] ~ :/._-", ["!", "#", "[", "]", "~", ":/._-"]],
    ["upper and lower case as two", "A a", ["A", "a"]],
    ["prototype names", "__proto__ constructor", ["__proto__", "constructor"]],
  ])("parses %s", (_, text, expected) => {
    expect(parseScope(text)).toEqual(expected);
  });

  it.each([
    ["nothing", ""],
    ["a space", " "],
    ["a space in front", " a"],
    ["a space at the end", "a "],
    ["two spaces", "a  b"],
    ["a tab", "a\tb"],
    ["a line feed", "a\nb"],
    ["a line feed at the end", "a\n"],
    ["a quotation mark", 'a"b'],
    ["a backslash", "a\\b"],
    ["a character beyond ASCII", "ä"],
    ["a no-break space", "a\u00a0b"],
    ["a control character", "a\u007f"],
    ["a line separator", "a\u2028b"],
  ])("finds a scope malformed for %s", (_, text) => {
    expect(parseScope(text)).toBeUndefined();
  });

  it("gives back what it has formatted", () => {
    const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const unit = character.filter((each) => each !== '"' && each !== "\\");
    const scopes = fc.uniqueArray(fc.string({ unit, minLength: 1 }), { minLength: 1 });
    fc.assert(fc.property(scopes, (names) => expect(parseScope(formatScope(names))).toEqual(names)));
  });

  it("compares sets, whatever their order", () => {
    expect(isSubset(["b", "a"], ["a", "b", "c"])).toBe(true);
    expect(isSubset([], ["a"])).toBe(true);
    expect(isSubset([], [])).toBe(true);
    expect(isSubset(["a", "d"], ["a", "b", "c"])).toBe(false);
    expect(isSubset(["A"], ["a"])).toBe(false);
  });

  it("intersects in the order of the first set", () => {
    expect(intersect(["c", "a", "x"], ["a", "b", "c"])).toEqual(["c", "a"]);
    expect(intersect(["x"], ["a"])).toEqual([]);
  });
});

describe("PKCE S256 (RFC 7636 §4)", () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

  it("matches the example of RFC 7636 Appendix B", () => {
    expect(codeVerifierMatches(verifier, challenge)).toBe(true);
  });

  it.each([
    ["another verifier", `${verifier.slice(0, -1)}l`, challenge],
    ["another challenge", verifier, `${challenge.slice(0, -1)}N`],
    ["a challenge in another case", verifier, challenge.toLowerCase()],
    ["the verifier itself, as with the method plain", verifier, verifier],
    ["a padded challenge", verifier, `${challenge}=`],
    ["a shorter challenge", verifier, challenge.slice(0, 42)],
    ["an empty challenge", verifier, ""],
    ["an empty verifier", "", challenge],
  ])("does not match %s", (_, codeVerifier, codeChallenge) => {
    expect(codeVerifierMatches(codeVerifier, codeChallenge)).toBe(false);
  });

  it.each([
    ["a SHA-256 as base64url", challenge, true],
    ["42 characters", challenge.slice(1), false],
    ["44 characters", `${challenge}A`, false],
    ["padding", `${challenge.slice(1)}=`, false],
    ["base64 characters", `${challenge.slice(1)}+`, false],
    ["a line feed at the end", `${challenge}\n`, false],
    ["a tilde, which only a verifier may have", `${challenge.slice(1)}~`, false],
    ["nothing", "", false],
  ])("knows a challenge (§4.2): %s", (_, text, expected) => {
    expect(isCodeChallenge(text)).toBe(expected);
  });

  it.each([
    ["43 characters", "a".repeat(43), true],
    ["128 characters", "a".repeat(128), true],
    ["every unreserved character", `aA0-._~${"a".repeat(40)}`, true],
    ["42 characters", "a".repeat(42), false],
    ["129 characters", "a".repeat(129), false],
    ["a plus", `${"a".repeat(43)}+`, false],
    ["a space", `${"a".repeat(43)} `, false],
    ["a character beyond ASCII", `${"a".repeat(43)}ä`, false],
    ["a line feed at the end", `${"a".repeat(43)}\n`, false],
  ])("knows a verifier (§4.1): %s", (_, text, expected) => {
    expect(isCodeVerifier(text)).toBe(expected);
  });
});

describe("text from outside in a reason", () => {
  it.each([
    ["a plain one", "orders:read", '"orders:read"'],
    ["quotes and backslashes", 'a"b\\c', String.raw`"a\"b\\c"`],
    [
      "lines and control characters",
      "a\r\n\0\x1b[2J\x7f\x9b",
      String.raw`"a\r\n\u0000\u001b[2J\u007f\u009b"`,
    ],
    ["other scripts, directions and halves of characters", "ä\u202e\ud800", String.raw`"\u00e4\u202e\ud800"`],
  ])("is one line of visible ASCII: %s", (_, text, expected) => {
    expect(quoted(text)).toBe(expected);
  });

  it.each(["a", "ä", "\n"])("is cut: many of %j", (text) => {
    expect(quoted(text.repeat(100_000))).toMatch(/^"[\x20-\x7e]{200}…"$/);
  });

  it.each([
    ["https://web.example/callback", '"https://web.example/callback"'],
    ["https://web.example/?code=secret&state=x", '"https://web.example/?..."'],
    ["https://web.example/#access_token=secret", '"https://web.example/#..."'],
    ["https://alice:secret@web.example/callback", '"https://...@web.example/callback"'],
  ])("has no credentials of a URI: %s", (uri, expected) => {
    expect(quotedUri(uri)).toBe(expected);
  });
});
