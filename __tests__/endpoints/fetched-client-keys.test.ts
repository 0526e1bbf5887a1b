import { generateKeyPairSync } from "node:crypto";
import { type KeyClient, memoryStorage } from "../../lib";
import { authenticateClient, type ClientAuthenticationPorts } from "../../lib/clients/authenticate-client";
import type { FetchKeys } from "../../lib/clients/assertion-keys";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { assertionOf, jwkOf, keyed, presenting, publicKeys } from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { foundKeys } from "../records/found-documents";
import { issuerRecord, storeGrants } from "../records/records";

const clock = stopClockForEachTest();

const jwksUri = "https://client.example/jwks";
const { jwks: _, ...others } = keyed;
const remote: KeyClient = { ...others, jwksUri };
const newKey = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** What was asked of the port for keys. */
interface Asked {
  readonly uri: string;
  readonly refresh: boolean;
  readonly mayFetch: boolean;
}

const authorizationId = "A".repeat(22);
/** What Alice has approved for the client `keyed`. */
const approved = {
  authorizationId,
  issuer: "https://host.example/login/auth/password/api/orders",
  authMethodId: "password",
  apiId: "orders",
  clientId: "keyed",
  subject: "alice",
  grantedScopes: [],
  createdAt: 1,
  expiresAt: 2_000_000_000,
  endMarks: [],
  revoked: false,
};

/** A server whose client has its keys at a URL. `documents` are what is found there, in order; the last one stays. */
function serverOf(
  documents: readonly unknown[],
  { client = remote, onFetch }: { client?: KeyClient; onFetch?: () => void } = {},
) {
  const asked: Asked[] = [];
  const mayFetched: boolean[] = [];
  const fetchKeys: FetchKeys = async (uri, { refresh, mayFetch }) => {
    asked.push({ uri, refresh, mayFetch: await mayFetch() });
    onFetch?.();
    return foundKeys(documents[Math.min(asked.length, documents.length) - 1], refresh);
  };
  const storage = memoryStorage({ clients: [] });
  const codes: string[] = [];
  const ports: ClientAuthenticationPorts = {
    clients: {
      findRegistered: async (clientId, { mayFetch }) => {
        mayFetched.push(await mayFetch());
        return clientId === client.clientId
          ? { client, endMark: undefined, apiEnds: new Map(), asOf: clock.now() }
          : undefined;
      },
      findNewer: async () => undefined,
    },
    fetchKeys,
    verifySecret: async () => false,
    storage,
    emit: (event) => void ("code" in event && codes.push(event.code)),
    clock: () => clock.now(),
  };
  /** The id of the client that the request proves, or the error with the code for the host. */
  async function authenticate(assertion: string, fields: Record<string, string> = {}): Promise<string> {
    const parameters = parametersFromObject({ ...presenting(assertion), ...fields });
    const request = {
      issuer: issuerRecord(),
      parameters,
      grantParameters: ["code", "refresh_token"],
      headers: {},
    };
    try {
      return (await authenticateClient(ports, request)).client.clientId;
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return `${error.error} ${error.code}`;
    }
  }
  return { authenticate, asked, codes, mayFetched, storage };
}

const signedBy = (kid: string | undefined, changes: object = {}): string =>
  assertionOf({ header: { kid }, ...changes });

