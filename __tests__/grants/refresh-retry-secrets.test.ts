import { memoryStorage, type RefreshTokenUse } from "../../lib";
import { resolveOptions } from "../../lib/options/resolve";
import { refreshSuccessors } from "../../lib/tokens/refresh-successor";
import { type Call, newWorld, recordCalls } from "../hosts/canary-host";
import { refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainRefreshToken } from "../browser/journey";
import { answerOf, invalidGrant, refusal } from "../requests/json-answers";
import { deepText } from "../requests/marked-secrets";
import { withChanges } from "../records/options";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const older = "the older secret of at least 32 characters";
const newer = "the newer secret of at least 32 characters";
const lifetimes = { refreshRetrySeconds: 10 };

const newStorage = () => memoryStorage({ clients: Object.values(clients) });

function hostWith(options: TestHostOptions): TestHost {
  return testHost({ lifetimes, revocationLagSeconds: 0, ...options });
}

const send = (host: TestHost, refreshToken: string) => refresh(host, { client: "web", refreshToken });

/** What is random of a refresh token. */
const secretOf = (token: string): string => token.split(".")[1] ?? "";

/** What was stored with each refresh token that was used. */
function usesIn(calls: readonly Call[]): readonly RefreshTokenUse[] {
  return calls.flatMap(({ name, args: [step] }) =>
    name === "refreshTokens.rotate" ? ((step as { use?: RefreshTokenUse }).use ?? []) : [],
  );
}

describe("a retry in another process (RFC 6749 §6)", () => {
  it("gets the same successor from a server with the same storage and secrets", async () => {
    const storage = newStorage();
    const [one, other] = [hostWith({ storage }), hostWith({ storage })];
    const first = await obtainRefreshToken(one);
    const second = tokensOf(await send(one, first));
    const repeated = tokensOf(await send(other, first));
    expect(repeated.refresh_token).toBe(second.refresh_token);
    expect((await callApi(one, "/orders", repeated.access_token)).status).toBe(200);
    expect(other.events.map(({ kind }) => kind)).toContain("refresh-retried");
    tokensOf(await send(other, second.refresh_token));
  });

  it("gets it after the secrets were rotated, from a server that has the older one too", async () => {
    const storage = newStorage();
    const before = hostWith({ storage, secrets: [older] });
    const after = hostWith({ storage, secrets: [newer, older] });
    const first = await obtainRefreshToken(before);
    const second = tokensOf(await send(before, first));
    expect(tokensOf(await send(after, first)).refresh_token).toBe(second.refresh_token);
    const third = tokensOf(await send(after, second.refresh_token));
    const fourth = tokensOf(await send(after, third.refresh_token));
    const prepared = hostWith({ storage, secrets: [older, newer] });
    expect(tokensOf(await send(prepared, third.refresh_token)).refresh_token).toBe(fourth.refresh_token);
  });

  it("gets 503 with Retry-After from a server without that secret, which revokes nothing", async () => {
    const storage = newStorage();
    const knows = hostWith({ storage, secrets: [older] });
    const stranger = hostWith({ storage, secrets: [newer] });
    const first = await obtainRefreshToken(knows);
    const second = tokensOf(await send(knows, first));
    const refused = await send(stranger, first);
    expect(answerOf(refused)).toEqual(refusal(503, "temporarily_unavailable", "Try again later."));
    expect(refused.headers["retry-after"]).toBe("1");
    expect(stranger.events.at(-1)).toMatchObject({
      kind: "token-refused",
      error: "temporarily_unavailable",
      code: "refresh-by-other-secrets",
    });
    expect(tokensOf(await send(knows, first)).refresh_token).toBe(second.refresh_token);
    expect((await callApi(knows, "/orders", second.access_token)).status).toBe(200);
    // a successor is an ordinary refresh token: to use it takes no secret
    tokensOf(await send(stranger, second.refresh_token));
  });

  it("is a replay after the window, whether or not the server knows the secret", async () => {
    const storage = newStorage();
    const knows = hostWith({ storage, secrets: [older] });
    const stranger = hostWith({ storage, secrets: [newer] });
    const first = await obtainRefreshToken(knows);
    const second = tokensOf(await send(knows, first));
    clock.advance(11);
    expect(answerOf(await send(stranger, first))).toEqual(invalidGrant);
    expect((await callApi(knows, "/orders", second.access_token)).status).toBe(401);
  });
});

/** What the hosts above derive with. */
const { secrets: ofServer } = resolveOptions(withChanges({ secrets: [older] }), 0);

const presented = `${"a".repeat(22)}.${"b".repeat(43)}`;
const salt = "c".repeat(22);

