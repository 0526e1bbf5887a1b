/** An API that wants another sign-in, and the client that gets it. RFC 9470. */
import { randomBytes } from "node:crypto";
import request, { type Response } from "supertest";
import express, { type RequestHandler } from "express";
import type { Authentication, AuthMethod, AuthServer, AuthServerOptions } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { localPath } from "../browser/browser";
import { interactionOf, resumePath, visit } from "../browser/interaction";
import { callApi, obtainTokens } from "../browser/journey";
import { apis, issuer, pairPath } from "../hosts/apis";
import { basic, clients, trustedWeb, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { ownAccessToken } from "../requests/bearer-answers";
import { runBlock } from "../sources/doc-block";

const clock = stopClockForEachTest();

const bothLevels = ["pwd", "otp"];
const stepUpApis: AuthServerOptions["apis"] = Object.fromEntries(
  Object.entries(apis).map(([id, api]) => [id, { ...api, acrValues: bothLevels }]),
);

/** Alice, who signed in so. */
const aliceBy = (acr: string | undefined, authTime = clock.now()): Authentication => ({
  kind: "authenticated",
  subject: "alice",
  authTime,
  ...(acr !== undefined && { acr }),
});

/** A host whose route `/pay` takes payments above 100 only after a one-time code. */
function shop(options: TestHostOptions = {}): TestHost {
  const host = testHost({ clients: [trustedWeb, clients.machine], apis: stepUpApis, ...options });
  const { app, auth } = host;
  host.session = aliceBy("pwd");
  for (const api of ["orders", "reports"] as const) {
    app.get(`/${api}/strong`, auth.requireBearer({ api, acr: "otp" }), (_, res) => void res.send("done"));
    app.get(`/${api}/young`, auth.requireBearer({ api, maxAge: 300 }), (_, res) => void res.send("done"));
  }
  app.get("/pay/:amount", auth.requireBearer({ api: "orders", subject: "required" }), (req, res) => {
    const isEnough = Number(req.params["amount"]) <= 100 || req.auth?.acr === "otp";
    if (!isEnough) return auth.challenge(req, res, { api: "orders", acr: ["otp"], maxAge: 600 });
    res.send("paid");
  });
  return host;
}

const tokenOf = async (host: TestHost, fields = {}, pair = {}): Promise<string> =>
  (await obtainTokens(host, { client: "web", fields, pair })).access_token;

/** The parameters of a challenge. */
function challengeOf(response: Response): Record<string, string> {
  const header = (response.headers["www-authenticate"] as string) ?? "";
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

const ask = (host: TestHost, fields: Record<string, string>) =>
  authorize(host.browser(), { client: "web", fields });

const metadataOf = ({ app }: TestHost) =>
  request(app).get(`/.well-known/oauth-authorization-server${pairPath()}`);

const lastCode = ({ events }: TestHost): unknown => (events.at(-1) as { code?: string } | undefined)?.code;

describe("a payment above 100 needs the one-time code (RFC 9470 §3, §4)", () => {
  it("is refused with what the client has to ask for, which leads to a token that passes", async () => {
    const host = shop();
    const token = await tokenOf(host);
    expect((await callApi(host, "/pay/100", token)).text).toBe("paid");
    const refused = await callApi(host, "/pay/101", token);
    expect([refused.status, refused.body]).toEqual([
      401,
      {
        error: "insufficient_user_authentication",
        error_description: "The end user has to sign in again, or in a stronger way.",
      },
    ]);
    expect(challengeOf(refused)).toMatchObject({
      error: "insufficient_user_authentication",
      acr_values: "otp",
      max_age: "600",
    });
    const browser = host.browser();
    host.session = ({ reauthenticate }) =>
      reauthenticate ? { kind: "interaction", url: "/otp" } : aliceBy("pwd");
    const { acr_values = "", max_age = "" } = challengeOf(refused);
    const first = await authorize(browser, { client: "web", fields: { acr_values, max_age } });
    expect(first.headers["location"]).toMatch(/^\/otp\?interaction=/);
    host.session = aliceBy("otp");
    const back = await browser.get(localPath(resumePath(interactionOf(first))));
    expect(redirectParameters(back)).toHaveProperty("code");
    expect((await callApi(host, "/pay/101", await tokenOf(host))).text).toBe("paid");
  });
});

describe.each(["orders", "reports"] as const)(
  "requireBearer for %s with acr or maxAge (RFC 9470 §3)",
  (api) => {
    const asked = { scope: api === "orders" ? "orders:read" : "reports:read" };

    it.each([
      ["pwd", 401],
      [undefined, 401],
      ["OTP", 401],
      ["otp", 200],
    ])("compares acr as it is: %s", async (acr, status) => {
      const host = shop();
      host.session = aliceBy(acr);
      const response = await callApi(host, `/${api}/strong`, await tokenOf(host, asked, { api }));
      expect(response.status).toBe(status);
      if (status === 401) expect(lastCode(host)).toBe("access-token-acr-differs");
    });

    it.each([
      [0, 200],
      [300, 200],
      [301, 401],
    ])("takes a sign-in that is not too old: %i seconds", async (age, status) => {
      const host = shop();
      host.session = aliceBy("pwd", clock.now() - age);
      const response = await callApi(host, `/${api}/young`, await tokenOf(host, asked, { api }));
      expect(response.status).toBe(status);
      if (status !== 401) return;
      expect(challengeOf(response)).toMatchObject({ max_age: "300" });
      expect(challengeOf(response)).not.toHaveProperty("acr_values");
      expect(lastCode(host)).toBe("access-token-sign-in-too-old");
    });

    it("takes no token without authTime where it counts", async () => {
      const host = shop();
      host.session = { kind: "authenticated", subject: "alice", acr: "otp" };
      const token = await tokenOf(host, asked, { api });
      expect((await callApi(host, `/${api}/young`, token)).status).toBe(401);
      expect((await callApi(host, `/${api}/strong`, token)).status).toBe(200);
    });
  },
);

describe("what a challenge says (RFC 9470 §3, 6750 §3.1)", () => {
  it.each(["/orders/strong", "/asked"])(
    "is invalid_token for a token of a client itself, at %s: nobody can sign in for it",
    async (path) => {
      const host = shop();
      const { app, auth } = host;
      app.get("/asked", auth.requireBearer({ api: "orders" }), (req, res) =>
        auth.challenge(req, res, { api: "orders", acr: "otp" }),
      );
      const response = await callApi(host, path, await ownAccessToken(host, {}));
      expect([response.status, response.body]).toEqual([
        401,
        {
          error: "invalid_token",
          error_description: "This request needs an access token of an end user.",
        },
      ]);
      expect(challengeOf(response)).not.toHaveProperty("acr_values");
      expect(lastCode(host)).toBe("access-token-without-end-user");
    },
  );

  it("names no sign-in where the token is missing", async () => {
    const response = await request(shop().app).get("/orders/strong");
    expect([response.status, Object.keys(challengeOf(response))]).toEqual([
      401,
      ["realm", "resource_metadata"],
    ]);
  });

  it("names the scope beside the sign-in, and the scope alone once the sign-in is enough", async () => {
    const host = shop();
    const { app, auth } = host;
    const needs = { api: "orders", scope: "orders:write", acr: "otp" } as const;
    app.get("/both", auth.requireBearer(needs), (_, res) => void res.send("done"));
    app.get("/later", auth.requireBearer({ api: "orders" }), (req, res) => auth.challenge(req, res, needs));
    for (const path of ["/both", "/later"]) {
      host.session = aliceBy("pwd");
      const weak = await callApi(host, path, await tokenOf(host));
      expect([weak.status, challengeOf(weak)]).toEqual([
        401,
        expect.objectContaining({ acr_values: "otp", scope: "orders:write" }),
      ]);
      host.session = aliceBy("otp");
      const strong = await callApi(host, path, await tokenOf(host));
      expect([strong.status, challengeOf(strong)["error"]]).toEqual([403, "insufficient_scope"]);
      expect(challengeOf(strong)).not.toHaveProperty("acr_values");
    }
  });

  it("is what the handler says, although the token meets the rule", async () => {
    const host = shop();
    const { app, auth } = host;
    app.get("/now", auth.requireBearer({ api: "orders" }), (req, res) =>
      auth.challenge(req, res, { api: "orders", maxAge: 0 }),
    );
    const response = await callApi(host, "/now", await tokenOf(host));
    expect(challengeOf(response)).toMatchObject({ error: "insufficient_user_authentication", max_age: "0" });
  });
});

describe("a host whose authenticate returns another acr than it meant", () => {
  it.each([
    [undefined, "no acr"],
    ["OTP", 'acr "OTP"'],
  ])("reads in the events what it has returned: %s", async (acr, told) => {
    const host = shop();
    host.session = () => aliceBy(acr);
    await callApi(host, "/orders/strong", await tokenOf(host));
    expect(host.events.at(-1)).toMatchObject({
      reason: expect.stringContaining(`the access token has ${told}, and the route takes "otp"`) as string,
    });
    await ask(host, { acr_values: "otp" });
    expect(host.events.at(-1)).toMatchObject({
      code: "sign-in-too-weak",
      reason: expect.stringContaining(`authenticate returned ${told}, none of`) as string,
    });
  });
});

describe("acr_values at the authorization endpoint (RFC 9470 §4, §5; OpenID Connect Core §3.1.2.1)", () => {
  it("passes the listed ones on, in the order of the client", async () => {
    const seen: unknown[] = [];
    const authenticate = ({ acrValues }: { acrValues: readonly string[] }) => {
      seen.push(acrValues);
      return aliceBy("otp");
    };
    const method = { authenticate };
    const host = shop({ authMethods: { password: method, otp: method, sso: method } });
    await ask(host, { acr_values: "gold otp silver pwd" });
    await ask(host, {});
    expect(seen).toEqual([["otp", "pwd"], []]);
  });

  it("is met by any of them: a code at once", async () => {
    const host = shop();
    expect(redirectParameters(await ask(host, { acr_values: "otp pwd" }))).toHaveProperty("code");
  });

  it("asks once more with reauthenticate, and refuses a host that answers from the weak session all the same", async () => {
    const host = shop();
    host.session = () => aliceBy("pwd");
    const answer = await ask(host, { acr_values: "otp", state: "s" });
    expect(redirectParameters(answer)).toMatchObject({
      error: "unmet_authentication_requirements",
      state: "s",
      iss: issuer,
    });
    expect(host.asked.map(({ reauthenticate }) => reauthenticate)).toEqual([false, true]);
    expect(lastCode(host)).toBe("sign-in-too-weak");
  });

  it("ends after a page that did not help: a sign-in page that leads back by itself would go round in circles", async () => {
    const host = shop();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { acr_values: "otp" } });
    expect(first.headers["location"]).toMatch(/^\/signin\?interaction=/);
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(redirectParameters(back)).toMatchObject({ error: "unmet_authentication_requirements" });
    expect(browser.cookies.size).toBe(0);
  });

  it("lets a sign-in have several pages: the method itself sends people to the next one", async () => {
    const host = shop();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { acr_values: "otp" } });
    const resume = resumePath(interactionOf(first));
    host.session = { kind: "interaction", url: "/second" };
    expect((await browser.get(resume)).headers["location"]).toMatch(/^\/second\?interaction=/);
    host.session = aliceBy("otp");
    expect(redirectParameters(await browser.get(resume))).toHaveProperty("code");
  });

  it("is login_required with prompt=none, and nobody is asked twice", async () => {
    const host = shop();
    const answer = await ask(host, { acr_values: "otp", prompt: "none" });
    expect(redirectParameters(answer)).toMatchObject({ error: "login_required" });
    expect(host.asked).toHaveLength(1);
  });

  it("refuses at once what nobody can reach: a typo must not send people to sign in again and again", async () => {
    const host = shop();
    const answer = await ask(host, { acr_values: "gold silver" });
    expect(redirectParameters(answer)).toMatchObject({ error: "unmet_authentication_requirements" });
    expect(host.asked).toEqual([]);
    expect(lastCode(host)).toBe("acr-values-unknown");
  });

  it("is not read at an API without acrValues", async () => {
    const host = testHost({ clients: [trustedWeb] });
    expect(redirectParameters(await ask(host, { acr_values: "gold" }))).toHaveProperty("code");
  });

  it("keeps what counts for the way back, however much else was asked", async () => {
    const unknown = Array.from({ length: 300 }, () => randomBytes(6).toString("hex")).join(" ");
    const fields = { acr_values: `${unknown} otp otp` };
    for (const host of [shop(), testHost({ clients: [trustedWeb] })]) {
      const { browser, id } = await visit(host, { fields });
      host.session = aliceBy("otp");
      expect(redirectParameters(await browser.get(resumePath(id)))).toHaveProperty("code");
    }
    const { host, browser, id } = await visit(shop(), { fields });
    const page = await browser.get("/signin", { interaction: id });
    expect(page.body).toMatchObject({ acrValues: ["otp"] });
    host.session = aliceBy("pwd");
    expect(redirectParameters(await browser.get(resumePath(id)))).toMatchObject({
      error: "unmet_authentication_requirements",
    });
  });

  it("counts on a refresh as it was at the sign-in", async () => {
    const host = shop();
    host.session = aliceBy("otp");
    const tokens = await obtainTokens(host, { client: "web", fields: {} });
    clock.advance(301);
    const { body } = await request(host.app)
      .post(`${pairPath()}/token`)
      .set("Authorization", basic("web", webSecret.secret))
      .type("form")
      .send({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    const { access_token } = body as { access_token: string };
    expect((await callApi(host, "/orders/strong", access_token)).status).toBe(200);
    expect((await callApi(host, "/orders/young", access_token)).status).toBe(401);
  });

  it("is in the metadata of the issuer", async () => {
    expect((await metadataOf(shop())).body).toMatchObject({ acr_values_supported: bothLevels });
    expect((await metadataOf(testHost())).body).not.toHaveProperty("acr_values_supported");
  });
});

