import { createHash, scryptSync } from "node:crypto";
import * as fc from "fast-check";
import { digestClientSecret, generateClientSecret } from "../../lib";
import {
  browserOriginsOf,
  grantTypes,
  isTrusted,
  mayUseGrant,
  registeredScopes,
  subscriptionOf,
} from "../../lib/protocol/client";
import { readClientAuthentication } from "../../lib/protocol/client-authentication";
import { parseSecretDigest, secretMatches } from "../../lib/clients/client-secret";
import { parametersFromObject, parseParameters } from "../../lib/protocol/parameters";
import { assertionOf, presenting } from "../requests/client-assertions";
import { confidentialRecord, issuerRecord, publicRecord } from "../records/records";

const inherited = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

describe("the grants of a client (RFC 6749 §4.4, 9700 §4.14)", () => {
  it.each([
    // a grant that is added later is not among them: a subscription has to name it
    ["confidential", confidentialRecord(), ["authorization_code", "refresh_token", "client_credentials"]],
    ["native", publicRecord("native"), ["authorization_code", "refresh_token"]],
    ["browser", publicRecord("browser"), ["authorization_code"]],
  ] as const)("are open by its kind where its subscription names none: %s", (_, client, expected) => {
    const usable = grantTypes.filter((grantType) => mayUseGrant(client, { apiId: "orders", grantType }));
    expect(usable).toEqual(expected);
  });

  it("are narrowed by its subscription", () => {
    const client = confidentialRecord({ subscriptions: { orders: { grantTypes: ["client_credentials"] } } });
    const usable = grantTypes.filter((grantType) => mayUseGrant(client, { apiId: "orders", grantType }));
    expect(usable).toEqual(["client_credentials"]);
  });

  it("are none where its subscription lists none", () => {
    const client = confidentialRecord({ subscriptions: { orders: { grantTypes: [] } } });
    expect(grantTypes.some((grantType) => mayUseGrant(client, { apiId: "orders", grantType }))).toBe(false);
  });

  it("are not widened by its subscription", () => {
    const subscriptions = { orders: { grantTypes: grantTypes } };
    const browser = publicRecord("browser", { subscriptions });
    const native = publicRecord("native", { subscriptions });
    expect(mayUseGrant(browser, { apiId: "orders", grantType: "refresh_token" })).toBe(false);
    expect(mayUseGrant(native, { apiId: "orders", grantType: "client_credentials" })).toBe(false);
  });

  it("are none at an API without subscription", () => {
    const client = confidentialRecord({ trusted: true, subscriptions: { orders: {} } });
    expect(mayUseGrant(client, { apiId: "reports", grantType: "authorization_code" })).toBe(false);
  });
});

describe("the subscription of a client (RFC 6749 §2)", () => {
  it.each(inherited)("is none at an API called %s, which every object inherits", (apiId) => {
    const client = confidentialRecord({ subscriptions: {} });
    expect(subscriptionOf(client, apiId)).toBeUndefined();
    expect(mayUseGrant(client, { apiId, grantType: "authorization_code" })).toBe(false);
    expect(registeredScopes(client, issuerRecord({ apiId }))).toEqual([]);
    expect(isTrusted(client, apiId)).toBe(false);
  });

  it.each(inherited)("is found at an API called %s when it is there", (apiId) => {
    const subscriptions = Object.fromEntries([[apiId, { trusted: true }]]);
    const client = confidentialRecord({ subscriptions });
    expect(subscriptionOf(client, apiId)).toEqual({ trusted: true });
    expect(isTrusted(client, apiId)).toBe(true);
  });

  it("is compared in upper and lower case", () => {
    expect(subscriptionOf(confidentialRecord(), "Orders")).toBeUndefined();
  });
});

describe("the scopes of a client (RFC 6749 §3.3)", () => {
  it.each([
    ["all of the API without a list", {}, ["orders:read", "orders:write"]],
    ["those listed", { scopes: ["orders:write"] }, ["orders:write"]],
    ["none of an empty list", { scopes: [] }, []],
    ["none that the API does not have", { scopes: ["files:read", "orders:read"] }, ["orders:read"]],
    ["no prototype names", { scopes: inherited }, []],
  ])("are %s", (_, subscription, expected) => {
    const client = confidentialRecord({ subscriptions: { orders: subscription } });
    expect(registeredScopes(client, issuerRecord())).toEqual(expected);
  });

  it("are none at an API without subscription", () => {
    expect(registeredScopes(confidentialRecord({ subscriptions: {} }), issuerRecord())).toEqual([]);
  });
});

