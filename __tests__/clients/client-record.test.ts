import type { Client } from "../../lib";
import { grantTypes } from "../../lib/protocol/client";
import { checkClient, checkRedirectSchemes, isClientLink, ownClient } from "../../lib/clients/client-record";
import { keyed } from "../requests/client-assertions";
import { confidentialRecord, publicRecord } from "../records/records";

const confidential = confidentialRecord();
const native = publicRecord("native");
const subscriptions = (ofApi: object): object => ({ subscriptions: { orders: ofApi } });

describe("a link that a stranger puts on the consent page (RFC 7591 §2)", () => {
  const longest = "https://app.example/".padEnd(2_000, "a");

  it.each<[unknown, boolean]>([
    ["https://app.example/", true],
    ["https://app.example/terms?of=use#top", true],
    [longest, true],
    [`${longest}a`, false],
    ["http://app.example/", false],
    ["https://app.example/a b", false],
    ["https://bank.example@app.example/", false],
    ["https://:secret@app.example/", false],
    ["https://bank.example:secret@app.example/", false],
    ["https://[", false],
    ["https://app.example:99999/", false],
    [["https://app.example/"], false],
    [new URL("https://app.example/"), false],
    [5, false],
    [undefined, false],
  ])("may be %s: %s", (link, expected) => {
    expect(isClientLink(link)).toBe(expected);
  });
});

describe("what is said of a client record (RFC 6749 §2)", () => {
  const [digest = ""] = confidential.secretDigests;

  it.each<[string, object]>([
    ["platform must be one of native, browser", { ...native, platform: "web" }],
    [
      'platform is missing: write "native" or "browser", or confidential: true',
      (({ platform: _platform, ...others }) => others)(native),
    ],
    ["name must be the name that people read, at least one character", { ...native, name: "" }],
    ["clientUri must be an https URL", { ...native, clientUri: "http://app.example" }],
    ["trusted must be true or false", { ...native, trusted: "yes" }],
    [
      "secretDigests.0 must be a string: is an await missing before digestClientSecret?",
      { ...confidential, secretDigests: [Promise.resolve(digest)] },
    ],
    [
      `subscriptions.orders.grantTypes.0 must be one of ${grantTypes.join(", ")}`,
      { ...native, ...subscriptions({ grantTypes: ["implicit"] }) },
    ],
    [
      "subscriptions.orders.scope is not a known key: write scopes, trusted or grantTypes",
      { ...native, ...subscriptions({ scope: [] }) },
    ],
    ["name must be the name that people read, at least one character", { ...native, name: 5 }],
    ["disabled must be true or false", { ...native, disabled: "no" }],
    ["dpopBound must be true or false", { ...native, dpopBound: "no" }],
    ["dpopBound must be true or false", { ...confidential, dpopBound: 1 }],
    ["dpopBound is undefined: leave the key out, or write true or false", { ...keyed, dpopBound: undefined }],
    ["disabled is undefined: leave the key out, or write true or false", { ...native, disabled: undefined }],
    [
      "oldSecretUntil is about a second digest, and secretDigests has one: leave it out",
      { ...confidential, oldSecretUntil: 1_800_000_000 },
    ],
    [
      "oldSecretUntil must be a whole number",
      { ...confidential, secretDigests: [digest, digest], oldSecretUntil: "tomorrow" },
    ],
    [
      "oldSecretUntil is not allowed for a public client, which cannot keep a secret",
      { ...native, oldSecretUntil: 1_800_000_000 },
    ],
    [
      "oldSecretUntil is not allowed beside jwks or jwksUri: a client has either secrets or keys",
      { ...keyed, oldSecretUntil: 1_800_000_000 },
    ],
    [
      "secretDigests.0 must be a digest from generateClientSecret() or digestClientSecret()",
      { ...confidential, secretDigests: ["hunter2", digest] },
    ],
    [
      "secretDigests.1 must be a digest from generateClientSecret() or digestClientSecret()",
      { ...confidential, secretDigests: [digest, "hunter2"] },
    ],
    [
      "jwks.keys.0 is a private key: only the client may have it. Write the public key, such as jwks of generateClientKey()",
      { ...keyed, jwks: { keys: [{ kty: "oct", k: "AAAA" }] } },
    ],
  ])("names the place and what to write: %s", (problem, record) => {
    const { clientId } = record as Client;
    expect(() => checkClient(record)).toThrow(new TypeError(`client "${clientId}": ${problem}.`));
  });

  it.each<[string, string, object]>([
    ["scopes", "a list", { scopes: undefined }],
    ["grantTypes", "a list", { grantTypes: undefined }],
    ["trusted", "true or false", { trusted: undefined }],
  ])("says that %s is undefined, and that it may be %s", (name, value, ofApi) => {
    expect(() => checkClient({ ...native, ...subscriptions(ofApi) })).toThrow(
      new TypeError(
        `client "phone": subscriptions.orders.${name} is undefined: leave the key out, or write ${value}.`,
      ),
    );
  });

  it("says that trusted of the client is undefined", () => {
    expect(() => checkClient({ ...native, trusted: undefined })).toThrow(
      new TypeError('client "phone": trusted is undefined: leave the key out, or write true or false.'),
    );
  });

  it("says that a restriction is inherited, which the copy would lose", () => {
    const inherits: object = Object.create({ scopes: ["orders:read"] });
    expect(() => checkClient({ ...native, ...subscriptions(inherits) })).toThrow(
      new TypeError('client "phone": subscriptions.orders.scopes is inherited: use plain objects.'),
    );
  });
});