describe("the program of docs/concepts.md", () => {
  it("takes payments after a one-time code", async () => {
    let session: object | undefined;
    const heading = "Sign in again, or in a stronger way";
    const made = runBlock(
      { page: "concepts.md", heading, modules: { express } },
      { sessionOf: () => session },
    );
    const { levels, password, payments } = made as {
      levels: { acrValues: string[] };
      password: AuthMethod;
      payments: (auth: AuthServer) => RequestHandler;
    };
    const orders = { ...apis["orders"], ...levels } as AuthServerOptions["apis"][string];
    const host = testHost({
      clients: [trustedWeb],
      apis: { ...apis, orders },
      authMethods: { password, otp: password, sso: password },
    });
    host.app.use(payments(host.auth));
    const pay = async () =>
      request(host.app)
        .post("/payments")
        .auth(await tokenOf(host), { type: "bearer" });
    const signedIn = { userId: "alice", signedInAt: clock.now() };
    session = { ...signedIn, acr: "pwd" };
    const refused = await pay();
    expect(challengeOf(refused)).toMatchObject({ acr_values: "otp", max_age: "600" });
    const toOtp = expect.stringMatching(/^\/sign-in\/otp\?interaction=/) as unknown;
    const fields = { acr_values: "otp", max_age: "600" };
    expect((await ask(host, fields)).headers["location"]).toEqual(toOtp);
    session = { ...signedIn, acr: "otp" };
    expect((await pay()).text).toBe("paid");
    clock.advance(601);
    expect((await pay()).status).toBe(401);
    expect((await ask(host, fields)).headers["location"]).toEqual(toOtp);
  });
});

