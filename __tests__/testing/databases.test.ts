/** Minted tokens in PostgreSQL and Redis, whose clocks are their own. */
import request from "supertest";
import type { Client, Storage } from "../../lib";
import { refusedKinds, testTokens } from "../../lib/testing";
import { clients } from "../fixture/clients";
import { describeWithPostgres, openStorage } from "../fixture/postgres-storage";
import { redis } from "../fixture/redis-server";
import { openBed } from "../fixture/redis-storage";
import { describeWith } from "../fixture/server-process";
import { tokenHost, tokenHostOptions } from "../fixture/token-host";

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
