/** Parts that are loaded when they are needed. */
import type { AuthServerOptions } from "../lib";
import type { KeyAnswer } from "../lib/clients/assertion-keys";
import type { RememberedDocuments } from "../lib/fetching/remembered-documents";
import { documentsOnDemand, keysOnDemand, routesOnDemand, selfDescribedOnDemand } from "../lib/on-demand";
import { resolveOptions, type ResolvedOptions } from "../lib/options/resolve";
import { type DocumentServer, documentServer } from "./servers/document-server";
import { foundDocument, foundKeys } from "./records/found-documents";
import { emptyStorage, goodApi, withChanges } from "./records/options";

const now = 1_000;
const clock = (): number => now;

describe("documents of strangers (RFC 9728 §7.7)", () => {
  let server: DocumentServer;
  let documents: RememberedDocuments;

  beforeAll(async () => {
    server = await documentServer();
    server.documents.set("/keys", { body: { keys: [] } });
  });
  beforeEach(() => {
    documents = documentsOnDemand(true, clock);
    server.asked.length = 0;
  });
  afterAll(() => server.close());

  it("are remembered once one was found", async () => {
    const url = server.url("/keys");
    expect([documents.fresh(url), documents.peek(url)]).toEqual([undefined, undefined]);
    const found = foundDocument({ keys: [] });
    expect([await documents.find(url), await documents.find(url)]).toEqual([
      { ...found, isNew: true },
      found,
    ]);
    expect([documents.fresh(url), documents.peek(url)]).toEqual([found, found]);
    expect([documents.isAgeing(url), documents.isFailing(url)]).toEqual([false, false]);
    expect(server.asked).toEqual(["/keys"]);
  });

  it("are kept once somebody known has asked", async () => {
    const url = server.url("/keys");
    const found = foundDocument({ keys: [] });
    const looked = () => [documents.fresh(url, "anyone"), documents.fresh(url)];
    const first = await documents.find(url, "anyone");
    expect([first, ...looked()]).toEqual([{ ...found, isNew: true }, found, undefined]);
    expect([await documents.find(url), ...looked()]).toEqual([found, found, found]);
    expect(server.asked).toEqual(["/keys"]);
  });

  it("are asked for again on demand, and failures are remembered", async () => {
    const url = server.url("/none");
    expect(await documents.refresh(url)).toMatchObject({ kind: "failed" });
    expect([documents.isAgeing(url), documents.isFailing(url)]).toEqual([false, true]);
  });

  it("get old with time", async () => {
    let time = now;
    documents = documentsOnDemand(true, () => time);
    const url = server.url("/keys");
    await documents.find(url);
    time += 299;
    expect(documents.isAgeing(url)).toBe(true);
    time += 1;
    expect([documents.fresh(url), documents.peek(url)?.kind]).toEqual([undefined, "found"]);
  });

  it("are not on this machine, unless the host allows it", async () => {
    documents = documentsOnDemand(false, clock);
    expect(await documents.find(server.url("/keys"))).toMatchObject({ kind: "refused" });
    expect(server.asked).toEqual([]);
  });
});

const keysUrl = "https://client.example/keys";
const found = foundDocument;

/** A memory that gives these answers, and what it was asked. */
function memoryOf(answers: Partial<Record<keyof RememberedDocuments, unknown>>, calls: string[]) {
  const names = ["find", "refresh", "fresh", "peek", "isAgeing", "isFailing"] as const;
  const methods = names.map((name) => [
    name,
    (asked: string) => {
      calls.push(`${name} ${asked}`);
      return answers[name];
    },
  ]);
  return Object.fromEntries(methods) as unknown as RememberedDocuments;
}

