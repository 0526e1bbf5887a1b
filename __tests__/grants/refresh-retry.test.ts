import { createAuthServer, memoryStorage, type TokenDecision } from "../../lib";
import { apis, issuer, type Pair } from "../hosts/apis";
import type { Fields } from "../browser/browser";
import { type Call, recordCalls } from "../hosts/canary-host";
import { refresh, revoke } from "../requests/client-requests";
import { type ClientName, clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";
import { answerOf, invalidClient, invalidGrant, refusal, serverError } from "../requests/json-answers";
import { newLatch } from "../storage/latch";
import { expectRefusal, withChanges } from "../records/options";
import { intercept, watchWrites } from "../storage/slow-storage";
import { type TokenBody, tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const windowSeconds = 10;
const retries: TestHostOptions = {
  lifetimes: { refreshRetrySeconds: windowSeconds },
  revocationLagSeconds: 0,
};

function hostWith(options: TestHostOptions = {}): TestHost {
  return testHost({ ...retries, ...options });
}

const newStorage = () => memoryStorage({ clients: Object.values(clients) });

/** Who refreshes, where. */
interface Place {
  readonly client?: ClientName;
  readonly pair?: Pair;
}

/** A host, its client, and what the client has got: the second answer may have been lost. */
interface Scene extends Required<Place> {
  readonly host: TestHost;
  readonly first: TokenBody;
  readonly second: TokenBody;
}

const send = (
  host: TestHost,
  { refreshToken, fields, client = "web", pair = {} }: Place & { refreshToken: string; fields?: Fields },
) => refresh(host, { client, pair, refreshToken, ...(fields && { fields }) });

async function refreshedOnce(host: TestHost, { client = "web", pair = {} }: Place = {}): Promise<Scene> {
  const scope = pair.api === "reports" ? "reports:read" : "orders:read orders:write";
  const first = (await obtainTokens(host, { client, pair, fields: { scope } })) as TokenBody;
  const refreshToken = first.refresh_token;
  const second = tokensOf(await send(host, { client, pair, refreshToken }));
  return { host, client, pair, first, second };
}

/** The same request again, at the same host unless another is given. */
const again = (
  { host, client, pair, first }: Scene,
  { fields, at = host }: { fields?: Fields; at?: TestHost } = {},
) => send(at, { client, pair, refreshToken: first.refresh_token, ...(fields && { fields }) });

const apiPath = ({ api = "orders" }: Pair): string => `/${api}`;

async function works({ host, pair }: Scene, { access_token }: TokenBody): Promise<boolean> {
  return (await callApi(host, apiPath(pair), access_token)).status === 200;
}

const kindsOf = ({ events }: TestHost): readonly string[] => events.map(({ kind }) => kind);

/** The family lives: the successor refreshes. */
async function expectAlive(scene: Scene): Promise<void> {
  const { host, client, pair, second } = scene;
  expect(await works(scene, second)).toBe(true);
  expect(kindsOf(host)).not.toContain("replay-detected");
  tokensOf(await send(host, { client, pair, refreshToken: second.refresh_token }));
}

/** The request counted as a replay: the family has ended. */
async function expectEnded(scene: Scene): Promise<void> {
  const { host, client, pair, first, second } = scene;
  expect(kindsOf(host)).toContain("replay-detected");
  for (const tokens of [first, second]) expect(await works(scene, tokens)).toBe(false);
  const dead = await send(host, { client, pair, refreshToken: second.refresh_token });
  expect(answerOf(dead)).toEqual(invalidGrant);
}

/** The same successor and another access token, which works. */
async function expectRepeated(scene: Scene, at: TestHost = scene.host): Promise<void> {
  const repeated = tokensOf(await again(scene, { at }));
  expect(repeated.refresh_token).toBe(scene.second.refresh_token);
  expect(repeated.access_token).not.toBe(scene.second.access_token);
  expect(await works(scene, repeated)).toBe(true);
}

const everywhere = [
  ["web", "JWT", {}],
  ["web", "opaque", { api: "reports" }],
  ["native", "JWT", {}],
  ["native", "opaque", { api: "reports" }],
] as const;

describe("refreshRetrySeconds (RFC 6749 §6, 9700 §4.14.2)", () => {
  it.each(everywhere)("is 0 by default: a repeat by %s, %s, is a replay", async (client, _format, pair) => {
    const scene = await refreshedOnce(testHost({ revocationLagSeconds: 0 }), { client, pair });
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
  });

  it("is 0 by default: the record of a used token says no more than that it was used", async () => {
    const calls: Call[] = [];
    await refreshedOnce(testHost({ storage: recordCalls(newStorage(), { calls }) }));
    const written = calls
      .filter(({ name }) => name === "refreshTokens.rotate")
      .map(({ args: [step] }) => step);
    expect(written).toEqual([{ from: expect.anything(), to: expect.anything() }]);
  });

  it.each(everywhere)(
    "answers a repeat by %s, %s, with the same successor",
    async (client, _format, pair) => {
      const scene = await refreshedOnce(hostWith(), { client, pair });
      clock.advance(windowSeconds);
      await expectRepeated(scene);
      await expectAlive(scene);
    },
  );

  it("counts from the first use: a second later the family ends", async () => {
    const scene = await refreshedOnce(hostWith());
    clock.advance(windowSeconds);
    await expectRepeated(scene);
    clock.advance(1);
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
  });

  it("repeats as often as the client asks", async () => {
    const scene = await refreshedOnce(hostWith());
    for (let round = 0; round < 5; round += 1) await expectRepeated(scene);
    await expectAlive(scene);
  });

  it("repeats each answer of a family, not only the first", async () => {
    const scene = await refreshedOnce(hostWith());
    await expectRepeated(scene);
    const third = tokensOf(await send(scene.host, { refreshToken: scene.second.refresh_token }));
    await expectRepeated({ ...scene, first: scene.second, second: third });
    await expectAlive({ ...scene, second: third });
  });

  it("counts from the use, not from when the request came: the host has thought for seconds", async () => {
    let thinks = 0;
    const decide = async (): Promise<TokenDecision> => {
      clock.advance(thinks);
      return { kind: "issue" };
    };
    const host = hostWith({ tokens: { decide } });
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    const refreshToken = first.refresh_token;
    thinks = windowSeconds + 1;
    tokensOf(await send(host, { refreshToken }));
    thinks = 0;
    tokensOf(await send(host, { refreshToken }));
  });

  it("is as safe as the first answer: storage is told again, and if that fails, so does the retry", async () => {
    const written: string[] = [];
    let failing = false;
    const storage = intercept(newStorage(), async (name, call) => {
      if (name === "refreshTokens.rotate") written.push(name);
      if (failing && name === "refreshTokens.rotate") throw new Error("no replica has the write");
      return call();
    });
    const scene = await refreshedOnce(hostWith({ storage }));
    await expectRepeated(scene);
    expect(written).toHaveLength(2);
    failing = true;
    expect(answerOf(await again(scene))).toEqual(serverError);
    failing = false;
    await expectAlive(scene);
  });

  it("makes the rotation again as it was, should a failover have undone it", async () => {
    const calls: Call[] = [];
    await expectRepeated(await refreshedOnce(hostWith({ storage: recordCalls(newStorage(), { calls }) })));
    const steps = calls.flatMap(({ name, args: [step] }) => (name === "refreshTokens.rotate" ? [step] : []));
    const [first, repeated] = steps as readonly { use: object; to: object }[];
    expect(repeated).toMatchObject({ use: first?.use, to: first?.to });
  });

  it("is a replay when the successor is used while the host thinks", async () => {
    const [thinking, latch] = [newLatch(), newLatch()];
    let isSlow = false;
    const decide = async (): Promise<TokenDecision> => {
      if (isSlow) thinking.open();
      if (isSlow) await latch.opened;
      return { kind: "issue" };
    };
    const scene = await refreshedOnce(hostWith({ tokens: { decide } }));
    isSlow = true;
    const retry = again(scene);
    await thinking.opened;
    isSlow = false;
    tokensOf(await send(scene.host, { refreshToken: scene.second.refresh_token }));
    latch.open();
    expect(answerOf(await retry)).toEqual(invalidGrant);
    await expectEnded(scene);
  });

  it("tells the host, with the event refresh-retried", async () => {
    const scene = await refreshedOnce(hostWith());
    scene.host.events.length = 0;
    await again(scene, { fields: { scope: "orders:read" } });
    expect(scene.host.events).toEqual([
      {
        at: clock.now(),
        kind: "refresh-retried",
        issuer,
        clientId: "web",
        subject: "alice",
        authorizationId: scene.first.refresh_token.split(".")[0],
        scopes: ["orders:read"],
      },
    ]);
  });

  it("can be set for one API: the other ones know no retry", async () => {
    const { orders, reports, files } = apis;
    if (!orders || !reports || !files) throw new Error("no such API");
    const patient = { ...orders, lifetimes: retries.lifetimes ?? {} };
    const host = testHost({ apis: { orders: patient, reports, files }, revocationLagSeconds: 0 });
    const repeated = await refreshedOnce(host);
    await expectRepeated(repeated);
    await expectAlive(repeated);
    const replayed = await refreshedOnce(host, { pair: { api: "reports" } });
    expect(answerOf(await again(replayed))).toEqual(invalidGrant);
    await expectEnded(replayed);
  });

  it.each([-1, 61, 1.5])("refuses %d", async (refreshRetrySeconds) => {
    await expectRefusal(() => createAuthServer(withChanges({ lifetimes: { refreshRetrySeconds } })), {
      who: "createAuthServer",
      path: "lifetimes.refreshRetrySeconds",
      code: "option-of-wrong-form",
    });
  });
});

describe("a retry of a refresh (RFC 6749 §6)", () => {
  it.each(["web", "native"] as const)(
    "by %s says when its successor expires: no later than at first",
    async (client) => {
      const stating = Object.entries(apis).map(([id, api]) => [
        id,
        { ...api, refreshTokenExpiry: "state" as const },
      ]);
      const host = hostWith({
        apis: Object.fromEntries(stating) as typeof apis,
        lifetimes: { ...retries.lifetimes, refreshTokenIdleSeconds: 100 },
      });
      const scene = await refreshedOnce(host, { client });
      expect(scene.second).toMatchObject({ refresh_token_expires_in: 100 });
      clock.advance(7);
      expect(tokensOf(await again(scene))).toMatchObject({
        refresh_token: scene.second.refresh_token,
        refresh_token_expires_in: 93,
      });
      clock.advance(92);
      tokensOf(await send(host, { client, refreshToken: scene.second.refresh_token }));
    },
  );

  it("gives a successor that expires when it would have without the retry", async () => {
    const host = hostWith({ lifetimes: { ...retries.lifetimes, refreshTokenIdleSeconds: 100 } });
    const scene = await refreshedOnce(host);
    clock.advance(7);
    await again(scene);
    clock.advance(93);
    const late = await send(host, { refreshToken: scene.second.refresh_token });
    expect(answerOf(late)).toEqual(invalidGrant);
  });

  it("gives a new access token with a whole life of its own", async () => {
    const scene = await refreshedOnce(hostWith());
    clock.advance(windowSeconds);
    const repeated = tokensOf(await again(scene));
    expect(repeated).toMatchObject({ expires_in: 600, scope: "orders:read orders:write" });
    clock.advance(599);
    expect([await works(scene, scene.second), await works(scene, repeated)]).toEqual([false, true]);
  });

  it("may narrow the scope, for this access token only", async () => {
    const scene = await refreshedOnce(hostWith());
    const narrow = tokensOf(await again(scene, { fields: { scope: "orders:read" } }));
    expect(narrow).toMatchObject({ scope: "orders:read", refresh_token: scene.second.refresh_token });
    expect((await callApi(scene.host, "/orders/changes", narrow.access_token)).status).toBe(403);
    const next = tokensOf(await send(scene.host, { refreshToken: narrow.refresh_token }));
    expect(next.scope).toBe("orders:read orders:write");
  });

  it.each(["orders:read orders:delete", "unknown", 'orders:read "'])(
    "with the scope %s is refused, and the next one works",
    async (scope) => {
      const scene = await refreshedOnce(hostWith());
      expect(answerOf(await again(scene, { fields: { scope } }))).toEqual(refusal(400, "invalid_scope"));
      await expectRepeated(scene);
      await expectAlive(scene);
    },
  );

  it("with a scope beyond what the end user granted is refused, and the next one works", async () => {
    const host = hostWith();
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    const second = tokensOf(await send(host, { refreshToken: first.refresh_token }));
    const scene: Scene = { host, client: "web", pair: {}, first, second };
    const wide = await again(scene, { fields: { scope: "orders:read orders:write" } });
    expect(answerOf(wide)).toEqual(refusal(400, "invalid_scope"));
    await expectRepeated(scene);
    await expectAlive(scene);
  });

  it("works after an answer of the database that was lost once it had rotated", async () => {
    const storage = newStorage();
    let lost = 0;
    const forgetful = intercept(storage, async (name, call) => {
      const answer = await call();
      if (name !== "refreshTokens.rotate" || lost > 0) return answer;
      lost += 1;
      throw new Error("the connection is gone");
    });
    const host = hostWith({ storage: forgetful });
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    const failed = await send(host, { refreshToken: first.refresh_token });
    expect(answerOf(failed)).toEqual(serverError);
    const second = tokensOf(await send(host, { refreshToken: first.refresh_token }));
    expect(lost).toBe(1);
    await expectAlive({ host, client: "web", pair: {}, first, second });
  });

  it("that comes before the first one has rotated gets the same successor", async () => {
    const bothArrived = newLatch();
    let rotations = 0;
    const storage = intercept(newStorage(), async (name, call) => {
      if (name === "refreshTokens.rotate" && rotations < 2) {
        rotations += 1;
        if (rotations === 2) bothArrived.open();
        await bothArrived.opened;
      }
      return call();
    });
    const host = hostWith({ storage });
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    const both = [1, 2].map(() => send(host, { refreshToken: first.refresh_token }));
    const [second, repeated] = (await Promise.all(both)).map(tokensOf);
    if (!second || !repeated) throw new Error("no two answers");
    expect(repeated.refresh_token).toBe(second.refresh_token);
    expect(kindsOf(host).slice(-2)).toEqual(["token-refreshed", "refresh-retried"]);
    await expectAlive({ host, client: "web", pair: {}, first, second });
  });

  it("that finds storage down ends nothing, and the next one works", async () => {
    let failing: string | undefined;
    const storage = intercept(newStorage(), async (name, call) => {
      if (name === failing) throw new Error("down");
      return call();
    });
    const scene = await refreshedOnce(hostWith({ storage }), { pair: { api: "reports" } });
    for (const call of ["refreshTokens.find", "authorizations.find", "accessTokens.create"]) {
      failing = call;
      expect(answerOf(await again(scene))).toEqual(serverError);
    }
    failing = undefined;
    await expectRepeated(scene);
    await expectAlive(scene);
  });
});

describe("what a retry does not get (RFC 6749 §10.4, 9700 §4.14.2)", () => {
  it("once the successor was used, it is a replay inside the window too", async () => {
    const scene = await refreshedOnce(hostWith());
    const third = tokensOf(await send(scene.host, { refreshToken: scene.second.refresh_token }));
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
    const dead = await send(scene.host, { refreshToken: third.refresh_token });
    expect(answerOf(dead)).toEqual(invalidGrant);
  });

  it("for a token that was used while there was no retry, it is a replay", async () => {
    const storage = newStorage();
    const strict = testHost({ storage, revocationLagSeconds: 0 });
    const scene = { ...(await refreshedOnce(strict)), host: hostWith({ storage }) };
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
  });

  it("once the option is 0 again, it is a replay", async () => {
    const storage = newStorage();
    const scene = await refreshedOnce(hostWith({ storage }));
    const strict = testHost({ storage, revocationLagSeconds: 0 });
    expect(answerOf(await again(scene, { at: strict }))).toEqual(invalidGrant);
    await expectEnded({ ...scene, host: strict });
  });

  it("while the clock is back by no more than five minutes, it is repeated", async () => {
    const scene = await refreshedOnce(hostWith());
    clock.advance(-300);
    await expectRepeated(scene);
    await expectAlive(scene);
  });

  it("with a clock that is further back, it is a replay", async () => {
    const scene = await refreshedOnce(hostWith());
    clock.advance(-301);
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
  });

  it("after the authorization was revoked, it is refused and no replay", async () => {
    const scene = await refreshedOnce(hostWith());
    await revoke(scene.host, { token: scene.second.refresh_token });
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    expect(kindsOf(scene.host)).not.toContain("replay-detected");
    expect(await works(scene, scene.second)).toBe(false);
  });

  it.each([
    "auth.consents.revoke",
    "auth.subjects.revoke",
    "auth.subjects.erase",
    "auth.clients.revoke",
  ] as const)("after %s, it is refused and no replay", async (end) => {
    const scene = await refreshedOnce(hostWith());
    const { consents, subjects, clients: ofClients } = scene.host.auth;
    const ends = {
      "auth.consents.revoke": () => consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" }),
      "auth.subjects.revoke": () => subjects.revoke("alice"),
      "auth.subjects.erase": () => subjects.erase("alice"),
      "auth.clients.revoke": () => ofClients.revoke("web"),
    };
    await ends[end]();
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    expect(kindsOf(scene.host)).not.toContain("replay-detected");
    expect(await works(scene, scene.second)).toBe(false);
  });

  it("once the used token has expired, it is refused and ends nothing", async () => {
    const host = hostWith({ lifetimes: { ...retries.lifetimes, refreshTokenIdleSeconds: 20 } });
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    clock.advance(15);
    const second = tokensOf(await send(host, { refreshToken: first.refresh_token }));
    clock.advance(5);
    const scene: Scene = { host, client: "web", pair: {}, first, second };
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectAlive(scene);
  });

  it("when its successor has expired, it is refused: only a shortened idle time can bring this about", async () => {
    const storage = newStorage();
    const host = hostWith({ storage });
    const first = (await obtainTokens(host, { client: "web" })) as TokenBody;
    const impatient = hostWith({ storage, lifetimes: { ...retries.lifetimes, refreshTokenIdleSeconds: 5 } });
    const second = tokensOf(await send(impatient, { refreshToken: first.refresh_token }));
    clock.advance(5);
    const scene: Scene = { host, client: "web", pair: {}, first, second };
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    await expectEnded(scene);
  });
});

describe("a used refresh token in other hands (RFC 6749 §10.4, 9700 §4.14.2)", () => {
  const otherHands: Record<string, { place: Place; fields?: Fields; expected: object }> = {
    "another confidential client": { place: { client: "other" }, expected: invalidGrant },
    "a native client": { place: { client: "native" }, expected: invalidGrant },
    "a browser client": { place: { client: "spa" }, expected: refusal(400, "unauthorized_client") },
    "another issuer of the API": { place: { pair: { method: "otp" } }, expected: invalidGrant },
    "another API": { place: { pair: { api: "files" } }, expected: invalidGrant },
    "a wrong secret": { place: {}, fields: { client_secret: "wrong" }, expected: invalidClient },
    "no secret": { place: {}, fields: { client_secret: undefined }, expected: invalidClient },
    "another resource": {
      place: {},
      fields: { resource: "https://api.example/files" },
      expected: refusal(400, "invalid_target"),
    },
  };

  it.each(Object.entries(otherHands))("changes nothing: %s", async (_name, { place, fields, expected }) => {
    const { storage, writes } = watchWrites(newStorage());
    const scene = await refreshedOnce(hostWith({ storage }));
    writes.length = 0;
    const refreshToken = scene.first.refresh_token;
    const answer = await send(scene.host, { ...place, refreshToken, ...(fields && { fields }) });
    expect(answerOf(answer)).toEqual(expected);
    expect(writes).toEqual([]);
    await expectRepeated(scene);
    await expectAlive(scene);
  });

  it("changes nothing after the window either: only the client's own replay ends it", async () => {
    const scene = await refreshedOnce(hostWith());
    clock.advance(windowSeconds + 1);
    const refreshToken = scene.first.refresh_token;
    for (const client of ["other", "native"] as const)
      expect(answerOf(await send(scene.host, { client, refreshToken }))).toEqual(invalidGrant);
    await expectAlive(scene);
  });
});

/** A host whose decision can be changed, what it has written, and how often it was asked. */
function deciding() {
  const { storage, writes } = watchWrites(newStorage());
  const next = { decision: (): TokenDecision => ({ kind: "issue" }) };
  let asked = 0;
  const host = hostWith({
    storage,
    tokens: {
      decide() {
        asked += 1;
        return next.decision();
      },
    },
  });
  return { host, next, writes, asked: () => asked };
}

describe("tokens.decide at a retry (RFC 6749 §5.2)", () => {
  it("is asked again, and its answer counts for the new access token", async () => {
    const { host, next, asked } = deciding();
    const scene = await refreshedOnce(host);
    expect(asked()).toBe(2);
    next.decision = () => ({ kind: "issue", scopes: ["orders:read"], accessTokenSeconds: 30 });
    expect(tokensOf(await again(scene))).toMatchObject({
      scope: "orders:read",
      expires_in: 30,
      refresh_token: scene.second.refresh_token,
    });
    expect(asked()).toBe(3);
  });

  const refusals: Record<string, { decision: () => TokenDecision; expected: object }> = {
    refuses: {
      decision: () => ({ kind: "refuse" }),
      expected: refusal(400, "invalid_grant", "The server does not issue this token."),
    },
    "says later": {
      decision: () => ({ kind: "later", retryAfterSeconds: 3 }),
      expected: refusal(503, "temporarily_unavailable", "Try again later."),
    },
    throws: {
      decision: () => {
        throw new Error("the directory is down");
      },
      expected: serverError,
    },
    "widens the scope": {
      decision: () => ({ kind: "issue", scopes: ["orders:delete"] }),
      expected: serverError,
    },
  };

  it.each(Object.entries(refusals))(
    "spends and revokes nothing when it %s, and the next retry works",
    async (_name, { decision, expected }) => {
      const { host, next, writes } = deciding();
      const scene = await refreshedOnce(host);
      writes.length = 0;
      next.decision = decision;
      expect(answerOf(await again(scene))).toEqual(expected);
      expect(writes).toEqual([]);
      next.decision = () => ({ kind: "issue" });
      await expectRepeated(scene);
      await expectAlive(scene);
    },
  );

  it("ends the authorization when it refuses with revoke", async () => {
    const { host, next } = deciding();
    const scene = await refreshedOnce(host);
    next.decision = () => ({ kind: "refuse", revoke: true });
    expect(answerOf(await again(scene))).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    next.decision = () => ({ kind: "issue" });
    for (const { refresh_token: refreshToken } of [scene.first, scene.second])
      expect(answerOf(await send(host, { refreshToken }))).toEqual(invalidGrant);
    expect(kindsOf(host)).toContain("authorization-ended");
    expect(await works(scene, scene.second)).toBe(false);
  });

  it("hides no replay when it is broken", async () => {
    const { host, next, asked } = deciding();
    const scene = await refreshedOnce(host);
    clock.advance(windowSeconds + 1);
    next.decision = () => {
      throw new Error("the directory is down");
    };
    expect(answerOf(await again(scene))).toEqual(invalidGrant);
    expect(asked()).toBe(2);
    await expectEnded(scene);
  });
});