describe("the successor of a refresh token (RFC 5869, RFC 6749 §10.10)", () => {
  const successors = refreshSuccessors([newer, older], () => salt);

  it("is derived as in the version before: retries go on over an upgrade", () => {
    expect(refreshSuccessors([older], () => salt).derive(presented, 1_000)).toEqual({
      random: "gmf2GGa2SX8j_aA4x-cKjbg_LrOLZoDEWx0jwpNJQyE",
      use: { usedAt: 1_000, salt, secretId: "t-WzBHt_MmN0fhVk" },
    });
  });

  it("is another one for another token, salt or secret", () => {
    const { random, use } = successors.derive(presented, 1_000);
    const { use: olderUse } = refreshSuccessors([older], () => salt).derive(presented, 1_000);
    const others = [
      successors.deriveAgain(`${"a".repeat(22)}.${"d".repeat(43)}`, use),
      successors.deriveAgain(presented, { ...use, salt: "d".repeat(22) }),
      successors.deriveAgain(presented, olderUse),
    ];
    expect(new Set([random, ...others]).size).toBe(4);
    expect(successors.deriveAgain(presented, use)).toBe(random);
  });

  it("has a new salt of 128 random bits each time: secrets and an old token do not give it", async () => {
    const calls: Call[] = [];
    const host = hostWith({ storage: recordCalls(newStorage(), { calls }), secrets: [older] });
    const tokens = [await obtainRefreshToken(host)];
    for (let round = 0; round < 20; round += 1)
      tokens.push(tokensOf(await send(host, tokens.at(-1) ?? "")).refresh_token);
    const uses = usesIn(calls);
    const salts = uses.map((use) => use.salt);
    expect(new Set(salts).size).toBe(20);
    for (const each of salts) expect(each).toMatch(/^[\w-]{22}$/);
    // the attacker: all secrets and the first token, and every salt but the one that counts
    const [dead = "", ...later] = tokens;
    const attacker = refreshSuccessors(ofServer, () => "");
    const guesses = [...salts.slice(1), "", "A".repeat(22), dead].flatMap((guess) => {
      const use = { usedAt: 0, salt: guess, secretId: uses[0]?.secretId ?? "" };
      return attacker.deriveAgain(dead, use) ?? [];
    });
    expect(guesses).toHaveLength(22);
    expect(later.filter((token) => guesses.includes(secretOf(token)))).toEqual([]);
  });
});

/** Every string in the value, however deep. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

describe("a stolen copy of the storage, with a used refresh token (RFC 6749 §10.4, 9700 §4.14)", () => {
  it("does not give the successor without the server's secrets", async () => {
    const calls: Call[] = [];
    const host = hostWith({ storage: recordCalls(newStorage(), { calls }), secrets: [older] });
    const first = await obtainRefreshToken(host);
    const second = tokensOf(await send(host, first)).refresh_token;
    const [use] = usesIn(calls) as [RefreshTokenUse];
    const stolen = [...new Set([...stringsIn(calls), first, secretOf(first), ""])];
    expect(stolen).toContain(use.salt);
    expect(stolen.filter((text) => text.includes(secretOf(second)))).toEqual([]);
    // whatever the thief tries as the secret
    const derived = stolen.flatMap((secret) => {
      const thief = refreshSuccessors([secret], () => use.salt);
      return [first, secretOf(first)].map((token) => thief.derive(token, use.usedAt).random);
    });
    expect(derived).not.toContain(secretOf(second));
    const server = refreshSuccessors(ofServer, () => "");
    expect(server.deriveAgain(first, use)).toBe(secretOf(second));
  });
});

describe("events and answers around a retry (RFC 6749 §10.3)", () => {
  it("hold no secret, no salt, and no token but for the client itself", async () => {
    const world = newWorld({ lifetimes });
    const pair = { api: "reports" } as const;
    const first = await obtainRefreshToken(world);
    const second = tokensOf(await send(world, first)).refresh_token;
    tokensOf(await send(world, first));
    await refresh(world, { client: "web", refreshToken: first, fields: { scope: "orders:delete" } });
    await refresh(world, { client: "other", refreshToken: first });
    await refresh(world, { client: "web", pair, refreshToken: first });
    const { storage } = world;
    const stranger = testHost({ storage, lifetimes, secrets: [newer] });
    const unknown = await send(stranger, first);
    expect(unknown.status).toBe(503);
    tokensOf(await send(world, second));
    const replay = await send(world, first);
    expect(replay.status).toBe(400);
    const uses = usesIn(world.calls);
    // two rotations, and the first once more for the retry
    expect(uses).toHaveLength(3);
    for (const use of uses) world.secrets.mark("salt", use.salt);
    const told = deepText([
      world.events,
      stranger.events,
      answerOf(unknown),
      answerOf(replay),
      world.printed(),
    ]);
    expect(world.secrets.findIn(told)).toEqual([]);
    // the client itself gets its refresh token twice
    expect(world.leaks.filter((leak) => (leak as { status: number }).status !== 200)).toEqual([]);
    const stored = world.secrets.findIn(deepText(world.calls));
    expect(stored).toEqual(["salt"]);
  });
});
