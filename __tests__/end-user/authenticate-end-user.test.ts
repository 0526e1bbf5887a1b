import type { Authentication } from "../../lib";
import { authenticateEndUser, type AuthenticationQuestion } from "../../lib/end-user/authenticate-end-user";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { clockDriftSeconds } from "../../lib/protocol/time";
import { askedRequest, hostPort, now, refusalOf } from "../host/asked";

interface Asked extends Partial<Pick<AuthenticationQuestion, "back">> {
  readonly request?: Partial<AuthorizationRequest>;
  /** What the clock says by the time the host has answered. */
  readonly answeredAt?: number;
  /** Subjects that are ids of clients. */
  readonly taken?: readonly string[];
}

/** The person comes back from a page of a request that began then. */
const since = (began: number) => ({ began, choosesAccount: false });
const switching: Asked = { back: { began: now - 100, choosesAccount: true } };

const signedIn = { kind: "authenticated", subject: "alice" } as const;
const page = { kind: "interaction", url: "/sign-in" } as const;

/** What comes of the answers of the host, one after the other, and whether each was asked to sign the person in again. */
async function authenticated(answers: readonly Authentication[], asked: Asked = {}) {
  const demands: boolean[] = [];
  const left = [...answers];
  const port = hostPort({
    async authenticate({ reauthenticate }) {
      demands.push(reauthenticate);
      const answer = left.shift();
      if (!answer) throw new Error("the host is asked once too often");
      return answer;
    },
  });
  const { request, answeredAt = now, taken = [], ...visit } = asked;
  const question = { back: undefined, ...visit, port, now };
  const result = await authenticateEndUser(
    { clients: { isTaken: async (subject) => taken.includes(subject) }, clock: () => answeredAt },
    { ...question, request: askedRequest(request) },
  );
  return { result, demands, left: left.length };
}

/** `fresh` when the session counts. Otherwise the host is asked again, and shows its page. */
async function freshness(authTime: number | undefined, asked: Asked = {}): Promise<string> {
  const session = { ...signedIn, ...(authTime !== undefined && { authTime }) };
  const { result, left } = await authenticated([session, page], asked);
  expect(result.kind).toBe(left === 1 ? "end-user" : "interaction");
  return left === 1 ? "fresh" : "stale";
}

describe("the person who is signed in (RFC 9068 §2.2.1)", () => {
  const person = { subject: "alice", displayName: "alice", facts: {}, context: undefined };

  it.each<[string, object, object]>([
    ["a subject alone", {}, {}],
    ["a name", { displayName: "Alice" }, { displayName: "Alice" }],
    ["when", { authTime: 900 }, { facts: { authTime: 900 } }],
    ["by what means", { amr: ["pwd"] }, { facts: { amr: ["pwd"] } }],
    ["in which class", { acr: "2" }, { facts: { acr: "2" } }],
    ["from where", { signedInFrom: "Chrome" }, { facts: { signedInFrom: "Chrome" } }],
    ["all three", { authTime: 900, amr: [], acr: "" }, { facts: { authTime: 900, amr: [], acr: "" } }],
    ["a context", { context: { key: "acme" } }, { context: { key: "acme" } }],
  ])("has what the host says, and no member without a value: %s", async (_, said, known) => {
    const { result, demands } = await authenticated([{ ...signedIn, ...said }]);
    // strict: a member that is undefined is there
    expect(result).toStrictEqual({ kind: "end-user", endUser: { ...person, ...known } });
    expect(demands).toEqual([false]);
  });

  it("is sent to the page of the host when nobody is", async () => {
    expect((await authenticated([page])).result).toEqual(page);
  });
});

