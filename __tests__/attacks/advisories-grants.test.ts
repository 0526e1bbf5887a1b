// Published defects of other servers at the token endpoint, of 2026: assertions of identity providers, devices, codes and tokens in other
// hands, and clients that register themselves. Each is tried here as it was done there. docs/security.md lists them all.
import type { Response } from "supertest";
import { memoryStorage } from "../../lib";
import { obtainCode, obtainTokens } from "../browser/journey";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, testHost } from "../hosts/host";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { answerDevice, deviceCodes, deviceHost, endOf, polled, typeCode } from "../requests/device-requests";
import {
  invalidAssertion,
  methodsWith,
  present,
  vouchedClients,
  vouchedHost,
} from "../requests/identity-assertions";
import { answerOf } from "../requests/json-answers";
import { codeFor, redeemAs, registered, registrationHost, webMetadata } from "../requests/registration";
import { identityProvider, type IdentityProvider } from "../servers/identity-provider";

stopClockForEachTest();

let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
afterAll(() => provider.close());

/** The error that was answered, and nothing that could be used. */
function errorOf({ body }: Response): string | undefined {
  expect(body).not.toHaveProperty("access_token");
  return (body as { error?: string }).error;
}

describe("assertions of identity providers (RFC 7523 §3)", () => {
  it("CVE-2026-1609 Keycloak: get a token for a person whose account is disabled", async () => {
    const disabled = new Set<string>();
    const host = vouchedHost(provider, {
      accept: ({ subject }) =>
        disabled.has(subject) ? { kind: "denied" } : { kind: "authenticated", subject: "alice" },
    });
    expect((await present(host, { assertion: await provider.vouch() })).status).toBe(200);
    disabled.add("U-alice");
    expect(answerOf(await present(host, { assertion: await provider.vouch() }))).toEqual(invalidAssertion);
  });

  it("CVE-2026-1486 Keycloak: get a token by an identity provider that was switched off", async () => {
    const storage = memoryStorage({ clients: vouchedClients });
    const assertion = await provider.vouch();
    const another = { listed: { "https://idp.example": { jwksUri: "https://idp.example/keys" } } };
    const without = vouchedHost(provider, { storage, authMethods: methodsWith(another) });
    expect(answerOf(await present(without, { assertion }))).toEqual(invalidAssertion);
    expect((await present(vouchedHost(provider, { storage }), { assertion })).status).toBe(200);
  });

  it("CVE-2026-11800 Keycloak: sign an assertion by HMAC, with the public key of the provider as the secret", async () => {
    const host = vouchedHost(provider);
    const published = JSON.stringify(provider.server.documents.get("/keys"));
    for (const alg of ["HS256", "HS384", "HS512"]) {
      const key = new TextEncoder().encode(published.padEnd(64));
      const assertion = await provider.vouch({ header: { alg }, key });
      expect(answerOf(await present(host, { assertion }))).toEqual(invalidAssertion);
    }
  });

  it("CVE-2026-79652 Keycloak: get a token without consent, by an assertion of a client that has to ask for it", async () => {
    // the record does not name the grant, so this client has to ask people
    const host = vouchedHost(provider, {
      clients: vouchedClients.map((client) =>
        client.clientId === "web" ? { ...client, subscriptions: { orders: {} } } : client,
      ),
    });
    const assertion = await provider.vouch();
    expect(errorOf(await present(host, { assertion }))).toBe("unauthorized_client");
  });
});

describe("devices (RFC 8628 §3.3, §5.4)", () => {
  it("no id better-auth: answer for a device whose code somebody else has typed, from a session of one's own", async () => {
    for (const decision of ["approve", "deny"] as const) {
      const host = deviceHost();
      const codes = await deviceCodes(host);
      const page = await typeCode(host.browser(), codes);
      host.session = bob;
      expect(endOf(await host.browser().answer(page, decision))).toBe("lost");
      expect(await polled(host, codes)).toBe("authorization_pending");
    }
  });

  it("CVE-2026-88770 Keycloak: get tokens of an account that was locked after the person has allowed the device", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    expect(await answerDevice(host.browser(), codes)).toBe("allowed");
    await host.auth.subjects.revoke("alice");
    expect(await polled(host, codes)).toBe("invalid_grant");
  });
});

describe("codes and refresh tokens in other hands (RFC 6749 §4.1.3, §6)", () => {
  it("CVE-2026-16089 Keycloak: change a stolen code so that it belongs to a session of one's own client", async () => {
    const host = testHost();
    const stolen = (await obtainCode(host, { client: "web" })).split(".");
    const own = (await obtainCode(host, { client: "other" })).split(".");
    for (const parts of [
      [own[0], stolen[1]],
      [stolen[0], own[1]],
    ])
      expect(errorOf(await redeem(host, { client: "other", code: parts.join(".") }))).toBe("invalid_grant");
    expect((await redeem(host, { client: "web", code: stolen.join(".") })).status).toBe(200);
  });

  it("no id Defguard: refresh with a stolen token and without the secret of its client", async () => {
    const host = testHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    for (const client_secret of [undefined, "", "guess"]) {
      const asked = { client: "web", refreshToken, fields: { client_secret } } as const;
      expect(errorOf(await refresh(host, asked))).toBe("invalid_client");
    }
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("CVE-2026-44476 doorkeeper-openid_connect: pass as a client that has registered itself, without its secret", async () => {
    const host = registrationHost();
    const client = await registered(host, webMetadata);
    expect(client.client_secret).toEqual(expect.any(String));
    const { client_secret: _secret, ...thief } = client;
    const code = await codeFor(host, client);
    expect(errorOf(await redeemAs(host, thief, code))).toBe("invalid_client");
    const fields = { grant_type: "client_credentials", client_id: client.client_id };
    expect(errorOf(await postToken(host, { fields }))).toBe("invalid_client");
    expect((await redeemAs(host, client, code)).status).toBe(200);
  });
});
