/** What `authmount check` says that clients will find: documents and keys. RFC 8414 §3.1, 9728 §3.1, 7517 §5. */
import { type AuthServerOptions, generateSigningKey } from "../../lib";
import { type Found, foundByClients, foundText } from "../../lib/cli/documents";
import { resolveOptions } from "../../lib/options/resolve";
import { goodApi, goodOptions } from "../records/options";
import { fakeKms } from "../signing/fake-kms";
import { now } from "./world";

function found(changes: Partial<AuthServerOptions> = {}): Found {
  return foundByClients(resolveOptions({ ...goodOptions, ...changes }, now), now);
}

describe("documents", () => {
  it("are at the very URLs at which clients look, those of issuers and those of APIs", () => {
    const issuer = "https://host.example/login/auth/password/api/orders";
    const { documents, jwksUri } = found();
    expect(jwksUri).toBe("https://host.example/login/jwks");
    expect(documents).toEqual([
      {
        url: "https://host.example/.well-known/oauth-authorization-server/login/auth/password/api/orders",
        of: "issuer",
        document: expect.objectContaining({ issuer, jwks_uri: jwksUri }) as object,
      },
      {
        url: "https://api.example/.well-known/oauth-protected-resource/orders",
        of: "api",
        document: expect.objectContaining({ authorization_servers: [issuer] }) as object,
      },
    ]);
  });
});

const own = (kid: string) => ({ ...generateSigningKey(), kid });
const ofKid = (kid: string, signsFrom: number) => ({ key: own(kid), signsFrom });

const keysAt = (signsFrom: number) => [ofKid("now", signsFrom), own("old")];

function statesOf(signingKeys: AuthServerOptions["signingKeys"], changes: Partial<AuthServerOptions> = {}) {
  return found({ ...(signingKeys && { signingKeys }), ...changes }).keys.map(({ kid, state }) => [
    kid,
    state,
  ]);
}

