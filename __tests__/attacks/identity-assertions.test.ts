// Assertions of identity providers (ID-JAG) in the wrong hands, twice, for the wrong people, from made-up providers, and while everything ends.
import { generateKeyPairSync } from "node:crypto";
import { assertionGrant } from "../../lib/protocol/client";
import {
  type AuthServerEvent,
  type AuthServerOptions,
  type IdentityAssertions,
  memoryStorage,
} from "../../lib";
import { callApi, obtainCode } from "../browser/journey";
import { serveDocument } from "../browser/strangers";
import { apis, issuer } from "../hosts/apis";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, type TestHost } from "../hosts/host";
import { assertionOf, jwkOf, presenting } from "../requests/client-assertions";
import { postToken, redeem } from "../requests/client-requests";
import {
  invalidAssertion,
  methodsWith,
  present,
  vouchedClients,
  vouchedHost,
} from "../requests/identity-assertions";
import { answerOf, invalidClient, refusal } from "../requests/json-answers";
import { documentServer, type DocumentServer } from "../servers/document-server";
import { identityProvider, type IdentityProvider } from "../servers/identity-provider";
import { type HeldMoment, holdingStorage } from "../storage/held-call";
import { newLatch } from "../storage/latch";

const clock = stopClockForEachTest();

let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
beforeEach(() => void provider.server.asked.splice(0));
afterAll(() => provider.close());

type Refused = Extract<AuthServerEvent, { kind: "token-refused" }>;
const reasons = ({ events }: TestHost): readonly string[] =>
  events.filter((event): event is Refused => event.kind === "token-refused").map(({ code }) => code);
const listOf = async ({ auth }: TestHost) => (await auth.authorizations.list("alice")).authorizations;
const newStorage = () => memoryStorage({ clients: vouchedClients });

describe("an assertion in the wrong hands (RFC 7523 §3, 8725 §2.8)", () => {
  it("is of no use to another client, nor to one without the secret, and stays good", async () => {
    const host = vouchedHost(provider);
    const assertion = await provider.vouch();
    expect(answerOf(await present(host, { assertion, client: "other" }))).toEqual(invalidAssertion);
    const fields = { client_secret: "guess" };
    expect(answerOf(await present(host, { assertion, fields }))).toEqual(invalidClient);
    expect(reasons(host)).toEqual(["identity-client-differs", "secret-wrong"]);
    expect((await present(host, { assertion })).status).toBe(200);
  });

  it("is not taken for an ID token or a client assertion, nor one of these for it", async () => {
    const host = vouchedHost(provider);
    const ofClient = assertionOf({ claims: { iss: "web", sub: "web", client_id: "web" } });
    const idToken = await provider.vouch({ header: { typ: "JWT" }, claims: { aud: "web" } });
    for (const assertion of [ofClient, idToken])
      expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    const fields = { grant_type: "client_credentials", ...presenting(await provider.vouch()) };
    expect(answerOf(await postToken(host, { fields }))).toEqual(invalidClient);
    expect(reasons(host)).toEqual([
      "identity-assertion-unreadable",
      "identity-assertion-unreadable",
      "assertion-typ-wrong",
    ]);
  });

  it("is not good at another method that lists the same provider", async () => {
    const { password } = methodsWith(provider);
    const host = vouchedHost(provider, {
      authMethods: { password, otp: password!, sso: password! } as never,
    });
    const assertion = await provider.vouch();
    expect(answerOf(await present(host, { assertion, pair: { method: "otp" } }))).toEqual(invalidAssertion);
    expect((await present(host, { assertion })).status).toBe(200);
  });
});

/** Only people of one company are ours. */
const acceptAcme: IdentityAssertions["accept"] = ({ tenant, subject }) =>
  tenant === "acme" ? { kind: "authenticated", subject: subject.slice(2) } : { kind: "denied" };

describe("people of another company", () => {
  it.each([[{ tenant: "evil" }], [{}]])("are not ours: %j", async (claims) => {
    const host = vouchedHost(provider, { accept: acceptAcme });
    expect(answerOf(await present(host, { assertion: await provider.vouch({ claims }) }))).toEqual(
      invalidAssertion,
    );
    const ours = await provider.vouch({ claims: { tenant: "acme" } });
    expect((await present(host, { assertion: ours })).status).toBe(200);
  });
});

