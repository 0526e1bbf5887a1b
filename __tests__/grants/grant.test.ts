import type { RefreshToken } from "../../lib";
import { checkAlive, tokenAnswer } from "../../lib/grants/grant";
import { issuerRecord, refreshTokenRecord } from "../records/records";

const now = 1_800_000_000;

/** A decision that the server reaches after this many seconds. */
function decidedAfter(passed: number, refreshTokenExpiry: "state" | "omit" = "state") {
  const request = { now, issuer: issuerRecord({ refreshTokenExpiry }) };
  const decided = { accessTokenSeconds: 10, scopes: ["orders:read"] };
  return [{ clock: () => now + passed }, { request, decided } as never] as const;
}

describe("an access token whose life has passed while the host decided (RFC 6749 §5.1)", () => {
  it.each([-5, 0, 1, 2, 9])("is issued after %d seconds of ten", (passed) => {
    expect(() => checkAlive(...decidedAfter(passed))).not.toThrow();
  });

  it.each([10, 11])("is not issued after %d seconds of ten", (passed) => {
    expect(() => checkAlive(...decidedAfter(passed))).toThrow(
      expect.objectContaining({ error: "temporarily_unavailable", code: "token-lifetime-used-up" }),
    );
  });
});

describe("what an answer says of the lives of its tokens (RFC 6749 §5.1)", () => {
  const record: RefreshToken = refreshTokenRecord("a refresh token", { expiresAt: now + 100 });

  function answer(passed: number, expiry?: "state" | "omit"): object {
    const [ports, decided] = decidedAfter(passed, expiry);
    const issued = { ...(decided as object), accessToken: "A", refreshToken: { token: "R", record } };
    return tokenAnswer(ports, issued as never);
  }

  it.each([
    [-5, 10, 100],
    [0, 10, 100],
    [1, 10, 100],
    [2, 8, 98],
    [9, 1, 91],
    [20, 1, 80],
    [200, 1, 1],
  ])("after %d seconds: %d and %d are left", (passed, expires_in, refresh_token_expires_in) => {
    expect(answer(passed)).toMatchObject({ expires_in, refresh_token_expires_in });
  });

  it("says nothing of the refresh token unless the API states it", () => {
    expect(answer(0, "omit")).not.toHaveProperty("refresh_token_expires_in");
  });
});
