import { memoryStorage } from "../../lib";
import type { ClientRequest } from "../../lib/clients/authenticate-client";
import { parseParameters } from "../../lib/protocol/parameters";
import { issueAccessToken, newRefreshToken } from "../../lib/tokens/issue-tokens";
import { refreshSuccessors } from "../../lib/tokens/refresh-successor";
import { apiRecord, authorizationRecord, confidentialRecord, issuerRecord } from "../records/records";

const now = 1_000;
const randomId = (): string => "I".repeat(22);
const randomToken = (): string => "R".repeat(43);
const mark = "m".repeat(22);
const facts = { authTime: 900, amr: ["pwd"], acr: "2" };
const decided = { scopes: ["orders:read"], accessTokenSeconds: 600, claims: undefined };

function clientRequest(changes: Partial<ClientRequest> = {}): ClientRequest {
  const issuer = issuerRecord({ accessTokenFormat: "opaque" });
  const client = confidentialRecord();
  return {
    issuer,
    client,
    endMark: undefined,
    apiEnds: new Map(),
    headers: {},
    parameters: parseParameters(""),
    now,
    ...changes,
  };
}

describe("the record of an opaque access token (RFC 6749 §1.4)", () => {
  const common = {
    digest: expect.any(String),
    tokenId: randomId(),
    issuer: clientRequest().issuer.identifier,
    clientId: "web",
    scopes: ["orders:read"],
    issuedAt: now,
    expiresAt: 1_600,
  };
  const ofAlice = { authorizationId: "A".repeat(22), subject: "alice" };

  it("has the mark of the API after its end, if it is a client's own", async () => {
    const storage = memoryStorage({ clients: [] });
    const create = jest.spyOn(storage.accessTokens, "create");
    const signer = { sign: () => "" };
    const { audience } = apiRecord();
    const request = clientRequest({
      apiEnds: new Map([
        [audience, mark],
        ["https://other.example", "O"],
      ]),
    });
    for (const authorization of [undefined, authorizationRecord()])
      await issueAccessToken({ storage, signer, randomId, randomToken }, { request, authorization, decided });
    expect(create.mock.calls).toStrictEqual([
      [{ ...common, apiEndMark: mark }, now],
      [{ ...common, ...ofAlice }, now],
    ]);
  });

  it.each([
    ["of a client's own", undefined, undefined, {}],
    ["of a client's own after an end", undefined, mark, { clientEndMark: mark }],
    ["of a person", authorizationRecord(), undefined, ofAlice],
    ["of a person after an end: the authorization has the mark", authorizationRecord(), mark, ofAlice],
    ["of a person, with all that is known", authorizationRecord(facts), undefined, { ...ofAlice, ...facts }],
  ])("has what there is, and no member without a value: %s", async (_, authorization, endMark, expected) => {
    const storage = memoryStorage({ clients: [] });
    const create = jest.spyOn(storage.accessTokens, "create");
    const signer = { sign: () => "" };
    const issue = { request: clientRequest({ endMark }), authorization, decided };
    await issueAccessToken({ storage, signer, randomId, randomToken }, issue);
    // strict: a member that is undefined is there
    expect(create.mock.calls).toStrictEqual([[{ ...common, ...expected }, now]]);
  });
});

describe("a refresh token (RFC 6749 §6)", () => {
  it.each([
    ["lasts for the idle time", 99_000_000, now + apiRecord().lifetimes.refreshTokenIdleSeconds],
    ["never lasts longer than its authorization may be refreshed", 1_001, 1_001],
    ["is not issued at the end of that time", 1_000, undefined],
    ["is not issued after it", 999, undefined],
  ])("%s", (_, refreshableUntil, expected) => {
    const successors = refreshSuccessors(["a secret"], randomId);
    const authorization = authorizationRecord({ refreshableUntil });
    const issue = { authorization, request: clientRequest(), predecessor: undefined };
    expect(newRefreshToken({ randomToken, successors }, issue)?.record.expiresAt).toBe(expected);
  });

  it("is not issued where the authorization has none", () => {
    const successors = refreshSuccessors(["a secret"], randomId);
    const issue = { authorization: authorizationRecord(), request: clientRequest(), predecessor: undefined };
    expect(newRefreshToken({ randomToken, successors }, issue)).toBeUndefined();
  });

  it("is never derived without a secret", () => {
    const successors = refreshSuccessors([], randomId);
    expect(() => successors.derive("a token", now)).toThrow("a server has at least one secret");
  });
});
