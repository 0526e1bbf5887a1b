/** Good tokens, short of their text: what is looked up, stored and asked for them. RFC 6749 §4.1, §4.4; 9068 §2. */
import { type Client, generateSigningKey, type Storage } from "../../lib";
import { clientLookup } from "../../lib/clients/client-lookup";
import type { ResolvedOptions } from "../../lib/options/resolve";
import { apiEndKey, clientEndKey, endKeysOf } from "../../lib/protocol/end-mark";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { readSigningKey } from "../../lib/signing/signing-key";
import { type Mint, mintOf, prepareToken, verdictOn } from "../../lib/testing/mint";
import type { AskedToken } from "../../lib/testing/token-request";
import { issueAccessToken } from "../../lib/tokens/issue-tokens";
import type { TokenAdapter } from "../../lib/tokens/port";
import { now } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { apiRecord, confidentialRecord, issuerRecord } from "../records/records";

const web = confidentialRecord();
const issuer = issuerRecord();
const key = readSigningKey(generateSigningKey());

interface Given {
  readonly client?: Client | undefined;
  readonly options?: Partial<ResolvedOptions>;
  readonly tokens?: TokenAdapter;
  readonly at?: number;
  /** In place of the answers of storage. */
  readonly answers?: Parameters<typeof loggedStorage>[0];
}

/** A mint that knows one client, and what its storage was asked. */
function minting({ client = web, options, tokens, at = now, answers }: Given = {}) {
  const { storage, calls } = loggedStorage({
    "clients.find": async (id) => (id === client.clientId ? client : undefined),
    ...answers,
  });
  const given = { storage, redirectSchemes: [], issuers: [issuer], signingKeys: [key], temporary: [] };
  const mint = mintOf({ ...given, ...(tokens && { tokens }), ...options } as unknown as ResolvedOptions, at);
  return { mint, calls, storage };
}

/** What was asked for: alice's token without scopes unless said otherwise. */
function asking(changes: Partial<AskedToken> = {}): AskedToken {
  return {
    issuer,
    clientId: "web",
    subject: "alice",
    scopes: [],
    facts: {},
    context: undefined,
    claims: undefined,
    seconds: undefined,
    actor: undefined,
    key: undefined,
    by: "mint",
    ...changes,
  };
}

const own = { subject: undefined };
const read = { scopes: ["orders:read"] };

async function thrown(given: Given, asked: Partial<AskedToken>): Promise<unknown> {
  const { mint } = minting(given);
  return prepareToken(mint, asking(asked)).then(
    () => "nothing",
    (error: unknown) => error,
  );
}

describe("a mint", () => {
  it("makes ids and tokens of 128 and 256 random bits", () => {
    const { mint } = minting();
    expect(mint.randomId()).toMatch(/^[\w-]{22}$/);
    expect(mint.randomToken()).toMatch(/^[\w-]{43}$/);
    expect(mint.randomId()).not.toBe(mint.randomId());
    expect(mint.randomToken()).not.toBe(mint.randomToken());
    expect([mint.now, mint.clock()]).toEqual([now, now]);
  });

  it("knows an earlier key for as long as the longest token lives (RFC 7517 §5)", () => {
    const files = issuerRecord({ apiId: "files", accessTokenSeconds: 60 });
    const later = { ...readSigningKey(generateSigningKey()), signsFrom: now };
    const options = { issuers: [files, issuer, files], signingKeys: [key, later] };
    const trusts = (at: number): boolean => minting({ options, at }).mint.signer.trusts(key);
    expect([trusts(now + 599), trusts(now + 600)]).toEqual([true, false]);
  });

  it("remembers no client", async () => {
    const { mint, calls } = minting();
    const place = { issuer, mayFetch: () => false };
    await mint.clients.findRegistered("web", place);
    await mint.clients.findRegistered("web", place);
    expect(calls.filter(([name]) => name === "clients.find")).toHaveLength(2);
  });
});