describe("floods of strangers", () => {
  it("have nothing fetched by made-up providers, and nobody asked", async () => {
    const accept = jest.fn();
    const host = vouchedHost(provider, { accept });
    const made = Array.from({ length: 20 }, (_, index) =>
      provider.vouch({ claims: { iss: provider.server.url(`/made-up/${index}`) } }),
    );
    for (const assertion of await Promise.all(made))
      expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    expect([provider.asked, accept.mock.calls]).toEqual([[], []]);
  });

  it("have nothing fetched without the client's secret", async () => {
    const host = vouchedHost(provider);
    await present(host, { assertion: await provider.vouch(), fields: { client_secret: "guess" } });
    expect(provider.asked).toEqual([]);
  });
});

describe("an assertion that comes twice (draft -03 §4.4.3, RFC 7523 §3)", () => {
  it.each([1, 2])("gives one authorization: at once, in %i processes", async (count) => {
    const storage = newStorage();
    const hosts = Array.from({ length: count }, () => vouchedHost(provider, { storage }));
    const assertion = await provider.vouch();
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, index) => present(hosts[index % count]!, { assertion })),
    );
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400, 400]);
    expect(await listOf(hosts[0]!)).toHaveLength(1);
  });

  it("brings nothing back that was ended, until it has expired", async () => {
    const host = vouchedHost(provider);
    const assertion = await provider.vouch();
    const { access_token: token } = (await present(host, { assertion })).body as { access_token: string };
    await host.auth.authorizations.revoke({
      subject: "alice",
      authorizationId: (await listOf(host))[0]!.authorizationId,
    });
    for (const seconds of [0, 100, 229, 1]) {
      clock.advance(seconds);
      expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
      expect((await callApi(host, "/orders", token)).status).toBe(401);
    }
    expect(reasons(host)).toEqual([
      ...Array.from({ length: 3 }, () => "identity-assertion-used-before"),
      "identity-assertion-expired",
    ]);
  });

  it("is another one where another provider has signed it with the same jti", async () => {
    const second = await identityProvider();
    const host = vouchedHost({ listed: { ...provider.listed, ...second.listed } });
    const claims = { jti: "1" };
    for (const one of [provider, second])
      expect((await present(host, { assertion: await one.vouch({ claims }) })).status).toBe(200);
    await second.close();
  });

  it("does not outlive a host that thinks for longer than it lives", async () => {
    const decide = () => {
      clock.advance(60);
      return { kind: "issue" } as const;
    };
    const host = vouchedHost(provider, { tokens: { decide } });
    const assertion = await provider.vouch({ claims: { exp: clock.now() + 30 } });
    expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    expect(reasons(host)).toEqual(["identity-assertion-expired"]);
    expect(await listOf(host)).toEqual([]);
  });
});

/** Everything that can end what an assertion is about to give. */
const ends: Readonly<Record<string, (host: TestHost) => Promise<unknown>>> = {
  "subjects.revoke": ({ auth }) => auth.subjects.revoke("alice"),
  "subjects.erase": ({ auth }) => auth.subjects.erase("alice"),
  "clients.revoke": ({ auth }) => auth.clients.revoke("web"),
  "apis.revoke": ({ auth }) => auth.apis.revoke("orders"),
  "consents.revoke": ({ auth }) =>
    auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" }),
};
const opaque = { ...apis, orders: { ...apis["orders"]!, accessTokenFormat: "opaque" } } as const;

/** No token, or one that opens nothing once the lag has passed; and nothing of it is listed. */
async function expectNothing(host: TestHost, answer: Awaited<ReturnType<typeof present>>): Promise<void> {
  const { access_token: token = "none" } = answer.body as { access_token?: string };
  clock.advance(5);
  expect((await callApi(host, "/orders", token)).status).toBe(401);
  expect(await listOf(host)).toEqual([]);
}

