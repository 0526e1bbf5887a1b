import { memoryStorage } from "../../lib";
import type { TokenHolder } from "../../lib/clients/client-lookup";
import { accessTokenClaims } from "../../lib/protocol/access-token";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { digestToken } from "../../lib/protocol/token-value";
import { readSigningKey } from "../../lib/signing/signing-key";
import { readAccessToken, validityOf } from "../../lib/tokens/read-access-token";
import { accessTokenRecord, apiRecord, authorizationRecord } from "../records/records";
import { goodKey } from "../records/options";

const api = apiRecord();
const now = 1_100;
const key = readSigningKey(goodKey);

describe("reading a JWT (RFC 9068 §4)", () => {
  const claims = accessTokenClaims(accessTokenRecord(), api.audience);
  const { jti: _jti, ...withoutId } = claims;
  const { aud: _aud, ...withoutAudience } = claims;

  it.each([
    ["an access token of this API is read", claims, { accessToken: accessTokenRecord(), key }],
    [
      "one for another API has another audience",
      { ...claims, aud: "https://other.example" },
      "other-audience",
    ],
    ["one without an audience has another one", withoutAudience, "other-audience"],
    ["one for this API that is no access token is unknown", withoutId, "unknown"],
    ["one that no key of the server has signed is unknown", undefined, "unknown"],
  ])("%s", async (_, verified, expected) => {
    const storage = memoryStorage({ clients: [] });
    const verify = jest.fn(() => verified && { claims: verified, key });
    const token = "a.b.c";
    const read = { token, digest: digestToken(token), api, now };
    expect(await readAccessToken({ storage, signer: { verify } }, read)).toEqual(expected);
    expect(verify.mock.calls).toEqual([[token, now]]);
  });
});

