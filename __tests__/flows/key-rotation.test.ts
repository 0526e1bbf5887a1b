import request from "supertest";
import { generateSigningKey, type SigningKeySource } from "../../lib";
import { refresh } from "../requests/client-requests";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { obtainTokens, type Tokens } from "../browser/journey";
import {
  isActive,
  kidOf,
  mint,
  nextKey,
  oldKey,
  publishedKids,
  statusOf,
  tokenSeconds,
} from "../records/signing-keys";

const ahead = 300;
const clock = stopClockForEachTest();
let host: TestHost;

beforeEach(() => {
  host = testHost({ signingKeys: [oldKey] });
});

const rotate = (signsFrom = clock.now() + ahead): void =>
  host.auth.rotateKeys([oldKey, { key: nextKey, signsFrom }]);

describe("one rotation, step by step (RFC 7517 §5, 9700 §2.5)", () => {
  it("publishes the new key at once, and signs with the old one until its moment", async () => {
    rotate();
    expect(await publishedKids(host)).toEqual([oldKey.kid, nextKey.kid]);
    expect(kidOf(await mint(host))).toBe(oldKey.kid);
    clock.advance(ahead - 1);
    expect(kidOf(await mint(host))).toBe(oldKey.kid);
    clock.advance(1);
    expect(kidOf(await mint(host))).toBe(nextKey.kid);
    expect(await publishedKids(host)).toEqual([oldKey.kid, nextKey.kid]);
  });

  it("accepts the last token of the old key to its last second, then stops publishing the key", async () => {
    rotate();
    clock.advance(ahead - 1);
    const last = await mint(host);
    clock.advance(tokenSeconds - 1);
    expect(await statusOf(host, last)).toBe(200);
    expect(await isActive(host, last)).toBe(true);
    expect(await publishedKids(host)).toEqual([oldKey.kid, nextKey.kid]);
    clock.advance(1);
    expect(await statusOf(host, last)).toBe(401);
    expect(await isActive(host, last)).toBe(false);
    expect(await publishedKids(host)).toEqual([oldKey.kid, nextKey.kid]);
    clock.advance(1);
    expect(await publishedKids(host)).toEqual([nextKey.kid]);
    expect(await statusOf(host, await mint(host))).toBe(200);
  });

  it("goes on with the new key alone, once the old one has retired", async () => {
    rotate();
    clock.advance(ahead + tokenSeconds);
    const token = await mint(host);
    host.auth.rotateKeys([nextKey]);
    expect(await publishedKids(host)).toEqual([nextKey.kid]);
    expect(await statusOf(host, token)).toBe(200);
    expect(kidOf(await mint(host))).toBe(nextKey.kid);
  });

  it("leaves authorizations as they are: a refresh token brings a token of the new key", async () => {
    const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "web" });
    rotate();
    clock.advance(ahead);
    const refreshed = await refresh(host, { client: "web", refreshToken: refresh_token });
    expect(refreshed.status).toBe(200);
    const { access_token: renewed } = refreshed.body as Tokens;
    expect([kidOf(access_token), kidOf(renewed)]).toEqual([oldKey.kid, nextKey.kid]);
    expect([await statusOf(host, access_token), await statusOf(host, renewed)]).toEqual([200, 200]);
  });

  it("publishes public halves only", async () => {
    rotate();
    const { text } = await request(host.app).get("/login/jwks");
    for (const { d } of [oldKey, nextKey]) expect(text).not.toContain(String(d));
  });
});

describe("one rotation after another, and wrong lists (RFC 7517 §5)", () => {
  it("rotates again before the first rotation has ended", async () => {
    const third = generateSigningKey();
    const firstMoment = clock.now() + ahead;
    rotate(firstMoment);
    clock.advance(ahead);
    const secondMoment = clock.now() + ahead;
    host.auth.rotateKeys([
      oldKey,
      { key: nextKey, signsFrom: firstMoment },
      { key: third, signsFrom: secondMoment },
    ]);
    expect(kidOf(await mint(host))).toBe(nextKey.kid);
    clock.advance(ahead);
    expect(kidOf(await mint(host))).toBe(third.kid);
    expect(await publishedKids(host)).toEqual([oldKey.kid, nextKey.kid, third.kid]);
    clock.advance(tokenSeconds - ahead);
    expect(await publishedKids(host)).toEqual([nextKey.kid, third.kid]);
    clock.advance(ahead);
    expect(await publishedKids(host)).toEqual([third.kid]);
  });

  it.each<[string, () => unknown, string]>([
    ["a wrong key", () => [oldKey, "no key"], "unusable-signing-key"],
    ["milliseconds", () => [oldKey, { key: nextKey, signsFrom: Date.now() }], "unusable-signing-key"],
    ["one kid twice", () => [oldKey, nextKey, nextKey], "signing-keys-with-one-kid"],
    ["no key that may sign now", () => [{ key: nextKey, signsFrom: clock.now() + 1 }], "no-key-signs-now"],
    ["an empty list", () => [], "no-key-signs-now"],
    ["no list", () => nextKey, "signing-keys-not-a-list"],
  ])("leaves all as it was when it throws: %s", async (_, keys, code) => {
    const token = await mint(host);
    expect(() => host.auth.rotateKeys(keys() as SigningKeySource[])).toThrow(
      expect.objectContaining({ code }),
    );
    expect(await publishedKids(host)).toEqual([oldKey.kid]);
    expect(await statusOf(host, token)).toBe(200);
    expect(kidOf(await mint(host))).toBe(oldKey.kid);
    rotate(clock.now());
    expect(kidOf(await mint(host))).toBe(nextKey.kid);
  });

  it("keeps a schedule that was good when the next list is wrong", async () => {
    rotate();
    expect(() => host.auth.rotateKeys([nextKey, nextKey])).toThrow(TypeError);
    clock.advance(ahead);
    expect(kidOf(await mint(host))).toBe(nextKey.kid);
  });

  it("refuses a wrong schedule at the start in the name of createAuthServer", () => {
    const signingKeys = [{ key: oldKey, signsFrom: clock.now() + 1 }];
    expect(() => testHost({ signingKeys })).toThrow(expect.objectContaining({ code: "no-key-signs-now" }));
  });
});
