// The attacker names the URLs of slow servers, as many as the server fetches from at once, to keep others out.
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { memoryStorage } from "../../lib";
import { issuer, pairPath } from "../hosts/apis";
import { assertionOf, jwkOf, presenting } from "../requests/client-assertions";
import { postToken } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { documentServer, type DocumentServer } from "../servers/document-server";
import type { TestHost } from "../hosts/host";
import { newLatch } from "../storage/latch";
import { listen } from "../hosts/listening";
import { askAs, redirectUri, refreshAs, serveDocument, strangersHost, tokensFor } from "../browser/strangers";

const slowFetches = 32;
const slowFetchesOfHost = 8;
let slow: DocumentServer[];
let good: DocumentServer;

beforeEach(async () => {
  const hosts = Array.from({ length: slowFetches / slowFetchesOfHost }, documentServer);
  [slow, good] = [await Promise.all(hosts), await documentServer()];
});

afterEach(() => Promise.all([...slow, good].map((server) => server.close())));

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** The parameters of a request for a token of the client's own, signed by its key unless another one is given. */
function ownTokenBy(
  clientId: string,
  { kid = "one", key = privateKey }: { kid?: string; key?: KeyObject } = {},
): Record<string, string> {
  const claims = { iss: clientId, sub: clientId, aud: issuer };
  const proof = presenting(assertionOf({ key, header: { kid }, claims }));
  return { grant_type: "client_credentials", scope: "orders:read", ...proof };
}

/** A host with a registered client whose keys are at a URL. */
function hostOfRemoteKeys(): { host: TestHost; clientId: string } {
  const { clientId, name, confidential, redirectUris, subscriptions } = clients.machine;
  const record = { clientId, name, confidential, redirectUris, subscriptions, jwksUri: good.url("/jwks") };
  return { host: strangersHost({ storage: memoryStorage({ clients: [record] }) }), clientId };
}

/** True when the server fetches from this host as often as it may at once. */
const isFull = ({ asked: { length } }: DocumentServer): boolean => length === slowFetchesOfHost;

/** What is answered while so many documents of each of these hosts are asked for and do not arrive. */
async function whileHeld<T>(
  { host, servers, each }: { host: TestHost; servers: readonly DocumentServer[]; each: number },
  ask: () => Promise<T>,
): Promise<T> {
  const latch = newLatch();
  const browser = host.browser();
  const asked = servers.flatMap((server) => {
    server.hold = () => latch.opened;
    return Array.from({ length: each }, (_, index) =>
      askAs(browser, { clientId: server.url(`/${index}/client.json`) }),
    );
  });
  while (!servers.every(isFull)) await new Promise((resolve) => setImmediate(resolve));
  const answer = await ask();
  latch.open();
  await Promise.all(asked);
  return answer;
}

describe("as many slow documents as are fetched at once (client id metadata documents §8)", () => {
  it("do not keep out a registered client whose keys are at a URL", async () => {
    publish(jwkOf(publicKey, { kid: "one" }));
    const { host, clientId } = hostOfRemoteKeys();
    const response = await whileHeld({ host, servers: slow, each: slowFetchesOfHost }, () =>
      postToken(host, { fields: ownTokenBy(clientId) }),
    );
    expect(response.status).toBe(200);
  });

  it("do not keep out a client that somebody has approved, not even in a process that has just started", async () => {
    const { storage, clientId, token } = await approved();
    const host = strangersHost({ storage });
    const response = await whileHeld({ host, servers: slow, each: slowFetchesOfHost }, () =>
      refreshAs(host, { clientId, token }),
    );
    expect(response.status).toBe(200);
  });

  it("of one host take no more than eight places: documents of others are fetched", async () => {
    const host = strangersHost();
    const clientId = serveDocument(good);
    const [one] = slow;
    const page = await whileHeld({ host, servers: [one!], each: slowFetches }, () =>
      askAs(host.browser(), { clientId }),
    );
    expect(page.status).toBe(200);
  });
});

/** A client with a metadata document that somebody has approved, and its refresh token. */
async function approved(): Promise<{
  host: TestHost;
  storage: TestHost["storage"];
  clientId: string;
  token: string;
}> {
  const host = strangersHost();
  const clientId = serveDocument(good);
  const { refresh_token: token = "" } = await tokensFor(host, clientId);
  return { host, storage: host.storage, clientId, token };
}

