/** Each kind of token has exactly its one fault, by the server's own check. RFC 6750 §3.1. */
import { type AuthServerOptions, type ClientRegistry, memoryStorage, type Storage } from "../../lib";
import { withDisabled } from "../../lib/clients/manage-clients";
import { resolveOptions } from "../../lib/options/resolve";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { type RefusedKind, refusedKinds } from "../../lib/testing/token-request";
import { mintOf } from "../../lib/testing/mint";
import { testTokens } from "../../lib/testing/test-tokens";
import { accessTokenVerifier, type AccessTokenVerdict } from "../../lib/tokens/verify-access-token";
import { stopClockForEachTest } from "../hosts/clock";
import { goodApi, thrownBy, withChanges } from "../records/options";
import { confidentialRecord } from "../records/records";
import { kidOf } from "../records/signing-keys";

const clock = stopClockForEachTest();
const apis = {
  orders: goodApi,
  reports: { ...goodApi, audience: "https://api.example/reports", accessTokenFormat: "opaque" },
} as const;
const alice = { api: "orders", client: "web", subject: "alice", scope: "orders:read" };
const formats = ["orders", "reports"] as const;

/** The tokens of a server, its storage, and its verdict on a token. */
function bedOf(change?: (storage: Storage) => Partial<Storage>) {
  const clients = [confidentialRecord({ subscriptions: { orders: {}, reports: {} } })];
  const memory = memoryStorage({ clients });
  const storage: Storage = { ...memory, ...change?.(memory) };
  const options: AuthServerOptions = withChanges({ apis, storage });
  const verdict = async (token: string, api: string, at = clock.now()): Promise<AccessTokenVerdict> => {
    const resolved = resolveOptions(options, at);
    const found = resolved.issuers.find((issuer) => issuer.api.apiId === api);
    if (!found) throw new Error("no such API");
    return accessTokenVerifier(mintOf(resolved, at), { api: found.api, revocationLagSeconds: 0 })(token);
  };
  return { tokens: testTokens(options), storage, verdict };
}

const unknown = "token-unknown";
const codes: Readonly<Record<RefusedKind, string>> = {
  expired: "token-expired",
  revoked: "token-revoked",
  withdrawn: "token-authorization-ended",
  disabled: "token-client-deleted",
  foreign: unknown,
};

describe.each(formats)("tokens of the API %s", (api) => {
  it("are good", async () => {
    const { tokens, verdict } = bedOf();
    const token = await tokens.issue({ ...alice, api });
    expect(token.split(".")).toHaveLength(api === "orders" ? 3 : 1);
    expect(await verdict(token, api)).toMatchObject({ kind: "valid", accessToken: { subject: "alice" } });
  });

  it.each(refusedKinds)("are refused for one reason: %s", async (kind) => {
    const { tokens, verdict } = bedOf();
    // what has expired is not found in memory any more
    const code = kind === "expired" && api === "reports" ? unknown : codes[kind];
    expect(await verdict(await tokens[kind]({ ...alice, api }), api)).toMatchObject({
      kind: "invalid",
      code,
    });
  });

  it.each(["expired", "revoked", "disabled", "foreign"] as const)(
    "of a client itself are refused: %s",
    async (kind) => {
      const { tokens, verdict } = bedOf();
      const token = await tokens[kind]({ api, client: "web" });
      expect(await verdict(token, api)).toMatchObject({ kind: "invalid" });
    },
  );
});

describe("an expired token", () => {
  it("has expired two minutes ago, after its whole life", async () => {
    const { tokens, verdict } = bedOf();
    const token = await tokens.expired({ ...alice, seconds: 60 });
    const then = clock.now() - 180;
    expect(await verdict(token, "orders", then + 59)).toMatchObject({
      kind: "valid",
      accessToken: { issuedAt: then, expiresAt: then + 60, subject: "alice", scopes: ["orders:read"] },
    });
  });
});

