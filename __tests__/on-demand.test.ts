/** Parts that are loaded when they are needed. */
import type { AuthServerOptions } from "../lib";
import type { RememberedDocuments } from "../lib/fetching/remembered-documents";
import {
  documentsOnDemand,
  keysOnDemand,
  registrationsOnDemand,
  selfDescribedOnDemand,
} from "../lib/on-demand";
import { resolveOptions, type ResolvedOptions } from "../lib/options/resolve";
import { type DocumentServer, documentServer } from "./fixture/document-server";
import { emptyStorage, goodApi, withChanges } from "./fixture/options";

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
    const found = { kind: "found", value: { keys: [] } };
    expect([await documents.find(url), await documents.find(url)]).toEqual([found, found]);
    expect([documents.fresh(url), documents.peek(url)]).toEqual([found, found]);
    expect([documents.isAgeing(url), documents.isFailing(url)]).toEqual([false, false]);
    expect(server.asked).toEqual(["/keys"]);
  });

  it("are kept once somebody known has asked", async () => {
    const url = server.url("/keys");
    const found = { kind: "found", value: { keys: [] } };
    const looked = () => [documents.fresh(url, "anyone"), documents.fresh(url)];
    expect([await documents.find(url, "anyone"), ...looked()]).toEqual([found, found, undefined]);
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
const found = (value: string) => ({ kind: "found", value }) as const;

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
    value: string | undefined,
    calls: readonly string[],
  ];

  const cases: readonly Case[] = [
    ["a fresh one, without asking whether it may be fetched", { fresh: found("a") }, {}, "a", ["fresh"]],
    ["a new one", { find: found("b") }, {}, "b", ["fresh", "mayFetch", "find"]],
    [
      "a newer one than the fresh one",
      { fresh: found("a"), refresh: found("c") },
      { refresh: true },
      "c",
      ["mayFetch", "refresh"],
    ],
    [
      "an old one where none may be fetched",
      { peek: found("d"), find: found("b") },
      { mayFetch: false },
      "d",
      ["fresh", "mayFetch", "peek"],
    ],
    [
      "none where none may be fetched",
      { find: found("b") },
      { mayFetch: false },
      undefined,
      ["fresh", "mayFetch", "peek"],
    ],
    [
      "none where none was found",
      { find: { kind: "failed", reason: "no answer" } },
      {},
      undefined,
      ["fresh", "mayFetch", "find"],
    ],
  ];

  it.each(cases)("is %s", async (_, answers, { refresh = false, mayFetch = true }, value, calls) => {
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
    expect(await fetchKeys(keysUrl, asks)).toBe(value);
    expect(seen).toEqual(calls.map((name) => `${name} ${keysUrl}`));
  });

  it("of a stranger has a memory of its own", async () => {
    const registered = memoryOf({ fresh: found("own") }, []);
    const strangers = memoryOf({ fresh: found("strange") }, []);
    const fetchKeys = keysOnDemand({ registered, strangers });
    const asks = { refresh: false, mayFetch: () => true };
    expect(await fetchKeys(keysUrl, { ...asks, isStranger: true })).toBe("strange");
    expect(await fetchKeys(keysUrl, { ...asks, isStranger: false })).toBe("own");
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
    expect([...registrationsOnDemand(options, registration).keys()]).toEqual(routes);
  });
});