describe("a session that is too old (OpenID Connect Core §3.1.2.1)", () => {
  const login: Asked = { request: { prompt: ["login"] } };
  const hour: Asked = { request: { maxAge: 3_600 } };
  const began = now - 100;
  const hourAgo = now - 3_600;

  it.each<[string, number | undefined, Asked, "fresh" | "stale"]>([
    ["nothing is asked of it", hourAgo, {}, "fresh"],
    ["nothing is asked of it, whenever it began", undefined, {}, "fresh"],
    ["max_age is not over", hourAgo, hour, "fresh"],
    ["max_age is over by a second", hourAgo - 1, hour, "stale"],
    ["max_age, and no time", undefined, hour, "stale"],
    ["max_age=0, a second ago", now - 1, { request: { maxAge: 0 } }, "stale"],
    ["max_age=0, just now", now, { request: { maxAge: 0 } }, "fresh"],
    ["prompt=login, and no time", undefined, login, "stale"],
    ["prompt=login, a second ago", now - 1, login, "stale"],
    ["prompt=login, just now", now, login, "fresh"],
  ])("is asked for again, unless %s", async (_, authTime, asked, expected) => {
    expect(await freshness(authTime, asked)).toBe(expected);
  });

  it.each<[string, number, Asked, "fresh" | "stale"]>([
    ["a sign-in on the way meets prompt=login", began, login, "fresh"],
    ["one before that does not", began - 1, login, "stale"],
    ["a sign-in on the way meets max_age, so that none can loop", began, { request: { maxAge: 0 } }, "fresh"],
    [
      "max_age counts until the request arrived, not until the page was answered",
      began - 3_600,
      hour,
      "fresh",
    ],
    ["a second more is too old", began - 3_601, hour, "stale"],
  ])("after a page: %s", async (_, authTime, asked, expected) => {
    expect(await freshness(authTime, { ...asked, back: since(began) })).toBe(expected);
  });

  it.each<[string, number, number, "fresh" | "stale"]>([
    ["a time that this clock has reached is taken as it is", now, now, "fresh"],
    ["one ahead of this clock may be earlier by what clocks differ", now + 1, now, "stale"],
    ["one ahead by all of that is not before the request", now + clockDriftSeconds, now, "fresh"],
    ["it may be later by the time the host answers", now + 1, now + 1, "fresh"],
  ])("by two clocks: %s", async (_, authTime, answeredAt, expected) => {
    expect(await freshness(authTime, { ...login, answeredAt })).toBe(expected);
  });

  it("by two clocks: a sign-in before the page does not meet prompt=login, where the page began by a clock ahead", async () => {
    expect(await freshness(now, { ...login, back: since(now + 10) })).toBe("stale");
  });

  it("asks for a new sign-in at once where one is demanded, and after an old session elsewhere", async () => {
    const atOnce = await authenticated([{ ...signedIn, authTime: now }], login);
    expect(atOnce.demands).toEqual([true]);
    const old = { ...signedIn, authTime: hourAgo - 1 };
    const after = await authenticated([old, { ...signedIn, subject: "bob", authTime: now }], hour);
    expect(after.demands).toEqual([false, true]);
    // whoever signs in again may be somebody else
    expect(after.result).toMatchObject({ endUser: { subject: "bob" } });
    const back = await authenticated([{ ...signedIn, authTime: began }], { ...login, back: since(began) });
    expect(back.demands).toEqual([false]);
  });
});

describe("a choice of account (OpenID Connect Core §3.1.2.1)", () => {
  const select: Asked = { request: { prompt: ["select_account"] } };

  it.each<[string, Asked]>([
    ["prompt=select_account", select],
    ["a person who asks for another account", switching],
  ])("is made on a page: %s", async (_, asked) => {
    expect(await authenticated([page], asked)).toMatchObject({ result: page, demands: [true] });
  });

  it("was made by a person who comes back from there, whenever they signed in", async () => {
    const { result, demands } = await authenticated([signedIn], { ...select, back: since(now - 100) });
    expect([result.kind, demands]).toEqual(["end-user", [false]]);
  });

  it.each<[string, Asked]>([
    ["prompt=select_account", select],
    ["a person who asks for another account", switching],
  ])("cannot be made by the host: %s", async (_, asked) => {
    expect(await refusalOf(authenticated([signedIn], asked))).toMatchObject({
      error: "interaction_required",
      description: "The end user has to choose an account.",
    });
  });
});

const refused = (description: string) => ({ error: "access_denied", description, code: "sign-in-denied" });

describe("why nobody is signed in, and what the host is told (OpenID Connect Core §3.1.2.6)", () => {
  const login: Asked = { request: { prompt: ["login"] } };
  const noAuthTime = new TypeError(
    "authenticate must return an authTime: without it, prompt=login and max_age cannot be met.",
  );
  const isClient = new TypeError(
    "authenticate returned a subject that is a client id. Use subjects that differ from every client id.",
  );
  const stale = {
    error: "login_required",
    description: "The end user has to sign in again.",
    code: "sign-in-too-old",
  };
  const nobody = {
    error: "login_required",
    description: "The end user is not signed in.",
    code: "not-signed-in",
  };
  const silent: Asked = { request: { prompt: ["none"] } };
  const old = { ...signedIn, authTime: 1 };

  it.each<[string, readonly Authentication[], Asked, object]>([
    ["the host refuses", [{ kind: "denied" }], {}, refused("The end user was not signed in.")],
    ["the host says why", [{ kind: "denied", description: "Closed." }], {}, refused("Closed.")],
    ["no page may be shown", [page], silent, nobody],
    [
      "no page may be shown for a new sign-in",
      [old, page],
      { request: { prompt: ["none"], maxAge: 1 } },
      nobody,
    ],
    ["the host answers twice from an old session", [old, old], login, stale],
    ["the host does not say when, and never will", [signedIn, signedIn], login, stale],
    ["nor does it after a page", [signedIn], { ...login, back: since(now - 1) }, noAuthTime],
    ["the person has the id of a client", [{ ...signedIn, subject: "web" }], { taken: ["web"] }, isClient],
    [
      "an answer is wrong",
      [{ kind: "authenticated", subject: "" }],
      {},
      new TypeError(
        "authenticate returned an invalid answer: subject must be a string of 1 to 255 characters.",
      ),
    ],
    [
      "a context may be a failed look-up",
      [{ ...signedIn, context: undefined as never }],
      {},
      new TypeError(
        "authenticate returned an invalid answer: context must be { key } or { key, data }, as JSON.",
      ),
    ],
  ])("%s", async (_, answers, asked, refusal) => {
    expect(await refusalOf(authenticated(answers, asked))).toEqual(refusal);
  });
});
