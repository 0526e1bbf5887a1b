// An attacker has seen an assertion, or knows the public keys of a client, or is a client of its own, and tries to pass as another.
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { Response } from "supertest";
import { type Client, memoryStorage, type Storage } from "../../lib";
import { issuer } from "../hosts/apis";
import {
  assertionOf,
  goodClaims,
  jwkOf,
  keyed,
  keyedHost,
  lastCode,
  part,
  privateKeys,
  publicKeys,
  signatureOf,
  tokenBy,
} from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { answerOf, invalidClient, refusal } from "../requests/json-answers";
import { intercept, watchWrites } from "../storage/slow-storage";
import { shortenTimeLimit } from "../storage/time-limit";

const clock = stopClockForEachTest();

const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
const otherKeyed: Client = { ...keyed, clientId: "other-keyed", jwks: { keys: [jwkOf(other.publicKey)] } };
const usedBefore = "assertion-used-before";

function storageOf(clients: readonly Client[] = [keyed, otherKeyed]): Storage {
  return memoryStorage({ clients });
}

/** Sends the assertion, and expects that it is refused as every other one. */
async function expectRefused(host: TestHost, assertion: string): Promise<string> {
  expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidClient);
  return lastCode(host);
}

const statusOf = ({ status }: Response): number => status;

describe("an assertion that was seen is sent again (RFC 7523 §3)", () => {
  it("is refused", async () => {
    const host = keyedHost();
    const assertion = assertionOf();
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    expect(await expectRefused(host, assertion)).toBe(usedBefore);
  });

  it("is refused also if it was signed for an hour, for as long as it is remembered and afterwards", async () => {
    const host = keyedHost();
    const [used, unused] = [1, 2].map(() => assertionOf({ claims: { exp: clock.now() + 3_600 } })) as [
      string,
      string,
    ];
    expect((await tokenBy(host, { assertion: used })).status).toBe(200);
    clock.advance(329);
    expect(await expectRefused(host, used)).toBe(usedBefore);
    clock.advance(1);
    for (const assertion of [used, unused])
      expect(await expectRefused(host, assertion)).toBe("assertion-too-old");
  });

  it("is refused at every other endpoint and issuer", async () => {
    const host = keyedHost();
    const assertion = assertionOf();
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    for (const pair of [{ method: "otp" }, { api: "reports" }] as const)
      expect(answerOf(await tokenBy(host, { assertion, pair }))).toEqual(invalidClient);
  });

  it("counts once of 64 at once", async () => {
    const host = keyedHost();
    const assertion = assertionOf();
    const statuses = await Promise.all(
      Array.from({ length: 64 }, async () => statusOf(await tokenBy(host, { assertion }))),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(63);
  });

  it("counts once of 64 at once, sent to two processes that share a storage", async () => {
    const storage = storageOf();
    const hosts = [testHost({ storage }), testHost({ storage })];
    const assertion = assertionOf();
    const answers = Array.from({ length: 32 }, () =>
      hosts.map((host) => tokenBy(host, { assertion })),
    ).flat();
    const statuses = (await Promise.all(answers)).map(statusOf);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });

  it("is refused although its text differs: the same claims, signed again or with the twin signature", async () => {
    const host = keyedHost();
    const claims = { jti: "one" };
    const [header = "", payload = "", signature = ""] = assertionOf({ claims }).split(".");
    expect((await tokenBy(host, { assertion: `${header}.${payload}.${signature}` })).status).toBe(200);
    const twin = twinOf(Buffer.from(signature, "base64url")).toString("base64url");
    expect(twin).not.toBe(signature);
    expect(await expectRefused(host, `${header}.${payload}.${twin}`)).toBe(usedBefore);
    expect(await expectRefused(host, assertionOf({ claims }))).toBe(usedBefore);
    expect(await expectRefused(host, assertionOf({ claims, alg: "RS256" }))).toBe(usedBefore);
  });

  it("is another one when another client has the same jti", async () => {
    const host = testHost({ storage: storageOf() });
    const claims = { jti: "one" };
    const ofOther = { ...claims, iss: "other-keyed", sub: "other-keyed" };
    expect((await tokenBy(host, { assertion: assertionOf({ claims }) })).status).toBe(200);
    const assertion = assertionOf({ claims: ofOther, key: other.privateKey });
    expect((await tokenBy(host, { assertion })).status).toBe(200);
  });
});

/** The other ECDSA signature of the same text: s is replaced by the order of the curve less s. */
function twinOf(signature: Buffer): Buffer {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const s = BigInt(`0x${signature.subarray(32).toString("hex")}`);
  const twin = (order - s).toString(16).padStart(64, "0");
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(twin, "hex")]);
}

