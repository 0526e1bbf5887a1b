// A host that is careless with what tokens.decide returns, and with what it is given.
import request from "supertest";
import { memoryStorage, type TokenAdapter, type TokenDecision } from "../../lib";
import { type Pair, pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { introspect, ownToken, redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { answerOf, refusal, serverError } from "../requests/json-answers";
import { newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";

stopClockForEachTest();

const formats = [
  ["JWT", { api: "orders" }],
  ["opaque", { api: "reports" }],
] as const satisfies readonly (readonly [string, Pair])[];

function hostWith(decide: TokenAdapter["decide"]): TestHost {
  return testHost({ tokens: { decide } });
}

/** What the API is told of a token with these claims. */
async function claimsAtApi(claims: object, pair: Pair): Promise<unknown> {
  const host = hostWith(() => ({ kind: "issue", claims }));
  const { access_token: token } = await obtainTokens(host, { client: "web", pair });
  const told = await introspect(host, { token, pair });
  const { body } = await callApi(host, `/${pair.api}`, token);
  const { claims: own } = body as { claims?: object };
  expect(told.body).toMatchObject({ active: true, sub: "alice", ...own });
  return own;
}

describe.each(formats)("claims that look odd arrive as they are (RFC 8259 §7): %s", (_, pair) => {
  it.each<[string, object, unknown]>([
    ["names of Object.prototype", { constructor: "c", toString: "t", hasOwnProperty: 1 }, undefined],
    ["a deep __proto__", { deep: JSON.parse('{"__proto__": {"admin": true}}') as object }, undefined],
    ["half a character", { text: "\ud800" }, undefined],
    ["a null character", { text: "\u0000" }, undefined],
    ["a reserved name in capitals", { SUB: "bob", Scope: "x" }, undefined],
    ["a date", { since: new Date(0) }, { since: "1970-01-01T00:00:00.000Z" }],
    ["an object without a prototype", Object.assign(Object.create(null), { plan: "gold" }), { plan: "gold" }],
    ["many levels", { deep: JSON.parse("[".repeat(2_000) + "]".repeat(2_000)) as unknown }, undefined],
  ])("%s", async (__, claims, expected = claims) => {
    expect(JSON.stringify(await claimsAtApi(claims, pair))).toBe(JSON.stringify(expected));
  });

  it("none at all", async () => {
    expect(await claimsAtApi({}, pair)).toBeUndefined();
  });
});

class Organization {
  readonly name = "Acme";
}

describe("claims that JSON would change without a word are the host's mistake (RFC 9068 §2.2)", () => {
  const hidden = Object.defineProperty({ plan: "gold" }, "toJSON", { value: () => ({ sub: "bob" }) });
  it.each<[string, object]>([
    ["a forgotten await", { plan: Promise.resolve("gold") }],
    ["a Set", { plans: new Set(["gold"]) }],
    ["a Map, deep inside", { org: { plans: new Map([["a", "gold"]]) } }],
    ["NaN", { quota: Number.NaN }],
    ["infinity", { quota: Infinity }],
    ["undefined, deep inside", { org: { name: undefined } }],
    ["undefined in a list", { plans: [undefined] }],
    ["a function, deep inside", { org: { name: () => "gold" } }],
    ["a bigint, deep inside", { org: { n: [1n] } }],
    ["a toJSON that names the subject", hidden],
    ["a toJSON that is nothing", { org: { toJSON: () => undefined } }],
    ["a toJSON that throws", { org: { toJSON: () => JSON.parse("{") as unknown } }],
    ["a class of the host", { org: new Organization() }],
  ])("%s", async (_, claims) => {
    const host = hostWith(() => ({ kind: "issue", claims }));
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(serverError);
  });

  it("4,096 bytes are counted as UTF-8, and one more is too much", async () => {
    const emptyBytes = JSON.stringify({ t: "" }).length;
    for (const [text, status] of [
      ["x".repeat(4_096 - emptyBytes), 200],
      ["x".repeat(4_097 - emptyBytes), 500],
      ["€".repeat(1_362), 200],
      ["€".repeat(1_363), 500],
    ] as const) {
      const host = hostWith(() => ({ kind: "issue", claims: { t: text } }));
      const code = await obtainCode(host, { client: "web" });
      expect((await redeem(host, { client: "web", code })).status).toBe(status);
    }
  });
});

/** An object whose member is another one each time it is read. */
function changing<T extends object>(base: T, name: string, values: readonly unknown[]): T {
  let reads = 0;
  const get = (): unknown => values[Math.min(reads++, values.length - 1)];
  return Object.defineProperty(base, name, { get, enumerable: true });
}

describe("what is checked is what counts (RFC 6749 §6)", () => {
  it.each<[string, () => TokenDecision]>([
    ["a life", () => changing({ kind: "issue" }, "accessTokenSeconds", [30, 30, 86_400])],
    ["claims", () => changing({ kind: "issue" }, "claims", [{}, {}, { sub: "bob", scope: "root" }])],
    ["a kind", () => changing({ kind: "issue" }, "kind", ["refuse", "refuse", "issue"])],
    ["a claim", () => ({ kind: "issue", claims: changing({}, "a", [1, 2, { toJSON: () => "b" }]) })],
    ["scopes", () => changing({ kind: "issue" }, "scopes", [["orders:read"], ["orders:read"], ["root"]])],
  ])("when the answer differs each time it is read: %s", async (_, answer) => {
    const host = hostWith(answer);
    const code = await obtainCode(host, { client: "web" });
    const { status, body } = await redeem(host, { client: "web", code });
    const { access_token: token = "", expires_in: seconds = 0 } = body as Partial<Tokens>;
    expect([200, 400, 500]).toContain(status);
    expect(seconds).toBeLessThanOrEqual(600);
    const told = status === 200 ? await introspect(host, { token }) : undefined;
    expect(told?.body ?? { sub: "alice", scope: "orders:read" }).toMatchObject({
      sub: "alice",
      scope: "orders:read",
    });
  });

  it("when the host goes on changing one answer for all requests", async () => {
    const looks = newLatch();
    const shared = {
      kind: "issue",
      scopes: ["orders:read"],
      accessTokenSeconds: 30,
      claims: { plan: "gold" },
    };
    let isDeciding = false;
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, call) => {
      if (isDeciding && name === "authorizations.find") {
        Object.assign(shared, { scopes: ["root"], accessTokenSeconds: 86_400 });
        shared.claims.plan = "root";
        looks.open();
      }
      return call();
    });
    const decide = async (): Promise<TokenDecision> => {
      isDeciding = true;
      return shared as TokenDecision;
    };
    const host = testHost({ storage, tokens: { decide } });
    const { access_token: token, ...others } = await obtainTokens(host, { client: "web" });
    await looks.opened;
    expect(others).toMatchObject({ expires_in: 30, scope: "orders:read" });
    expect((await callApi(host, "/orders", token)).body).toMatchObject({ claims: { plan: "gold" } });
  });
});

function throwing(): never {
  throw new Error("the host is broken");
}

describe("an adapter that answers in odd ways (RFC 6749 §5.2)", () => {
  // eslint-disable-next-line unicorn/no-thenable -- what some promise libraries give
  const thenable = { then: (done: (answer: TokenDecision) => void) => done({ kind: "issue" }) };
  const frozen: TokenDecision = Object.freeze({ kind: "issue" });
  it.each<[string, TokenAdapter["decide"]]>([
    ["a thenable", () => thenable as unknown as Promise<TokenDecision>],
    ["a frozen object", () => frozen],
    ["a Proxy", () => new Proxy({ kind: "issue" } as const, {})],
    ["a promise of a promise", async () => Promise.resolve({ kind: "issue" } as const)],
  ])("%s is an answer", async (_, decide) => {
    const host = hostWith(decide);
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });
  class Answer {
    readonly kind = "issue";
  }
  const trap = { get: throwing, ownKeys: throwing };
  it.each<[string, TokenAdapter["decide"]]>([
    ["is an instance of a class", () => new Answer()],
    ["has a key of another kind", () => ({ kind: "issue", revoke: true }) as TokenDecision],
    ["throws undefined", () => Promise.reject(undefined)],
    [
      "has a getter that throws",
      () => Object.defineProperty({}, "kind", { get: throwing, enumerable: true }) as TokenDecision,
    ],
    ["is a Proxy that throws", () => new Proxy({}, trap) as TokenDecision],
    // eslint-disable-next-line unicorn/no-thenable -- the worst that a host can return
    ["has a then that throws", () => ({ then: throwing }) as unknown as TokenDecision],
    [
      "has claims with a getter that throws",
      () => ({ kind: "issue", claims: Object.defineProperty({}, "a", { get: throwing, enumerable: true }) }),
    ],
    [
      "has claims that are a Proxy that throws",
      () => ({ kind: "issue", claims: new Proxy({}, { getPrototypeOf: throwing }) }),
    ],
    ["has the number as text", () => ({ kind: "later", retryAfterSeconds: "5" }) as unknown as TokenDecision],
    ["comes later for ever", () => ({ kind: "later", retryAfterSeconds: Infinity })],
    ["has a life that is not a number", () => ({ kind: "issue", accessTokenSeconds: Number.NaN })],
    ["has a life in the past", () => ({ kind: "issue", accessTokenSeconds: -1 })],
    ["has scopes with holes", () => ({ kind: "issue", scopes: Array.from({ length: 1 }) })],
    ["has a scope twice in one text", () => ({ kind: "issue", scopes: ["orders:read orders:read"] })],
    ["has an empty description", () => ({ kind: "refuse", description: "" })],
    ["has a description with a line break", () => ({ kind: "refuse", description: "no\r\nX: y" })],
  ])("one that %s is a server_error", async (_, decide) => {
    const host = hostWith(decide);
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(serverError);
  });

  it("one that names a scope twice gives it once", async () => {
    const host = hostWith(({ scopes }) => ({ kind: "issue", scopes: [...scopes, ...scopes] }));
    expect(await obtainTokens(host, { client: "web" })).toMatchObject({ scope: "orders:read" });
  });

  it("one that asks the server for a token of its own gets one, and ends the circle itself", async () => {
    const host: TestHost = hostWith(async ({ subject }) => {
      if (subject === undefined) return { kind: "issue" };
      const { status } = await ownToken(host, { client: "machine" });
      return { kind: "issue", claims: { status } };
    });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", token)).body).toMatchObject({ claims: { status: 200 } });
  });
});

describe("what the host does with the question (RFC 6749 §3.3)", () => {
  it("changes neither this token nor a later one", async () => {
    const host = hostWith(async (question) => {
      const open = question as unknown as Record<string, object>;
      for (const part of [open, open["client"], open["authorization"]]) {
        for (const [name, value] of Object.entries(part ?? {})) {
          if (Array.isArray(value)) value.splice(0, value.length, "root");
          else if (typeof value === "string") (part as Record<string, string>)[name] = "mallory";
        }
      }
      await Promise.resolve();
      return { kind: "issue" };
    });
    for (let time = 0; time < 2; time += 1) {
      const { access_token: token, scope } = await obtainTokens(host, { client: "web" });
      expect(scope).toBe("orders:read");
      const { body } = await callApi(host, "/orders", token);
      expect(body).toMatchObject({ clientId: "web", subject: "alice", scopes: ["orders:read"] });
    }
  });

  it("two requests at the same time each get their own decision", async () => {
    let first = true;
    const host = hostWith(async ({ client: { clientId } }) => {
      if (first) {
        first = false;
        await new Promise(setImmediate);
      }
      return { kind: "issue", claims: { clientId } };
    });
    const tokens = await Promise.all(
      (["web", "native"] as const).map((client) => obtainTokens(host, { client })),
    );
    const told = await Promise.all(
      tokens.map(async ({ access_token: token }) => (await callApi(host, "/orders", token)).body as object),
    );
    expect(told).toMatchObject([{ claims: { clientId: "web" } }, { claims: { clientId: "native" } }]);
  });
});

describe("later at a browser client (Fetch standard, CORS-safelisted response headers)", () => {
  it("can be read by its script", async () => {
    const host = hostWith(() => ({ kind: "later", retryAfterSeconds: 7 }));
    const code = await obtainCode(host, { client: "spa" });
    const fields = { grant_type: "authorization_code", client_id: "spa", code, code_verifier: codeVerifier };
    const sent = request(host.app).post(`${pairPath()}/token`).set("Origin", "https://spa.example");
    const answer = await sent.type("form").send(fields);
    expect(answerOf(answer)).toEqual(refusal(503, "temporarily_unavailable"));
    expect(answer.headers).toMatchObject({
      "retry-after": "7",
      "access-control-expose-headers": "Retry-After",
    });
  });
});
