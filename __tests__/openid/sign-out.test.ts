import express from "express";
import request, { type Response } from "supertest";
import {
  type AuthServerOptions,
  type Client,
  type ConsentAdapter,
  generateSigningKey,
  type PageContent,
  type SignOutAnswer,
  type SignOutRequest,
} from "../../lib";
import { issuer, origin, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { obtainTokens, type Tokens } from "../browser/journey";
import { authorize } from "../browser/authorize";
import { encode } from "../browser/browser";
import { expectMarkupAsText, markup } from "../browser/pages";
import { accessKey, idKey, provider, type ProviderOptions } from "./provider";

const clock = stopClockForEachTest();
const path = `${pairPath()}/logout`;
const target = "https://web.example/bye?from=orders";
const web = { ...clients.web, postLogoutRedirectUris: [target] };

const grantsAll: ConsentAdapter = { decide: () => ({ kind: "granted", scopes: ["openid"] }) };

type Asked = Omit<SignOutRequest, "req">;

/** A host whose people sign out on `/sign-out`, and an ID token of Alice for `web`. */
async function signOutHost({ answer, ...options }: ProviderOptions & { answer?: () => unknown } = {}) {
  const asked: Asked[] = [];
  let isSignedIn = true;
  const method = {
    authenticate: () =>
      isSignedIn
        ? ({ kind: "authenticated", subject: "alice" } as const)
        : ({ kind: "interaction", url: "/signin" } as const),
    signOut({ req, ...question }: SignOutRequest): SignOutAnswer {
      expect(req.path).toBe("/auth/password/api/orders/logout/resume");
      asked.push(question);
      if (answer) return answer() as SignOutAnswer;
      return isSignedIn ? { kind: "interaction", url: "/sign-out" } : { kind: "signed-out" };
    },
  };
  const { authenticate } = method;
  const host = provider({
    clients: [web, clients.other],
    authMethods: { password: method, otp: { authenticate }, sso: { authenticate } },
    ...options,
  });
  host.app.post("/sign-out", express.urlencoded({ extended: false }), (req, res) => {
    isSignedIn = false;
    host.auth.resume(req, res);
  });
  const tokens: Tokens & { id_token?: string } = await obtainTokens(host, {
    client: "web",
    fields: { scope: "openid" },
  });
  return { host, asked, hint: tokens.id_token ?? "", signOut: () => void (isSignedIn = false) };
}

type Host = Awaited<ReturnType<typeof signOutHost>>["host"];

const visit = (host: Host, query: object, headers = {}): Promise<Response> =>
  Promise.resolve(request(host.app).get(path).query(query).set(headers));

/** Follows the redirects on this host, up to a page or another place. */
async function follow(host: Host, response: Response): Promise<Response> {
  const { location = "" } = response.headers as { location?: string };
  const url = new URL(location, origin);
  if (url.origin !== origin || !url.pathname.startsWith(path)) return response;
  return follow(host, await request(host.app).get(url.pathname + url.search));
}

/** A sign-out that is under way: what stands in its URLs. */
async function begin(host: Host): Promise<string> {
  const { location = "" } = (await visit(host, {})).headers as { location?: string };
  return new URL(location).searchParams.get("interaction") ?? "";
}

/** The person says yes on the host's page. */
async function confirm(host: Host, page: Response): Promise<Response> {
  const { pathname, searchParams } = new URL(page.headers["location"] as string, origin);
  expect(pathname).toBe("/sign-out");
  const form = encode({ interaction: searchParams.get("interaction") ?? "" });
  return follow(host, await request(host.app).post("/sign-out").type("form").send(form));
}

const toSignIn = { authenticate: () => ({ kind: "interaction", url: "/signin" }) as const };

const lastEvent = ({ events }: Host): unknown => events.at(-1);

const render = (page: PageContent) =>
  `<!doctype html><title>x</title><h1>Own ${page.kind}: ${page.title}</h1>`;

describe("signing out at the wish of a relying party (OpenID Connect RP-Initiated Logout §2, §3)", () => {
  it("asks on the host's page, and leads back to the client with its state", async () => {
    const { host, asked, hint } = await signOutHost();
    const query = { id_token_hint: hint, post_logout_redirect_uri: target, state: "a b", ui_locales: "de" };
    const done = await confirm(host, await follow(host, await visit(host, query)));
    expect([done.status, done.headers["location"]]).toEqual([302, `${target}&state=a%20b`]);
    const question = {
      client: { clientId: "web", name: "Web Shop", confidential: true },
      subject: "alice",
      uiLocales: "de",
    };
    expect(asked).toEqual([question, question]);
    expect(lastEvent(host)).toMatchObject({ kind: "signed-out", issuer, clientId: "web", subject: "alice" });
  });

  it.each([
    ["en", "You are signed out"],
    ["de-AT", "Sie sind abgemeldet"],
    ["fr", "Vous êtes déconnecté"],
    ["ar", "تم تسجيل خروجك"],
  ])("ends on a built-in page where no place is named: %s", async (language, text) => {
    const { host, signOut } = await signOutHost();
    signOut();
    const page = await follow(host, await visit(host, { ui_locales: language }));
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(`<h1>${text}</h1>`) as string]);
    expect(lastEvent(host)).toEqual({ at: clock.now(), kind: "signed-out", issuer });
  });

  it.each(["signedOutTitle", "signedOutExplanation", "signedOutAdvice"])(
    "shows markup in the host's text %s as text (RFC 9700 §4.16)",
    async (name) => {
      const { host, signOut } = await signOutHost({ pages: { texts: { en: { [name]: markup } } } });
      signOut();
      expectMarkupAsText(await follow(host, await visit(host, {})));
    },
  );

  it("shows the page that the host renders", async () => {
    const { host, signOut } = await signOutHost({ pages: { render }, consent: grantsAll });
    signOut();
    const { text } = await follow(host, await visit(host, { ui_locales: "de" }));
    expect(text).toContain("<h1>Own signed-out: Sie sind abgemeldet</h1>");
  });

  it("takes a POST, also of another site, and goes on with 303: then the host's cookies come along", async () => {
    const { host, hint } = await signOutHost();
    const answer = await request(host.app)
      .post(path)
      .set("Origin", "https://web.example")
      .type("form")
      .send(encode({ id_token_hint: hint, post_logout_redirect_uri: target }));
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toMatch(`${issuer}/logout/resume?interaction=`);
    expect(answer.headers).not.toHaveProperty("set-cookie");
  });

  it("takes an ID token that has expired, or whose key was replaced", async () => {
    const { host, hint } = await signOutHost();
    clock.advance(100_000);
    host.auth.rotateKeys([accessKey, { key: idKey, for: "id_token" }]);
    const answer = await visit(host, { id_token_hint: hint, post_logout_redirect_uri: target });
    expect(answer.status).toBe(302);
  });

  it("is in the metadata where the method of the issuer can, and not there elsewhere", async () => {
    const { host } = await signOutHost();
    const at = async (method: "password" | "otp") => {
      const { body } = await request(host.app).get(
        `${pairPath({ method })}/.well-known/openid-configuration`,
      );
      return [
        (body as Record<string, unknown>)["end_session_endpoint"],
        (await request(host.app).get(`${pairPath({ method })}/logout`)).status,
      ];
    };
    expect([await at("password"), await at("otp")]).toEqual([
      [`${origin}${path}`, 302],
      [undefined, 404],
    ]);
  });

  it("ends no tokens, and a sign-in that is under way in the browser stays", async () => {
    const { host, signOut } = await signOutHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: { scope: "openid email" } });
    signOut();
    await follow(host, await visit(host, {}));
    expect(page.status).toBe(200);
    expect((await browser.answer(page, "deny")).headers["location"]).toContain("error=access_denied");
  });
});