describe("whether an access token is still valid (RFC 7009 §2.1)", () => {
  const holder: TokenHolder = {
    hasSubscription: true,
    isSelfDescribed: false,
    endMark: undefined,
    apiEnds: new Map(),
    asOf: 1_095,
  };
  const mark = "m".repeat(22);
  const { authorizationId: _id, subject: _subject, ...own } = accessTokenRecord();
  const endedCode = "token-authorization-ended";

  async function validity({
    tokenHolder = holder,
    isRevoked = false,
    token = accessTokenRecord(),
    fresh = undefined as boolean | undefined,
    stored = undefined as string | undefined,
    authorization = {},
  } = {}) {
    const storage = memoryStorage({ clients: [] });
    const newest = { key: clientEndKey(token.clientId), mark: stored ?? "", expiresAt: now + 100 };
    if (stored !== undefined) await storage.endMarks.save(newest, now);
    await storage.authorizations.create(authorizationRecord({ endMarks: [], ...authorization }), now);
    const { tokenId, expiresAt } = token;
    if (isRevoked) await storage.accessTokens.revoke({ tokenId, expiresAt }, now);
    const findHolder = jest.fn(() => Promise.resolve(tokenHolder));
    const find = jest.spyOn(storage.endMarks, "find");
    const question = { accessToken: token, api, now, ...(fresh !== undefined && { fresh }) };
    const told = await validityOf({ storage, clients: { findHolder } }, question);
    return { told, askedForMarks: find.mock.calls.length, lookUps: findHolder.mock.calls };
  }

  it.each([
    [undefined, false],
    [true, true],
  ])("asks for the client as it is now if that is wanted: %s", async (fresh, asked) => {
    const { clientId } = accessTokenRecord();
    expect((await validity({ fresh })).lookUps).toEqual([[clientId, { apiId: "orders", fresh: asked }]]);
  });

  it("lasts, and the answer is as old as what is remembered of its client", async () => {
    const { told, askedForMarks } = await validity();
    expect(told).toMatchObject({ kind: "valid", asOf: 1_095 });
    expect(askedForMarks).toBe(0);
  });

  it("lasts for a client's own from after an end that is newer than what is remembered", async () => {
    const stored = "n".repeat(22);
    const given = {
      tokenHolder: { ...holder, endMark: mark },
      token: { ...own, clientEndMark: stored },
      stored,
    };
    const { told, askedForMarks } = await validity(given);
    expect(told).toMatchObject({ kind: "valid", asOf: 1_095 });
    expect(askedForMarks).toBe(1);
  });

  it.each([
    ["revoked itself", { isRevoked: true }, "token-revoked"],
    [
      "of a client without a subscription",
      { tokenHolder: { ...holder, hasSubscription: false } },
      "token-subscription-lost",
    ],
    [
      "of a registered client whose id a stranger has now",
      { tokenHolder: { ...holder, isSelfDescribed: true } },
      "token-client-deleted",
    ],
    [
      "of a missing authorization",
      { token: accessTokenRecord({ authorizationId: "B".repeat(22) }) },
      endedCode,
    ],
    ["of a client everything of which was ended", { tokenHolder: { ...holder, endMark: mark } }, endedCode],
    [
      "a client's own from before everything of it was ended",
      { tokenHolder: { ...holder, endMark: mark }, token: own },
      endedCode,
    ],
    [
      "a client's own from before the last of two ends",
      { tokenHolder: { ...holder, endMark: mark }, token: { ...own, clientEndMark: "n".repeat(22) } },
      endedCode,
    ],
  ])("ends: %s", async (_, given, code) => {
    const { told } = await validity(given);
    expect(told).toEqual({ kind: "ended", code });
  });

  describe("when the end user has taken back a part (RFC 6749 §1.5)", () => {
    const scopes = ["orders:write", "orders:read", "orders:list"];
    const read = { grantedScopes: ["orders:read", "orders:list"], approvedScopes: scopes };

    it.each<[string, object, readonly string[], readonly string[] | undefined]>([
      ["has fewer scopes", read, scopes, ["orders:read", "orders:list"]],
      ["keeps what it has", read, ["orders:read"], ["orders:read"]],
      ["keeps no scopes if it had none", read, [], []],
      ["ends where nothing is left", read, ["orders:write"], undefined],
      // a token of before a scope was granted in another way is none of the person's business
      ["keeps all where nothing was taken back", { grantedScopes: ["orders:read"] }, scopes, scopes],
    ])("%s", async (_, authorization, before, left) => {
      const token = accessTokenRecord({ scopes: before });
      const { told } = await validity({ token, authorization });
      if (left) expect(told).toMatchObject({ kind: "valid", accessToken: { ...token, scopes: left } });
      else expect(told).toEqual({ kind: "ended", code: "token-taken-back" });
    });
  });

  it("lasts for a client's own token from after the last end", async () => {
    const token = { ...own, clientEndMark: mark };
    const given = { tokenHolder: { ...holder, endMark: mark }, token };
    const { told, askedForMarks } = await validity(given);
    expect(told).toMatchObject({ kind: "valid", asOf: 1_095 });
    expect(askedForMarks).toBe(0);
  });

  describe("when everything of its API was ended", () => {
    const ofApi = "a".repeat(22);
    const tokenHolder = { ...holder, endMark: mark, apiEnds: new Map([[api.audience, ofApi]]) };

    it.each([
      ["a client's own of before", { ...own, clientEndMark: mark }, 1],
      ["a client's own of before both ends", own, 0],
      ["a client's own with the mark of another end", { ...own, clientEndMark: mark, apiEndMark: "x" }, 1],
      ["a person's", accessTokenRecord(), 0],
    ])("ends: %s", async (_, token, asked) => {
      const { told, askedForMarks } = await validity({ tokenHolder, token, stored: mark });
      expect(told).toEqual({ kind: "ended", code: endedCode });
      expect(askedForMarks).toBe(asked);
    });

    it("lasts when it is a client's own from after that", async () => {
      const token = { ...own, clientEndMark: mark, apiEndMark: ofApi };
      const { told, askedForMarks } = await validity({ tokenHolder, token });
      expect(told).toMatchObject({ kind: "valid" });
      expect(askedForMarks).toBe(0);
    });

    it("lasts when that was another API", async () => {
      const others = { ...holder, apiEnds: new Map([["https://other.example", ofApi]]) };
      expect((await validity({ tokenHolder: others, token: own })).told).toMatchObject({ kind: "valid" });
    });
  });

  it("asks storage for no mark when a client's own token has none: it is older than every end", async () => {
    const { told, askedForMarks } = await validity({ tokenHolder: { ...holder, endMark: mark }, token: own });
    expect(told).toEqual({ kind: "ended", code: endedCode });
    expect(askedForMarks).toBe(0);
  });
});