describe("a trusted client (RFC 6749 §10.2)", () => {
  it.each([
    ["the client", { trusted: true }, true],
    ["its subscription to this API", { subscriptions: { orders: { trusted: true } } }, true],
    ["its subscription to another API", { subscriptions: { orders: {}, files: { trusted: true } } }, false],
    ["neither", {}, false],
    ["false in both", { trusted: false, subscriptions: { orders: { trusted: false } } }, false],
    ["the client, whatever its subscription", { trusted: true, subscriptions: {} }, true],
  ])("is one by %s", (_, changes, expected) => {
    expect(isTrusted(confidentialRecord(changes), "orders")).toBe(expected);
  });

  it("is one by true and by nothing like it", () => {
    expect(isTrusted(confidentialRecord({ trusted: "false" as never }), "orders")).toBe(false);
    const subscriptions = { orders: { trusted: 1 as never } };
    expect(isTrusted(confidentialRecord({ subscriptions }), "orders")).toBe(false);
  });
});

describe("the origins of a client (Fetch standard, CORS)", () => {
  const redirectUris = ["https://a.example/one", "https://a.example/two", "http://localhost:3000/"];

  it("are those of a browser client's redirect URIs, each once", () => {
    expect(browserOriginsOf(publicRecord("browser", { redirectUris }))).toEqual([
      "https://a.example",
      "http://localhost:3000",
    ]);
  });

  it.each([
    ["native", publicRecord("native", { redirectUris })],
    ["confidential", confidentialRecord({ redirectUris })],
  ])("are none for a %s client", (_, client) => {
    expect(browserOriginsOf(client)).toEqual([]);
  });
});

describe("generateClientSecret (RFC 6749 §2.3.1, §10.10)", () => {
  it("gives 256 random bits as base64url and their SHA-256", () => {
    const { secret, digest } = generateClientSecret();
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(digest).toBe(`sha256:${createHash("sha256").update(secret).digest("base64url")}`);
    expect(digest).not.toContain(secret);
  });

  it("never gives the same twice", () => {
    const secrets = Array.from({ length: 100 }, () => generateClientSecret().secret);
    expect(new Set(secrets).size).toBe(100);
  });
});

async function matches(secret: string, digest: string): Promise<boolean | undefined> {
  const parsed = parseSecretDigest(digest);
  return parsed && secretMatches(secret, parsed);
}

describe("client secret digests (RFC 6749 §10.10, 9700 §4.14)", () => {
  const { secret, digest } = generateClientSecret();

  it("matches the secret it was made of, and no other", async () => {
    expect(await matches(secret, digest)).toBe(true);
    for (const wrong of [generateClientSecret().secret, secret.slice(1), `${secret}x`, "", digest])
      expect(await matches(wrong, digest)).toBe(false);
  });

  it("salts the secret of a person again each time, and matches it", async () => {
    const chosen = "correct horse, Pferd ä";
    const [first, second] = await Promise.all([digestClientSecret(chosen), digestClientSecret(chosen)]);
    expect(first).toMatch(/^scrypt:ln=15,r=8,p=1:[A-Za-z0-9_-]{22}:[A-Za-z0-9_-]{43}$/);
    expect(first).not.toBe(second);
    expect(await matches(chosen, first)).toBe(true);
    expect(await matches(chosen, second)).toBe(true);
    expect(await matches(`${chosen} `, first)).toBe(false);
  });

  it("is the scrypt of RFC 7914 with the cost that it names", async () => {
    const salt = Buffer.alloc(16, 7);
    const hash = scryptSync("a chosen secret", salt, 32, { N: 2 ** 14, r: 8, p: 2 });
    const written = `scrypt:ln=14,r=8,p=2:${salt.toString("base64url")}:${hash.toString("base64url")}`;
    expect(await matches("a chosen secret", written)).toBe(true);
    expect(await matches("another secret", written)).toBe(false);
  });

  const salt = "s".repeat(22);
  const hash = "h".repeat(43);

  it.each(["ln=14,r=8,p=1", "ln=17,r=16,p=4"])("takes the cost %s", (cost) => {
    expect(parseSecretDigest(`scrypt:${cost}:${salt}:${hash}`)?.kind).toBe("scrypt");
  });

  it.each([
    ["too cheap", "ln=13,r=8,p=1"],
    ["dear enough to stall the server", "ln=18,r=8,p=1"],
    ["with small blocks", "ln=15,r=7,p=1"],
    ["with big blocks", "ln=15,r=17,p=1"],
    ["without a lane", "ln=15,r=8,p=0"],
    ["with many lanes", "ln=15,r=8,p=5"],
    ["with a number too long", "ln=015,r=8,p=1"],
    ["with a sign", "ln=+15,r=8,p=1"],
    ["with a fraction", "ln=15.5,r=8,p=1"],
    ["in another order", "r=8,ln=15,p=1"],
    ["left out", ""],
  ])("refuses a cost %s", (_, cost) => {
    expect(parseSecretDigest(`scrypt:${cost}:${salt}:${hash}`)).toBeUndefined();
  });

  it.each([
    ["nothing", ""],
    ["the secret itself", secret],
    ["another algorithm", digest.replace("sha256", "md5")],
    ["no algorithm", digest.slice("sha256:".length)],
    ["upper case", digest.replace("sha256", "SHA256")],
    ["a hash too short", digest.slice(0, -1)],
    ["a hash too long", `${digest}A`],
    ["padding", `${digest}=`],
    ["hexadecimal", `sha256:${createHash("sha256").update(secret).digest("hex")}`],
    ["a line feed at the end", `${digest}\n`],
    ["a space in front", ` ${digest}`],
    ["a short salt", `scrypt:ln=15,r=8,p=1:${salt.slice(1)}:${hash}`],
    ["a short scrypt hash", `scrypt:ln=15,r=8,p=1:${salt}:${hash.slice(1)}`],
    ["no salt", `scrypt:ln=15,r=8,p=1:${hash}`],
    ["a bcrypt digest", `$2b$10$${"a".repeat(53)}`],
  ])("knows no digest in %s", (_, text) => {
    expect(parseSecretDigest(text)).toBeUndefined();
  });
});

