import type { ServerResponse } from "node:http";
import type { OpenTrace } from "../../lib/http/request-trace";
import { exposing, writeResponse } from "../../lib/http/response";
import { OAuthError } from "../../lib/protocol/oauth-error";
import {
  errorPage,
  jsonError,
  type ProtocolResponse,
  publicDocument,
} from "../../lib/protocol/protocol-response";
import { answerTo, type Received, requestOf, type RequestParts } from "./http-messages";

const refusal = new OAuthError("invalid_grant", {
  description: "The code is unknown.",
  code: "code-unknown",
});
const answers = {
  json: { kind: "json", status: 200, body: { text: "ä" } },
  redirect: { kind: "redirect", location: "https://client.example/cb?code=x" },
  page: { kind: "page", html: "<p>ä</p>", formTargets: ["https://client.example"] },
  "error-page": errorPage(refusal),
  empty: { kind: "empty", status: 405, headers: { Allow: "POST" } },
  preflight: { kind: "empty", status: 204 },
  document: publicDocument({ a: 1 }),
} satisfies Record<string, ProtocolResponse>;
type AnswerName = keyof typeof answers;
const names = Object.keys(answers) as AnswerName[];

interface Setting {
  readonly request?: RequestParts;
  /** What middleware of the host does before. */
  readonly before?: (res: ServerResponse) => void;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly trace?: OpenTrace;
}

function write(response: ProtocolResponse, { request = {}, before, ...rest }: Setting = {}): Received {
  const req = requestOf(request);
  const { res, received } = answerTo(req);
  before?.(res);
  writeResponse({ req, res, ...rest }, response);
  return received();
}

function valuesOf({ headers }: Received, wanted: string): readonly string[] {
  return headers.filter(([name]) => name === wanted).map(([, value]) => value);
}

/** Middleware that watches answers, as `on-headers` does before version 1.1: it sees what `writeHead` is called with. */
function watching(seen: unknown[][]): (res: ServerResponse) => void {
  return (res) => {
    const own = res.writeHead.bind(res);
    res.writeHead = (...given: readonly unknown[]) => {
      seen.push([...given]);
      return own(...(given as [number]));
    };
  };
}

function setTheirCookie(res: ServerResponse): void {
  res.setHeader("Set-Cookie", "theirs=1");
}

function setTheirVary(res: ServerResponse): void {
  res.setHeader("Vary", "Accept-Encoding");
}

const neverStored = [
  ["x-content-type-options", "nosniff"],
  ["cache-control", "no-store"],
  ["pragma", "no-cache"],
];

describe("the headers of an answer", () => {
  it("keep JSON from being stored and guessed at, and say how many bytes follow (RFC 6749 §5.1)", () => {
    expect(write(answers.json)).toEqual({
      status: 200,
      headers: [...neverStored, ["content-type", "application/json"], ["content-length", "13"]],
      body: '{"text":"ä"}',
    });
  });

  it.each([
    ["GET", 302],
    ["POST", 303],
  ])("redirect a %s with %i, so that no form is sent on (RFC 9700 §4.12, §4.2.4)", (method, status) => {
    expect(write(answers.redirect, { request: { method } })).toEqual({
      status,
      headers: [
        ...neverStored,
        ["location", "https://client.example/cb?code=x"],
        ["referrer-policy", "no-referrer"],
        ["content-length", "0"],
      ],
      body: "",
    });
  });

  it("show a page that may not be stored", () => {
    const received = write(answers.page);
    expect(received).toMatchObject({ status: 200, body: "<p>ä</p>" });
    expect(received.headers.slice(0, 3)).toEqual(neverStored);
    expect(valuesOf(received, "content-length")).toEqual(["9"]);
  });

  it("state no length where there can be no body (RFC 9110 §8.6)", () => {
    expect(write(answers.preflight)).toEqual({ status: 204, headers: neverStored, body: "" });
    expect(valuesOf(write(answers.empty), "content-length")).toEqual(["0"]);
  });

  it("let a public document be stored, as it says itself (RFC 9111 §5.2.2)", () => {
    const received = write(answers.document);
    expect(valuesOf(received, "cache-control")).toEqual(["public, max-age=300"]);
    expect(valuesOf(received, "pragma")).toEqual([]);
  });

  it.each([
    ["application/json", "application/json"],
    ["text/html", "text/html; charset=utf-8"],
    [undefined, "text/html; charset=utf-8"],
    ["text/html, application/json", "text/html; charset=utf-8"],
  ])("refuse a caller that accepts %s as %s (RFC 9110 §12.5.1)", (accept, type) => {
    const headers = accept === undefined ? {} : { Accept: accept };
    const received = write(answers["error-page"], { request: { headers } });
    expect(received.status).toBe(400);
    expect(valuesOf(received, "content-type")).toEqual([type]);
  });

  it.each(["application/json", "text/html"])(
    "refuse a caller that accepts %s with the status of the page",
    (accept) => {
      const page = { ...errorPage(refusal), status: 413 };
      expect(write(page, { request: { headers: { Accept: accept } } }).status).toBe(413);
    },
  );

  it("have every cookie of the answer on its own line (RFC 6265 §3)", () => {
    const cookies = ["a=1; Path=/", "b=2; Path=/"];
    for (const response of [answers.redirect, answers.page, answers["error-page"]]) {
      expect(valuesOf(write({ ...response, cookies }, { before: setTheirCookie }), "set-cookie")).toEqual([
        "theirs=1",
        ...cookies,
      ]);
    }
  });

  it.each(names)("have no cookie where the answer has none: %s", (name) => {
    expect(valuesOf(write(answers[name]), "set-cookie")).toEqual([]);
  });
});

