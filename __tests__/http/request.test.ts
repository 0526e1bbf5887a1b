import type { IncomingMessage } from "node:http";
import {
  answerProblem,
  formProblem,
  headerValues,
  type HttpRequest,
  maxBodyBytes,
  prefersJson,
  readAddress,
  readForm,
  readInteractionId,
  readPath,
  readQuery,
} from "../../lib/http/request";
import { parsedRequestOf, requestOf } from "./http-messages";

describe("the target of a request (RFC 9112 §3.2)", () => {
  it.each([
    ["a path", "/login/token", "/login/token"],
    ["a path and a query", "/login/token?a=b?c", "/login/token"],
    ["a path that ends in a slash", "/login/", "/login/"],
    ["a URL", "https://host.example/login/token?a=b", "/login/token"],
    ["a URL with a port and other case", "HTTP://Host.Example:8080/login", "/login"],
    ["a URL whose path ends in a slash", "http://host.example/login/", "/login/"],
    ["a URL without a path", "http://host.example", ""],
    ["a URL with a query and no path", "http://host.example?a=b", ""],
    ["a URL in the path", "/http://host.example/login", "/http://host.example/login"],
    ["a URL of another scheme", "ws://host/http://host.example/login", "ws://host/http://host.example/login"],
    ["an asterisk", "*", "*"],
  ])("may be %s", (_, url, path) => {
    expect(readPath(requestOf({ url }))).toBe(path);
  });

  it("is the root where there is none", () => {
    expect(readPath({})).toBe("/");
    expect(readQuery({} as IncomingMessage).get("a")).toBeUndefined();
  });
});

describe("the address of the caller", () => {
  it.each<[string, { ip?: string; socket: { remoteAddress?: string } }, string]>([
    ["Express", { ip: "203.0.113.7", socket: { remoteAddress: "10.0.0.1" } }, "203.0.113.7"],
    ["the connection", { socket: { remoteAddress: "10.0.0.1" } }, "10.0.0.1"],
    ["a proxy that adds the port", { ip: "203.0.113.7:50123", socket: {} }, "203.0.113.7"],
    ["a proxy that adds the port, by IPv6", { ip: "[2001:db8::1]:50123", socket: {} }, "2001:db8::1"],
    ["a proxy that writes brackets only", { ip: "[2001:db8::1]", socket: {} }, "2001:db8::1"],
    ["Express, by IPv6", { ip: "2001:db8::1:5012", socket: {} }, "2001:db8::1:5012"],
    ["nowhere, once the client has gone", { socket: {} }, ""],
  ])("comes from %s", (_, req, address) => {
    expect(readAddress(req as HttpRequest)).toBe(address);
  });
});

describe("the interaction id that a page of the host received", () => {
  it.each<[string, string, unknown, string | undefined]>([
    ["the URL", "/sign-in?interaction=a", undefined, "a"],
    ["the form", "/sign-in", { interaction: "b" }, "b"],
    ["the URL rather than the form", "/sign-in?interaction=a", { interaction: "b" }, "a"],
    ["nowhere, where the form repeats it", "/sign-in", { interaction: ["b", "c"] }, undefined],
    ["nowhere, where the form leaves it empty", "/sign-in", { interaction: "" }, undefined],
    ["nowhere, where the form has inherited it", "/sign-in", Object.create({ interaction: "b" }), undefined],
    ["nowhere, with a body of null", "/sign-in", null, undefined],
    ["nowhere, with a body of text", "/sign-in", "interaction=b", undefined],
  ])("comes from %s", (_, url, body, id) => {
    expect(readInteractionId(requestOf({ url, body }))).toBe(id);
  });
});

const formType = "application/x-www-form-urlencoded";
const ofForm = { "Content-Type": formType };