describe("a client's own token (RFC 6749 §4.4)", () => {
  it("stores nothing, and has what was asked for", async () => {
    const { mint, calls } = minting();
    const issue = await prepareToken(mint, asking({ ...own, ...read }));
    expect(issue).toStrictEqual({
      request: {
        issuer,
        client: web,
        endMark: undefined,
        apiEnds: new Map([[issuer.api.audience, undefined]]),
        headers: {},
        parameters: expect.anything() as unknown,
        now,
      },
      authorization: undefined,
      decided: { scopes: ["orders:read"], accessTokenSeconds: 600, claims: undefined },
    });
    expect(calls).toEqual([
      ["clients.find", "web"],
      ["endMarks.find", [clientEndKey("web"), apiEndKey(issuer.api.audience)], now],
    ]);
  });

  it("is born under the mark of its API, and ends with it", async () => {
    const { mint, storage } = minting();
    const ofApi = apiEndKey(issuer.api.audience);
    const end = (mark: string) => storage.endMarks.save({ key: ofApi, mark, expiresAt: now + 900 }, now);
    await end("A");
    const issue = await prepareToken(mint, asking({ ...own, ...read }));
    const token = await issueAccessToken(mint, issue);
    const accessToken = { apiEndMark: "A" };
    expect(await verdictOn(mint, { token, issue })).toMatchObject({ kind: "valid", accessToken });
    await end("B");
    expect(await verdictOn(mint, { token, issue })).toMatchObject({ kind: "invalid" });
  });

  it("is accepted by the server, with nothing remembered", async () => {
    const { mint, storage } = minting();
    const issue = await prepareToken(mint, asking({ ...own, ...read }));
    const token = await issueAccessToken(mint, issue);
    const accessToken = { clientId: "web", scopes: ["orders:read"], issuedAt: now, expiresAt: now + 600 };
    expect(await verdictOn(mint, { token, issue })).toMatchObject({ kind: "valid", accessToken });
    await storage.endMarks.save({ key: clientEndKey("web"), mark: "M", expiresAt: now + 900 }, now);
    expect(await verdictOn(mint, { token, issue })).toMatchObject({ kind: "invalid" });
  });
});

describe("a token that a person has allowed (RFC 6749 §4.1)", () => {
  it("has an authorization in storage, with the implied scopes", async () => {
    const api = apiRecord({ impliedScopes: new Map([["orders:write", ["orders:read"]]]) });
    const facts = { authTime: 900, acr: "gold", amr: ["pwd"] };
    const context = { key: "acme" };
    const { mint, calls } = minting();
    const asked = asking({ issuer: { ...issuer, api }, scopes: ["orders:write"], facts, context });
    const { authorization, decided } = await prepareToken(mint, asked);
    expect(authorization).toMatchObject({
      authorizationId: expect.stringMatching(/^[\w-]{22}$/) as unknown,
      clientId: "web",
      subject: "alice",
      grantedScopes: ["orders:write", "orders:read"],
      createdAt: now,
      endMarks: [],
      context,
      ...facts,
    });
    expect(decided.scopes).toEqual(["orders:write", "orders:read"]);
    expect(calls).toContainEqual(["authorizations.create", authorization, now]);
  });

  it.each([
    ["no context", undefined, ""],
    ["a context", { key: "acme" }, "acme"],
  ])(
    "is born under the end marks of now, and no consent is looked up: %s",
    async (_, context, contextKey) => {
      const keys = endKeysOf(
        { subject: "alice", clientId: "web", apiId: "orders", contextKey },
        issuer.api.audience,
      );
      const { mint, calls, storage } = minting();
      await storage.endMarks.save({ key: keys.narrowed, mark: "M", expiresAt: 9_000 }, now);
      calls.length = 0;
      const { authorization } = await prepareToken(mint, asking({ context }));
      expect(authorization?.endMarks).toEqual(["M"]);
      expect(calls.map(([name]) => name)).not.toContain("consents.find");
      expect(calls).toContainEqual(["endMarks.find", Object.values(keys), now]);
    },
  );
});

describe("the host's decision", () => {
  const issuing: TokenAdapter = {
    decide: () => ({ kind: "issue", accessTokenSeconds: 60, claims: { from: "host" } }),
  };

  it.each<[string, Partial<AskedToken>, object]>([
    ["asked", {}, { accessTokenSeconds: 60, claims: { from: "host" } }],
    ["not asked where claims are written", { claims: { org: "a" } }, { claims: { org: "a" } }],
    ["not asked for no claims either", { claims: {} }, {}],
    [
      "within the life that is written",
      { seconds: 60 },
      { accessTokenSeconds: 60, claims: { from: "host" } },
    ],
    ["not asked about a life of a second", { claims: {}, seconds: 1 }, { accessTokenSeconds: 1 }],
    ["not asked about the longest life", { claims: {}, seconds: 600 }, {}],
  ])("is %s", async (_, asked, expected) => {
    const { mint } = minting({ tokens: issuing });
    const { decided } = await prepareToken(mint, asking({ ...read, ...asked }));
    const plain = { scopes: ["orders:read"], accessTokenSeconds: 600, claims: undefined };
    expect(decided).toStrictEqual({ ...plain, ...expected });
  });

  it.each<[string, Partial<AskedToken>]>([
    ["client_credentials", own],
    ["authorization_code", {}],
  ])("is about a %s token", async (grantType, asked) => {
    const seen: unknown[] = [];
    const tokens: TokenAdapter = {
      async decide(question) {
        seen.push(question.grantType);
        return { kind: "issue" };
      },
    };
    await prepareToken(minting({ tokens }).mint, asking(asked));
    expect(seen).toEqual([grantType]);
  });

  it.each<[string, TokenAdapter["decide"], Partial<AskedToken>, string]>([
    [
      "a refusal",
      () => ({ kind: "refuse", description: "Not today." }),
      {},
      "mint: tokens.decide of your options does not issue this token (invalid_grant: Not today.). Write claims, {} for none, to mint it without asking.",
    ],
    [
      "a refusal that ends what was allowed",
      () => ({ kind: "refuse", description: "Never again.", revoke: true }),
      {},
      "mint: tokens.decide of your options does not issue this token (invalid_grant: Never again.). Write claims, {} for none, to mint it without asking.",
    ],
    [
      "fewer scopes",
      () => ({ kind: "issue", scopes: ["orders:read"] }),
      { scopes: ["orders:read", "orders:write"] },
      "mint: tokens.decide of your options leaves only these scopes: orders:read. Ask for them, or write claims, {} for none, to mint the token without asking.",
    ],
    [
      "less time",
      () => ({ kind: "issue", accessTokenSeconds: 60 }),
      { seconds: 61 },
      "mint: tokens.decide of your options gives this token 60 seconds at most.",
    ],
  ])("throws at the test: %s", async (_, decide, asked, message) => {
    const error = await thrown({ tokens: { decide } }, asked);
    expect(error).toEqual(new TypeError(message));
    expect(error).toBeInstanceOf(TypeError);
  });

  it("throws what the host throws", async () => {
    const error = new Error("no such person");
    const decide = () => {
      throw error;
    };
    expect(await thrown({ tokens: { decide } }, {})).toBe(error);
  });
});

