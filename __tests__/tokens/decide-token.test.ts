import { memoryStorage, type TokenAdapter, type TokenDecision, type TokenDecisionRequest } from "../../lib";
import type { ClientRequest } from "../../lib/clients/authenticate-client";
import type { Authorization } from "../../lib/protocol/authorization";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parseParameters } from "../../lib/protocol/parameters";
import { type DecidedToken, decideToken } from "../../lib/tokens/decide-token";
import { authorizationRecord, confidentialRecord, issuerRecord } from "../records/records";
import { stopClockForEachTest } from "../hosts/clock";
import { shortenTimeLimit } from "../storage/time-limit";

stopClockForEachTest();

const now = 1_100;
const request: ClientRequest = {
  issuer: issuerRecord(),
  client: confidentialRecord(),
  endMark: undefined,
  apiEnds: new Map(),
  headers: {},
  parameters: parseParameters(""),
  now,
};

interface Asked {
  readonly authorization?: Authorization;
  readonly scopes?: readonly string[];
}

/** What becomes of a refresh when the host decides like this, and how often storage was asked. */
async function decided(decide: TokenAdapter["decide"], asked: Asked = {}) {
  const { authorization = authorizationRecord(), scopes = ["orders:read"] } = asked;
  const storage = memoryStorage({ clients: [] });
  await storage.authorizations.create(authorization, now);
  const find = jest.spyOn(storage.authorizations, "find");
  const ports = { storage, emit: () => undefined, tokens: { decide } };
  const proposal = { grantType: "refresh_token", request, authorization, scopes } as const;
  const token = await decideToken(ports, proposal);
  return { token, looks: find.mock.calls.length };
}

/** What the host is told when its decision leads to no token. */
async function reasonOf(decide: TokenAdapter["decide"]): Promise<string> {
  try {
    await decided(decide);
  } catch (error) {
    if (error instanceof OAuthError) return `${error.error}: ${error.code}`;
    if (error instanceof Error) return error.message;
    throw error;
  }
  throw new Error("a token was issued");
}

describe("what tokens.decide is asked (RFC 9068 §2.2.1)", () => {
  const known = {
    authorizationId: "A".repeat(22),
    createdAt: 1_000,
    grantedScopes: ["orders:read"],
  };
  const facts = { authTime: 900, amr: ["pwd", "otp"], acr: "2" };

  it.each([
    ["nothing of the sign-in where nothing is known", {}],
    ["when the person signed in", { authTime: 900 }],
    ["by what means", { amr: ["pwd"] }],
    ["in which class", { acr: "2" }],
    ["all three", facts],
    ["what the person chose", { context: { key: "acme" } }],
  ])("has %s", async (_, changes) => {
    let seen: TokenDecisionRequest | undefined;
    await decided(
      (question) => {
        seen = question;
        return { kind: "issue" };
      },
      { authorization: authorizationRecord(changes) },
    );
    // strict: a member that is undefined is there
    expect(seen?.authorization).toStrictEqual({ ...known, ...changes });
  });

  it("has copies, which the host may change", async () => {
    const authorization = authorizationRecord({ amr: ["pwd"] });
    await decided(
      (question) => {
        (question.authorization?.amr as string[] | undefined)?.push("otp");
        return { kind: "issue" };
      },
      { authorization },
    );
    expect(authorization.amr).toEqual(["pwd"]);
  });
});

describe("the signal of a decision (RFC 6749 §5.2)", () => {
  it("is not aborted while the answer is waited for, and is afterwards", async () => {
    shortenTimeLimit();
    let late: TokenDecisionRequest | undefined;
    let early: AbortSignal | undefined;
    let wasAborted: boolean | undefined;
    const never = new Promise<TokenDecision>(() => {});
    const reasons = [
      await reasonOf((question) => {
        early = question.signal;
        wasAborted = early.aborted;
        return never;
      }),
      await reasonOf((question) => {
        late = question;
        return never;
      }),
    ];
    expect([wasAborted, early?.aborted]).toEqual([false, true]);
    expect(late?.signal.aborted).toBe(true);
    const reason = "tokens.decide did not answer within 5 seconds";
    expect(reasons).toEqual([reason, reason]);
  });
});