describe("a form as it arrives (RFC 6749 §3.2)", () => {
  async function arriving(text: string, headers: Record<string, string> = ofForm) {
    const req = requestOf({ headers });
    req.push(text);
    req.push(null);
    return readForm(req);
  }

  it.each([
    formType,
    `${formType};charset=utf-8`,
    `${formType} ; charset=utf-8`,
    ` ${formType.toUpperCase()}`,
  ])("is of the media type %s (RFC 9110 §8.3.1)", async (type) => {
    expect((await arriving("a=b", { "Content-Type": type })).kind).toBe("form");
  });

  it.each(["identity", "Identity"])("may name the encoding %s (RFC 9110 §8.4.1)", async (encoding) => {
    expect((await arriving("a=b", { ...ofForm, "Content-Encoding": encoding })).kind).toBe("form");
  });

  it.each<[string, Record<string, string>]>([
    ["no media type", {}],
    ["another media type", { "Content-Type": "application/json" }],
    ["a content encoding", { ...ofForm, "Content-Encoding": "gzip" }],
  ])("is not read with %s", async (_, headers) => {
    await expect(arriving("a=b", headers)).resolves.toEqual({ kind: "wrong-media-type" });
  });

  it.each<[string, (text: string) => Record<string, string>]>([
    ["with its length", (text) => ({ ...ofForm, "Content-Length": String(text.length) })],
    ["in chunks", () => ofForm],
  ])("may have 64 KB, and no more, %s", async (_, headersFor) => {
    const most = `a=${"x".repeat(maxBodyBytes - 2)}`;
    const form = await arriving(most, headersFor(most));
    expect(form.kind === "form" && form.parameters.get("a")).toBe(most.slice(2));
    await expect(arriving(`${most}x`, headersFor(`${most}x`))).resolves.toEqual({ kind: "too-large" });
  });

  describe.each(["utf8", "latin1", "hex", "base64"] as const)(
    "as %s, by setEncoding of the host",
    (encoding) => {
      async function arrivingAsText(...chunks: readonly Buffer[]) {
        const bytes = Buffer.concat(chunks).length;
        const req = requestOf({ headers: { ...ofForm, "Content-Length": String(bytes) } });
        req.setEncoding(encoding);
        for (const chunk of chunks) req.push(chunk);
        req.push(null);
        return readForm(req);
      }

      it("is the same, also where a letter is cut in two", async () => {
        const bytes = Buffer.from("a=é");
        for (const cut of [0, 1, 3]) {
          const form = await arrivingAsText(bytes.subarray(0, cut), bytes.subarray(cut));
          expect(form.kind === "form" && form.parameters.get("a")).toBe("é");
        }
      });

      it("may have 64 KB, and no more, of bytes and not of letters", async () => {
        const most = Buffer.from(`a=${"é".repeat(maxBodyBytes / 2 - 1)}`);
        expect((await arrivingAsText(most)).kind).toBe("form");
        expect((await arrivingAsText(most, Buffer.from("x"))).kind).toBe("too-large");
      });
    },
  );

  it("is empty where a parser of the host has made a list of it, which is not walked through", async () => {
    const entries = jest.spyOn(Object, "entries");
    const form = await readForm(parsedRequestOf({ headers: ofForm, body: ["client_id=web"] }));
    expect(form.kind === "form" && form.parameters.get("0")).toBeUndefined();
    expect(entries.mock.calls.filter(([value]) => Array.isArray(value))).toEqual([]);
    entries.mockRestore();
  });

  it("is not read where the client disconnects while it is sending", async () => {
    const gone = "the client disconnected while it was sending the request";
    const req = requestOf({ headers: ofForm });
    const form = readForm(req);
    req.push("a=");
    setImmediate(() => req.destroy());
    await expect(form).rejects.toThrow(gone);
    const before = requestOf({ headers: ofForm });
    before.destroy();
    await expect(readForm(before)).rejects.toThrow(gone);
  });

  it("tells of what it cannot be, and what to do", () => {
    const told = (["too-large", "not-utf8", "wrong-media-type", "taken"] as const).map((kind) => {
      const { error, code, situation } = answerProblem({ kind });
      expect(formProblem({ kind })).toMatchObject({ error, code, situation: undefined });
      return [error, situation, code];
    });
    expect(told).toEqual([
      ["invalid_request", "answer", "form-too-large"],
      ["invalid_request", "answer", "form-not-utf8"],
      ["invalid_request", "answer", "body-not-a-form"],
      ["invalid_request", "answer", "body-taken"],
    ]);
  });
});

/** Reads what a parser has left. */
function parsed(body: unknown) {
  return readForm(parsedRequestOf({ headers: ofForm, body }));
}

