import { answerDocument, answerPreflight, readableBy } from "../../lib/http/cors";
import { methodNotAllowed, publicDocument } from "../../lib/protocol/protocol-response";
import { requestOf } from "./http-messages";

const document = publicDocument({ issuer: "https://host.example" });
const preflight = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, HEAD",
  "Access-Control-Max-Age": "600",
};

describe("a public document (RFC 8414 §3, 9728 §3)", () => {
  it.each(["GET", "HEAD"])("is the answer to %s", (method) => {
    expect(answerDocument(requestOf({ method }), document)).toBe(document);
  });

  it.each(["POST", "PUT", "DELETE"])("has no %s (RFC 9110 §15.5.6)", (method) => {
    const refused = { kind: "empty", status: 405, headers: { Allow: "GET, HEAD, OPTIONS" } };
    expect(answerDocument(requestOf({ method }), document)).toEqual(refused);
    expect(methodNotAllowed(["GET", "HEAD", "OPTIONS"])).toEqual(refused);
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ["no headers of its own", {}, preflight],
    [
      "headers of its own",
      { "Access-Control-Request-Headers": "mcp-protocol-version" },
      { ...preflight, "Access-Control-Allow-Headers": "mcp-protocol-version" },
    ],
    ["something that is no list of headers", { "Access-Control-Request-Headers": "a;b" }, preflight],
  ])("may be read by a script that sends %s (Fetch standard, CORS)", (_, headers, expected) => {
    const response = answerDocument(requestOf({ method: "OPTIONS", headers }), document);
    expect(response).toEqual({ kind: "empty", status: 204, headers: expected });
  });
});

describe("the headers that a preflight asks for (Fetch standard, CORS)", () => {
  const origin = "https://page.example";

  function allowedHeaders(asked: Record<string, string>): string | undefined {
    const { headers } = answerPreflight(requestOf({ headers: asked }), { origin });
    return headers?.["Access-Control-Allow-Headers"];
  }

  it.each(["content-type", "content-type,mcp-protocol-version", "a, b,c ,\td", "x".repeat(1_000)])(
    "are names: %j",
    (names) => expect(allowedHeaders({ "Access-Control-Request-Headers": names })).toBe(names),
  );

  it.each(["", "a,", ",a", "a b", "a;b", "a: b", " a", "x".repeat(1_001)])(
    "are not reflected where they are not names, or too many: %j",
    (names) => expect(allowedHeaders({ "Access-Control-Request-Headers": names })).toBeUndefined(),
  );

  it("are not reflected where there are none, or to an origin that is not allowed", () => {
    expect(allowedHeaders({})).toBeUndefined();
    const headers = { "Access-Control-Request-Headers": "content-type" };
    const refused = answerPreflight(requestOf({ headers }), { origin: undefined });
    expect(refused).toEqual({ kind: "empty", status: 204 });
  });
});

describe("an answer that scripts may read (Fetch standard, CORS)", () => {
  it("is told to the allowed origin only, with the header that says when to come back", () => {
    const headers = { "Retry-After": "1" };
    const response = { kind: "json", status: 503, body: {}, headers } as const;
    expect(readableBy("https://page.example", response).headers).toEqual({
      "Retry-After": "1",
      "Access-Control-Allow-Origin": "https://page.example",
      "Access-Control-Expose-Headers": "Retry-After",
    });
    expect(readableBy(undefined, response)).toBe(response);
  });
});
