import { accessTokenClaims } from "../../lib/protocol/access-token";
import type { Introspected } from "../../lib/resource-server/introspect";
import type { RemoteDocuments } from "../../lib/resource-server/remote-documents";
import type { RemoteIssuer, RemoteKey, RemoteKeys } from "../../lib/resource-server/remote-issuers";
import { remoteVerifier } from "../../lib/resource-server/remote-verifier";
import { generateSigningKey, readPrivateKey } from "../../lib/signing/signing-key";
import { ofAnotherApi } from "../../lib/tokens/verify-access-token";
import { es256, writeToken } from "../requests/forged-tokens";
import { accessTokenRecord, issuerRecord, resourceApiRecord } from "../records/records";

const api = resourceApiRecord();
const { identifier } = issuerRecord();
const { identifier: other } = issuerRecord({}, "otp");
const jwksUri = "https://host.example/login/jwks";

const signingKey = readPrivateKey(generateSigningKey());
const { publicKey, algorithm } = signingKey;
const key: RemoteKey = { kid: "one", algorithm, publicKey, publishedAt: jwksUri };
const keys: RemoteKeys = new Map([["one", key]]);
const noKeys: RemoteKeys = new Map();

const accessToken = accessTokenRecord({ issuer: identifier });
const claims = accessTokenClaims(accessToken, api.audience);
const active: Introspected = { active: true, claims };
const opaque = "o".repeat(43);

/** A JWT with these claims in place of those of `accessToken`, signed with `key`. */
function jwtWith(changes: object = {}, header: object = {}): string {
  const whole = { alg: "ES256", typ: "at+jwt", kid: "one", ...header };
  return writeToken(whole, { ...claims, ...changes }, es256(signingKey.privateKey));
}

/** What the authorization server says, which a test may change at any time. */
interface Said {
  issuers: readonly string[];
  /** When the list is asked for again; left out: the same. */
  newIssuers?: readonly string[];
  issuer: RemoteIssuer;
  keys: RemoteKeys;
  /** Left out: they are fresh. */
  areStale?: boolean;
  /** When the key set is asked for again. */
  newKeys: RemoteKeys;
  /** `undefined`: the options have no introspection. */
  introspected: Introspected | Error | undefined;
}

/** A verifier with a lag of 5 seconds, at 1,000 seconds, and what it asked for. */
function watchedVerifier(changes: Partial<Said> = {}) {
  const said: Said = {
    issuers: [identifier],
    issuer: { jwksUri, introspectionEndpoint: `${identifier}/introspect`, resources: undefined },
    keys,
    newKeys: noKeys,
    introspected: undefined,
    ...changes,
  };
  const clock = { now: 1_000 };
  const asked: string[] = [];
  const issuersAsked: string[] = [];
  function documents<T>(what: string, answers: { find: () => T; refresh: () => T }): RemoteDocuments<T> {
    return {
      async find(url) {
        asked.push(`${what}.find ${url}`);
        return answers.find();
      },
      async refresh(url) {
        asked.push(`${what}.refresh ${url}`);
        return answers.refresh();
      },
      fresh(url) {
        asked.push(`${what}.fresh ${url}`);
        return said.areStale ? undefined : answers.find();
      },
    };
  }
  const lists = documents("issuers", {
    find: () => said.issuers,
    refresh: () => said.newIssuers ?? said.issuers,
  });
  const introspect =
    (kind: "opaque" | "signed") =>
    async (endpoint: string, { issuer, token }: { issuer: string; token: string }): Promise<Introspected> => {
      issuersAsked.push(issuer);
      asked.push(`introspect ${endpoint} ${token === opaque ? "opaque" : "JWT"} as ${kind}`);
      if (said.introspected instanceof Error) throw said.introspected;
      return said.introspected as Introspected;
    };
  const verify = remoteVerifier(
    {
      published: {
        issuers: documents("metadata", { find: () => said.issuer, refresh: () => said.issuer }),
        keySets: documents("keys", { find: () => said.keys, refresh: () => said.newKeys }),
      },
      issuers: { find: () => lists.find("list"), refresh: () => lists.refresh("list") },
      introspection: said.introspected && { opaque: introspect("opaque"), signed: introspect("signed") },
      clock: () => clock.now,
      revocationLagSeconds: 5,
    },
    api,
  );
  return { said, clock, asked, issuersAsked, verify };
}

