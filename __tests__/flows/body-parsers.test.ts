import express, { type RequestHandler } from "express";
import request from "supertest";
import { digestClientSecret } from "../../lib";
import { pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode, formFields } from "../browser/browser";
import { clients, credentials } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { formType } from "../requests/json-answers";
import { parsedHost, parsers } from "../requests/parsers";
import {
  closeServersAfterEachTest,
  closing,
  message,
  serverOf,
  statusesOf,
  talk,
} from "../requests/raw-connections";
import { rawRequest } from "../requests/raw-request";
import { registerPath, registrationHost, webMetadata } from "../requests/registration";
import { clientCredentials, postTokenText } from "../requests/token-requests";
import { addPages, travel, wholeJourney } from "./whole-journey";

closeServersAfterEachTest();

const rows = Object.entries(parsers);

describe("body parsers of the host ahead of the router (RFC 6749 §3.2)", () => {
  const bent = "p+l u%2Bs&=é;[x]";

  const bentDigest = digestClientSecret(bent);

  it.each(rows)("%s: the whole journey, consent form and token request", async (_, handlers) => {
    const host = parsedHost(handlers);
    addPages(host, host.app);
    const { answers, seen } = await travel(host, { path: "/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(seen).toMatchObject({ subject: "alice", scopes: ["orders:read"] });
  });

  it.each(rows)("%s: a no on the consent page", async (_, handlers) => {
    const host = parsedHost(handlers);
    const browser = host.browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "deny");
    expect(answer.status).toBe(303);
    expect(redirectParameters(answer)).toMatchObject({ error: "access_denied", state: "a state" });
  });

  it.each(rows)("%s: allows only the scopes that were ticked", async (_, handlers) => {
    const host = parsedHost(handlers);
    const browser = host.browser();
    const fields = { scope: "orders:read orders:write" };
    const page = await authorize(browser, { client: "web", fields });
    const answer = await browser.answer(page, "approve", { scope_0: undefined });
    const { code = "" } = redirectParameters(answer);
    const sent = {
      grant_type: "authorization_code",
      ...credentials("web"),
      code,
      code_verifier: codeVerifier,
    };
    expect((await postTokenText(host, encode(sent))).body).toMatchObject({ scope: "orders:write" });
  });

  it.each(rows)("%s: decodes values alike", async (_, handlers) => {
    const clientId = "shop:1+2&=[x]";
    const records = [{ ...clients.machine, clientId, secretDigests: [await bentDigest] }];
    const sent = { grant_type: "client_credentials", client_id: clientId, client_secret: bent };
    const response = await postTokenText(parsedHost(handlers, records), encode(sent));
    expect(response.status).toBe(200);
  });

  it.each(rows)("%s: refuses a repeated parameter", async (_, handlers) => {
    const response = await postTokenText(parsedHost(handlers), `${clientCredentials}&client_id=machine`);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: "invalid_request",
      error_description: "A parameter is repeated or is not UTF-8 text.",
    });
  });

  it.each(rows)("%s: takes no parameter from brackets", async (_, handlers) => {
    const body = encode({
      "client_id[]": "machine",
      "client_secret[x]": "y",
      grant_type: "client_credentials",
    });
    const response = await postTokenText(parsedHost(handlers), body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: "invalid_request" });
  });

  it.each(rows)("%s: refuses JSON", async (_, handlers) => {
    const body = JSON.stringify({ grant_type: "client_credentials", ...credentials("machine") });
    const response = await postTokenText(parsedHost(handlers), body, { "Content-Type": "application/json" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: "invalid_request" });
  });

  it.each(rows)("%s: refuses an empty body", async (_, handlers) => {
    const response = await postTokenText(parsedHost(handlers), "");
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ error: "invalid_request", error_description: "client_id is missing." });
  });

  it.each([undefined, null, 1, ["x"], { x: "y" }])(
    "refuses a body in which the host has put %j, and does not fail",
    async (value) => {
      const mark: RequestHandler = (req, _res, next) => {
        (req.body as Record<string, unknown>)["mark"] = value;
        next();
      };
      const response = await postTokenText(
        parsedHost([express.urlencoded({ extended: false }), mark]),
        clientCredentials,
      );
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({ error: "invalid_request" });
    },
  );
});

describe("the size of a body that the host has parsed (RFC 6749 §3.2)", () => {
  it.each(rows)("%s: answers 413 to a body over 64 KiB with Content-Length", async (_, handlers) => {
    const body = `${clientCredentials}&pad=`.padEnd(64 * 1024 + 1, "x");
    expect((await postTokenText(parsedHost(handlers), body)).status).toBe(413);
  });

  it.each(rows)("%s: answers 413 to a body over 64 KiB in chunks", async (_, handlers) => {
    const response = await rawRequest(parsedHost(handlers).app, {
      method: "POST",
      path: `${pairPath()}/token`,
      headers: { "Content-Type": formType },
      chunks: [`${clientCredentials}&pad=`, "x".repeat(64 * 1024)],
    });
    expect(response.status).toBe(413);
  });

  it.each(rows)("%s: counts bytes, not characters", async (_, handlers) => {
    const response = await rawRequest(parsedHost(handlers).app, {
      method: "POST",
      path: `${pairPath()}/token`,
      headers: { "Content-Type": formType },
      chunks: [`${clientCredentials}&pad=`, "é".repeat(32 * 1024)],
    });
    expect(response.status).toBe(413);
  });

  it.each(rows)("%s: takes exactly 64 KiB, with Content-Length and in chunks", async (_, handlers) => {
    const body = `${clientCredentials}&pad=`.padEnd(64 * 1024, "x");
    const { app } = parsedHost(handlers);
    const statuses = [];
    for (const length of [{ "Content-Length": String(body.length) }, {}]) {
      const headers = { "Content-Type": formType, ...length };
      const sent = { method: "POST", path: `${pairPath()}/token`, headers, chunks: [body] };
      statuses.push((await rawRequest(app, sent)).status);
    }
    expect(statuses).toEqual([200, 200]);
  });
});

