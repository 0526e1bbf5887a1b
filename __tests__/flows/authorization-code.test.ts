import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";

afterEach(() => jest.restoreAllMocks());

describe("authorization code grant (RFC 6749 §4.1)", () => {
  it("takes a confidential client from the first visit to its API", async () => {
    stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    expect(page.status).toBe(200);
    expect(page.text).toContain("Allow Web Shop to access Orders?");
    expect(page.text).toContain("See your orders");
    const answer = await browser.answer(page, "approve");
    expect(answer.status).toBe(303);
    const { code, state, iss } = redirectParameters(answer);
    expect({ state, iss }).toEqual({ state: "a state", iss: `https://host.example${pairPath()}` });
    const tokens = await redeem(host, { client: "web", code: code ?? "" });
    expect(tokens.body).toEqual({
      access_token: expect.any(String),
      token_type: "bearer",
      expires_in: 600,
      refresh_token: expect.any(String),
      scope: "orders:read",
    });
    const call = await callApi(host, "/orders", (tokens.body as { access_token: string }).access_token);
    expect(call.status).toBe(200);
    expect(call.body).toMatchObject({ subject: "alice", clientId: "web", scopes: ["orders:read"] });
  });

  it.each(["native", "spa"] as const)(
    "serves a public client, %s, with PKCE and no secret",
    async (client) => {
      stopClock();
      const tokens = await obtainTokens(testHost(), { client });
      expect("refresh_token" in tokens).toBe(client === "native");
    },
  );

  it("answers 302 after a remembered consent", async () => {
    stopClock();
    const host = testHost();
    await obtainCode(host, { client: "web" });
    const again = await authorize(host.browser(), { client: "web" });
    expect(again.status).toBe(302);
    expect(again.headers["location"]).toMatch(new RegExp(`^${clients.web.redirectUris[0]}\\?code=`));
  });
});
