import { isIssuerOf, issuersOf, publications } from "../../lib/resource-server/remote-issuers";
import { generateSigningKey } from "../../lib/signing/signing-key";
import { issuerRecord, resourceApiRecord } from "../records/records";
import { trustedServers } from "./trusted-answers";

afterEach(() => void jest.restoreAllMocks());

const now = 1_000;
const { identifier } = issuerRecord();

describe("the metadata of an issuer (RFC 8414 §3.3)", () => {
  const url = `${identifier}/.well-known/oauth-authorization-server`;
  const inForm = "https://host.example/login/jwks";

  async function read(metadata: object) {
    trustedServers({ [url]: { issuer: identifier, ...metadata } });
    return publications(() => now).issuers.find(url);
  }

  it("says where its keys are, who is asked about tokens, and which APIs it serves", async () => {
    const introspection = `${identifier}/introspect`;
    const resources = ["https://api.example/orders", 7];
    const metadata = {
      jwks_uri: inForm,
      introspection_endpoint: introspection,
      protected_resources: resources,
    };
    expect(await read(metadata)).toEqual({
      jwksUri: inForm,
      introspectionEndpoint: introspection,
      resources,
    });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a list", [inForm]],
    ["a number", 7],
    ["a relative URL", "/login/jwks"],
    ["the URL of another host", "https://stranger.example/jwks"],
    ["the URL of another port", "https://host.example:8443/login/jwks"],
    ["a URL without TLS", "http://host.example/login/jwks"],
  ])("names no endpoint elsewhere: %s counts as none", async (_, named) => {
    const metadata = { jwks_uri: named, introspection_endpoint: named, protected_resources: "orders" };
    expect(await read(metadata)).toEqual({});
  });

  it.each<[string, unknown]>([
    ["another one", issuerRecord({}, "otp").identifier],
    ["none", undefined],
    ["a list", [identifier]],
    ["one with a slash behind it", `${identifier}/`],
  ])("is that of the issuer itself: %s", async (_, issuer) => {
    await expect(read({ issuer })).rejects.toMatchObject({ code: "issuer-metadata-unusable" });
  });
});

/** What is published of a new key. */
function newJwk(kid: string) {
  const { kty, crv, x, y } = generateSigningKey();
  return { kty, crv, x, y, kid };
}

describe("the key set of an issuer (RFC 7517 §5)", () => {
  const url = "https://host.example/login/jwks";

  async function read(keySet: object) {
    trustedServers({ [url]: keySet });
    return publications(() => now).keySets.find(url);
  }

  it("gives each key by its kid, and says where it is published", async () => {
    const keys = await read({ keys: [newJwk("one"), newJwk("two")] });
    expect([...keys]).toEqual(
      ["one", "two"].map((kid) => [
        kid,
        { kid, algorithm: "ES256", publicKey: expect.anything() as unknown, publishedAt: url },
      ]),
    );
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a text", "key"],
    ["a list", [newJwk("one")]],
    ["a key without a kid", { ...newJwk("one"), kid: undefined }],
    ["a key for encryption", { ...newJwk("one"), use: "enc" }],
  ])("may hold what is no key for access tokens: %s", async (_, other) => {
    const keys = await read({ keys: [other, newJwk("two")] });
    expect([...keys.keys()]).toEqual(["two"]);
  });

  it("has the first one of two keys with one kid", async () => {
    const [first, second] = [newJwk("one"), newJwk("one")];
    const keys = await read({ keys: [first, second] });
    expect([...keys.values()].map(({ publicKey }) => publicKey.export({ format: "jwk" }))).toEqual([
      { kty: "EC", crv: first.crv, x: first.x, y: first.y },
    ]);
  });

  it.each<[string, object]>([
    ["no list", {}],
    ["an object in place of the list", { keys: { ...newJwk("one") } }],
    ["an empty list", { keys: [] }],
    ["no key that can be used", { keys: ["key", { kty: "oct", k: "AA", kid: "one" }] }],
  ])("has a key: %s is no key set", async (_, keySet) => {
    await expect(read(keySet)).rejects.toMatchObject({ code: "key-set-unusable" });
  });
});

describe("the issuers of an API (RFC 9728 §3.3)", () => {
  const api = resourceApiRecord();
  // on the origin of the authorization server, wherever the API is
  const url = "https://host.example/.well-known/oauth-protected-resource/orders";
  const other = issuerRecord({}, "otp").identifier;

  function published(metadata: object) {
    const document = { resource: api.audience, authorization_servers: [identifier], ...metadata };
    return { ...trustedServers({ [url]: document }), issuers: issuersOf(api, () => now) };
  }

  it.each<["find" | "refresh"]>([["find"], ["refresh"]])("are those of the options: %s", async (how) => {
    const { asked } = trustedServers();
    const issuers = ["https://other.example/issuer"];
    expect(await issuersOf(resourceApiRecord({ issuers }), () => now)[how]()).toEqual(issuers);
    expect(asked).toEqual([]);
  });

  it.each<["find" | "refresh"]>([["find"], ["refresh"]])(
    "are otherwise those of its metadata, but only of that server: %s",
    async (how) => {
      const elsewhere = identifier.replace("host.", "stranger.");
      const { asked, issuers } = published({
        authorization_servers: [7, elsewhere, identifier, null, other],
      });
      expect(await issuers[how]()).toEqual([identifier, other]);
      expect(asked).toEqual([url]);
    },
  );

  it.each<[string, object]>([
    ["of another API", { resource: "https://other.example/orders" }],
    ["without an API", { resource: undefined }],
    ["without a list", { authorization_servers: undefined }],
    ["with a text in place of the list", { authorization_servers: identifier }],
    ["with an empty list", { authorization_servers: [] }],
    ["with strangers only", { authorization_servers: ["https://stranger.example/auth/password/api/orders"] }],
  ])("are not known by metadata %s", async (_, metadata) => {
    const { issuers } = published(metadata);
    await expect(issuers.find()).rejects.toMatchObject({ code: "api-metadata-unusable" });
  });

  it.each<[string, readonly string[][], boolean, string[]]>([
    ["known", [[identifier], []], true, ["find"]],
    ["new", [[], [identifier]], true, ["find", "refresh"]],
    ["unknown", [[other], [other]], false, ["find", "refresh"]],
  ])("are listed again for an identifier that is not among them: %s", async (_, lists, isKnown, expected) => {
    const asked: string[] = [];
    const answer = (how: "find" | "refresh", list: string[] = []) => {
      asked.push(how);
      return Promise.resolve(list);
    };
    const issuers = { find: () => answer("find", lists[0]), refresh: () => answer("refresh", lists[1]) };
    expect(await isIssuerOf(issuers, { identifier, baseUrl: api.baseUrl })).toBe(isKnown);
    expect(asked).toEqual(expected);
  });

  it.each([
    ["of a stranger", identifier.replace("host.", "stranger.")],
    ["of another server at this origin", identifier.replace("/login/", "/other/")],
    ["that no server makes", "x"],
    ["with more behind it", `${identifier}/more`],
  ])("are not listed again for an identifier that they can't have: one %s", async (_, stranger) => {
    const refresh = jest.fn(() => Promise.resolve([stranger]));
    const issuers = { find: () => Promise.resolve([identifier]), refresh };
    expect(await isIssuerOf(issuers, { identifier: stranger, baseUrl: api.baseUrl })).toBe(false);
    expect(refresh).not.toHaveBeenCalled();
  });
});
