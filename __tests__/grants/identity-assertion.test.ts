// The JWT bearer grant for identity assertions (draft-ietf-oauth-identity-assertion-authz-grant-03, RFC 7523 §3): its rules, and what it leaves behind.
import request from "supertest";
import {
  type AuthServerEvent,
  type AuthServerOptions,
  type IdentityAnswer,
  type IdentityAssertion,
  memoryStorage,
} from "../../lib";
import { assertionGrant } from "../../lib/protocol/client";
import { testKey } from "../../lib/testing";
import { encode, type Fields } from "../browser/browser";
import { apis, issuer, type Pair, pairPath } from "../hosts/apis";
import { type ClientName, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import type { TestHost } from "../hosts/host";
import { part } from "../requests/client-assertions";
import { claimsOf } from "../requests/bound-requests";
import { invalidAssertion, present, vouchedClients, vouchedHost } from "../requests/identity-assertions";
import { answerOf, refusal, serverError } from "../requests/json-answers";
import { type IdentityChanges, identityProvider, type IdentityProvider } from "../servers/identity-provider";
import { watchWrites } from "../storage/slow-storage";
import { shortenTimeLimit } from "../storage/time-limit";

stopClockForEachTest();

let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
afterAll(() => provider.close());

type Refused = Extract<AuthServerEvent, { kind: "token-refused" }>;

/** Why the last token request was refused. */
function lastReason({ events }: TestHost): string | undefined {
  return events.findLast((event): event is Refused => event.kind === "token-refused")?.code;
}

async function presentGood(
  host: TestHost,
  { fields, ...changes }: IdentityChanges & { fields?: Fields } = {},
) {
  return present(host, { assertion: await provider.vouch(changes), ...(fields && { fields }) });
}

const listOf = async ({ auth }: TestHost, subject = "alice") =>
  (await auth.authorizations.list(subject)).authorizations;

const audience = "https://api.example/orders";
/** A claim that tells when, from now. */
const at = (seconds: number): number => 1_800_000_000 + seconds;

type Row = readonly [name: string, changes: IdentityChanges, code: string];

function claimRows(code: string, rows: Readonly<Record<string, object>>): readonly Row[] {
  return Object.entries(rows).map(([name, claims]) => [name, { claims }, code]);
}

describe("identity assertions that are refused (draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4.1)", () => {
  const rows: readonly Row[] = [
    ...Object.entries({
      "no typ": undefined,
      "the typ of ID tokens": "JWT",
      "the typ of access tokens": "at+jwt",
      "the typ of client assertions": "client-authentication+jwt",
      "the typ with application/": "application/oauth-id-jag+jwt",
      "the typ in upper case": "OAUTH-ID-JAG+JWT",
    }).map(([name, typ]): Row => [name, { header: { typ } }, "identity-assertion-unreadable"]),
    ["an HMAC", { header: { alg: "HS256" }, key: new Uint8Array(32) }, "identity-assertion-unreadable"],
    ["more than 8192 characters", { claims: { more: "x".repeat(9_000) } }, "identity-assertion-unreadable"],
    ["a kid that is no text", { header: { kid: 5 } }, "identity-assertion-unreadable"],
    // protocol/identity-assertion.test.ts has the others
    ...claimRows("identity-claim-malformed", {
      "no jti": { jti: undefined },
      "several client_id": { client_id: ["web"] },
    }),
    ...claimRows("identity-issuer-unknown", {
      "another provider": { iss: "https://other.example" },
      "the provider with a slash": { iss: "http://127.0.0.1/" },
      "a name of every object": { iss: "constructor" },
      "this server itself": { iss: issuer },
    }),
    ...claimRows("identity-audience-wrong", {
      "the issuer with a slash": { aud: `${issuer}/` },
      "the token endpoint": { aud: `${issuer}/token` },
      "the API": { aud: audience },
      "another pair of this server": { aud: "https://host.example/login/auth/otp/api/orders" },
    }),
    ...claimRows("identity-client-differs", {
      "another client": { client_id: "other" },
      "the client in upper case": { client_id: "WEB" },
    }),
    ...claimRows("identity-assertion-expired", {
      "an end 30 seconds ago": { exp: at(-30) },
      "an end long ago": { exp: at(-86_400) },
    }),
    ...claimRows("identity-assertion-lives-too-long", {
      "an end in more than an hour": { exp: at(3_631) },
      "an end in milliseconds": { exp: at(0) * 1_000 },
    }),
    ...claimRows("identity-assertion-from-the-future", {
      "iat in the future": { iat: at(31) },
      "iat in the future, and an earlier nbf": { iat: at(31), nbf: at(0) },
      "nbf in the future": { nbf: at(31) },
    }),
    ...claimRows("identity-resource-differs", {
      "another API": { resource: "https://api.example/files" },
      "the API with a slash": { resource: `${audience}/` },
      "no resource in the list": { resource: [] },
      "other APIs": { resource: ["https://api.example/files", "https://api.example/reports"] },
    }),
    ...claimRows("identity-assertion-of-actor", {
      "an actor": { act: { sub: "agent" } },
      "an actor that is null": { act: null },
      "authorization details": { authorization_details: [] },
    }),
    ["the kid of no key", { header: { kid: "old" } }, "identity-assertion-kid-unknown"],
    ["the kid of another algorithm", { header: { kid: "rsa" } }, "identity-assertion-fits-no-key"],
    ["a key that nobody has proved", { claims: { cnf: { jkt: "x" } } }, "identity-key-not-proven"],
  ];

  it.each(rows)("has %s", async (_, changes, code) => {
    const accept = jest.fn();
    const { storage, writes } = watchWrites(memoryStorage({ clients: vouchedClients }));
    const host = vouchedHost(provider, { accept, storage });
    expect(answerOf(await presentGood(host, changes))).toEqual(invalidAssertion);
    expect(lastReason(host)).toBe(code);
    expect(accept).not.toHaveBeenCalled();
    expect(writes).toEqual([]);
  });

  it("is signed by another key of the same kid", async () => {
    const other = await identityProvider();
    const host = vouchedHost(provider);
    const assertion = await other.vouch({ claims: { iss: provider.issuer } });
    await other.close();
    expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    expect(lastReason(host)).toBe("identity-assertion-signature-wrong");
  });

  it.each([
    ["text", "nonsense"],
    ["two parts", `${part({ alg: "ES256", typ: "oauth-id-jag+jwt" })}.${part({})}`],
    ["no signature", `${part({ alg: "none", typ: "oauth-id-jag+jwt" })}.${part({})}.`],
    ["crit", `${part({ alg: "ES256", typ: "oauth-id-jag+jwt", crit: ["b64"] })}.${part({})}.AAAA`],
    ["a list of claims", `${part({ alg: "ES256", typ: "oauth-id-jag+jwt" })}.${part([])}.AAAA`],
  ])("is no signed JWT: %s", async (_, assertion) => {
    const host = vouchedHost(provider);
    expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    expect(lastReason(host)).toBe("identity-assertion-unreadable");
  });

  it("is missing", async () => {
    const answer = await present(vouchedHost(provider), { assertion: "" });
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_request", "assertion is missing."));
  });

  it("is in the URL", async () => {
    const host = vouchedHost(provider);
    const assertion = await provider.vouch();
    const body = encode({ grant_type: assertionGrant, ...credentials("web") });
    const answer = await request(host.app)
      .post(`${pairPath()}/token?assertion=${assertion}`)
      .type("form")
      .send(body);
    expect(answer.body).toMatchObject({ error: "invalid_request" });
    expect(lastReason(host)).toBe("parameters-in-url");
  });
});

describe("identity assertions that are good", () => {
  it.each<[string, IdentityChanges]>([
    ["ES256", {}],
    ["RS256", { header: { alg: "RS256" } }],
    ["PS256", { header: { alg: "PS256" } }],
    ["EdDSA", { header: { alg: "EdDSA" } }],
    ["aud in a list of one", { claims: { aud: [issuer] } }],
    ["no kid", { header: { kid: undefined } }],
    ["an end 29 seconds ago", { claims: { exp: at(-29) } }],
    ["an end in an hour, by a clock that is ahead", { claims: { exp: at(3_630), iat: at(30), nbf: at(30) } }],
    ["an old iat", { claims: { iat: at(-86_400) } }],
  ])("have %s", async (_, changes) => {
    const host = vouchedHost(provider);
    const { status, body } = await presentGood(host, changes);
    expect({ status, body }).toEqual({
      status: 200,
      body: { access_token: expect.any(String), token_type: "bearer", expires_in: 600, scope: "orders:read" },
    });
  });

  it.each([audience, [audience], ["https://other.example/", audience]])(
    "name the API, and the answer too: %s",
    async (resource) => {
      const { body } = await presentGood(vouchedHost(provider), { claims: { resource } });
      expect(body).toMatchObject({ resource: audience });
    },
  );

  it("tell the host everything, frozen", async () => {
    const accept = jest.fn<IdentityAnswer, [IdentityAssertion]>(() => ({
      kind: "authenticated",
      subject: "alice",
    }));
    const host = vouchedHost(provider, { accept });
    const facts = { acr: "mfa", amr: ["pwd", "otp"] };
    const claims = {
      tenant: "acme",
      email: "alice@acme.example",
      aud_sub: "alice",
      aud_tenant: "t1",
      scope: "orders:read more",
      auth_time: at(-60),
      ...facts,
    };
    await presentGood(host, { claims });
    const [[told] = [], ...more] = accept.mock.calls;
    expect(more).toEqual([]);
    expect(told).toEqual({
      issuer: provider.issuer,
      subject: "U-alice",
      tenant: "acme",
      email: "alice@acme.example",
      localSubject: { subject: "alice", tenant: "t1" },
      scopes: ["orders:read", "more"],
      authTime: at(-60),
      ...facts,
    });
    expect([told, told?.localSubject, told?.scopes, told?.amr].every(Object.isFrozen)).toBe(true);
    await presentGood(host, { claims: { aud_sub: "alice" } });
    expect(accept.mock.lastCall?.[0]).toEqual({
      issuer: provider.issuer,
      subject: "U-alice",
      localSubject: { subject: "alice" },
    });
  });

  it("give a token, and an authorization that lives as long and is listed as used; no refresh token", async () => {
    const facts = { authTime: at(-60), acr: "mfa", amr: ["otp"] };
    const context = { key: "acme" };
    const host = vouchedHost(provider, {
      accept: () => ({ kind: "authenticated", subject: "alice", ...facts, context, signedInFrom: "Acme" }),
    });
    const { body } = await presentGood(host);
    const { access_token: token } = body as { access_token: string };
    const { authorization_id: authorizationId, ...claims } = claimsOf(token);
    expect(claims).toMatchObject({
      sub: "alice",
      client_id: "web",
      auth_time: at(-60),
      acr: "mfa",
      amr: ["otp"],
    });
    expect(await listOf(host)).toEqual([
      {
        authorizationId,
        clientId: "web",
        apiId: "orders",
        authMethodId: "password",
        scopes: ["orders:read"],
        contextKey: "acme",
        signedInFrom: "Acme",
        createdAt: at(0),
        lastUsedAt: at(0),
        expiresAt: at(600),
      },
    ]);
    expect(host.events).toEqual([
      {
        at: at(0),
        kind: "token-issued",
        grantType: assertionGrant,
        issuer,
        clientId: "web",
        subject: "alice",
        authorizationId,
        scopes: ["orders:read"],
      },
    ]);
  });
});

describe("the scopes of an identity assertion (RFC 6749 §3.3)", () => {
  const implying = {
    ...apis,
    orders: {
      ...apis["orders"]!,
      scopes: {
        "orders:read": "See your orders",
        "orders:write": { text: "Change your orders", implies: ["orders:read"] },
        "orders:admin": "Everything",
      },
    },
  };
  const scoped = vouchedClients.map((client) => ({
    ...client,
    subscriptions: {
      orders: { grantTypes: [assertionGrant] as const, scopes: ["orders:read", "orders:write"] },
    },
  }));
  const none = "invalid_scope";

  it.each<[ofProvider: string | undefined, ofClient: string | undefined, granted: string]>([
    [undefined, undefined, "orders:read"],
    [undefined, "orders:read", "orders:read"],
    // the API's defaults are all that the provider's silence allows
    [undefined, "orders:write", none],
    ["orders:read", undefined, "orders:read"],
    ["orders:write", undefined, "orders:write orders:read"],
    ["orders:read orders:write", "orders:read", "orders:read"],
    ["orders:read", "orders:write", none],
    ["orders:read", "orders:read orders:write", "orders:read"],
    ["orders:admin", undefined, none],
    ["orders:admin orders:read else", undefined, "orders:read"],
    ["orders:admin", "orders:admin", none],
    ["else", undefined, none],
    ["orders:read", "orders:read  orders:write", none],
  ])("of the provider %s, of the client %s: %s", async (ofProvider, ofClient, granted) => {
    const host = vouchedHost(provider, { apis: implying, clients: scoped });
    const claims = { scope: ofProvider };
    const fields = ofClient === undefined ? {} : { scope: ofClient };
    const { body } = await presentGood(host, { claims, fields });
    const { scope, error } = body as { scope?: string; error?: string };
    expect(scope ?? error).toBe(granted);
    if (granted === none) expect(await listOf(host)).toEqual([]);
  });

  it("are refused in words for the client, and by an id for the host", async () => {
    const host = vouchedHost(provider, { apis: implying, clients: scoped });
    const claims = { scope: "orders:read" };
    const answer = await presentGood(host, { claims, fields: { scope: "orders:write" } });
    const words = "The assertion allows the client none of these scopes.";
    expect(answerOf(answer)).toEqual(refusal(400, none, words));
    expect(lastReason(host)).toBe("identity-scopes-without-common");
  });

  it("are ignored without a word where the provider alone has named them", async () => {
    const host = vouchedHost(provider);
    await presentGood(host, { claims: { scope: "orders:read else" } });
    expect(host.events.map(({ kind }) => kind)).toEqual(["token-issued"]);
  });

  it("may be none, where nobody names one and the API has no defaults", async () => {
    const host = vouchedHost(provider);
    const pair: Pair = { api: "files" };
    const aud = `https://host.example${pairPath(pair)}`;
    const { status, body } = await present(host, {
      pair,
      assertion: await provider.vouch({ claims: { aud } }),
    });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty("scope");
  });

  it("are required where the API requires them", async () => {
    const host = vouchedHost(provider);
    const pair: Pair = { api: "reports" };
    const aud = `https://host.example${pairPath(pair)}`;
    const first = await present(host, { pair, assertion: await provider.vouch({ claims: { aud } }) });
    expect(first.body).toMatchObject({ error: "invalid_scope" });
    const claims = { aud, scope: "reports:read" };
    expect((await present(host, { pair, assertion: await provider.vouch({ claims }) })).status).toBe(200);
  });
});

describe("what accept answers", () => {
  it.each<[string, object | undefined, object]>([
    ["denied", { kind: "denied" }, invalidAssertion],
    [
      "denied with words for the client",
      { kind: "denied", description: "Ask IT." },
      refusal(400, "invalid_grant", "Ask IT."),
    ],
    ["a page", { kind: "interaction", url: "/signin" }, serverError],
    ["nothing", undefined, serverError],
    ["no subject", { kind: "authenticated" }, serverError],
    ["a client id as subject", { kind: "authenticated", subject: "machine" }, serverError],
    ["words that no answer can have", { kind: "denied", description: "Frag die „IT“." }, serverError],
    ["a sign-in to come", { kind: "authenticated", subject: "alice", authTime: at(3_600) }, serverError],
    ["a context without key", { kind: "authenticated", subject: "alice", context: {} }, serverError],
  ])("gives no token and spends nothing: %s", async (_, answer, expected) => {
    let now: unknown = answer;
    const { storage, writes } = watchWrites(memoryStorage({ clients: vouchedClients }));
    const host = vouchedHost(provider, { storage, accept: () => now as never });
    const assertion = await provider.vouch();
    expect(answerOf(await present(host, { assertion }))).toEqual(expected);
    expect(writes).toEqual([]);
    now = { kind: "authenticated", subject: "alice" };
    expect((await present(host, { assertion })).status).toBe(200);
  });

  it("is named in the event where it is wrong", async () => {
    const host = vouchedHost(provider, { accept: () => undefined as never });
    await presentGood(host);
    const message = expect.stringContaining("identityAssertions.accept") as string;
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause: { message } });
  });

  it("is a failure where it throws", async () => {
    const host = vouchedHost(provider, { accept: () => Promise.reject(new Error("the directory is down")) });
    expect(answerOf(await presentGood(host))).toEqual(serverError);
    expect(await listOf(host)).toEqual([]);
  });

  it("is a failure where it never answers", async () => {
    let answer: unknown = { kind: "denied" };
    const host = vouchedHost(provider, { accept: () => answer as never });
    await presentGood(host);
    answer = new Promise(() => undefined);
    shortenTimeLimit();
    expect(answerOf(await presentGood(host))).toEqual(refusal(503, "temporarily_unavailable"));
  });
});

