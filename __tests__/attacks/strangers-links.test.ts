// The attacker sends people links to the server that end at a site of the attacker, or names somebody else's site in a metadata
// document. They write the same addresses in every way that a browser understands.
import { randomBytes } from "node:crypto";
import type { ConsentAdapter, DocumentDecision } from "../../lib";
import { clientOfDocument } from "../../lib/strangers/metadata-document";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { stopClock } from "../hosts/clock";
import { documentServer, type DocumentServer } from "../servers/document-server";
import { signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { interactionOf, resumePath } from "../browser/interaction";
import { answerOf, refusal } from "../requests/json-answers";
import { builtIn, languageOf } from "../browser/pages";
import {
  apisWithRegistration,
  authorizeAs,
  nativeMetadata,
  register,
  registered,
  registrationHost,
} from "../requests/registration";
import { askAs, serveDocument, strangersHost } from "../browser/strangers";

let server: DocumentServer;

beforeEach(async () => {
  server = await documentServer();
});

afterEach(() => {
  jest.restoreAllMocks();
  return server.close();
});

const acceptEvil = (): DocumentDecision => ({ kind: "accepted", redirectOrigins: ["https://evil.example"] });

const evil = "https://evil.example/callback";
const spellings = ["https://evil.example/callback", "HTTPS://evil.example/callback", "hTTps://EVIL.example/"];

describe("a document that names somebody else's site (client id metadata documents §4)", () => {
  it.each(spellings)("cannot lead codes there: %s", (uri) => {
    const clientId = "https://app.example/client.json";
    const decision = { kind: "accepted" } as const;
    const rules = {
      clientId,
      apiId: "orders",
      decision,
      browserOrigins: [],
      reserved: [],
      redirectSchemes: [],
    };
    const own = "HTTPS://app.example/callback";
    const made = clientOfDocument({ client_id: clientId, redirect_uris: [uri, own] }, rules);
    expect(made).toMatchObject({ redirectUris: [own] });
  });
});

describe("a link that would lead straight to a stranger's site (RFC 9700 §4.11.2)", () => {
  const refusals = [
    ["prompt=none", { prompt: "none" }],
    ["a wrong scope", { scope: "nonsense" }],
    ["a request too long for a cookie", { state: randomBytes(3_000).toString("base64url") }],
    [
      "a sign-in page for a request too long for a cookie",
      { state: randomBytes(3_000).toString("base64url"), prompt: "login" },
    ],
  ] as const;
  const all = spellings.flatMap((uri) => refusals.map(([name, fields]) => [name, uri, fields] as const));

  it.each(all)("%s, with a metadata document: %s", async (_, uri, fields) => {
    const host = strangersHost({ accept: acceptEvil });
    const clientId = serveDocument(server, { redirect_uris: [uri] });
    const response = await askAs(host.browser(), { clientId, fields: { redirect_uri: uri, ...fields } });
    expect(response.status).toBe(400);
    expect(response.headers).not.toHaveProperty("location");
  });

  it.each(all)("%s, with a registration: %s", async (_, uri, fields) => {
    const host = registrationHost();
    const client = await registered(host, { redirect_uris: [uri], token_endpoint_auth_method: "none" });
    const response = await authorizeAs(host.browser(), client, { fields });
    expect(response.status).toBe(400);
    expect(response.headers).not.toHaveProperty("location");
  });

  it.each([
    ["its redirect URIs", { redirect_uris: [evil, "https://evil.example/other"] }],
    ["its grants", { redirect_uris: [evil], grant_types: ["refresh_token"] }],
  ])("a sign-in, while the document changes %s", async (_, changes) => {
    const clock = stopClock();
    const host = strangersHost({ accept: acceptEvil });
    host.session = signedOut;
    const clientId = serveDocument(server, { redirect_uris: [evil] });
    const browser = host.browser();
    const signIn = await askAs(browser, { clientId, fields: { redirect_uri: evil } });
    host.session = signedIn;
    serveDocument(server, changes);
    // it has said nothing of its freshness
    clock.advance(400);
    const back = await browser.get(resumePath(interactionOf(signIn)));
    expect(back.status).toBeGreaterThanOrEqual(400);
    expect(back.headers).not.toHaveProperty("location");
  });

  it("a no on the sign-in page, before a consent page has said where it leads", async () => {
    const host = strangersHost({ accept: acceptEvil });
    host.app.post("/cancel", (req, res) => host.auth.deny(req, res));
    host.session = signedOut;
    const clientId = serveDocument(server, { redirect_uris: [evil] });
    const browser = host.browser();
    const signIn = await askAs(browser, { clientId, fields: { redirect_uri: evil } });
    const cancelled = await browser.post(`/cancel?interaction=${interactionOf(signIn)}`);
    expect(cancelled.status).toBe(400);
    expect(cancelled.headers).not.toHaveProperty("location");
  });

  it("but a no on the consent page, which names the site, is told to the client", async () => {
    const host = strangersHost({ accept: acceptEvil });
    host.app.post("/cancel", (req, res) => host.auth.deny(req, res));
    const clientId = serveDocument(server, { redirect_uris: [evil] });
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { redirect_uri: evil } });
    const { interaction = "" } = formFields(page.text);
    const cancelled = await browser.post(`/cancel?interaction=${interaction}`);
    expect(redirectParameters(cancelled)["error"]).toBe("access_denied");
  });

  it("a request too long for a cookie is told to a program on the person's own device", async () => {
    const host = strangersHost();
    const clientId = serveDocument(server);
    const response = await askAs(host.browser(), {
      clientId,
      fields: { state: randomBytes(3_000).toString("base64url") },
    });
    expect(redirectParameters(response)["error"]).toBe("invalid_request");
  });
});

