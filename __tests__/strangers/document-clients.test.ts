import { fetchReasons } from "../../lib/fetching/read-document";
import { because } from "../../lib/protocol/oauth-error";
import {
  type DocumentClientPorts,
  findDocumentClient,
  isDocumentUrl,
} from "../../lib/strangers/document-clients";
import type { ClientMetadataDocumentAdapter } from "../../lib/clients/port";
import type { NewEvent } from "../../lib/events/port";
import type { DocumentAnswer, FoundDocument } from "../../lib/fetching/remembered-documents";
import { refusalOf } from "../host/asked";
import { foundDocument } from "../records/found-documents";
import { issuerRecord } from "../records/records";
import { shortenTimeLimitForEachTest } from "../storage/time-limit";

const noConnection = because(fetchReasons, "no-connection");

shortenTimeLimitForEachTest();

const clientId = "https://app.example/client.json";
const issuer = issuerRecord();
const document = { client_id: clientId, redirect_uris: ["https://app.example/callback"] };
const found = foundDocument(document);
const accepted = { kind: "accepted" } as const;

interface Given {
  /** What the host answers. */
  readonly answer?: unknown;
  readonly adapter?: Partial<ClientMetadataDocumentAdapter>;
  readonly remembered?: Partial<Record<"fresh" | "peek", FoundDocument>>;
  readonly fetched?: DocumentAnswer;
  readonly mayFetch?: boolean;
  /** True for a token request. */
  readonly byGrant?: boolean;
  readonly sought?: string;
}

/** Looks for the client; `log` says what was asked meanwhile, in its order. */
function look({
  answer = accepted,
  adapter,
  remembered = {},
  fetched = found,
  mayFetch = true,
  byGrant = false,
  sought = clientId,
}: Given = {}) {
  const log: string[] = [];
  const events: NewEvent[] = [];
  const note = <T>(name: string, value: T): T => {
    log.push(name);
    return value;
  };
  const ports: DocumentClientPorts = {
    adapters: new Map([["orders", { accept: () => note("accept", answer as never), ...adapter }]]),
    documents: {
      fresh: (_, asker) => note(`fresh for ${asker}`, remembered.fresh),
      peek: () => note("peek", remembered.peek),
      find: async (_, asker) => note(`find for ${asker}`, fetched),
    },
    emit: (event) => void events.push(event),
    redirectSchemes: [],
    insecureLoopback: false,
  };
  const at = { issuer, mayFetch: () => note("mayFetch", mayFetch), byGrant };
  return { work: findDocumentClient(ports, { clientId: sought, ...at }), log, events };
}

describe("the URL of a metadata document (client id metadata documents §3)", () => {
  it.each<[string, boolean, boolean]>([
    [clientId, true, true],
    ["https://app.example/a/", true, true],
    ["https://app.example/", false, false],
    ["https://app.example", false, false],
    ["http://app.example/client.json", false, false],
    ["http://localhost:8080/client.json", false, true],
    ["http://localhost:8080/", false, false],
    ["ftp://localhost/client.json", false, false],
    ["com.app:https://app.example/client.json", false, false],
    ["web", false, false],
    ["", false, false],
  ])("is an https URL with a path: %s is %s, and on this machine %s", (text, expected, onLoopback) => {
    expect(isDocumentUrl(text, { insecureLoopback: false })).toBe(expected);
    expect(isDocumentUrl(text, { insecureLoopback: true })).toBe(onLoopback);
  });
});

