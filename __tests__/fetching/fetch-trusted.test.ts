import { fetchTrusted, fetchTrustedDocument } from "../../lib/fetching/fetch-trusted";

afterEach(() => void jest.restoreAllMocks());

const url = "https://issuer.example/introspect";

/** Every fetch is answered like this. Returns what is asked. */
function answering(...[body, init]: ConstructorParameters<typeof Response>) {
  return jest.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(body, init));
}

/** Every fetch rejects with this. */
function rejecting(error: unknown): void {
  jest.spyOn(globalThis, "fetch").mockRejectedValue(error);
}

function failed(reason: string) {
  return { kind: "failed", code: "named-server-failed", reason };
}

describe("a request to a server that the host has named (RFC 7662 §2.1)", () => {
  it("says what it takes and who asks, follows no redirect, and has five seconds", async () => {
    const timeout = jest.spyOn(AbortSignal, "timeout");
    const asked = answering("{}");
    const body = new URLSearchParams({ token: "T" });
    await fetchTrusted(url, { method: "POST", headers: { Authorization: "Basic eA==" }, body });
    const headers = { Authorization: "Basic eA==", Accept: "application/json", "User-Agent": "authmount" };
    expect(asked.mock.calls).toEqual([
      [url, { method: "POST", headers, body, redirect: "error", signal: expect.any(AbortSignal) }],
    ]);
    expect(timeout.mock.calls).toEqual([[5_000]]);
  });
});

describe("the answer of such a server", () => {
  it.each([
    [200, {}, undefined],
    [401, { "Cache-Control": "no-store" }, 0],
    [200, { "Cache-Control": "public, max-age=60", Age: "10" }, 50],
  ])("has its status, its text and its freshness: %i %j", async (status, headers, maxAgeSeconds) => {
    answering(' {"active":true}', { status, headers });
    const answer = { kind: "answered", status, text: ' {"active":true}', maxAgeSeconds };
    expect(await fetchTrusted(url)).toEqual(answer);
  });

  it("may have 65,536 bytes, and no more", async () => {
    const text = JSON.stringify("x".repeat(65_534));
    answering(text);
    expect(await fetchTrusted(url)).toMatchObject({ kind: "answered", text });
    answering(`${text} `);
    expect(await fetchTrusted(url)).toEqual(failed("the answer is larger than 64 KB"));
  });

  it.each([
    ["<html>", 502],
    ["", 200],
    [null, 204],
  ])("is JSON, so not %j", async (body, status) => {
    answering(body, { status });
    expect(await fetchTrusted(url)).toEqual(failed(`the answer (status ${status}) is not JSON`));
  });
});

describe("a server that does not answer", () => {
  const noAnswer = "no connection, a redirect, or an answer that was cut off";

  it.each(["ECONNREFUSED", "CERT_HAS_EXPIRED", "x".repeat(64)])(
    "is reported with the code of what went wrong: %s",
    async (code) => {
      rejecting(new TypeError("fetch failed", { cause: { code } }));
      expect(await fetchTrusted(url)).toEqual(failed(`${noAnswer} (${code})`));
    },
  );

  it.each([
    ["an error without a cause", new TypeError("fetch failed")],
    ["a cause without a code", new TypeError("fetch failed", { cause: new Error("x") })],
    ["a cause that is null", { cause: null }],
    ["nothing", undefined],
    ["a code that is a number", { cause: { code: 42 } }],
    ["an empty code", { cause: { code: "" } }],
    ["a code that is too long", { cause: { code: "x".repeat(65) } }],
    ["a text in front of a code", { cause: { code: "to issuer.example: ECONNREFUSED" } }],
    ["a text behind a code", { cause: { code: "ECONNREFUSED issuer.example" } }],
  ])("is reported without a code for %s", async (_, error) => {
    rejecting(error);
    expect(await fetchTrusted(url)).toEqual(failed(noAnswer));
  });

  it("in time is reported as late", async () => {
    jest.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
    rejecting(new DOMException("aborted", "TimeoutError"));
    expect(await fetchTrusted(url)).toEqual(failed("no answer within five seconds"));
  });
});

describe("a document of such a server (RFC 8414 §3.2)", () => {
  it("comes with status 200", async () => {
    answering("{}", { headers: { "Cache-Control": "max-age=60" } });
    expect(await fetchTrustedDocument(url)).toEqual({ kind: "fetched", text: "{}", maxAgeSeconds: 60 });
  });

  it.each([201, 400, 404, 500])("does not come with status %i, though it is JSON", async (status) => {
    answering("{}", { status });
    expect(await fetchTrustedDocument(url)).toEqual(failed(`the answer has status ${status}`));
  });

  it("does not come if there is no answer", async () => {
    answering("<html>");
    expect(await fetchTrustedDocument(url)).toEqual(failed("the answer (status 200) is not JSON"));
  });
});