describe("a form as a parser of the host has left it (RFC 6749 §3.2)", () => {
  it.each<[string, unknown]>([
    ["an object", { a: "b" }],
    ["text", "a=b"],
    ["bytes", Buffer.from("a=b")],
  ])("is %s", async (_, body) => {
    const form = await parsed(body);
    expect(form.kind === "form" && form.parameters.get("a")).toBe("b");
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["nothing", undefined],
    ["a number", 1],
  ])("has no parameters where it is %s", async (_, body) => {
    const form = await parsed(body);
    expect(form.kind === "form" && form.parameters.get("a")).toBeUndefined();
    expect(form.kind).toBe("form");
  });

  it.each<[string, unknown, Record<string, string>, string]>([
    ["nothing of many bytes", undefined, { "Content-Length": "3" }, "taken"],
    ["nothing of chunks", undefined, { "Transfer-Encoding": "chunked" }, "taken"],
    ["an empty object of many bytes", {}, { "Content-Length": "3" }, "taken"],
    ["null of many bytes", null, { "Content-Length": "3" }, "taken"],
    ["a parameter of many bytes", { a: "b" }, { "Content-Length": "3" }, "form"],
    ["nothing of an empty body", undefined, { "Content-Length": "0" }, "form"],
    ["an empty object of two bytes, such as &&", {}, { "Content-Length": "2" }, "form"],
  ])("was taken away, or not, where a parser has left %s", async (_, body, headers, kind) => {
    expect((await readForm(parsedRequestOf({ headers: { ...ofForm, ...headers }, body }))).kind).toBe(kind);
  });

  it("is refused where bytes are not UTF-8 (Appendix B)", async () => {
    await expect(parsed(Buffer.from([0xff]))).resolves.toEqual({ kind: "not-utf8" });
  });

  const most = maxBodyBytes;
  it.each<[string, (length: number) => unknown]>([
    ["text", (length) => "x".repeat(length)],
    ["bytes", (length) => Buffer.alloc(length, "x")],
    ["one long value", (length) => ({ a: "x".repeat(length - 2) })],
    ["one long name", (length) => ({ ["x".repeat(length - 2)]: "b" })],
    [
      "two bytes in each letter",
      (length) => ({ a: `${"ä".repeat(length / 2 - 2)}${"x".repeat(2 + (length % 2))}` }),
    ],
    ["several names", (length) => ({ a: "b", cd: "e", f: "x".repeat(length - 11) })],
  ])("may have 64 KB, and no more, with %s", async (_, bodyOf) => {
    expect((await parsed(bodyOf(most))).kind).toBe("form");
    await expect(parsed(bodyOf(most + 1))).resolves.toEqual({ kind: "too-large" });
  });

  it("does not count values that are not text: they may have been written in any length", async () => {
    expect((await parsed({ a: ["x".repeat(most)] })).kind).toBe("form");
  });
});

describe("the values of a header (RFC 9110 §5.3)", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["none", [], []],
    ["one", ["Authorization", "Basic eDp5"], ["Basic eDp5"]],
    ["two", ["Authorization", "a", "Authorization", "a"], ["a", "a"]],
    ["two in different case", ["authorization", "a", "Host", "b", "AUTHORIZATION", "c"], ["a", "c"]],
    ["one, and two that have it as their value", ["Authorization", "x", "A", "authorization"], ["x"]],
    ["one that is empty", ["Authorization", ""], [""]],
    ["a name without a value, which a test double may have", ["Authorization"], [""]],
    ["other headers twice", ["Accept", "a", "Accept", "b"], []],
  ])("are all of them: %s", (_, rawHeaders, found) => {
    expect(headerValues({ rawHeaders } as IncomingMessage, "authorization")).toEqual(found);
  });
});

describe("a program rather than a person (RFC 9110 §12.5.1)", () => {
  it.each([
    [undefined, false],
    ["*/*", false],
    ["text/html", false],
    ["application/json", true],
    ["Application/JSON", true],
    ["application/json, Text/HTML", false],
    ["application/json, text/plain, */*", true],
    ["application/json, text/html", false],
  ])("accepts %s: %s", (accept, expected) => {
    const headers: Record<string, string> = accept === undefined ? {} : { Accept: accept };
    expect(prefersJson(requestOf({ headers }))).toBe(expected);
  });
});
