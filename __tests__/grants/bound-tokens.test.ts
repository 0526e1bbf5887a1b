// Codes and refresh tokens that are bound to a key (RFC 9449 §5, §10): who may use them, and what a thief can do with them.
import type { Response } from "supertest";
import { memoryStorage } from "../../lib";
import { parseTokenHandle } from "../../lib/protocol/token-value";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Fields } from "../browser/browser";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, signedIn, signedOut, type TestHost, type TestHostOptions } from "../hosts/host";
import { obtainCode } from "../browser/journey";
import {
  type Bound,
  boundApis,
  boundHost,
  claimsOf,
  otherKey,
  ownKey,
  ownThumbprint,
  redeemBound,
  refreshBound,
} from "../requests/bound-requests";
import { answerOf, invalidGrant } from "../requests/json-answers";
import { type TokenBody, tokensOf } from "../requests/token-requests";

stopClockForEachTest();

const withKey: Fields = { dpop_jkt: ownThumbprint };
const storage = () => memoryStorage({ clients: Object.values(clients) });

/** Why the last token request was refused. */
function lastReason({ events }: TestHost): string {
  const event = events.findLast(({ kind }) => kind === "token-refused");
  return event && "code" in event ? event.code : "";
}

const replays = ({ events }: TestHost): number =>
  events.filter(({ kind }) => kind === "replay-detected").length;

