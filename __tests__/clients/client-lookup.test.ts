import { type Client, generateClientSecret, memoryStorage } from "../../lib";
import {
  checkListedClients,
  type ClientLookup,
  clientLookup,
  type SelfDescribedClients,
} from "../../lib/clients/client-lookup";
import { apiEndKey, clientEndKey } from "../../lib/protocol/end-mark";
import { now } from "../host/asked";
import { type LoggedCall, loggedStorage } from "../host/call-log";
import { confidentialRecord, issuerRecord, publicRecord } from "../records/records";

const web = confidentialRecord();
const otherRecord = confidentialRecord({ secretDigests: [generateClientSecret().digest] });
const at = { issuer: issuerRecord(), mayFetch: () => false };
const apis = [{ audience: "https://api.example/orders" }, { audience: "https://api.example/files" }];
const apiKeys = apis.map(({ audience }) => apiEndKey(audience));
const marks: LoggedCall = ["endMarks.find", [clientEndKey("web"), ...apiKeys], now];
const apiEnds = new Map(apis.map(({ audience }) => [audience, undefined]));

interface Given {
  /** What the table gives for any id, one after the other; then nothing. */
  readonly records?: readonly Client[];
  readonly selfDescribed?: Partial<SelfDescribedClients>;
  readonly lagSeconds?: number;
  /** The end mark of any client. */
  readonly endMark?: string;
  /** The end mark of the first API. */
  readonly apiEnd?: string;
}

function lookup({ records = [], selfDescribed, lagSeconds = 5, endMark, apiEnd }: Given = {}) {
  const left = [...records];
  const { storage, calls } = loggedStorage({
    "clients.find": async () => left.shift(),
    "clients.isBrowserOrigin": async () => true,
    "endMarks.find": async () => [endMark, apiEnd, undefined],
  });
  const strangers: SelfDescribedClients = {
    find: () => Promise.reject(new Error("a stranger was looked for")),
    mayHoldTokens: () => Promise.reject(new Error("a stranger was asked about")),
    isBrowserOrigin: () => false,
    ...selfDescribed,
  };
  const clients: ClientLookup = clientLookup(storage, {
    lagSeconds,
    clock: () => now,
    redirectSchemes: [],
    apis,
    selfDescribed: selfDescribed && strangers,
  });
  return { clients, calls };
}

describe("the client as it is now (RFC 6749 §2.2)", () => {
  const stranger = publicRecord("native", { clientId: "https://app.example/client.json" });
  const selfDescribed = { find: async () => stranger };

  it("is asked for each time", async () => {
    const newer = confidentialRecord({ name: "New name" });
    const { clients, calls } = lookup({ records: [web, newer] });
    expect(await clients.findCurrent("web", at)).toEqual(web);
    expect(await clients.findCurrent("web", at)).toEqual(newer);
    expect(calls).toEqual([
      ["clients.find", "web"],
      ["clients.find", "web"],
    ]);
  });

  it("is none when the table gives another one, whose id differs only in case", async () => {
    const { clients } = lookup({ records: [web] });
    expect(await clients.findCurrent("WEB", at)).toBeUndefined();
  });

  it("is a stranger's when the table has none", async () => {
    expect(await lookup({ selfDescribed }).clients.findCurrent(stranger.clientId, at)).toBe(stranger);
    expect(await lookup().clients.findCurrent(stranger.clientId, at)).toBeUndefined();
  });

  it("is that of the table when there are both", async () => {
    const { clients } = lookup({ selfDescribed, records: [web] });
    expect(await clients.findCurrent("web", at)).toEqual(web);
  });
});

describe("a disabled client (RFC 6749 §2)", () => {
  const disabled = confidentialRecord({ disabled: true });

  it("is not found, and no stranger of the same id is looked for", async () => {
    const { clients } = lookup({ selfDescribed: {}, records: [disabled, disabled, disabled, disabled] });
    expect(await clients.findCurrent("web", at)).toBeUndefined();
    expect(await clients.findRegistered("web", at)).toBeUndefined();
    for (const fresh of [true, false])
      expect(await clients.findHolder("web", { apiId: "orders", fresh })).toBeUndefined();
  });

  it("keeps its id from end users", async () => {
    expect(await lookup({ records: [disabled] }).clients.isTaken("web")).toBe(true);
  });

  it("is not remembered: it may call as soon as it is enabled", async () => {
    const { clients } = lookup({ records: [disabled, web] });
    expect(await clients.findRegistered("web", at)).toBeUndefined();
    expect(await clients.findRegistered("web", at)).toMatchObject({ client: web });
  });

  it("is found again where it says disabled: false", async () => {
    const enabled = confidentialRecord({ disabled: false });
    expect(await lookup({ records: [enabled] }).clients.findCurrent("web", at)).toEqual(enabled);
  });
});