describe("an assertion is sent again when clocks are wrong (RFC 7523 §3)", () => {
  it.each([1, 60, 300])("a clock that steps back by %i seconds between two uses", async (seconds) => {
    const host = keyedHost();
    const assertion = assertionOf({ claims: { exp: clock.now() + 300 } });
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    clock.advance(-seconds);
    await expectRefused(host, assertion);
    clock.advance(seconds);
    expect(await expectRefused(host, assertion)).toBe(usedBefore);
  });

  it("every second of its life, and after it", async () => {
    const host = keyedHost();
    const assertion = assertionOf({ claims: { exp: clock.now() + 10 } });
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    for (let second = 0; second < 45; second += 1) {
      clock.advance(1);
      expect(await expectRefused(host, assertion)).toBe(second < 39 ? usedBefore : "assertion-expired");
    }
  });

  it("a clock that ran ahead until the assertion was forgotten, and is set back by five minutes", async () => {
    const host = keyedHost();
    const assertion = assertionOf();
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    clock.advance(300);
    // another client's assertion makes the storage look for what has expired
    expect((await tokenBy(host)).status).toBe(200);
    clock.advance(-300);
    expect(await expectRefused(host, assertion)).toBe(usedBefore);
  });
});

describe("an assertion for another place (RFC 7523 §3)", () => {
  it.each([
    [issuer.replace("password", "otp"), "assertion-aud-wrong"],
    [issuer.replace("orders", "reports"), "assertion-aud-wrong"],
    ["https://elsewhere.example/login/auth/password/api/orders", "assertion-aud-wrong"],
    [`${issuer}/token`, "assertion-aud-token-endpoint"],
    [`${issuer}/revoke`, "assertion-aud-wrong"],
    [`${issuer}/authorize`, "assertion-aud-wrong"],
    [[issuer, "https://elsewhere.example"], "assertion-aud-not-one-text"],
  ])("is refused here: %p", async (aud, code) => {
    expect(await expectRefused(keyedHost(), assertionOf({ claims: { aud } }))).toBe(code);
  });

  it("of a pair is refused at another pair of the same API", async () => {
    const assertion = assertionOf();
    const host = keyedHost();
    expect(answerOf(await tokenBy(host, { assertion, pair: { method: "sso" } }))).toEqual(invalidClient);
    expect((await tokenBy(host, { assertion })).status).toBe(200);
  });
});

const encodedClaims = (): string => part(goodClaims());

