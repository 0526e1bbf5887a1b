import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { readDocument } from "../../lib/fetching/read-document";

/** What becomes of an answer with status 200 and this body. */
function read(headers: NodeJS.Dict<string[]>, ...chunks: readonly string[]) {
  const head = { statusCode: 200, headersDistinct: { "content-type": ["application/json"], ...headers } };
  const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  return readDocument(Object.assign(body, head) as unknown as IncomingMessage);
}

const type = "answer-type";
const coding = "answer-coding";

describe("the body of an answer (RFC 8259 §8.1)", () => {
  it.each([
    [["{}"], "{}"],
    [['{"a"', ":1", "}"], '{"a":1}'],
    [[' "Gerät" '], ' "Gerät" '],
  ])("is read as it stands: %j", async (chunks, text) => {
    expect(await read({}, ...chunks)).toEqual({ kind: "read", text });
  });
});

describe("the type of an answer (RFC 9110 §8.3)", () => {
  it.each([
    [undefined],
    [[]],
    [["text/html"]],
    [["application/json", "application/json"]],
    [["application/json;a=b", "text/html"]],
  ])("is stated once, and is JSON, so not %j", async (types) => {
    expect(await read({ "content-type": types }, "{}")).toMatchObject({ kind: "failed", code: type });
  });
});

describe("the coding of an answer (RFC 9110 §8.4)", () => {
  it.each([
    [["gzip"]],
    [["identity", "gzip"]],
    [["gzip", "identity"]],
    [["gzip, identity"]],
    [["xidentity"]],
  ])("is none, so not %j", async (codings) => {
    expect(await read({ "content-encoding": codings }, "{}")).toMatchObject({ kind: "failed", code: coding });
  });

  it.each([[undefined], [[]], [["identity"]], [["IDENTITY", "identity"]]])("may be %j", async (codings) => {
    expect(await read({ "content-encoding": codings }, "{}")).toEqual({ kind: "read", text: "{}" });
  });
});
