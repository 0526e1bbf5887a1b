import { jsonProblem, readJson } from "../../lib/http/json-body";
import { maxBodyBytes } from "../../lib/http/request";
import { parsedRequestOf, requestOf } from "./http-messages";

const headers = { "Content-Type": "application/json" };

async function read(bytes: string | Buffer) {
  const req = requestOf({ headers });
  req.push(bytes);
  req.push(null);
  return readJson(req);
}

function readParsed(body: unknown) {
  return readJson(parsedRequestOf({ headers, body }));
}

/** So many lists within one another. */
const nested = (levels: number): unknown => (levels === 0 ? "x" : [nested(levels - 1)]);

describe("a body of JSON (RFC 8259)", () => {
  it.each<[string, unknown]>([
    ["an object", { redirect_uris: ["https://a.example"], jwks: { keys: [] }, a: null }],
    ["a list", [1, true]],
    ["a text", "ä"],
  ])("is read with %s", async (_, value) => {
    await expect(read(JSON.stringify(value))).resolves.toEqual({ kind: "json", value });
  });

  it("has no __proto__ afterwards", async () => {
    const body = await read('{"a":{"__proto__":{"b":1},"c":2}}');
    expect(body).toStrictEqual({ kind: "json", value: { a: { c: 2 } } });
  });

  it.each<[string, string | Buffer]>([
    ["nothing", ""],
    ["half an object", '{"a":'],
    ["a text that is not UTF-8 (§8.1)", Buffer.from('"\xE4"', "latin1")],
  ])("is refused with %s", async (_, bytes) => {
    await expect(read(bytes)).resolves.toEqual({ kind: "not-json" });
  });

  it("may be nested ten levels deep, and no deeper (§9)", async () => {
    const value = nested(10);
    await expect(read(JSON.stringify(value))).resolves.toEqual({ kind: "json", value });
    await expect(readParsed(value)).resolves.toEqual({ kind: "json", value });
    await expect(read(JSON.stringify(nested(11)))).resolves.toEqual({ kind: "not-json" });
    await expect(readParsed(nested(11))).resolves.toEqual({ kind: "not-json" });
  });

  it.each<[string, (text: string) => Promise<unknown>]>([
    ["as it arrives", (text) => read(JSON.stringify([text]))],
    ["as a parser of the host has left it", (text) => readParsed([text])],
  ])("may have 64 KB, and no more, %s", async (_, readText) => {
    const most = "x".repeat(maxBodyBytes - '[""]'.length);
    await expect(readText(most)).resolves.toEqual({ kind: "json", value: [most] });
    await expect(readText(`${most}x`)).resolves.toEqual({ kind: "too-large" });
  });

  it("is refused before it is walked through where a parser of the host has let a long list pass", async () => {
    const entries = jest.spyOn(Object, "entries");
    await expect(readParsed(Array(100_000).fill("x"))).resolves.toEqual({ kind: "too-large" });
    expect(entries.mock.calls.filter(([value]) => Array.isArray(value))).toEqual([]);
    entries.mockRestore();
  });

  it("is refused where a parser of the host has let pass what nothing can write again", async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    await expect(readParsed(circle)).resolves.toEqual({ kind: "not-json" });
  });

  it("is not another media type (RFC 7591 §3.1)", async () => {
    const req = requestOf({ headers: { "Content-Type": "text/plain" } });
    await expect(readJson(req)).resolves.toEqual({ kind: "wrong-media-type" });
  });

  it.each([
    ["too-large", "The body is too large.", "json-too-large"],
    ["not-json", "The body is not JSON, or it is nested too deeply.", "json-malformed"],
    ["wrong-media-type", "The body must be application/json, without a content encoding.", "body-not-json"],
    ["taken", "Other code of this server has read the body before.", "body-taken"],
  ] as const)("that is %s is refused with what to do", (kind, description, code) => {
    expect(jsonProblem({ kind })).toMatchObject({
      error: "invalid_request",
      description,
      code,
    });
  });
});