describe("body parsers of the host after the router", () => {
  it("find the bodies of all that is not the router's", async () => {
    const host = testHost();
    const app = express();
    app.use("/login", host.auth.router, host.auth.wellKnown);
    app.use(express.json(), express.urlencoded({ extended: true }));
    app.use((req, res) => void res.json({ host: req.originalUrl, body: req.body as unknown }));
    for (const path of ["/echo", "/login/echo", `${pairPath()}/echo`, `${pairPath()}/token/`]) {
      const json = await request(app).post(path).send({ a: "b" });
      const form = await request(app).post(path).type("form").send("a=b");
      for (const response of [json, form]) expect(response.body).toEqual({ host: path, body: { a: "b" } });
    }
    const own = await request(app).post(`${pairPath()}/token`).type("form").send(clientCredentials);
    expect(own.body).toMatchObject({ token_type: "bearer" });
  });
});

/** What the logger of a host has seen. */
const logged: string[] = [];

/** Reads the body and leaves it elsewhere: `rawBody` for webhooks, `fields` of formidable. */
const readsAway =
  (left: object): RequestHandler =>
  async (req, _res, next) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    Object.assign(req, { rawBody: Buffer.concat(chunks), fields: {} }, left);
    next();
  };

const setsEncoding: RequestHandler = (req, _res, next) => {
  req.setEncoding("utf8");
  next();
};

const logsBodies: RequestHandler = (req, _res, next) => {
  let text = "";
  req.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
  req.on("end", () => void (text !== "" && logged.push(text)));
  next();
};

/** A good POST for each route, and the status of its answer. */
async function goodPosts(host: ReturnType<typeof testHost>) {
  const browser = host.browser();
  const page = await authorize(browser, { client: "web" });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = [`Content-Type: ${formType}`, `Cookie: ${cookie}`, closing];
  const question = encode({ ...credentials("web"), token: "none" });
  const answer = encode({ ...formFields(page.text), decision: "approve" });
  const json = ["Content-Type: application/json", closing];
  return [
    { path: `${pairPath()}/token`, headers, body: clientCredentials, status: 200 },
    { path: `${pairPath()}/revoke`, headers, body: question, status: 200 },
    { path: `${pairPath()}/introspect`, headers, body: question, status: 200 },
    { path: `${pairPath()}/authorize/consent`, headers, body: answer, status: 303 },
    { path: registerPath(), headers: json, body: JSON.stringify(webMetadata), status: 201 },
  ];
}

describe("a body that the host has read and not left in req.body (RFC 6749 §3.2, 7591 §3.1)", () => {
  it.each<[string, object]>([
    ["nothing", {}],
    ["what older body parsers make of other media types", { body: {} }],
  ])("is said to have been read before, at every POST route: %s is there", async (_, left) => {
    let away = false;
    const handler = readsAway(left);
    const host = registrationHost(
      {},
      { before: (app) => void app.use((req, res, next) => (away ? handler(req, res, next) : next())) },
    );
    const posts = await goodPosts(host);
    away = true;
    const server = await serverOf(host.app);
    for (const { path, headers, body } of posts) {
      const answer = await talk(server, message({ path, headers, body }));
      expect([path, statusesOf(answer)]).toEqual([path, [400]]);
      const isPage = path.endsWith("/consent");
      expect(answer).toContain(isPage ? "<html" : "Other code of this server has read the body before.");
    }
    const codes = host.events.flatMap((event) => ("code" in event ? [event.code] : []));
    expect(codes).toEqual(Array(4).fill("body-taken"));
  });
});

describe("what a host may do to a body that it leaves to the router (RFC 6749 §3.2)", () => {
  it.each([
    ["and nothing else", setsEncoding],
    ["and logs each body", logsBodies],
  ])(
    "a host that has called setEncoding: body in one packet and in two, at every POST route (%s)",
    async (_, handler) => {
      const host = registrationHost({}, { before: (app) => void app.use(handler) });
      const server = await serverOf(host.app);
      for (const { status, ...post } of await goodPosts(host)) {
        const text = message(post);
        const body = text.length - post.body.length;
        for (const cut of [text.length, body, body + 7]) {
          logged.length = 0;
          const packets = [text.slice(0, cut), text.slice(cut)].filter((packet) => packet !== "");
          expect([post.path, statusesOf(await talk(server, ...packets))]).toEqual([post.path, [status]]);
          expect(logged).toEqual(handler === logsBodies ? [post.body] : []);
        }
      }
    },
  );
});
