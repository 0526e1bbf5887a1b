/** What tests of the Redis adapter ask of it and of its server. */
import { publicRecord } from "../records/records";
import { redisClient, type RedisServer, startRedis } from "./redis-server";
import type { EpochSeconds } from "../../lib/protocol/time";
import { type RedisClient, redisStorage, type RedisStorage, type RedisStorageOptions } from "../../lib/redis";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newCode,
  newConsent,
  newDigest,
  newId,
  newDeviceRequest,
  newParkedRequest,
  newRefreshToken,
  newRegistration,
  newUse,
} from "../../lib/testing/contract/records";
import { everyCall as everyServerCall } from "../../lib/testing/contract/storage-contract";

export type NodeClient = Awaited<ReturnType<typeof redisClient>>;
export type Sender = { sendCommand(args: string[]): Promise<unknown> };

/** The server has a clock of its own, so records live by the real one. */
export const now: EpochSeconds = Math.floor(Date.now() / 1000);
export const clockDriftSeconds = 300;

export const spa = publicRecord("browser", {
  redirectUris: ["https://spa.example/a", "https://spa.example:8443/a"],
});

/** The same client, and every command that went through it. */
export function recording(client: Sender): Sender & { readonly commands: (readonly string[])[] } {
  const commands: (readonly string[])[] = [];
  return {
    commands,
    async sendCommand(args) {
      commands.push(args);
      return client.sendCommand(args);
    },
  };
}

/** True for `INFO`, by which the storage learns of the settings of its servers. */
export function asksAboutServer([name]: readonly string[]): boolean {
  return name === "INFO";
}

/** Holds the timers that make the storage ask its servers again. What it returns lets their time pass. */
export function holdRechecks(): () => void {
  const { setTimeout: begin } = globalThis;
  const waiting: (() => void)[] = [];
  const hold = (act: () => void, milliseconds?: number): NodeJS.Timeout => {
    if (milliseconds === 5_000) waiting.push(act);
    return begin(milliseconds === 5_000 ? () => undefined : act, milliseconds);
  };
  jest.spyOn(globalThis, "setTimeout").mockImplementation(hold);
  return () => waiting.splice(0).forEach((act) => act());
}

/** Every call that the server makes, and those that a host makes. */
export function everyCall(storage: RedisStorage): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    "clients.save": () => storage.clients.save(spa),
    "clients.delete": () => storage.clients.delete(spa.clientId),
    "clients.list": () => storage.clients.list({ limit: 10 }),
    migrate: () => storage.migrate(),
    ...everyServerCall(storage, now),
  };
}

