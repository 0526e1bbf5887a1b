// The attacker holds everything that is public (keys, identifiers, their own genuine tokens) and writes access tokens of their
// own, or presents one kind of value as another. They did not get a private key, nor anybody else's token. Some tokens below
// are signed with the right key all the same: another part of the host may use it for something that is no access token.
import { createHash, randomBytes } from "node:crypto";
import type { Response } from "supertest";
import { type Pair, pairPath } from "../hosts/apis";
import { codeChallenge, codeVerifier } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { postAbout, postToken, redeem, refresh } from "../requests/client-requests";
import { credentials, webSecret } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { issuedAt, refusedToken, signingHost } from "../requests/forged-tokens";
import type { TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";

afterEach(() => jest.restoreAllMocks());

describe("guesses of an opaque access token (RFC 6750 §5.2; 9700 §4.14)", () => {
  const reports: Pair = { api: "reports" };

  it("buy nothing", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: reports });
    const guesses = [
      ...Array.from({ length: 50 }, () => randomBytes(32).toString("base64url")),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      token.toLowerCase(),
      createHash("sha256").update(token).digest("base64url"),
      Buffer.from(token).toString("base64url"),
      "__proto__",
      "constructor",
      "0",
      "A".repeat(43),
      "A".repeat(8_000),
    ];
    for (const guess of guesses) {
      const call = await callApi(host, "/reports", guess);
      expect({ guess, status: call.status, body: call.body as object }).toEqual({
        guess,
        status: 401,
        body: refusedToken.body,
      });
    }
    expect((await callApi(host, "/reports", token)).status).toBe(200);
  });
});

describe("an access token at another API (RFC 9068 §4, 9700 §2.3)", () => {
  const apiIds = ["orders", "reports", "files"] as const;
  const strangers = apiIds.flatMap((own) =>
    apiIds.filter((other) => other !== own).map((other) => [own, other] as const),
  );

  it.each(strangers)("of %s is refused at %s", async (own, other) => {
    stopClock(issuedAt);
    const host = signingHost({ revocationLagSeconds: 5 });
    const { access_token } = await obtainTokens(host, { client: "web", pair: { api: own } });
    for (let call = 0; call < 2; call += 1) {
      expect((await callApi(host, `/${own}`, access_token)).status).toBe(200);
      const { status, body } = await callApi(host, `/${other}`, access_token);
      expect({ status, body: body as object }).toEqual({ status: 401, body: refusedToken.body });
    }
  });

  it("of a client's own is no end user's", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const { access_token } = (await postToken(host, { fields })).body as { access_token: string };
    const call = await callApi(host, "/orders", access_token);
    expect(call.status).toBe(200);
    expect(call.body).not.toHaveProperty("subject");
    expect(call.body).not.toHaveProperty("authorizationId");
  });

  it("is not issued to an end user with the name of a client", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    host.session = { kind: "authenticated", subject: "machine" };
    const response = await authorize(host.browser(), { client: "web" });
    expect(response.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?error=server_error&/);
  });
});

const invalidGrant = {
  error: "invalid_grant",
  error_description: "The code or refresh token is unknown, expired, used or not for this client.",
};

const invalidClient = { error: "invalid_client", error_description: "Client authentication failed." };

/** One of everything that a client or a browser may hold, and the consent page that is still open. */
async function collect(host: TestHost, pair: Pair) {
  const browser = host.browser();
  const page = await authorize(browser, { client: "other", pair });
  const { interaction = "", form_token = "" } = formFields(page.text);
  const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "web", pair });
  const code = await obtainCode(host, { client: "web", pair });
  const values = {
    code,
    refreshToken: refresh_token,
    accessToken: access_token,
    formToken: form_token,
    interactionId: interaction,
    sealedRequest: [...browser.cookies.values()][0] ?? "",
    authorizationId: code.split(".")[0] ?? "",
    secretHalf: code.split(".")[1] ?? "",
    clientSecret: webSecret.secret,
    secretDigest: webSecret.digest,
    codeVerifier,
    codeChallenge,
    clientId: "web",
    subject: "alice",
  };
  return { browser, page, values };
}

describe("one kind of value presented as another (RFC 6749 §10.3, §10.4, §10.5)", () => {
  it.each(["orders", "reports"] as const)(
    "buys nothing and burns nothing at the endpoints of %s",
    async (api) => {
      stopClock(issuedAt);
      const host = signingHost();
      const pair: Pair = { api };
      const { browser, page, values } = await collect(host, pair);
      const redeeming = { client: "web", pair, code: values.code } as const;
      const form = { interaction: values.interactionId, decision: "approve", scope_0: "on" };
      type Place = readonly [status: number, send: (value: string) => Promise<Response>];
      const places: Readonly<Record<string, Place>> = {
        accessToken: [401, (value) => callApi(host, `/${api}`, value)],
        code: [400, (value) => redeem(host, { ...redeeming, code: value })],
        refreshToken: [400, (value) => refresh(host, { client: "web", pair, refreshToken: value })],
        clientSecret: [401, (value) => redeem(host, { ...redeeming, fields: { client_secret: value } })],
        codeVerifier: [400, (value) => redeem(host, { ...redeeming, fields: { code_verifier: value } })],
        interactionId: [
          400,
          (value) => browser.get(`${pairPath(pair)}/authorize/resume`, { interaction: value }),
        ],
        // this was nobody's answer, so the page is shown again
        formToken: [
          200,
          (value) => browser.post(`${pairPath(pair)}/authorize/consent`, { ...form, form_token: value }),
        ],
      };
      for (const [kind, value] of Object.entries(values)) {
        for (const [place, [status, send]] of Object.entries(places)) {
          if (kind === place) continue;
          const sent = await send(value);
          const malformed = place === "accessToken" && /[^\w.~+/=-]/.test(value);
          expect({ kind, place, status: sent.status }).toEqual({
            kind,
            place,
            status: malformed ? 400 : status,
          });
          expect(sent.headers["location"]).toBeUndefined();
          if (place === "code" || place === "refreshToken") expect(sent.body).toEqual(invalidGrant);
          if (place === "clientSecret") expect(sent.body).toEqual(invalidClient);
        }
      }
      const { accessToken: _access, refreshToken: _refresh, ...noTokens } = values;
      for (const [kind, token] of Object.entries(noTokens)) {
        const introspected = await postAbout(host, { endpoint: "introspect", token, pair });
        expect({ kind, body: introspected.body as object }).toEqual({ kind, body: { active: false } });
        const revoked = await postAbout(host, { endpoint: "revoke", token, pair });
        expect({ kind, status: revoked.status }).toEqual({ kind, status: kind === "code" ? 400 : 200 });
      }
      expect((await callApi(host, `/${api}`, values.accessToken)).status).toBe(200);
      const refreshing = { client: "web", pair, refreshToken: values.refreshToken } as const;
      expect((await refresh(host, refreshing)).status).toBe(200);
      expect((await redeem(host, redeeming)).status).toBe(200);
      expect((await browser.answer(page, "approve")).status).toBe(303);
    },
  );
});
