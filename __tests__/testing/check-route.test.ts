/** What checkRoute sends to a route, and what it says of the answers. RFC 6750 §3, §3.1. */
import type { Issuer } from "../../lib/protocol/issuer";
import { checkRoute, type RouteAnswer, type SendRequest } from "../../lib/testing/check-route";
import type { MintToken } from "../../lib/testing/token-request";
import { issuerRecord } from "../records/records";

const alice = { api: "orders", client: "web", subject: "alice", scope: "read write" };

type Asked = Parameters<MintToken>[0];

/** Tokens that say what they are: the kind, and what was asked for. */
function mintOf(kind: string): MintToken {
  return async (asked) => `${kind} ${JSON.stringify(asked)}`;
}

const mints = {
  issue: mintOf("good"),
  expired: mintOf("expired"),
  revoked: mintOf("revoked"),
  withdrawn: mintOf("withdrawn"),
  disabled: mintOf("disabled"),
  foreign: mintOf("foreign"),
  unbound: mintOf("unbound"),
};

/** What came in `Authorization`: a kind and what was asked for. `undefined`: the request had no headers at all. */
function sentIn(headers: Readonly<Record<string, string>>): { kind: string; asked: Asked } | undefined {
  const { authorization, ...others } = headers;
  expect(others).toEqual({});
  if (authorization === undefined) return undefined;
  const [, kind = "", asked = ""] = /^Bearer (\w+) (.*)$/.exec(authorization) ?? [];
  return { kind, asked: JSON.parse(asked) as Asked };
}

interface Given {
  readonly request?: Asked;
  readonly issuers?: readonly Issuer[];
  /** The table of clients. Left out: one that can be written. */
  readonly clients?: object;
  /** The first answer, to the good token. */
  readonly good?: RouteAnswer;
  /** The answers after that. Left out: the right ones. */
  readonly answer?: (number: number) => RouteAnswer;
}

const challenge = (text: string) => ({ "www-authenticate": text });
const invalidToken = challenge('Bearer error="invalid_token"');
const insufficientScope = challenge('Bearer error="insufficient_scope", scope="read write"');

const writable = { replace: () => undefined };

