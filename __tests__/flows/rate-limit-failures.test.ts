// A hook of the host that is slow, careless or broken, and hooks under way at the same time.
import type { ClientOutcome, RateLimitDecision } from "../../lib";
import { issuer } from "../hosts/apis";
import { ownToken, postToken, redeem } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { listeners } from "../hosts/in-front";
import { obtainCode } from "../browser/journey";
import { answerOf, invalidClient, refusal, serverError } from "../requests/json-answers";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { limited, limitedHost, type LimitedHost } from "./rate-limits";
import { closeServersAfterEachTest, form, serverOf, statusesOf, talk } from "../requests/raw-connections";
import { shortenTimeLimit } from "../storage/time-limit";
import { clientCredentials, postTokenText } from "../requests/token-requests";

closeServersAfterEachTest();

const broken = new Error("the counters are gone");

function throwing(): never {
  throw broken;
}

/** What the host was told that it or storage has failed. */
function failuresOf({ host: { events } }: LimitedHost): unknown[] {
  return events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []));
}

/** The text of the one failure, which is a mistake of the host. */
function mistakeOf(made: LimitedHost): string {
  const [cause, ...more] = failuresOf(made);
  expect(more).toEqual([]);
  expect(cause).toBeInstanceOf(TypeError);
  return (cause as TypeError).message;
}

describe("the address of an attempt", () => {
  it.each([
    ["in Express", "203.0.113.7"],
    ["in front of Express", "127.0.0.1"],
  ] as const)(
    "is what Express makes of trust proxy, and that of the connection in front of it: %s",
    async (way, ip) => {
      const made = limitedHost({ before: (app) => void app.set("trust proxy", 1) });
      const server = await serverOf(listeners[way](made.host));
      await talk(server, form(clientCredentials, { headers: ["X-Forwarded-For: 203.0.113.7"] }));
      expect(made.attempts).toMatchObject([{ ip }]);
    },
  );
});

describe("a hook that fails (RFC 6749 §5.2)", () => {
  it.each<[string, () => unknown]>([
    ["throws", throwing],
    ["rejects", () => Promise.reject(broken)],
    [
      "has a getter that throws",
      () => Object.defineProperty({}, "kind", { get: throwing, enumerable: true }),
    ],
    // eslint-disable-next-line unicorn/no-thenable -- the worst that a host can return
    ["has a then that throws", () => ({ then: throwing })],
  ])("lets nothing through when it %s", async (_, answer) => {
    const made = limitedHost();
    const code = await obtainCode(made.host, { client: "web" });
    const allow = made.answer;
    made.calls.length = 0;
    made.host.events.length = 0;
    made.answer = answer;
    expect(answerOf(await redeem(made.host, { client: "web", code }))).toEqual(serverError);
    expect([made.calls, made.outcomes]).toEqual([[], []]);
    expect(made.host.events).toEqual([
      { kind: "server-error", at: expect.any(Number) as number, issuer, cause: broken },
    ]);
    made.answer = allow;
    expect((await redeem(made.host, { client: "web", code })).status).toBe(200);
  });

  class Allowed {
    readonly kind = "allowed";
  }
  const kinds = "kind must be allowed or limited";
  const notPlain =
    "it must be a plain object, such as { ...object } with all that a class or a prototype gives written out";
  const undefinedCallback = "answered is undefined. Leave the key out, or write a value";
  const wait = "retryAfterSeconds must be whole seconds, at least 1";
  const callback = "answered must be a function, or be left out";
  it.each<[string, unknown, string]>([
    ["nothing", undefined, `nothing, as without a return or an await; ${kinds}`],
    ["null", null, `nothing, as without a return or an await; ${kinds}`],
    ["true", true, kinds],
    ["a kind alone", "allowed", kinds],
    ["another kind", { kind: "allow" }, kinds],
    ["no kind", { retryAfterSeconds: 5 }, kinds],
    ["a list", [{ kind: "allowed" }], notPlain],
    ["an object of a class", new Allowed(), notPlain],
    ["no time", { kind: "limited" }, wait],
    ["no time at all", { kind: "limited", retryAfterSeconds: 0 }, wait],
    ["a time in the past", { kind: "limited", retryAfterSeconds: -1 }, wait],
    ["half a second", { kind: "limited", retryAfterSeconds: 0.5 }, wait],
    ["for ever", { kind: "limited", retryAfterSeconds: Infinity }, wait],
    ["no number", { kind: "limited", retryAfterSeconds: Number.NaN }, wait],
    ["a number as text", { kind: "limited", retryAfterSeconds: "5" }, wait],
    ["more than can be counted", { kind: "limited", retryAfterSeconds: 2 ** 53 }, wait],
    ["a misspelt callback", { kind: "allowed", answered: undefined }, undefinedCallback],
    ["no callback", { kind: "allowed", answered: null }, callback],
    ["an object as callback", { kind: "allowed", answered: {} }, callback],
  ])("says what to return instead of %s", async (_, answer, problem) => {
    const made = limitedHost();
    made.answer = () => answer;
    expect(answerOf(await ownToken(made.host, { client: "web" }))).toEqual(serverError);
    expect(mistakeOf(made)).toBe(`rateLimit returned an invalid answer: ${problem}.`);
    expect(made.calls).toEqual([]);
  });

  it("lets a script read that too, and challenges nobody (Fetch standard)", async () => {
    const made = limitedHost();
    made.answer = throwing;
    const answer = await postTokenText(made.host, clientCredentials, { Origin: "https://spa.example" });
    expect(answer.headers).toHaveProperty("access-control-allow-origin", "*");
    expect(answer.headers).not.toHaveProperty("www-authenticate");
  });
});

