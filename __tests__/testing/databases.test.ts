/** Minted tokens in PostgreSQL and Redis, whose clocks are their own. */
import request from "supertest";
import type { Client, Storage } from "../../lib";
import { refusedKinds, testTokens } from "../../lib/testing";
import { clients } from "../hosts/clients";
import { describeWithPostgres, openStorage } from "../servers/postgres-storage";
import { redis } from "../servers/redis-server";
import { openBed } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";
import { tokenHost, tokenHostOptions } from "./token-host";

type Opened = Storage & { readonly clients: { save(client: Client): Promise<void> } };

function tokensIn(open: () => Promise<Opened>): void {
  it.each(["orders", "reports"])("of %s are accepted and refused as they should be", async (api) => {
    const storage = await open();
    await storage.clients.save(clients.web);
    const options = await tokenHostOptions({ storage });
    const { app } = tokenHost(options);
    const tokens = testTokens(options);
    const alice = { api, client: "web", subject: "alice", scope: `${api}:read` };
    const send = (headers: Readonly<Record<string, string>>): request.Test =>
      request(app).get(`/${api}/read`).set(headers);
    await tokens.checkRoute(alice, send);
    for (const kind of refusedKinds) {
      const { status } = await send({ authorization: `Bearer ${await tokens[kind](alice)}` });
      expect(status).toBe(401);
    }
  });
}

describeWithPostgres(() => {
  describe("tokens in PostgreSQL", () => tokensIn(() => openStorage()));
});

describeWith(redis, {
  name: "tokens in Redis",
  tests() {
    const bed = openBed();
    tokensIn(() => Promise.resolve(bed().fresh().storage));
  },
});
