// The attacker names the URLs of slow servers, as many as the server fetches from at once, to keep others out.
import { generateKeyPairSync } from "node:crypto";
import { memoryStorage } from "../../lib";
import { issuer } from "../fixture/apis";
import { assertionOf, jwkOf, presenting } from "../fixture/client-assertions";
import { postToken } from "../fixture/client-requests";
import { clients } from "../fixture/clients";
import { documentServer, type DocumentServer } from "../fixture/document-server";
import { newLatch } from "../fixture/latch";
import { askAs, strangersHost } from "../fixture/strangers";

const slowFetches = 32;
let slow: DocumentServer;
let good: DocumentServer;

beforeEach(async () => {
  [slow, good] = [await documentServer(), await documentServer()];
});

afterEach(() => Promise.all([slow.close(), good.close()]));

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** The parameters of a request for a token of the client's own. */
function ownTokenBy(clientId: string, scope: string): Record<string, string> {
  const claims = { iss: clientId, sub: clientId, aud: issuer };
  const proof = presenting(assertionOf({ key: privateKey, header: { kid: "one" }, claims }));
  return { grant_type: "client_credentials", scope, ...proof };
}

describe("as many slow documents as are fetched at once (client id metadata documents §8)", () => {
  it("do not keep out a registered client whose keys are at a URL", async () => {
    good.documents.set("/jwks", { body: { keys: [jwkOf(publicKey, { kid: "one" })] } });
    const { clientId, name, confidential, redirectUris, subscriptions } = clients.machine;
    const jwksUri = good.url("/jwks");
    const record = { clientId, name, confidential, redirectUris, subscriptions, jwksUri };
    const host = strangersHost({ storage: memoryStorage({ clients: [record] }) });
    const latch = newLatch();
    slow.hold = () => latch.opened;
    const browser = host.browser();
    const asked = Array.from({ length: slowFetches }, (_, index) =>
      askAs(browser, { clientId: slow.url(`/${index}/client.json`) }),
    );
    while (slow.asked.length < slowFetches) await new Promise((resolve) => setImmediate(resolve));
    const response = await postToken(host, { fields: ownTokenBy(clientId, "orders:read") });
    latch.open();
    await Promise.all(asked);
    expect(response.status).toBe(200);
  });
});
