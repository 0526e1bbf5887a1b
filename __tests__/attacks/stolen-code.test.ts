// The attacker holds an authorization code of somebody else: read from a log, a proxy, a Referer or another app on the phone.
// They did not get the verifier, the client's secret, or the client's own place (client and issuer); at the end they did.
import { createHash, randomBytes } from "node:crypto";
import request from "supertest";
import { type Client, memoryStorage } from "../../lib";
import { type Pair, pairPath } from "../hosts/apis";
import { codeChallenge, codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode, type Fields } from "../browser/browser";
import { redeem, refresh } from "../requests/client-requests";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { changingClients } from "../hosts/watched-host";

afterEach(() => jest.restoreAllMocks());

const refused = {
  error: "invalid_grant",
  error_description: "The code or refresh token is unknown, expired, used or not for this client.",
};
const unauthenticated = { error: "invalid_client", error_description: "Client authentication failed." };

const otherVerifier = randomBytes(32).toString("base64url");
const otherChallenge = createHash("sha256").update(otherVerifier).digest("base64url");

/** What the thief sends besides the code. */
interface Theft {
  readonly as?: ClientName;
  readonly pair?: Pair;
  readonly fields?: Fields;
  readonly status?: number;
  readonly body?: object;
}

describe("another program at a loopback port of a confidential client (RFC 8252 §7.3, §8.6)", () => {
  const app: Client = { ...clients.web, redirectUris: ["http://127.0.0.1/callback"] };
  const elsewhere = { redirect_uri: "http://127.0.0.1:6666/callback" };

  it("gets no code without the person's yes, whatever is remembered", async () => {
    const host = testHost({ clients: [app] });
    const own = { redirect_uri: "http://127.0.0.1/callback" };
    await obtainCode(host, { client: "web", fields: own });
    const asked = (fields: Fields) =>
      authorize(host.browser(), { client: "web", fields: { prompt: "none", ...fields } });
    expect(redirectParameters(await asked(own))).toHaveProperty("code");
    expect(redirectParameters(await asked(elsewhere))).toMatchObject({ error: "consent_required" });
  });

  it("cannot pass a code that it has asked for to the client", async () => {
    const host = testHost({ clients: [app] });
    const fields = { ...elsewhere, code_challenge: otherChallenge };
    const code = await obtainCode(host, { client: "web", fields });
    // the client sends its secret, and the verifier of its own request
    const injected = await redeem(host, { client: "web", code });
    expect([injected.status, injected.body]).toEqual([400, refused]);
  });
});

type Case = readonly [what: string, owner: ClientName, theft: Theft];

const badVerifier = {
  error: "invalid_request",
  error_description: "code_verifier must be 43 to 128 unreserved characters.",
};

/** With status 400 and the one text of `invalid_grant` unless it says otherwise. */
const thefts: readonly Case[] = [
  ["without the verifier", "native", { fields: { code_verifier: undefined } }],
  ["without the verifier", "spa", { fields: { code_verifier: undefined } }],
  ["without the verifier, but with the secret", "web", { fields: { code_verifier: undefined } }],
  ["with an empty verifier", "native", { fields: { code_verifier: "" } }],
  ["with another verifier", "native", { fields: { code_verifier: otherVerifier } }],
  ["with another verifier and the secret", "web", { fields: { code_verifier: otherVerifier } }],
  ["with the challenge as the verifier", "native", { fields: { code_verifier: codeChallenge } }],
  [
    "with the verifier in another letter case",
    "native",
    { fields: { code_verifier: codeVerifier.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()) } },
  ],
  ["with the verifier and a character more", "native", { fields: { code_verifier: `${codeVerifier}A` } }],
  [
    "with a part of the verifier",
    "native",
    { fields: { code_verifier: codeVerifier.slice(1) }, body: badVerifier },
  ],
  ["without the secret", "web", { fields: { client_secret: undefined }, status: 401, body: unauthenticated }],
  ["with an empty secret", "web", { fields: { client_secret: "" }, status: 401, body: unauthenticated }],
  ["with another secret", "web", { fields: { client_secret: "guess" }, status: 401, body: unauthenticated }],
  ["as another confidential client", "web", { as: "other" }],
  ["as a native client", "web", { as: "native" }],
  ["as a browser client", "native", { as: "spa" }],
  ["as a confidential client", "native", { as: "other" }],
  [
    "as a public client that sends a secret",
    "native",
    { fields: { client_secret: "guess" }, status: 401, body: unauthenticated },
  ],
  [
    "as no client",
    "native",
    {
      fields: { client_id: undefined },
      body: { error: "invalid_request", error_description: "client_id is missing." },
    },
  ],
  ["as an unknown client", "native", { fields: { client_id: "nobody" }, status: 401, body: unauthenticated }],
  ["at another authentication method", "web", { pair: { method: "otp" } }],
  ["at another API", "web", { pair: { api: "reports" } }],
  ["at another API and another authentication method", "native", { pair: { method: "sso", api: "files" } }],
  ["with another redirect URI", "web", { fields: { redirect_uri: "https://evil.example/callback" } }],
  [
    "with another redirect URI of this client",
    "native",
    { fields: { redirect_uri: "http://127.0.0.1/callback" } },
  ],
  ["as a refresh token", "web", { fields: { grant_type: "refresh_token" } }],
  [
    "for another resource",
    "web",
    {
      fields: { resource: "https://api.example/reports" },
      body: {
        error: "invalid_target",
        error_description: "The resource is not the API of this endpoint.",
      },
    },
  ],
];