describe("a hook that answers in odd ways", () => {
  it("may leave the callback out", async () => {
    const made = limitedHost();
    made.answer = () => Promise.resolve({ kind: "allowed" });
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
    expect(made.host.events.map(({ kind }) => kind)).toEqual(["token-issued"]);
  });

  it("is held to what was checked, when each part is another one each time it is read", async () => {
    const made = limitedHost();
    const values = [5, "0\r\nSet-Cookie: a=b"];
    made.answer = () => ({
      kind: "limited",
      get retryAfterSeconds() {
        return values.shift();
      },
    });
    expect((await ownToken(made.host, { client: "machine" })).headers).toMatchObject({ "retry-after": "5" });
  });

  it("is held to its answer, whatever the host does with it while the request is answered", async () => {
    const decision: Record<string, unknown> = { kind: "allowed" };
    const made = limitedHost({
      tokens: {
        decide() {
          Object.assign(decision, { kind: "limited", answered: throwing });
          return { kind: "issue" };
        },
      },
    });
    decision["answered"] = (told: ClientOutcome) => made.outcomes.push(told);
    made.answer = () => decision;
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
    expect(made.outcomes).toEqual([{ status: 200, clientId: "machine" }]);
  });
});

describe("a hook that is slow (RFC 6749 §5.2)", () => {
  it("is waited for, and the client is looked up afterwards", async () => {
    const made = limitedHost();
    made.answer = async (_, allowed) => {
      await new Promise(setImmediate);
      expect(made.calls).toEqual([]);
      return allowed;
    };
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
    expect(made.calls).not.toEqual([]);
  });

  it("is given up after five seconds, and nothing happens when it allows the request after all", async () => {
    shortenTimeLimit();
    const made = limitedHost();
    const allowedAfterAll = newLatch();
    made.answer = async (_, allowed) => {
      await allowedAfterAll.opened;
      return allowed;
    };
    const answer = await ownToken(made.host, { client: "machine" });
    expect(answerOf(answer)).toEqual(refusal(503, "temporarily_unavailable", "Try again later."));
    expect(answer.headers).toHaveProperty("retry-after", "1");
    expect(failuresOf(made)).toMatchObject([{ code: "host-call-late" }]);
    expect(made.outcomes).toEqual([]);
    allowedAfterAll.open();
    await everythingUnderWay();
    expect(made.calls).toEqual([]);
    // a host that counts what is under way can count it as ended
    expect(made.outcomes).toEqual([{ status: 503, oauthError: "temporarily_unavailable" }]);
  });

  it.each<[string, () => unknown]>([
    ["limited", () => limited],
    ["nonsense", () => "yes"],
    ["a failure", throwing],
  ])("is given up, and nobody hears of an answer that comes later: %s", async (_, answer) => {
    shortenTimeLimit();
    const made = limitedHost();
    const later = newLatch();
    made.answer = async () => {
      await later.opened;
      return answer();
    };
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(503);
    later.open();
    await everythingUnderWay();
    expect(failuresOf(made)).toHaveLength(1);
    expect([made.calls, made.outcomes]).toEqual([[], []]);
  });
});

