import express from "express";
import request from "supertest";
import { type AuthServerEvent, createResourceServer } from "../../lib/resource-server";
import { stopClockForEachTest } from "../hosts/clock";

const clock = stopClockForEachTest();

const audience = "https://api.example/orders";
const metadataUrl = "https://api.example/.well-known/oauth-protected-resource/orders";

/** Nobody listens there, and nothing is fetched before the first request. */
const baseUrl = "http://127.0.0.1:9/login";

function serverWith(issuers?: readonly string[], scopes = ["orders:read"]) {
  const events: AuthServerEvent[] = [];
  const auth = createResourceServer({
    baseUrl,
    apis: { orders: { audience, scopes, ...(issuers && { issuers }) } },
    onEvent: (event) => void events.push(event),
  });
  return { events, get: () => request(express().use(auth.wellKnown)).get(new URL(metadataUrl).pathname) };
}

const started = (): object => ({ kind: "started", at: clock.now(), rootDocuments: [metadataUrl] });

describe("the metadata of an API apart from its authorization server (RFC 9728 §3.1, §3.2)", () => {
  it("names the issuers that the options list", async () => {
    const issuer = "https://host.example/login/auth/password/api/orders";
    const { events, get } = serverWith([issuer]);
    expect(events).toEqual([started()]);
    const { status, body } = await get();
    expect([status, body]).toMatchObject([200, { resource: audience, authorization_servers: [issuer] }]);
    expect(events).toHaveLength(1);
  });

  it("has no list of scopes where there are none", async () => {
    const { get } = serverWith(["https://host.example/login/auth/password/api/orders"], []);
    expect((await get()).body).not.toHaveProperty("scopes_supported");
  });

  it("cannot be had while nobody tells the issuers, and the event says why", async () => {
    const { events, get } = serverWith();
    expect((await get()).status).toBe(503);
    expect(events).toEqual([
      started(),
      {
        kind: "server-error",
        at: clock.now(),
        cause: expect.objectContaining({ code: "api-metadata-unusable" }) as unknown,
      },
    ]);
  });
});

describe("acr of a route apart from the authorization server, which knows no list (RFC 9470 §3)", () => {
  const auth = createResourceServer({ baseUrl, apis: { orders: { audience, scopes: [] } } });

  it.each(["", " ", "otp key", "otp otp", " otp", "otp ", 'o"tp', "o\\tp", "o\r\ntp", "ötp"])(
    "is not %j",
    (acr) => {
      for (const given of [acr, ["otp", acr]])
        expect(() => auth.requireBearer({ api: "orders", acr: given })).toThrow(
          "acr must be one or more values without spaces.",
        );
    },
  );

  it("may be a URI", () => {
    expect(auth.requireBearer({ api: "orders", acr: "urn:example:acr:otp" })).toBeInstanceOf(Function);
  });
});
