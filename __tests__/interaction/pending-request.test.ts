// Pending requests in the cookies of a browser, without a server.
import { createHmac, randomBytes } from "node:crypto";
import type { Request } from "express";
import {
  keptScopes,
  type PendingRequest,
  type PendingRequests,
  pendingParameters,
  pendingRequests,
  shownScopesOf,
} from "../../lib/interaction/pending-request";
import { parametersFromObject } from "../../lib/protocol/parameters";

const now = 1_800_000_000;
const prefix = "__Host-authmount.";
const attributes = "Path=/; HttpOnly; SameSite=Lax; Secure";
const [a, b, c] = ["A", "B", "C"].map((letter) => letter.repeat(22)) as [string, string, string];

function keeper(secure = true, secrets: [string, ...string[]] = ["secret"]): PendingRequests {
  return pendingRequests({ secure, secrets, clock: () => now });
}

function browser(...cookies: readonly string[]): Request {
  return { headers: cookies.length === 0 ? {} : { cookie: cookies.join("; ") } } as Request;
}

function pendingOf(interactionId: string, changes: Partial<PendingRequest> = {}): PendingRequest {
  return {
    interactionId,
    authMethodId: "password",
    apiId: "orders",
    parameters: { client_id: "web" },
    shownScopes: ["orders:read"],
    began: now,
    expiresAt: now + 600,
    ...changes,
  };
}

/** The same, with so much of what is not compressed that it is JSON of about this size. */
function pendingOfSize(interactionId: string, bytes: number): PendingRequest {
  const empty = JSON.stringify(pendingOf(interactionId, { contextKey: "" })).length;
  return pendingOf(interactionId, { contextKey: "s".repeat(bytes - empty) });
}

/** The cookies as a browser sends them. */
function sealed(pending: PendingRequest, from: PendingRequests = keeper()): string {
  return from.seal(pending, browser())?.at(-1)?.split(";")[0] ?? "";
}

function cleared(id: string): string {
  return `${prefix}${id}=; ${attributes}; Max-Age=0`;
}

describe("the cookie of a pending request (RFC 6265 §4.1)", () => {
  it.each([
    [true, prefix, attributes],
    [false, "authmount.", "Path=/; HttpOnly; SameSite=Lax"],
  ])("belongs to exactly this host where the server has https: %s", (secure, name, rest) => {
    const [cookie = ""] = keeper(secure).seal(pendingOf(a), browser()) ?? [];
    const [pair = "", ...others] = cookie.split("; ");
    expect(pair).toMatch(`${name}${a}=s:`);
    expect(others.join("; ")).toBe(`${rest}; Max-Age=600`);
  });

  it("is sealed by a key for this purpose only, which stays the same from version to version", () => {
    const key = createHmac("sha256", "secret").update("authmount pending request").digest("base64url");
    const [, value = "", seal] = /=s:(.*)\.(.*)$/.exec(sealed(pendingOf(a))) ?? [];
    expect(seal).toBe(createHmac("sha256", key).update(value).digest("base64").replace("=", ""));
  });

  it("has at most 3,500 bytes", () => {
    const lengths = Array.from(
      { length: 100 },
      (_, more) => sealed(pendingOfSize(a, 2_500 + more)).length - `${prefix}${a}=`.length,
    ).filter((length) => length > 0);
    expect(lengths.length).toBeLessThan(100);
    expect(3_500 - Math.max(...lengths)).toBeLessThan(3);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(3_500);
  });

  it.each<[string, Partial<PendingRequest>]>([
    [
      "50 scopes in URL form",
      {
        shownScopes: Array.from(
          { length: 50 },
          (_, each) => `https://api.example.com/auth/resource-${each}.readonly`,
        ),
      },
    ],
    ["2,200 characters of random state", { parameters: { state: randomBytes(1_650).toString("base64url") } }],
  ])("has room for %s", (_, changes) => {
    const pending = pendingOf(a, changes);
    expect(keeper().open(browser(sealed(pending)), a)).toEqual(pending);
  });

  it("tells by its length nothing of the person to whoever has chosen the rest", () => {
    const parameters = { state: "alice@example.com" };
    const guesses = ["alice@example.com", "bobby@example.com"].map((consentSubject) =>
      sealed(pendingOf(a, { parameters, consentSubject })),
    );
    expect(guesses[0]).toHaveLength(guesses[1]?.length ?? 0);
  });
});