describe("an end while an assertion is exchanged (RFC 7009 §2.1)", () => {
  const calls = [
    "clientAssertions.use",
    "authorizations.create",
    "authorizations.noteUse",
    "accessTokens.create",
  ];
  const rows = Object.keys(ends).flatMap((end) =>
    calls.flatMap((call) => (["before", "after"] as const).map((moment) => [end, call, moment] as const)),
  );

  it.each<readonly [string, string, HeldMoment]>(rows)(
    "by %s: %s is late, %s its work",
    async (end, call, moment) => {
      const { storage, reached, release, arm } = holdingStorage(newStorage(), { call, moment });
      const host = vouchedHost(provider, { storage, apis: opaque });
      const assertion = await provider.vouch();
      arm();
      const answer = present(host, { assertion });
      await reached.opened;
      await ends[end]?.(host);
      release.open();
      await expectNothing(host, await answer);
    },
  );

  it.each(Object.keys(ends))("by %s, while tokens.decide thinks", async (end) => {
    const [reached, release] = [newLatch(), newLatch()];
    const decide: NonNullable<AuthServerOptions["tokens"]>["decide"] = async () => {
      reached.open();
      await release.opened;
      return { kind: "issue" };
    };
    const host = vouchedHost(provider, { tokens: { decide } });
    const answer = present(host, { assertion: await provider.vouch() });
    await reached.opened;
    await ends[end]?.(host);
    release.open();
    expect(answerOf(await answer)).toEqual(invalidAssertion);
    expect(reasons(host)).toEqual(["identity-ended-meanwhile"]);
    await expectNothing(host, await answer);
  });

  it("of what the person has allowed in one context, while tokens.decide thinks", async () => {
    const host: TestHost = vouchedHost(provider, {
      accept: () => ({ kind: "authenticated", subject: "alice", context: { key: "acme" } }),
      tokens: {
        async decide() {
          const scopes = { subject: "alice", clientId: "web", apiId: "orders", contextKey: "acme" };
          await host.auth.consents.revoke(scopes);
          return { kind: "issue" };
        },
      },
    });
    expect(answerOf(await present(host, { assertion: await provider.vouch() }))).toEqual(invalidAssertion);
    expect(reasons(host)).toEqual(["identity-ended-meanwhile"]);
  });

  it("of a person, before accept has looked: it is asked again, and knows", async () => {
    let isDisabled = false;
    const accept = jest.fn<ReturnType<IdentityAssertions["accept"]>, []>();
    const host = vouchedHost(provider, { accept });
    accept.mockImplementation(async () => {
      const found = isDisabled
        ? ({ kind: "denied" } as const)
        : ({ kind: "authenticated", subject: "alice" } as const);
      // the host has read its table; everything of the person ends before it answers
      if (!isDisabled) {
        isDisabled = true;
        await host.auth.subjects.revoke("alice");
      }
      return found;
    });
    expect(answerOf(await present(host, { assertion: await provider.vouch() }))).toEqual(invalidAssertion);
    expect([accept.mock.calls.length, reasons(host)]).toEqual([2, ["identity-denied"]]);
  });

  it.each<[string, object]>([
    ["another person", { subject: "bob" }],
    ["another context", { subject: "alice", context: { key: "acme" } }],
  ])("of a person, after which accept names %s", async (_, other) => {
    const accept = jest.fn<ReturnType<IdentityAssertions["accept"]>, []>();
    accept.mockReturnValueOnce({ kind: "authenticated", subject: "alice" });
    accept.mockReturnValue({ kind: "authenticated", ...other } as never);
    const host = vouchedHost(provider, { accept });
    await host.auth.subjects.revoke("alice");
    expect(answerOf(await present(host, { assertion: await provider.vouch() }))).toEqual(invalidAssertion);
    expect(reasons(host)).toEqual(["identity-ended-meanwhile"]);
  });

  it("of a person is over where accept takes them again", async () => {
    const host = vouchedHost(provider);
    await host.auth.subjects.revoke("alice");
    const { body } = await present(host, { assertion: await provider.vouch() });
    expect((await callApi(host, "/orders", (body as { access_token: string }).access_token)).status).toBe(
      200,
    );
  });

  it.each(Object.keys(ends))("by %s, afterwards, reaches its token", async (end) => {
    const host = vouchedHost(provider);
    const answer = await present(host, { assertion: await provider.vouch() });
    expect(answer.status).toBe(200);
    await ends[end]?.(host);
    await expectNothing(host, answer);
  });
});

