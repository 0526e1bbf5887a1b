import request from "supertest";
import { memoryStorage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";

/** A host whose database says `null` for none, and for everything that answers nothing. */
function nullHost(): TestHost {
  const memory = memoryStorage({ clients: Object.values(clients) });
  return testHost({ storage: intercept(memory, async (_, call) => (await call()) ?? null) });
}

function post(host: TestHost, { path, client, token }: { path: string; client: ClientName; token: string }) {
  const fields = { ...credentials(client), token };
  return request(host.app).post(`${pairPath()}/${path}`).type("form").send(fields);
}

describe("storage that answers null where there is nothing (RFC 6749 §4.1)", () => {
  it.each(["web", "native", "spa"] as const)("carries a whole journey of %s", async (client) => {
    const host = nullHost();
    const { access_token: token, refresh_token: refreshToken } = await obtainTokens(host, { client });
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    if (refreshToken !== undefined) {
      expect((await refresh(host, { client, refreshToken })).status).toBe(200);
    }
    expect((await post(host, { path: "revoke", client, token })).status).toBe(200);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("carries a consent that is remembered, listed and withdrawn", async () => {
    const host = nullHost();
    await obtainCode(host, { client: "web" });
    expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
    const key = { subject: "alice", clientId: "web", apiId: "orders" };
    expect((await host.auth.consents.list("alice")).consents).toHaveLength(1);
    await host.auth.consents.revoke(key);
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
  });

  it("refuses what is not there in the usual words", async () => {
    const host = nullHost();
    const unknown = `${"A".repeat(22)}.${"B".repeat(43)}`;
    expect((await redeem(host, { client: "web", code: unknown })).body).toMatchObject({
      error: "invalid_grant",
    });
    expect((await refresh(host, { client: "web", refreshToken: unknown })).body).toMatchObject({
      error: "invalid_grant",
    });
    const fields = { grant_type: "client_credentials", client_id: "nobody", client_secret: "nothing" };
    expect((await postToken(host, { fields })).body).toMatchObject({ error: "invalid_client" });
    expect((await callApi(host, "/orders", "not-a-token")).status).toBe(401);
    expect((await post(host, { path: "introspect", client: "web", token: unknown })).body).toEqual({
      active: false,
    });
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });
});
