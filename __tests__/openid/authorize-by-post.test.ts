import express, { type RequestHandler } from "express";
import request, { type Response } from "supertest";
import { authorizationParameters } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { encode, type Fields, localPath } from "../browser/browser";
import { outcomeOf } from "../browser/consent";
import { obtainTokens, type Tokens } from "../browser/journey";
import { type Pair, pairPath } from "../hosts/apis";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, type TestHost } from "../hosts/host";
import { hearAnswers, unsubscribeAfterEachTest } from "../requests/channels";
import { parsers } from "../requests/parsers";
import { rawRequest } from "../requests/raw-request";
import { provider } from "./provider";

stopClockForEachTest();
unsubscribeAfterEachTest();

const path = `${pairPath()}/authorize`;
const form = "application/x-www-form-urlencoded";

/** A good request of `web`, changed by `fields`. */
function asked(fields: Fields = {}): Fields {
  return { ...authorizationParameters("web"), scope: "openid", ...fields };
}

/** A form as a page of the client sends it: with its origin, and without our Lax cookies. */
async function post(
  host: TestHost,
  body: string,
  { pair, type = form }: { pair?: Pair; type?: string } = {},
) {
  const sent = request(host.app)
    .post(`${pairPath(pair)}/authorize`)
    .type(type)
    .accept("text/html");
  return sent.set({ Origin: "https://web.example", "Sec-Fetch-Site": "cross-site" }).send(body);
}

/** The parameters of the request to which the POST leads. */
function asGet(response: Response): Record<string, string> {
  expect(response.status).toBe(303);
  expect(response.headers["location"]).toMatch(new RegExp(`^https://host\\.example${path}\\?`));
  return redirectParameters(response);
}

/** A refusal on a page, which one event tells of. */
function expectPage(
  host: TestHost,
  response: Response,
  { status = 400, code }: { status?: number; code: string },
): void {
  expect([response.status, response.headers["location"]]).toEqual([status, undefined]);
  expect(response.headers["content-type"]).toMatch(/^text\/html/);
  expect(host.events).toMatchObject([{ kind: "authorization-denied", error: "invalid_request", code }]);
}

describe("authorization request by POST (OpenID Connect Core §3.1.2.1)", () => {
  it("leads to the same request by GET, which the browser sends with the cookies of the host", async () => {
    const host = provider();
    const response = await post(host, encode(asked({ nonce: "n-1", login_hint: "a b+c&d=é" })));
    expect(asGet(response)).toEqual(asked({ nonce: "n-1", login_hint: "a b+c&d=é" }));
    expect(response.headers).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
    expect(response.headers["set-cookie"]).toBeUndefined();
    expect([host.asked, host.events]).toEqual([[], []]);
    const page = await host.browser().get(localPath(response.headers["location"] as string));
    expect(outcomeOf(page)).toBe("asked");
  });

  it("carries id_token_hint and response_mode", async () => {
    const host = provider();
    const fields = { scope: "openid" };
    const { id_token = "" } = (await obtainTokens(host, { client: "web", fields })) as Tokens & {
      id_token?: string;
    };
    const hinted = asked({ id_token_hint: id_token, response_mode: "form_post" });
    const response = await post(host, encode(hinted));
    expect(asGet(response)).toEqual(hinted);
    const answer = await host.browser().get(localPath(response.headers["location"] as string));
    expect(answer.text).toContain('name="code"');
  });

  it("carries a request object, so that it is refused and not passed over", async () => {
    const host = provider();
    const response = await post(host, encode(asked({ request: "a.b.c" })));
    const answer = await host.browser().get(localPath(response.headers["location"] as string));
    expect(redirectParameters(answer)).toMatchObject({ error: "request_not_supported" });
  });

  it("carries nothing that the endpoint does not read, and nothing of the URL or of the host's pages", async () => {
    const extra = {
      password: "secret",
      utm: "1",
      interaction: "I".repeat(22),
      decision: "approve",
      display: "popup",
    };
    const response = await request(provider().app)
      .post(`${path}?client_id=other&prompt=none`)
      .type("form")
      .send(encode(asked({ ...extra, state: "" })));
    const { state: _state, ...read } = asked();
    expect(asGet(response)).toEqual(read);
  });

  it("is refused like a GET where the client is missing", async () => {
    const host = provider();
    const response = await post(host, "");
    expect(asGet(response)).toEqual({});
    expect((await host.browser().get(localPath(response.headers["location"] as string))).status).toBe(400);
  });

  it("asks people to sign in as a GET does, and comes back", async () => {
    const host = provider();
    host.session = signedOut;
    const response = await post(host, encode(asked()));
    const first = await host.browser().get(localPath(response.headers["location"] as string));
    expect(outcomeOf(first)).toBe("/signin?interaction");
  });

  it("is told to those who watch as the authorization endpoint", async () => {
    const heard = hearAnswers();
    const host = provider();
    await post(host, encode(asked()));
    await post(host, "a=1&a=2");
    expect(heard).toMatchObject([
      { endpoint: "authorization", method: "POST", status: 303 },
      { endpoint: "authorization", method: "POST", status: 400, oauthError: "invalid_request" },
    ]);
  });
});

