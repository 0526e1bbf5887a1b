// The attacker sends tokens of their own making to an API that asks the authorization server about tokens, so that it is busy asking.
import request from "supertest";
import { familyOf, obtainTokens } from "../browser/journey";
import { newLatch } from "../storage/latch";
import {
  introspection,
  type RemoteApi,
  remoteApi,
  type RemoteServer,
  remoteServer,
} from "../resource-server/remote";

let server: RemoteServer;
let api: RemoteApi;

beforeEach(async () => {
  server = await remoteServer();
  api = remoteApi(server, { introspection });
});
afterEach(() => server.stop());

async function statusOf(token: string, path = "/orders"): Promise<number> {
  return (await request(api.app).get(path).auth(token, { type: "bearer" })).status;
}

function questions(): number {
  return server.asked.filter((line) => line.endsWith("/introspect")).length;
}

/** In the form of an opaque token, but nobody has issued it. */
function madeUp(index: number): string {
  return String(index).padStart(43, "x");
}

const asksAtOnce = 32;

describe("made-up tokens at an API that introspects (RFC 7662 §4)", () => {
  it("made-up opaque tokens do not hold up tokens whose signature is good", async () => {
    const { accessToken } = await familyOf(server.host, "web");
    // from then on the API knows the metadata, and only asks about tokens
    expect(await statusOf(madeUp(0))).toBe(401);
    server.asked.length = 0;
    const latch = newLatch();
    server.hold = () => latch.opened;
    const flood = Array.from({ length: asksAtOnce + 8 }, (_, index) => statusOf(madeUp(index)));
    while (questions() < asksAtOnce) await new Promise((resolve) => setImmediate(resolve));
    server.hold = undefined;
    expect(await statusOf(accessToken)).toBe(200);
    latch.open();
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401]));
  });

  it.each([
    ["a word", "x"],
    ["42 characters", "x".repeat(42)],
    ["44 characters", "x".repeat(44)],
    ["a character that base64url lacks", `${"x".repeat(42)}+`],
    ["the form of a refresh token", `${"x".repeat(22)}.${"x".repeat(43)}`],
  ])("the authorization server is not asked about a text that it never issues: %s", async (_, text) => {
    expect(await statusOf(text)).toBe(401);
    expect(questions()).toBe(0);
  });

  it("the authorization server is asked about an opaque token that it has issued", async () => {
    const pair = { api: "reports" } as const;
    const { access_token: token } = await obtainTokens(server.host, { client: "web", pair });
    expect(await statusOf(token, "/reports")).toBe(200);
    expect(questions()).toBe(1);
  });
});
