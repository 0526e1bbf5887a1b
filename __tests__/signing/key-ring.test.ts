import { createHash, generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import request from "supertest";
import { generateSigningKey, type PrivateJwk, type SigningKeySource } from "../../lib";
import type { HostMistake } from "../../lib/protocol/mistake";
import { readSigningKeys } from "../../lib/options/signing-keys";
import { jwtSigner, type KeyRing, keyRing } from "../../lib/signing/jwt-signer";
import { readSigningKey, type SigningKey } from "../../lib/signing/signing-key";
import { postToken } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";

const pair = readSigningKey(generateSigningKey());

function keyOf(kid: string, signsFrom = 0): SigningKey {
  return { ...pair, kid, signsFrom };
}

function kidsOf(keys: readonly SigningKey[]): string[] {
  return keys.map(({ kid }) => kid);
}

const tokenSeconds = 600;
const begins = 10_000;

function ringOf(...keys: SigningKey[]): KeyRing {
  return keyRing({ keys, tokenSeconds });
}

describe("key rotation by schedule (RFC 7517 §5, 9700 §2.5)", () => {
  const old = keyOf("old");
  const next = keyOf("next", begins);

  it.each([
    ["long before", 0, "old", ["old", "next"]],
    ["a second before", begins - 1, "old", ["old", "next"]],
    ["at its second", begins, "next", ["old", "next"]],
    ["while a token of the old key may live", begins + tokenSeconds - 1, "next", ["old", "next"]],
    ["when the last token has expired", begins + tokenSeconds, "next", ["next"]],
    ["long after", begins * 10, "next", ["next"]],
  ])("publishes and signs by the new key's moment: %s", (_, now, active, published) => {
    const ring = ringOf(old, next);
    expect(ring.active(now).kid).toBe(active);
    expect(kidsOf(ring.published(now))).toEqual(published);
  });

  it.each([[[old, next]], [[next, old]]])("signs by the moment, not by the place in the list", (keys) => {
    const ring = ringOf(...keys);
    expect([begins - 1, begins].map((now) => ring.active(now).kid)).toEqual(["old", "next"]);
  });

  it("signs with the newest key that has begun", () => {
    const ring = ringOf(keyOf("b", 200), keyOf("d", 400), keyOf("a", 100), keyOf("c", 300), old);
    const actives = [0, 99, 100, 200, 299, 300, 400, 9_999].map((now) => ring.active(now).kid);
    expect(actives).toEqual(["old", "old", "a", "b", "b", "c", "d", "d"]);
  });

  it.each([0, begins])(
    "signs with the first one in the list among those that begin together, at %d",
    (at) => {
      const first = keyOf("first", at);
      const second = keyOf("second", at);
      expect(ringOf(old, first, second).active(begins + 1).kid).toBe(at === 0 ? "old" : "first");
      expect(ringOf(second, first, old).active(begins + 1).kid).toBe("second");
    },
  );

  it("retires each of several keys when its own successor has signed for as long as a token lives", () => {
    const ring = ringOf(old, keyOf("a", 1_000), keyOf("b", 1_100), keyOf("c", 5_000));
    const published = [1_599, 1_600, 1_699, 1_700, 5_599, 5_600].map((now) => kidsOf(ring.published(now)));
    expect(published).toEqual([
      ["old", "a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["b", "c"],
      ["b", "c"],
      ["c"],
    ]);
  });

  it("retires no key without a schedule because of another one without", () => {
    const ring = ringOf(old, keyOf("older"), keyOf("oldest"));
    expect(kidsOf(ring.published(1e10))).toEqual(["old", "older", "oldest"]);
    expect(ring.active(1e10).kid).toBe("old");
  });

  it("retires all keys without a schedule after one with", () => {
    const ring = ringOf(old, keyOf("older"), next);
    expect(kidsOf(ring.published(begins + tokenSeconds - 1))).toEqual(["old", "older", "next"]);
    expect(kidsOf(ring.published(begins + tokenSeconds))).toEqual(["next"]);
  });

  it("takes another list at once, and forgets the keys that are not in it", () => {
    const ring = ringOf(old);
    ring.replace([old, next]);
    expect(kidsOf(ring.published(begins - 1))).toEqual(["old", "next"]);
    ring.replace([next]);
    expect(kidsOf(ring.published(begins))).toEqual(["next"]);
    expect(ring.active(begins).kid).toBe("next");
  });

  it("signs with nothing rather than too early", () => {
    expect(() => ringOf(next).active(begins - 1)).toThrow(
      expect.objectContaining({ code: "no-active-signing-key" }),
    );
  });

  it("verifies a token as long as its key is published", () => {
    const keys = [readSigningKey(generateSigningKey()), { ...pair, signsFrom: begins }];
    let now = begins - 1;
    const signer = jwtSigner(keyRing({ keys, tokenSeconds }), () => now);
    const claims = { sub: "alice", iat: now };
    const token = signer.sign(claims) as string;
    const moments = [begins, begins + tokenSeconds - 1, begins + tokenSeconds];
    const verified = moments.map((moment) => {
      now = moment;
      return signer.verify(token, now)?.claims;
    });
    expect(verified).toEqual([claims, claims, undefined]);
  });
});

/** The greatest moment that has come, by sorting. */
function newestMoment(keys: readonly SigningKey[], now: number): number {
  const moments = keys.map(({ signsFrom }) => signsFrom).filter((moment) => moment <= now);
  return moments.toSorted((one, other) => other - one)[0] ?? 0;
}

describe("key rotation, for any schedule (RFC 7517 §5)", () => {
  const schedule = fc.record({
    moments: fc.array(fc.nat(40), { maxLength: 6 }),
    lifetime: fc.integer({ min: 1, max: 20 }),
    now: fc.nat(80),
    split: fc.nat(6),
  });

  interface Case {
    readonly moments: readonly number[];
    readonly lifetime: number;
    readonly now: number;
    readonly split: number;
  }

  /** One key that signs from the first second on, somewhere in the list. */
  function keysOf({ moments, split }: Case): SigningKey[] {
    return [...moments.slice(0, split), 0, ...moments.slice(split)].map((moment, index) =>
      keyOf(`key ${index}`, moment),
    );
  }

  it("signs with the first of the keys with the newest moment, and publishes the keys since the last safe one", () => {
    fc.assert(
      fc.property(schedule, (drawn) => {
        const { lifetime, now } = drawn;
        const keys = keysOf(drawn);
        const ring = keyRing({ keys: [pair], tokenSeconds: lifetime });
        ring.replace(keys);
        const newest = newestMoment(keys, now);
        expect(ring.active(now)).toBe(keys.find(({ signsFrom }) => signsFrom === newest));
        const safe = newestMoment(keys, now - lifetime);
        expect(ring.published(now)).toEqual(keys.filter(({ signsFrom }) => signsFrom >= safe));
      }),
    );
  });

  it("publishes the key of every token that lives, and every key that will sign", () => {
    fc.assert(
      fc.property(schedule, (drawn) => {
        const { lifetime, now } = drawn;
        const ring = keyRing({ keys: keysOf(drawn), tokenSeconds: lifetime });
        const published = ring.published(now);
        const first = Math.max(0, now - lifetime + 1);
        const needed = Array.from({ length: 90 - first }, (_, index) => ring.active(first + index));
        expect(needed.filter((key) => !published.includes(key))).toEqual([]);
      }),
    );
  });

  it("never publishes again what it has retired", () => {
    fc.assert(
      fc.property(schedule, (drawn) => {
        const { lifetime, now } = drawn;
        const ring = keyRing({ keys: keysOf(drawn), tokenSeconds: lifetime });
        const published = ring.published(now);
        expect(ring.published(now + 1).filter((key) => !published.includes(key))).toEqual([]);
      }),
    );
  });
});

describe.each(["createAuthServer", "rotateKeys"] as const)("signing keys given to %s", (by) => {
  const now = 1_800_000_000;
  const good = generateSigningKey();
  const other = generateSigningKey();

  const read = (sources: unknown) => readSigningKeys(sources as readonly SigningKeySource[], { by, now });

  function refusal(sources: unknown): HostMistake {
    try {
      read(sources);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
      return error as HostMistake;
    }
    throw new Error("nothing was refused");
  }

  it("are read in their order, with 0 for the moment of a key without a schedule", () => {
    const keys = read([good, { key: other, signsFrom: now + 300 }]);
    expect(keys.map(({ kid, signsFrom }) => [kid, signsFrom])).toEqual([
      [good.kid, 0],
      [other.kid, now + 300],
    ]);
  });

  it.each([0, now - 1, now])("may begin at any moment up to now: %d", (signsFrom) => {
    expect(read([{ key: good, signsFrom }])).toMatchObject([{ kid: good.kid, signsFrom }]);
  });

  it("take any form of key in a schedule", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ format: "pem", type: "pkcs8" });
    const jwk = privateKey.export({ format: "jwk" });
    const [first, ...others] = [privateKey, pem, jwk].map((key) => read([{ key, signsFrom: now }])[0]?.kid);
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(others).toEqual([first, first]);
  });

  it.each<[string, unknown]>([
    ["milliseconds", now * 1000],
    ["negative", -1],
    ["a fraction", now + 0.5],
    ["a text", String(now)],
    ["a Date", new Date(now * 1000)],
    ["not a number", Number.NaN],
    ["infinite", Infinity],
    ["null", null],
    ["undefined", undefined],
  ])("are refused with a moment that is none: %s", (_, signsFrom) => {
    const { code, message } = refusal([good, { key: other, signsFrom }]);
    expect([code, message]).toEqual([
      "unusable-signing-key",
      expect.stringContaining(`${by}: signingKeys.1 `),
    ]);
  });

  it.each<[string, unknown]>([
    ["a schedule in a schedule", { key: { key: other, signsFrom: 0 }, signsFrom: 0 }],
    ["a schedule without a key", { signsFrom: 0 }],
    ["a wrong key in a schedule", { key: { ...other, d: "AAAA" }, signsFrom: 0 }],
    ["null", null],
  ])("are refused: %s", (_, source) => {
    expect(refusal([good, source]).code).toBe("unusable-signing-key");
  });

  it.each<[string, unknown]>([
    ["a future key alone", [{ key: good, signsFrom: now + 1 }]],
    [
      "two future keys",
      [
        { key: good, signsFrom: now + 1 },
        { key: other, signsFrom: now + 9 },
      ],
    ],
    ["an empty list", []],
  ])("are refused when none may sign now: %s", (_, sources) => {
    expect(refusal(sources).code).toBe("no-key-signs-now");
  });

  it.each<[string, unknown]>([
    ["one key twice", [good, good]],
    ["one key now and later", [good, { key: good, signsFrom: now + 300 }]],
    ["two keys of one name", [good, { ...other, kid: good.kid }]],
  ])("are refused with one kid for two: %s", (_, sources) => {
    expect(refusal(sources).code).toBe("signing-keys-with-one-kid");
  });

  it.each([[undefined], [null], ["a text"], [good], [{ 0: good, length: 1 }]])(
    "are refused when they are no list",
    (sources) => {
      expect(refusal(sources).code).toBe("signing-keys-not-a-list");
    },
  );

  const { d: _d, ...publicHalf } = good;
  const secret = String(good["d"]);
  const pem = generateKeyPairSync("ec", { namedCurve: "secp256k1" })
    .privateKey.export({ format: "pem", type: "pkcs8" })
    .toString();

  it.each<[string, unknown, string]>([
    ["a JWK with a wrong alg", [{ ...good, alg: "HS256" }], secret],
    ["a JWK with a wrong moment", [{ key: good, signsFrom: -1 }], secret],
    ["a JWK whose halves differ", [{ ...publicHalf, d: other["d"] }], String(other["d"])],
    ["a JWK twice", [good, good], secret],
    ["a JWK of the future", [{ key: good, signsFrom: now + 1 }], secret],
    ["a JWK in place of a list", good, secret],
    ["a PEM of another curve", [pem], pem.split("\n")[1] ?? ""],
    ["a PEM that is cut off", [pem.slice(0, 80)], pem.split("\n")[1]?.slice(0, 40) ?? ""],
    ["a text that may be a passphrase", ["correct horse battery staple"], "horse"],
  ])("are never quoted: %s", (_, sources, hidden) => {
    const error = refusal(sources);
    expect(hidden).not.toBe("");
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(hidden);
    expect(error.cause).toBeUndefined();
  });
});