describe("opening a pending request", () => {
  const cookie = sealed(pendingOf(a));
  const inside = /=s:(.*)\./.exec(cookie)?.[1] ?? "";
  const foreign = sealed(pendingOf(a), keeper(true, ["another secret"]));

  it.each<[string, Request, string | undefined, unknown]>([
    ["its own cookie", browser(cookie), a, pendingOf(a)],
    ["its cookie among others", browser("x=1", sealed(pendingOf(b)), cookie, "y"), a, pendingOf(a)],
    ["spaces around the value", browser(`${cookie.replace("=", " = ")} `, "x=1"), a, pendingOf(a)],
    ["no id", browser(cookie), undefined, "no-id"],
    ["neither id nor cookie", browser("x=1"), undefined, "no-request"],
    ["no header", browser(), a, "no-cookie"],
    ["cookies of the host only", browser("x=1", `my-${prefix}=1`), a, "no-cookie"],
    ["the cookie of another request", browser("x=1", sealed(pendingOf(b))), a, "over"],
    ["a cookie that other secrets have sealed", browser("x=1", foreign), a, "foreign-seal"],
    ["a cookie that is marked as unsealed", browser(cookie.replace("=s:", "=")), a, "foreign-seal"],
    ["what is inside, without a seal", browser(`${prefix}${a}=${inside}`), a, "foreign-seal"],
    ["a cookie under another name", browser(cookie.replace(a, b)), b, "over"],
  ])("with %s", (_, req, id, found) => {
    expect(keeper().open(req, id)).toEqual(found);
  });

  it.each<[string, Partial<PendingRequest>, boolean]>([
    ["in its last second", { expiresAt: now + 1 }, true],
    ["at its end", { expiresAt: now }, false],
    ["begun by a clock that is five minutes ahead", { began: now + 300 }, true],
    ["begun later than that: a clock was set back", { began: now + 301 }, false],
  ])("looks at the time: %s", (_, times, isOpen) => {
    const pending = pendingOf(a, times);
    const kept = keeper().open(browser(sealed(pending)), a);
    expect(kept).toEqual(isOpen ? pending : "over");
  });

  it("accepts the seals of every secret, and makes those of the first", () => {
    const both = keeper(true, ["secret", "another secret"]);
    expect(both.open(browser(foreign), a)).toEqual(pendingOf(a));
    expect(sealed(pendingOf(a), both)).toBe(cookie);
  });
});

/** What deletes the cookies that have to go for a new one. */
function crowdedOut(next: PendingRequest, ...cookies: readonly string[]): readonly string[] | undefined {
  return keeper()
    .seal(next, browser(...cookies))
    ?.slice(0, -1);
}

describe("many pending requests in one browser", () => {
  const large = (id: string): string => sealed(pendingOfSize(id, 2_500));
  /** A cookie whose name and value have this length together. */
  const filled = (id: string, length: number): string =>
    `${prefix}${id}=${"v".repeat(length - prefix.length - 22)}`;

  it.each<[string, PendingRequest, readonly string[], readonly string[]]>([
    ["two have room", pendingOfSize(c, 2_500), [large(a)], []],
    ["the oldest one goes", pendingOfSize(c, 2_500), [large(a), large(b)], [a]],
    ["the second one stays where one is enough", pendingOf(c), [large(a), large(b), filled(c, 90)], [a]],
    ["the last cookie of the same request does not count", pendingOfSize(a, 2_500), [large(a), large(b)], []],
    ["the host's cookies stay", pendingOfSize(c, 2_500), [`x=${"v".repeat(8_000)}`], []],
    ["a host's cookie with our ending stays", pendingOf(c), [`${b}${prefix}=${"v".repeat(8_000)}`], []],
    ["a cookie whose name is no id stays", pendingOf(c), [`${prefix}x=${"v".repeat(8_000)}`], []],
  ])("keep below 7,000 bytes: %s", (_, next, cookies, gone) => {
    expect(crowdedOut(next, ...cookies)).toEqual(gone.map(cleared));
  });

  it("may have exactly 7,000 bytes", () => {
    const ofNext = sealed(pendingOf(c)).length - `${prefix}${c}=`.length;
    expect(crowdedOut(pendingOf(c), filled(a, 7_000 - ofNext))).toEqual([]);
    expect(crowdedOut(pendingOf(c), filled(a, 7_001 - ofNext))).toEqual([cleared(a)]);
    const [half, rest] = [filled(a, 3_000), filled(b, 4_000 - ofNext)];
    expect(crowdedOut(pendingOf(c), half, rest)).toEqual([]);
    expect(crowdedOut(pendingOf(c), half, `${rest}v`)).toEqual([cleared(a)]);
  });
});

describe("the end of a pending request", () => {
  it("deletes its cookie where nothing was answered", () => {
    expect(keeper().end(pendingOf(a), { req: browser(), answer: undefined })).toEqual([cleared(a)]);
  });

  it.each([
    ["half a minute", now + 600, now + 30],
    ["no longer than the request itself", now + 10, now + 10],
  ])("lets the same answer be repeated for %s", (_, expiresAt, until) => {
    const pending = pendingOf(a, { expiresAt });
    const cookies = keeper().end(pending, { req: browser(), answer: "deny" });
    const [cookie = ""] = cookies;
    expect(cookies).toHaveLength(1);
    expect(cookie).toContain(`; Max-Age=${until - now}`);
    expect(keeper().open(browser(cookie.split(";")[0] ?? ""), a)).toEqual({
      ...pending,
      answered: "deny",
      expiresAt: until,
    });
  });
});

describe("what a pending request keeps", () => {
  it("is the request's parameters without scope and acr_values, which are kept once checked, and no others", () => {
    const sent = { client_id: "web", scope: "orders:read", acr_values: "otp", state: "s", foreign: "1" };
    expect(Object.entries(pendingParameters(parametersFromObject(sent)))).toEqual([
      ["client_id", "web"],
      ["state", "s"],
    ]);
  });

  it.each([
    [["a"], ["a"], { shownScopes: ["a"] }],
    [["a"], ["a", "b", "c"], { shownScopes: ["a"], impliedScopes: ["b", "c"] }],
    [[], [], { shownScopes: [] }],
  ])("is what was asked for, and what that implies: %j %j", (requestedScopes, grantableScopes, kept) => {
    const shown = { requestedScopes, grantableScopes };
    expect(keptScopes(shown)).toEqual(kept);
    expect(shownScopesOf({ ...pendingOf(a), ...kept })).toEqual(shown);
  });
});
