import { answerDocument, methodNotAllowed } from "../../lib/http/documents";
import { publicDocument } from "../../lib/protocol/protocol-response";
import { requestOf } from "../fixture/http-messages";

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
