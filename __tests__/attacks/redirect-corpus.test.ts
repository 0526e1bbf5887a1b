// The attacker writes redirect URIs that look like a registered one, to a person, to a comparison or to the parser of a browser. They
// want the code anywhere else than at the URI that the client has registered. What must come of each is in redirect-corpus.ts.
import { type Client, memoryStorage } from "../../lib";
import { checkClient } from "../../lib/clients/client-record";
import { isRegistrableRedirectUri, verifyRedirectUri } from "../../lib/protocol/redirect-uri";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost } from "../hosts/host";
import { type Answer, listen, type ListeningApp } from "../hosts/listening";
import { confidentialRecord, publicRecord } from "../records/records";
import { register, registrationHost } from "../requests/registration";
import { presentedUris } from "./redirect-corpus";
import type { GoodFor } from "./redirect-corpus-devices";
import { registeredUris } from "./redirect-registrations";

const kinds = ["confidential", "native", "browser"] as const;
type Kind = (typeof kinds)[number];

function clientOf(kind: Kind, ...redirectUris: readonly string[]): Client {
  return kind === "confidential"
    ? confidentialRecord({ redirectUris })
    : publicRecord(kind, { redirectUris });
}

function isGoodFor(goodFor: GoodFor, kind: Kind): boolean {
  return goodFor === "all" || goodFor === kind;
}

/** With PKCE, a confidential client may use any loopback port as a native one may (RFC 8252 §7.3). */
function isGoodWithPkce(goodFor: GoodFor, { kind, uri }: { kind: Kind; uri: string }): boolean {
  return (
    isGoodFor(goodFor, kind) || (kind === "confidential" && goodFor === "native" && uri.startsWith("http:"))
  );
}

const parsed = (uri: string): string => (URL.canParse(uri) ? new URL(uri).href : uri);
const short = (uri: string): string => (uri.length > 100 ? `${uri.slice(0, 40)}… (${uri.length})` : uri);

const presented = presentedUris.flatMap(({ presented: uris, ...row }) =>
  uris.map((uri) => ({ ...row, uri })),
);
const registered = registeredUris.flatMap(({ uris, ...row }) => uris.map((uri) => ({ ...row, uri })));

describe("the corpus itself", () => {
  it("presents at least 300 URIs to each kind of client, each once, and most of them are refused", () => {
    expect(presented.length).toBeGreaterThanOrEqual(300);
    expect(new Set(presented.map(({ registered: known, uri }) => `${known} ${uri}`)).size).toBe(
      presented.length,
    );
    expect(presented.filter(({ goodFor }) => goodFor === "none").length).toBeGreaterThanOrEqual(300);
  });

  it("registers each URI once", () => {
    expect(new Set(registered.map(({ uri }) => uri)).size).toBe(registered.length);
  });

  it("has what deceives a comparison of parsed URLs: many lead where the registered one leads", () => {
    const alike = presented.filter(
      ({ goodFor, registered: known, uri }) => goodFor === "none" && parsed(known) === parsed(uri),
    );
    expect(alike.length).toBeGreaterThan(60);
  });
});

describe("what is presented (RFC 6749 §3.1.2.3, 8252 §7.3, 9700 §2.1)", () => {
  it.each(presented.map(({ reason, uri, ...row }) => [reason, short(uri), { ...row, uri }] as const))(
    "%s: %j",
    (_, __, { registered: known, goodFor, uri }) => {
      for (const kind of kinds) {
        const by = { requested: uri, rule: "required", redirectSchemes: [] } as const;
        const found = [false, true].map(
          (withPkce) => verifyRedirectUri(clientOf(kind, known), { ...by, withPkce }) !== undefined,
        );
        expect({ kind, found }).toEqual({
          kind,
          found: [isGoodFor(goodFor, kind), isGoodWithPkce(goodFor, { kind, uri })],
        });
      }
    },
  );
});

describe("what is registered (RFC 6749 §3.1.2, 8252 §7, 9700 §2.1)", () => {
  it.each(registered.map(({ reason, uri, goodFor }) => [reason, uri, goodFor] as const))(
    "%s: %j",
    (_, uri, goodFor) => {
      const allowed = kinds.filter((kind) =>
        isRegistrableRedirectUri(clientOf(kind), { uri, redirectSchemes: [] }),
      );
      expect(allowed).toEqual(kinds.filter((kind) => isGoodFor(goodFor, kind)));
      for (const kind of kinds.filter((each) => isGoodFor(goodFor, each)))
        expect(checkClient(clientOf(kind, uri)).redirectUris).toEqual([uri]);
      for (const kind of goodFor === "none" ? kinds : []) {
        const rules = { requested: uri, rule: "required", redirectSchemes: [] } as const;
        expect(verifyRedirectUri(clientOf(kind, uri), rules)).toBeUndefined();
      }
    },
  );

  it.each(registered.map(({ uri, goodFor }) => [goodFor, uri] as const))(
    "a program that registers itself, for %s: %j (RFC 7591 §3.2.2)",
    async (goodFor, uri) => {
      const host = registrationHost();
      const asked = { redirect_uris: [uri], token_endpoint_auth_method: "none" };
      const { status, body } = await register(host, asked);
      const { error, redirect_uris } = body as { error?: string; redirect_uris?: readonly string[] };
      expect({ status, error, redirect_uris }).toEqual(
        goodFor === "none"
          ? { status: 400, error: "invalid_redirect_uri" }
          : { status: 201, redirect_uris: [uri] },
      );
    },
  );
});