describe("a second secret with an end (RFC 6749 §2.3.1)", () => {
  const secretDigests = [confidentialRecord(), otherRecord].flatMap((client) => client.secretDigests);
  const rotating = (oldSecretUntil: number) => confidentialRecord({ secretDigests, oldSecretUntil });

  it.each([
    [now + 1, secretDigests],
    [now, secretDigests.slice(0, 1)],
    [now - 1, secretDigests.slice(0, 1)],
  ])("counts until then: %d", async (until, expected) => {
    const { clients } = lookup({ records: [rotating(until)] });
    expect(await clients.findCurrent("web", at)).toMatchObject({ secretDigests: expected });
  });
});

describe("a client and its end mark (RFC 7009 §2.1)", () => {
  const earlier = confidentialRecord({ name: "An earlier client" });

  it("are read together where nothing was ended", async () => {
    const { clients, calls } = lookup({ records: [web] });
    expect(await clients.findRegistered("web", at)).toEqual({
      client: web,
      endMark: undefined,
      apiEnds,
      asOf: now,
    });
    expect(calls).toEqual([["clients.find", "web"], marks]);
  });

  it("are never an earlier client and the mark that ended it: the record is read again", async () => {
    const { clients, calls } = lookup({ records: [earlier, web], endMark: "M" });
    expect(await clients.findRegistered("web", at)).toEqual({
      client: web,
      endMark: "M",
      apiEnds,
      asOf: now,
    });
    expect(calls).toEqual([["clients.find", "web"], marks, ["clients.find", "web"]]);
  });

  it("are none when the client is gone by then", async () => {
    const { clients } = lookup({ records: [earlier], endMark: "M" });
    expect(await clients.findRegistered("web", at)).toBeUndefined();
  });

  it("are read once when the mark was known before", async () => {
    const { clients, calls } = lookup({ records: [web, web, web], endMark: "M", lagSeconds: 0 });
    await clients.findRegistered("web", at);
    calls.length = 0;
    expect(await clients.findRegistered("web", at)).toMatchObject({ endMark: "M" });
    expect(calls).toEqual([["clients.find", "web"], marks]);
  });
});

describe("the end marks of the APIs (RFC 7009 §2.1)", () => {
  const ended = new Map([...apiEnds, ["https://api.example/orders", "A"]]);

  it("are read in the call that reads the client's, and remembered with it", async () => {
    const { clients, calls } = lookup({ records: [web], apiEnd: "A" });
    const found = await clients.findRegistered("web", at);
    expect(found).toEqual({ client: web, endMark: undefined, apiEnds: ended, asOf: now });
    expect(await clients.findHolder("web", { apiId: "orders", fresh: false })).toMatchObject({
      apiEnds: ended,
    });
    expect(calls).toEqual([["clients.find", "web"], marks]);
  });

  it("do not have the record read again: the client is the same", async () => {
    const { clients, calls } = lookup({ records: [web, web], apiEnd: "A", lagSeconds: 0 });
    await clients.findRegistered("web", at);
    expect(calls).toEqual([["clients.find", "web"], marks]);
  });

  it("are read as they are now for who asks for that", async () => {
    const { clients, calls } = lookup({ records: [web, web], apiEnd: "A" });
    await clients.findHolder("web", { apiId: "orders", fresh: false });
    expect(await clients.findHolder("web", { apiId: "orders", fresh: true })).toMatchObject({
      apiEnds: ended,
    });
    expect(calls.filter(([name]) => name === "endMarks.find")).toHaveLength(2);
  });

  it("are read for a stranger too, before its document is fetched", async () => {
    const stranger = publicRecord("native", { clientId: "https://app.example/client.json" });
    const { clients, calls } = lookup({
      apiEnd: "A",
      selfDescribed: {
        async find() {
          expect(calls.filter(([name]) => name === "endMarks.find")).toHaveLength(2);
          return stranger;
        },
        mayHoldTokens: async () => true,
      },
    });
    const { clientId } = stranger;
    expect(await clients.findRegistered(clientId, at)).toMatchObject({ client: stranger, apiEnds: ended });
    expect(await clients.findHolder(clientId, { apiId: "orders", fresh: false })).toMatchObject({
      isSelfDescribed: true,
      apiEnds: ended,
    });
  });

  it("must all be in storage's answer: a short one does not mean that nothing has ended", async () => {
    const { storage } = loggedStorage({
      "clients.find": async () => web,
      "endMarks.find": async () => [undefined],
    });
    const clients = clientLookup(storage, { lagSeconds: 5, clock: () => now, redirectSchemes: [], apis });
    await expect(clients.findRegistered("web", at)).rejects.toMatchObject({ code: "incomplete-end-marks" });
  });
});