describe("schemes without a dot in a client record (RFC 8252 §7.1)", () => {
  it.each<[string, readonly string[], readonly string[], number | undefined]>([
    ["all listed", ["myapp:/cb", "https://app.example/cb"], ["myapp"], undefined],
    ["with a dot", ["com.example.app:/cb"], [], undefined],
    ["none", [], [], undefined],
    ["the first not listed", ["myapp:/cb", "https://app.example/cb"], [], 0],
    ["the second not listed", ["myapp:/cb", "other:/cb"], ["myapp"], 1],
  ])("must be listed by the server: %s", (_, redirectUris, redirectSchemes, unlisted) => {
    const client = { ...native, redirectUris };
    const check = (): Client => checkRedirectSchemes(client, redirectSchemes);
    if (unlisted === undefined) {
      expect(check()).toBe(client);
      return;
    }
    expect(check).toThrow(
      new TypeError(
        `client "phone": redirectUris.${unlisted} has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot.`,
      ),
    );
  });
});

describe("the copy of a client record (RFC 6749 §2)", () => {
  const links = {
    logo: "data:image/png;base64,AAAA",
    clientUri: "https://a.example/",
    policyUri: "https://a.example/b",
    tosUri: "https://a.example/c",
  };

  it.each<[string, Client]>([
    ["confidential", { ...confidential, ...links, trusted: true, dpopBound: true }],
    ["public", { ...native, ...links, dpopBound: false }],
    ["with keys", { ...keyed, allowTokenEndpointAudience: true }],
    ["with a jwksUri", { ...confidential, secretDigests: undefined, jwksUri: "https://a.example/" }],
  ])("has everything that belongs to it: %s", (_, client) => {
    expect(ownClient(client)).toEqual(client);
  });

  it("leaves out what the host's table has besides", () => {
    const row = { ...native, createdBy: "somebody", selfDescription: { by: "document", digest: "d" } };
    expect(ownClient(row as Client)).toStrictEqual(native);
  });

  it("shares nothing with the record", () => {
    const record = { ...native, redirectUris: [...native.redirectUris] };
    const copy = ownClient(record);
    record.redirectUris.push("https://evil.example/");
    expect(copy).toEqual(native);
  });
});

describe("records as models and databases give them (RFC 6749 §2)", () => {
  const record = { clientId: "app", name: "App", redirectUris: [], subscriptions: {}, confidential: true };

  it("an instance of a model is told how to give a plain object", () => {
    expect(() => checkClient(Object.create(record))).toThrow(
      'client "app": is an instance of a model, whose values are not its own properties: give a plain object',
    );
  });

  it.each([
    ["jwksUrl", "jwksUri"],
    ["redirect_uris", "redirectUris"],
    ["platfrom", "platform"],
    ["truted", "trusted"],
    ["dpopBond", "dpopBound"],
    ["tosUr", "tosUri"],
  ])("%s is most likely %s", (written, meant) => {
    expect(() => checkClient({ ...native, [meant]: undefined, [written]: "x" })).not.toThrow(
      /not a known key/,
    );
    const { [meant as "platform"]: _, ...others } = native;
    expect(() => checkClient({ ...others, [written]: "x" })).toThrow(
      `client "${native.clientId}": ${written} is not a known key: write ${meant}, or rename the key.`,
    );
  });

  it("columns of the host may have names that are only a little like known ones", () => {
    const columns = {
      note: 1,
      names: 1,
      login: 1,
      client: 1,
      policy: 1,
      secret: 1,
      clientUriOld: 1,
    };
    expect(checkClient({ ...native, ...columns })).toMatchObject(columns);
  });

  it.each([confidential, native, keyed])("an empty flag counts as left out: %j", (client) => {
    const row = { ...client, dpopBound: null };
    expect(ownClient(checkClient(row))).toStrictEqual(ownClient(client));
  });

  it("an empty column is named", () => {
    expect(() => checkClient({ ...record, logo: null })).toThrow(
      'client "app": logo is null: write a value, or leave the key out.',
    );
  });
});