describe("a POST that is no authorization request (OpenID Connect Core §3.1.2.1, RFC 6749 §3.1)", () => {
  const good = encode(asked());

  it.each<[string, string, string]>([
    ["a repeated parameter", `${good}&state=other`, "parameter-unusable"],
    ["a repeated hint", `${good}&id_token_hint=a&id_token_hint=b`, "parameter-unusable"],
    ["a value that is not UTF-8", `${good}&nonce=%FF`, "parameter-unusable"],
    ["a value with half an escape", `${good}&nonce=%E`, "parameter-unusable"],
    ["a hint that is not UTF-8", `${good}&id_token_hint=%C3%28`, "parameter-unusable"],
  ])("%s gets a page", async (_, body, code) => {
    const host = provider();
    expectPage(host, await post(host, body), { code });
  });

  it("bytes that are not UTF-8 get a page", async () => {
    const host = provider();
    const headers = { "Content-Type": form };
    const chunks = [Buffer.concat([Buffer.from(`${good}&nonce=`), Buffer.from([0xff])])];
    const { status } = await rawRequest(host.app, { method: "POST", path, headers, chunks });
    expect(status).toBe(400);
    expect(host.events).toMatchObject([{ kind: "authorization-denied", code: "form-not-utf8" }]);
  });

  it.each<[string, string, string]>([
    ["JSON", "application/json", JSON.stringify(asked())],
    ["text", "text/plain", good],
    ["JSON that says it is a list", "application/json", "[1]"],
  ])("%s gets a page", async (_, type, body) => {
    const host = provider();
    expectPage(host, await post(host, body, { type }), { code: "body-not-a-form" });
  });

  it("a multipart form gets a page", async () => {
    const host = provider();
    const response = await request(host.app).post(path).accept("text/html").field("client_id", "web");
    expectPage(host, response, { code: "body-not-a-form" });
  });

  it("no body at all gets a page", async () => {
    const host = provider();
    expectPage(host, await request(host.app).post(path).accept("text/html"), { code: "body-not-a-form" });
  });

  it("a compressed body gets a page", async () => {
    const host = provider();
    const sent = request(host.app)
      .post(path)
      .accept("text/html")
      .type("form")
      .set("Content-Encoding", "gzip");
    expectPage(host, await sent.send(good), { code: "body-not-a-form" });
  });

  it("a body that the host has read gets a page", async () => {
    const host = provider({
      before: (app) =>
        void app.use((req, _res, next) => {
          req.resume();
          req.on("end", next);
        }),
    });
    expectPage(host, await post(host, good), { code: "body-taken" });
  });

  it.each<[string, string, string]>([
    ["a query longer than 8 KB", encode(asked({ state: "x".repeat(8_192) })), "posted-request-too-long"],
    [
      "a short value that is long as a query",
      encode(asked({ state: "é".repeat(1_400) })),
      "posted-request-too-long",
    ],
    [
      "a hint longer than 8 KB",
      encode(asked({ id_token_hint: "x".repeat(10_240) })),
      "posted-request-too-long",
    ],
    ["a body longer than 64 KB", encode(asked({ state: "x".repeat(65_536) })), "form-too-large"],
  ])("%s gets a page with status 413", async (_, body, code) => {
    const host = provider();
    expectPage(host, await post(host, body), { status: 413, code });
  });

  it("one that is as long as it may be is carried", async () => {
    const host = provider();
    const rest = encode(asked({ state: "" })).length;
    const longest = "x".repeat(8_192 - rest);
    const carried = await post(host, encode(asked({ state: longest })));
    expect(asGet(carried)["state"]).toBe(longest);
    expect((await post(host, encode(asked({ state: `${longest}x` })))).status).toBe(413);
  });

  it("is told to programs as JSON, with the same status", async () => {
    const sent = request(provider().app).post(path).accept("application/json").type("form");
    const response = await sent.send(encode(asked({ state: "x".repeat(8_192) })));
    expect([response.status, response.body]).toEqual([
      413,
      { error: "invalid_request", error_description: "The authorization request is too long." },
    ]);
  });

  it("never quotes what came, on the page or in the event", async () => {
    const host = provider();
    const secret = "S3cret".repeat(8);
    const bodies = [`state=${secret}&state=${secret}`, encode(asked({ id_token_hint: secret.repeat(250) }))];
    for (const body of bodies) expect((await post(host, body)).text).not.toContain(secret);
    expect(JSON.stringify(host.events)).not.toContain(secret);
  });
});

