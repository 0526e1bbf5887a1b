import {
  type Client,
  type ClientStore,
  digestClientSecret,
  generateClientSecret,
  memoryStorage,
} from "../../lib";
import { type ClientLookup, clientLookup } from "../../lib/clients/client-lookup";
import { authorize } from "../browser/authorize";
import { postToken, refresh } from "../requests/client-requests";
import { clients as hostClients, credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { confidentialRecord, issuerRecord } from "../records/records";

afterEach(() => jest.restoreAllMocks());

interface Table {
  /** The table behind the checks. */
  readonly clients: ClientLookup & { find(clientId: string): Promise<Client | undefined> };
  /** What the table was asked for. */
  readonly asked: string[];
  /** Answers or throws for an id; change it as you like. */
  answer: (clientId: string) => unknown;
  readonly origins: Set<string>;
  /** Epoch seconds. */
  now: number;
}

/** The refusal of a record, whose text begins with these words. */
const wrongRecord = (path: string): object => ({
  code: "wrong-client-record",
  message: expect.stringMatching(new RegExp(`^${path}`)) as string,
});

/** Nothing has been ended. */
const noMarks = {
  find: async (keys: readonly string[]) => keys.map(() => undefined),
  save: async () => undefined,
};

/** A host's table behind the checks, with a clock that stands still. */
function table(answer: (clientId: string) => unknown, { lagSeconds = 5 } = {}): Table {
  const asked: string[] = [];
  const store: ClientStore & { origins: Set<string> } = {
    origins: new Set(["https://spa.example"]),
    async find(clientId) {
      asked.push(clientId);
      return made.answer(clientId) as Client | undefined;
    },
    async isBrowserOrigin(origin) {
      asked.push(origin);
      return this.origins.has(origin);
    },
  };
  const lookup = clientLookup(
    { clients: store, endMarks: noMarks },
    { lagSeconds, clock: () => made.now, redirectSchemes: [], apis: [] },
  );
  const at = { issuer: issuerRecord(), mayFetch: () => false };
  const made: Table = {
    clients: { ...lookup, find: async (clientId) => (await lookup.findRegistered(clientId, at))?.client },
    asked,
    answer,
    origins: store.origins,
    now: 1_000,
  };
  return made;
}

describe("a host's own client table (RFC 6749 §2.2)", () => {
  it("gives the client that was asked for", async () => {
    const { clients, asked } = table(() => confidentialRecord());
    expect(await clients.find("web")).toEqual(confidentialRecord());
    expect(asked).toEqual(["web"]);
  });

  it.each(["WEB", "Web", "web2", "we"])("is not believed when it gives web for %s", async (clientId) => {
    const { clients, asked } = table(() => confidentialRecord());
    expect(await clients.find(clientId)).toBeUndefined();
    expect(asked).toEqual([clientId]);
  });

  it.each([
    ["nothing", ""],
    ["a space", "we b"],
    ["a line feed at the end", "web\n"],
    ["a NUL", "web\0"],
    ["a character beyond ASCII", "wéb"],
    ["256 characters", "x".repeat(256)],
  ])("is not asked for an id that cannot be registered: %s", async (_, clientId) => {
    const { clients, asked } = table(() => confidentialRecord());
    expect(await clients.find(clientId)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it.each(["!", "x".repeat(255), "~'\"\\;--", "__proto__"])("is asked for the id %s", async (clientId) => {
    const { clients, asked } = table(() => confidentialRecord({ clientId }));
    expect(await clients.find(clientId)).toEqual(confidentialRecord({ clientId }));
    expect(asked).toEqual([clientId]);
  });

  it("may know no such client", async () => {
    expect(await table(() => undefined).clients.find("web")).toBeUndefined();
  });

  it("may say so with null, as databases do", async () => {
    expect(await table(() => null).clients.find("web")).toBeUndefined();
  });

  it("is refused when it gives a record of the wrong shape", async () => {
    const { clients } = table(() => ({ ...confidentialRecord(), redirectUris: ["javascript:alert(1)"] }));
    await expect(clients.find("web")).rejects.toThrow(TypeError);
    await expect(clients.find("web")).rejects.toMatchObject(wrongRecord('client "web": redirectUris.0 '));
  });

  it.each([
    ["PNG", "data:image/png;base64,iVBORw0KGgo="],
    ["JPEG", "data:image/jpeg;base64,/9j/"],
    ["GIF", "data:image/gif;base64,R0lGODlh"],
    ["WebP", "data:image/webp;base64,UklGRg=="],
    ["SVG", "data:image/svg+xml;base64,PHN2Zy8+"],
    ["24 KB", "data:image/png;base64,".padEnd(24_576, "A")],
  ])("may give a logo in its own URI: %s", async (_, logo) => {
    const { clients } = table(() => confidentialRecord({ logo }));
    expect(await clients.find("web")).toEqual(confidentialRecord({ logo }));
  });

  it.each([
    ["a URL to request", "https://web.example/logo.png"],
    ["a script", "javascript:alert(1)"],
    ["a page", "data:text/html;base64,AAAA"],
    ["another kind of picture", "data:image/bmp;base64,AAAA"],
    ["a picture that is not in base64", "data:image/svg+xml,<svg/>"],
    ["a media type in upper case", "data:image/PNG;base64,AAAA"],
    ["a parameter of the media type", "data:image/png;charset=x;base64,AAAA"],
    ["no content", "data:image/png;base64,"],
    ["the way out of an attribute", 'data:image/png;base64,AAAA" onerror="x'],
    ["a line feed at its end", "data:image/png;base64,AAAA\n"],
    ["more than 24 KB", "data:image/png;base64,".padEnd(24_577, "A")],
    ["nothing", ""],
    ["a number", 5],
  ])("is refused when it gives a logo that is %s", async (_, logo) => {
    const { clients } = table(() => ({ ...confidentialRecord(), logo }));
    await expect(clients.find("web")).rejects.toMatchObject(wrongRecord('client "web": logo '));
  });

  it("is asked about origins as it is", async () => {
    const { clients } = table(() => undefined);
    expect(await clients.isBrowserOrigin("https://spa.example")).toBe(true);
    expect(await clients.isBrowserOrigin("https://evil.example")).toBe(false);
  });
});

describe("a found client is remembered for the lag (RFC 6749 §2.2)", () => {
  it("is not asked for again inside it, and is after it", async () => {
    const known = table(() => confidentialRecord());
    for (const seconds of [1_000, 1_000, 1_001, 1_004]) {
      known.now = seconds;
      expect(await known.clients.find("web")).toEqual(confidentialRecord());
    }
    expect(known.asked).toEqual(["web"]);
    known.now = 1_005;
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
    expect(known.asked).toEqual(["web", "web"]);
  });

  it("is asked for every time with a lag of 0", async () => {
    const known = table(() => confidentialRecord(), { lagSeconds: 0 });
    for (let time = 0; time < 3; time += 1) await known.clients.find("web");
    expect(known.asked).toEqual(["web", "web", "web"]);
  });

  it("counts the lag from the question, not from a slow answer or the last use", async () => {
    const known = table(() => {
      known.now = 1_003;
      return confidentialRecord();
    });
    await known.clients.find("web");
    known.answer = () => undefined;
    known.now = 1_004;
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
    known.now = 1_005;
    expect(await known.clients.find("web")).toBeUndefined();
  });

  it("is served for at most the lag once it was taken out of the table", async () => {
    const known = table(() => confidentialRecord());
    await known.clients.find("web");
    known.answer = () => undefined;
    known.now = 1_004;
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
    known.now = 1_005;
    expect(await known.clients.find("web")).toBeUndefined();
    // and the memory of it is gone for good
    known.now = 1_004;
    expect(await known.clients.find("web")).toBeUndefined();
  });

  it("is asked for again when the clock was set back", async () => {
    const known = table(() => confidentialRecord());
    await known.clients.find("web");
    known.answer = () => undefined;
    known.now = 995;
    expect(await known.clients.find("web")).toBeUndefined();
  });

  it("is served as it was for at most the lag once its record has changed", async () => {
    const known = table(() => confidentialRecord());
    await known.clients.find("web");
    known.answer = () => confidentialRecord({ name: "New name" });
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
    known.now = 1_005;
    expect(await known.clients.find("web")).toEqual(confidentialRecord({ name: "New name" }));
  });

  it("fails after the lag when the table fails: what is old is not served instead", async () => {
    const known = table(() => confidentialRecord());
    await known.clients.find("web");
    known.answer = () => {
      throw new Error("the database is away");
    };
    known.now = 1_004;
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
    known.now = 1_005;
    await expect(known.clients.find("web")).rejects.toThrow("the database is away");
  });
});

describe("what is not remembered of a client (RFC 6749 §2.2)", () => {
  const misses: [string, () => unknown][] = [
    ["an unknown client", () => undefined],
    ["an unknown client, said with null", () => null],
    [
      "a failed look-up",
      () => {
        throw new Error("the database is away");
      },
    ],
    ["a record of the wrong shape", () => ({ ...confidentialRecord(), name: "" })],
    ["another client", () => confidentialRecord({ clientId: "other" })],
  ];
  it.each(misses)("is never %s", async (_, miss) => {
    const known = table(miss);
    for (let time = 0; time < 3; time += 1) await known.clients.find("web").catch(() => undefined);
    expect(known.asked).toEqual(["web", "web", "web"]);
    known.answer = () => confidentialRecord();
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
  });

  it("never answers for an id in other case, though the table ignores case", async () => {
    const known = table(() => confidentialRecord());
    await known.clients.find("web");
    for (const clientId of ["WEB", "Web", "web2"]) {
      expect(await known.clients.find(clientId)).toBeUndefined();
      expect(await known.clients.find(clientId)).toBeUndefined();
    }
    expect(known.asked).toEqual(["web", "WEB", "WEB", "Web", "Web", "web2", "web2"]);
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
  });

  it("does not answer for a browser origin, nor an origin for a client", async () => {
    const known = table((clientId) => confidentialRecord({ clientId }));
    await known.clients.find("https://web.example");
    expect(await known.clients.isBrowserOrigin("https://web.example")).toBe(false);
    await known.clients.isBrowserOrigin("https://spa.example");
    known.answer = () => undefined;
    expect(await known.clients.find("https://spa.example")).toBeUndefined();
  });

  it("is forgotten before memory runs out: a flood of 20000 others pushes it out", async () => {
    const known = table((clientId) => confidentialRecord({ clientId }));
    await known.clients.find("web");
    for (let index = 0; index < 20_000; index += 1) await known.clients.find(`flood-${index}`);
    await known.clients.find("web");
    expect(known.asked.filter((clientId) => clientId === "web")).toHaveLength(2);
  });

  it("is not forgotten by a flood of 20000 unknown ids", async () => {
    const known = table((clientId) => (clientId === "web" ? confidentialRecord() : undefined));
    await known.clients.find("web");
    for (let index = 0; index < 20_000; index += 1) await known.clients.find(`flood-${index}`);
    await known.clients.find("web");
    expect(known.asked.filter((clientId) => clientId === "web")).toHaveLength(1);
  });
});

describe("a browser origin is remembered for the lag (Fetch standard)", () => {
  const origin = "https://spa.example";

  it("when it is one, and no longer", async () => {
    const known = table(() => undefined);
    await known.clients.isBrowserOrigin(origin);
    known.origins.clear();
    known.now = 1_004;
    expect(await known.clients.isBrowserOrigin(origin)).toBe(true);
    expect(known.asked).toEqual([origin]);
    known.now = 1_005;
    expect(await known.clients.isBrowserOrigin(origin)).toBe(false);
    expect(known.asked).toEqual([origin, origin]);
  });

  it("not when it is none: one that is registered counts at once", async () => {
    const known = table(() => undefined);
    const fresh = "https://new.example";
    expect(await known.clients.isBrowserOrigin(fresh)).toBe(false);
    expect(await known.clients.isBrowserOrigin(fresh)).toBe(false);
    known.origins.add(fresh);
    expect(await known.clients.isBrowserOrigin(fresh)).toBe(true);
    expect(known.asked).toEqual([fresh, fresh, fresh]);
  });

  it("not with a lag of 0", async () => {
    const known = table(() => undefined, { lagSeconds: 0 });
    for (let time = 0; time < 3; time += 1) await known.clients.isBrowserOrigin(origin);
    expect(known.asked).toEqual([origin, origin, origin]);
  });
});

/** A host with a table of its own, which a test may change. */
function changingHost(records: Map<string, Client>): TestHost {
  const store: ClientStore = {
    find: async (clientId) => records.get(clientId),
    isBrowserOrigin: async () => false,
  };
  return testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
}

describe("whether a subject is a client's id (RFC 9068 §5)", () => {
  it("is asked once for the lag, whatever the answer is", async () => {
    const known = table((id) => (id === "web" ? confidentialRecord() : undefined));
    for (let time = 0; time < 3; time += 1) {
      expect(await known.clients.isTaken("web")).toBe(true);
      expect(await known.clients.isTaken("alice")).toBe(false);
    }
    expect(known.asked).toEqual(["web", "alice"]);
    known.now += 5;
    known.answer = (id) => ({ ...confidentialRecord(), clientId: id });
    expect(await known.clients.isTaken("alice")).toBe(true);
  });

  it("is asked every time with a lag of 0", async () => {
    const known = table(() => undefined, { lagSeconds: 0 });
    await known.clients.isTaken("alice");
    await known.clients.isTaken("alice");
    expect(known.asked).toEqual(["alice", "alice"]);
  });

  it("is not kept from a client of the same id: that one is found at once", async () => {
    const known = table(() => undefined);
    expect(await known.clients.isTaken("web")).toBe(false);
    known.answer = () => confidentialRecord();
    expect(await known.clients.find("web")).toEqual(confidentialRecord());
  });

  it("is no for what cannot be a client's id, without a question", async () => {
    const known = table(() => confidentialRecord());
    for (const id of ["Ännchen", "with space", "x".repeat(256)]) {
      expect(await known.clients.isTaken(id)).toBe(false);
    }
    expect(known.asked).toEqual([]);
  });

  it("fails when the table does, and is asked again then", async () => {
    const known = table(() => {
      throw new Error("the table is away");
    });
    await expect(known.clients.isTaken("alice")).rejects.toThrow("the table is away");
    known.answer = () => undefined;
    expect(await known.clients.isTaken("alice")).toBe(false);
  });
});

describe("a client that is taken out of the host's table (RFC 6749 §2.2, §5.2)", () => {
  const fields = { grant_type: "client_credentials", ...credentials("machine") };

  it("gets no token any more after five seconds, nor a page", async () => {
    const clock = stopClock();
    const records = new Map<string, Client>(Object.entries(hostClients));
    const host = changingHost(records);
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    expect((await postToken(host, { fields })).status).toBe(200);
    records.clear();
    clock.advance(4);
    expect((await postToken(host, { fields })).status).toBe(200);
    clock.advance(1);
    const refused = await postToken(host, { fields });
    expect([refused.status, refused.body]).toEqual([
      401,
      { error: "invalid_client", error_description: "Client authentication failed." },
    ]);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(401);
    const page = await authorize(host.browser(), { client: "web" });
    expect([page.status, page.headers["location"]]).toEqual([400, undefined]);
  });

  it.each([
    ["generated", async () => generateClientSecret()],
    [
      "human-chosen",
      async () => ({
        secret: "chosen by a person",
        digest: await digestClientSecret("chosen by a person"),
      }),
    ],
  ])("keeps no %s secret that was taken out beyond five seconds", async (_, newSecret) => {
    const clock = stopClock();
    const old = await newSecret();
    const records = new Map<string, Client>();
    records.set("machine", { ...hostClients.machine, secretDigests: [old.digest] });
    const host = changingHost(records);
    const withOld = { ...fields, client_secret: old.secret };
    expect((await postToken(host, { fields: withOld })).status).toBe(200);
    records.set("machine", hostClients.machine);
    clock.advance(4);
    expect((await postToken(host, { fields: withOld })).status).toBe(200);
    clock.advance(1);
    expect((await postToken(host, { fields: withOld })).status).toBe(401);
    expect((await postToken(host, { fields })).status).toBe(200);
  });

  it("and one that is put in is served at once", async () => {
    stopClock();
    const records = new Map<string, Client>();
    const host = changingHost(records);
    expect((await postToken(host, { fields })).status).toBe(401);
    records.set("machine", hostClients.machine);
    expect((await postToken(host, { fields })).status).toBe(200);
  });
});

describe("whether a client that nobody registered may hold tokens (RFC 6749 §2)", () => {
  it("is remembered for each API by itself", async () => {
    const selfDescribed = {
      find: async () => undefined,
      mayHoldTokens: async (_: string, apiId: string) => apiId === "orders",
      isBrowserOrigin: () => false,
    };
    const nobody: ClientStore = { find: async () => undefined, isBrowserOrigin: async () => false };
    const lookup = clientLookup(
      { clients: nobody, endMarks: noMarks },
      { lagSeconds: 5, clock: () => 1_000, redirectSchemes: [], apis: [], selfDescribed },
    );
    expect(await lookup.findHolder("dcr-1", { apiId: "orders", fresh: false })).toHaveProperty(
      "isSelfDescribed",
      true,
    );
    expect(await lookup.findHolder("dcr-1", { apiId: "billing", fresh: false })).toBeUndefined();
  });
});