/** The case's request, as the owner sends it but for what the thief lacks. */
function steal(
  host: ReturnType<typeof testHost>,
  { owner, code, theft }: { owner: ClientName; code: string; theft: Theft },
): ReturnType<typeof redeem> {
  const asRefreshToken = theft.fields?.["grant_type"] === "refresh_token" ? { refresh_token: code } : {};
  return redeem(host, {
    client: theft.as ?? owner,
    code,
    pair: theft.pair ?? {},
    fields: { ...theft.fields, ...asRefreshToken },
  });
}

async function expectAlive(
  host: ReturnType<typeof testHost>,
  { client, tokens }: { client: ClientName; tokens: Tokens },
): Promise<void> {
  const call = await callApi(host, "/orders", tokens.access_token);
  expect(call.status).toBe(200);
  if (tokens.refresh_token === undefined) return;
  const refreshed = await refresh(host, { client, refreshToken: tokens.refresh_token });
  expect(refreshed.status).toBe(200);
}

async function expectDead(
  host: ReturnType<typeof testHost>,
  { client, tokens }: { client: ClientName; tokens: Tokens },
): Promise<void> {
  const call = await callApi(host, "/orders", tokens.access_token);
  expect(call.status).toBe(401);
  if (tokens.refresh_token === undefined) return;
  const refreshed = await refresh(host, { client, refreshToken: tokens.refresh_token });
  expect({ status: refreshed.status, body: refreshed.body as object }).toEqual({
    status: 400,
    body: refused,
  });
}

describe("a stolen code without its proof (RFC 6749 §4.1.3, §10.5; 7636 §4.6; 9700 §4.5)", () => {
  it.each(thefts)(
    "%s (owner: %s) it buys nothing, and the owner can still redeem it",
    async (_, owner, theft) => {
      stopClock();
      const host = testHost({ revocationLagSeconds: 0 });
      const code = await obtainCode(host, { client: owner });
      const stolen = await steal(host, { owner, code, theft });
      expect({ status: stolen.status, body: stolen.body as object }).toEqual({
        status: theft.status ?? 400,
        body: theft.body ?? refused,
      });
      const redeemed = await redeem(host, { client: owner, code });
      expect(redeemed.status).toBe(200);
      await expectAlive(host, { client: owner, tokens: redeemed.body as Tokens });
    },
  );

  it.each(thefts)(
    "%s (owner: %s) it revokes nothing after the owner has redeemed it",
    async (_, owner, theft) => {
      stopClock();
      const host = testHost({ revocationLagSeconds: 0 });
      const code = await obtainCode(host, { client: owner });
      const redeemed = await redeem(host, { client: owner, code });
      const stolen = await steal(host, { owner, code, theft });
      expect(stolen.status).toBe(theft.status ?? 400);
      expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
      await expectAlive(host, { client: owner, tokens: redeemed.body as Tokens });
    },
  );

  it("is not burned by a hundred guesses of the verifier", async () => {
    stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    for (let guess = 0; guess < 100; guess += 1) {
      const fields = { code_verifier: randomBytes(32).toString("base64url") };
      expect((await redeem(host, { client: "native", code, fields })).status).toBe(400);
    }
    expect((await redeem(host, { client: "native", code })).status).toBe(200);
  });

  it("buys nothing when it is bent", async () => {
    stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const foreign = await obtainCode(host, { client: "web" });
    const [authorizationId = "", random = ""] = code.split(".");
    const [foreignId = "", foreignRandom = ""] = foreign.split(".");
    const bent = [
      `${authorizationId}.${foreignRandom}`,
      `${foreignId}.${random}`,
      `${code} `,
      ` ${code}`,
      `${code}\n`,
      `${code}=`,
      code.slice(0, -1),
      code.toUpperCase(),
      authorizationId,
      random,
      `${random}.${authorizationId}`,
      `${authorizationId}.${createHash("sha256").update(code).digest("base64url")}`,
      createHash("sha256").update(code).digest("base64url"),
    ];
    for (const each of bent) {
      const { status, body } = await redeem(host, { client: "web", code: each });
      expect({ each, status, body: body as object }).toEqual({ each, status: 400, body: refused });
    }
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect((await redeem(host, { client: "web", code: foreign })).status).toBe(200);
  });
});