/** Writes a record of each kind, changes each that can change, and gives what the storage says of them. */
export async function journey(storage: RedisStorage, authorizationId = newId()) {
  const { clients, consents, authorizations, authorizationCodes, refreshTokens, accessTokens } = storage;
  const { clientAssertions, clientRegistrations, parkedRequests } = storage;
  const authorization = newAuthorization(now, { authorizationId, expiresAt: now + 700 });
  const code = newCode(now, { authorizationId, expiresAt: now + 710 });
  const from = newRefreshToken(now, { authorizationId, expiresAt: now + 720 });
  const to = newRefreshToken(now, { authorizationId, expiresAt: now + 730 });
  const [token, consent] = [newAccessToken(now, { expiresAt: now + 740 }), newConsent(now)];
  await clients.save(spa);
  await consents.save(consent, now);
  await authorizations.create(authorization, now);
  await authorizationCodes.create(code, now);
  await refreshTokens.create(from, now);
  await accessTokens.create(token, now);
  const first = await authorizationCodes.consume(code, now);
  const second = await authorizationCodes.consume(code, now);
  const use = newUse(now);
  const rotated = await refreshTokens.rotate({ from, to, use }, now);
  const again = await refreshTokens.rotate({ from, to: { ...to, digest: newDigest() } }, now);
  await accessTokens.revoke({ tokenId: token.tokenId, expiresAt: now + 750 }, now);
  await authorizations.noteUse(authorizationId, now + 5);
  await authorizations.noteUse(authorizationId, now + 3);
  const listed = await authorizations.list(authorization.subject, { limit: 10 }, now);
  await authorizations.revokeAll(authorization, now);
  const assertion = newAssertion(now, { expiresAt: now + 760 });
  const isUsed = [await clientAssertions.use(assertion, now), await clientAssertions.use(assertion, now)];
  const request = newParkedRequest(now, { expiresAt: now + 790 });
  const answers = [request, { ...request, by: newId() }];
  const parked = [];
  for (const one of answers) parked.push(await parkedRequests.create(one, { now }));
  const [device, answer] = [
    newDeviceRequest(now, { expiresAt: now + 785 }),
    { as: "denied", by: newId() } as const,
  ];
  const { key, owner } = device;
  const others = [1, 2].map(() => newDeviceRequest(now, { owner, expiresAt: now + 780 }));
  for (const one of [device, ...others]) parked.push(await parkedRequests.create(one, { limit: 2, now }));
  for (const _ of [1, 2]) parked.push(await parkedRequests.close({ key, ...answer }, now));
  const [registration, other] = [newRegistration(now), newRegistration(now, { expiresAt: now + 770 })];
  const { clientId } = registration.client;
  for (const one of [registration, other]) await clientRegistrations.create(one, { limit: 2, now });
  await clientRegistrations.extend({ clientId, expiresAt: now + 780 }, now);
  const said = {
    listed,
    client: await clients.find(spa.clientId),
    clients: await clients.list({ limit: 10 }),
    origin: await clients.isBrowserOrigin("https://spa.example"),
    consent: await consents.find(consent, now),
    consents: await consents.list(consent.subject, now),
    authorization: await authorizations.find(authorizationId, now),
    code: await authorizationCodes.find(code, now),
    from: await refreshTokens.find(from, now),
    to: await refreshTokens.find(to, now),
    token: await accessTokens.find(token.digest, now),
    isRevoked: await accessTokens.isRevoked(token.tokenId, now),
    answers: [first, second, rotated, again],
    isUsed,
    parked,
    answered: await parkedRequests.find(request.key, now + 789),
    denied: await parkedRequests.find(key, now + 784),
    open: await parkedRequests.find(others[0]?.key ?? "", now),
    registered: [
      await clientRegistrations.find(clientId, now + 779),
      await clientRegistrations.find(other.client.clientId, now),
    ],
  };
  const expected: typeof said = {
    listed: [{ ...authorization, lastUsedAt: now + 5 }],
    client: spa,
    clients: [spa],
    origin: true,
    consent,
    consents: [consent],
    authorization: { ...authorization, revoked: true },
    code: { ...code, consumed: true },
    from: { ...from, used: true, use },
    to,
    token,
    isRevoked: true,
    answers: ["consumed", "not-consumed", "rotated", use],
    isUsed: ["used", "used-before"],
    parked: ["created", "taken", "created", "created", "full", "closed", "not-open"],
    answered: request,
    denied: { ...device, state: "denied", by: answer.by },
    open: others[0],
    registered: [registration.client, other.client],
  };
  return { said, expected };
}

export async function expectJourney(client: RedisClient, options: Omit<RedisStorageOptions, "client"> = {}) {
  const { said, expected } = await journey(redisStorage({ client, prefix: `${newId()}:`, ...options }));
  expect(said).toEqual(expected);
}

/** What the client is asked when a key is looked at from outside. */
export async function ask<T>(client: Sender, ...args: readonly (string | number)[]): Promise<T> {
  return (await client.sendCommand(args.map(String))) as T;
}

export const keysOf = (client: Sender, prefix: string): Promise<string[]> =>
  ask(client, "KEYS", `${prefix}*`);

export async function refusals(
  calls: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const [name, call] of Object.entries(calls)) await call().catch(() => refused.push(name));
  return refused;
}

/** A server of its own for the tests around the call, and a client of it. */
export interface Bed {
  readonly server: RedisServer;
  readonly client: NodeClient;
  /** A storage that shares no key with that of another test. */
  readonly fresh: (options?: Omit<RedisStorageOptions, "client" | "prefix">) => {
    readonly storage: RedisStorage;
    readonly prefix: string;
    readonly commands: (readonly string[])[];
  };
  readonly expiryOf: (key: string) => Promise<number>;
}

/** Starts the server before the tests of the `describe` around it, and stops it after them. */
export function openBed(): () => Bed {
  let server: RedisServer;
  let client: NodeClient;

  beforeAll(async () => {
    server = await startRedis();
    client = await redisClient(server.url);
  });
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  return () => ({
    server,
    client,
    fresh(options = {}) {
      const [prefix, recorder] = [`${newId()}:`, recording(client)];
      const storage = redisStorage({ client: recorder, prefix, ...options });
      return { storage, prefix, commands: recorder.commands };
    },
    expiryOf: (key) => ask<number>(client, "EXPIRETIME", key),
  });
}