describe("the algorithm is confused (RFC 8725 §2.1, §3.1)", () => {
  const rsa = createPublicKey(privateKeys["RS256"] ?? "");

  it.each(["none", "None", "NONE", "nOnE"])("refuses alg %s, with a signature and without", async (alg) => {
    const text = `${part({ alg })}.${encodedClaims()}`;
    for (const signature of ["", "AA", part("signature")])
      await expectRefused(keyedHost(), `${text}.${signature}`);
  });

  it.each([
    ["PEM", rsa.export({ format: "pem", type: "spki" }) as string],
    ["JWK", JSON.stringify(publicKeys[1])],
    ["modulus", String(publicKeys[1]?.["n"])],
    ["nothing", ""],
  ])("refuses HS256 with the public key as the secret: %s", async (_, secret) => {
    const host = keyedHost();
    const assertion = assertionOf({ alg: "HS256", key: secret, header: { kid: "rsa" } });
    expect(await expectRefused(host, assertion)).toBe("assertion-alg-unsupported");
  });

  it("refuses a signature by HMAC that calls itself RS256", async () => {
    const secret = rsa.export({ format: "pem", type: "spki" }) as string;
    await expectRefused(keyedHost(), assertionOf({ alg: "RS256", key: secret }));
  });

  it.each([
    ["RS256", "ec"],
    ["PS256", "ec"],
    ["EdDSA", "ec"],
    ["ES256", "rsa"],
    ["EdDSA", "rsa"],
    ["ES256", "ed25519"],
    ["RS256", "ed25519"],
  ])("refuses %s with the key %s", async (alg, kid) => {
    const host = keyedHost();
    expect(await expectRefused(host, assertionOf({ alg, header: { kid } }))).toBe("assertion-fits-no-key");
  });

  it.each([
    ["RS256", "PS256"],
    ["PS256", "RS256"],
  ])("refuses a signature of %s under the name of %s", async (made, said) => {
    const text = `${part({ alg: said })}.${encodedClaims()}`;
    const key = privateKeys[made] ?? "";
    const signature = signatureOf(text, { alg: made, key }).toString("base64url");
    await expectRefused(keyedHost(), `${text}.${signature}`);
  });
});

describe("the signature is not one (RFC 7515 §5.2, 7518 §3.4)", () => {
  it.each([
    ["empty", () => Buffer.alloc(0)],
    ["zeros", () => Buffer.alloc(64)],
    ["one byte short", (signature: Buffer) => signature.subarray(1)],
    ["one byte long", (signature: Buffer) => Buffer.concat([signature, Buffer.from([0])])],
    ["twice", (signature: Buffer) => Buffer.concat([signature, signature])],
    ["r alone", (signature: Buffer) => signature.subarray(0, 32)],
    ["r and s exchanged", (s: Buffer) => Buffer.concat([s.subarray(32), s.subarray(0, 32)])],
    ["r and s of another text", () => signatureOf("a.b", { alg: "ES256", key: privateKeys["ES256"] ?? "" })],
    ["8,000 bytes", () => Buffer.alloc(5_000, 1)],
  ])("%s", async (_, change) => {
    const [header, payload, signature = ""] = assertionOf().split(".");
    const changed = change(Buffer.from(signature, "base64url")).toString("base64url");
    await expectRefused(keyedHost(), `${header}.${payload}.${changed}`);
  });

  it("in DER, which JWTs do not have", async () => {
    const text = assertionOf().split(".").slice(0, 2).join(".");
    const signature = sign("sha256", Buffer.from(text), privateKeys["ES256"] ?? "").toString("base64url");
    await expectRefused(keyedHost(), `${text}.${signature}`);
  });

  it("of any algorithm, changed in one bit", async () => {
    for (const alg of Object.keys(privateKeys)) {
      const [header, payload, signature = ""] = assertionOf({ alg }).split(".");
      const bytes = Buffer.from(signature, "base64url");
      bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
      await expectRefused(keyedHost(), `${header}.${payload}.${bytes.toString("base64url")}`);
    }
  });
});

describe("the key is foreign (RFC 7523 §3)", () => {
  it("of another client", async () => {
    const host = testHost({ storage: storageOf() });
    expect(await expectRefused(host, assertionOf({ key: other.privateKey }))).toBe(
      "assertion-signature-wrong",
    );
  });

  it("of another client, which signs for itself and names the victim", async () => {
    const host = testHost({ storage: storageOf() });
    for (const claims of [{ iss: "other-keyed" }, { sub: "other-keyed" }])
      await expectRefused(host, assertionOf({ claims, key: other.privateKey }));
  });

  it("in the header: jwk, jku, x5u and x5c are not looked at", async () => {
    const jwk = jwkOf(other.publicKey);
    for (const header of [
      { jwk },
      { jku: "https://evil.example/jwks" },
      { x5u: "https://evil.example/x5u" },
      { x5c: ["AAAA"] },
      { kid: undefined, jwk, jku: "data:,{}" },
    ])
      await expectRefused(keyedHost(), assertionOf({ header, key: other.privateKey }));
  });
});

