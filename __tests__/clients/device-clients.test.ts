/** Client libraries that ask as devices (RFC 8628), over HTTP: what they send, and how they wait. */
import express from "express";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { type ApiOptions, type Client, createAuthServer, generateSigningKey, memoryStorage } from "../../lib";
import { formFields } from "../browser/browser";
import { deviceGrant } from "../requests/device-requests";
import { serverForEachTest } from "../servers/free-port";

const insecure = { [oauth.allowInsecureRequests]: true };
const client: Client = {
  clientId: "tv",
  name: "Television",
  confidential: false,
  platform: "native",
  redirectUris: [],
  subscriptions: { orders: { grantTypes: [deviceGrant, "refresh_token"] } },
};
const startServer = serverForEachTest();

/** Starts a host where Alice is signed in, and gives the issuer. */
async function listen(api: Partial<ApiOptions> = {}): Promise<URL> {
  const { origin, serve } = await startServer();
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [client] }),
    authMethods: { password: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password"],
        scopes: { read: "See your orders" },
        deviceAuthorization: true,
        ...api,
      },
    },
    rateLimit: () => ({ kind: "allowed" }),
    onEvent: () => undefined,
  });
  serve(express().use("/login", auth.router).use(auth.wellKnown));
  return new URL(`${origin}/login/auth/password/api/orders`);
}

/** Alice at her telephone: opens the link that the device shows, and answers. */
async function answer(link: string, decision: "approve" | "deny"): Promise<string> {
  const { origin } = new URL(link);
  const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { Origin: origin, ...headers },
      body: new URLSearchParams(fields),
    });
  const page = await (await fetch(link)).text();
  const led = await post(`${origin}/login/device`, formFields(page));
  const cookie = (led.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  const shown = await fetch(led.headers.get("location") ?? "", { headers: { Cookie: cookie } });
  const consent = await shown.text();
  const action = /<form[^>]* action="([^"]*)"/.exec(consent)?.[1] ?? "";
  const end = await post(action, { ...formFields(consent), scope_0: "on", decision }, { Cookie: cookie });
  return /<h1>([^<]*)/.exec(await end.text())?.[1] ?? "";
}

/** A device that has asked by openid-client. */
async function asking(): Promise<{
  config: openid.Configuration;
  codes: openid.DeviceAuthorizationResponse;
}> {
  const issuer = await listen();
  const execute = [openid.allowInsecureRequests];
  const config = await openid.discovery(issuer, "tv", undefined, openid.None(), {
    algorithm: "oauth2",
    execute,
  });
  const codes = await openid.initiateDeviceAuthorization(config, { scope: "read" });
  return { config, codes };
}

it("openid-client: waits as it is told, and gets tokens once the person has said yes (RFC 8628 §3.5)", async () => {
  const { config, codes } = await asking();
  expect(codes).toMatchObject({ expires_in: 900, interval: 5 });
  const waits = openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 1 });
  expect(await answer(codes.verification_uri_complete ?? "", "approve")).toBe("Access allowed");
  const tokens = await waits;
  expect(tokens).toMatchObject({ token_type: "bearer", scope: "read" });
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
  expect(refreshed.scope).toBe("read");
});

it("openid-client: hears of a no", async () => {
  const { config, codes } = await asking();
  expect(await answer(codes.verification_uri_complete ?? "", "deny")).toBe("Access not allowed");
  const waits = openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 1 });
  await expect(waits).rejects.toMatchObject({ error: "access_denied" });
});

it("oauth4webapi: is told to wait, then to wait longer, and gets tokens", async () => {
  const issuer = await listen();
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
  );
  const tv = { client_id: "tv" };
  const asked = await oauth.deviceAuthorizationRequest(as, tv, oauth.None(), { scope: "read" }, insecure);
  const codes = await oauth.processDeviceAuthorizationResponse(as, tv, asked);
  const poll = async (): Promise<oauth.TokenEndpointResponse> =>
    oauth.processDeviceCodeResponse(
      as,
      tv,
      await oauth.deviceCodeGrantRequest(as, tv, oauth.None(), codes.device_code, insecure),
    );
  await expect(poll()).rejects.toMatchObject({ error: "authorization_pending" });
  await expect(poll()).rejects.toMatchObject({ error: "slow_down" });
  expect(await answer(codes.verification_uri_complete ?? "", "approve")).toBe("Access allowed");
  expect(await poll()).toMatchObject({ scope: "read" });
});

/** A form as command lines without a library for OAuth send it, and what they read of the answer. */
async function sent(url: string, fields: Record<string, string>): Promise<Record<string, string>> {
  const headers = { Accept: "application/json" };
  const told = await fetch(url, { method: "POST", headers, body: new URLSearchParams(fields) });
  return (await told.json()) as Record<string, string>;
}

it("the shape of gh: fixed URLs, and errors by their name alone", async () => {
  const issuer = await listen();
  const own = { client_id: "tv" };
  const codes = await sent(`${issuer.href}/device_authorization`, { ...own, scope: "read" });
  const { device_code = "", user_code = "", verification_uri = "" } = codes;
  const poll = () => sent(`${issuer.href}/token`, { ...own, device_code, grant_type: deviceGrant });
  expect((await poll())["error"]).toBe("authorization_pending");
  // it prints the code and the page, and the person types
  await answer(`${verification_uri}?user_code=${user_code.toLowerCase()}`, "approve");
  expect(Object.keys(await poll())).toEqual(expect.arrayContaining(["access_token", "token_type", "scope"]));
});

it("the shape of a kubectl login: openid, and an ID token that the cluster takes", async () => {
  const issuer = await listen({ openid: { claims: () => ({}), idTokenAlgorithm: "ES256" } });
  const own = { client_id: "tv" };
  const { device_code = "", verification_uri_complete = "" } = await sent(
    `${issuer.href}/device_authorization`,
    { ...own, scope: "openid" },
  );
  await answer(verification_uri_complete, "approve");
  const tokens = await sent(`${issuer.href}/token`, { ...own, device_code, grant_type: deviceGrant });
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const response = Response.json(tokens, { headers: { "Content-Type": "application/json" } });
  const read = await oauth.processDeviceCodeResponse(as, own, response);
  expect(oauth.getValidatedIdTokenClaims(read)).toMatchObject({ sub: "alice", aud: "tv", iss: issuer.href });
  expect(tokens["refresh_token"]).toBeDefined();
});
