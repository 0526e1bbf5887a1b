import type { Request } from "express";
import type { Response } from "supertest";
import { type Authentication, type ConsentAnswer, memoryStorage, type Storage } from "../../lib";
import { issuer } from "../hosts/apis";
import { causes, redirectOf, refusedByRedirect } from "./authorization-answers";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";
import { shortenTimeLimit } from "../storage/time-limit";
import { watchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

async function expectServerError(
  response: Response,
  { host, writes }: ReturnType<typeof watchedHost>,
): Promise<void> {
  expect(redirectOf(response)).toEqual(refusedByRedirect("server_error"));
  expect(response.headers["location"]).toContain("=The%20server%20could%20not%20answer%20this%20request.&");
  expect(response.headers["set-cookie"]).toBeUndefined();
  expect(writes).toEqual([]);
  expect((await host.auth.consents.list("alice")).consents).toEqual([]);
  expect(causes(host)).toHaveLength(1);
}

describe("a host callback that throws (RFC 6749 §4.1.2.1)", () => {
  const thrown: readonly (readonly [string, unknown])[] = [
    ["an Error", new Error("the directory is away")],
    ["text", "the directory is away"],
    ["nothing", undefined],
  ];

  it.each(thrown)("authenticate throws %s", async (_, cause) => {
    const watched = watchedHost();
    watched.host.session = () => {
      throw cause;
    };
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    const event = { at: clock.now(), kind: "server-error", issuer, clientId: "web", cause };
    expect(watched.host.events.at(-1)).toEqual(event);
  });

  it.each(thrown)("authenticate rejects with %s", async (_, cause) => {
    const watched = watchedHost();
    watched.host.session = () => Promise.reject(cause);
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([cause]);
  });

  it.each(thrown)("decide throws %s", async (_, cause) => {
    const decide = (): ConsentAnswer => {
      throw cause;
    };
    const watched = watchedHost({ consent: { decide } });
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([cause]);
  });

  it("ends an interaction when it fails on the way back, and the next request starts again", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = () => Promise.reject(new Error("the directory is away"));
    const failed = await browser.answer(page, "approve");
    expect(redirectOf(failed)).toEqual(refusedByRedirect("server_error", { status: 303 }));
    expect(browser.cookies.size).toBe(0);
    host.session = signedIn;
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each([
    [300, 200],
    [301, 302],
  ])("takes an authTime %i seconds ahead, as of another machine's clock: %i", async (ahead, status) => {
    const { host } = watchedHost();
    host.session = { kind: "authenticated", subject: "alice", authTime: clock.now() + ahead };
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(status);
  });

  it("leaves the answer of a host that has answered already: a timeout, say", async () => {
    const method = {
      authenticate({ req }: { req: Request }): Authentication {
        req.res?.status(503).send("too late");
        return signedIn;
      },
    };
    const host = testHost({ authMethods: { password: method, otp: method, sso: method } });
    const response = await authorize(host.browser(), { client: "web" });
    expect([response.status, response.text]).toEqual([503, "too late"]);
  });

  it("answers all the same when onEvent throws or rejects", async () => {
    for (const onEvent of [
      () => Promise.reject(new Error("the log is full")),
      () => {
        throw new Error("the log is full");
      },
    ]) {
      const host = testHost({ clients: [trustedWeb], onEvent });
      expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
    }
  });
});

const never = (): Promise<never> => new Promise(() => undefined);

function late(name: string): Error {
  return expect.objectContaining({
    code: "host-call-late",
    message: expect.stringContaining(name) as string,
  }) as Error;
}

describe("a host callback that does not answer in time (RFC 6749 §4.1.2.1)", () => {
  it.each<[string, (watched: ReturnType<typeof watchedHost>) => void]>([
    ["authenticate", ({ host }) => void (host.session = never)],
    ["consent.decide", () => undefined],
  ])("%s: the client is told to try again later", async (name, arm) => {
    shortenTimeLimit();
    const watched = watchedHost({ consent: { decide: never } });
    arm(watched);
    const response = await authorize(watched.host.browser(), { client: "web" });
    expect(redirectOf(response)).toEqual(refusedByRedirect("temporarily_unavailable"));
    expect(watched.writes).toEqual([]);
    expect(causes(watched.host)).toEqual([late(name)]);
  });

  it("authenticate, on the way back from a page: the person's answer has no effect", async () => {
    const watched = watchedHost();
    const { host, writes } = watched;
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    shortenTimeLimit();
    host.session = never;
    const response = await browser.answer(page, "approve");
    expect(redirectOf(response)).toEqual(refusedByRedirect("temporarily_unavailable", { status: 303 }));
    expect(writes).toEqual([]);
    expect(causes(host)).toEqual([late("authenticate")]);
  });
});

describe("a host callback that answers what it may not (RFC 6749 §4.1.2.1)", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "alice"],
    ["true", true],
    ["an empty object", {}],
    ["an unknown kind", { kind: "signed-in", subject: "alice" }],
    ["no subject", { kind: "authenticated" }],
    ["an empty subject", { kind: "authenticated", subject: "" }],
    ["a subject of 256 characters", { kind: "authenticated", subject: "a".repeat(256) }],
    ["a NUL in the subject", { kind: "authenticated", subject: "alice\0" }],
    ["a high surrogate alone in the subject", { kind: "authenticated", subject: "alice\ud83d" }],
    ["a low surrogate alone in the subject", { kind: "authenticated", subject: "\ude00alice" }],
    ["a pair of surrogates in the wrong order", { kind: "authenticated", subject: "\ude00\ud83d" }],
    ["a number as subject", { kind: "authenticated", subject: 42 }],
    ["text as authTime", { kind: "authenticated", subject: "alice", authTime: "now" }],
    ["a Date as authTime", { kind: "authenticated", subject: "alice", authTime: new Date() }],
    ["a fraction as authTime", { kind: "authenticated", subject: "alice", authTime: 1.5 }],
    ["NaN as authTime", { kind: "authenticated", subject: "alice", authTime: Number.NaN }],
    ["milliseconds as authTime", { kind: "authenticated", subject: "alice", authTime: 1_800_000_000_000 }],
    ["null as authTime", { kind: "authenticated", subject: "alice", authTime: null }],
    ["a number as displayName", { kind: "authenticated", subject: "alice", displayName: 42 }],
    ["text as amr", { kind: "authenticated", subject: "alice", amr: "pwd" }],
    ["numbers in amr", { kind: "authenticated", subject: "alice", amr: [1] }],
    ["a number as acr", { kind: "authenticated", subject: "alice", acr: 1 }],
    ["an interaction without a url", { kind: "interaction" }],
    ["an interaction with an empty url", { kind: "interaction", url: "" }],
    ["an interaction with a URL object", { kind: "interaction", url: new URL("https://host.example/in") }],
    ["an interaction with a space in its url", { kind: "interaction", url: "/sign in" }],
    ["an interaction with a line feed in its url", { kind: "interaction", url: "/signin\r\nX: y" }],
    ["an interaction with a url beyond ASCII", { kind: "interaction", url: "/вход" }],
    ["a denial with a line feed", { kind: "denied", description: "a\nb" }],
    ["a denial with a quote", { kind: "denied", description: 'a "b"' }],
    ["a denial with a backslash", { kind: "denied", description: "a\\b" }],
    ["a denial beyond ASCII", { kind: "denied", description: "größer" }],
    ["a denial with an empty text", { kind: "denied", description: "" }],
    ["a denial with a number", { kind: "denied", description: 42 }],
  ])("authenticate answers %s", async (_, answer) => {
    const watched = watchedHost();
    watched.host.session = () => answer as Authentication;
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([expect.any(TypeError)]);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "granted"],
    ["true", true],
    ["an empty object", {}],
    ["an unknown kind", { kind: "allowed", scopes: ["orders:read"] }],
    ["granted without scopes", { kind: "granted" }],
    ["granted with text", { kind: "granted", scopes: "orders:read" }],
    ["granted with a set", { kind: "granted", scopes: new Set(["orders:read"]) }],
    ["granted with numbers", { kind: "granted", scopes: [1] }],
    ["a scope that was not asked for", { kind: "granted", scopes: ["orders:read", "orders:write"] }],
    ["an interaction without a url", { kind: "interaction" }],
    ["an interaction with an empty url", { kind: "interaction", url: "" }],
    ["an interaction with a URL object", { kind: "interaction", url: new URL("https://host.example/ask") }],
    ["an interaction with a space in its url", { kind: "interaction", url: "/ask me" }],
    ["an interaction with a line feed in its url", { kind: "interaction", url: "/ask\r\nX: y" }],
    ["an interaction with a url beyond ASCII", { kind: "interaction", url: "/вопрос" }],
  ])("decide answers %s", async (_, answer) => {
    const watched = watchedHost({ consent: { decide: () => answer as ConsentAnswer } });
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([expect.any(TypeError)]);
  });
});

