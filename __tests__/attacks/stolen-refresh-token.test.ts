// The attacker holds a refresh token of somebody else: from a backup, a device, a log. Against a public client that is all it
// takes. They did not get the secret of a confidential client, nor a way to stay unnoticed once the client refreshes too.
import request, { type Response } from "supertest";
import { type Pair, pairPath } from "../hosts/apis";
import { encode, type Fields } from "../browser/browser";
import { postToken, refresh } from "../requests/client-requests";
import { type ClientName, credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainTokens, type Tokens } from "../browser/journey";

afterEach(() => jest.restoreAllMocks());

const refused = {
  error: "invalid_grant",
  error_description: "The code or refresh token is unknown, expired, used or not for this client.",
};
const unauthenticated = { error: "invalid_client", error_description: "Client authentication failed." };

const idleSeconds = 14 * 86_400;
const absoluteSeconds = 90 * 86_400;

const answer = ({ status, body }: Response): object => ({ status, body: body as object });

async function next(host: TestHost, step: { client: ClientName; tokens: Tokens }): Promise<Tokens> {
  const { client, tokens } = step;
  const response = await refresh(host, { client, refreshToken: tokens.refresh_token ?? "" });
  expect(response.status).toBe(200);
  return response.body as Tokens;
}

async function expectDead(host: TestHost, { client, tokens }: { client: ClientName; tokens: Tokens }) {
  expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(401);
  const again = await refresh(host, { client, refreshToken: tokens.refresh_token ?? "" });
  expect(answer(again)).toEqual({ status: 400, body: refused });
}

async function expectAlive(host: TestHost, { client, tokens }: { client: ClientName; tokens: Tokens }) {
  expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
  await next(host, { client, tokens });
}

describe("refresh token reuse (RFC 6749 §10.4, 9700 §4.14.2)", () => {
  it.each(["native", "web"] as const)(
    "ends what the thief got when the client of %s comes second",
    async (client) => {
      stopClock();
      const host = testHost({ revocationLagSeconds: 0 });
      const stolen = await obtainTokens(host, { client });
      const thief = await next(host, { client, tokens: stolen });
      const owner = await refresh(host, { client, refreshToken: stolen.refresh_token ?? "" });
      expect(answer(owner)).toEqual({ status: 400, body: refused });
      await expectDead(host, { client, tokens: thief });
      expect((await callApi(host, "/orders", stolen.access_token)).status).toBe(401);
    },
  );

  it.each(["native", "web"] as const)("ends what %s got when the thief comes second", async (client) => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const stolen = await obtainTokens(host, { client });
    const owner = await next(host, { client, tokens: stolen });
    const thief = await refresh(host, { client, refreshToken: stolen.refresh_token ?? "" });
    expect(answer(thief)).toEqual({ status: 400, body: refused });
    await expectDead(host, { client, tokens: owner });
  });

  it("tells the host", async () => {
    stopClock();
    const host = testHost();
    const stolen = await obtainTokens(host, { client: "native" });
    await next(host, { client: "native", tokens: stolen });
    await refresh(host, { client: "native", refreshToken: stolen.refresh_token ?? "" });
    expect(host.events.filter(({ kind }) => kind === "replay-detected")).toEqual([
      {
        at: 1_800_000_000,
        kind: "replay-detected",
        replayed: "refresh_token",
        authorizationId: stolen.refresh_token?.split(".")[0],
        issuer: "https://host.example/login/auth/password/api/orders",
        clientId: "native",
      },
    ]);
  });

  it("is noticed for every token of the family, however old", async () => {
    const clock = stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const first = await obtainTokens(host, { client: "native" });
    let latest = first;
    for (let day = 0; day < 10; day += 1) {
      clock.advance(86_400);
      latest = await next(host, { client: "native", tokens: latest });
    }
    await refresh(host, { client: "native", refreshToken: first.refresh_token ?? "" });
    await expectDead(host, { client: "native", tokens: latest });
  });

  it("of a token that has expired is refused without a word", async () => {
    const clock = stopClock();
    const host = testHost();
    const first = await obtainTokens(host, { client: "native" });
    clock.advance(idleSeconds / 2);
    const second = await next(host, { client: "native", tokens: first });
    clock.advance(idleSeconds / 2);
    const late = await refresh(host, { client: "native", refreshToken: first.refresh_token ?? "" });
    expect(answer(late)).toEqual({ status: 400, body: refused });
    await next(host, { client: "native", tokens: second });
  });

  it("cannot outlive the authorization by rotating", async () => {
    const clock = stopClock();
    const host = testHost();
    let latest = await obtainTokens(host, { client: "native" });
    for (let day = 0; day < 90; day += 10) {
      if (day > 0) latest = await next(host, { client: "native", tokens: latest });
      clock.advance(10 * 86_400);
    }
    expect(clock.now()).toBe(1_800_000_000 + absoluteSeconds);
    const late = await refresh(host, { client: "native", refreshToken: latest.refresh_token ?? "" });
    expect(answer(late)).toEqual({ status: 400, body: refused });
  });
});