describe("tokens.decide about an identity assertion", () => {
  type Decide = NonNullable<AuthServerOptions["tokens"]>["decide"];

  it("is asked with the grant and the authorization, and may take its time", async () => {
    const decide = jest.fn<ReturnType<Decide>, Parameters<Decide>>(async () => ({
      kind: "issue",
      claims: { plan: "pro" },
    }));
    const host = vouchedHost(provider, { tokens: { decide } });
    const { body } = await presentGood(host);
    expect(claimsOf((body as { access_token: string }).access_token)).toMatchObject({ plan: "pro" });
    const [{ signal: _, ...asked } = {}] = decide.mock.calls[0] ?? [];
    const [{ authorizationId } = {}] = await listOf(host);
    expect(asked).toMatchObject({
      grantType: assertionGrant,
      subject: "alice",
      scopes: ["orders:read"],
      authorization: { authorizationId, createdAt: at(0), grantedScopes: ["orders:read"] },
    });
  });

  it.each<[string, Awaited<ReturnType<Decide>>, object]>([
    ["refuse", { kind: "refuse" }, refusal(400, "invalid_grant")],
    ["refuse and revoke", { kind: "refuse", revoke: true }, refusal(400, "invalid_grant")],
    ["later", { kind: "later", retryAfterSeconds: 5 }, refusal(503, "temporarily_unavailable")],
    ["no scope", { kind: "issue", scopes: [] }, refusal(400, "invalid_scope")],
  ])("spends nothing where it answers %s", async (_, decision, expected) => {
    let isOpen = false;
    const { storage, writes } = watchWrites(memoryStorage({ clients: vouchedClients }));
    const decide: Decide = async () => (isOpen ? { kind: "issue" } : decision);
    const host = vouchedHost(provider, { storage, tokens: { decide } });
    const assertion = await provider.vouch();
    expect(answerOf(await present(host, { assertion }))).toEqual(expected);
    expect(writes).toEqual([]);
    expect(host.events.map(({ kind }) => kind)).toEqual(["token-refused"]);
    isOpen = true;
    expect((await present(host, { assertion })).status).toBe(200);
  });
});

