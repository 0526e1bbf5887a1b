import { createPublicKey, generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import request from "supertest";
import { createAuthServer, generateSigningKey } from "../../lib";
import { type KeyRing, keyRing } from "../../lib/signing/jwt-signer";
import { readSigningKey, type SigningKeySource } from "../../lib/signing/signing-key";
import { obtainTokens, type Tokens } from "../browser/journey";
import { stopClockForEachTest } from "../hosts/clock";
import { goodOptions } from "../records/options";
import { accessKey, idKey, provider, type ProviderOptions } from "./provider";

stopClockForEachTest();

async function headersOf(options: ProviderOptions): Promise<readonly unknown[]> {
  const fields = { scope: "openid" };
  const tokens: Tokens & { id_token?: string } = await obtainTokens(provider(options), {
    client: "web",
    fields,
  });
  return [tokens.access_token, tokens.id_token ?? ""].map(
    (token) => jwt.decode(token, { complete: true })?.header,
  );
}

const kidOf = (source: SigningKeySource): string => readSigningKey(source).kid;
const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

describe("keys by use (OpenID Connect Core §15.1, RFC 7517 §4.2)", () => {
  it("sign access tokens by the first one, and ID tokens by the first of their algorithm", async () => {
    expect(await headersOf({})).toEqual([
      { alg: "ES256", typ: "at+jwt", kid: kidOf(accessKey) },
      { alg: "RS256", typ: "JWT", kid: kidOf(idKey) },
    ]);
  });

  it("sign ID tokens by the same key, where the API says so", async () => {
    const [access, id] = await headersOf({ signingKeys: [accessKey], openid: { idTokenAlgorithm: "ES256" } });
    expect([access, id]).toMatchObject([{ kid: kidOf(accessKey) }, { alg: "ES256", kid: kidOf(accessKey) }]);
  });

  it("are made for a trial where the host gives none", async () => {
    const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { signingKeys: _, ...trial } = goodOptions;
    const options = {
      ...trial,
      apis: { orders: { ...goodOptions.apis["orders"], openid: { claims: () => ({}) } } },
    };
    expect(() => createAuthServer(options as typeof goodOptions)).not.toThrow();
    warned.mockRestore();
  });

  it.each<[string, readonly SigningKeySource[], string]>([
    ["no key of the algorithm", [accessKey], "no-key-for-id-tokens"],
    ["one that signs later", [accessKey, { key: idKey, signsFrom: 1_900_000_000 }], "no-key-for-id-tokens"],
    ["only keys for ID tokens", [{ key: idKey, for: "id_token" }], "no-key-signs-now"],
  ])("are refused: %s", (_, signingKeys, code) => {
    expect(() => provider({ signingKeys })).toThrow(expect.objectContaining({ code }) as Error);
  });

  it("must be there at a rotation, too", () => {
    const { auth } = provider();
    expect(() => auth.rotateKeys([accessKey])).toThrow(
      expect.objectContaining({
        code: "no-key-for-id-tokens",
        message:
          "rotateKeys: signingKeys has no key that signs ID tokens with RS256 now. Add one: npx authmount signing-key --alg RS256 --for id_token --add-to SIGNING_KEYS. Or write an idTokenAlgorithm that a key has.",
      }) as Error,
    );
  });

  it.each([{ fr: "id_token" }, { for: "access" }, { for: undefined }])(
    "are refused with %j beside the key",
    (others) => {
      const signingKeys = [accessKey, idKey, { key: rsa(), ...others } as SigningKeySource];
      expect(() => provider({ signingKeys })).toThrow(
        expect.objectContaining({ code: "unusable-signing-key" }) as Error,
      );
    },
  );

  it("are published where access tokens are opaque, too", async () => {
    const { app } = provider({ api: { accessTokenFormat: "opaque" } });
    const { body } = await request(app).get(
      "/login/auth/password/api/orders/.well-known/openid-configuration",
    );
    const { keys } = (await request(app).get(new URL((body as { jwks_uri: string }).jwks_uri).pathname))
      .body as { keys: readonly { kid: string }[] };
    expect(keys.map(({ kid }) => kid)).toContain(kidOf(idKey));
  });
});

const named = (kid: string, source: SigningKeySource) => ({ ...readSigningKey(source), kid });

describe("key ring with keys for ID tokens (RFC 7517 §5)", () => {
  const [ec, oldRsa, newRsa] = [generateSigningKey(), rsa(), rsa()];
  const ring = (idAlgorithms: readonly string[]): KeyRing =>
    keyRing({
      keys: [
        named("access", ec),
        named("old", { key: oldRsa, for: "id_token" }),
        named("new", { key: newRsa, signsFrom: 1_000, for: "id_token" }),
      ],
      tokenSeconds: 60,
      idAlgorithms,
    });
  const published = (idAlgorithms: readonly string[], now: number): readonly string[] =>
    ring(idAlgorithms)
      .published(now)
      .map(({ kid }) => kid);

  it("gives each use its newest key, and a key for ID tokens never signs access tokens", () => {
    const keys = ring(["RS256"]);
    expect([999, 1_000].map((now) => keys.active(now, "RS256").kid)).toEqual(["old", "new"]);
    expect([999, 1_000, 9_999].map((now) => keys.active(now).kid)).toEqual(["access", "access", "access"]);
  });

  it("retires each by those of its own use", () => {
    expect([1_059, 1_060].map((now) => published(["RS256"], now))).toEqual([
      ["access", "old", "new"],
      ["access", "new"],
    ]);
  });

  it("publishes none that signs nothing", () => {
    expect(published([], 0)).toEqual(["access"]);
  });

  it("keeps an unmarked key for ID tokens while another signs access tokens", () => {
    const keys = keyRing({
      keys: [named("rsa", oldRsa), named("ec", { key: ec, signsFrom: 1_000 })],
      tokenSeconds: 60,
      idAlgorithms: ["RS256"],
    });
    expect([keys.active(5_000).kid, keys.active(5_000, "RS256").kid]).toEqual(["ec", "rsa"]);
    expect(keys.published(5_000)).toHaveLength(2);
    expect(createPublicKey(oldRsa).asymmetricKeyType).toBe("rsa");
  });
});