function behind(handlers: readonly RequestHandler[]): TestHost {
  return provider({ before: (app) => handlers.forEach((handler) => app.use(handler)) });
}

describe("body parsers of the host ahead of POST authorize (RFC 6749 §3.1)", () => {
  const rows = Object.entries(parsers);

  it.each(rows)("%s: the same request", async (_, handlers) => {
    const fields = asked({ login_hint: "a b+c&d=é", nonce: "[x]" });
    expect(asGet(await post(behind(handlers), encode(fields)))).toEqual(fields);
  });

  it.each(rows)("%s: a page for a repeated parameter", async (_, handlers) => {
    const host = behind(handlers);
    expectPage(host, await post(host, `${encode(asked())}&state=b`), { code: "parameter-unusable" });
  });

  it.each(rows)("%s: no 500 for brackets and broken escapes", async (_, handlers) => {
    for (const broken of ["state[a]=b", "__proto__=x", "state=%FF", "scope[]=openid", "%E=%E"]) {
      const response = await post(behind(handlers), `client_id=web&${broken}`);
      expect([303, 400]).toContain(response.status);
    }
  });

  it("takes no list for a form", async () => {
    const host = provider({ before: (app) => void app.use(express.json({ type: "*/*" })) });
    expect(asGet(await post(host, '["client_id"]'))).toEqual({});
  });
});

describe("the methods of the authorization endpoint (RFC 9110 §15.5.6)", () => {
  it("have no POST at an API without openid, beside one that has it", async () => {
    const host = provider();
    const response = await post(host, encode(asked()), { pair: { api: "files" } });
    expect([response.status, response.headers["allow"], response.text]).toEqual([405, "GET, HEAD", ""]);
    expect(host.events).toEqual([]);
  });

  it("have POST where openid is, at each issuer of the API", async () => {
    const { app } = provider();
    for (const method of ["password", "otp", "sso"] as const) {
      const response = await request(app).put(`${pairPath({ method })}/authorize`);
      expect([response.status, response.headers["allow"]]).toEqual([405, "GET, HEAD, POST"]);
    }
    expect((await request(app).put(`${pairPath({ api: "files" })}/authorize`)).headers["allow"]).toBe(
      "GET, HEAD",
    );
  });

  it("still have GET and HEAD", async () => {
    const host = provider();
    expect((await request(host.app).head(path)).status).toBe(200);
    expect(outcomeOf(await host.browser().get(path, asked()))).toBe("asked");
  });
});