describe("the key set of a client (RFC 7523 §3)", () => {
  type Case = readonly [
    what: string,
    answers: Parameters<typeof memoryOf>[0],
    asked: { readonly refresh?: true; readonly mayFetch?: false },
    answer: KeyAnswer,
    calls: readonly string[],
  ];

  const failed = { kind: "failed", reason: "no answer" } as const;
  const notRemembered: KeyAnswer = {
    kind: "refused",
    reason:
      "this process does not remember them, and fetches them only for a code or refresh token of this client: start with one of these",
  };
  const cases: readonly Case[] = [
    [
      "a fresh one, without asking whether it may be fetched",
      { fresh: found("a") },
      {},
      foundKeys("a", false),
      ["fresh"],
    ],
    ["a new one", { find: found("b", true) }, {}, foundKeys("b"), ["fresh", "mayFetch", "find"]],
    [
      "an old one where no new one came",
      { find: found("b") },
      {},
      foundKeys("b", false),
      ["fresh", "mayFetch", "find"],
    ],
    [
      "a newer one than the fresh one",
      { fresh: found("a"), refresh: found("c", true) },
      { refresh: true },
      foundKeys("c"),
      ["mayFetch", "refresh"],
    ],
    [
      "no newer one where its server was not asked",
      { refresh: found("a") },
      { refresh: true },
      foundKeys("a", false),
      ["mayFetch", "refresh"],
    ],
    [
      "the old one, and nothing else, where none may be fetched",
      { peek: found("d"), find: found("b") },
      { mayFetch: false },
      foundKeys("d"),
      ["fresh", "mayFetch", "peek"],
    ],
    [
      "none where none may be fetched",
      { find: found("b") },
      { mayFetch: false },
      notRemembered,
      ["fresh", "mayFetch", "peek"],
    ],
    ["none where none was found", { find: failed }, {}, failed, ["fresh", "mayFetch", "find"]],
  ];

  it.each(cases)("is %s", async (_, answers, { refresh = false, mayFetch = true }, answer, calls) => {
    const seen: string[] = [];
    const others = memoryOf({}, seen);
    const fetchKeys = keysOnDemand({ registered: memoryOf(answers, seen), strangers: others });
    const asks = {
      refresh,
      mayFetch: () => {
        seen.push(`mayFetch ${keysUrl}`);
        return mayFetch;
      },
      isStranger: false,
    };
    expect(await fetchKeys(keysUrl, asks)).toEqual(answer);
    expect(seen).toEqual(calls.map((name) => `${name} ${keysUrl}`));
  });

  it("of a stranger has a memory of its own", async () => {
    const registered = memoryOf({ fresh: found("own") }, []);
    const strangers = memoryOf({ fresh: found("strange") }, []);
    const fetchKeys = keysOnDemand({ registered, strangers });
    const asks = { refresh: false, mayFetch: () => true };
    expect(await fetchKeys(keysUrl, { ...asks, isStranger: true })).toEqual(foundKeys("strange", false));
    expect(await fetchKeys(keysUrl, { ...asks, isStranger: false })).toEqual(foundKeys("own", false));
  });
});

const clientRegistration = { approve: () => ({ kind: "approved" }), browserOrigins: ["https://a.example"] };
const clientMetadataDocuments = {
  accept: () => ({ kind: "accepted" }),
  browserOrigins: ["https://b.example"],
};

function optionsWith(...adapters: readonly object[]): ResolvedOptions {
  const apis = adapters.map((adapter, index) => {
    const audience = `https://api.example/${index}`;
    return [`api${index}`, { ...goodApi, audience, ...adapter }] as const;
  });
  const options: AuthServerOptions = withChanges({ apis: Object.fromEntries(apis) });
  return resolveOptions(options, now);
}

describe("clients that nobody has registered (RFC 7591 §3)", () => {
  it.each<readonly [string, readonly object[], readonly boolean[] | undefined, readonly string[]]>([
    ["at no API", [{}], undefined, []],
    ["by registration", [{ clientRegistration }], [true, false], ["api0"]],
    ["by documents", [{}, { clientMetadataDocuments }], [false, true], []],
    ["by both", [{ clientMetadataDocuments }, { clientRegistration }], [true, true], ["api1"]],
  ])("come in %s", (_, adapters, origins, routes) => {
    const options = optionsWith(...adapters);
    const documents = documentsOnDemand(false, clock);
    const ports = { storage: emptyStorage, documents, emit: () => undefined, clock };
    const clients = selfDescribedOnDemand(options, ports);
    const asked = ["https://a.example", "https://b.example"];
    expect(clients && asked.map((origin) => clients.isBrowserOrigin(origin))).toEqual(origins);
    const registration = { ...ports, redirectSchemes: [], randomId: () => "R" };
    const routesThere = routesOnDemand(options, registration);
    const having = options.issuers.filter((issuer) => routesThere.some(({ on }) => on?.(issuer)));
    expect([...new Set(having.map(({ api }) => api.apiId))]).toEqual(routes);
  });
});
