import request from "supertest";
import { type Client, generateClientKey } from "../../lib";
import { obtainTokens } from "../browser/journey";
import type { Pair } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { revoke } from "../requests/client-requests";
import { type RemoteApi, remoteApi, type RemoteServer, remoteServer } from "./remote";

const clock = stopClockForEachTest();
const { privateKey, jwks } = generateClientKey();
const apiClient: Client = {
  clientId: "api",
  name: "The APIs themselves",
  confidential: true,
  jwks,
  redirectUris: [],
  subscriptions: { orders: { grantTypes: [] }, reports: { grantTypes: [] } },
};

let server: RemoteServer;

beforeEach(async () => {
  server = await remoteServer({ clients: [...Object.values(clients), apiClient] });
});
afterEach(() => server.stop());

function apiWith(key: typeof privateKey): RemoteApi {
  return remoteApi(server, {
    introspection: { clientId: "api", privateKey: key },
    revocationLagSeconds: 0,
  });
}

async function token(pair: Pair): Promise<string> {
  return (await obtainTokens(server.host, { client: "web", pair })).access_token;
}

async function statusOf(api: RemoteApi, { text, path }: { text: string; path: string }): Promise<number> {
  return (await request(api.app).get(path).auth(text, { type: "bearer" })).status;
}

describe("introspection by an API that has a key (RFC 7662 §2.1, 7523 §2.2)", () => {
  it.each<["orders" | "reports", string]>([
    ["orders", "a JWT"],
    ["reports", "an opaque token"],
  ])("tells at %s of %s, each time with another assertion, until it is revoked", async (id) => {
    const api = apiWith(privateKey);
    const asked = { text: await token({ api: id }), path: `/${id}` };
    expect([await statusOf(api, asked), await statusOf(api, asked)]).toEqual([200, 200]);
    await revoke(server.host, { token: asked.text, pair: { api: id } });
    expect(await statusOf(api, asked)).toBe(401);
    expect(server.asked.filter((line) => line.endsWith("/introspect"))).toHaveLength(3);
    expect(api.events.map(({ kind }) => kind)).toEqual(["bearer-refused"]);
  });

  it("goes on after an assertion has expired", async () => {
    const api = apiWith(privateKey);
    const asked = { text: await token({}), path: "/orders" };
    expect(await statusOf(api, asked)).toBe(200);
    clock.advance(120);
    expect(await statusOf(api, asked)).toBe(200);
  });

  it.each<"orders" | "reports">(["orders", "reports"])(
    "with the key of another client is told to the host at %s, and no event contains a key or a token",
    async (id) => {
      const wrong = generateClientKey().privateKey;
      const api = apiWith(wrong);
      const text = await token({ api: id });
      expect(await statusOf(api, { text, path: `/${id}` })).toBe(500);
      const last = api.events.at(-1);
      const cause = last?.kind === "server-error" ? last.cause : undefined;
      expect(cause).toMatchObject({
        code: "introspection-request-refused",
        message: expect.stringContaining("privateKey") as string,
      });
      const told = JSON.stringify(api.events) + String(cause);
      for (const hidden of [String(wrong["d"]), text]) expect(told).not.toContain(hidden);
      expect(server.host.events.map((event) => "code" in event && event.code)).toContain(
        "assertion-signature-wrong",
      );
    },
  );
});
