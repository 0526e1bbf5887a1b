// Somebody tries to end what is not theirs, or to get back what was ended. RFC 7009 §2.1, §5; 6749 §10.3.
import type { Client } from "../../lib";
import { memoryStorage } from "../../lib";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { postToken, refresh } from "../requests/client-requests";
import { clients, credentials, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, type TestHost, testHost } from "../hosts/host";
import { callApi, familyOf } from "../browser/journey";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

async function soleAuthorizationOf(host: TestHost, subject: string): Promise<string> {
  const { authorizations } = await host.auth.authorizations.list(subject);
  const [found, ...others] = authorizations;
  if (!found || others.length > 0) throw new Error(`${authorizations.length} authorizations`);
  return found.authorizationId;
}

describe("ending what is somebody else's (RFC 7009 §5)", () => {
  it("an authorization id from a form ends nothing of another person", async () => {
    const host = testHost({ revocationLagSeconds: 0, clients: [trustedWeb] });
    const { accessToken, refreshToken } = await familyOf(host);
    const authorizationId = await soleAuthorizationOf(host, "alice");
    await host.auth.authorizations.revoke({ subject: "bob", authorizationId });
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "nothing-to-revoke", subject: "bob" });
    expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("signing one person out everywhere touches nobody else", async () => {
    const host = testHost({ revocationLagSeconds: 0, clients: [trustedWeb] });
    const ofAlice = await familyOf(host);
    host.session = bob;
    const ofBob = await familyOf(host);
    await host.auth.subjects.erase("alice");
    expect((await callApi(host, "/orders", ofAlice.accessToken)).status).toBe(401);
    expect((await callApi(host, "/orders", ofBob.accessToken)).status).toBe(200);
  });
});

/** A table whose `delete` does what that of a registry does. */
function hostWithTable(): { host: TestHost; remove: () => Promise<void>; save: (client: Client) => void } {
  const records = new Map<string, Client>([["web", clients.web]]);
  const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
  const host = testHost({ storage, revocationLagSeconds: 0 });
  return {
    host,
    save: (client) => void records.set(client.clientId, client),
    async remove() {
      const expiresAt = clock.now() + 1_000_000;
      await storage.endMarks.save({ key: clientEndKey("web"), mark: "a new mark", expiresAt }, clock.now());
      records.delete("web");
    },
  };
}

async function ownTokenOf(host: TestHost): Promise<string> {
  const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "orders:read" };
  return ((await postToken(host, { fields })).body as { access_token: string }).access_token;
}

describe("a client id that is used again (RFC 6749 §10.3)", () => {
  it("inherits no token and no consent", async () => {
    const { host, remove, save } = hostWithTable();
    const { accessToken, refreshToken } = await familyOf(host);
    const ownToken = await ownTokenOf(host);
    await remove();
    save({ ...clients.web, name: "Somebody else" });
    expect((await refresh(host, { client: "web", refreshToken })).body).toMatchObject({
      error: "invalid_grant",
    });
    for (const token of [accessToken, ownToken])
      expect((await callApi(host, "/orders", token)).status).toBe(401);
    const { authorizations } = await host.auth.authorizations.list("alice");
    expect(authorizations).toEqual([]);
    const own = await familyOf(host);
    expect((await callApi(host, "/orders", own.accessToken)).status).toBe(200);
  });

  it("has its tokens refused as soon as it is deleted", async () => {
    const { host, remove } = hostWithTable();
    const { accessToken } = await familyOf(host);
    const ownToken = await ownTokenOf(host);
    await remove();
    for (const token of [accessToken, ownToken])
      expect((await callApi(host, "/orders", token)).status).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ kind: "bearer-refused", code: "token-client-deleted" });
  });
});