/** A lookup that has found the first record; time passes only when it is told to. */
async function refusing(given: Given) {
  let ran = 0;
  jest.spyOn(performance, "now").mockImplementation(() => ran * 1_000);
  const { clients, calls } = lookup(given);
  const refused = await clients.findRegistered("web", at);
  if (!refused) throw new Error("the client was not found");
  calls.length = 0;
  return { clients, calls, refused, pass: (seconds: number) => void (ran += seconds) };
}

describe("a record that is newer than a refusal (RFC 6749 §2.2)", () => {
  const newer = confidentialRecord({ name: "New name" });
  const stranger = publicRecord("native", { selfDescription: { by: "registration", digest: "d" } });

  afterEach(() => jest.restoreAllMocks());

  it("is read with its end mark, and remembered in place of the other", async () => {
    const { clients, calls, refused } = await refusing({ records: [web, newer] });
    const found = await clients.findNewer(refused);
    expect(found).toEqual({ client: newer, endMark: undefined, apiEnds, asOf: now });
    expect(calls).toEqual([["clients.find", "web"], marks]);
    expect(await clients.findRegistered("web", at)).toBe(found);
    expect(calls).toHaveLength(2);
  });

  it("is shared by all who are refused at once, and read once a second", async () => {
    const { clients, calls, refused, pass } = await refusing({ records: [web, newer, web] });
    const found = await Promise.all(Array.from({ length: 100 }, () => clients.findNewer(refused)));
    for (const each of found) expect(each).toMatchObject({ client: newer });
    expect(calls).toHaveLength(2);
    pass(0.9);
    expect(await clients.findNewer(refused)).toBe(found[0]);
    expect(calls).toHaveLength(2);
    pass(0.2);
    expect(await clients.findNewer(refused)).toMatchObject({ client: web });
    expect(calls).toHaveLength(4);
  });

  it("is none for who was refused by the newest one", async () => {
    const { clients, refused } = await refusing({ records: [web, newer] });
    const found = await clients.findNewer(refused);
    expect(found && (await clients.findNewer(found))).toBeUndefined();
  });

  it("is none when the client is gone: it is unknown from then on", async () => {
    const { clients, refused } = await refusing({ records: [web] });
    expect(await clients.findNewer(refused)).toBeUndefined();
    expect(await clients.findRegistered("web", at)).toBeUndefined();
  });

  it("is none without a lag, and for a client that nobody registered: nothing is read", async () => {
    const { clients, calls, refused } = await refusing({ records: [web, newer], lagSeconds: 0 });
    expect(await clients.findNewer(refused)).toBeUndefined();
    const other = await refusing({ records: [web, newer] });
    expect(await other.clients.findNewer({ ...other.refused, client: stranger })).toBeUndefined();
    expect([...calls, ...other.calls]).toEqual([]);
  });
});