/** What was sent, and what was thrown. */
async function check({ request = alice, issuers = [], clients = writable, good, answer }: Given = {}) {
  const sent: unknown[] = [];
  const send: SendRequest = (headers) => {
    const came = sentIn(headers);
    sent.push(came ? [came.kind, came.asked] : "no token");
    if (sent.length === 1) return good ?? { status: 200, headers: {} };
    if (answer) return answer(sent.length - 1);
    if (!came) return { status: 401, headers: challenge("Bearer") };
    return came.kind === "good"
      ? { status: 403, headers: insufficientScope }
      : { status: 401, headers: invalidToken };
  };
  const thrown: unknown = await checkRoute({ mints, issuers, storage: { clients } }, { request, send }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { sent, thrown };
}

/** The lines of what a route was answered wrongly. */
async function faults(answer: Given["answer"], request: Asked = alice): Promise<string[]> {
  const { thrown } = await check({ request, ...(answer && { answer }) });
  expect(thrown).toBeInstanceOf(Error);
  return (thrown as Error).message.split("\n");
}

/** The scopes of the good tokens after the first one. */
async function lacking(scope: string | readonly string[], issuers: readonly Issuer[] = []) {
  const { sent, thrown } = await check({ request: { ...alice, scope }, issuers });
  expect(thrown).toBeUndefined();
  const good = sent.slice(1).filter((one): one is [string, Asked] => Array.isArray(one) && one[0] === "good");
  return good.map(([, asked]) => asked.scope);
}

describe("what is sent to a route", () => {
  it("is a good token, none, every refused kind, and one without each scope", async () => {
    const { scope: _, ...others } = alice;
    expect(await check()).toStrictEqual({
      sent: [
        ["good", alice],
        "no token",
        ["expired", alice],
        ["revoked", alice],
        ["withdrawn", alice],
        ["disabled", alice],
        ["foreign", alice],
        ["good", { ...others, scope: ["write"] }],
        ["good", { ...others, scope: ["read"] }],
      ],
      thrown: undefined,
    });
  });

  it("is no withdrawn token of a client's own: there is nobody to take it back (RFC 6749 §4.4)", async () => {
    const own = { api: "orders", client: "web" };
    expect(await check({ request: own })).toStrictEqual({
      sent: [
        ["good", own],
        "no token",
        ["expired", own],
        ["revoked", own],
        ["disabled", own],
        ["foreign", own],
      ],
      thrown: undefined,
    });
  });

  it.each<[string, object, readonly object[]]>([
    ["acr", { acr: "otp" }, [{}]],
    ["authTime", { authTime: 9 }, [{ authTime: 0 }]],
    ["both", { acr: "otp", authTime: 9 }, [{ authTime: 9 }, { acr: "otp", authTime: 0 }]],
  ])("is a weaker sign-in where the good token names %s (RFC 9470 §3)", async (_, named, weaker) => {
    const { scope: _scope, ...unscoped } = alice;
    const weak = { status: 401, headers: challenge('Bearer error="insufficient_user_authentication"') };
    const { sent, thrown } = await check({
      request: { ...unscoped, ...named },
      answer: (number) => {
        if (number === 1) return { status: 401, headers: challenge("Bearer") };
        return number <= 6 ? { status: 401, headers: invalidToken } : weak;
      },
    });
    expect(sent.slice(7)).toEqual(weaker.map((each) => ["good", { ...unscoped, ...each }]));
    expect(thrown).toBeUndefined();
  });

  it("names the sign-ins that a route should have refused", async () => {
    const lines = await faults(() => ({ status: 200, headers: {} }), { ...alice, acr: "otp", authTime: 9 });
    const wanted = 'was answered with 200, not with 401 and error="insufficient_user_authentication"';
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`the token without acr ${wanted}`),
        expect.stringContaining(`the token of an old sign-in ${wanted}`),
      ]),
    );
  });

  it("names the token without its only scope", async () => {
    const lines = await faults(() => ({ status: 200, headers: {} }), { ...alice, scope: "read" });
    expect(lines.at(-1)).toMatch(/^- the token with no scope was answered with 200/);
  });

  it("is no token of a disabled client where the table cannot be written", async () => {
    const { sent, thrown } = await check({ clients: { find: () => undefined } });
    expect(thrown).toBeUndefined();
    expect(sent).toContainEqual(["withdrawn", alice]);
    expect(sent).not.toContainEqual(["disabled", alice]);
  });

  it.each<[string, string | readonly string[], readonly unknown[]]>([
    ["one scope", "read", [undefined]],
    ["a list", ["read", "write"], [["write"], ["read"]]],
    ["a list with one scope twice", ["read", "read"], [undefined]],
    ["a list whose text names two", ["read write"], [["write"], ["read"]]],
    [
      "three scopes",
      "a b c",
      [
        ["b", "c"],
        ["a", "c"],
        ["a", "b"],
      ],
    ],
    ["scopes that cannot be read", " ", []],
  ])("lacks each scope that is named once: %s (RFC 6749 §3.3)", async (_, scope, expected) => {
    expect(await lacking(scope)).toEqual(expected);
  });

  it("lacks no scope that another one implies: it would come back", async () => {
    const implied = issuerRecord({ impliedScopes: new Map([["write", ["read", "list"]]]) });
    const reverse = issuerRecord({ apiId: "files", impliedScopes: new Map([["read", ["write"]]]) });
    expect(await lacking("read write other", [reverse, implied])).toEqual([
      ["read", "other"],
      ["read", "write"],
    ]);
    expect(await lacking("read other", [reverse, implied])).toEqual([["other"], ["read"]]);
  });
});

describe("a route that refuses the good token", () => {
  it.each<[number, string]>([
    [
      401,
      "Does the app have the signingKeys and the storage that testTokens was given, and does the route take tokens of this kind, with the acr and authTime that the route asks for?",
    ],
    [403, "Which scopes does the route need?"],
    [400, "Is this the route, and did the handler get what it needs?"],
    [404, "Is this the route, and did the handler get what it needs?"],
  ])("is sent nothing else: %i", async (status, hint) => {
    const { sent, thrown } = await check({ good: { status, headers: {} } });
    expect(sent).toHaveLength(1);
    expect(thrown).toMatchObject({
      code: "route-refuses-good-token",
      message: expect.stringContaining(hint) as string,
    });
  });

  it("is not one that answers with a redirect", async () => {
    expect(await check({ good: { status: 399, headers: {} } })).toMatchObject({ thrown: undefined });
  });
});