describe("a made-up token around an authorization that exists (client id metadata documents §8)", () => {
  it.each(["code", "refresh_token"])("fetches no document: %s", async (name) => {
    const { storage, clientId, token } = await approved();
    // the id stands in every access token, and in events
    const [id] = token.split(".");
    const host = strangersHost({ storage });
    good.asked.length = 0;
    const grant_type = name === "code" ? "authorization_code" : name;
    const fields = { grant_type, client_id: clientId, [name]: `${id}.${"x".repeat(43)}` };
    expect((await postToken(host, { fields })).body).toMatchObject({ error: "invalid_client" });
    expect(good.asked).toEqual([]);
    expect((await refreshAs(host, { clientId, token })).status).toBe(200);
    expect(good.asked).toHaveLength(1);
  });
});

describe("more documents than are remembered (client id metadata documents §8)", () => {
  it("a thousand documents of one host push out no client that somebody has approved", async () => {
    const { host, clientId, token } = await approved();
    const app = await listen(host.app);
    const [flood] = slow;
    const askOnce = async (index: number): Promise<string> => {
      const path = `/${index}/client.json`;
      const stranger = flood!.url(path);
      flood!.documents.set(path, { body: { client_id: stranger, redirect_uris: [redirectUri] } });
      const query = new URLSearchParams({ client_id: stranger }).toString();
      return (await app.send({ path: `${pairPath()}/authorize?${query}` })).text;
    };
    for (let index = 0; index < 1_000; index += slowFetchesOfHost) {
      const batch = Array.from({ length: slowFetchesOfHost }, (_, place) => askOnce(index + place));
      // the client is known by then, whatever else the request lacks
      for (const page of await Promise.all(batch)) expect(page).toContain("redirect_uri is missing.");
    }
    await app.close();
    await good.close();
    expect((await refreshAs(host, { clientId, token })).status).toBe(200);
  });
});

function publish(...keys: readonly object[]): void {
  good.documents.set("/jwks", { body: { keys } });
}

describe("a made-up kid in the name of a registered client (RFC 7517 §4.5)", () => {
  const next = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const first = jwkOf(publicKey, { kid: "one" });

  it("does not make invalid_client of the key that the client has just published", async () => {
    const clock = stopClock();
    publish(first);
    const { host, clientId } = hostOfRemoteKeys();
    const madeUp = await postToken(host, { fields: ownTokenBy(clientId, { kid: "made up" }) });
    expect(madeUp.body).toMatchObject({ error: "invalid_client" });
    clock.advance(1);
    publish(first, jwkOf(next.publicKey, { kid: "two" }));
    const withNext = () =>
      postToken(host, { fields: ownTokenBy(clientId, { kid: "two", key: next.privateKey }) });
    const early = await withNext();
    expect(early.body).toMatchObject({ error: "temporarily_unavailable" });
    expect(early.headers["retry-after"]).toBe("30");
    expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", code: "client-keys-not-asked-again" });
    expect(good.asked).toEqual(["/jwks"]);
    clock.advance(30);
    expect((await withNext()).status).toBe(200);
    expect(good.asked).toEqual(["/jwks", "/jwks"]);
  });

  it("keeps no key out that is known, and excuses no wrong signature", async () => {
    const clock = stopClock();
    publish(first);
    const { host, clientId } = hostOfRemoteKeys();
    await postToken(host, { fields: ownTokenBy(clientId, { kid: "made up" }) });
    clock.advance(1);
    expect((await postToken(host, { fields: ownTokenBy(clientId) })).status).toBe(200);
    const forged = await postToken(host, { fields: ownTokenBy(clientId, { key: next.privateKey }) });
    expect(forged.body).toMatchObject({ error: "invalid_client" });
  });
});

describe("a key set that is nested two thousand deep (RFC 8259 §9)", () => {
  it.each([
    ["beside the keys", `{"keys":[],"x":${"[".repeat(2_000)}${"]".repeat(2_000)}}`],
    ["in a key", `{"keys":[{"kty":"EC","x":${"[".repeat(2_000)}${"]".repeat(2_000)}}]}`],
  ])("is one without the key: %s", async (_, body) => {
    const clock = stopClock();
    good.documents.set("/jwks", { body });
    const { host, clientId } = hostOfRemoteKeys();
    await postToken(host, { fields: ownTokenBy(clientId) });
    clock.advance(31);
    const again = await postToken(host, { fields: ownTokenBy(clientId) });
    expect([again.status, again.body]).toMatchObject([401, { error: "invalid_client" }]);
  });
});