describe("keys", () => {
  it("have an id, an algorithm, and what they do now; never the key", () => {
    const signingKeys = [own("first"), { ...generateSigningKey(), kid: "second" }];
    expect(found({ signingKeys }).keys).toStrictEqual([
      { kid: "first", algorithm: "ES256", state: "signs now" },
      { kid: "second", algorithm: "ES256", state: "verifies only" },
    ]);
  });

  it("sign, will sign, only verify, or are left over", () => {
    const keys = [
      ofKid("next", now + 1),
      ofKid("now", now - 60),
      ofKid("as early", now - 60),
      ofKid("before", now - 9_000),
      own("oldest"),
    ];
    expect(statesOf(keys)).toEqual([
      ["next", "signs from 2027-01-15T08:00:01.000Z"],
      ["now", "signs now"],
      ["as early", "verifies only"],
      ["before", "verifies only"],
      ["oldest", "no longer published: you can remove it"],
    ]);
  });

  it("outside the process are named, and not asked to sign", () => {
    const [next, signing, old] = [fakeKms({ kid: "next" }), fakeKms({ kid: "now" }), fakeKms({ kid: "old" })];
    const keys = [
      { key: next.signer, signsFrom: now + 1 },
      { key: signing.signer, signsFrom: now },
      old.signer,
    ];
    expect(statesOf(keys)).toEqual([
      ["next", "signs from 2027-01-15T08:00:01.000Z; signs outside, not tried"],
      ["now", "signs now; signs outside, not tried"],
      ["old", "verifies only"],
    ]);
    expect([next, signing, old].flatMap(({ messages }) => messages)).toEqual([]);
  });

  it("that begin at this second, of which another one signs, will not sign later", () => {
    expect(statesOf([ofKid("a", now), ofKid("b", now)])).toEqual([
      ["a", "signs now"],
      ["b", "verifies only"],
    ]);
  });

  it("verify as long as the longest token of any API lives", () => {
    const apis = {
      orders: { ...goodApi, accessTokenSeconds: 60 },
      bills: { ...goodApi, audience: "https://api.example/bills", accessTokenSeconds: 1_000 },
    };
    expect(statesOf(keysAt(now - 999), { apis })[1]).toEqual(["old", "verifies only"]);
    expect(statesOf(keysAt(now - 1_000), { apis })[1]).toEqual([
      "old",
      "no longer published: you can remove it",
    ]);
  });

  it.each([
    [
      "ES256",
      [
        ["ids", "signs ID tokens now"],
        ["own", "signs now"],
      ],
    ],
    [
      "RS256",
      [
        ["ids", "no longer published: you can remove it"],
        ["own", "signs now"],
        ["rsa", "signs ID tokens now"],
      ],
    ],
  ] as const)("for ID tokens say so, where these are %s", (idTokenAlgorithm, states) => {
    const rsa = idTokenAlgorithm === "RS256" ? [{ ...generateSigningKey("RS256"), kid: "rsa" }] : [];
    const signingKeys = [{ key: own("ids"), for: "id_token" as const }, own("own"), ...rsa];
    const openid = { claims: () => ({}), idTokenAlgorithm };
    expect(statesOf(signingKeys, { apis: { orders: { ...goodApi, openid } } })).toEqual(states);
  });

  it("sign both where there is no other", () => {
    const openid = { claims: () => ({}), idTokenAlgorithm: "ES256" as const };
    expect(statesOf([own("one")], { apis: { orders: { ...goodApi, openid } } })).toEqual([
      ["one", "signs access tokens and ID tokens now"],
    ]);
  });

  it("are not named when each start makes another one", () => {
    const { signingKeys: _, ...withoutKeys } = goodOptions;
    expect(foundByClients(resolveOptions(withoutKeys, now), now).keys).toEqual([]);
  });

  it("are named when each start makes only another secret", () => {
    const { secrets: _, ...withoutSecrets } = goodOptions;
    expect(foundByClients(resolveOptions(withoutSecrets, now), now).keys).toHaveLength(1);
  });
});

const jwksUri = "https://host.example/login/jwks";

describe("in words", () => {
  it("each document is told with the members that a person looks for", () => {
    const document = {
      scopes_supported: ["a", "b"],
      issuer: "https://i.example",
      authorization_endpoint: "https://a.example",
      token_endpoint: "https://t.example\u0007",
      registration_endpoint: "https://r.example",
      jwks_uri: jwksUri,
      resource: "https://x.example",
      authorization_servers: ["https://i.example", "https://j.example"],
      dpop_bound_access_tokens_required: true,
    };
    const keys = [
      { kid: "first\u0007", algorithm: "ES256", state: "signs now" },
      { kid: "second", algorithm: "RS256", state: "verifies only" },
    ];
    const documents = [
      { url: "https://host.example/1", of: "issuer" as const, document },
      { url: "https://host.example/2", of: "api" as const, document },
      { url: "https://host.example/3", of: "api" as const, document: { resource: 5 } },
    ];
    expect(foundText({ documents, jwksUri, keys })).toBe(`What clients find:
  https://host.example/1
    issuer: https://i.example
    authorization_endpoint: https://a.example
    token_endpoint: https://t.example\\u0007
    registration_endpoint: https://r.example
    jwks_uri: https://host.example/login/jwks
    scopes_supported: a, b
  https://host.example/2
    resource: https://x.example
    authorization_servers: https://i.example, https://j.example
    scopes_supported: a, b
  https://host.example/3
    resource: 5
  https://host.example/login/jwks
    kid first\\u0007, ES256, signs now
    kid second, RS256, verifies only
`);
  });

  it("a temporary key has no id to tell", () => {
    expect(foundText({ documents: [], jwksUri, keys: [] })).toBe(`What clients find:
  https://host.example/login/jwks
    a temporary key, different at each start
`);
  });
});