describe("what a reused refresh token does not end (RFC 6749 §10.4, 9700 §4.14.2)", () => {
  it("leaves other devices, clients and APIs of the same person alone", async () => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const phone = await obtainTokens(host, { client: "native" });
    const tablet = await obtainTokens(host, { client: "native" });
    const shop = await obtainTokens(host, { client: "web" });
    const reports = await obtainTokens(host, { client: "native", pair: { api: "reports" } });
    const sso = await obtainTokens(host, { client: "native", pair: { method: "sso" } });
    await next(host, { client: "native", tokens: phone });
    await refresh(host, { client: "native", refreshToken: phone.refresh_token ?? "" });
    await expectAlive(host, { client: "native", tokens: tablet });
    await expectAlive(host, { client: "web", tokens: shop });
    expect((await callApi(host, "/reports", reports.access_token)).status).toBe(200);
    expect((await callApi(host, "/orders", sso.access_token)).status).toBe(200);
  });

  it("leaves other people alone", async () => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const alice = await obtainTokens(host, { client: "native" });
    host.session = { kind: "authenticated", subject: "bob" };
    const bob = await obtainTokens(host, { client: "native" });
    await next(host, { client: "native", tokens: alice });
    await refresh(host, { client: "native", refreshToken: alice.refresh_token ?? "" });
    await expectAlive(host, { client: "native", tokens: bob });
  });
});

interface Theft {
  readonly as?: ClientName;
  readonly pair?: Pair;
  readonly fields?: Fields;
  readonly status?: number;
  readonly body?: object;
}

/** With status 400 and the one text of `invalid_grant` unless it says otherwise. */
const thefts: readonly (readonly [what: string, owner: ClientName, theft: Theft])[] = [
  ["as another confidential client", "web", { as: "other" }],
  ["as a native client", "web", { as: "native" }],
  ["as a confidential client", "native", { as: "web" }],
  [
    "as a browser client",
    "native",
    {
      as: "spa",
      body: {
        error: "unauthorized_client",
        error_description: "The client may not use this grant at this API.",
      },
    },
  ],
  [
    "as a client that may only use another grant",
    "web",
    {
      as: "machine",
      body: {
        error: "unauthorized_client",
        error_description: "The client may not use this grant at this API.",
      },
    },
  ],
  ["at another authentication method", "web", { pair: { method: "otp" } }],
  ["at another API", "native", { pair: { api: "files" } }],
  ["without the secret", "web", { fields: { client_secret: undefined }, status: 401, body: unauthenticated }],
  ["with another secret", "web", { fields: { client_secret: "guess" }, status: 401, body: unauthenticated }],
  [
    "as a public client that sends a secret",
    "native",
    { fields: { client_secret: "guess" }, status: 401, body: unauthenticated },
  ],
  [
    "for a wider scope",
    "native",
    {
      fields: { scope: "orders:read orders:write" },
      body: {
        error: "invalid_scope",
        error_description: "The scope is malformed or goes beyond what the end user granted.",
      },
    },
  ],
  [
    "for another resource",
    "native",
    {
      fields: { resource: "https://api.example/files" },
      body: {
        error: "invalid_target",
        error_description: "The resource is not the API of this endpoint.",
      },
    },
  ],
  ["as a code", "native", { fields: { grant_type: "authorization_code" } }],
];