const none = (got: number) => `- no token was answered with ${got}, not with 401 in WWW-Authenticate`;
const no = (kind: string, got: number) =>
  `- the token that is ${kind} was answered with ${got}, not with 401 and error="invalid_token" in WWW-Authenticate`;
const few = (which: string, got: number) =>
  `- the token with ${which} was answered with ${got}, not with 403 and error="insufficient_scope" in WWW-Authenticate`;

describe("answers that a route gives wrongly (RFC 6750 §3.1)", () => {
  it("are all listed: an open route", async () => {
    expect(await faults(() => ({ status: 200, headers: {} }), { ...alice, scope: "a b c" })).toEqual([
      "tokens.checkRoute:",
      none(200),
      ...["expired", "revoked", "withdrawn", "disabled", "foreign"].map((kind) => no(kind, 200)),
      few("only the scope b c", 200),
      few("only the scope a c", 200),
      few("only the scope a b", 200),
    ]);
  });

  it.each<[string, RouteAnswer, readonly string[]]>([
    [
      "the wrong status with the right error",
      { status: 400, headers: challenge('error="invalid_token", error="insufficient_scope"') },
      [
        none(400),
        no("expired", 400),
        no("revoked", 400),
        no("disabled", 400),
        no("foreign", 400),
        few("no scope", 400),
      ],
    ],
    [
      "401 for everything, with the error of a token",
      { status: 401, headers: invalidToken },
      [few("no scope", 401)],
    ],
    [
      "401 without an error",
      { status: 401, headers: challenge("Bearer") },
      [no("expired", 401), no("revoked", 401), no("disabled", 401), no("foreign", 401), few("no scope", 401)],
    ],
    [
      "401 without WWW-Authenticate",
      { status: 401, headers: {} },
      [
        none(401),
        no("expired", 401),
        no("revoked", 401),
        no("disabled", 401),
        no("foreign", 401),
        few("no scope", 401),
      ],
    ],
    [
      "WWW-Authenticate that is no text",
      { status: 401, headers: { "www-authenticate": ['error="invalid_token"'] } },
      [
        none(401),
        no("expired", 401),
        no("revoked", 401),
        no("disabled", 401),
        no("foreign", 401),
        few("no scope", 401),
      ],
    ],
    [
      "403 with another error",
      { status: 403, headers: invalidToken },
      [
        none(403),
        no("expired", 403),
        no("revoked", 403),
        no("disabled", 403),
        no("foreign", 403),
        few("no scope", 403),
      ],
    ],
  ])("are listed one by one: %s", async (_, answer, expected) => {
    const own = { api: "orders", client: "web", scope: "read" };
    expect(await faults(() => answer, own)).toEqual(["tokens.checkRoute:", ...expected]);
  });
});

describe("answers of fetch, supertest and light-my-request", () => {
  const own = { api: "orders", client: "web" };
  const text = 'Bearer error="invalid_token"';

  it.each<[string, RouteAnswer]>([
    ["a status, and Headers", { status: 401, headers: new Headers({ "WWW-Authenticate": text }) }],
    ["a status, and an object", { status: 401, headers: challenge(text) }],
    ["a statusCode", { statusCode: 401, headers: challenge(text) }],
    ["a header that is called get", { status: 401, headers: { get: "text", ...challenge(text) } }],
  ])("are read: %s", async (_, refusal) => {
    const { sent, thrown } = await check({ request: own, answer: () => refusal });
    expect(thrown).toBeUndefined();
    expect(sent).toHaveLength(6);
  });

  it.each<[string, object]>([
    ["no status", { headers: {} }],
    ["a status that is a text", { status: "200", headers: {} }],
  ])("have a status: %s is refused", async (_, good) => {
    const { thrown } = await check({ good: good as RouteAnswer });
    expect(thrown).toMatchObject({ code: "answer-without-status" });
    expect(thrown).toBeInstanceOf(TypeError);
  });

  it("come from a function: nothing is minted for anything else", async () => {
    const issue = jest.fn(mints.issue);
    const checked = checkRoute(
      { mints: { ...mints, issue }, issuers: [], storage: { clients: writable } },
      { request: alice, send: "GET /orders" as unknown as SendRequest },
    );
    await expect(checked).rejects.toMatchObject({ code: "send-not-a-function" });
    expect(issue).not.toHaveBeenCalled();
  });
});
