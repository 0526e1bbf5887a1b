/** What is weak about clients that are known from the start. RFC 8252 §7, §8; 9700 §2.1. */
import type { AuthServerOptions, Client, ConfidentialClient, KeyClient } from "../../lib";
import { digestClientSecret, memoryStorage } from "../../lib";
import { clientRules } from "../../lib/options/client-weaknesses";
import { confidentialRecord, publicRecord } from "../fixture/records";
import { goodApi, strongOptions, strongWith, strongWithClients } from "../fixture/options";

const found = (options: AuthServerOptions): readonly object[] => clientRules.flatMap((rule) => rule(options));

const { secretDigests: _secretDigests, ...unproved } = confidentialRecord();
const keyClient = (changes: Partial<KeyClient> = {}): Client => ({
  ...unproved,
  jwks: { keys: [] },
  ...changes,
});

const native = (uri: string): Client => publicRecord("native", { redirectUris: [uri] });
const browser = (uri: string): Client => publicRecord("browser", { redirectUris: [uri] });
const web = (uri: string): Client => confidentialRecord({ redirectUris: [uri] });

describe("a client without any weakness", () => {
  it.each([
    ["with a random secret", confidentialRecord()],
    ["with keys", keyClient()],
    ["without a secret", publicRecord("browser")],
    ["on a device", native("com.example:/callback")],
    ["on a device, at a loopback address", native("http://127.0.0.1/callback")],
    ["at a URL that quotes another one", web("https://web.example/http://localhost/")],
    ["at a host whose name begins like that of this machine", web("http://localhost.example/callback")],
    ["for all scopes of an API", confidentialRecord({ subscriptions: { orders: {} } })],
    ["for one scope", confidentialRecord({ subscriptions: { orders: { scopes: ["orders:read"] } } })],
    ["that must ask", confidentialRecord({ trusted: false, subscriptions: { orders: { trusted: false } } })],
  ])("is one %s", (_, client) => {
    expect(found(strongWithClients(client))).toEqual([]);
  });

  it("is any that is not known from the start", () => {
    const { clients } = memoryStorage({ clients: [confidentialRecord({ trusted: true })] });
    const unlisted = { ...clients, records: undefined };
    expect(found(strongWith({ storage: { ...strongOptions.storage, clients: unlisted } }))).toEqual([]);
  });
});

describe("a client that people are not asked about (RFC 6749 §10.2)", () => {
  const texts = {
    level: "note",
    problem: "is true",
    why: "People are not asked whether this client may act for them.",
    fix: "Write it for your own clients only.",
  };

  it("is trusted everywhere, or at an API", () => {
    const everywhere = confidentialRecord({ trusted: true });
    const there = publicRecord("browser", { subscriptions: { orders: { trusted: true } } });
    expect(found(strongWithClients(everywhere, there))).toEqual([
      { ...texts, path: 'client "web": trusted' },
      { ...texts, path: 'client "spa": subscriptions.orders.trusted' },
    ]);
  });
});

describe("redirect URIs that others may listen at (RFC 8252 §7.1, §8.3)", () => {
  const here = {
    level: "weak",
    problem: "is on the machine of whoever signs in",
    why: "Whatever program listens there gets the code.",
    fix: "In production, write the https address of the client. Only native clients are on the person's own machine.",
  };
  const name = {
    level: "note",
    problem: "names localhost",
    why: "The name may lead to another network interface than the client listens at (RFC 8252 §8.3).",
    fix: "Write http://127.0.0.1 or http://[::1], unless the client only knows localhost.",
  };
  const dotless = {
    level: "weak",
    problem: "has a scheme without a dot",
    why: "Another app may have invented the same scheme, and then gets the code. PKCE keeps it from using the code.",
    fix: "Write a scheme that begins with a reversed domain name, such as com.example.app:/callback, or an https address.",
  };

  it.each([
    ["localhost", web("http://localhost"), here],
    ["localhost with a port", web("http://localhost:4000/callback"), here],
    ["localhost with a query", web("http://localhost?a=b"), here],
    ["a loopback address", web("http://127.0.0.1/callback"), here],
    ["a loopback address of IPv6", web("http://[::1]:4000/callback"), here],
    ["localhost, by scripts", browser("http://localhost/callback"), here],
    ["localhost, on a device", native("http://localhost/callback"), name],
    ["a scheme of its own", native("cursor:/callback"), dotless],
    ["a scheme of its own, with a URL", native("cursor:/callback?from=https://app.example"), dotless],
  ])("are told: %s", (_, client, weakness) => {
    const path = `client "${client.clientId}": redirectUris.0`;
    expect(found(strongWithClients(client))).toEqual([{ ...weakness, path }]);
  });

  it("are told by their place", () => {
    const redirectUris = ["https://web.example/", "http://localhost/", "http://127.0.0.1/"];
    expect(found(strongWithClients(confidentialRecord({ redirectUris })))).toMatchObject([
      { path: 'client "web": redirectUris.1' },
      { path: 'client "web": redirectUris.2' },
    ]);
  });
});

describe("a subscription to what is not there", () => {
  const files = { ...goodApi, audience: "https://host.example/files", scopes: { a: "Do A", b: "Do B" } };
  const subscribed = (subscriptions: Client["subscriptions"]): AuthServerOptions => ({
    ...strongWithClients(confidentialRecord({ subscriptions })),
    apis: { ...strongOptions.apis, files },
  });
  const texts = { level: "weak", why: "It may be misspelt. The client gets nothing for it." };

  it.each(["odrers", "constructor"])("is told: the API %s", (apiId) => {
    expect(found(subscribed({ [apiId]: {} }))).toEqual([
      {
        ...texts,
        path: `client "web": subscriptions.${apiId}`,
        problem: "is not an id in apis",
        fix: "Write one of: orders, files.",
      },
    ]);
  });

  it.each([[["a", "c"]], [["constructor"]]])("is told: a scope of %j", (scopes) => {
    expect(found(subscribed({ orders: {}, files: { scopes } }))).toEqual([
      {
        ...texts,
        path: 'client "web": subscriptions.files.scopes',
        problem: "names a scope that the API does not have",
        fix: "Write scopes of this API: a, b.",
      },
    ]);
  });
});

describe("how a client proves itself (RFC 6749 §10.1, RFC 7523 §3)", () => {
  it("may be by a secret that a person has chosen, which is told by its place", async () => {
    const [random = ""] = confidentialRecord().secretDigests ?? [];
    const secretDigests: ConfidentialClient["secretDigests"] = [
      random,
      await digestClientSecret("words of a person"),
    ];
    expect(found(strongWithClients(confidentialRecord({ secretDigests })))).toEqual([
      {
        level: "note",
        path: 'client "web": secretDigests.1',
        problem: "is of a secret that a person may have chosen",
        why: "It may be guessed, and each check takes a tenth of a second.",
        fix: "Make a random one with: npx authmount client-secret.",
      },
    ]);
  });

  it("may be by an assertion for the token endpoint", () => {
    expect(found(strongWithClients(keyClient({ allowTokenEndpointAudience: true })))).toEqual([
      {
        level: "note",
        path: 'client "web": allowTokenEndpointAudience',
        problem: "is true",
        why: "An assertion that was made for another server may count here.",
        fix: "Leave it out as soon as the client can send the issuer.",
      },
    ]);
  });
});
