/** Tokens of the kit that a client has exchanged. RFC 8693 §2.1, §4.1. */
import { addClient, memoryStorage } from "../../lib";
import { type TestTokenRequest, testTokens } from "../../lib/testing";
import { callApi } from "../browser/journey";
import { claimsOf } from "../requests/bound-requests";
import { exchangeApis, exchangeClients, exchangeHost, serviceOf } from "../requests/exchanges";
import { tokenHostOptions } from "./token-host";

/** A host, and tokens by its options. */
async function bedOf(changes: object = {}) {
  const storage = memoryStorage({ clients: exchangeClients });
  const options = await tokenHostOptions({ apis: exchangeApis, storage, ...changes });
  return {
    host: exchangeHost({ ...options, revocationLagSeconds: 0 }),
    tokens: testTokens(options),
    storage,
  };
}

const asked = { client: "web", subject: "alice", actor: "orders-api" } as const;
const ofFiles: TestTokenRequest = { ...asked, api: "files", scope: "files:write" };

describe("a token that was exchanged (RFC 8693 §4.1)", () => {
  it.each([
    ["files", "files:read files:write"],
    ["reports", "reports:read"],
  ])("is good at %s, and says who acts", async (api, scope) => {
    const { host, tokens } = await bedOf();
    const { status, body } = await callApi(host, `/${api}`, await tokens.issue({ ...asked, api, scope }));
    expect([status, body]).toMatchObject([
      200,
      {
        subject: "alice",
        clientId: "orders-api",
        actor: { subject: "orders-api" },
        scopes: scope.split(" "),
      },
    ]);
  });

  it("descends from what the person has allowed the client, which ends it", async () => {
    const { host, tokens } = await bedOf();
    const token = await tokens.issue(ofFiles);
    expect(claimsOf(token)).toMatchObject({ authorization_scope: "orders:write" });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await callApi(host, "/files", token)).status).toBe(401);
  });

  it("has the claims and the life that a test gives it", async () => {
    const { tokens } = await bedOf();
    const claims = { org: "tea" };
    const token = claimsOf(await tokens.issue({ ...ofFiles, claims, seconds: 7 }));
    expect(token).toMatchObject({ org: "tea", act: { sub: "orders-api" } });
    expect(Number(token["exp"]) - Number(token["iat"])).toBe(7);
  });

  it.each(["expired", "revoked", "withdrawn", "disabled", "foreign"] as const)(
    "is refused: %s",
    async (kind) => {
      const { host, tokens } = await bedOf();
      expect((await callApi(host, "/files", await tokens[kind](ofFiles))).status).toBe(401);
    },
  );

  it.each([
    ["a client that no table names", { actor: "web" }, "no-such-exchange"],
    ["a client that there is not", { actor: "nobody" }, "no-such-exchange"],
    ["nobody to act for", { subject: undefined }, "undefined-key"],
    ["an API without a table for it", { api: "orders", scope: "orders:read" }, "no-such-exchange"],
    ["too long a life", { seconds: 61 }, "wrong-seconds-of-token"],
  ])("is not minted for %s", async (_, changes, code) => {
    const { tokens } = await bedOf();
    await expect(tokens.issue({ ...ofFiles, ...changes } as TestTokenRequest)).rejects.toMatchObject({
      code,
    });
  });

  it("is not minted without a person, or where tokens.decide refuses it", async () => {
    const refusing = { decide: () => ({ kind: "refuse" }) };
    const { subject: _subject, ...ofNobody } = ofFiles;
    await expect((await bedOf()).tokens.issue(ofNobody)).rejects.toMatchObject({ code: "no-such-exchange" });
    const { tokens } = await bedOf({ tokens: refusing });
    await expect(tokens.issue(ofFiles)).rejects.toMatchObject({ code: "token-not-issued" });
    expect(typeof (await tokens.issue({ ...ofFiles, claims: {} }))).toBe("string");
  });

  it("can be minted for a client that was added", async () => {
    const { storage, tokens } = await bedOf();
    await storage.clients.delete("orders-api");
    await addClient(storage.clients, serviceOf("orders-api"));
    expect(typeof (await tokens.issue(ofFiles))).toBe("string");
  });
});