describe("a code that is bound to a key by dpop_jkt (RFC 9449 §10)", () => {
  it.each(["native", "web"] as const)("is good with that key only: %s", async (client) => {
    const host = boundHost();
    const code = await obtainCode(host, { client, fields: withKey });
    // a thief knows all but the key; nothing is used up by the attempts, and nothing revoked
    for (const key of [otherKey, undefined]) {
      const answer = await redeemBound(host, { client, code, ...(key && { key }) });
      expect(answerOf(answer)).toEqual(invalidGrant);
      expect(lastReason(host)).toBe("code-of-another-key");
    }
    const { access_token: token } = tokensOf(await redeemBound(host, { client, code, key: ownKey }));
    expect(claimsOf(token)["cnf"]).toEqual({ jkt: ownThumbprint });
  });

  it("does not end its authorization when it is replayed without the key", async () => {
    const host = boundHost();
    const code = await obtainCode(host, { client: "native", fields: withKey });
    const { refresh_token: refreshToken } = tokensOf(await redeemBound(host, { code, key: ownKey }));
    expect(answerOf(await redeemBound(host, { code, key: otherKey }))).toEqual(invalidGrant);
    expect(answerOf(await redeemBound(host, { code }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(0);
    expect((await refreshBound(host, { refreshToken, key: ownKey })).status).toBe(200);
  });

  it("goes to its owner while thieves try it at the same time", async () => {
    const host = boundHost();
    const code = await obtainCode(host, { client: "native", fields: withKey });
    const keys = [otherKey, undefined, ownKey, otherKey, undefined];
    const answers = await Promise.all(keys.map((key) => redeemBound(host, { code, ...(key && { key }) })));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 200, 400, 400]);
    expect(replays(host)).toBe(0);
    const [tokens] = answers.filter(({ status }) => status === 200).map(tokensOf);
    const refreshToken = tokens?.refresh_token ?? "";
    expect((await refreshBound(host, { refreshToken, key: ownKey })).status).toBe(200);
  });

  it("ends it when it is replayed with the key (RFC 9700 §4.14.2)", async () => {
    const host = boundHost();
    const code = await obtainCode(host, { client: "native", fields: withKey });
    const { refresh_token: refreshToken } = tokensOf(await redeemBound(host, { code, key: ownKey }));
    expect(answerOf(await redeemBound(host, { code, key: ownKey }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(1);
    expect(answerOf(await refreshBound(host, { refreshToken, key: ownKey }))).toEqual(invalidGrant);
  });

  it("is bound although the person has signed in on the way", async () => {
    const host = boundHost();
    host.session = signedOut;
    const browser = host.browser();
    const first = await authorize(browser, { client: "native", fields: withKey });
    const page = await browser.follow(first);
    host.session = signedIn;
    const { interaction = "" } = redirectParametersOf(first);
    expect(page.status).toBe(200);
    const back = await browser.get("/login/auth/password/api/orders/authorize/resume", { interaction });
    const { code = "" } = redirectParameters(await browser.answer(back, "approve"));
    expect(answerOf(await redeemBound(host, { code, key: otherKey }))).toEqual(invalidGrant);
    expect((await redeemBound(host, { code, key: ownKey })).status).toBe(200);
  });

  it.each([["short"], [`${ownThumbprint}=`], [ownThumbprint.slice(1)], [`${ownThumbprint.slice(1)}+`]])(
    "is refused where dpop_jkt is no thumbprint: %s",
    async (thumbprint) => {
      const host = boundHost();
      const answer = await authorize(host.browser(), { client: "native", fields: { dpop_jkt: thumbprint } });
      expect(redirectParameters(answer)).toMatchObject({
        error: "invalid_request",
        error_description: "dpop_jkt must be 43 base64url characters.",
      });
      expect(host.events.at(-1)).toMatchObject({ code: "dpop-jkt-malformed" });
    },
  );

  it("is no such code at an API without dpop, which reads no dpop_jkt", async () => {
    const host = boundHost();
    const pair = { api: "files" } as const;
    const code = await obtainCode(host, { client: "native", pair, fields: { dpop_jkt: "short" } });
    expect((await redeemBound(host, { pair, code })).body).toMatchObject({ token_type: "bearer" });
  });

  it("is good for nobody once the API has no dpop any more", async () => {
    const shared = storage();
    const code = await obtainCode(boundHost({ storage: shared }), { client: "native", fields: withKey });
    const host = boundHost({ storage: shared, apis });
    expect(answerOf(await redeemBound(host, { code, key: ownKey }))).toEqual(invalidGrant);
  });
});

function redirectParametersOf(response: Response): Record<string, string> {
  const { location } = response.headers as Record<string, string>;
  return Object.fromEntries(new URL(location ?? "", "https://host.example").searchParams);
}

/** The tokens of a code grant, with this key. */
async function grantedTo(host: TestHost, bound: Omit<Bound, "client"> & { client?: "native" | "web" } = {}) {
  const { client = "native", pair } = bound;
  const code = await obtainCode(host, { client, ...(pair && { pair }) });
  return tokensOf(await redeemBound(host, { ...bound, client, code }));
}

const recordOf = async (host: TestHost, { refresh_token: token }: TokenBody) => {
  const handle = parseTokenHandle(token);
  return handle && host.storage.refreshTokens.find(handle, Math.floor(Date.now() / 1000));
};

describe("a refresh token of a public client (RFC 9449 §5)", () => {
  it("is bound to the key of the code exchange, and so is its successor", async () => {
    const host = boundHost();
    const first = await grantedTo(host, { key: ownKey });
    expect(await recordOf(host, first)).toMatchObject({ boundKey: ownThumbprint });
    const answer = await refreshBound(host, { refreshToken: first.refresh_token, key: ownKey });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    const second = tokensOf(answer);
    expect(claimsOf(second.access_token)["cnf"]).toEqual({ jkt: ownThumbprint });
    expect(await recordOf(host, second)).toMatchObject({ boundKey: ownThumbprint });
    expect(answerOf(await refreshBound(host, { refreshToken: second.refresh_token }))).toEqual(invalidGrant);
  });

  it.each<[string, Bound]>([
    ["without a proof", {}],
    ["with another key", { key: otherKey }],
  ])("is worth nothing %s, and a thief ends no session with it", async (_, theirs) => {
    const host = boundHost();
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey });
    expect(answerOf(await refreshBound(host, { ...theirs, refreshToken }))).toEqual(invalidGrant);
    expect(lastReason(host)).toBe("refresh-token-of-another-key");
    const { refresh_token: next } = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    // the used one, too: for its owner this would be a replay
    expect(answerOf(await refreshBound(host, { ...theirs, refreshToken }))).toEqual(invalidGrant);
    expect(lastReason(host)).toBe("refresh-token-of-another-key");
    expect(replays(host)).toBe(0);
    expect((await refreshBound(host, { refreshToken: next, key: ownKey })).status).toBe(200);
  });

  it("ends the session when it is used twice with its key (RFC 9700 §4.14.2)", async () => {
    const host = boundHost();
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey });
    const { refresh_token: next } = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    expect(answerOf(await refreshBound(host, { refreshToken, key: ownKey }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(1);
    expect(answerOf(await refreshBound(host, { refreshToken: next, key: ownKey }))).toEqual(invalidGrant);
  });

  it("is bound by its first proof, if it was issued without one", async () => {
    const host = boundHost();
    const { refresh_token: refreshToken } = await grantedTo(host);
    const { refresh_token: next } = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    expect(answerOf(await refreshBound(host, { refreshToken: next }))).toEqual(invalidGrant);
    expect((await refreshBound(host, { refreshToken: next, key: ownKey })).status).toBe(200);
  });

  it("is good for nobody once the API has no dpop any more", async () => {
    const shared = storage();
    const { refresh_token: refreshToken } = await grantedTo(boundHost({ storage: shared }), { key: ownKey });
    const host = boundHost({ storage: shared, apis });
    expect(answerOf(await refreshBound(host, { refreshToken, key: ownKey }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(0);
  });

  it("stays bound where opaque tokens are issued beside it", async () => {
    const host = boundHost();
    const pair = { api: "reports" } as const;
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey, pair });
    expect(answerOf(await refreshBound(host, { pair, refreshToken, key: otherKey }))).toEqual(invalidGrant);
    const answer = await refreshBound(host, { pair, refreshToken, key: ownKey });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
  });

  it("of one person is nothing to the key of another", async () => {
    const host = boundHost();
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey });
    host.session = bob;
    await grantedTo(host, { key: otherKey });
    expect(answerOf(await refreshBound(host, { refreshToken, key: otherKey }))).toEqual(invalidGrant);
  });
});

describe("a refresh token of a confidential client (RFC 9449 §5)", () => {
  it("is bound by client authentication, and not to a key: the client may change that", async () => {
    const host = boundHost();
    const first = await grantedTo(host, { client: "web", key: ownKey });
    expect(await recordOf(host, first)).not.toHaveProperty("boundKey");
    const answer = await refreshBound(host, {
      client: "web",
      refreshToken: first.refresh_token,
      key: otherKey,
    });
    const second = tokensOf(answer);
    expect(claimsOf(second.access_token)["cnf"]).not.toEqual({ jkt: ownThumbprint });
    const third = await refreshBound(host, { client: "web", refreshToken: second.refresh_token });
    expect(third.body).toMatchObject({ token_type: "bearer" });
  });

  it("needs a proof where the client has dpopBound", async () => {
    const web = { ...clients.web, dpopBound: true };
    const host = boundHost({ clients: [web] });
    const { refresh_token: refreshToken } = await grantedTo(host, { client: "web", key: ownKey });
    const answer = await refreshBound(host, { client: "web", refreshToken });
    expect(answer.body).toMatchObject({ error: "invalid_dpop_proof" });
    const again = await refreshBound(host, { client: "web", refreshToken, key: ownKey });
    expect(again.status).toBe(200);
  });
});

describe("a refresh that is repeated (refreshRetrySeconds)", () => {
  const retries: TestHostOptions = { lifetimes: { refreshRetrySeconds: 10 }, revocationLagSeconds: 0 };

  it("gets the same successor again with its key", async () => {
    const host = boundHost(retries);
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey });
    const first = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    const again = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    expect(again.refresh_token).toBe(first.refresh_token);
    expect(claimsOf(again.access_token)["cnf"]).toEqual({ jkt: ownThumbprint });
  });

  it("is refused without its key, and ends nothing", async () => {
    const host = boundHost(retries);
    const { refresh_token: refreshToken } = await grantedTo(host, { key: ownKey });
    const { refresh_token: next } = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    for (const theirs of [{}, { key: otherKey }])
      expect(answerOf(await refreshBound(host, { ...theirs, refreshToken }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(0);
    expect((await refreshBound(host, { refreshToken: next, key: ownKey })).status).toBe(200);
  });

  it.each<[string, Bound]>([
    ["no key", {}],
    ["another key", { key: otherKey }],
  ])("is a replay with %s, where only the successor is bound", async (_, theirs) => {
    const host = boundHost(retries);
    const { refresh_token: refreshToken } = await grantedTo(host);
    const { refresh_token: next } = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    expect(answerOf(await refreshBound(host, { ...theirs, refreshToken }))).toEqual(invalidGrant);
    expect(replays(host)).toBe(1);
    expect(answerOf(await refreshBound(host, { refreshToken: next, key: ownKey }))).toEqual(invalidGrant);
  });

  it("gets the same successor where that is bound, and the one before was not", async () => {
    const host = boundHost(retries);
    const { refresh_token: refreshToken } = await grantedTo(host);
    const first = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    const again = tokensOf(await refreshBound(host, { refreshToken, key: ownKey }));
    expect(again.refresh_token).toBe(first.refresh_token);
  });

  it("of a confidential client needs no key", async () => {
    const host = boundHost(retries);
    const client = "web";
    const { refresh_token: refreshToken } = await grantedTo(host, { client, key: ownKey });
    const first = tokensOf(await refreshBound(host, { client, refreshToken, key: ownKey }));
    const again = tokensOf(await refreshBound(host, { client, refreshToken, key: otherKey }));
    expect(again.refresh_token).toBe(first.refresh_token);
  });

  it("at the same time, with two keys, is a replay: one of the two is a thief", async () => {
    const host = boundHost(retries);
    const { refresh_token: refreshToken } = await grantedTo(host);
    const answers = await Promise.all([
      refreshBound(host, { refreshToken, key: ownKey }),
      refreshBound(host, { refreshToken, key: otherKey }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 400]));
    expect(replays(host)).toBe(1);
  });
});

describe("an API that requires bound tokens (dpop.tokens)", () => {
  it("refuses a refresh without a proof, also by a token from before", async () => {
    const shared = storage();
    const before = boundHost({ storage: shared });
    const { refresh_token: refreshToken } = await grantedTo(before);
    const host = boundHost({ storage: shared, apis: boundApis({ tokens: "required" }) });
    expect((await refreshBound(host, { refreshToken })).body).toMatchObject({ error: "invalid_dpop_proof" });
    expect((await refreshBound(host, { refreshToken, key: ownKey })).body).toMatchObject({
      token_type: "DPoP",
    });
  });
});
