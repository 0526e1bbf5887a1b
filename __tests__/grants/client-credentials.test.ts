import { issuer, type Pair } from "../hosts/apis";
import { ownToken } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { answerOf, refusal } from "../requests/json-answers";
import { tokensOf } from "../requests/token-requests";
import { countedStorage } from "../hosts/watched-host";

const clock = stopClockForEachTest();

describe("client credentials (RFC 6749 §4.4)", () => {
  it("answers with an access token and nothing else", async () => {
    const response = await ownToken(testHost(), { client: "machine", scope: "orders:read" });
    expect(answerOf(response)).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        token_type: "bearer",
        expires_in: 600,
        scope: "orders:read",
      },
    });
  });

  it("issues the API's default scopes when none are named", async () => {
    expect(tokensOf(await ownToken(testHost(), { client: "machine" })).scope).toBe("orders:read");
  });

  it("issues only those default scopes that the subscription has", async () => {
    const subscriptions = { orders: { scopes: ["orders:write"] } };
    const host = testHost({ clients: [{ ...clients.machine, subscriptions }] });
    expect(tokensOf(await ownToken(host, { client: "machine" }))).not.toHaveProperty("scope");
  });

  it("issues every scope of the API to a subscription that names none", async () => {
    const { scope } = tokensOf(
      await ownToken(testHost(), { client: "web", scope: "orders:read orders:write" }),
    );
    expect(scope).toBe("orders:read orders:write");
  });

  it.each([
    ["beyond the subscription", "orders:write"],
    ["partly beyond the subscription", "orders:read orders:write"],
    ["of another API", "files:read"],
    ["unknown", "anything"],
    ["malformed", "orders:read  orders:read"],
    ["of every object", "constructor"],
  ])("refuses a scope that is %s", async (_, scope) => {
    const response = await ownToken(testHost(), { client: "machine", scope });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_scope"));
  });

  it("refuses an omitted scope where the API requires one", async () => {
    const host = testHost();
    const pair: Pair = { api: "reports" };
    const response = await ownToken(host, { client: "web", pair });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_scope", "This API requires a scope."));
    expect(tokensOf(await ownToken(host, { client: "web", pair, scope: "reports:read" })).scope).toBe(
      "reports:read",
    );
  });

  it("writes nothing to storage for a JWT", async () => {
    const { storage, calls } = countedStorage();
    expect((await ownToken(testHost({ storage }), { client: "machine" })).status).toBe(200);
    expect(calls).toEqual(["clients.find", "endMarks.find"]);
  });

  it("writes once to storage for an opaque token", async () => {
    const { storage, calls } = countedStorage();
    const response = await ownToken(testHost({ storage }), {
      client: "web",
      pair: { api: "reports" },
      scope: "reports:read",
    });
    expect(response.status).toBe(200);
    expect(calls).toEqual(["clients.find", "endMarks.find", "accessTokens.create"]);
  });

  it("tells the host of it", async () => {
    const host = testHost();
    await ownToken(host, { client: "machine" });
    expect(host.events).toEqual([
      {
        kind: "token-issued",
        at: clock.now(),
        grantType: "client_credentials",
        issuer,
        clientId: "machine",
        scopes: ["orders:read"],
      },
    ]);
  });
});