describe("more than a hundred assertions", () => {
  it("end no sign-in that waits for its client", async () => {
    const methods = methodsWith(provider);
    const authMethods = {
      ...methods,
      password: { ...methods["password"]!, authenticate: () => alice(clock.now()) },
    };
    const host = vouchedHost(provider, { authMethods });
    const code = await obtainCode(host, { client: "web" });
    // the sign-in is the oldest
    clock.advance(1);
    for (let index = 0; index < 102; index += 1) await present(host, { assertion: await provider.vouch() });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});

describe("clients that nobody registered (client id metadata documents §4.1)", () => {
  let server: DocumentServer;
  beforeEach(async () => {
    server = await documentServer();
  });
  afterEach(() => server.close());

  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const byKey = {
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwkOf(publicKey, { kid: "one" })] },
    grant_types: ["authorization_code", assertionGrant],
  };

  interface Given {
    readonly document?: object;
    readonly decision?: object;
    readonly claims?: object;
  }

  /** What a client gets whose document no process has seen before, and whether it was fetched. */
  async function asked({ document = {}, decision = { identityAssertions: true }, claims = {} }: Given) {
    const clientId = serveDocument(server, { ...byKey, ...document });
    const clientMetadataDocuments = { accept: () => ({ kind: "accepted", ...decision }) as const };
    const host = vouchedHost(provider, {
      apis: { ...apis, orders: { ...apis["orders"]!, clientMetadataDocuments } },
    });
    const assertion = await provider.vouch({ claims: { client_id: clientId, ...claims } });
    const ownClaims = { iss: clientId, sub: clientId, aud: issuer };
    const proof = presenting(assertionOf({ key: privateKey, header: { kid: "one" }, claims: ownClaims }));
    const answer = await postToken(host, { fields: { grant_type: assertionGrant, assertion, ...proof } });
    const { error } = answer.body as { error?: string };
    return [error ?? answer.status, server.asked.length];
  }

  it("may present assertions where the host says so: the provider's word has the document fetched", async () => {
    expect(await asked({})).toEqual([200, 1]);
  });

  it.each<[string, Given, string, number]>([
    ["without the host's word", { decision: {} }, "unauthorized_client", 1],
    [
      "without naming the grant",
      { document: { grant_types: ["authorization_code"] } },
      "unauthorized_client",
      1,
    ],
    [
      "without a key",
      { document: { token_endpoint_auth_method: "none", jwks: undefined } },
      "invalid_client",
      1,
    ],
    ["for another client's assertion", { claims: { client_id: "web" } }, "invalid_client", 0],
    ["for one of a made-up provider", { claims: { iss: "https://other.example" } }, "invalid_client", 0],
    ["for an old one", { claims: { exp: 1_799_999_000 } }, "invalid_client", 0],
    ["by an answer that is no yes or no", { decision: { identityAssertions: "yes" } }, "server_error", 0],
  ])("may not %s", async (_, given, error, fetched) => {
    expect(await asked(given)).toEqual([error, fetched]);
  });

  it("have to wait where the provider's keys cannot be had", async () => {
    const gone = await identityProvider();
    await gone.close();
    const clientId = serveDocument(server, byKey);
    const clientMetadataDocuments = {
      accept: () => ({ kind: "accepted", identityAssertions: true }) as const,
    };
    const host = vouchedHost(gone, {
      apis: { ...apis, orders: { ...apis["orders"]!, clientMetadataDocuments } },
    });
    const assertion = await gone.vouch({ claims: { client_id: clientId } });
    const proof = presenting(
      assertionOf({ key: privateKey, claims: { iss: clientId, sub: clientId, aud: issuer } }),
    );
    const answer = await postToken(host, { fields: { grant_type: assertionGrant, assertion, ...proof } });
    expect(answerOf(answer)).toEqual(refusal(503, "temporarily_unavailable"));
    expect(server.asked).toEqual([]);
  });
});

it("leaves neither an assertion nor a person's address in an event or an answer", async () => {
  const host = vouchedHost(provider);
  const claims = { email: "alice@acme.example", scope: "secret-scope" };
  const assertion = await provider.vouch({ claims });
  const answer = await present(host, { assertion, fields: credentials("web") });
  const told = JSON.stringify([answer.body, host.events]);
  for (const secret of [assertion, assertion.split(".")[2] ?? "", claims.email, claims.scope, "U-alice"])
    expect(told).not.toContain(secret);
});