describe("keys at jwksUri (RFC 7517 §5, 7591 §2)", () => {
  it("are asked for once for an assertion", async () => {
    const { authenticate, asked } = serverOf([{ keys: publicKeys }]);
    expect(await authenticate(signedBy("ec"))).toBe("keyed");
    expect(await authenticate(signedBy(undefined))).toBe("keyed");
    expect(asked).toEqual(
      Array.from({ length: 2 }, () => ({ uri: jwksUri, refresh: false, mayFetch: true })),
    );
  });

  it("are asked for again, once, when there is none with this kid", async () => {
    const rotated = { keys: [...publicKeys, jwkOf(newKey.publicKey, { kid: "new" })] };
    const { authenticate, asked } = serverOf([{ keys: publicKeys }, rotated]);
    expect(await authenticate(signedBy("new", { key: newKey.privateKey }))).toBe("keyed");
    expect(asked.map(({ refresh }) => refresh)).toEqual([false, true]);
  });

  it("are asked for twice at most", async () => {
    const { authenticate, asked, codes } = serverOf([{ keys: publicKeys }]);
    expect(await authenticate(signedBy("unknown"))).toBe("invalid_client assertion-kid-unknown");
    expect(asked).toHaveLength(2);
    expect(codes).toEqual(["assertion-kid-unknown"]);
  });

  it.each([
    ["has another kid", "unknown"],
    ["is not named", undefined],
  ])("are waited for when they cannot be had again for a key that %s", async (__, kid) => {
    const { authenticate, asked } = serverOf([{ keys: publicKeys }, undefined]);
    const key = newKey.privateKey;
    expect(await authenticate(signedBy(kid, { key }))).toBe(
      "temporarily_unavailable client-keys-unreachable",
    );
    expect(asked.map(({ refresh }) => refresh)).toEqual([false, true]);
  });

  it("are asked for again, once, when none of them has signed and the assertion names none", async () => {
    const rotated = { keys: [jwkOf(newKey.publicKey)] };
    const { authenticate, asked } = serverOf([{ keys: publicKeys }, rotated]);
    expect(await authenticate(signedBy(undefined, { key: newKey.privateKey }))).toBe("keyed");
    expect(asked.map(({ refresh }) => refresh)).toEqual([false, true]);
  });

  it("are not asked for again when the one with this kid has not signed", async () => {
    const { authenticate, asked } = serverOf([{ keys: publicKeys }]);
    expect(await authenticate(signedBy("ec", { key: newKey.privateKey }))).toBe(
      "invalid_client assertion-signature-wrong",
    );
    expect(asked).toHaveLength(1);
  });

  it("are missing for a while: the client is told to come again, and its assertion is not used", async () => {
    const { authenticate, storage } = serverOf([undefined, { keys: publicKeys }]);
    const use = jest.spyOn(storage.clientAssertions, "use");
    const assertion = signedBy("ec");
    expect(await authenticate(assertion)).toBe("temporarily_unavailable client-keys-unreachable");
    expect(use).not.toHaveBeenCalled();
    expect(await authenticate(assertion)).toBe("keyed");
  });

  it.each([
    [[]],
    ["text"],
    [null],
    [5],
    [{}],
    [{ keys: {} }],
    [{ keys: "ec" }],
    [{ keys: [] }],
    [{ keys: [null, "ec", 5, [], {}, { kty: 5 }] }],
  ])("are no key set: %j", async (document) => {
    const { authenticate } = serverOf([document]);
    expect(await authenticate(signedBy("ec"))).toBe("invalid_client assertion-kid-unknown");
    expect(await authenticate(signedBy(undefined))).toBe("invalid_client assertion-fits-no-key");
  });

  it("do not count when a key has no members but its names", async () => {
    const { authenticate } = serverOf([{ keys: [{ kty: "EC", kid: "ec" }] }]);
    expect(await authenticate(signedBy("ec"))).toBe("invalid_client assertion-fits-no-key");
    expect(await authenticate(signedBy(undefined))).toBe("invalid_client assertion-fits-no-key");
  });

  it("do not count when the client publishes a private key", async () => {
    const published = { ...newKey.privateKey.export({ format: "jwk" }), kid: "new" };
    const { authenticate } = serverOf([{ keys: [published] }]);
    expect(await authenticate(signedBy("new", { key: newKey.privateKey }))).toBe(
      "invalid_client assertion-fits-no-key",
    );
  });

  it("are tried up to the tenth that fits", async () => {
    const foreign = Array.from({ length: 10 }, () => publicKeys[0]);
    const mine = jwkOf(newKey.publicKey);
    const assertion = (): string => assertionOf({ key: newKey.privateKey });
    expect(await serverOf([{ keys: [...foreign, mine] }]).authenticate(assertion())).toBe(
      "invalid_client assertion-signature-wrong",
    );
    const nine = [...foreign.slice(1), publicKeys[1], publicKeys[2], mine];
    expect(await serverOf([{ keys: nine }]).authenticate(assertion())).toBe("keyed");
  });
});

