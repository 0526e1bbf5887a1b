// The attacker sends requests as large as they may be, to have the server keep far more than it needs: V8 lets a part of a text
// keep the whole. They hold no credential, or are a signed-in end user.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Client, type ClientStore, memoryStorage } from "../../lib";
import type { HostClaims } from "../../lib/protocol/host-claims";
import { rememberingVerifier } from "../../lib/tokens/verify-access-token";
import { apis, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { postToken } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost, type TestHost } from "../hosts/host";
import { confidentialRecord } from "../records/records";

stopClockForEachTest();

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function heapBytes(): Promise<number> {
  // what has ended lets go of its memory some turns later
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

const times = 200;

/** How many bytes stay of each of many requests, once all are answered. */
async function bytesKept(send: (index: number) => Promise<unknown>): Promise<number> {
  // what is made once is there before the count begins
  for (let index = 0; index < 20; index += 1) await send(-1 - index);
  const before = await heapBytes();
  for (let index = 0; index < times; index += 1) await send(index);
  return ((await heapBytes()) - before) / times;
}

const bodyPadding = "x".repeat(60_000);
const urlPadding = "x".repeat(13_000);
const trusted: readonly Client[] = Object.values(clients).map((client) => ({ ...client, trusted: true }));
const longScope = "orders:change-everything";

const orders = {
  audience: "https://api.example/orders",
  authMethods: ["password"],
  scopes: { [longScope]: "Change everything", "orders:write": "Change your orders" },
};

/** A host where everybody who asks is trusted. */
function trustingHost(): TestHost {
  return testHost({ clients: trusted, apis: { ...apis, orders } });
}

/** Percent-encodes nothing, as what is decoded is a text of its own already. */
async function obtainCode(host: TestHost, client: "web" | "native", fields: Record<string, string>) {
  const sent = { ...authorizationParameters(client), scope: longScope, state: "s", ...fields };
  const query = Object.entries(sent).map(([name, value]) => `${name}=${value}`);
  const response = await host.browser().get(`${pairPath()}/authorize?${query.join("&")}`);
  expect(redirectParameters(response)).toHaveProperty("code");
}

describe("what stays of a large request (RFC 6749 §10)", () => {
  it("of 60 KB that names a client is less than 10 KB", async () => {
    const store: ClientStore = {
      find: async (clientId) => confidentialRecord({ clientId }),
      isBrowserOrigin: async () => false,
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    const kept = await bytesKept((index) => {
      const client_id = `a-client-with-a-long-name-${index}`;
      const fields = { grant_type: "client_credentials", client_id, padding: bodyPadding };
      return postToken(host, { fields });
    });
    expect(kept).toBeLessThan(10_000);
  });

  it("of 13 KB that gets a code for a registered redirect URI is less than 8 KB", async () => {
    const host = trustingHost();
    expect(await bytesKept(() => obtainCode(host, "web", { padding: urlPadding }))).toBeLessThan(8_000);
  });

  it("of 13 KB that gets a code for a loopback port is less than 8 KB (RFC 8252 §7.3)", async () => {
    const host = trustingHost();
    const kept = await bytesKept((index) =>
      obtainCode(host, "native", {
        redirect_uri: `http://127.0.0.1:${20_000 + index}/callback`,
        padding: urlPadding,
      }),
    );
    expect(kept).toBeLessThan(8_000);
  });

  it("of 13 KB that names one scope many times is less than 8 KB", async () => {
    const host = trustingHost();
    const scope = Array.from({ length: 500 }, () => longScope).join("+");
    const kept = await bytesKept(() => obtainCode(host, "web", { scope }));
    expect(kept).toBeLessThan(8_000);
  });

  it("of 60 KB in which the host finds the subject is less than 10 KB", async () => {
    const host = testHost();
    const kept = await bytesKept((index) => {
      const form = `subject-with-a-long-name-${index + 100}&${bodyPadding}`;
      host.session = { ...signedIn, subject: form.slice(0, 28) };
      return authorize(host.browser(), { client: "web" });
    });
    expect(kept).toBeLessThan(10_000);
  });
});

describe("what is remembered of access tokens (house rule: it is bounded)", () => {
  const now = 1_800_000_000;
  const accessToken = {
    issuer: "https://host.example",
    clientId: "web",
    scopes: [],
    issuedAt: now,
    expiresAt: now + 60,
  };

  /** Checks some tokens once, and says how often the first one is read again. */
  async function timesReadAgain(count: number, claims: HostClaims): Promise<number> {
    let read = 0;
    const verify = rememberingVerifier(
      {
        async read(tokenId) {
          read += 1;
          return { kind: "genuine", accessToken: { ...accessToken, tokenId, claims }, key: undefined };
        },
        trusts: () => true,
        validityOf: async (token) => ({ kind: "valid", accessToken: token, asOf: now }),
      },
      { clock: () => now, lagSeconds: 5 },
    );
    for (let index = 0; index < count; index += 1) await verify(`token-${index}`);
    await verify("token-0");
    return read - count;
  }

  it("goes by number, and by size where the host has added claims", async () => {
    expect(await timesReadAgain(3_000, {})).toBe(0);
    expect(await timesReadAgain(3_000, { padding: "x".repeat(4_000) })).toBe(1);
  });
});
