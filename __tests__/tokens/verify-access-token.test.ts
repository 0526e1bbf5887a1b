import { generateKeyPairSync } from "node:crypto";
import type { AccessToken } from "../../lib/protocol/access-token";
import type { VerificationKey } from "../../lib/signing/verification-key";
import type { Validity } from "../../lib/tokens/read-access-token";
import { rememberingVerifier, type TokenChecks } from "../../lib/tokens/verify-access-token";
import { accessTokenRecord } from "../records/records";

const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key: VerificationKey = { kid: "a", algorithm: "ES256", publicKey };

/** A verifier that remembers for 5 seconds, at 1,000 seconds, and what it asked for. */
function watchedVerifier(
  accessToken: AccessToken,
  { signedBy }: { signedBy: VerificationKey | undefined } = { signedBy: key },
) {
  const clock = { now: 1_000 };
  const state = { validity: { kind: "valid", accessToken, asOf: 1_000 } as Validity, trusts: true };
  const asked: string[] = [];
  const checks: TokenChecks = {
    async read() {
      asked.push("read");
      return { kind: "genuine", accessToken, key: signedBy };
    },
    trusts: () => state.trusts,
    async validityOf() {
      asked.push("validity");
      return state.validity;
    },
  };
  const verify = rememberingVerifier(checks, { lagSeconds: 5, clock: () => clock.now });
  return { clock, state, asked, verify: () => verify("a token") };
}

describe("the time of an access token (RFC 9068 §4)", () => {
  it.each([
    ["at its end", 1_600],
    ["after its end", 1_601],
  ])("is over %s, and nothing more is asked", async (_, now) => {
    const { asked, clock, state, verify } = watchedVerifier(accessTokenRecord({ expiresAt: 1_600 }));
    clock.now = now;
    state.validity = { kind: "ended", code: "token-revoked" };
    expect(await verify()).toEqual({
      kind: "invalid",
      code: "token-expired",
      reason: expect.any(String) as string,
    });
    expect(asked).toEqual(["read"]);
  });

  it("is over at its end although the token is remembered", async () => {
    const accessToken = accessTokenRecord({ expiresAt: 1_003 });
    const { asked, clock, verify } = watchedVerifier(accessToken);
    clock.now = 1_002;
    expect(await verify()).toMatchObject({ kind: "valid", accessToken });
    clock.now = 1_003;
    expect(await verify()).toEqual({
      kind: "invalid",
      code: "token-expired",
      reason: expect.any(String) as string,
    });
    expect(asked).toEqual(["read", "validity"]);
  });
});

describe("a token that was found valid (RFC 7662 §4)", () => {
  it("is not pushed out by any number of forged ones", async () => {
    const asked: string[] = [];
    const checks: TokenChecks = {
      async read(token) {
        asked.push(token);
        return token === "good"
          ? { kind: "genuine", accessToken: accessTokenRecord(), key }
          : { kind: "invalid", code: "token-unknown", reason: "it is forged" };
      },
      trusts: () => true,
      validityOf: async (accessToken) => ({ kind: "valid", accessToken, asOf: 1_000 }),
    };
    const verify = rememberingVerifier(checks, { lagSeconds: 5, clock: () => 1_000 });
    await verify("good");
    for (let number = 0; number < 12_000; number += 1) await verify(`forged ${number}`);
    asked.length = 0;
    expect(await verify("good")).toMatchObject({ kind: "valid" });
    expect(asked).toEqual([]);
  });

  it.each([
    ["without claims", undefined],
    ["with few claims", { plan: "gold" }],
    ["with 4 KB of claims", { text: "x".repeat(4_085) }],
  ])("is not asked about again within the lag: %s", async (_, claims) => {
    const { asked, clock, verify } = watchedVerifier(accessTokenRecord(claims && { claims }));
    await verify();
    clock.now = 1_004;
    expect(await verify()).toMatchObject({ kind: "valid" });
    expect(asked).toEqual(["read", "validity"]);
  });

  it("is asked about again once what its answer relied on is as old as the lag", async () => {
    const accessToken = accessTokenRecord();
    const { asked, clock, state, verify } = watchedVerifier(accessToken);
    state.validity = { kind: "valid", accessToken, asOf: 997 };
    await verify();
    clock.now = 1_001;
    await verify();
    expect(asked).toEqual(["read", "validity"]);
    clock.now = 1_002;
    state.validity = { kind: "ended", code: "token-revoked" };
    expect(await verify()).toMatchObject({ kind: "invalid", code: "token-revoked" });
  });

  it.each([
    ["is not read again while its key is trusted", key, true, ["validity"]],
    ["is read again once its key is not", key, false, ["read", "validity"]],
    ["is read again when it is opaque", undefined, true, ["read", "validity"]],
  ])("%s", async (_, signedBy, trusts, expected) => {
    const { asked, clock, state, verify } = watchedVerifier(accessTokenRecord(), { signedBy });
    await verify();
    asked.length = 0;
    clock.now = 1_005;
    state.trusts = trusts;
    await verify();
    expect(asked).toEqual(expected);
  });
});