describe("what the access tokens of a client depend on (RFC 9068 §4)", () => {
  it("is remembered, unless it is asked for as it is now", async () => {
    const withoutSubscription = confidentialRecord({ subscriptions: {} });
    const { clients } = lookup({ records: [web, withoutSubscription] });
    const asked = [false, false, true].map(
      (fresh) => () => clients.findHolder("web", { apiId: "orders", fresh }),
    );
    const found = [];
    for (const ask of asked) found.push((await ask())?.hasSubscription);
    expect(found).toEqual([true, true, false]);
  });

  it.each([
    [false, 1],
    [true, 2],
  ])("is remembered of a stranger too, unless it is asked for as it is now: %s", async (fresh, times) => {
    const mayHoldTokens = jest.fn(async () => true);
    const { clients } = lookup({ selfDescribed: { mayHoldTokens } });
    for (let round = 0; round < 2; round += 1) await clients.findHolder("dcr-1", { apiId: "orders", fresh });
    expect(mayHoldTokens).toHaveBeenCalledTimes(times);
  });

  it.each([
    ["orders", true],
    ["billing", false],
    ["constructor", false],
  ])("is its subscription to the API: %s", async (apiId, hasSubscription) => {
    const { clients } = lookup({ records: [web] });
    expect(await clients.findHolder("web", { apiId, fresh: false })).toEqual({
      hasSubscription,
      isSelfDescribed: false,
      endMark: undefined,
      apiEnds,
      asOf: now,
    });
  });

  it("is the policy of the API for a stranger", async () => {
    const selfDescribed = { mayHoldTokens: async (_: string, apiId: string) => apiId === "orders" };
    const { clients } = lookup({ selfDescribed, endMark: "M" });
    expect(await clients.findHolder("dcr-1", { apiId: "orders", fresh: false })).toEqual({
      hasSubscription: true,
      isSelfDescribed: true,
      endMark: "M",
      apiEnds,
      asOf: now,
    });
    expect(await clients.findHolder("dcr-1", { apiId: "billing", fresh: false })).toBeUndefined();
    expect(await lookup().clients.findHolder("dcr-1", { apiId: "orders", fresh: false })).toBeUndefined();
  });

  it.each(["", "two words", "wéb", "x".repeat(256)])("is not asked for the id %j", async (clientId) => {
    const { clients, calls } = lookup({ records: [web], selfDescribed: { mayHoldTokens: async () => true } });
    expect(await clients.findHolder(clientId, { apiId: "orders", fresh: false })).toBeUndefined();
    expect(await clients.findRegistered(clientId, at)).toBeUndefined();
    expect(calls).toEqual([]);
  });
});

describe("the origin of a script (RFC 6454 §6.2)", () => {
  const longest = "https://".padEnd(300, "a");

  it.each(["https://spa.example", "http://localhost:5173", "http://[::1]", longest])(
    "is looked up: %s",
    async (origin) => {
      const { clients, calls } = lookup();
      expect(await clients.isBrowserOrigin(origin)).toBe(true);
      expect(calls).toEqual([["clients.isBrowserOrigin", origin]]);
    },
  );

  it.each([
    "",
    "null",
    "https://",
    "https://spa.example/",
    "https://spa.example/page",
    "https://spa.example?a",
    "https://spa.example#a",
    "https://spa.example ",
    " https://spa.example",
    "xhttps://spa.example",
    "chrome-extension://abc",
    `${longest}a`,
    "a".repeat(301),
  ])("is none, and nobody is asked: %s", async (origin) => {
    const { clients, calls } = lookup({ selfDescribed: { isBrowserOrigin: () => true } });
    expect(await clients.isBrowserOrigin(origin)).toBe(false);
    expect(calls).toEqual([]);
  });

  it("that the host has listed for strangers needs no look-up", async () => {
    const { clients, calls } = lookup({ selfDescribed: { isBrowserOrigin: () => true } });
    expect(await clients.isBrowserOrigin("https://spa.example")).toBe(true);
    expect(calls).toEqual([]);
  });
});

describe("whether a subject is a client's id (RFC 9068 §5)", () => {
  it.each<[string, readonly Client[], boolean]>([
    ["it is", [web], true],
    ["it is not", [], false],
    ["the table gives another client", [confidentialRecord({ clientId: "WEB" })], false],
  ])("is asked once for the lag: %s", async (_, records, expected) => {
    const { clients, calls } = lookup({ records });
    expect(await clients.isTaken("web")).toBe(expected);
    expect(await clients.isTaken("web")).toBe(expected);
    expect(calls).toEqual([["clients.find", "web"]]);
  });

  it("is no for what can be no client's id", async () => {
    const { clients, calls } = lookup({ records: [web] });
    expect(await clients.isTaken("Ännchen")).toBe(false);
    expect(calls).toEqual([]);
  });
});

describe("clients that are known from the start (RFC 8252 §7.1)", () => {
  const records = [web, publicRecord("native", { redirectUris: ["myapp:/cb"] })];

  it("must use schemes that the server lists", () => {
    const { clients } = memoryStorage({ clients: records });
    expect(() => checkListedClients(clients, [])).toThrow(
      expect.objectContaining({ code: "unlisted-redirect-scheme" }),
    );
    expect(() => checkListedClients(clients, ["myapp"])).not.toThrow();
  });

  it("are none of a store without a list", () => {
    const { storage } = loggedStorage({ "clients.find": async () => records[1] });
    expect(() => checkListedClients(storage.clients, [])).not.toThrow();
  });
});