describe("a token that the server would not issue", () => {
  const unsubscribed = confidentialRecord({ subscriptions: { files: {}, reports: {} } });
  const onlyCode = confidentialRecord({ subscriptions: { orders: { grantTypes: ["authorization_code"] } } });
  const onlyOwn = confidentialRecord({ subscriptions: { orders: { grantTypes: ["client_credentials"] } } });
  const reader = confidentialRecord({ subscriptions: { orders: { scopes: ["orders:read"] } } });

  it.each<[string, Client, Partial<AskedToken>, string]>([
    ["of another client", web, { clientId: "webb" }, 'storage.clients has no client "webb".'],
    [
      "at an API that its client may not use",
      unsubscribed,
      {},
      'the client "web" has no subscription to the API "orders". It has: files, reports.',
    ],
    [
      "of its own, for a client that acts for people only",
      onlyCode,
      own,
      'the client "web" may not use client_credentials at the API "orders". Name a subject, or take another client.',
    ],
    [
      "of a person, for a client that acts for itself only",
      onlyOwn,
      {},
      'the client "web" may not use authorization_code at the API "orders". Leave the subject out, or take another client.',
    ],
    [
      "with more scopes than its client may have",
      reader,
      { scopes: ["orders:read", "orders:write"] },
      'the subscription of the client "web" lacks a scope of: orders:read, orders:write. It has: orders:read.',
    ],
    [
      "of a person whose id is that of a client",
      web,
      { subject: "web" },
      "subject is the id of a client. End users have other ids; leave subject out for a client's own token.",
    ],
  ])("is refused: %s", async (_, client, asked, message) => {
    const error = await thrown({ client }, asked);
    expect(error).toEqual(new TypeError(`mint: ${message}`));
    expect(error).toBeInstanceOf(TypeError);
  });

  it("of a client that is not in the list says who is", async () => {
    const { storage } = minting();
    const records = [web, confidentialRecord({ clientId: "other" })];
    const listed = { ...storage, clients: { ...storage.clients, records } } as Storage;
    expect(await thrown({ options: { storage: listed } }, { clientId: "webb" })).toEqual(
      new TypeError('mint: storage.clients has no client "webb". Write one of: web, other.'),
    );
  });

  it("is looked up at its issuer, and no document of a client is fetched", async () => {
    const { mint, storage } = minting();
    const lookup = clientLookup(storage, { lagSeconds: 0, clock: () => now, redirectSchemes: [], apis: [] });
    const places: unknown[] = [];
    const clients: Mint["clients"] = {
      ...lookup,
      async findRegistered(id, place) {
        places.push([id, place.issuer, place.mayFetch()]);
        return lookup.findRegistered(id, place);
      },
    };
    await prepareToken({ ...mint, clients }, asking());
    expect(places).toEqual([["web", issuer, false]]);
  });

  it("is one with a temporary key, but not one without a key", async () => {
    const options = { temporary: ["signingKeys"] } as const;
    expect(await thrown({ options }, {})).toEqual(
      new TypeError(
        'mint: the API "orders" has signed access tokens (JWT), and the options have no signingKeys: each server then makes a temporary key that nobody else knows. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.',
      ),
    );
    expect(await thrown({ options: { temporary: ["secrets"] } }, {})).toBe("nothing");
    expect(await thrown({ options }, { issuer: issuerRecord({ accessTokenFormat: "opaque" }) })).toBe(
      "nothing",
    );
  });

  it("is one that storage fails at, as storage says it", async () => {
    const error = new OAuthError("server_error", { description: "No database.", code: "server-failed" });
    const answers = { "authorizations.create": () => Promise.reject(error) };
    expect(await thrown({ answers }, {})).toBe(error);
  });
});
