import { type IdentityClaimsRequest, memoryStorage } from "../../lib";
import { findClaims } from "../../lib/tokens/identity";
import { clients as records } from "../hosts/clients";
import { authorizationRecord, issuerRecord } from "../records/records";

const never = new Promise<undefined>(() => undefined);
const storage = memoryStorage({ clients: [] });
const clients = { findHolder: async () => undefined };
let late: Promise<unknown>;

describe("openid.claims (decision 0014)", () => {
  it("has five seconds", async () => {
    jest.useFakeTimers();
    const askedWith = new Promise<AbortSignal>((resolve) => {
      const adapters = new Map([
        ["orders", { claims: ({ signal }: IdentityClaimsRequest) => (resolve(signal), never) }],
      ]);
      const question = {
        client: records.web,
        authorization: authorizationRecord(),
        scopes: ["openid"],
        use: "userinfo",
        now: () => 1_000,
      } as const;
      const claims = { openid: [] };
      const openid = { claims, idTokenAlgorithm: "RS256", audiences: [] };
      late = findClaims({ storage, clients, adapters }, { issuer: issuerRecord({ openid }), ...question });
      late.catch(() => undefined);
    });
    const signal = await askedWith;
    await jest.advanceTimersByTimeAsync(5_001);
    await expect(late).rejects.toThrow("openid.claims did not answer within 5 seconds");
    expect(signal.aborted).toBe(true);
    jest.useRealTimers();
  });
});
