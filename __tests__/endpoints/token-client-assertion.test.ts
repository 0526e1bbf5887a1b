import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { type Client, generateClientKey, memoryStorage } from "../../lib";
import { assertionAlgorithms } from "../../lib/protocol/client-assertion";
import { issuer, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { encode } from "../browser/browser";
import { postToken } from "../requests/client-requests";
import {
  assertionOf,
  jwkOf,
  keyed,
  keyedHost,
  lastCode,
  presenting,
  publicKeys,
  signatureOf,
  tokenBy,
} from "../requests/client-assertions";
import { basic, clients, machineSecret, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { answerOf, invalidClient, postTo, refusal } from "../requests/json-answers";
import { postTokenText } from "../requests/token-requests";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

/** What a POST to the path of an endpoint answers to a fresh assertion. */
async function statusAt(path: string, aud: string): Promise<number> {
  const form = encode({
    token: "unknown",
    grant_type: "client_credentials",
    ...presenting(assertionOf({ claims: { aud } })),
  });
  return (await postTo(`${pairPath()}/${path}`)(keyedHost(), form)).status;
}

/** A host whose record of the client may change. */
function changingHost(): { host: TestHost; records: Map<string, Client> } {
  const records = new Map<string, Client>([["keyed", keyed]]);
  const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
  return { host: testHost({ storage }), records };
}

function hostWith(...keys: object[]): TestHost {
  return testHost({ clients: [{ ...keyed, jwks: { keys } } as Client] });
}

describe("private_key_jwt (RFC 7523 §2.2)", () => {
  it.each(assertionAlgorithms)("takes an assertion signed with %s", async (alg) => {
    const response = await tokenBy(keyedHost(), { assertion: assertionOf({ alg }) });
    expect(response.body).toMatchObject({ token_type: "bearer" });
  });

  it.each(["token", "revoke", "introspect"])(
    "takes the issuer as aud at %s, and no endpoint",
    async (path) => {
      expect(await statusAt(path, issuer)).toBe(200);
      expect(await statusAt(path, `${issuer}/${path}`)).toBe(401);
      expect(await statusAt(path, `${issuer}/token`)).toBe(401);
    },
  );

  it("takes the token endpoint as aud from a client whose record allows it", async () => {
    const host = testHost({ clients: [{ ...keyed, allowTokenEndpointAudience: true }] });
    for (const aud of [`${issuer}/token`, issuer])
      expect((await tokenBy(host, { assertion: assertionOf({ claims: { aud } }) })).status).toBe(200);
    const elsewhere = assertionOf({ claims: { aud: `${issuer}/revoke` } });
    expect(answerOf(await tokenBy(host, { assertion: elsewhere }))).toEqual(invalidClient);
  });

  it("redeems a code, and refreshes", async () => {
    const host = keyedHost({ clients: [{ ...keyed, trusted: true }] });
    const query = encode({
      ...authorizationParameters("web"),
      client_id: "keyed",
      redirect_uri: keyed.redirectUris[0],
    });
    const { code } = redirectParameters(await host.browser().get(`${pairPath()}/authorize?${query}`));
    const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
    const first = await tokenBy(host, { fields });
    expect(first.status).toBe(200);
    const { refresh_token } = first.body as { refresh_token: string };
    expect((await tokenBy(host, { fields: { grant_type: "refresh_token", refresh_token } })).status).toBe(
      200,
    );
  });

  it("works with the keys of generateClientKey()", async () => {
    const { privateKey, jwks } = generateClientKey();
    const host = testHost({ clients: [{ ...keyed, jwks }] });
    const key = createPrivateKey({ key: { ...privateKey }, format: "jwk" });
    const assertion = assertionOf({ key, header: { kid: privateKey.kid } });
    expect((await tokenBy(host, { assertion })).status).toBe(200);
  });
});

describe("the client that an assertion names (RFC 7521 §4.2, 7523 §2.2)", () => {
  it("may be named by client_id as well", async () => {
    expect((await tokenBy(keyedHost(), { fields: { client_id: "keyed" } })).status).toBe(200);
  });

  it.each(["web", "nobody", "native", "KEYED"])("is not the client_id %s", async (client_id) => {
    const host = keyedHost();
    expect(answerOf(await tokenBy(host, { fields: { client_id } }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("assertion-of-another-client");
  });

  it.each([
    "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "URN:IETF:PARAMS:OAUTH:CLIENT-ASSERTION-TYPE:JWT-BEARER",
    "",
  ])("is not told by client_assertion_type %p", async (client_assertion_type) => {
    const host = keyedHost();
    expect(answerOf(await tokenBy(host, { fields: { client_assertion_type } }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("unsupported-assertion-type");
  });

  it("is not told by a client_assertion_type alone", async () => {
    expect(answerOf(await tokenBy(keyedHost(), { fields: { client_assertion: "" } }))).toEqual(invalidClient);
  });

  it("is unknown when nobody registered it", async () => {
    const host = testHost();
    expect(answerOf(await tokenBy(host))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("client-unknown");
  });
});

describe("an assertion and another proof (RFC 7521 §4.2.1, 6749 §2.3)", () => {
  const one = refusal(400, "invalid_request", "Use one client authentication method.");

  it.each(["keyed", "web", undefined])(
    "are refused together: a secret in the form, for %s",
    async (client_id) => {
      const fields = { client_id, client_secret: webSecret.secret };
      expect(answerOf(await tokenBy(keyedHost(), { fields }))).toEqual(one);
    },
  );

  it("are refused together: a secret by HTTP Basic", async () => {
    const form = encode({ grant_type: "client_credentials", ...presenting(assertionOf()) });
    for (const id of ["keyed", "machine"]) {
      const Authorization = basic(id, machineSecret.secret);
      expect(answerOf(await postTokenText(keyedHost(), form, { Authorization }))).toEqual(one);
    }
  });

  it("are refused together: two assertions", async () => {
    const form = encode({ grant_type: "client_credentials", ...presenting(assertionOf()) });
    const twice = `${form}&client_assertion=${assertionOf()}`;
    expect((await postTokenText(keyedHost(), twice)).status).toBe(400);
  });
});

describe("each client has one way to prove itself (RFC 7523 §3, 8414 §2)", () => {
  const asks = { grant_type: "client_credentials", client_id: "keyed" };

  it.each([
    ["nothing", {}, "assertion-missing"],
    ["a secret", { client_secret: machineSecret.secret }, "secret-in-place-of-assertion"],
  ])("a client with keys is refused when it sends %s", async (_, fields, code) => {
    const host = keyedHost();
    expect(answerOf(await postToken(host, { fields: { ...asks, ...fields } }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe(code);
  });

  it("a client with a secret is refused when it sends an assertion", async () => {
    const host = keyedHost();
    const assertion = assertionOf({ claims: { iss: "machine", sub: "machine" } });
    expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("assertion-in-place-of-secret");
  });

  it.each(["native", "spa"])(
    "the public client %s is refused when it sends an assertion",
    async (clientId) => {
      const host = keyedHost();
      const assertion = assertionOf({ claims: { iss: clientId, sub: clientId } });
      expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidClient);
      expect(lastCode(host)).toBe("assertion-of-public-client");
    },
  );
});

describe("the key of an assertion (RFC 7515 §4.1.4, 7517 §4, 8725 §3.1)", () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = pair.privateKey;
  const [ec] = publicKeys;

  it.each(["ec", undefined])("is the one that kid names, or any: kid %p", async (kid) => {
    expect((await tokenBy(keyedHost(), { assertion: assertionOf({ header: { kid } }) })).status).toBe(200);
  });

  it.each([
    ["rsa", "assertion-fits-no-key"],
    ["EC", "assertion-kid-unknown"],
    ["", "assertion-kid-unknown"],
    ["../ec", "assertion-kid-unknown"],
    ["ec' OR '1'='1", "assertion-kid-unknown"],
    ["ec\0", "assertion-kid-unknown"],
    ["0", "assertion-kid-unknown"],
    ["__proto__", "assertion-kid-unknown"],
    ["keys", "assertion-kid-unknown"],
    ["https://evil.example/jwks", "assertion-kid-unknown"],
  ])("is none when kid is %p", async (kid, code) => {
    const host = keyedHost();
    expect(answerOf(await tokenBy(host, { assertion: assertionOf({ header: { kid } }) }))).toEqual(
      invalidClient,
    );
    expect(lastCode(host)).toBe(code);
  });

  it.each(["new", undefined])("works at once when it was saved a moment ago: kid %p", async (kid) => {
    const { host, records } = changingHost();
    expect((await tokenBy(host)).status).toBe(200);
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwks = { keys: [jwkOf(publicKey, kid === undefined ? {} : { kid }), ...publicKeys] };
    records.set("keyed", { ...keyed, jwks });
    const assertion = assertionOf({ key: privateKey, header: { kid } });
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("assertion-used-before");
  });

  it("that was taken away ends within the lag, also while a new one is looked for", async () => {
    const { host, records } = changingHost();
    expect((await tokenBy(host)).status).toBe(200);
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    records.set("keyed", { ...keyed, jwks: { keys: [jwkOf(publicKey)] } });
    // the record that was remembered still has it
    expect((await tokenBy(host)).status).toBe(200);
    expect((await tokenBy(host, { assertion: assertionOf({ key: privateKey }) })).status).toBe(200);
    expect(answerOf(await tokenBy(host))).toEqual(invalidClient);
  });

  it("is found among two of a rotation, with one kid or without", async () => {
    const host = hostWith({ ...ec, kid: undefined }, jwkOf(pair.publicKey));
    expect((await tokenBy(host, { assertion: assertionOf({ key }) })).status).toBe(200);
    expect((await tokenBy(host)).status).toBe(200);
    const sameName = hostWith({ ...ec, kid: "a" }, jwkOf(pair.publicKey, { kid: "a" }));
    expect((await tokenBy(sameName, { assertion: assertionOf({ key, header: { kid: "a" } }) })).status).toBe(
      200,
    );
  });

  it.each([
    { alg: "ES256" },
    { use: "sig" },
    { key_ops: ["verify"] },
    { key_ops: ["sign", "verify"], ext: true },
  ])("may say what it is for: %p", async (members) => {
    expect((await tokenBy(hostWith({ ...ec, ...members }))).status).toBe(200);
  });

  it.each([
    { alg: "RS256" },
    { alg: "ES384" },
    { alg: 5 },
    { use: "enc" },
    { key_ops: ["sign"] },
    { key_ops: "verify" },
  ])("does not fit when it says %p", async (members) => {
    const host = hostWith({ ...ec, ...members }, jwkOf(pair.publicKey));
    expect(answerOf(await tokenBy(host))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("assertion-signature-wrong");
  });

  it.each(["EdDSA", "Ed25519"])("of Ed25519 has two names: %s", async (name) => {
    for (const alg of ["EdDSA", "Ed25519"]) {
      const host = hostWith({ ...publicKeys[2], alg: name });
      expect((await tokenBy(host, { assertion: assertionOf({ alg }) })).status).toBe(200);
    }
  });

  it("is not an RSA key of fewer than 2048 bits (RFC 7518 §3.3)", async () => {
    const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const host = hostWith(jwkOf(weak.publicKey), ...publicKeys.slice(0, 1));
    const assertion = assertionOf({ alg: "RS256", key: weak.privateKey });
    expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidClient);
    expect(lastCode(host)).toBe("assertion-fits-no-key");
  });

  it("is not on another curve", async () => {
    const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const host = hostWith(jwkOf(p384.publicKey), ...publicKeys.slice(1));
    const signed = assertionOf().split(".").slice(0, 2).join(".");
    const signature = signatureOf(signed, { alg: "ES256", key: p384.privateKey }).toString("base64url");
    expect(answerOf(await tokenBy(host, { assertion: `${signed}.${signature}` }))).toEqual(invalidClient);
  });
});

describe("what is told of an assertion that fails (RFC 6749 §5.2, 7521 §4.2.1)", () => {
  it("is the same for every cause, and names the rule to the host alone", async () => {
    const host = keyedHost();
    const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const failures: readonly [string, string][] = [
      ["not a JWT", "assertion-not-a-jwt"],
      [assertionOf({ claims: { exp: clock.now() - 60 } }), "assertion-expired"],
      [assertionOf({ key: foreign }), "assertion-signature-wrong"],
    ];
    for (const [assertion, code] of failures) {
      const response = await tokenBy(host, { assertion });
      expect(answerOf(response)).toEqual(invalidClient);
      expect(response.headers["www-authenticate"]).toBeUndefined();
      expect(lastCode(host)).toBe(code);
    }
    expect(host.events.filter(({ kind }) => kind === "client-authentication-failed")).toMatchObject([
      { clientId: "keyed" },
      { clientId: "keyed" },
    ]);
  });

  it("holds nothing of the assertion or of a key", async () => {
    const host = keyedHost();
    const mark = "MARK".repeat(8);
    for (const changes of [
      { claims: { jti: mark } },
      { claims: { aud: mark } },
      { claims: { iss: mark } },
      { claims: { sub: mark } },
      { header: { kid: mark } },
      { header: { typ: mark } },
      { header: { alg: mark } },
    ]) {
      const assertion = assertionOf({ ...changes, key: "a key of HMAC" });
      const { text } = await tokenBy(host, { assertion });
      const told = `${text}${JSON.stringify(host.events)}`;
      expect(told).not.toContain(mark);
      for (const piece of assertion.split(".")) expect(told).not.toContain(piece);
      for (const { x, n = x } of publicKeys) expect(told).not.toContain(n);
    }
    expect(host.events.length).toBeGreaterThan(10);
  });

  it("keeps clients.web as they are: with a secret", async () => {
    const fields = { grant_type: "client_credentials", client_id: "web", client_secret: webSecret.secret };
    const host = keyedHost({ clients: [clients.web, keyed] });
    expect((await postToken(host, { fields })).status).toBe(200);
  });
});