describe("who may present an identity assertion", () => {
  it.each<[string, { client?: ClientName; pair?: Pair }, string, string]>([
    [
      "a client without the grant in its subscription",
      { client: "machine" },
      "unauthorized_client",
      "grant-not-allowed",
    ],
    ["a public client", { client: "native" }, "unauthorized_client", "grant-not-allowed"],
    [
      "anybody where the method has no providers",
      { pair: { method: "otp" } },
      "unsupported_grant_type",
      "grant-type-unknown",
    ],
  ])("is not %s", async (_, { client = "web", pair }, error, code) => {
    const clients = vouchedClients.filter(({ clientId }) => clientId !== "machine");
    const machine = vouchedClients.find(({ clientId }) => clientId === "machine");
    const host = vouchedHost(provider, {
      clients: [...clients, { ...machine!, subscriptions: { orders: {} } }],
    });
    const aud = `https://host.example${pairPath(pair)}`;
    const assertion = await provider.vouch({ claims: { client_id: client, aud } });
    const answer = await present(host, { assertion, client, ...(pair && { pair }) });
    expect(answerOf(answer)).toEqual(refusal(400, error));
    expect(lastReason(host)).toBe(code);
  });

  it("is told by the metadata, where a method has providers only (draft -03 §7.2)", async () => {
    const host = vouchedHost(provider);
    const documents = await Promise.all(
      [{}, { method: "otp" } as const].map(async (pair) => {
        const path = `${pairPath(pair)}/.well-known/oauth-authorization-server`;
        return (await request(host.app).get(path)).body as Record<string, unknown>;
      }),
    );
    const known = ["authorization_code", "refresh_token", "client_credentials"];
    expect(documents.map(({ grant_types_supported: grants }) => grants)).toEqual([
      [...known, assertionGrant],
      known,
    ]);
    expect(documents.map((document) => document["authorization_grant_profiles_supported"])).toEqual([
      ["urn:ietf:params:oauth:grant-profile:id-jag"],
      undefined,
    ]);
    // no list of providers: who they are is nobody's business
    expect(JSON.stringify(documents)).not.toContain(provider.issuer);
  });
});