describe("a callback that fails", () => {
  it.each<[string, () => unknown]>([
    ["throws", throwing],
    ["rejects", () => Promise.reject(broken)],
    // eslint-disable-next-line unicorn/no-thenable -- the worst that a host can return
    ["gives a then that throws", () => ({ then: throwing })],
  ])("does not change the answer when it %s, and the host hears of it", async (_, answered) => {
    const made = limitedHost();
    made.answer = () => ({ kind: "allowed", answered });
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
    const wrong = { ...credentials("machine"), client_secret: "a guess" };
    const guessed = await postToken(made.host, { fields: { grant_type: "client_credentials", ...wrong } });
    expect(answerOf(guessed)).toEqual(invalidClient);
    await everythingUnderWay();
    expect(failuresOf(made)).toEqual([broken, broken]);
  });

  it("is not waited for", async () => {
    const made = limitedHost();
    made.answer = () => ({ kind: "allowed", answered: () => new Promise(() => undefined) });
    expect((await ownToken(made.host, { client: "machine" })).status).toBe(200);
  });
});

describe("attempts at the same time", () => {
  it("each have an outcome of their own", async () => {
    const told = new Map<string, ClientOutcome[]>();
    const allAsked = newLatch();
    let asked = 0;
    const host = testHost({
      async rateLimit({ clientId = "" }): Promise<RateLimitDecision> {
        const mine: ClientOutcome[] = [];
        told.set(clientId, mine);
        asked += 1;
        if (asked === 4) allAsked.open();
        await allAsked.opened;
        return { kind: "allowed", answered: (outcome) => void mine.push(outcome) };
      },
    });
    const grant_type = "client_credentials";
    await Promise.all([
      ownToken(host, { client: "machine" }),
      ownToken(host, { client: "web" }),
      postToken(host, { fields: { grant_type, client_id: "other", client_secret: "a guess" } }),
      postToken(host, { fields: { grant_type, client_id: "native" } }),
    ]);
    expect(Object.fromEntries(told)).toEqual({
      machine: [{ status: 200, clientId: "machine" }],
      web: [{ status: 200, clientId: "web" }],
      other: [{ status: 401, oauthError: "invalid_client" }],
      native: [{ status: 400, oauthError: "unauthorized_client", clientId: "native" }],
    });
  });

  it("are asked one by one on a connection that is kept (RFC 9112 §9.3.2)", async () => {
    const made = limitedHost();
    made.answer = (_, allowed) => (made.attempts.length === 2 ? limited : allowed);
    const server = await serverOf(made.host.app);
    const kept = form(clientCredentials).replace("Connection: close\r\n", "");
    const received = await talk(server, kept + kept + form(clientCredentials));
    expect(statusesOf(received)).toEqual([200, 429, 200]);
    expect(made.outcomes).toHaveLength(2);
  });
});