describe("a client with a metadata document (client id metadata documents §4)", () => {
  it("is looked for only where its id is a URL", async () => {
    const { work, log } = look({ sought: "web" });
    expect(await work).toBeUndefined();
    expect(log).toEqual([]);
  });

  it("is fetched after the host has said yes", async () => {
    const { work, log, events } = look();
    expect(await work).toMatchObject({
      clientId,
      name: "app.example",
      confidential: false,
      platform: "native",
    });
    expect(log).toEqual(["accept", "fresh for anyone", "mayFetch", "find for anyone"]);
    expect(events).toEqual([]);
  });

  it("is not fetched while its document is fresh", async () => {
    const { work, log } = look({ remembered: { fresh: found } });
    expect(await work).toMatchObject({ clientId });
    expect(log).toEqual(["accept", "fresh for anyone"]);
  });

  it("has its last good document where it may not be fetched", async () => {
    const { work, log } = look({ remembered: { peek: found }, mayFetch: false });
    expect(await work).toMatchObject({ clientId });
    expect(log).toEqual(["accept", "fresh for anyone", "mayFetch", "peek"]);
  });

  it.each<[string, Given, string]>([
    ["the host refuses it", { answer: { kind: "refused" } }, "document-refused-by-host"],
    ["its document is not known and may not be fetched", { mayFetch: false }, "document-not-remembered"],
    [
      "there is no document",
      { fetched: { kind: "refused", ...because(fetchReasons, "answer-status") } },
      "answer-status",
    ],
    ["its document is another one", { fetched: foundDocument({}) }, "document-of-another-client"],
  ])("is none, and an event says why: %s", async (_, given, code) => {
    const { work, events } = look(given);
    expect(await work).toBeUndefined();
    expect(events).toMatchObject([{ kind: "client-document-refused", issuer: issuer.identifier, code }]);
  });

  it.each<[string, Given, readonly string[]]>([
    ["while its document is fresh and kept", { remembered: { fresh: found } }, []],
    ["otherwise its document is kept from now on", {}, ["mayFetch", "find for known"]],
    [
      "but not kept without such a grant",
      { remembered: { peek: found }, mayFetch: false },
      ["mayFetch", "peek"],
    ],
  ])("is found for its code or refresh token: %s", async (_, given, asked) => {
    const { work, log } = look({ ...given, byGrant: true });
    expect(await work).toMatchObject({ clientId });
    expect(log).toEqual(["accept", "fresh for known", ...asked]);
  });

  it.each([true, false])(
    "may try again when its server is back, and an event says why: with a grant %s",
    async (byGrant) => {
      const { work, events } = look({ byGrant, fetched: { kind: "failed", ...noConnection } });
      await expect(work).rejects.toMatchObject({
        error: "temporarily_unavailable",
        description: "The client's metadata document cannot be fetched now.",
        code: "document-unreachable",
        situation: "unreached",
        retryAfterSeconds: 30,
      });
      expect(events).toEqual([
        { kind: "client-document-refused", issuer: issuer.identifier, ...noConnection },
      ]);
    },
  );

  it.each<[string, Given]>([
    [
      "whose URL may not be asked",
      { fetched: { kind: "refused", ...because(fetchReasons, "host-not-public") } },
    ],
    ["whose document is another one", { fetched: foundDocument({}) }],
    ["without a grant of its own", { mayFetch: false }],
    ["that the host refuses", { answer: { kind: "refused" } }],
  ])("is none, and may not try again: a client %s", async (_, given) => {
    const { work, events } = look({ ...given, byGrant: true });
    expect(await work).toBeUndefined();
    expect(events).toHaveLength(1);
  });

  it("may try again when too many are being fetched", async () => {
    const { work, events } = look({
      fetched: { kind: "too-many", ...because(fetchReasons, "too-many-fetches") },
    });
    expect(await refusalOf(work)).toEqual({
      error: "temporarily_unavailable",
      description: "Too many client metadata documents are being fetched.",
      code: "too-many-documents",
    });
    expect(events).toEqual([]);
  });

  it.each<[string, readonly string[] | undefined, string]>([
    ["origins that the host has listed", ["https://app.example"], "browser"],
    ["other origins", ["https://other.example"], "native"],
    ["none", undefined, "native"],
  ])("is a script on web pages with %s", async (_, browserOrigins, platform) => {
    const { work } = look({ adapter: browserOrigins ? { browserOrigins } : {} });
    expect(await work).toMatchObject({ platform });
  });
});

describe("what the host answers about a metadata document (client id metadata documents §6)", () => {
  it.each<[unknown, string]>([
    [null, "nothing, as without a return or an await; kind must be accepted or refused"],
    [true, "kind must be accepted or refused"],
    [{ kind: "yes" }, "kind must be accepted or refused"],
    [{ kind: "accepted", scopes: undefined }, "scopes is undefined. Leave the key out, or write a value"],
    [
      { kind: "accepted", redirectOrigins: undefined },
      "redirectOrigins is undefined. Leave the key out, or write a value",
    ],
    [{ kind: "accepted", scopes: "orders:read" }, "scopes must be a list of scope names"],
    [{ kind: "accepted", scopes: null }, "scopes must be a list of scope names"],
    [{ kind: "accepted", redirectOrigins: "https://a.example" }, "redirectOrigins must be a list of origins"],
    [
      { kind: "accepted", clientAuthentication: "private_key_jwt" },
      'clientAuthentication must be "none", or be left out',
    ],
    [
      { kind: "accepted", allowTokenEndpointAudience: "true" },
      "allowTokenEndpointAudience must be true or false",
    ],
  ])("must have its form: %j", async (answer, problem) => {
    const { work, log } = look({ answer });
    await expect(work).rejects.toThrow(
      new TypeError(`clientMetadataDocuments.accept returned an invalid answer: ${problem}.`),
    );
    expect(log).toEqual(["accept"]);
  });

  it("may have each of its members", async () => {
    const answer = {
      kind: "accepted",
      scopes: ["orders:read"],
      redirectOrigins: ["https://a.example"],
      clientAuthentication: "none",
      allowTokenEndpointAudience: false,
    };
    expect(await look({ answer }).work).toMatchObject({
      redirectUris: ["https://app.example/callback"],
      subscriptions: { orders: { scopes: ["orders:read"] } },
    });
  });

  it("must come in time", async () => {
    const { work } = look({ adapter: { accept: () => new Promise(() => undefined) } });
    await expect(work).rejects.toMatchObject({ code: "host-call-late" });
  });
});
