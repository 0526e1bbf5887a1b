import express, { type RequestHandler } from "express";
import request from "supertest";
import { digestClientSecret } from "../../lib";
import { pairPath } from "../fixture/apis";
import { codeVerifier } from "../fixture/authorization-request";
import { authorize, redirectParameters } from "../fixture/authorize";
import { encode } from "../fixture/browser";
import { clients, credentials } from "../fixture/clients";
import { stopClockForEachTest } from "../fixture/clock";
import { testHost } from "../fixture/host";
import { formType } from "../fixture/json-answers";
import { parsedHost, parsers } from "../fixture/parsers";
import { rawRequest } from "../fixture/raw-request";
import { clientCredentials, postTokenText } from "../fixture/token-requests";
import { addPages, travel, wholeJourney } from "../fixture/whole-journey";

stopClockForEachTest();

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
