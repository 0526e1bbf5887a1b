// Keys outside the process: what clients, APIs and the host see of them, and that nothing is spent while they fail.
import type { Response } from "supertest";
import request from "supertest";
import { type AuthServerEvent, type GrantType, memoryStorage } from "../../lib";
import { issuer } from "../hosts/apis";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { kidOf, mint, oldKey, publishedKids, statusOf, tokenSeconds } from "../records/signing-keys";
import { ownToken, redeem, refresh } from "../requests/client-requests";
import { answerOf, refusal, serverError } from "../requests/json-answers";
import { tokensOf } from "../requests/token-requests";
import { type Answer, fakeKms, type FakeKms, signing } from "../signing/fake-kms";
import { watchWrites } from "../storage/slow-storage";
import { shortenTimeLimitForEachTest } from "../storage/time-limit";
import {
  answerDevice,
  deviceApis,
  deviceClients,
  deviceCodes,
  deviceGrant,
  poll,
} from "../requests/device-requests";

shortenTimeLimitForEachTest();

function hostWith(kms: FakeKms) {
  const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(deviceClients) }));
  return { host: testHost({ storage, apis: deviceApis, signingKeys: [kms.signer] }), writes };
}

type Attempt = () => Promise<Response>;

/** Those that options bring have their own tests. */
type TriedGrant = Exclude<GrantType, `urn:${string}`> | typeof deviceGrant;

const prepare: Record<TriedGrant, (host: TestHost) => Promise<Attempt>> = {
  async authorization_code(host) {
    const code = await obtainCode(host, { client: "web" });
    return () => redeem(host, { client: "web", code });
  },
  async refresh_token(host) {
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    return () => refresh(host, { client: "web", refreshToken });
  },
  client_credentials: async (host) => () => ownToken(host, { client: "machine" }),
  async [deviceGrant](host) {
    const codes = await deviceCodes(host, { client: "web" });
    await answerDevice(host.browser(), codes);
    return () => poll(host, codes, { client: "web" });
  },
};
const grantTypes = Object.keys(prepare) as TriedGrant[];

const unavailable = refusal(503, "temporarily_unavailable", "Try again later.");
const other = fakeKms();

/** How a signer fails → what the client hears, and the code of the cause that the host hears. */
const failures: readonly (readonly [string, Answer, object, string])[] = [
  ["never answers", () => new Promise(() => undefined), unavailable, "host-call-late"],
  ["rejects", () => Promise.reject(new Error("throttled")), unavailable, "signer-failed"],
  [
    "signs with another key",
    (bytes) => signing("ES256")(bytes, other.privateKey),
    serverError,
    "signature-not-of-key",
  ],
  ["signs with another hash", signing("ES256", { hash: "sha512" }), serverError, "signature-not-of-key"],
  [
    "signs other bytes",
    (_, key) => signing("ES256")(Buffer.from("{}"), key),
    serverError,
    "signature-not-of-key",
  ],
  ["answers no bytes", () => "signed", serverError, "signature-not-bytes"],
];
const rows = grantTypes.flatMap((grantType) => failures.map((failure) => [grantType, ...failure] as const));

describe("a token request whose signer fails (RFC 6749 §5.2)", () => {
  it.each(rows)(
    "of %s, where it %s: spends nothing, and the same request works later",
    async (grantType, _, answer, expected, code) => {
      const kms = fakeKms();
      const { host, writes } = hostWith(kms);
      const attempt = await prepare[grantType](host);
      const honest = kms.answer;
      writes.length = 0;
      kms.answer = answer;
      const response = await attempt();
      expect(answerOf(response)).toEqual(expected);
      expect(response.headers["retry-after"]).toBe(expected === unavailable ? "1" : undefined);
      expect(writes).toEqual([]);
      const event = host.events.at(-1) as Extract<AuthServerEvent, { kind: "server-error" }>;
      expect(event).toMatchObject({ kind: "server-error", issuer, cause: { code } });
      expect((event.cause as Error).message).toContain('the key "kms-1"');
      // neither what was signed nor a signature
      expect((event.cause as Error).message).not.toMatch(/[\w-]{40}/);

      kms.answer = honest;
      const { access_token } = tokensOf(await attempt());
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
      expect((await attempt()).status).toBe(grantType === "client_credentials" ? 200 : 400);
    },
  );
});

describe("access tokens that are signed outside (RFC 9068 §2.1, §4)", () => {
  it("are accepted by the server and published with a public key alone", async () => {
    const kms = fakeKms({ alg: "PS256" });
    const { host } = hostWith(kms);
    const token = await mint(host);
    expect(await statusOf(host, token)).toBe(200);
    const { body } = await request(host.app).get("/login/jwks");
    const { publicJwk } = kms.signer;
    expect(body).toEqual({ keys: [{ ...publicJwk, kid: "kms-1", alg: "PS256", use: "sig" }] });
  });

  it("cost one call each, and none where the token is opaque or is only read", async () => {
    const kms = fakeKms();
    const { host } = hostWith(kms);
    const token = await mint(host);
    await statusOf(host, token);
    await statusOf(host, token);
    await obtainTokens(host, { client: "web", pair: { api: "reports" } });
    expect(kms.messages).toHaveLength(1);
  });
});

describe("a rotation between keys of the process and keys outside (RFC 7517 §5)", () => {
  it.each([
    ["out", oldKey, fakeKms().signer],
    ["in", fakeKms().signer, { ...oldKey, kid: "local" }],
  ] as const)("goes %s at its moment, and tokens of the old key go on", async (_, from, to) => {
    const now = Date.now() / 1000;
    const host = testHost({ signingKeys: [from] });
    const before = await mint(host);
    host.auth.rotateKeys([from, { key: to, signsFrom: now + 300 }]);
    expect(await publishedKids(host)).toEqual([from.kid, to.kid]);
    expect(kidOf(await mint(host))).toBe(from.kid);
    jest.mocked(Date.now).mockReturnValue((now + 300) * 1000);
    const after = await mint(host);
    expect([kidOf(before), kidOf(after)]).toEqual([from.kid, to.kid]);
    expect([await statusOf(host, before), await statusOf(host, after)]).toEqual([200, 200]);
    jest.mocked(Date.now).mockReturnValue((now + 300 + tokenSeconds) * 1000);
    expect(await publishedKids(host)).toEqual([to.kid]);
  });

  it("is refused where a signer cannot be used, and the keys stay", async () => {
    const { host } = hostWith(fakeKms());
    const { signer } = fakeKms({ kid: "kms-2" });
    expect(() => host.auth.rotateKeys([{ ...signer, alg: "RS256" }])).toThrow("rotateKeys: signingKeys.0");
    expect(kidOf(await mint(host))).toBe("kms-1");
  });
});