function steal(
  host: TestHost,
  { owner, tokens, theft }: { owner: ClientName; tokens: Tokens; theft: Theft },
): Promise<Response> {
  const token = tokens.refresh_token;
  const fields = {
    grant_type: "refresh_token",
    ...credentials(theft.as ?? owner),
    refresh_token: token,
    ...(theft.fields?.["grant_type"] === "authorization_code" && { code: token }),
    ...theft.fields,
  };
  return postToken(host, { ...(theft.pair && { pair: theft.pair }), fields });
}

describe("a refresh token in the wrong hands (RFC 6749 §6, §10.4)", () => {
  it.each(thefts)("%s (owner: %s) it buys nothing and stays usable", async (_, owner, theft) => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: owner });
    const stolen = await steal(host, { owner, tokens, theft });
    expect(answer(stolen)).toEqual({ status: theft.status ?? 400, body: theft.body ?? refused });
    await expectAlive(host, { client: owner, tokens });
  });

  const unproven = thefts.filter(([what]) => what !== "for a wider scope");

  it.each(unproven)("%s (owner: %s) a used one revokes nothing", async (_, owner, theft) => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: owner });
    const latest = await next(host, { client: owner, tokens });
    const stolen = await steal(host, { owner, tokens, theft });
    expect(stolen.status).toBe(theft.status ?? 400);
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    await expectAlive(host, { client: owner, tokens: latest });
  });

  it("a bent one buys nothing and revokes nothing", async () => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: "native" });
    const token = tokens.refresh_token ?? "";
    const [authorizationId = "", random = ""] = token.split(".");
    const swapped = random.startsWith("A") ? `B${random.slice(1)}` : `A${random.slice(1)}`;
    const bent = [`${authorizationId}.${swapped}`, token.slice(0, -1), `${token}=`, ` ${token}`, random];
    for (const refreshToken of bent) {
      const response = await refresh(host, { client: "native", refreshToken });
      expect({ refreshToken, ...answer(response) }).toEqual({ refreshToken, status: 400, body: refused });
    }
    await expectAlive(host, { client: "native", tokens });
  });
});

interface Misuse {
  readonly endpoint: "revoke" | "introspect";
  readonly proof: Fields;
  readonly pair?: Pair;
}

async function send(host: TestHost, { misuse, tokens }: { misuse: Misuse; tokens: Tokens }): Promise<object> {
  const { endpoint, proof, pair } = misuse;
  const sent = request(host.app)
    .post(`${pairPath(pair)}/${endpoint}`)
    .type("form");
  return answer(await sent.send(encode({ ...proof, token: tokens.refresh_token })));
}

describe("a stolen refresh token at the other endpoints (RFC 7009 §2.1, 7662 §2.1, §4)", () => {
  const nothing = { status: 200, body: {} };
  const inactive = { status: 200, body: { active: false } };
  const unknown = { status: 401, body: unauthenticated };

  const web = credentials("web");
  const guess = { client_id: "web", client_secret: "guess" };
  const misuses: readonly (readonly [what: string, misuse: Misuse, said: object])[] = [
    ["revocation by another client", { endpoint: "revoke", proof: credentials("other") }, nothing],
    ["revocation by a native client", { endpoint: "revoke", proof: credentials("native") }, nothing],
    ["revocation by a browser client", { endpoint: "revoke", proof: credentials("spa") }, nothing],
    ["revocation without the secret", { endpoint: "revoke", proof: { client_id: "web" } }, unknown],
    ["revocation with another secret", { endpoint: "revoke", proof: guess }, unknown],
    ["revocation by nobody", { endpoint: "revoke", proof: { client_id: "nobody" } }, unknown],
    ["revocation at another method", { endpoint: "revoke", proof: web, pair: { method: "otp" } }, nothing],
    ["revocation at another API", { endpoint: "revoke", proof: web, pair: { api: "files" } }, nothing],
    ["introspection by another client", { endpoint: "introspect", proof: credentials("other") }, inactive],
    ["introspection with another secret", { endpoint: "introspect", proof: guess }, unknown],
    [
      "introspection at another method",
      { endpoint: "introspect", proof: web, pair: { method: "otp" } },
      inactive,
    ],
    [
      "introspection at another API",
      { endpoint: "introspect", proof: web, pair: { api: "files" } },
      inactive,
    ],
  ];

  it.each(misuses)("%s ends nothing and tells nothing", async (_, misuse, said) => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: "web" });
    expect(await send(host, { misuse, tokens })).toEqual(said);
    const latest = await next(host, { client: "web", tokens });
    // with the used one neither: asking is no replay
    expect(await send(host, { misuse, tokens })).toEqual(said);
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    await expectAlive(host, { client: "web", tokens: latest });
  });

  it("that is only guessed ends nothing, though the id of its authorization is known", async () => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: "native" });
    const [authorizationId = ""] = tokens.refresh_token?.split(".") ?? [];
    const guessed = { ...tokens, refresh_token: `${authorizationId}.${"A".repeat(43)}` };
    const own: Misuse = { endpoint: "revoke", proof: credentials("native") };
    expect(await send(host, { misuse: own, tokens: guessed })).toEqual(nothing);
    await expectAlive(host, { client: "native", tokens });
  });

  it("that is in doubt can be ended by its client, however often it was rotated by the thief", async () => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const stolen = await obtainTokens(host, { client: "native" });
    let thief = await next(host, { client: "native", tokens: stolen });
    thief = await next(host, { client: "native", tokens: thief });
    const own: Misuse = { endpoint: "revoke", proof: credentials("native") };
    expect(await send(host, { misuse: own, tokens: stolen })).toEqual(nothing);
    await expectDead(host, { client: "native", tokens: thief });
  });
});