const valid = { kind: "valid", accessToken };
const unknown = {
  kind: "invalid",
  code: "token-key-not-published",
  reason: expect.any(String) as string,
};
const inactive = {
  kind: "invalid",
  code: "token-inactive",
  reason: expect.any(String) as string,
};

const metadata = `metadata.find ${identifier}/.well-known/oauth-authorization-server`;
const [listed, listedAgain] = ["issuers.find list", "issuers.refresh list"];
const [keysFound, keysFoundAgain] = [`keys.find ${jwksUri}`, `keys.refresh ${jwksUri}`];
const trusted = `keys.fresh ${jwksUri}`;

describe("a JWT is verified by what its issuer publishes (RFC 9068 §4, 7517 §4.5)", () => {
  it("and nothing is asked for again where all is known", async () => {
    const { asked, verify } = watchedVerifier();
    expect(await verify(jwtWith())).toMatchObject(valid);
    expect(asked).toEqual([listed, metadata, keysFound, listed]);
  });

  it("and the key set is asked for again when it lacks the key", async () => {
    const { asked, verify } = watchedVerifier({ keys: noKeys, newKeys: keys });
    expect(await verify(jwtWith())).toMatchObject(valid);
    expect(asked).toEqual([listed, metadata, keysFound, keysFoundAgain, listed]);
  });

  const token = jwtWith();
  const withoutKeys: RemoteIssuer = {
    jwksUri: undefined,
    introspectionEndpoint: undefined,
    resources: undefined,
  };
  it.each<[string, string, Partial<Said>, object, string[]]>([
    ["no JWT", "a.b", {}, unknown, []],
    ["no issuer", jwtWith({ iss: undefined }), {}, ofAnotherApi, []],
    ["an issuer that is no text", jwtWith({ iss: [identifier] }), {}, ofAnotherApi, []],
    ["an issuer of others", jwtWith({ iss: other }), {}, ofAnotherApi, [listed, listedAgain]],
    ["an issuer without JWTs", token, { issuer: withoutKeys }, unknown, [listed, metadata]],
    ["no kid", jwtWith({}, { kid: undefined }), {}, unknown, [listed, metadata]],
    ["a kid that is no text", jwtWith({}, { kid: ["one"] }), {}, unknown, [listed, metadata]],
    ["an unknown key", token, { keys: noKeys }, unknown, [listed, metadata, keysFound, keysFoundAgain]],
    ["another signature", `${token.slice(0, -4)}AAAA`, {}, unknown, [listed, metadata, keysFound]],
    ["another API", jwtWith({ aud: "https://a.example" }), {}, ofAnotherApi, [listed, metadata, keysFound]],
    ["claims of no access token", jwtWith({ jti: 7 }), {}, unknown, [listed, metadata, keysFound]],
  ])("and refused otherwise: %s", async (_, text, said, verdict, expected) => {
    const { asked, verify } = watchedVerifier(said);
    expect(await verify(text)).toEqual(verdict);
    expect(asked).toEqual(expected);
  });
});

describe("an issuer that says which APIs it serves (RFC 9728 §4)", () => {
  const issuer = { jwksUri, introspectionEndpoint: undefined };

  it.each([[undefined], [[api.audience]], [["https://other.example", api.audience]]])(
    "is that of this API: %j",
    async (resources) => {
      const { verify } = watchedVerifier({ issuer: { ...issuer, resources } });
      expect(await verify(jwtWith())).toMatchObject(valid);
    },
  );

  it.each([[[]], [["https://other.example"]]])("and not of others: %j", async (resources) => {
    const { verify } = watchedVerifier({ issuer: { ...issuer, resources } });
    await expect(verify(jwtWith())).rejects.toMatchObject({ code: "issuer-of-another-api" });
  });
});