describe("who may cause a fetch of keys (RFC 9728 §7.7)", () => {
  it.each([
    ["another audience", "assertion-aud-wrong", { claims: { aud: "https://other.example" } }],
    [
      "the token endpoint as audience",
      "assertion-aud-token-endpoint",
      { claims: { aud: `${issuerRecord().identifier}/token` } },
    ],
    ["another issuer", "assertion-iss-or-sub-wrong", { claims: { iss: "other" } }],
    ["an end that has come", "assertion-expired", { claims: { exp: 1 } }],
    [
      "an end that is far, without iat",
      "assertion-lives-too-long",
      { claims: { exp: 4_000_000_000, iat: undefined } },
    ],
    ["a beginning long ago", "assertion-too-old", { claims: { exp: 4_000_000_000, iat: 1_000_000_000 } }],
    ["a beginning in the future", "assertion-from-the-future", { claims: { nbf: 4_000_000_000 } }],
    ["no jti", "assertion-jti-malformed", { claims: { jti: undefined } }],
    ["alg none", "assertion-alg-unsupported", { header: { alg: "none" } }],
    ["another typ", "assertion-typ-wrong", { header: { typ: "at+jwt" } }],
    ["crit", "assertion-with-crit", { header: { crit: ["a"] } }],
  ])("nobody with an assertion that has %s", async (__, code, changes) => {
    const { authenticate, asked } = serverOf([{ keys: publicKeys }]);
    expect(await authenticate(assertionOf(changes))).toBe(`invalid_client ${code}`);
    expect(asked).toEqual([]);
  });

  it("nobody without an assertion, or with one of another client", async () => {
    const { authenticate, asked } = serverOf([{ keys: publicKeys }]);
    expect(await authenticate("garbage")).toBe("invalid_client assertion-not-a-jwt");
    expect(await authenticate(signedBy("ec"), { client_id: "other" })).toBe(
      "invalid_client assertion-of-another-client",
    );
    expect(await authenticate(assertionOf({ claims: { iss: "other", sub: "other" } }))).toBe(
      "invalid_client client-unknown",
    );
    expect(asked).toEqual([]);
  });

  it("for a client that nobody registered: only who presents a code or a token of that client", async () => {
    const selfDescription = { by: "document", digest: "a" } as const;
    const { authenticate, asked, mayFetched, storage } = serverOf([{ keys: publicKeys }], {
      client: { ...remote, selfDescription },
    });
    const code = `${authorizationId}.${"B".repeat(43)}`;
    expect(await authenticate(assertionOf(), { code })).toBe("keyed");
    await storage.authorizations.create(approved, clock.now());
    await storeGrants(storage, { text: code, now: clock.now() });
    expect(await authenticate(assertionOf(), { code })).toBe("keyed");
    // its document is not fetched either, when the assertion could not be good
    expect(await authenticate(assertionOf({ claims: { aud: "elsewhere" } }), { code })).toBe(
      "invalid_client assertion-aud-wrong",
    );
    expect(asked.map(({ mayFetch }) => mayFetch)).toEqual([false, true]);
    expect(mayFetched).toEqual([false, true, false]);
  });
});

describe("a key that the client has replaced (RFC 7517 §5)", () => {
  const worthless = ["x", `${"C".repeat(22)}.${"D".repeat(43)}`];

  it.each(worthless)(
    "a worthless code beside a refresh token does not keep an old key alive: %s",
    async (code) => {
      const selfDescription = { by: "document", digest: "a" } as const;
      const client = { ...remote, selfDescription };
      const { authenticate, asked, mayFetched, storage } = serverOf([{ keys: publicKeys }], { client });
      await storage.authorizations.create(approved, clock.now());
      const refresh_token = `${authorizationId}.${"B".repeat(43)}`;
      await storeGrants(storage, { text: refresh_token, now: clock.now() });
      await authenticate(assertionOf(), { code, refresh_token });
      await authenticate(assertionOf(), { code: refresh_token, refresh_token: code });
      // where nothing may be fetched, the document and the keys that are remembered count, for up to a day
      expect([mayFetched, asked.map(({ mayFetch }) => mayFetch)]).toEqual([
        [true, true],
        [true, true],
      ]);
    },
  );
});

describe("time passes while keys are fetched (RFC 7523 §3)", () => {
  it("an assertion that has expired meanwhile is refused, and is not used", async () => {
    const { authenticate, storage, codes } = serverOf([{ keys: publicKeys }], {
      onFetch: () => clock.advance(90),
    });
    const use = jest.spyOn(storage.clientAssertions, "use");
    expect(await authenticate(assertionOf())).toBe("invalid_client assertion-expired");
    expect(codes).toEqual(["assertion-expired"]);
    expect(use).not.toHaveBeenCalled();
  });
});