describe("a generated signing key (RFC 7517 §4, 7518 §6.2, 7638 §3)", () => {
  const made = generateSigningKey();
  const stored = JSON.parse(JSON.stringify(made)) as PrivateJwk;

  it("is JSON, whole", () => {
    expect(stored).toEqual(made);
  });

  it("is a P-256 key for ES256 signatures with its thumbprint as kid", () => {
    const { crv, kty, x, y } = made as PrivateJwk & Record<"crv" | "x" | "y", string>;
    const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
    expect(made).toEqual({
      kty: "EC",
      crv: "P-256",
      x: expect.stringMatching(/^[\w-]{43}$/),
      y: expect.stringMatching(/^[\w-]{43}$/),
      d: expect.stringMatching(/^[\w-]{43}$/),
      kid,
      alg: "ES256",
      use: "sig",
    });
  });

  it("is another one each time", () => {
    expect(generateSigningKey()).not.toEqual(made);
  });

  it.each<[string, SigningKeySource]>([
    ["alone", stored],
    ["with a moment", { key: stored, signsFrom: 1 }],
  ])("signs as one of signingKeys, %s", async (_, source) => {
    const host = testHost({ signingKeys: [source] });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const { access_token } = (await postToken(host, { fields })).body as Tokens;
    const header = Buffer.from(access_token.split(".")[0] ?? "", "base64url").toString();
    expect(JSON.parse(header)).toEqual({ alg: "ES256", typ: "at+jwt", kid: made.kid });
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
  });

  it("is published without its private half", async () => {
    const { d: _d, ...publicHalf } = made;
    const response = await request(testHost({ signingKeys: [stored] }).app).get("/login/jwks");
    expect(response.body).toEqual({ keys: [publicHalf] });
  });
});