/** What the host's middleware sets on everything. */
const ofHost = {
  "x-frame-options": "SAMEORIGIN",
  "content-security-policy": "default-src 'self'",
  "access-control-allow-origin": "https://app.example",
  "access-control-allow-credentials": "true",
  "x-request-id": "7",
};

function setAll(res: ServerResponse): void {
  for (const [name, value] of Object.entries({ ...ofHost, "cache-control": "public" }))
    res.setHeader(name, value);
}

const framing = ["x-frame-options", "content-security-policy"];
const cors = ["access-control-allow-origin", "access-control-allow-credentials"];

/** Runs with Node's own `writeHead`, and with one that middleware has put in its place. */
describe.each<[string, (res: ServerResponse) => void, string]>([
  ["Node's writeHead", setAll, "public, max-age=300"],
  [
    "another writeHead",
    (res) => {
      watching([])(res);
      setAll(res);
    },
    "private, max-age=300",
  ],
])("headers of the host, with %s (RFC 9700 §2.6, §4.16)", (_, before, ofDocument) => {
  const lost: Record<AnswerName, readonly string[]> = {
    json: [],
    redirect: [...framing, ...cors],
    page: [...framing, ...cors],
    "error-page": [...framing, ...cors],
    empty: [],
    preflight: [],
    document: ["access-control-allow-origin"],
  };

  it.each(names)("stay unless they harm the answer: %s", (name) => {
    const received = write(answers[name], { before });
    const kept = Object.entries(ofHost).filter(([header, value]) =>
      valuesOf(received, header).includes(value),
    );
    const stays = Object.keys(ofHost).filter((header) => !lost[name].includes(header));
    expect(kept.map(([header]) => header)).toEqual(stays);
  });

  it.each(names)("cannot change whether it is stored: %s", (name) => {
    const stored = name === "document" ? ofDocument : "no-store";
    expect(valuesOf(write(answers[name], { before }), "cache-control")).toEqual([stored]);
  });
});

describe("headers of a route", () => {
  const headers = { Vary: "Origin" };

  it("are added", () => {
    expect(valuesOf(write(answers.json, { headers }), "vary")).toEqual(["Origin"]);
  });

  it("are added to what the host has set (RFC 9110 §12.5.5)", () => {
    expect(valuesOf(write(answers.json, { headers, before: setTheirVary }), "vary")).toEqual([
      "Accept-Encoding, Origin",
    ]);
  });

  it.each([
    [true, { "Access-Control-Expose-Headers": "WWW-Authenticate" }],
    [false, undefined],
  ])("name one for scripts where the host lets them read: %s (Fetch standard, CORS)", (allowed, exposed) => {
    const { res } = answerTo(requestOf({}));
    if (allowed) res.setHeader("Access-Control-Allow-Origin", "https://app.example");
    expect(exposing(res, "WWW-Authenticate")).toEqual(exposed);
  });
});

describe("a writeHead that is not Node's", () => {
  it.each(names)("gets the status alone, and the client gets the same: %s", (name) => {
    const seen: unknown[][] = [];
    const plain = write(answers[name]);
    const received = write(answers[name], { before: watching(seen) });
    if (name !== "document") expect(received).toEqual(plain);
    expect(received.body).toBe(plain.body);
    expect(seen).toEqual([[plain.status]]);
  });
});

