/** What all pages of `authmount/portal` share. RFC 6749 §10.12 (CSRF), 9700 §4.16 (framing), 9111 §5.2.2.5 (no-store). */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express, { type Express } from "express";
import request from "supertest";
import type { Authentication } from "../../lib";
import { newBrowser } from "../browser/browser";
import { parsers } from "../requests/parsers";
import { rawRequest } from "../requests/raw-request";
import { express4 } from "../servers/express4";
import { everythingUnderWay } from "../storage/latch";
import { counterHost, counterPages, people, type PortalHost, portalHost } from "./portal-host";

async function count(made: PortalHost): Promise<string | undefined> {
  return /<p>(\d+)/.exec((await made.get()).text)?.[1];
}

function allowAll(app: Express): void {
  app.use((_, res, next) => {
    res.set({ "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true" });
    next();
  });
}

describe("a page of the portal (RFC 9700 §4.16)", () => {
  it("runs no script, loads nothing, is not framed and not stored", async () => {
    const { status, headers, text } = await counterHost().get();
    const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https:`,
      "x-frame-options": "DENY",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  });

  it("may lead by http, too, where it is reached by http itself", async () => {
    const { headers } = await counterHost({ origin: "http://localhost:3000" }).get();
    expect(headers["content-security-policy"]).toMatch(/; form-action 'self' http: https:$/);
  });

  it("cannot be read by scripts of other sites, although the host allows CORS everywhere", async () => {
    const { headers } = await counterHost({}, { before: allowAll }).get();
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it("escapes the name of the person, and speaks their language", async () => {
    const made = counterHost();
    made.person = () => ({ ...people.alice, displayName: "<b>Al" });
    expect((await made.get()).text).toContain("<h1>Counter of <bdi>&lt;b&gt;Al</bdi></h1>");
    const german = await made.get({ headers: { "Accept-Language": "de-AT" } });
    expect(german.text).toContain('<html lang="de" dir="ltr">');
    expect(german.text).toContain("<title>Zähler von &lt;b&gt;Al</title>");
  });

  it("has the host's name, and texts of the host", async () => {
    const made = counterHost({
      texts: { he: { title: "מונה" } },
      options: { ...counterOptions(), pages: { name: "A & B" } },
    });
    const { text } = await made.get({ headers: { "Accept-Language": "he" } });
    expect(text).toContain('<html lang="he" dir="rtl">');
    expect(text).toContain("<header>A &amp; B</header>");
    expect(text).toContain("<h1>מונה</h1>");
  });

  it("is rendered by the host, or by the library where that leaves it", async () => {
    const made = counterHost({
      render: ({ main, title }) => (main.includes("<p>0") ? undefined : `<p>1\r\n${title}`),
    });
    const page = await made.get();
    expect(page.text).toContain("<!doctype html>");
    await made.send({}, { page });
    expect((await made.get()).text).toBe("<p>1\nCounter of <bdi>Alice</bdi>");
  });

  it("fails where render returns something else, such as a promise that rejects", async () => {
    const render = (() => Promise.reject(new Error("late"))) as unknown as () => string;
    const made = counterHost({ render });
    expect((await made.get()).status).toBe(500);
    expect(made.failures).toMatchObject([{ code: "portal-page-not-rendered" }]);
  });

  it("answers HEAD, and leaves other methods and paths to the host", async () => {
    const { app } = counterHost();
    app.use((_, res) => void res.status(404).send("the host's"));
    const head = await request(app).head("/apps");
    expect([head.status, head.text ?? ""]).toEqual([200, ""]);
    expect((await request(app).put("/apps")).text).toBe("the host's");
    expect((await request(app).get("/apps/other")).text).toBe("the host's");
  });
});

function counterOptions() {
  const made = counterHost();
  return { baseUrl: "https://host.example/login", apis: {}, storage: made.host.storage };
}

describe("a form of the portal (RFC 6749 §10.12)", () => {
  it("changes something, tells the host, and leads back by 303", async () => {
    const onChange = jest.fn();
    const made = counterHost({ onChange });
    const answer = await made.send({}, { page: await made.get() });
    expect([answer.status, answer.headers["location"]]).toEqual([303, "?"]);
    expect(onChange.mock.calls).toEqual([[1]]);
    expect(await count(made)).toBe("1");
  });

  it.each<[string, string | undefined]>([
    ["no Origin", undefined],
    ["an empty Origin", ""],
    ["null", "null"],
    ["a sibling site", "https://other.host.example"],
    ["the site above", "https://example"],
    ["another port", "https://host.example:8443"],
    ["plain http", "http://host.example"],
    ["a longer name", "https://host.example.evil.example"],
    ["another case", "https://HOST.example"],
    ["two origins", "https://host.example, https://evil.example"],
  ])("is refused with %s, before the host is asked who is there", async (_, sender) => {
    const made = counterHost();
    const page = await made.get();
    made.person = () => {
      throw new Error("asked");
    };
    const answer = await made.send({}, { page, headers: { Origin: sender } });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("Your answer wasn’t accepted");
    expect(answer.text).toContain("<code>invalid_request</code>");
    expect(answer.text).toContain("(portal-form-of-another-site)");
    expect(made.failures).toEqual([]);
    made.person = () => people.alice;
    expect(await count(made)).toBe("0");
  });

  it("is refused with two Origin headers", async () => {
    const made = counterHost();
    const headers = { Origin: ["https://host.example", "https://evil.example"] };
    const answer = await rawRequest(made.app, { method: "POST", path: "/apps", headers });
    expect(answer.status).toBe(403);
  });

  it("comes from the origin that the host names", async () => {
    const made = counterHost({ origin: "https://accounts.example:8443" });
    const page = await made.get();
    expect((await made.send({}, { page })).status).toBe(403);
    const headers = { Origin: "https://accounts.example:8443" };
    expect((await made.send({}, { page, headers })).status).toBe(303);
  });

  it("says nothing of reasons in production", async () => {
    const before = process.env["NODE_ENV"];
    process.env["NODE_ENV"] = "production";
    try {
      const answer = await counterHost().send({}, { headers: { Origin: "null" } });
      expect(answer.text).not.toContain("portal-form");
    } finally {
      process.env["NODE_ENV"] = before;
    }
  });

  it("is not taken from somebody else, or a second time", async () => {
    const made = counterHost();
    const page = await made.get();
    made.person = () => people.bob;
    const byBob = await made.send({}, { page });
    expect([byBob.status, /<p>(.*?)<\/p>/.exec(byBob.text)?.[1]]).toEqual([409, "0 outdated"]);
    made.person = () => people.alice;
    expect((await made.send({}, { page })).status).toBe(303);
    expect((await made.send({}, { page })).status).toBe(409);
    expect(await count(made)).toBe("1");
  });

  it("may lead to another page, or be answered by one that shows a secret", async () => {
    const onChange = jest.fn();
    const pages = counterPages((pressed) =>
      pressed === "on"
        ? { kind: "done", change: undefined, to: "?client=a" }
        : {
            kind: "page",
            change: 7,
            page: { title: "S", main: "<p>7</p>" },
          },
    );
    const made = counterHost({ onChange }, { pages });
    expect((await made.send({ press: "on" })).headers["location"]).toBe("?client=a");
    expect(onChange).not.toHaveBeenCalled();
    const { status, text, headers } = await made.send({ press: "show" });
    expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(text).toContain("<p>7</p>");
    expect(onChange.mock.calls).toEqual([[7]]);
  });

  it.each(Object.entries(parsers))("is read behind %s", async (_, handlers) => {
    const before = (app: Express): void => void (handlers.length > 0 && app.use(...handlers));
    const made = counterHost({}, { before });
    expect((await made.send({}, { page: await made.get() })).status).toBe(303);
  });

  it("is refused when it is huge, in another encoding, JSON, or already taken", async () => {
    const made = counterHost();
    expect((await made.send({ seen: "a".repeat(70_000) })).status).toBe(413);
    const post = (): request.Test => request(made.app).post("/apps").set({ Origin: "https://host.example" });
    expect((await post().send({ seen: "a" })).status).toBe(400);
    const taken = counterHost(
      {},
      { before: (app) => void app.use((req, _, next) => void req.resume().on("end", next)) },
    );
    const answer = await taken.send({ seen: "a" });
    expect([answer.status, /\((body-taken)\)/.exec(answer.text)?.[1]]).toEqual([400, "body-taken"]);
  });

  it("is taken below a path of routers, and in Express 4", async () => {
    const app = express4();
    const inner = counterHost();
    app.use("/a/b", inner.app);
    const send = { path: "/a/b/apps" };
    const made = { ...inner, ...portalHost(() => express.Router(), { app, host: inner.host }) };
    const page = await made.get(send);
    expect((await made.send({}, { ...send, page })).status).toBe(303);
    const four = counterHost({}, { app: express4() });
    expect((await four.send({}, { page: await four.get() })).status).toBe(303);
    expect((await newBrowser(four.app).get("/apps")).text).toContain("<p>1</p>");
  });
});

/** Sends the first part of a form, and is gone when the host has seen it. */
async function leaveWhileSending({ app }: PortalHost, seen: Promise<express.Request>): Promise<void> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const head = [
    "POST /apps HTTP/1.1",
    "Host: host.example",
    "Origin: https://host.example",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Length: 100",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\nseen=a`);
  const req = await seen;
  const closed = new Promise((done) => req.once("close", done));
  await everythingUnderWay();
  socket.destroy();
  await closed;
  await everythingUnderWay();
  server.close();
}

describe("a browser that goes away while it sends a form", () => {
  it("is nobody's failure: nothing changes, and the host's error handler hears nothing", async () => {
    let see!: (req: express.Request) => void;
    const seen = new Promise<express.Request>((resolve) => (see = resolve));
    const before = (app: Express): void =>
      void app.use((req, _, next) => {
        see(req);
        next();
      });
    const made = counterHost({}, { before });
    await leaveWhileSending(made, seen);
    expect((await seen).readableAborted).toBe(true);
    expect(made.failures).toEqual([]);
    expect(await count(made)).toBe("0");
  });
});

describe("person", () => {
  it("is told whether something is about to change, and may send to a page first", async () => {
    const made = counterHost();
    const page = await made.get();
    const person = jest.fn((): Authentication => ({
      kind: "interaction",
      url: "https://login.example/?back=1",
    }));
    made.person = person;
    const [shown, sent] = [await made.get(), await made.send({}, { page })];
    expect([shown.status, sent.status]).toEqual([302, 303]);
    expect(sent.headers["location"]).toBe("https://login.example/?back=1");
    expect(person.mock.calls).toMatchObject([[{ change: false }], [{ change: true }]]);
    made.person = () => people.alice;
    expect(await count(made)).toBe("0");
  });

  it("leaves a person who is denied to the host's next handler", async () => {
    const made = counterHost();
    made.app.use((_, res) => void res.status(403).send("the host's"));
    made.person = () => ({ kind: "denied" });
    expect((await made.get()).text).toBe("the host's");
    expect((await made.send({})).text).toBe("the host's");
  });

  it.each<[string, () => unknown, object]>([
    [
      "throws",
      () => {
        throw new TypeError("down");
      },
      { message: "down" },
    ],
    ["rejects with nothing", () => Promise.reject(), { code: "portal-callback-failed" }],
    [
      "throws what Express takes for a way on",
      () => {
        throw "router";
      },
      { code: "portal-callback-failed", cause: "router" },
    ],
    ["answers nothing", () => undefined, { code: "wrong-answer-of-person" }],
    ["answers a name", () => "alice", { code: "wrong-answer-of-person" }],
    [
      "misspells a key",
      () => ({ kind: "authenticated", subjekt: "alice" }),
      { code: "wrong-answer-of-person" },
    ],
    ["names nobody", () => ({ kind: "authenticated", subject: "" }), { code: "wrong-answer-of-person" }],
    [
      "leads to a script",
      () => ({ kind: "interaction", url: "javascript:alert(1)" }),
      { code: "wrong-answer-of-person" },
    ],
  ])("shows nothing when it %s", async (_, person, failure) => {
    const made = counterHost();
    made.person = person as PortalHost["person"];
    expect(await made.get()).toMatchObject({ status: 500, text: "the host's own error page" });
    expect(await made.send({})).toMatchObject({ status: 500 });
    expect(made.failures).toMatchObject([failure, failure]);
  });
});

describe("onChange", () => {
  it("is waited for; what it throws goes to the host, and the change stays", async () => {
    const made = counterHost({ onChange: () => Promise.reject(new Error("no audit log")) });
    expect((await made.send({}, { page: await made.get() })).status).toBe(500);
    expect(made.failures).toMatchObject([{ message: "no audit log" }]);
    expect(await count(made)).toBe("1");
  });
});

describe("the options", () => {
  const nothing = undefined as unknown as () => undefined;
  it.each<[string, object, string]>([
    ["no auth", { auth: {} }, "portal-without-server"],
    ["no storage", { options: { baseUrl: "https://host.example", apis: {} } }, "portal-without-server"],
    ["no options", { options: null }, "portal-without-server"],
    [
      "an address that is none",
      { options: { ...counterOptions(), baseUrl: "/oauth" } },
      "portal-without-server",
    ],
    ["no APIs", { options: { ...counterOptions(), apis: [] } }, "portal-without-server"],
    ["no texts for a language", { texts: { de: null } }, "portal-texts-wrong"],
    ["a misspelt option", { texte: {} }, "unknown-key"],
    ["an undefined one", { onChange: nothing }, "undefined-key"],
    ["a person that is no function", { person: {} }, "portal-not-a-function"],
    ["a render that is no function", { render: "<p>" }, "portal-not-a-function"],
    ["an origin with a path", { origin: "https://host.example/" }, "portal-origin-wrong"],
    ["an origin that is none", { origin: "host.example" }, "portal-origin-wrong"],
    ["an origin without a host", { origin: "https://" }, "portal-origin-wrong"],
    ["an origin of files", { origin: "ftp://host.example" }, "portal-origin-wrong"],
    ["an origin of sockets", { origin: "wss://host.example" }, "portal-origin-wrong"],
    ["an origin with http in its middle", { origin: "ws://http:81" }, "portal-origin-wrong"],
    ["an unknown text", { texts: { de: { titel: "a" } } }, "portal-texts-wrong"],
    ["one unknown text of two", { texts: { de: { title: "a", titel: "a" } } }, "portal-texts-wrong"],
    ["a text that is none", { texts: { de: { title: 1 } } }, "portal-texts-wrong"],
    ["a language that is none", { texts: { german_: { title: "a" } } }, "portal-texts-wrong"],
  ])("are refused with %s", (_, options, code) => {
    expect(() => counterHost(options)).toThrow(expect.objectContaining({ name: "TypeError", code }));
  });

  it.each([
    [{ auth: {} }, "auth must be what createAuthServer returned, and options what it was given."],
    [{ person: {} }, "person must be a function."],
    [
      { origin: "host.example" },
      'origin must be like "https://accounts.example", without a path or a slash at the end.',
    ],
    [
      { texts: { de: null } },
      'texts must have languages such as "de-AT", each with texts. Known texts: title.',
    ],
  ])("are refused with a sentence for the host's developer: %j", (options, message) => {
    expect(() => counterHost(options as object)).toThrow(
      expect.objectContaining({ message: `counterPages: ${message}` }),
    );
  });

  it("are copied: the host may change its own objects later", async () => {
    const pages = { name: "Shop" };
    const made = counterHost({ options: { ...counterOptions(), pages } });
    pages.name = "Other";
    expect((await made.get()).text).toContain("<header>Shop</header>");
  });
});
