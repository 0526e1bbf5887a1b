/** What docs/resource-server.md prints is run against an authorization server. */
import type { Express } from "express";
import request from "supertest";
import type { Storage } from "../../lib";
import { createResourceServer, type ResourceServerOptions } from "../../lib/resource-server";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { codeBelow, runBlock } from "../sources/doc-block";
import { obtainTokens } from "../browser/journey";
import { type RemoteServer, remoteServer } from "./remote";

const page = "resource-server.md";
let server: RemoteServer;

beforeEach(async () => {
  const audience = "https://api.example/orders";
  const scopes = { read: "See your orders" };
  server = await remoteServer({
    apis: {
      ...apis,
      orders: { audience, scopes: { ...scopes, ...apis["orders"]?.scopes }, authMethods: ["password"] },
    },
    clients: [{ ...clients.web, subscriptions: { orders: {} } }],
  });
});
afterEach(() => server.stop());

it("five lines protect an app", async () => {
  const [code = ""] = codeBelow(page, "Protect an app");
  expect(code.match(/\/\/ (?:new|changed)/g)).toHaveLength(5);
  const here = (options: ResourceServerOptions): object =>
    createResourceServer({ ...options, baseUrl: server.baseUrl });
  const modules = { "authmount/resource-server": { createResourceServer: here } };
  const { app } = runBlock({ page, heading: "Protect an app", modules }, {}) as { app: Express };
  const { access_token } = await obtainTokens(server.host, { client: "web", fields: { scope: "read" } });
  expect((await request(app).get("/orders")).status).toBe(401);
  const { body } = await request(app).get("/orders").auth(access_token, { type: "bearer" });
  expect(body).toEqual({ ordersOf: "alice" });
});

it("two lines move an API to another process", () => {
  const [diff = ""] = codeBelow(page, "Move an API out", "diff");
  expect(diff.match(/^\+/gm)).toHaveLength(2);
});

it("the client of an API can introspect and nothing else", async () => {
  const told: string[] = [];
  const { storage } = runBlock(
    { page, heading: "Revocation" },
    { console: { log: (text: string) => told.push(text) } },
  ) as {
    storage: Storage;
  };
  expect(await storage.clients.find("orders-api")).toMatchObject({
    subscriptions: { orders: { grantTypes: [] } },
  });
  expect(told).toHaveLength(1);
});