describe("an identity assertion and the client's key (draft -03 §8.6, RFC 9449 §5)", () => {
  const key = testKey();
  const url = `${issuer}/token`;

  async function presentProved(
    tokens: "optional" | "required" | undefined,
    { jkt, proves }: { jkt?: string; proves: boolean },
  ) {
    const host = vouchedHost(provider, {
      apis: { ...apis, orders: { ...apis["orders"]!, ...(tokens && { dpop: { tokens } }) } },
    });
    const claims = jkt === undefined ? {} : { cnf: { jkt } };
    const body = {
      grant_type: assertionGrant,
      assertion: await provider.vouch({ claims }),
      ...credentials("web"),
    };
    const headers = proves ? key.headers({ method: "POST", url }) : {};
    const post = request(host.app).post(`${pairPath()}/token`).type("form").set(headers);
    return { host, answer: await post.send(encode(body)) };
  }

  it.each<["optional" | "required" | undefined, string | undefined, boolean, string]>([
    ["optional", undefined, false, "bearer"],
    ["optional", undefined, true, "DPoP"],
    ["optional", key.thumbprint, true, "DPoP"],
    ["optional", key.thumbprint, false, "identity-key-not-proven"],
    ["optional", "another", true, "identity-key-not-proven"],
    ["required", undefined, true, "DPoP"],
    ["required", undefined, false, "dpop-proof-missing"],
    [undefined, undefined, true, "bearer"],
    // nobody has looked at the proof
    [undefined, key.thumbprint, true, "identity-key-not-proven"],
  ])("dpop %s, cnf %s, proof %s: %s", async (tokens, jkt, proves, expected) => {
    const { host, answer } = await presentProved(tokens, { proves, ...(jkt !== undefined && { jkt }) });
    const { token_type: type, error } = answer.body as { token_type?: string; error?: string };
    expect(type ?? lastReason(host)).toBe(expected);
    if (type === undefined) expect(error).toBe("invalid_grant");
  });
});