describe("a JWT that was found valid", () => {
  it.each<[string, Partial<Said>, object, string[]]>([
    ["is not verified again while its key is published", {}, valid, [trusted, listed]],
    [
      "is verified again when the key set is no longer fresh",
      { areStale: true },
      valid,
      [trusted, listed, metadata, keysFound, listed],
    ],
    [
      "is verified again when its kid has another key",
      { keys: new Map([["one", { ...key }]]) },
      valid,
      [trusted, listed, metadata, keysFound, listed],
    ],
    [
      "is refused when its key has gone",
      { keys: noKeys },
      unknown,
      [trusted, listed, metadata, keysFound, keysFoundAgain],
    ],
    [
      "is refused when its issuer has gone",
      { issuers: [other] },
      ofAnotherApi,
      [trusted, listed, listedAgain],
    ],
  ])("%s", async (_, changes, verdict, expected) => {
    const { asked, clock, said, verify } = watchedVerifier();
    const token = jwtWith();
    await verify(token);
    asked.length = 0;
    Object.assign(said, changes);
    clock.now += 4;
    expect(await verify(token)).toMatchObject(valid);
    expect(asked).toEqual([]);
    clock.now += 1;
    expect(await verify(token)).toMatchObject(verdict);
    expect(asked).toEqual(expected);
  });
});

describe("introspection of a JWT (RFC 7662 §2.2)", () => {
  it.each<[string, Introspected, object]>([
    ["active", active, valid],
    ["not active", { active: false }, inactive],
    ["about another token", { active: true, claims: { ...claims, jti: "another" } }, inactive],
  ])("decides whether it still stands: %s", async (_, introspected, verdict) => {
    const { asked, verify } = watchedVerifier({ introspected });
    expect(await verify(jwtWith())).toMatchObject(verdict);
    expect(asked.slice(-2)).toEqual([metadata, `introspect ${identifier}/introspect JWT as signed`]);
  });
});

describe("an opaque token (RFC 7662 §2)", () => {
  it("means nothing without introspection, and the host is told so", async () => {
    const { asked, verify } = watchedVerifier();
    expect(await verify(opaque)).toEqual({
      kind: "invalid",
      code: "token-opaque",
      reason: expect.any(String) as string,
    });
    expect(asked).toEqual([]);
  });

  const question = `introspect ${identifier}/introspect opaque as opaque`;

  it.each<[string, Introspected, object, string[]]>([
    ["active", active, valid, [listed]],
    ["not active", { active: false }, inactive, []],
    [
      "of an issuer of others",
      { active: true, claims: { ...claims, iss: other } },
      ofAnotherApi,
      [listed, listedAgain],
    ],
    ["of another API", { active: true, claims: { ...claims, aud: "https://a.example" } }, ofAnotherApi, []],
    ["without claims of a token", { active: true, claims: { aud: api.audience } }, unknown, []],
  ])("is what its introspection says: %s", async (_, introspected, verdict, more) => {
    const { asked, verify } = watchedVerifier({ introspected });
    expect(await verify(opaque)).toMatchObject(verdict);
    expect(asked).toEqual([listed, metadata, question, ...more]);
  });

  it.each(["", "a", "o".repeat(42), "o".repeat(44), `${"o".repeat(42)}=`])(
    "has one form, and nobody is asked about another text: %p",
    async (text) => {
      for (const introspected of [active, undefined]) {
        const { asked, verify } = watchedVerifier({ introspected });
        expect(await verify(text)).toEqual(unknown);
        expect(asked).toEqual([]);
      }
    },
  );

  it("is asked about once when that fails and the first issuer is the same", async () => {
    const failure = new Error("introspection: the answer has status 500");
    const { asked, verify } = watchedVerifier({ introspected: failure, newIssuers: [identifier, other] });
    await expect(verify(opaque)).rejects.toBe(failure);
    expect(asked).toEqual([listed, metadata, question, listedAgain]);
  });

  it("is asked about again when that fails and another issuer is the first one", async () => {
    const failure = new Error("introspection was refused with status 404: is baseUrl right?");
    const { asked, issuersAsked, verify } = watchedVerifier({ introspected: failure, newIssuers: [other] });
    await expect(verify(opaque)).rejects.toBe(failure);
    // an assertion of the client is for one of them
    expect(issuersAsked).toEqual([identifier, other]);
    expect(asked).toEqual([
      listed,
      metadata,
      question,
      listedAgain,
      metadata.replace(identifier, other),
      question,
    ]);
  });

  it("can't be asked about where the issuer names no endpoint for it", async () => {
    const issuer = { jwksUri, introspectionEndpoint: undefined, resources: undefined };
    const { asked, verify } = watchedVerifier({ introspected: active, issuer });
    await expect(verify(opaque)).rejects.toMatchObject({ code: "introspection-endpoint-missing" });
    expect(asked).toEqual([listed, metadata, listedAgain]);
  });
});
