// Everything of a client is ended, or its id is given to another client, while processes still remember how it was, and under options
// that have changed since. The attacker is the client that was ended. The victim is whoever begins anew.
import { type Client, generateClientSecret, memoryStorage, type Storage } from "../../lib";
import { clientLookup } from "../../lib/clients/client-lookup";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { authorize, redirectParameters } from "../browser/authorize";
import { ownToken, redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { issuerRecord } from "../records/records";
import { tokensOf } from "../requests/token-requests";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();
const everybody = Object.values(clients);

/** Storage whose clients can be changed, as by another process. */
function changeableClients(): { readonly storage: Storage; change: (client: Client) => void } {
  const memory = memoryStorage({ clients: everybody });
  const changed = new Map<string, Client>();
  const find = async (clientId: string) => changed.get(clientId) ?? memory.clients.find(clientId);
  return {
    storage: { ...memory, clients: { ...memory.clients, find } },
    change: (client) => void changed.set(client.clientId, client),
  };
}

describe("everything of a client (RFC 7009 §2.1)", () => {
  it("stays ended when the lifetimes were made shorter before", async () => {
    const storage = memoryStorage({ clients: everybody });
    const before = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(before, { client: "web" });
    const lifetimes = { refreshTokenSeconds: 600, refreshTokenIdleSeconds: 600, consentSeconds: 600 };
    const host = testHost({ storage, lifetimes });
    await host.auth.clients.revoke("web");
    clock.advance(3 * 86_400);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
  });

  it("begins anew at once after a second end, also where a process remembers the first", async () => {
    const host = testHost();
    await host.auth.clients.revoke("web");
    await obtainTokens(host, { client: "web" });
    await host.auth.clients.revoke("web");
    const code = await obtainCode(host, { client: "web" });
    const answer = await redeem(host, { client: "web", code });
    expect(answer.status).toBe(200);
    const { access_token: token, refresh_token: refreshToken = "" } = answer.body as Tokens;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("lets a process that remembers an earlier end accept a token that another one has issued since", async () => {
    const storage = memoryStorage({ clients: everybody });
    const [here, there] = [testHost({ storage }), testHost({ storage })];
    await here.auth.clients.revoke("machine");
    const { access_token: old } = (await ownToken(here, { client: "machine" })).body as Tokens;
    await there.auth.clients.revoke("machine");
    const { access_token: token } = (await ownToken(there, { client: "machine" })).body as Tokens;
    expect((await callApi(here, "/orders", token)).status).toBe(200);
    clock.advance(5);
    expect((await callApi(here, "/orders", old)).status).toBe(401);
  });
});

describe("a client whose id was given to another one (RFC 6749 §2.2)", () => {
  const thief: Client = { ...clients.web, redirectUris: ["https://thief.example/callback"], trusted: true };

  it("is never found with the end mark of the other one", async () => {
    const { storage, change } = changeableClients();
    change(thief);
    let meanwhile: Promise<void> | undefined;
    const lookup = clientLookup(
      {
        clients: storage.clients,
        endMarks: {
          ...storage.endMarks,
          async find(keys, now) {
            // the record was read already, and both are replaced before the mark is
            meanwhile ??= (async () => {
              await storage.endMarks.save(
                { key: clientEndKey("web"), mark: "new mark", expiresAt: now + 9_000 },
                now,
              );
              change(clients.web);
            })();
            await meanwhile;
            return storage.endMarks.find(keys, now);
          },
        },
      },
      { lagSeconds: 5, clock: () => clock.now(), redirectSchemes: [], apis: [] },
    );
    expect(
      await lookup.findRegistered("web", { issuer: issuerRecord(), mayFetch: () => false }),
    ).toMatchObject({
      endMark: "new mark",
      client: { redirectUris: clients.web.redirectUris },
    });
  });

  it("gets no code that the other one's authorization would descend from", async () => {
    const { storage, change } = changeableClients();
    change(thief);
    const [here, there] = [testHost({ storage }), testHost({ storage })];
    const fields = { redirect_uri: thief.redirectUris[0] ?? "" };
    expect(redirectParameters(await authorize(here.browser(), { client: "web", fields }))).toHaveProperty(
      "code",
    );
    change(clients.web);
    await there.auth.clients.revoke("web");
    expect(redirectParameters(await authorize(here.browser(), { client: "web", fields }))).toMatchObject({
      error: "access_denied",
    });
  });

  it("what the old client gets between the end and the deletion is not the new client's", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage });
    const loot: string[] = [];
    const refreshTokens: string[] = [];
    // the old clients ask all the time, and the process remembers them for a while
    const askForOwn = async (): Promise<void> => {
      loot.push(tokensOf(await ownToken(host, { client: "machine" })).access_token);
    };
    const ask = async (): Promise<void> => {
      await askForOwn();
      const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "native" });
      loot.push(access_token);
      refreshTokens.push(refresh_token);
    };
    await ask();
    // in this order: docs/tokens.md
    for (const id of ["machine", "native"]) records.delete(id);
    await ask();
    for (const id of ["machine", "native"]) await host.auth.clients.revoke(id);
    await askForOwn();
    const secretDigests = [generateClientSecret().digest];
    records.set("machine", { ...clients.machine, name: "Another", secretDigests });
    records.set("native", { ...clients.native, name: "Another", redirectUris: ["https://new.example/"] });
    clock.advance(5);
    for (const token of loot) expect((await callApi(host, "/orders", token)).status).toBe(401);
    for (const refreshToken of refreshTokens)
      expect((await refresh(host, { client: "native", refreshToken })).status).toBe(400);
  });

  it("does not keep people from a client that only had everything ended", async () => {
    const { storage, change } = changeableClients();
    change({ ...clients.web, trusted: true });
    const [here, there] = [testHost({ storage }), testHost({ storage })];
    here.session = signedIn;
    await obtainCode(here, { client: "web" });
    await there.auth.clients.revoke("web");
    expect(redirectParameters(await authorize(here.browser(), { client: "web" }))).toHaveProperty("code");
  });
});