describe("a decision that is kept to (RFC 6749 §3.3, §5.1)", () => {
  const asAsked = { scopes: ["orders:read"], accessTokenSeconds: 600, claims: undefined };
  it.each<[string, Omit<Extract<TokenDecision, { kind: "issue" }>, "kind">, Partial<DecidedToken>]>([
    ["nothing changes", {}, {}],
    ["one second", { accessTokenSeconds: 1 }, { accessTokenSeconds: 1 }],
    ["the whole life of the API's tokens", { accessTokenSeconds: 600 }, {}],
    ["no claims in an empty object", { claims: {} }, {}],
    ["claims", { claims: { plan: "gold" } }, { claims: { plan: "gold" } }],
  ])("%s", async (_, answer, expected) => {
    const { token } = await decided(() => ({ kind: "issue", ...answer }));
    expect(token).toStrictEqual({ ...asAsked, ...expected });
  });

  it("no scopes of none", async () => {
    const { token } = await decided(() => ({ kind: "issue", scopes: [] }), { scopes: [] });
    expect(token.scopes).toEqual([]);
  });

  it("looks at the authorization again only after a promise: otherwise no time has passed", async () => {
    expect((await decided(() => ({ kind: "issue" }))).looks).toBe(0);
    expect((await decided(async () => ({ kind: "issue" }))).looks).toBe(1);
  });
});

function mistake(problem: string): string {
  return `tokens.decide returned an invalid answer: ${problem}.`;
}

describe("why there is no token (RFC 6749 §5.2)", () => {
  const seconds = mistake("accessTokenSeconds must be whole seconds, and not longer than the API's");
  const later = mistake("retryAfterSeconds must be whole seconds from 1 to 86,400");
  const wider = mistake("scopes may only narrow the scopes of the request");
  const noJson = mistake(
    "claims must be a plain object of JSON values, at every depth: no undefined, NaN, function, promise, Map, Set or class",
  );

  it.each<[string, object, string]>([
    ["another kind", { kind: "grant" }, mistake("kind must be issue, refuse or later")],
    ["no kind", {}, mistake("kind must be issue, refuse or later")],
    [
      "an undefined member",
      { kind: "issue", claims: undefined },
      mistake("claims is undefined. Leave the key out, or write a value"),
    ],
    ["no second", { kind: "issue", accessTokenSeconds: 0 }, seconds],
    ["a second more than the API allows", { kind: "issue", accessTokenSeconds: 601 }, seconds],
    ["a scope more", { kind: "issue", scopes: ["orders:read", "orders:write"] }, wider],
    ["scopes in a text", { kind: "issue", scopes: "orders:read" }, wider],
    ["no scope", { kind: "issue", scopes: [] }, "invalid_scope: token-decision-without-scope"],
    ["claims that are no JSON", { kind: "issue", claims: new Map() }, noJson],
    ["a refusal", { kind: "refuse" }, "invalid_grant: token-decision-refused"],
    [
      "a refusal with a quote",
      { kind: "refuse", description: 'no "gold"' },
      mistake('description must be ASCII without " and \\'),
    ],
    [
      "a refusal that revokes by a text",
      { kind: "refuse", revoke: "false" },
      mistake("revoke must be true or false"),
    ],
    [
      "later, at once",
      { kind: "later", retryAfterSeconds: 1 },
      "temporarily_unavailable: token-decision-later",
    ],
    [
      "later, in a day",
      { kind: "later", retryAfterSeconds: 86_400 },
      "temporarily_unavailable: token-decision-later",
    ],
    ["later, never", { kind: "later", retryAfterSeconds: 0 }, later],
    ["later, in more than a day", { kind: "later", retryAfterSeconds: 86_401 }, later],
  ])("is told to the host: %s", async (_, answer, expected) => {
    expect(await reasonOf(() => answer as TokenDecision)).toBe(expected);
  });

  it("is told to the client, where the host left no scope", async () => {
    await expect(decided(() => ({ kind: "issue", scopes: [] }))).rejects.toMatchObject({
      description: "The server grants none of these scopes.",
    });
  });

  it("is told to both, when the authorization ended meanwhile", async () => {
    const authorization = authorizationRecord({ revoked: true });
    await expect(decided(async () => ({ kind: "issue" }), { authorization })).rejects.toMatchObject({
      error: "invalid_grant",
      description: "The authorization has ended.",
      code: "revoked-during-decision",
    });
  });
});
