/** That the parts of the server are put together as they should be. */
import request from "supertest";
import { type AuthServerEvent, createAuthServer, generateSigningKey, memoryStorage } from "../lib";
import { hearAnswers, unsubscribeAfterEachTest } from "./requests/channels";
import { stopClockForEachTest } from "./hosts/clock";
import { testHost } from "./hosts/host";
import { cookiePrefix, visit } from "./browser/interaction";
import { withChanges } from "./records/options";
import { authorizationRecord } from "./records/records";

unsubscribeAfterEachTest();
const clock = stopClockForEachTest();

describe("the start of a server", () => {
  it("tells which documents belong to the root of the origin (RFC 8414 §3.1, 9728 §3.1)", () => {
    const events: AuthServerEvent[] = [];
    createAuthServer(withChanges({ onEvent: (event: AuthServerEvent) => void events.push(event) }));
    expect(events).toEqual([
      {
        kind: "started",
        at: clock.now(),
        rootDocuments: [
          "https://host.example/.well-known/oauth-authorization-server/login/auth/password/api/orders",
          "https://api.example/.well-known/oauth-protected-resource/orders",
        ],
      },
    ]);
  });
});

describe("the cookie of a visit (RFC 6265 §4.1.2.5)", () => {
  it.each([
    ["is for https alone where baseUrl is https", "https://host.example/login", true],
    ["goes without https where baseUrl is on this machine", "http://localhost:3000/login", false],
  ])("%s", async (_, baseUrl, secure) => {
    const host = testHost({ baseUrl });
    const { first } = await visit(host);
    const [cookie = ""] = first.headers["set-cookie"] ?? [];
    expect([cookie.startsWith(cookiePrefix), /; Secure/.test(cookie)]).toEqual([secure, secure]);
  });
});

describe("what pages of the host call", () => {
  it("tells a sign-in page who asks for what", async () => {
    const { browser, id } = await visit(testHost());
    const { body } = await browser.get("/signin", { interaction: id });
    expect(body).toMatchObject({ scopes: { "orders:read": "See your orders" }, client: { clientId: "web" } });
  });

  it.each([
    ["approve", "/allow"],
    ["deny", "/cancel"],
  ])("is traced by its name: %s", async (endpoint, path) => {
    const { browser, id } = await visit(testHost());
    const traces = hearAnswers();
    await browser.post(path, { interaction: id });
    expect(traces[0]).toMatchObject({ endpoint, method: "POST" });
  });

  it("lists what lives of a person", async () => {
    const storage = memoryStorage({ clients: [] });
    const record = authorizationRecord({ createdAt: clock.now(), expiresAt: clock.now() + 60 });
    await storage.authorizations.create(record, clock.now());
    const { authorizations } = createAuthServer(withChanges({ storage }));
    expect(await authorizations.list("alice")).toMatchObject({
      authorizations: [{ authorizationId: record.authorizationId }],
    });
    expect(await authorizations.list("bob")).toEqual({ authorizations: [], next: undefined });
  });
});

describe("a signing key that was replaced (RFC 7517 §5)", () => {
  const [old, next] = [generateSigningKey(), generateSigningKey()];

  it.each([
    [0, 2],
    [599, 2],
    [600, 1],
  ])(
    "is published until the longest-lived token of any API has expired: after %d seconds",
    async (ago, keys) => {
      const signingKeys = [old, { key: next, signsFrom: clock.now() - ago }];
      const host = testHost({ signingKeys });
      const { body } = await request(host.app).get("/login/jwks");
      expect((body as { keys: readonly unknown[] }).keys).toHaveLength(keys);
    },
  );
});