/** A client of each kind for each registered URI that it may have; nobody is asked about any of them. */
const known = [...new Set(presentedUris.map(({ registered: uri }) => uri))];
const idOf = (kind: Kind, uri: string): string => `${kind}-${known.indexOf(uri)}`;
const records = known.flatMap((uri) =>
  kinds
    .filter((kind) => isGoodFor(uri.startsWith("http") ? "all" : "native", kind))
    .map((kind): Client => ({ ...clientOf(kind, uri), clientId: idOf(kind, uri), trusted: true })),
);

let app: ListeningApp;
stopClockForEachTest();
beforeAll(async () => {
  const storage = memoryStorage({ clients: [...records, clients.web] });
  const host = testHost({ storage });
  host.session = signedIn;
  app = await listen(host.app);
});
afterAll(() => app.close());

function openRaw(query: string): Promise<Answer> {
  return app.send({ path: `${pairPath()}/authorize?${query}`, headers: { Accept: "text/html" } });
}

function fieldsOf(clientId: string, redirectUri: string): Fields {
  return { ...authorizationParameters("web"), client_id: clientId, redirect_uri: redirectUri };
}

/** Nothing in the answer can lead a browser anywhere. */
function expectPage({ status, headers, text }: Answer): void {
  expect(status).toBe(400);
  for (const name of ["location", "refresh", "link", "content-location"])
    expect(headers[name]).toBeUndefined();
  expect(text).not.toMatch(/http-equiv|<script|<a |<form|<meta[^>]+url/i);
}

/** Where a browser goes, by the parser that browsers have. */
function expectLedTo(uri: string, { status, headers }: Answer): void {
  expect(status).toBe(302);
  const location = headers["location"] ?? "";
  expect(location.startsWith(uri)).toBe(true);
  expect(location).toMatch(/^[\x21-\x7e]+$/);
  const [led, meant] = [new URL(location, "https://host.example/"), new URL(uri)];
  expect([led.protocol, led.host, led.pathname]).toEqual([meant.protocol, meant.host, meant.pathname]);
  expect([led.username, led.password, led.hash]).toEqual(["", "", ""]);
  expect(led.searchParams.get("code")).toMatch(/^[\w.-]+$/);
}

describe("over HTTP (RFC 6749 §10.15, 9700 §4.11)", () => {
  it.each(presentedUris.map(({ reason, registered: uri, ...row }) => [reason, uri, row] as const))(
    "%s, where %s is registered: a browser is led to the registered URI or nowhere",
    async (_, uri, { goodFor, presented: uris }) => {
      for (const kind of kinds.filter((each) =>
        records.some(({ clientId }) => clientId === idOf(each, uri)),
      )) {
        for (const each of uris) {
          const answer = await openRaw(encode(fieldsOf(idOf(kind, uri), each)));
          if (isGoodWithPkce(goodFor, { kind, uri: each })) expectLedTo(each, answer);
          else expectPage(answer);
        }
      }
    },
  );

  const evil = encodeURIComponent("https://evil.example/");
  const good = encodeURIComponent("https://web.example/callback");
  const rest = encode({ ...authorizationParameters("web"), redirect_uri: undefined, state: undefined });

  it.each([
    `redirect_uri=${good}&redirect_uri=${evil}`,
    `redirect_uri=${evil}&redirect_uri=${good}`,
    `redirect_uri=${good}&redirect_uri=${good}`,
    `redirect_uri=${good}&redirect_uri=`,
    `redirect_uri=${good}&redirect%5furi=${evil}`,
    `redirect_uri=${good}&%72edirect_uri=${evil}`,
    `redirect_uri=${evil}`,
    `redirect_uri[]=${evil}`,
    `redirect_uri[0]=${good}&redirect_uri[1]=${evil}`,
    `redirect_uri=${good}%26redirect_uri=${evil}`,
    `redirect_uri=${good};redirect_uri=${evil}`,
    `redirect_uri=${good},${evil}`,
    `redirect_uri=${good}%2C${evil}`,
    `redirect_uri=${good}%00`,
    `redirect_uri=%ED%A0%80${good}`,
    `redirect_uri=${good}%FF`,
    `redirect_uri=${good}%`,
    `redirect_uri=${good}+`,
    `redirect_uri=+${good}`,
    `redirect_uri=%EF%BB%BF${good}`,
    `redirect_uri=${encodeURIComponent(good)}`,
    `redirect_uri=${encodeURIComponent(encodeURIComponent(good))}`,
    `Redirect_uri=${good}`,
    `redirect_uri%00=${good}`,
    `redirect_uri`,
    `redirect_uri=`,
    ``,
  ])("a page for the query %s", async (query) => {
    expectPage(await openRaw(`${rest}&${query}`));
    expectPage(await openRaw(`${query}&${rest}`));
  });

  it.each([
    `redirect_uri=${good}&redirect_uri[]=${evil}`,
    `redirect_uri=${good}&Redirect_uri=${evil}`,
    `redirect_uri=${good}&redirect_uri%00=${evil}`,
    `redirect_uri=${good}&redirect_url=${evil}&next=${evil}&return_to=${evil}`,
    `redirect_uri=${good}#&redirect_uri=${evil}`,
    `redirect_uri=https://web.example/callback`,
  ])("the registered URI for the query %s", async (query) => {
    const trusted = rest.replace("client_id=web", `client_id=${idOf("confidential", known[0] ?? "")}`);
    expectLedTo("https://web.example/callback", await openRaw(`${trusted}&${query.split("#")[0]}`));
  });
});