describe("a token of a disabled client", () => {
  const own = { api: "orders", client: "web" };
  const asked = formats.flatMap((api) => [
    { ...alice, api },
    { ...own, api },
  ]);

  it.each(asked)("is good as soon as the client is enabled: %j", async (request) => {
    const { tokens, storage, verdict } = bedOf();
    const clients = storage.clients as ClientRegistry;
    // an earlier end of the client of the request does not matter
    const mark = { key: clientEndKey("web"), mark: "ended", expiresAt: clock.now() + 900 };
    await storage.endMarks.save(mark, clock.now());
    const token = await tokens.disabled(request);
    expect(await verdict(token, request.api)).toMatchObject({ kind: "invalid" });
    for (const client of await clients.list({ limit: 9 })) await clients.save(withDisabled(client, false));
    const { subject, scope } = { subject: undefined, scope: undefined, ...request };
    const { kind, accessToken } = { accessToken: undefined, ...(await verdict(token, request.api)) };
    expect([kind, accessToken?.subject, accessToken?.scopes]).toEqual([
      "valid",
      subject,
      scope ? [scope] : [],
    ]);
  });

  it("leaves the other tokens of its client alone", async () => {
    const { tokens, verdict } = bedOf();
    const [before, ownBefore] = [await tokens.issue(alice), await tokens.issue(own)];
    await tokens.disabled(alice);
    await tokens.disabled(own);
    for (const token of [before, ownBefore, await tokens.issue(alice), await tokens.issue(own)])
      expect(await verdict(token, "orders")).toMatchObject({
        kind: "valid",
        accessToken: { clientId: "web" },
      });
  });

  it("needs a table that can be written", async () => {
    const { tokens } = bedOf(({ clients }) => ({
      clients: {
        find: (id) => clients.find(id),
        isBrowserOrigin: (from) => clients.isBrowserOrigin(from),
      },
    }));
    await expect(tokens.disabled(alice)).rejects.toMatchObject({ code: "client-table-read-only" });
    expect(await tokens.issue(alice)).toBeTruthy();
  });
});

describe("a foreign token", () => {
  it("is signed with a key of its own (RFC 7517 §5)", async () => {
    const { tokens } = bedOf();
    const kids = [await tokens.issue(alice), await tokens.foreign(alice), await tokens.foreign(alice)].map(
      kidOf,
    );
    expect(new Set(kids).size).toBe(3);
  });

  it("is not in storage, where tokens are opaque", async () => {
    const create = jest.fn<Promise<void>, Parameters<Storage["accessTokens"]["create"]>>();
    const { tokens } = bedOf(({ accessTokens }) => {
      create.mockImplementation((...args) => accessTokens.create(...args));
      return { accessTokens: { ...accessTokens, create } };
    });
    expect(await tokens.foreign({ ...alice, api: "reports" })).toMatch(/^[\w-]{43}$/);
    expect(create).toHaveBeenCalledTimes(1);
  });
});

const nothing = (): Promise<void> => Promise.resolve();

describe("a token that is not what it should be is not given out", () => {
  it("a good one that the server would refuse", async () => {
    const { tokens } = bedOf(({ authorizations }) => ({
      authorizations: { ...authorizations, create: nothing },
    }));
    for (const kind of ["issue", "expired"] as const)
      await expect(tokens[kind](alice)).rejects.toMatchObject({ code: "good-token-refused" });
  });

  it("a refused one that the server would accept", async () => {
    const { tokens } = bedOf(({ accessTokens, authorizations }) => ({
      accessTokens: { ...accessTokens, revoke: nothing },
      authorizations: { ...authorizations, revoke: nothing },
    }));
    for (const kind of ["revoked", "withdrawn"] as const)
      await expect(tokens[kind](alice)).rejects.toMatchObject({ code: "spoiled-token-accepted" });
  });

  it("a withdrawn one of nobody", async () => {
    const { tokens } = bedOf();
    await expect(tokens.withdrawn({ api: "orders", client: "web" })).rejects.toMatchObject({
      code: "withdrawn-without-subject",
    });
  });
});

describe("testTokens", () => {
  it("throws what is wrong with the options, and keeps where that comes from", async () => {
    const { message, cause } = await thrownBy(() => testTokens(withChanges({ apis: {} })));
    expect(cause).toBeInstanceOf(TypeError);
    expect((cause as Error).message).toContain("createAuthServer: apis must not be empty.");
    expect(message).toBe(`testTokens takes the options of createAuthServer. ${(cause as Error).message}`);
  });

  it("throws in production, at once and at each token", async () => {
    const { tokens } = bedOf();
    jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
    const refused = { code: "testing-in-production" };
    expect(() => bedOf()).toThrow(expect.objectContaining(refused));
    for (const kind of ["issue", ...refusedKinds] as const)
      await expect(tokens[kind](alice)).rejects.toMatchObject(refused);
  });

  it("checks a route by its tokens, and by the scopes that imply others", async () => {
    const { tokens, verdict } = bedOf();
    const seen: unknown[] = [];
    await tokens.checkRoute(alice, async ({ authorization = "" }) => {
      const token = authorization.slice("Bearer ".length);
      const found = token === "" ? undefined : await verdict(token, "orders");
      seen.push(found?.kind === "invalid" ? found.code : found?.accessToken.scopes);
      if (found?.kind === "valid" && found.accessToken.scopes.length > 0) return { status: 200, headers: {} };
      const error = found?.kind === "valid" ? "insufficient_scope" : "invalid_token";
      const headers = { "www-authenticate": `Bearer error="${error}"` };
      return { status: found?.kind === "valid" ? 403 : 401, headers };
    });
    expect(seen).toEqual([["orders:read"], undefined, ...refusedKinds.map((kind) => codes[kind]), []]);
  });
});