describe("a stranger that names a site of the host's (RFC 9700 §4.11.2)", () => {
  const ours = [
    "https://host.example",
    "HTTPS://HOST.example:443",
    "https://host.example.",
    "https://api.example",
  ];
  const web = { redirect_uris: ["https://evil.example/callback"] };

  it.each(ours)(
    "registers no redirect URI there, where its page would be ours and a no would be a visit: %s",
    async (origin) => {
      const response = await register(registrationHost(), { redirect_uris: [`${origin}/logout`] });
      expect(answerOf(response)).toEqual(
        refusal(
          400,
          "invalid_redirect_uri",
          "A redirect URI has the origin of this server or of one of its APIs.",
        ),
      );
    },
  );

  it.each(ours)("registers no keys there, and no link for people: %s", async (origin) => {
    const host = registrationHost();
    const [client_uri, policy_uri, tos_uri] = [1, 2, 3].map((name) => `${origin}/${name}`);
    const client = await registered(host, { ...web, client_uri, policy_uri, tos_uri });
    expect(Object.keys(client).filter((name) => name.endsWith("_uri"))).toEqual([]);
    const jwks_uri = `${new URL(origin).origin}/login/jwks`;
    const byKey = { ...web, token_endpoint_auth_method: "private_key_jwt", jwks_uri };
    expect((await register(host, byKey)).body).toMatchObject({ error: "invalid_client_metadata" });
  });

  it("may have what the host has listed", async () => {
    const host = registrationHost({ browserOrigins: ["https://host.example"] });
    const redirect_uris = ["https://host.example/callback"];
    expect(await registered(host, { redirect_uris, client_uri: "https://host.example/" })).toMatchObject({
      redirect_uris,
      client_uri: "https://host.example/",
    });
  });

  it.each(["https://host.example/about.json", "https://api.example/client.json"])(
    "has no document there: nothing is fetched from %s",
    async (clientId) => {
      const host = strangersHost();
      expect((await askAs(host.browser(), { clientId })).status).toBe(400);
      expect(host.events).toContainEqual(
        expect.objectContaining({
          kind: "client-document-refused",
          code: "document-of-this-server",
        }),
      );
    },
  );

  it("has a document that uses nothing of there", () => {
    const clientId = "https://app.example/client.json";
    const rules = { clientId, apiId: "orders", browserOrigins: [], redirectSchemes: [] };
    const make = (document: object, named: string[] = []) =>
      clientOfDocument(
        { client_id: clientId, ...document },
        {
          ...rules,
          decision: { kind: "accepted", redirectOrigins: ["https://host.example"] },
          reserved: ["https://host.example", "http://localhost:3000"].filter(
            (origin) => !named.includes(origin),
          ),
        },
      );
    const redirect_uris = [
      "https://host.example/logout",
      "http://localhost:3000/logout",
      "https://app.example/",
    ];
    const links = { client_uri: "https://host.example/", policy_uri: "https://app.example/privacy" };
    const made = make({ redirect_uris, ...links });
    expect(made).toMatchObject({ redirectUris: ["https://app.example/"], policyUri: links.policy_uri });
    expect(made).not.toHaveProperty("clientUri");
    expect(make({ redirect_uris }, ["https://host.example"])).toMatchObject({
      redirectUris: ["https://host.example/logout", "https://app.example/"],
    });
    expect(make({ redirect_uris, jwks_uri: "https://host.example/login/jwks" })).toEqual({
      problem: "document-keys-of-this-server",
    });
  });

  it("uses any port of this device but ours", async () => {
    const host = registrationHost({}, { baseUrl: "http://127.0.0.1:3000/login" });
    const client = await registered(host, nativeMetadata);
    const statusOf = async (redirect_uri: string) =>
      (await authorizeAs(host.browser(), client, { fields: { redirect_uri } })).status;
    expect(await statusOf("http://127.0.0.1:3001/callback")).toBe(200);
    expect(await statusOf("http://127.0.0.1:3000/callback")).toBe(400);
  });
});

