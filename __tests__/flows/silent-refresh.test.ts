import { createHash, randomBytes } from "node:crypto";
import request, { type Response } from "supertest";
import { type Authentication, type Client, type ConsentAnswer, memoryStorage } from "../../lib";
import { issuer, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { interactionOf, signIn } from "../browser/interaction";
import { callApi, obtainCode, type Tokens } from "../browser/journey";
import { watchWrites } from "../storage/slow-storage";

const clock = stopClockForEachTest();

/** What a host's security middleware sets on everything, which would keep the answer out of an iframe. */
const securityHeaders: NonNullable<TestHostOptions["before"]> = (app) =>
  void app.use((_, res, next) => {
    res.setHeader("X-Frame-Options", "DENY");
    res.setHeader("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
    next();
  });

const sessions = ["none", "signed in", "too old", "denied", "throws"] as const;
const consents = ["none", "remembered", "adapter grants", "adapter denies", "adapter interaction"] as const;
const trusts = ["no", "client", "subscription"] as const;
const kinds = ["confidential", "native custom scheme", "native https", "browser"] as const;

interface Situation {
  readonly session: (typeof sessions)[number];
  readonly consent: (typeof consents)[number];
  readonly trust: (typeof trusts)[number];
  readonly kind: (typeof kinds)[number];
}

const situations: readonly Situation[] = sessions.flatMap((session) =>
  consents.flatMap((consent) =>
    trusts.flatMap((trust) => kinds.map((kind) => ({ session, consent, trust, kind }))),
  ),
);

/** The rule: first who is there, then whether anybody has to be asked. */
function expectedAnswer({ session, consent, trust, kind }: Situation): string {
  if (session === "throws") return "server_error";
  if (session === "denied") return "access_denied";
  if (session !== "signed in") return "login_required";
  if (trust !== "no") return "code";
  // another program can claim a custom scheme, so there a remembered consent is not enough (RFC 8252 §8.6)
  if (consent === "remembered") return kind === "native custom scheme" ? "consent_required" : "code";
  if (consent === "adapter grants") return "code";
  if (consent === "adapter denies") return "access_denied";
  return consent === "adapter interaction" ? "interaction_required" : "consent_required";
}

const clientOf: Readonly<Record<Situation["kind"], { client: Client; redirectUri: string }>> = {
  confidential: { client: clients.web, redirectUri: "https://web.example/callback" },
  "native custom scheme": { client: clients.native, redirectUri: "com.example.phone:/callback" },
  "native https": { client: clients.native, redirectUri: "https://phone.example/callback" },
  browser: { client: clients.spa, redirectUri: "https://spa.example/callback" },
};

function aliceSince(authTime: number): Authentication {
  return { kind: "authenticated", subject: "alice", authTime };
}

function sessionOf(session: Situation["session"]): TestHost["session"] {
  switch (session) {
    case "none":
      return signedOut;
    case "signed in":
      return aliceSince(clock.now() - 30);
    case "too old":
      return aliceSince(clock.now() - 3_600);
    case "denied":
      return { kind: "denied" };
    case "throws":
      return () => Promise.reject(new Error("the directory is away"));
  }
}

const adapterAnswers: Readonly<Partial<Record<Situation["consent"], ConsentAnswer>>> = {
  "adapter grants": { kind: "granted", scopes: ["orders:read"] },
  "adapter denies": { kind: "denied" },
  "adapter interaction": { kind: "interaction", url: "/ask" },
};

/** A host in which the situation has come about. */
async function arrange({
  session,
  consent,
  trust,
  kind,
}: Situation): Promise<{ host: TestHost; writes: string[] }> {
  const { client } = clientOf[kind];
  const trusting = {
    no: {},
    client: { trusted: true },
    subscription: { subscriptions: { orders: { trusted: true } } },
  }[trust];
  const { storage, writes } = watchWrites(memoryStorage({ clients: [{ ...client, ...trusting }] }));
  const answer = adapterAnswers[consent];
  const host = testHost({
    storage,
    before: securityHeaders,
    ...(answer && { consent: { decide: () => answer } }),
  });
  if (consent === "remembered") {
    const key = { subject: "alice", clientId: client.clientId, apiId: "orders" };
    const times = { grantedAt: clock.now(), endMarks: [], expiresAt: clock.now() + 1_000 };
    await storage.consents.save({ ...key, ...times, scopes: ["orders:read"] }, clock.now());
    writes.length = 0;
  }
  host.session = sessionOf(session);
  return { host, writes };
}

/** Asks in a hidden iframe, for a session of at most a minute. */
function askSilently(host: TestHost, { kind }: Situation): Promise<Response> {
  const { client, redirectUri } = clientOf[kind];
  const parameters = {
    ...authorizationParameters("web"),
    client_id: client.clientId,
    redirect_uri: redirectUri,
    prompt: "none",
    max_age: "60",
  };
  return host
    .browser()
    .get(`${pairPath()}/authorize`, parameters, { "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate" });
}

interface Proof {
  readonly verifier: string;
  readonly fields: Record<string, string>;
}

/** PKCE and state of one request: never used for another. */
function newProof(): Proof {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  return { verifier, fields: { code_challenge: challenge, state: randomBytes(8).toString("hex") } };
}

/** POST token as the client's script does: from its own origin, and it reads the answer. */
async function exchange(
  host: TestHost,
  { code, verifier }: { code: string; verifier: string },
): Promise<Tokens> {
  const form = { grant_type: "authorization_code", client_id: "spa", code, code_verifier: verifier };
  const response = await request(host.app)
    .post(`${pairPath()}/token`)
    .set("Origin", "https://spa.example")
    .type("form")
    .send(encode(form));
  expect(response.status).toBe(200);
  expect(response.headers["access-control-allow-origin"]).toBe("https://spa.example");
  return response.body as Tokens;
}

function codeOf(response: Response, { fields }: Proof): string {
  const { code = "", state, iss } = redirectParameters(response);
  expect({ state, iss }).toEqual({ state: fields["state"], iss: issuer });
  return code;
}

describe("prompt=none answers by redirect, always (OpenID Connect Core §3.1.2.1, RFC 6749 §4.1.2)", () => {
  const rows = situations.map((situation) => {
    const { session, consent, trust, kind } = situation;
    const name = `session ${session}, consent ${consent}, trust ${trust}, ${kind}`;
    return [name, expectedAnswer(situation), situation] as const;
  });

  it("is tried in every situation", () => {
    expect(rows).toHaveLength(5 * 5 * 3 * 4);
    expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length);
  });

  it.each(rows)("%s: %s", async (_, expected, situation) => {
    const { host, writes } = await arrange(situation);
    const response = await askSilently(host, situation);
    expect(response.status).toBe(302);
    const location = response.headers["location"] as string;
    expect(location.slice(0, location.indexOf("?"))).toBe(clientOf[situation.kind].redirectUri);
    const { code, error, ...others } = redirectParameters(response);
    expect(code === undefined ? error : "code").toBe(expected);
    const withDescription = expected === "code" ? {} : { error_description: expect.any(String) as unknown };
    expect(others).toEqual({ ...withDescription, state: "a state", iss: issuer });
    expect(response.headers).not.toHaveProperty("x-frame-options");
    expect(response.headers).not.toHaveProperty("content-security-policy");
    expect(response.headers).not.toHaveProperty("set-cookie");
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(response.text).toBe("");
    expect(writes).toEqual(expected === "code" ? ["authorizations.create", "authorizationCodes.create"] : []);
  });
});

describe("prompt=none beside what else may be wrong", () => {
  const silent = { prompt: "none" };

  it.each([
    ["a scope beyond the client's", { scope: "files:read" }, "invalid_scope"],
    ["another resource", { resource: "https://api.example/files" }, "invalid_target"],
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["another prompt", { prompt: "none login" }, "invalid_request"],
    ["another response type", { response_type: "token" }, "unsupported_response_type"],
  ])("redirects %s", async (_, fields, error) => {
    const host = testHost({ before: securityHeaders });
    const response = await authorize(host.browser(), { client: "spa", fields: { ...silent, ...fields } });
    expect(response.status).toBe(302);
    expect(redirectParameters(response)).toMatchObject({ error });
    expect(response.headers).not.toHaveProperty("x-frame-options");
    expect(response.headers).not.toHaveProperty("content-security-policy");
    expect(response.headers).not.toHaveProperty("set-cookie");
  });

  it("redirects a request that would be too big for a cookie: it needs none", async () => {
    const fields = { ...silent, state: "x".repeat(4_000) };
    const host = testHost();
    const refused = await authorize(host.browser(), { client: "spa", fields });
    expect(redirectParameters(refused)).toMatchObject({ error: "consent_required", state: fields.state });
    await obtainCode(host, { client: "spa" });
    const granted = await authorize(host.browser(), { client: "spa", fields });
    expect(redirectParameters(granted)).toEqual({
      code: expect.any(String),
      state: fields.state,
      iss: issuer,
    });
  });

  it("shows the error page, which no frame shows, where there is no proven redirect URI (RFC 6749 §4.1.2.1)", async () => {
    const host = testHost();
    const fields = { ...silent, redirect_uri: "https://evil.example/callback" };
    const response = await authorize(host.browser(), { client: "spa", fields });
    expect(response.status).toBe(400);
    expect(response.headers["location"]).toBeUndefined();
    expect(response.headers["x-frame-options"]).toBe("DENY");
    expect(response.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  it("is login_required when the host answers from a session that is too old", async () => {
    const host = testHost();
    host.session = () => signedIn;
    const response = await authorize(host.browser(), { client: "spa", fields: { ...silent, max_age: "1" } });
    expect(redirectParameters(response)).toMatchObject({ error: "login_required" });
  });

  it("is login_required when the host does not say how old its session is", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: "alice" };
    const response = await authorize(host.browser(), { client: "spa", fields: { ...silent, max_age: "60" } });
    expect(redirectParameters(response)).toMatchObject({ error: "login_required" });
  });

  it("leaves a sign-in that is under way in another tab", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const before = new Map(browser.cookies);
    await authorize(browser, { client: "spa", fields: silent });
    expect(browser.cookies).toEqual(before);
    expect(redirectParameters(await browser.answer(page, "approve"))).toHaveProperty("code");
  });

  it("tells the host's adapters that nobody can be asked", async () => {
    const prompts: unknown[] = [];
    const host = testHost({
      consent: {
        decide: ({ prompt }) => {
          prompts.push(prompt);
          return { kind: "ask" };
        },
      },
    });
    await authorize(host.browser(), { client: "spa", fields: silent });
    expect(host.asked).toEqual([{ reauthenticate: false, prompt: ["none"] }]);
    expect(prompts).toEqual([["none"]]);
  });
});

describe("a remembered consent and prompt=none", () => {
  it.each([
    ["the same scopes", "orders:read", "code"],
    ["more scopes", "orders:read orders:write", "consent_required"],
  ])("covers %s or not: %s is %s", async (_, scope, expected) => {
    const host = testHost();
    await obtainCode(host, { client: "spa" });
    const response = await authorize(host.browser(), { client: "spa", fields: { prompt: "none", scope } });
    const { code, error } = redirectParameters(response);
    expect(code === undefined ? error : "code").toBe(expected);
  });

  it("is for one end user", async () => {
    const host = testHost();
    await obtainCode(host, { client: "spa" });
    host.session = { kind: "authenticated", subject: "bob" };
    const response = await authorize(host.browser(), { client: "spa", fields: { prompt: "none" } });
    expect(redirectParameters(response)).toMatchObject({ error: "consent_required" });
  });

  it("ends with its revocation", async () => {
    const host = testHost();
    await obtainCode(host, { client: "spa" });
    await host.auth.consents.revoke({ subject: "alice", clientId: "spa", apiId: "orders" });
    const response = await authorize(host.browser(), { client: "spa", fields: { prompt: "none" } });
    expect(redirectParameters(response)).toMatchObject({ error: "consent_required" });
  });
});

describe("a browser client from its first visit to the host's sign-out (RFC 9700 §2.1.1, RFC 6750)", () => {
  it("keeps calling the API without a refresh token, as long as the host's session lasts", async () => {
    const host = testHost({ before: securityHeaders });
    host.session = signedOut;
    const browser = host.browser();
    const silently = (proof: Proof): Promise<Response> =>
      authorize(browser, { client: "spa", fields: { ...proof.fields, prompt: "none" } });

    const tooEarly = newProof();
    expect(redirectParameters(await silently(tooEarly))).toMatchObject({
      error: "login_required",
      state: tooEarly.fields["state"],
    });

    const first = newProof();
    const toSignIn = await authorize(browser, { client: "spa", fields: first.fields });
    const page = await signIn({ browser, id: interactionOf(toSignIn) });
    const code = codeOf(await browser.answer(page, "approve"), first);
    let tokens = await exchange(host, { code, verifier: first.verifier });
    const seen = new Set([code, tokens.access_token]);

    for (let round = 1; round <= 3; round += 1) {
      expect(tokens).not.toHaveProperty("refresh_token");
      expect((await callApi(host, "/orders", tokens.access_token)).body).toMatchObject({
        subject: "alice",
        clientId: "spa",
        scopes: ["orders:read"],
      });
      clock.advance(600);
      expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(401);

      const proof = newProof();
      const answer = await silently(proof);
      expect(answer.status).toBe(302);
      expect(answer.headers).not.toHaveProperty("x-frame-options");
      expect(answer.headers).not.toHaveProperty("content-security-policy");
      const nextCode = codeOf(answer, proof);
      tokens = await exchange(host, { code: nextCode, verifier: proof.verifier });
      seen.add(nextCode).add(tokens.access_token);
    }
    expect(seen.size).toBe(8);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);

    host.session = signedOut;
    expect(redirectParameters(await silently(newProof()))).toMatchObject({ error: "login_required" });
  });

  it("needs the verifier of the very request: that of an earlier one is refused, and burns nothing", async () => {
    const host = testHost();
    const [earlier, later] = [newProof(), newProof()];
    await obtainCode(host, { client: "spa", fields: earlier.fields });
    const code = await obtainCode(host, { client: "spa", fields: { ...later.fields, prompt: "none" } });
    const wrong = await redeem(host, { client: "spa", code, fields: { code_verifier: earlier.verifier } });
    expect(wrong.body).toMatchObject({ error: "invalid_grant" });
    expect(await exchange(host, { code, verifier: later.verifier })).toHaveProperty("access_token");
  });

  it("keeps the time of the sign-in in its tokens: a silent answer is no sign-in (RFC 9068 §2.2.1)", async () => {
    const host = testHost();
    await obtainCode(host, { client: "spa" });
    clock.advance(500);
    const proof = newProof();
    const code = await obtainCode(host, { client: "spa", fields: { ...proof.fields, prompt: "none" } });
    const { access_token: accessToken } = await exchange(host, { code, verifier: proof.verifier });
    const claims = JSON.parse(Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString()) as object;
    expect(claims).toMatchObject({ sub: "alice", auth_time: 1_799_999_000, iat: clock.now() });
  });

  it("is served on a trusted client's first visit already", async () => {
    const host = testHost({ clients: [{ ...clients.spa, trusted: true }] });
    const proof = newProof();
    const fields = { ...proof.fields, prompt: "none" };
    const code = codeOf(await authorize(host.browser(), { client: "spa", fields }), proof);
    const { access_token: accessToken } = await exchange(host, { code, verifier: proof.verifier });
    expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
  });
});