/** Middleware that replaces `end` and sets a header there, as old session libraries and some loggers do. */
function settingAtEnd(res: ServerResponse): void {
  const own = res.end.bind(res);
  res.end = (...given: readonly unknown[]) => {
    res.setHeader("X-Time", "1");
    return own(...(given as [string]));
  };
}

describe("an end that is not Node's", () => {
  it.each(names)("can set headers, as it can behind Express: %s", (name) => {
    const plain = write(answers[name]);
    const received = write(answers[name], { before: settingAtEnd });
    const [ofDocument, ofOne] = ["public, max-age=300", "private, max-age=300"];
    expect(received).toEqual({
      ...plain,
      headers: expect.arrayContaining([
        ["x-time", "1"],
        ...plain.headers.map(([header, value]) => [header, value === ofDocument ? ofOne : value]),
      ]) as unknown,
    });
    expect(received.headers).toHaveLength(plain.headers.length + 1);
  });

  it.each<[string, (res: ServerResponse) => unknown, boolean]>([
    ["has begun: the connection ends", (res) => res.flushHeaders(), true],
    ["has ended: nothing is cut off", (res) => res.end(), false],
    ["has not begun: the host can still answer", () => undefined, false],
  ])("throws when the answer %s", (_, begin, isDestroyed) => {
    const { res } = answerTo(requestOf({}));
    const failure = new Error("the store is away");
    const own = res.end.bind(res);
    res.end = () => {
      res.end = own;
      begin(res);
      throw failure;
    };
    expect(() => writeResponse({ req: requestOf({}), res }, answers.json)).toThrow(failure);
    expect(res.destroyed).toBe(isDestroyed);
    // another answer of the host has another length
    expect(res.headersSent || !res.hasHeader("Content-Length")).toBe(true);
  });
});

describe("a public document beside a cookie of the host (RFC 9111 §3.5, §7.3)", () => {
  it.each<[string, (res: ServerResponse) => void]>([
    ["is set", setTheirCookie],
    ["may be set when the headers are written", watching([])],
    ["may be set when the answer ends", settingAtEnd],
  ])("is for no shared cache where the cookie %s", (_, before) => {
    const received = write(answers.document, { before });
    expect(valuesOf(received, "cache-control")).toEqual(["private, max-age=300"]);
  });
});

function timeOut(res: ServerResponse): void {
  res.writeHead(504).end("late");
}

describe("an answer that came too late", () => {
  it("changes nothing of what the host has sent", () => {
    const trace: OpenTrace = { endpoint: "token", method: "POST" };
    expect(write(jsonError(refusal), { before: timeOut, trace })).toMatchObject({ status: 504 });
    expect(trace).toStrictEqual({ endpoint: "token", method: "POST", status: 504 });
  });
});

describe("what those who watch requests are told", () => {
  const begin = { endpoint: "token", method: "POST" } as const;

  it.each<[string, ProtocolResponse, Partial<OpenTrace>]>([
    ["a success", answers.json, { status: 200 }],
    ["a refusal as JSON", jsonError(refusal), { status: 400, oauthError: "invalid_grant" }],
    [
      "a failure as JSON",
      jsonError(new OAuthError("server_error", { description: "Failed.", code: "server-failed" })),
      { status: 500, oauthError: "server_error" },
    ],
    [
      "a claim of the host that is called error",
      { kind: "json", status: 200, body: { active: true, error: "invalid_grant" } },
      { status: 200 },
    ],
    ["a redirect with a code", answers.redirect, { status: 303 }],
    [
      "a redirect with a refusal",
      { ...answers.redirect, error: "access_denied" },
      { status: 303, oauthError: "access_denied" },
    ],
    ["a page", answers.page, { status: 200 }],
    ["a refusal as a page", answers["error-page"], { status: 400, oauthError: "invalid_grant" }],
    ["an answer without a body", answers.empty, { status: 405 }],
  ])("%s", (_, response, told) => {
    const trace: OpenTrace = { ...begin };
    write(response, { trace });
    expect(trace).toStrictEqual({ ...begin, ...told });
  });

  it("no status where the client has disconnected while it was sending: it got no answer", () => {
    const trace: OpenTrace = { ...begin };
    const req = requestOf({});
    req.destroy();
    expect(req.readableAborted).toBe(true);
    writeResponse({ req, res: answerTo(req).res, trace }, jsonError(refusal));
    expect(trace).toStrictEqual(begin);
  });
});