describe("options that are wrong", () => {
  it.each<[string, object, string]>([
    [
      "a value that no method reaches",
      { acr: "gold" },
      "acr must be one or more of acrValues of orders: pwd, otp.",
    ],
    ["one of two", { acr: ["otp", "gold"] }, "acr must be one or more"],
    ["no value", { acr: [] }, "acr must be one or more"],
    ["several in one text", { acr: "pwd otp" }, "acr must be one or more"],
    ["a number", { acr: 2 }, "acr must be one or more"],
    ["undefined", { acr: undefined }, "acr is undefined"],
    ["an age below 0", { maxAge: -1 }, "maxAge must be whole seconds, 0 or more."],
    ["half a second", { maxAge: 0.5 }, "maxAge must be whole seconds"],
    ["text", { maxAge: "300" }, "maxAge must be whole seconds"],
    ["undefined age", { maxAge: undefined }, "maxAge is undefined"],
    [
      "no people",
      { acr: "otp", subject: "forbidden" },
      'acr and maxAge are about people, and subject: "forbidden"',
    ],
  ])("a route with %s", (_, options, problem) => {
    const { auth } = shop();
    expect(() => auth.requireBearer({ api: "orders", ...options })).toThrow(problem);
  });

  it("a route of an API without acrValues", () => {
    expect(() => testHost().auth.requireBearer({ api: "orders", acr: "otp" })).toThrow(
      "acr must be one or more of acrValues of orders, and it has none.",
    );
  });

  it.each([[[""]], [["a b"]], [['a"b']], [["ü"]], ["pwd"], [[1]]])("acrValues that are %j", (acrValues) => {
    const orders = { ...stepUpApis["orders"], acrValues } as unknown as AuthServerOptions["apis"][string];
    expect(() => testHost({ apis: { ...apis, orders } })).toThrow(/apis\.orders\.acrValues/);
  });

  it("a challenge that names nothing", () => {
    const { auth } = shop();
    expect(() => auth.challenge({} as never, {} as never, { api: "orders" })).toThrow(
      "challenge: scope must name scopes of orders",
    );
  });
});