function assertionOfSize(size: number): string {
  return `${part({ alg: "ES256" })}.${part({ iss: "x".repeat(size) })}.AAAA`;
}

describe("a large or strange assertion (RFC 6749 §10)", () => {
  it.each([
    ["60,000 characters", "a".repeat(60_000)],
    ["dots", ".".repeat(60_000)],
    ["a large claim", assertionOfSize(20_000)],
    ["text beyond ASCII", "é🔑.ü.ß"],
    ["control characters", "a\0b.c\nd.e"],
    ["claims beyond ASCII, unsigned", `${part({ alg: "ES256" })}.${part({ iss: "ключ" })}.AAAA`],
  ])("is refused: %s", async (_, assertion) => {
    await expectRefused(keyedHost(), assertion);
  });

  it("is refused when its client id could not be one", async () => {
    for (const clientId of ["", "two words", "é", "x".repeat(256), "__proto__", "constructor"]) {
      const claims = { iss: clientId, sub: clientId };
      await expectRefused(keyedHost(), assertionOf({ claims }));
    }
  });
});

describe("a wrong assertion changes nothing (RFC 7523 §3)", () => {
  it("so the honest one with the same jti is good afterwards", async () => {
    const { storage, writes } = watchWrites(storageOf());
    const host = testHost({ storage });
    const jti = "one";
    const wrong = [
      { key: other.privateKey },
      { claims: { jti, aud: `${issuer}/token` } },
      { claims: { jti, exp: clock.now() - 60 } },
      { claims: { jti, exp: clock.now() + 3_600, iat: undefined } },
      { header: { kid: "rsa" } },
      { header: { typ: "at+jwt" } },
      { header: { crit: ["exp"] } },
    ];
    for (const changes of wrong) await expectRefused(host, assertionOf({ claims: { jti }, ...changes }));
    expect(writes).toEqual([]);
    expect((await tokenBy(host, { assertion: assertionOf({ claims: { jti } }) })).status).toBe(200);
    expect(writes).toEqual(["clientAssertions.use"]);
  });
});

/** A host whose storage does this where an assertion is used. */
function failingHost(fail: (call: () => Promise<unknown>) => Promise<unknown>): TestHost {
  const around = (name: string, call: () => Promise<unknown>): Promise<unknown> =>
    name === "clientAssertions.use" ? fail(call) : call();
  return testHost({ storage: intercept(storageOf(), around) });
}

describe("the storage fails where an assertion is used (RFC 6749 §5.2)", () => {
  const later = refusal(503, "temporarily_unavailable", "Try again later.");

  it.each([
    ["before it has stored anything", async () => Promise.reject(new Error("connection lost"))],
    [
      "after it has stored it",
      async (call: () => Promise<unknown>) => {
        await call();
        throw new Error("connection lost");
      },
    ],
  ])("%s: nothing is issued, and the client may come again with another one", async (_, fail) => {
    let isBroken = true;
    const host = failingHost((call) => (isBroken ? fail(call) : call()));
    const response = await tokenBy(host);
    expect(answerOf(response)).toEqual(later);
    expect(response.headers["retry-after"]).toBe("1");
    expect(host.events).toMatchObject([
      { kind: "server-error", cause: { cause: new Error("connection lost") } },
    ]);
    isBroken = false;
    expect((await tokenBy(host)).status).toBe(200);
  });

  it("and does not answer in time", async () => {
    shortenTimeLimit();
    const host = failingHost(() => new Promise(() => {}));
    expect(answerOf(await tokenBy(host))).toEqual(later);
  });

  it.each([[undefined], [null], [true], ["ok"], [{}], ["used-before"]])("and answers %p", async (answer) => {
    const host = failingHost(async () => answer);
    await expectRefused(host, assertionOf());
  });
});