/** Alice's tokens after they were used once at the API, and then stolen and replayed. */
async function replayed(host: TestHost, pair: Pair): Promise<{ seen: Tokens; unseen: Tokens }> {
  const path = `/${pair.api}`;
  const seen = await obtainTokens(host, { client: "native", pair });
  const step = { client: "native" as const, pair };
  const refreshed = await refresh(host, { ...step, refreshToken: seen.refresh_token ?? "" });
  expect((await callApi(host, path, seen.access_token)).status).toBe(200);
  await refresh(host, { ...step, refreshToken: seen.refresh_token ?? "" });
  return { seen, unseen: refreshed.body as Tokens };
}

describe("access to the API after a replay (RFC 9700 §4.14.2; revocationLagSeconds)", () => {
  it.each(["orders", "reports"] as const)("stops at once at %s without a lag", async (api) => {
    stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const { seen, unseen } = await replayed(host, { api });
    expect((await callApi(host, `/${api}`, seen.access_token)).status).toBe(401);
    expect((await callApi(host, `/${api}`, unseen.access_token)).status).toBe(401);
  });

  it.each(["orders", "reports"] as const)(
    "stops at %s after five seconds for a token that was seen, at once for any other",
    async (api) => {
      const clock = stopClock();
      const host = testHost({ revocationLagSeconds: 5 });
      const { seen, unseen } = await replayed(host, { api });
      expect((await callApi(host, `/${api}`, unseen.access_token)).status).toBe(401);
      clock.advance(4);
      expect((await callApi(host, `/${api}`, seen.access_token)).status).toBe(200);
      clock.advance(1);
      const call = await callApi(host, `/${api}`, seen.access_token);
      expect(call.status).toBe(401);
      expect(call.headers["www-authenticate"]).toContain('error="invalid_token"');
    },
  );

  it("does not come back", async () => {
    const clock = stopClock();
    const host = testHost({ revocationLagSeconds: 5 });
    const { seen } = await replayed(host, { api: "orders" });
    clock.advance(5);
    for (let call = 0; call < 3; call += 1) {
      expect((await callApi(host, "/orders", seen.access_token)).status).toBe(401);
    }
  });

  it("uses of a token do not stretch its lag", async () => {
    const clock = stopClock();
    const host = testHost({ revocationLagSeconds: 5 });
    const { seen } = await replayed(host, { api: "orders" });
    for (let second = 0; second < 4; second += 1) {
      clock.advance(1);
      expect((await callApi(host, "/orders", seen.access_token)).status).toBe(200);
    }
    clock.advance(1);
    expect((await callApi(host, "/orders", seen.access_token)).status).toBe(401);
  });
});