function basic(text: string | Buffer, scheme = "Basic"): string {
  return `${scheme} ${Buffer.from(text).toString("base64")}`;
}

function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

const unreadable = { kind: "malformed", problem: "unreadable-authorization-header" };

describe("client authentication in the body (RFC 6749 §2.3.1, §3.2.1)", () => {
  it.each([
    [
      "client_id=web&client_secret=s%20e%2Bc",
      { kind: "client_secret_post", clientId: "web", clientSecret: "s e+c" },
    ],
    ["client_id=spa", { kind: "none", clientId: "spa" }],
    ["client_id=spa&client_secret=", { kind: "none", clientId: "spa" }],
    ["client_secret=secret", { kind: "malformed", problem: "missing-client-id" }],
    ["client_id=&client_secret=secret", { kind: "malformed", problem: "missing-client-id" }],
    ["client_id=web&client_id=web", { kind: "malformed", problem: "missing-client-id" }],
    ["client_id=%FF", { kind: "malformed", problem: "missing-client-id" }],
    ["", { kind: "malformed", problem: "missing-client-id" }],
  ])("reads %s", (body, expected) => {
    expect(readClientAuthentication(parseParameters(body), undefined)).toEqual(expected);
  });
});

describe("HTTP Basic client authentication (RFC 6749 §2.3.1, 7617 §2)", () => {
  it.each([
    ["id and secret", basic("web:secret"), "web", "secret"],
    ["an id of one character", basic("w:secret"), "w", "secret"],
    ["a secret with colons", basic("web:a:b:"), "web", "a:b:"],
    ["an id with an encoded colon", basic("we%3Ab:secret"), "we:b", "secret"],
    ["a plus as a space", basic("web:a+b"), "web", "a b"],
    ["an encoded plus", basic("web:a%2Bb"), "web", "a+b"],
    ["an encoded percent sign", basic("web:100%25"), "web", "100%"],
    ["UTF-8, encoded", basic("web:p%C3%A4ss"), "web", "päss"],
    ["UTF-8, not encoded", basic("web:päss"), "web", "päss"],
    ["the scheme in lower case", basic("web:secret", "basic"), "web", "secret"],
    ["the scheme in upper case", basic("web:secret", "BASIC"), "web", "secret"],
    ["several spaces", basic("web:secret", "Basic  "), "web", "secret"],
    ["no padding", basic("web:secret").replace(/=+$/, ""), "web", "secret"],
  ])("reads %s", (_, header, clientId, clientSecret) => {
    const expected = { kind: "client_secret_basic", clientId, clientSecret };
    expect(readClientAuthentication(parseParameters(""), header)).toEqual(expected);
  });

  it.each([
    ["an empty header", ""],
    ["the scheme alone", "Basic"],
    ["the scheme and a space", "Basic "],
    ["another scheme", "Bearer d2ViOnNlY3JldA=="],
    ["a scheme that begins like it", "Basics d2ViOnNlY3JldA=="],
    ["no base64", "Basic web:secret"],
    ["two values", "Basic d2ViOnNlY3JldA== d2ViOnNlY3JldA=="],
    ["two headers in one", "Basic d2ViOnNlY3JldA==, Basic d2ViOnNlY3JldA=="],
    ["padding in the middle", "Basic d2Vi=OnNlY3JldA=="],
    ["no colon", basic("web")],
    ["an empty id", basic(":secret")],
    ["a lone percent sign in the id", basic("we%b:secret")],
    ["a lone percent sign in the secret", basic("web:100%")],
    ["an id that is not UTF-8", basic("w%FFb:secret")],
    ["a secret that is not UTF-8", basic("web:%FF")],
  ])("cannot read %s", (_, header) => {
    expect(readClientAuthentication(parseParameters("client_id=web"), header)).toEqual(unreadable);
  });

  it.each<[string, string, object]>([
    ["nothing", "", { kind: "none", clientId: "web" }],
    ["the same id", "client_id=web", { kind: "none", clientId: "web" }],
    ["an empty secret", "client_id=web&client_secret=", { kind: "none", clientId: "web" }],
    ["a secret", "client_secret=s", { kind: "client_secret_post", clientId: "web", clientSecret: "s" }],
    ["another id", "client_id=other", { kind: "malformed", problem: "client-ids-differ" }],
    [
      "a secret and another id",
      "client_id=other&client_secret=s",
      { kind: "malformed", problem: "client-ids-differ" },
    ],
  ])("with an empty secret only names the client, beside %s in the body", (_, body, expected) => {
    expect(readClientAuthentication(parseParameters(body), basic("web:"))).toEqual(expected);
  });

  it("with an empty secret names no other client than the assertion in the body", () => {
    const body = parametersFromObject(presenting(assertionOf()));
    const presented = readClientAuthentication(body, basic("keyed:"));
    expect(presented).toMatchObject({ kind: "private_key_jwt", clientId: "keyed" });
    expect(readClientAuthentication(body, basic("other:"))).toEqual({
      kind: "malformed",
      problem: "assertion-of-another-client",
    });
  });

  it("takes the same client_id in the body", () => {
    const presented = readClientAuthentication(parseParameters("client_id=web"), basic("web:secret"));
    expect(presented).toEqual({ kind: "client_secret_basic", clientId: "web", clientSecret: "secret" });
  });

  it.each(["client_id=other", "client_id=WEB", "client_id=web%20"])("refuses another id, %s", (body) => {
    const presented = readClientAuthentication(parseParameters(body), basic("web:secret"));
    expect(presented).toEqual({ kind: "malformed", problem: "client-ids-differ" });
  });

  it.each([
    ["the same secret", "client_id=web&client_secret=secret"],
    ["the secret alone", "client_secret=secret"],
    ["another secret of another client", "client_id=other&client_secret=other"],
  ])("refuses a second method: %s in the body", (_, body) => {
    const presented = readClientAuthentication(parseParameters(body), basic("web:secret"));
    expect(presented).toEqual({ kind: "malformed", problem: "several-authentication-methods" });
  });

  it("takes no credentials from the body when the header is unreadable", () => {
    const body = parseParameters("client_id=web&client_secret=secret");
    expect(readClientAuthentication(body, "Basic")).toEqual(unreadable);
  });

  it("reads what a client has form-encoded", () => {
    const half = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(half.filter(Boolean), half.filter(Boolean), (clientId, clientSecret) => {
        const header = basic(`${formEncode(clientId)}:${formEncode(clientSecret)}`);
        const presented = readClientAuthentication(parseParameters(""), header);
        expect(presented).toEqual({ kind: "client_secret_basic", clientId, clientSecret });
      }),
    );
  });

  it("never throws, whatever the header", () => {
    const header = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.uint8Array().map((bytes) => basic(Buffer.from(bytes))),
    );
    const known = ["client_secret_basic", "none", "malformed"];
    fc.assert(
      fc.property(header, (text) => {
        expect(known).toContain(readClientAuthentication(parseParameters(""), text).kind);
      }),
    );
  });
});