describe("a host whose consent.decide allows everything (RFC 9700 §4.11.2)", () => {
  const grantsAll: ConsentAdapter = {
    decide: ({ scopes }) => ({ kind: "granted", scopes: Object.keys(scopes) }),
  };
  const grantsWithContext: ConsentAdapter = {
    decide: ({ scopes }) => ({ kind: "granted", scopes: Object.keys(scopes), context: { key: "acme" } }),
  };
  const metadata = { redirect_uris: ["https://evil.example/callback"], token_endpoint_auth_method: "none" };

  it("gives a stranger nothing before the person was asked", async () => {
    const host = registrationHost({}, { consent: grantsAll });
    const client = await registered(host, metadata);
    const browser = host.browser();
    const silent = await authorizeAs(browser, client, { fields: { prompt: "none" } });
    expect(silent.headers).not.toHaveProperty("location");
    const page = await authorizeAs(browser, client);
    expect(page.status).toBe(200);
    expect(redirectParameters(await browser.answer(page, "approve"))).toHaveProperty("code");
    // what the person has allowed is remembered
    expect(redirectParameters(await authorizeAs(browser, client))).toHaveProperty("code");
  });

  it("is told when it would lose a context, and the stranger gets nothing", async () => {
    const host = registrationHost({}, { consent: grantsWithContext });
    const client = await registered(host, metadata);
    const refused = await authorizeAs(host.browser(), client);
    expect(refused.status).toBe(500);
    expect(refused.headers).not.toHaveProperty("location");
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: expect.any(TypeError) as unknown,
    });
  });

  it("still decides for the clients that it has registered", async () => {
    const host = registrationHost({}, { consent: grantsAll });
    expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
  });
});

describe("where the answer leads, on the page (RFC 9700 §4.11.2, 8252 §8.6)", () => {
  it.each([
    ["https://[2001:db8::1]/callback", "https://[2001:db8::1]"],
    ["HTTPS://Evil.Example/callback", "https://evil.example"],
    ["https://xn--pple-43d.example/callback", "https://xn--pple-43d.example"],
    ["http://[::1]:4000/callback", "http://[::1]:4000"],
  ])("is shown as a whole: %s", async (uri, shown) => {
    const host = registrationHost();
    const client = await registered(host, { redirect_uris: [uri], token_endpoint_auth_method: "none" });
    const page = await authorizeAs(host.browser(), client);
    expect(page.text).toContain(`<bdi dir="ltr">${shown}</bdi>`);
    // CSP has no way to write the address
    expect(page.headers["content-security-policy"]).not.toContain("[");
  });
});

describe("a link that asks for a language which the person does not read (ui_locales)", () => {
  const path = `${pairPath()}/authorize`;
  const ask = async (host: TestHost, { clientId, accepted }: { clientId: string; accepted?: string }) => {
    const fields = { ...authorizationParameters("native"), client_id: clientId, ui_locales: "ar" };
    const headers = accepted === undefined ? undefined : { "Accept-Language": accepted };
    const redirect_uri =
      clientId === "native" ? "com.example.phone:/callback" : nativeMetadata.redirect_uris[0];
    return host.browser().get(path, { ...fields, redirect_uri }, headers);
  };

  it.each([
    ["de", "de"],
    ["es, de;q=0.1", "de"],
    ["es", "en"],
    [undefined, "ar"],
  ])("shows the warnings about a stranger in the browser's: %s", async (accepted, language) => {
    const host = registrationHost();
    const { client_id: clientId } = await registered(host, nativeMetadata);
    const page = await ask(host, { clientId, ...(accepted !== undefined && { accepted }) });
    expect(languageOf(page)[0]).toBe(language);
    const warning = String(builtIn[language]?.unchecked);
    expect(page.text).toContain(warning);
  });

  it("is followed for a client of the host's own", async () => {
    expect(languageOf(await ask(registrationHost(), { clientId: "native", accepted: "de" }))[0]).toBe("ar");
  });

  it("shows an error in the browser's", async () => {
    const page = await ask(registrationHost(), { clientId: "nobody", accepted: "de" });
    expect([page.status, ...languageOf(page)]).toEqual([400, "de", "ltr"]);
  });

  it("tells the host's own page the scopes in the browser's", async () => {
    const sentences = { "orders:read": { de: "Sehen", ar: "رؤية" }, "orders:write": "Change" };
    const apisOfHost = apisWithRegistration({});
    const orders = { ...apisOfHost["orders"]!, scopes: sentences, defaultScopes: [] };
    const heard: unknown[] = [];
    const decide: ConsentAdapter["decide"] = ({ scopes }) => {
      heard.push(scopes);
      return { kind: "ask" };
    };
    const host = testHost({ apis: { ...apisOfHost, orders }, consent: { decide } });
    const { client_id: clientId } = await registered(host, nativeMetadata);
    const page = await ask(host, { clientId, accepted: "de" });
    expect([page.text, heard[0]]).toMatchObject([
      expect.stringContaining("Sehen"),
      { "orders:read": "Sehen" },
    ]);
  });
});
