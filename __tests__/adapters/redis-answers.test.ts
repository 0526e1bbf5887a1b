import { Redis } from "ioredis";
import { createClient, RESP_TYPES } from "redis";
import { type RedisClient, redisStorage } from "../../lib/redis";
import { newAccessToken, newAuthorization, newConsent, newId } from "../../lib/testing/contract/records";
import { redis, type RedisServer, startRedis } from "../servers/redis-server";
import { everyCall, expectJourney, now, spa } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

function answers(): void {
  let server: RedisServer;
  let text: ReturnType<typeof createClient>;

  beforeAll(async () => {
    server = await startRedis();
    text = createClient({ url: server.url });
    await text.connect();
  });
  afterAll(async () => {
    text.destroy();
    await server.close();
  });

  const buffers = () => text.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }) as RedisClient;

  it("of a client that gives Buffers make no revoked token good: the call rejects and says why", async () => {
    const prefix = `${newId()}:`;
    const token = newAccessToken(now);
    await redisStorage({ client: text, prefix }).accessTokens.revoke(token, now);
    const asked = redisStorage({ client: buffers(), prefix, allowEviction: true }).accessTokens.isRevoked(
      token.tokenId,
      now,
    );
    await expect(asked).rejects.toMatchObject({ code: "redis-client-answer" });
  });

  it("of a client that gives Buffers are refused by every call that reads text", async () => {
    const prefix = `${newId()}:`;
    const [good, bad] = [
      redisStorage({ client: text, prefix }),
      redisStorage({ client: buffers(), prefix, allowEviction: true }),
    ];
    const [authorization, consent] = [newAuthorization(now), newConsent(now)];
    await good.clients.save(spa);
    await good.authorizations.create(authorization, now);
    await good.consents.save(consent, now);
    const calls = [
      bad.clients.find(spa.clientId),
      bad.clients.isBrowserOrigin("https://spa.example"),
      bad.authorizations.find(authorization.authorizationId, now),
      bad.authorizations.revokeAll(authorization, now),
      bad.consents.find(consent, now),
      bad.consents.list(consent.subject, now),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "redis-client-answer" });
  });

  it("of such a client are refused by every call, as the first question is for eviction", async () => {
    const calls = everyCall(
      redisStorage({
        client: text.withTypeMapping({
          [RESP_TYPES.VERBATIM_STRING]: Buffer,
          [RESP_TYPES.BLOB_STRING]: Buffer,
        }),
      }),
    );
    for (const call of Object.values(calls))
      await expect(call()).rejects.toMatchObject({ code: "redis-client-answer" });
  });

  it.each([
    ["an object", { expiresAt: now + 60 }],
    ["true", true],
    ["a number", 1],
    ["a list", ["1"]],
  ])("that are %s in place of text are refused", async (_what, answer) => {
    const storage = redisStorage({ client: { sendCommand: async () => answer }, allowEviction: true });
    await expect(storage.accessTokens.isRevoked("a", now)).rejects.toMatchObject({
      code: "redis-client-answer",
    });
    await expect(storage.authorizations.find("a", now)).rejects.toMatchObject({
      code: "redis-client-answer",
    });
  });

  it.each([
    ["nothing", null],
    ["an object", {}],
    ["text", "yes"],
    ["true", true],
  ])("that are %s in place of a number let nobody win", async (_what, answer) => {
    const storage = redisStorage({ client: { sendCommand: async () => answer }, allowEviction: true });
    const handle = { authorizationId: "a", digest: "b" };
    await expect(storage.authorizationCodes.consume(handle, now)).rejects.toMatchObject({
      code: "redis-client-answer",
    });
  });

  it("may give numbers as text", async () => {
    const client = new Redis(server.port, "127.0.0.1", { stringNumbers: true });
    await expectJourney(client);
    await client.quit();
  });
}

describeWith(redis, {
  name: "redisStorage: answers of the client (RFC 7009 §2.2, 6749 §10.5)",
  tests: answers,
});