describe("a stolen code at the endpoints that are for tokens (RFC 7009 §2.2.1, 7662 §2.2)", () => {
  const noCodes = {
    status: 400,
    body: {
      error: "unsupported_token_type",
      error_description: "An authorization code cannot be revoked.",
    },
  };
  const nothing = { status: 200, body: {} };
  const inactive = { status: 200, body: { active: false } };

  /** Endpoint, pair and client of the thief, and the answer they get. */
  const misuses: readonly (readonly [string, Pair, ClientName, object])[] = [
    ["revoke", {}, "native", noCodes],
    ["revoke", {}, "web", nothing],
    ["revoke", {}, "spa", nothing],
    ["revoke", { method: "otp" }, "native", nothing],
    ["revoke", { api: "files" }, "native", nothing],
    ["introspect", {}, "web", inactive],
    ["introspect", {}, "machine", inactive],
  ];

  it.each(misuses)(
    "at %s of %j as %s it is not burned, and revokes nothing",
    async (endpoint, pair, as, said) => {
      stopClock();
      const host = testHost({ revocationLagSeconds: 0 });
      const code = await obtainCode(host, { client: "native" });
      const misuse = async (): Promise<object> => {
        const sent = request(host.app)
          .post(`${pairPath(pair)}/${endpoint}`)
          .type("form");
        const { status, body } = await sent.send(encode({ ...credentials(as), token: code }));
        return { status, body: body as object };
      };
      expect(await misuse()).toEqual(said);
      const redeemed = await redeem(host, { client: "native", code });
      expect(redeemed.status).toBe(200);
      expect(await misuse()).toEqual(said);
      expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
      await expectAlive(host, { client: "native", tokens: redeemed.body as Tokens });
    },
  );
});

describe("PKCE downgrade (RFC 9700 §2.1.1, §4.8.2)", () => {
  it.each([
    ["native", { code_challenge: undefined, code_challenge_method: undefined }],
    ["native", { code_challenge: "", code_challenge_method: "" }],
    ["spa", { code_challenge: undefined, code_challenge_method: undefined }],
    ["native", { code_challenge: undefined }],
    ["native", { code_challenge_method: undefined }],
    ["native", { code_challenge_method: "plain", code_challenge: codeVerifier }],
    ["native", { code_challenge_method: "s256" }],
    ["native", { code_challenge_method: ["S256", "plain"] }],
    ["native", { code_challenge: [codeChallenge, otherChallenge] }],
    ["web", { code_challenge_method: "plain", code_challenge: codeVerifier }],
    ["web", { code_challenge_method: undefined }],
    ["web", { code_challenge: undefined }],
  ] as const)("issues no code to %s with %j", async (client, fields) => {
    stopClock();
    const host = testHost();
    const answer = redirectParameters(await authorize(host.browser(), { client, fields }));
    expect(answer).toEqual({
      error: "invalid_request",
      error_description: expect.any(String),
      state: "a state",
      iss: "https://host.example/login/auth/password/api/orders",
    });
  });
});

/** A host whose client `web` can be changed. */
function changeableHost(): { readonly host: TestHost; change: (kind: "native" | "browser") => void } {
  const records = new Map<string, Client>(Object.entries(clients));
  const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
  const { secretDigests: _, ...others } = clients.web;
  return {
    host: testHost({ storage, revocationLagSeconds: 0 }),
    change: (platform) => void records.set("web", { ...others, confidential: false, platform }),
  };
}

