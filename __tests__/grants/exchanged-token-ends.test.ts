// What ends a token that was exchanged (RFC 8693 §1.1): all that ends what it was made of, and all that ends a token of its client.
import { type Client, memoryStorage } from "../../lib";
import { callApi } from "../browser/journey";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import type { TestHost } from "../hosts/host";
import { claimsOf } from "../requests/bound-requests";
import { introspect, revoke } from "../requests/client-requests";
import {
  exchange,
  exchangeApis,
  exchangeClients,
  exchanged,
  exchangeHost,
  ordersToken,
  serviceCredentials,
  serviceOf,
} from "../requests/exchanges";
import { tokensOf } from "../requests/token-requests";
import { intercept } from "../storage/slow-storage";

describe("the end of an exchanged token (RFC 7009 §2.1)", () => {
  const scopes = { subject: "alice", clientId: "web", apiId: "orders" };
  type End = (host: TestHost, authorizationId: string) => Promise<unknown>;
  const ends: Readonly<Record<string, End>> = {
    "of the person": ({ auth }) => auth.subjects.revoke("alice"),
    "of the person's records": ({ auth }) => auth.subjects.erase("alice"),
    "of the consent": ({ auth }) => auth.consents.revoke(scopes),
    "of the authorization": ({ auth }, authorizationId) =>
      auth.authorizations.revoke({ subject: "alice", authorizationId }),
    "of the client that the person has allowed": ({ auth }) => auth.clients.revoke("web"),
    "of the client that has exchanged it": ({ auth }) => auth.clients.revoke("orders-api"),
    "of the API that the person has allowed": ({ auth }) => auth.apis.revoke("orders"),
    "of its own API": ({ auth }) => auth.apis.revoke("files"),
    "of a scope that it was made of": ({ auth }) =>
      auth.consents.narrow({ ...scopes, scopes: ["orders:read"] }),
  };

  it.each(Object.entries(ends))("comes with the end %s", async (_, end) => {
    const host = exchangeHost({ revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    const made = await exchanged(host, { token });
    expect((await callApi(host, "/files", made)).status).toBe(200);
    await end(host, claimsOf(token)["authorization_id"] as string);
    expect((await callApi(host, "/files", made)).status).toBe(401);
    expect((await introspect(host, { pair: { api: "files" }, token: made })).body).toEqual({ active: false });
  });

  it("comes before it, where the authorization ends between two looks at it", async () => {
    let looks = 0;
    const storage = intercept(memoryStorage({ clients: exchangeClients }), async (name, call) => {
      if (name !== "authorizations.find") return call();
      looks += 1;
      return looks === 2 ? undefined : call();
    });
    const host = exchangeHost({ storage, revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    looks = 0;
    expect((await exchange(host, { token })).body).toMatchObject({ error: "invalid_request" });
    const reason = expect.stringContaining("the authorization of the token was revoked") as string;
    expect(host.events.at(-1)).toMatchObject({ code: "subject-token-ended", reason });
  });

  it("comes before it, where the client was disabled a moment ago, and is remembered as it was", async () => {
    const storage = memoryStorage({ clients: exchangeClients });
    const host = exchangeHost({ storage });
    const token = await ordersToken(host);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    await storage.clients.save({ ...clients.web, disabled: true });
    expect((await exchange(host, { token })).body).toMatchObject({ error: "invalid_request" });
    expect(host.events.at(-1)).toMatchObject({ code: "subject-token-ended" });
  });

  it("does not come with the end of a scope that it was not made of", async () => {
    const host = exchangeHost({ revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    const made = await exchanged(host, { token, fields: { scope: "files:write" } });
    await host.auth.consents.narrow({ ...scopes, scopes: ["orders:write"] });
    expect((await callApi(host, "/files", made)).status).toBe(200);
    // and what is exchanged now is made of what is left
    expect(tokensOf(await exchange(host, { token })).scope).toBe("files:read files:write");
    expect(claimsOf(await exchanged(host, { token }))["authorization_scope"]).toBe("orders:write");
  });

  it.each(["orders-api", "files"])("is not of what was made after the end of %s", async (ended) => {
    const host = exchangeHost({ revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    await (ended === "files" ? host.auth.apis.revoke(ended) : host.auth.clients.revoke(ended));
    const made = await exchanged(host, { token });
    expect((await callApi(host, "/files", made)).status).toBe(200);
  });

  it("does not come with the subject token alone, but with its own revocation", async () => {
    const host = exchangeHost({ revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    const made = await exchanged(host, { token });
    await revoke(host, { token });
    expect((await callApi(host, "/files", made)).status).toBe(200);
    const own = { pair: { api: "files" }, token: made } as const;
    // the client that the person has allowed never had this token
    expect((await revoke(host, own)).status).toBe(200);
    expect((await callApi(host, "/files", made)).status).toBe(200);
    await revoke(host, { ...own, fields: serviceCredentials("orders-api") });
    expect((await callApi(host, "/files", made)).status).toBe(401);
  });

  /** Client records → whose change ends the token. */
  const records: Readonly<Record<string, Client>> = {
    "the person's client is disabled": { ...clients.web, disabled: true },
    "the person's client has lost its API": { ...clients.web, subscriptions: { files: {} } },
    "the exchanging client is disabled": { ...serviceOf("orders-api"), disabled: true },
    "the exchanging client has lost the API": { ...serviceOf("orders-api"), subscriptions: { orders: {} } },
  };

  it.each(Object.entries(records))("comes where %s", async (_, changed) => {
    const storage = memoryStorage({ clients: exchangeClients });
    const host = exchangeHost({ storage, revocationLagSeconds: 0 });
    const made = await exchanged(host, { token: await ordersToken(host) });
    await storage.clients.save(changed);
    expect((await callApi(host, "/files", made)).status).toBe(401);
  });

  /** Options that the server is started again with → the token ends. */
  const options: Readonly<Record<string, typeof apis>> = {
    "exchanges no more": { ...exchangeApis, files: apis["files"] } as typeof apis,
    "has the method of the sign-in no more, at the person's API": {
      ...exchangeApis,
      orders: { ...exchangeApis["orders"], authMethods: ["otp"] },
    } as typeof apis,
    "has the method of the sign-in no more, at this API": {
      ...exchangeApis,
      files: { ...exchangeApis["files"], authMethods: ["otp"] },
    } as typeof apis,
  };

  it.each(Object.entries(options))("comes where the server %s", async (_, changed) => {
    const storage = memoryStorage({ clients: exchangeClients });
    const made = await exchanged(exchangeHost({ storage }), {
      token: await ordersToken(exchangeHost({ storage })),
    });
    const host = exchangeHost({ storage, apis: changed });
    expect((await callApi(host, "/files", made)).status).toBe(401);
  });
});
