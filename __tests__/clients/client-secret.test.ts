import crypto from "node:crypto";
import { digestClientSecret, generateClientSecret } from "../../lib";
import { clientSecretVerifier, parseSecretDigest, secretMatches } from "../../lib/clients/client-secret";
import { everythingUnderWay } from "../storage/latch";
import { confidentialRecord } from "../records/records";

afterEach(() => jest.restoreAllMocks());

const hash = "A".repeat(43);
const salt = "B".repeat(22);
const slowDigest = `scrypt:ln=15,r=8,p=1:${salt}:${hash}`;

describe("the secret that a person chooses (RFC 6749 §2.3.1, Appendix A.2)", () => {
  it("may have twelve characters", async () => {
    const digest = parseSecretDigest(await digestClientSecret("twelve chars"));
    expect(digest && (await secretMatches("twelve chars", digest))).toBe(true);
    expect(digest && (await secretMatches("twelve chart", digest))).toBe(false);
  });

  it.each<[string, unknown, string]>([
    ["eleven characters", "eleven char", "short-client-secret"],
    ["no text", 123_456_789_012, "short-client-secret"],
    ["a line feed at its end", "twelve chars\n", "control-character-in-secret"],
  ])("may not be %s", async (_, secret, code) => {
    await expect(digestClientSecret(secret as string)).rejects.toMatchObject({ code });
  });
});

describe("a stored digest (RFC 6749 §10.10)", () => {
  it.each<[string, boolean]>([
    [`sha256:${hash}`, true],
    [slowDigest, true],
    [`sha256:${hash}A`, false],
    [`sha1:${hash}`, false],
    [`scrypt:ln=14,r=8,p=1:${salt}:${hash}`, true],
    [`scrypt:ln=17,r=16,p=4:${salt}:${hash}`, true],
    [`scrypt:ln=13,r=8,p=1:${salt}:${hash}`, false],
    [`scrypt:ln=18,r=8,p=1:${salt}:${hash}`, false],
    [`scrypt:ln=15,r=7,p=1:${salt}:${hash}`, false],
    [`scrypt:ln=15,r=17,p=1:${salt}:${hash}`, false],
    [`scrypt:ln=15,r=8,p=0:${salt}:${hash}`, false],
    [`scrypt:ln=15,r=8,p=5:${salt}:${hash}`, false],
    ["", false],
  ])("is read within limits: %s is %s", (digest, expected) => {
    expect(parseSecretDigest(digest) !== undefined).toBe(expected);
  });
});

/** Every derivation waits until all are let go, and gives these bytes. */
function holdDerivations(key: Buffer<ArrayBuffer>) {
  const held: (() => void)[] = [];
  jest.spyOn(crypto, "scrypt").mockImplementation((...args) => void held.push(() => args[4](null, key)));
  return { held, letGo: () => held.splice(0).forEach((end) => end()) };
}

describe("the check of a secret (RFC 6749 §2.3.1)", () => {
  const generated = [generateClientSecret(), generateClientSecret()] as const;
  const both = confidentialRecord({ secretDigests: generated.map(({ digest }) => digest) });

  it("takes either of two secrets, and no other one", async () => {
    const verify = clientSecretVerifier();
    expect(await verify(both, generated[0].secret)).toBe(true);
    expect(await verify(both, generated[1].secret)).toBe(true);
    expect(await verify(both, generateClientSecret().secret)).toBe(false);
  });

  it("tells of the second one, once a minute and client", async () => {
    const told: string[] = [];
    let time = 1_800_000_000;
    const verify = clientSecretVerifier({ tell: (clientId) => void told.push(clientId), clock: () => time });
    const [newest, old] = generated;
    const other = confidentialRecord({ ...both, clientId: "other" });
    await verify(both, newest.secret);
    await verify(both, "wrong");
    expect(told).toEqual([]);
    for (const client of [both, both, other]) await verify(client, old.secret);
    expect(told).toEqual([both.clientId, "other"]);
    time += 59;
    await verify(both, old.secret);
    expect(told).toHaveLength(2);
    time += 1;
    await verify(both, old.secret);
    expect(told).toEqual([both.clientId, "other", both.clientId]);
  });

  it("tells of a second one that a person chose, also when it is remembered", async () => {
    const told: string[] = [];
    let time = 1_800_000_000;
    const verify = clientSecretVerifier({ tell: (clientId) => void told.push(clientId), clock: () => time });
    const chosen = await digestClientSecret("chosen by a person");
    const client = confidentialRecord({ secretDigests: [generated[0].digest, chosen] });
    expect(await verify(client, "chosen by a person")).toBe(true);
    time += 60;
    expect(await verify(client, "chosen by a person")).toBe(true);
    expect(told).toEqual([client.clientId, client.clientId]);
    const alone = confidentialRecord({ clientId: "alone", secretDigests: [chosen] });
    expect(await verify(alone, "chosen by a person")).toBe(true);
    expect(told).toHaveLength(2);
  });

  it("passes over what is no digest", async () => {
    const verify = clientSecretVerifier();
    const [{ secret, digest }] = generated;
    expect(await verify(confidentialRecord({ secretDigests: ["nonsense"] }), secret)).toBe(false);
    expect(await verify(confidentialRecord({ secretDigests: ["nonsense", digest] }), secret)).toBe(true);
  });

  const slow = confidentialRecord({ clientId: "slow", secretDigests: [slowDigest] });

  it("does not wait for derivations of others where there is none to do", async () => {
    const verify = clientSecretVerifier();
    const { held, letGo } = holdDerivations(Buffer.alloc(32));
    const others = ["a guess", "another one"].map((secret) => verify(slow, secret));
    await everythingUnderWay();
    expect(held).toHaveLength(2);
    let answer: boolean | undefined;
    const wrong = verify(both, "wrong").then((result) => {
      answer = result;
    });
    await everythingUnderWay();
    // it is known while the derivations of the others are still under way
    expect(answer).toBe(false);
    letGo();
    await Promise.all([...others, wrong]);
  });

  it("shares a derivation between equal ones, and remembers what was right", async () => {
    const verify = clientSecretVerifier();
    const { held, letGo } = holdDerivations(Buffer.from(hash, "base64url"));
    const equal = [verify(slow, "right"), verify(slow, "right")];
    await everythingUnderWay();
    expect(held).toHaveLength(1);
    letGo();
    expect(await Promise.all(equal)).toEqual([true, true]);
    expect(await verify(slow, "right")).toBe(true);
    expect(held).toEqual([]);
  });
});