describe("a code of a client that was confidential, and is public by now (RFC 9700 §2.1.1, §4.14)", () => {
  it("a code without a challenge buys nothing once its client is public", async () => {
    stopClock();
    const { host, change } = changeableHost();
    const fields = { code_challenge: undefined, code_challenge_method: undefined };
    const code = await obtainCode(host, { client: "web", fields });
    change("native");
    const stolen = { client_secret: undefined, code_verifier: undefined };
    const { status, body } = await redeem(host, { client: "web", code, fields: stolen });
    expect({ status, body: body as object }).toEqual({ status: 400, body: refused });
  });

  it("a code with a challenge still buys something, but no refresh token for a browser client", async () => {
    stopClock();
    const { host, change } = changeableHost();
    const code = await obtainCode(host, { client: "web" });
    change("browser");
    const { body } = await redeem(host, { client: "web", code, fields: { client_secret: undefined } });
    expect(body).toHaveProperty("access_token");
    expect(body).not.toHaveProperty("refresh_token");
  });
});

describe("code injection (RFC 9700 §4.5)", () => {
  it.each(["web", "native", "spa"] as const)(
    "a code that %s got for the attacker's challenge is refused to its honest instance",
    async (client) => {
      stopClock();
      const host = testHost();
      const injected = await obtainCode(host, { client, fields: { code_challenge: otherChallenge } });
      const { status, body } = await redeem(host, { client, code: injected });
      expect({ status, body: body as object }).toEqual({ status: 400, body: refused });
    },
  );

  it("a code of the victim's browser is refused to the attacker's session at the same client", async () => {
    stopClock();
    const host = testHost();
    const stolen = await obtainCode(host, { client: "web" });
    // the attacker has the client redeem it with the verifier of their own session
    const fields = { code_verifier: otherVerifier };
    const injected = await redeem(host, { client: "web", code: stolen, fields });
    expect(injected.body).toEqual(refused);
  });
});

describe("a replay with every proof (RFC 6749 §4.1.2, §10.5; 9700 §4.14.2)", () => {
  it.each(["web", "native", "spa"] as const)(
    "ends what the thief of %s got first, and tells the host",
    async (client) => {
      stopClock();
      const host = testHost({ revocationLagSeconds: 0 });
      const bystander = await obtainTokens(host, { client });
      const code = await obtainCode(host, { client });
      const thief = (await redeem(host, { client, code })).body as Tokens;
      const owner = await redeem(host, { client, code });
      expect({ status: owner.status, body: owner.body as object }).toEqual({ status: 400, body: refused });
      await expectDead(host, { client, tokens: thief });
      await expectAlive(host, { client, tokens: bystander });
      expect(host.events).toContainEqual({
        at: 1_800_000_000,
        kind: "replay-detected",
        replayed: "authorization_code",
        authorizationId: code.split(".")[0],
        issuer: "https://host.example/login/auth/password/api/orders",
        clientId: client,
      });
    },
  );

  it("is noticed after the code's own minute, while the first access token lives", async () => {
    const clock = stopClock();
    const host = testHost({ revocationLagSeconds: 0 });
    const code = await obtainCode(host, { client: "native" });
    const thief = (await redeem(host, { client: "native", code })).body as Tokens;
    clock.advance(60 + 600 - 1);
    await redeem(host, { client: "native", code });
    expect(host.events.at(-2)).toMatchObject({ kind: "replay-detected", replayed: "authorization_code" });
    const refreshed = await refresh(host, { client: "native", refreshToken: thief.refresh_token ?? "" });
    expect(refreshed.body).toEqual(refused);
  });

  it("is refused like any unknown code once its record is gone", async () => {
    const clock = stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const first = (await redeem(host, { client: "native", code })).body as Tokens;
    clock.advance(60 + 600);
    const late = await redeem(host, { client: "native", code });
    expect({ status: late.status, body: late.body as object }).toEqual({ status: 400, body: refused });
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    const refreshed = await refresh(host, { client: "native", refreshToken: first.refresh_token ?? "" });
    expect(refreshed.status).toBe(200);
  });

  it("of a code that nobody redeemed in time is no replay", async () => {
    const clock = stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    clock.advance(60);
    const late = await redeem(host, { client: "native", code });
    expect({ status: late.status, body: late.body as object }).toEqual({ status: 400, body: refused });
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
  });

  it("does not forget the consent: the next visit needs no question", async () => {
    stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code });
    await redeem(host, { client: "web", code });
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(302);
  });
});