describe("what a sign-out refuses (RP-Initiated Logout §2, §6)", () => {
  const bad = "https://evil.example/";
  const descriptions: Record<string, string> = {
    "logout-hint-not-ours": "id_token_hint is no ID token of this issuer.",
    "logout-client-differs": "client_id is not the client of id_token_hint.",
    "logout-target-without-hint": "post_logout_redirect_uri needs an id_token_hint.",
    "logout-target-not-registered": "The post_logout_redirect_uri is not registered.",
    "logout-request-too-long": "The request is too long.",
    "parameter-unusable": "A parameter is repeated or is not UTF-8 text.",
  };

  it.each<[string, (hint: string) => object, string]>([
    [
      "a place that is not registered",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: bad }),
      "logout-target-not-registered",
    ],
    [
      "the redirect URI",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "https://web.example/callback" }),
      "logout-target-not-registered",
    ],
    [
      "the place with one more letter",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${target}s` }),
      "logout-target-not-registered",
    ],
    [
      "a place without a hint",
      () => ({ client_id: "web", post_logout_redirect_uri: target }),
      "logout-target-without-hint",
    ],
    ["another client", (hint) => ({ id_token_hint: hint, client_id: "other" }), "logout-client-differs"],
    ["a forged hint", (hint) => ({ id_token_hint: `${hint.slice(0, -4)}AAAA` }), "logout-hint-not-ours"],
    ["what is no JWT", () => ({ id_token_hint: "x" }), "logout-hint-not-ours"],
    [
      "a state that is too long",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: target, state: "x".repeat(1_000) }),
      "logout-request-too-long",
    ],
    ["languages that are too long", () => ({ ui_locales: "x".repeat(1_001) }), "logout-request-too-long"],
    ["a state of two bytes a letter", () => ({ state: "é".repeat(501) }), "logout-request-too-long"],
    ["a repeated parameter", () => ({ state: ["a", "b"] }), "parameter-unusable"],
  ])("%s", async (_, query, code) => {
    const { host, asked, hint } = await signOutHost();
    const answer = await visit(host, query(hint), { Accept: "application/json" });
    expect([answer.status, answer.headers["location"], asked]).toEqual([400, undefined, []]);
    expect(answer.body).toEqual({ error: "invalid_request", error_description: descriptions[code] });
    expect(lastEvent(host)).toMatchObject({
      kind: "sign-out-refused",
      issuer,
      error: "invalid_request",
      code,
    });
    expect(JSON.stringify(host.events)).not.toContain(hint.slice(-20));
  });

  it("an access token, and an ID token of another issuer", async () => {
    const { host } = await signOutHost();
    const tokens: Tokens & { id_token?: string } = await obtainTokens(host, {
      client: "web",
      pair: { method: "otp" },
      fields: { scope: "openid" },
    });
    for (const id_token_hint of [tokens.access_token, tokens.id_token]) {
      expect((await visit(host, { id_token_hint })).status).toBe(400);
      expect(lastEvent(host)).toMatchObject({ code: "logout-hint-not-ours" });
    }
  });

  it("nothing, where nobody can verify the hint any more: it is as good as none", async () => {
    const { host, hint, asked, signOut } = await signOutHost();
    host.auth.rotateKeys([accessKey, generateSigningKey("RS256")]);
    signOut();
    await follow(host, await visit(host, { id_token_hint: hint }));
    expect(asked).toEqual([{ uiLocales: undefined }]);
    expect((await visit(host, { id_token_hint: hint, post_logout_redirect_uri: target })).status).toBe(400);
  });

  it("images, scripts and link checkers", async () => {
    const { host, asked } = await signOutHost();
    const image = { "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors" };
    expect((await visit(host, {}, image)).status).toBe(400);
    expect((await request(host.app).head(path)).status).toBe(200);
    const { location = "" } = (await visit(host, {})).headers as { location?: string };
    const { pathname, search } = new URL(location);
    expect(
      (
        await request(host.app)
          .get(pathname + search)
          .set(image)
      ).status,
    ).toBe(400);
    expect(asked).toEqual([]);
  });

  it("a way back that nobody has sealed", async () => {
    const { host, asked } = await signOutHost();
    const sealed = await begin(host);
    const resumed = (interaction: string) => request(host.app).get(`${path}/resume`).query({ interaction });
    for (const interaction of ["", "x", ".", "A".repeat(80), sealed.slice(0, -1), sealed.toLowerCase()]) {
      expect((await resumed(interaction)).status).toBe(400);
      expect(lastEvent(host)).toMatchObject({ kind: "sign-out-refused", issuer, code: "logout-unknown" });
    }
    expect(asked).toEqual([]);
    expect((await resumed(sealed)).status).toBe(302);
  });

  it("a way back of another issuer that has one", async () => {
    const signOut = jest.fn(() => ({ kind: "signed-out" }) as const);
    const method = { ...toSignIn, signOut };
    const host = provider({ authMethods: { password: method, otp: method, sso: method } });
    const interaction = await begin(host);
    for (const [pair, status] of [
      [{ method: "otp" }, 400],
      [{ method: "password" }, 200],
    ] as const) {
      expect(signOut).not.toHaveBeenCalled();
      const resumed = request(host.app)
        .get(`${pairPath(pair)}/logout/resume`)
        .query({ interaction });
      expect((await resumed).status).toBe(status);
    }
  });

  it("no page that was open for a day: the person still signs out", async () => {
    const { host, hint } = await signOutHost();
    const query = { id_token_hint: hint, post_logout_redirect_uri: target };
    const page = await follow(host, await visit(host, query));
    clock.advance(86_400);
    expect((await confirm(host, page)).headers["location"]).toBe(target);
  });

  it("a wrong `otherwise` of auth.resume, as at a sign-in", async () => {
    const { host } = await signOutHost();
    host.app.post("/sign-out-to", express.urlencoded({ extended: false }), (req, res) => {
      expect(() => host.auth.resume(req, res, { otherwise: "https://evil.example/" })).toThrow(
        expect.objectContaining({ code: "otherwise-not-a-path" }),
      );
      host.auth.resume(req, res, { otherwise: "/" });
    });
    const form = encode({ interaction: await begin(host) });
    const done = await request(host.app).post("/sign-out-to").type("form").send(form);
    expect(done.headers["location"]).toMatch(`${issuer}/logout/resume?interaction=`);
  });

  it.each<[string, string, string, number]>([
    ["JSON", "application/json", "{}", 400],
    ["more than 64 KB", "application/x-www-form-urlencoded", `state=${"x".repeat(65_536)}`, 413],
  ])("a POST of %s, which tells no person of an answer of theirs", async (_, type, body, status) => {
    const { host } = await signOutHost();
    const answer = await request(host.app).post(path).accept("text/html").type(type).send(body);
    expect([answer.status, answer.text]).toEqual([status, expect.not.stringContaining("answer") as string]);
    expect(lastEvent(host)).toMatchObject({ kind: "sign-out-refused", issuer, error: "invalid_request" });
  });

  it("a ticket with more behind it, which would be more parameters of the host's page", async () => {
    const { host, asked } = await signOutHost();
    const sealed = await begin(host);
    for (const more of [".&sure=yes", "\u4e00"]) {
      const interaction = sealed + more;
      const resumed = await request(host.app).get(`${path}/resume`).query({ interaction });
      const left = await request(host.app).post("/sign-out").type("form").send(encode({ interaction }));
      expect([resumed.status, left.status]).toEqual([400, 400]);
    }
    expect(asked).toEqual([]);
  });

  it("a client that was disabled meanwhile: the person stays here", async () => {
    const records = [{ ...web }];
    const { host, hint } = await signOutHost({ clients: records, revocationLagSeconds: 0 });
    const page = await follow(
      host,
      await visit(host, { id_token_hint: hint, post_logout_redirect_uri: target }),
    );
    jest.spyOn(host.storage.clients, "find").mockResolvedValue({ ...web, postLogoutRedirectUris: [] });
    const done = await confirm(host, page);
    expect([done.status, done.headers["location"]]).toEqual([200, undefined]);
  });

  it.each<[string, () => unknown, number]>([
    [
      "throws",
      () => {
        throw new Error("a secret");
      },
      500,
    ],
    ["answers nothing", () => undefined, 500],
    ["answers what it may not", () => ({ kind: "authenticated", subject: "alice" }), 500],
    ["leads to no page", () => ({ kind: "interaction", url: "sign-out" }), 500],
    ["promises", () => Promise.resolve({ kind: "signed-out" }), 200],
  ])("signOut that %s", async (_, answer, status) => {
    const { host } = await signOutHost({ answer });
    const page = await follow(host, await visit(host, {}));
    expect([page.status, page.text]).toEqual([status, expect.not.stringContaining("secret") as string]);
  });

  it("what only a sign-in may do: a sign-out is no page for auth.approve or auth.deny", async () => {
    const { host } = await signOutHost();
    const form = encode({ interaction: await begin(host) });
    for (const page of ["/allow", "/cancel"])
      expect((await request(host.app).post(page).type("form").send(form)).status).toBe(400);
  });
});

describe("postLogoutRedirectUris of a client (RP-Initiated Logout §3.1)", () => {
  it.each([
    [
      "http://web.example/bye",
      "postLogoutRedirectUris.0 is http, which only loopback hosts may use: write https",
    ],
    ["javascript:alert(1)", "postLogoutRedirectUris.0 has a custom scheme"],
    ["https://web.example/#x", "postLogoutRedirectUris.0 has a fragment: leave out # and what follows"],
    ["https://*.web.example/", "postLogoutRedirectUris.0 has a wildcard"],
    [7, "postLogoutRedirectUris.0 must be a string"],
  ])("cannot be %j", (uri, problem) => {
    const record = { ...clients.web, postLogoutRedirectUris: [uri] } as unknown as Client;
    expect(() => provider({ clients: [record] })).toThrow(problem);
  });
});

describe("signOut of an authentication method", () => {
  it.each([true, "page", {}, null])("cannot be %j", (signOut) => {
    const authMethods = {
      password: { ...toSignIn, signOut },
    } as unknown as AuthServerOptions["authMethods"];
    expect(() => provider({ authMethods })).toThrow(/authMethods\.password\.signOut must be a function/);
  });
});