describe("subjects and client ids (RFC 9068 §5)", () => {
  it.each(["web", "spa", "machine"])("refuses a subject that is the client id %s", async (subject) => {
    const { host, writes } = watchedHost({ clients: [trustedWeb, clients.spa, clients.machine] });
    host.session = { kind: "authenticated", subject };
    const response = await authorize(host.browser(), { client: "web" });
    expect(redirectOf(response)).toEqual(refusedByRedirect("server_error"));
    expect(causes(host)).toEqual([expect.any(TypeError)]);
    expect(writes).toEqual([]);
  });

  it.each([
    ["words beyond ASCII", "größe und länge"],
    ["characters of one to four bytes in UTF-8", "ä€😀"],
    ["255 characters", "a".repeat(255)],
    ["254 surrogates in pairs and a letter", `${"😀".repeat(127)}a`],
    ["control characters other than NUL", "a\u0001\u007f\n"],
  ])("takes a subject that no client can have, as it is: %s", async (_, subject) => {
    const host = testHost({ clients: [trustedWeb] });
    host.session = { kind: "authenticated", subject };
    const { access_token } = await obtainTokens(host, { client: "web" });
    const { body } = await callApi(host, "/orders", access_token);
    expect(body).toMatchObject({ subject });
  });
});

describe("storage fails: server_error and nothing half done", () => {
  const cause = new Error("the database is away");

  /** A host whose storage fails at one call, counted from 1 within the request that `arm` precedes. */
  function failingHost(failure: { call: string; time: number }): {
    host: TestHost;
    arm: () => void;
    disarm: () => void;
  } {
    let calls = Number.NaN;
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
      if (name === failure.call) calls += 1;
      return name === failure.call && calls === failure.time ? Promise.reject(cause) : call();
    });
    return {
      host: testHost({ storage, revocationLagSeconds: 0 }),
      arm: () => void (calls = 0),
      disarm: () => void (calls = Number.NaN),
    };
  }

  it.each([
    ["clients.find", 2],
    ["consents.find", 1],
  ])("on the first visit, at %s (call %i)", async (call, time) => {
    const { host, arm, disarm } = failingHost({ call, time });
    const browser = host.browser();
    arm();
    const failed = await authorize(browser, { client: "web" });
    expect(redirectOf(failed)).toEqual(refusedByRedirect("server_error"));
    expect(causes(host)).toEqual([cause]);
    expect(browser.cookies.size).toBe(0);
    disarm();
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each([
    ["clients.find", 2],
    ["consents.find", 1],
    ["consents.save", 1],
    ["authorizations.create", 1],
    ["authorizationCodes.create", 1],
  ])("at the approval, at %s (call %i)", async (call, time) => {
    const { host, arm, disarm } = failingHost({ call, time });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    arm();
    const failed = await browser.answer(page, "approve");
    expect(redirectOf(failed)).toEqual(refusedByRedirect("server_error", { status: 303 }));
    expect(causes(host)).toEqual([cause]);
    expect(host.events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    disarm();
    expect((await authorize(browser, { client: "web" })).status).toBe(200);
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it("at the approval, when the client cannot be looked up: a page, as there is no proven redirect URI", async () => {
    const { host, arm, disarm } = failingHost({ call: "clients.find", time: 1 });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    arm();
    const failed = await browser.answer(page, "approve");
    expect(failed.status).toBe(500);
    expect(causes(host)).toEqual([cause]);
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    disarm();
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each(["authorizations.create", "authorizationCodes.create"])(
    "without a question, at %s",
    async (call) => {
      const { host, arm } = failingHost({ call, time: 1 });
      await obtainCode(host, { client: "web" });
      arm();
      const failed = await authorize(host.browser(), { client: "web" });
      expect(redirectOf(failed)).toEqual(refusedByRedirect("server_error"));
      expect(causes(host)).toEqual([cause]);
      expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
    },
  );

  it("gives no code away when its storing failed", async () => {
    const handles: string[] = [];
    const memory = memoryStorage({ clients: [trustedWeb] });
    const storage: Storage = {
      ...memory,
      authorizations: {
        ...memory.authorizations,
        create: async (authorization, at) => {
          handles.push(authorization.authorizationId);
          await memory.authorizations.create(authorization, at);
        },
      },
      authorizationCodes: { ...memory.authorizationCodes, create: () => Promise.reject(cause) },
    };
    const host = testHost({ storage });
    await authorize(host.browser(), { client: "web" });
    const guess = `${handles[0] ?? ""}.${"A".repeat(43)}`;
    expect((await redeem(host, { client: "web", code: guess })).body).toMatchObject({
      error: "invalid_grant",
    });
  });
});
