/** What staff see of clients, and what they never see. RFC 6749 §2, §10.1. */
import { createHash } from "node:crypto";
import { type Client, generateClientKey, memoryStorage, type Storage } from "../../lib";
import { clients, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { deepText } from "../requests/marked-secrets";
import { unframed as render, wordsIn } from "./portal-host";
import {
  buttonsIn,
  confidential,
  noticesIn,
  pathOf,
  secretIn,
  staffHost,
  type StaffHost,
} from "./staff-host";

stopClockForEachTest();

function hostOf(records: readonly Client[]): TestHost {
  return testHost({ storage: memoryStorage({ clients: records }) });
}

function staffOf(records: readonly Client[], options: Parameters<typeof staffHost>[0] = {}): StaffHost {
  return staffHost(options, { host: hostOf(records) });
}

/** The rows of a list: name, id, marks. */
function rowsIn({ text }: { text: string }): readonly string[] {
  return [...text.matchAll(/<li>(.*?)<\/li>/g)].map(([, row = ""]) =>
    row.replaceAll(/<br>/g, " ").replaceAll(/<[^>]*>/g, ""),
  );
}

/** Where the links of a page with this text lead. */
function linksIn({ text }: { text: string }, named: string): readonly string[] {
  return [...text.matchAll(/<a href="([^"]*)">(.*?)<\/a>/g)].flatMap(([, href = "", label]) =>
    label === named ? [href] : [],
  );
}

const many = (count: number): readonly Client[] =>
  Array.from({ length: count }, (_, index) => confidential(`c${String(index).padStart(4, "0")}`));

const noHit = "No client was found. An id must be exact; of a name, a part is enough.";

describe("the list of clients", () => {
  it("has each with its name, its id and its marks", async () => {
    const made = staffOf([
      confidential("a", { disabled: true, trusted: true }),
      confidential("b", { subscriptions: { orders: { trusted: true } } }),
      { ...clients.web, secretDigests: [webSecret.digest, webSecret.digest] },
      {
        ...clients.web,
        clientId: "web2",
        secretDigests: [webSecret.digest, webSecret.digest],
        oldSecretUntil: 1,
      },
      clients.native,
    ]);
    expect(rowsIn(await made.get())).toEqual([
      "Client a a · disabled · trusted",
      "Client b b · trusted",
      "Phone App native",
      "Web Shop web · old secret",
      "Web Shop web2",
    ]);
    expect(linksIn(await made.get(), "<bdi>Client a</bdi>")).toEqual(["?client=a"]);
  });

  it("has pages of 50, one after the other, without a client that is there twice or not at all", async () => {
    const made = staffOf(many(101));
    const seen: string[] = [];
    let path: string | undefined = "/apps";
    for (let pages = 0; path !== undefined && pages < 9; pages += 1) {
      const page = await made.get({ path });
      const rows = rowsIn(page);
      expect(rows.length).toBeLessThanOrEqual(50);
      seen.push(...rows);
      const [next] = linksIn(page, "Next clients");
      path = next === undefined ? undefined : `/apps${next}`;
    }
    expect(seen).toHaveLength(101);
    expect(new Set(seen).size).toBe(101);
  });

  it.each([
    [50, []],
    [51, ["?after=c0049"]],
  ])("goes on only when there are more than 50: of %i", async (count, next) => {
    const page = await staffOf(many(count)).get();
    expect(rowsIn(page)).toHaveLength(50);
    expect(linksIn(page, "Next clients")).toEqual(next);
    expect(page.text).not.toContain("after=undefined");
  });

  it("leads back to its start from everywhere but there", async () => {
    const made = staffOf(many(51));
    const [start, second, behind] = [
      await made.get(),
      await made.get({ path: "/apps?after=c0049" }),
      await made.get({ path: "/apps?after=z" }),
    ];
    expect([start, second, behind].map((page) => rowsIn(page).length)).toEqual([50, 1, 0]);
    expect([start, second, behind].map((page) => linksIn(page, "Clients"))).toEqual([[], ["?"], ["?"]]);
    expect(noticesIn(behind)).toEqual([noHit]);
    expect(behind.text).not.toContain("<ul>");
  });

  it("asks the table for one client more than it shows or searches, never for all", async () => {
    const { storage } = testHost();
    const list = jest.fn(async () => []);
    const table = { ...storage.clients, list };
    const made = staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
    for (const path of ["/apps", "/apps?after=web", "/apps?q=shop"]) await made.get({ path });
    expect(list.mock.calls).toEqual([[{ limit: 51 }], [{ limit: 51, after: "web" }], [{ limit: 1_001 }]]);
  });

  it("finds an exact id among all 1,001, and says that it searched the names of 1,000 only", async () => {
    const made = staffOf([...many(1_000), confidential("z", { name: "The last one" })]);
    const byId = await made.get({ path: "/apps?q=z" });
    expect(rowsIn(byId)).toEqual(["The last one z"]);
    const byName = await made.get({ path: "/apps?q=last" });
    const firstOnly =
      "Names were searched for among the first <bdi>1,000</bdi> clients only, the id among all.";
    expect(noticesIn(byName)).toEqual([firstOnly, noHit]);
    expect(noticesIn(await staffOf(many(1_000)).get({ path: "/apps?q=c0999" }))).toEqual([]);
  });

  it("finds part of a name in any case, with the client of that id first", async () => {
    const made = staffOf([
      confidential("x", { name: "SHOPPING" }),
      confidential("shop", { name: "Other shop" }),
    ]);
    expect(rowsIn(await made.get({ path: "/apps?q=+shop+" }))).toEqual(["Other shop shop", "SHOPPING x"]);
  });

  it("says that there are no clients, and leads back from a search without a hit", async () => {
    const made = staffOf([]);
    expect(noticesIn(await made.get())).toEqual(["There are no clients yet."]);
    const none = await made.get({ path: "/apps?q=%3Cb%3E%22x" });
    expect(none.text).toContain('value="&lt;b&gt;&quot;x"');
    expect(linksIn(none, "Clients")).toEqual(["?"]);
  });

  it("searches for a client that is not there any more", async () => {
    const made = staffOf([confidential("a", { name: "Shop" }), confidential("b")]);
    const page = await made.page("shop");
    expect([page.status, rowsIn(page)]).toEqual([200, ["Shop a"]]);
  });

  it("shows a record that the server would refuse, which has a page of its own only when it is mended", async () => {
    const wrong = {
      clientId: "wrong",
      confidential: true,
      subscriptions: { orders: null },
    } as unknown as Client;
    const { storage } = testHost();
    const table = { ...storage.clients, list: async () => [wrong], find: async () => wrong };
    const made = staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
    expect(rowsIn(await made.get())).toEqual(["undefined wrong"]);
    expect((await made.page("wrong")).status).toBe(500);
    expect(made.failures).toMatchObject([{ code: "wrong-client-record" }]);
  });

  it.each(["%00", "%F0%9F%98%80", "a".repeat(300), "%E0%A4%A", "a&after=b"])(
    "ignores the place after=%s",
    async (after) => {
      expect((await staffOf([clients.web]).get({ path: `/apps?after=${after}` })).status).toBe(200);
    },
  );

  it("asks the table about nothing that cannot be an id", async () => {
    const { storage } = testHost();
    const asked: unknown[] = [];
    const clientsAsked = {
      ...storage.clients,
      find: (clientId: string) => void asked.push(clientId),
      list: async ({ after }: { after?: string }) => {
        if (after !== undefined) asked.push(after);
        return [];
      },
    };
    const options = {
      baseUrl: "https://host.example/login",
      apis: {},
      storage: { ...storage, clients: clientsAsked as unknown as Storage["clients"] },
    };
    const made = staffHost({ options });
    for (const text of ["%C3%BC", "%00", "a%20b", "x".repeat(256)])
      for (const name of ["client", "after", "q"]) await made.get({ path: `/apps?${name}=${text}` });
    expect(asked).toEqual([]);
  });

  it("takes a client with another case for another one, whatever the table says", async () => {
    const { storage } = testHost();
    const find = (clientId: string): Promise<Client | undefined> =>
      storage.clients.find(clientId.toLowerCase());
    const host = testHost({ storage: { ...storage, clients: { ...storage.clients, find } } });
    expect(buttonsIn(await staffHost({}, { host }).page("WEB"))).toEqual([]);
  });
});

/** What a page says of a client. */
const factsIn = ({ text }: { text: string }): readonly string[] =>
  [...text.matchAll(/<dt class="soft">(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map((pair) =>
    [pair[1], pair[2]]
      .join(": ")
      .replaceAll("<br>", ", ")
      .replaceAll(/<[^>]*>/g, ""),
  );

describe("the page of a client", () => {
  it("says what the record says", async () => {
    const { publicJwk } = { publicJwk: generateClientKey().jwks };
    const made = staffOf(
      [
        { ...clients.machine, subscriptions: { orders: { scopes: ["orders:read"] }, gone: {} } },
        clients.native,
        clients.spa,
        {
          ...confidential("k"),
          secretDigests: undefined,
          jwksUri: "https://k.example/keys",
        } as unknown as Client,
        {
          clientId: "j",
          name: "J",
          confidential: true,
          redirectUris: [],
          subscriptions: {},
          jwks: publicJwk,
        },
      ].map((record) => JSON.parse(JSON.stringify(record)) as Client),
    );
    expect(factsIn(await made.page("machine"))).toEqual([
      "Id: machine",
      "Kind: on a server, with a secret",
      "Redirect URIs: –",
      "Scopes at Orders: orders:read",
      "Scopes at gone: all",
    ]);
    expect(factsIn(await made.page("native")).slice(1, 3)).toEqual([
      "Kind: an app on a device, without a secret",
      "Redirect URIs: com.example.phone:/callback, http://127.0.0.1/callback, https://phone.example/callback",
    ]);
    expect(factsIn(await made.page("spa"))[1]).toBe("Kind: a script in a web page, without a secret");
    expect(factsIn(await made.page("k"))[1]).toBe(
      "Kind: on a server, with a private key, https://k.example/keys",
    );
    expect(factsIn(await made.page("j"))[1]).toBe("Kind: on a server, with a private key");
  });

  it("says until when an old secret works, and of one without an end that it has none", async () => {
    const two = { ...clients.web, secretDigests: [webSecret.digest, webSecret.digest] };
    const made = staffOf([two, { ...two, clientId: "b", oldSecretUntil: 1_800_000_060 }]);
    expect(factsIn(await made.page("web"))[1]).toBe("Kind: on a server, with a secret, old secret");
    const odds: readonly (readonly [object, string])[] = [
      ...[1e13, -1e13, NaN, null].map((end) => [{ oldSecretUntil: end }, " · old secret"] as const),
      ...[null, "sha256:", {}].map((digests) => [{ secretDigests: digests }, ""] as const),
    ];
    for (const [changes, mark] of odds) {
      const odd = { ...two, ...changes } as unknown as Client;
      const { storage } = testHost();
      const table = { ...storage.clients, list: async () => [odd] };
      const oddly = staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
      expect(rowsIn(await oddly.get())).toEqual([`Web Shop web${mark}`]);
    }
    expect(factsIn(await made.page("b"))[1]).toContain(
      "The old secret works until January 15, 2027 at 8:01:00 AM UTC.",
    );
  });

  it("shows the last moment that a date can be, and no old secret from the moment on at which it ends", async () => {
    const two = { ...clients.web, secretDigests: [webSecret.digest, webSecret.digest] };
    const ends = { now: 1_800_000_000, soon: 1_800_000_001, last: 8.64e12 };
    const made = staffOf(
      Object.entries(ends).map(([clientId, oldSecretUntil]) => ({ ...two, clientId, oldSecretUntil })),
    );
    expect(factsIn(await made.page("now"))[1]).toBe("Kind: on a server, with a secret");
    expect(factsIn(await made.page("soon"))[1]).toMatch(/secret works until .* 8:00:01 AM UTC\.$/);
    expect(factsIn(await made.page("last"))[1]).toMatch(/until September 13, 275760 at 12:00:00 AM UTC\.$/);
  });

  it("has no address of keys where a record says only that there is none", async () => {
    const { storage } = testHost();
    const { jwks } = generateClientKey();
    const { secretDigests: _, ...rest } = clients.web;
    const record = { ...rest, jwks, jwksUri: undefined } as unknown as Client;
    const table = { ...storage.clients, find: async () => record };
    const made = staffHost({}, { host: testHost({ storage: { ...storage, clients: table } }) });
    expect(factsIn(await made.page("web"))[1]).toBe("Kind: on a server, with a private key");
  });

  it("says which id to type in, and the page of a new secret leads back to it", async () => {
    const made = staffOf([clients.web]);
    expect((await made.page("web")).text).toContain("To confirm, type the id <bdi>web</bdi>.");
    const secretPage = await made.press("newSecret", { clientId: "web" });
    expect(linksIn(secretPage, "<bdi>Web Shop</bdi>")).toEqual(["?client=web"]);
  });

  it("has the links of the host, escaped, to the web and to this site only", async () => {
    const links = jest.fn(() => [
      { href: "/logs?a=1&b=2", text: "Logs <b>" },
      { href: "https://x.example/", text: "X" },
      { href: "http://y.example/", text: "Y" },
      { href: "?client=b", text: "Z" },
    ]);
    const page = await staffOf([clients.web], { links }).page("web");
    expect(links.mock.calls).toEqual([["web"]]);
    expect(page.text).toContain('<a href="/logs?a=1&amp;b=2">Logs &lt;b&gt;</a>');
    expect(["X", "Y", "Z"].map((text) => linksIn(page, text))).toEqual([
      ["https://x.example/"],
      ["http://y.example/"],
      ["?client=b"],
    ]);
  });

  it.each<[string, unknown]>([
    ["a script", [{ href: "javascript:alert(1)", text: "a" }]],
    ["a script with a tab in it", [{ href: " java\tscript:alert(1)", text: "a" }]],
    ["data", [{ href: "data:text/html,a", text: "a" }]],
    ["an app", [{ href: "app:/a", text: "a" }]],
    ["a scheme that ends in https", [{ href: "xhttps://a.example", text: "a" }]],
    ["a URL that is none", [{ href: "https://[", text: "a" }]],
    [
      "one bad link of two",
      [
        { href: "/a", text: "a" },
        { href: "javascript:alert(1)", text: "a" },
      ],
    ],
    ["a link without a text", [{ href: "/a" }]],
    ["a link that is none", [undefined]],
    ["a URL", [{ href: new URL("https://a.example"), text: "a" }]],
    ["one link", { href: "/a", text: "a" }],
    ["a text", "/a"],
  ])("is not shown with %s among its links", async (_, given) => {
    const made = staffOf([clients.web], { links: (() => given) as never });
    expect((await made.page("web")).status).toBe(500);
    expect(made.failures).toMatchObject([{ name: "TypeError", code: "staff-links-wrong" }]);
  });
});

describe("the words of the pages (WCAG 2.2)", () => {
  const search = "Id, or part of the name Search";
  const twoLinks = ["Log", "Bill"].map((text) => ({ href: `/${text}`, text }));

  it.each<[string, readonly Client[], string, string]>([
    ["no client", [], "", `Clients There are no clients yet. ${search}`],
    ["no hit", [], "?q=x", `Clients ${noHit} ${search} Clients`],
    [
      "two clients",
      [confidential("a", { disabled: true }), clients.native],
      "",
      `Clients ${search} Client a a · disabled Phone App native`,
    ],
  ])("are those of the list, and no others: %s", async (_, records, query, words) => {
    const page = await staffOf(records, { render }).get({ path: `/apps${query}` });
    expect(wordsIn(page)).toBe(words);
    expect(page.text).toContain(`name="q" value="${query.slice("?q=".length)}"`);
  });

  it("are those of a client and its new secret, and no others", async () => {
    const subscriptions = { orders: { scopes: ["orders:read", "orders:write"] } };
    const made = staffOf([confidential("a", { disabled: true, subscriptions })], {
      render,
      links: () => twoLinks,
    });
    expect(wordsIn(await made.page("a"))).toBe(
      [
        "Client a This client is disabled: unknown everywhere, and its tokens are refused, within revocationLagSeconds (5, unless you set it). JWTs at APIs in other processes stay valid until they expire.",
        "Id a Kind on a server, with a secret disabled Redirect URIs – Scopes at Orders orders:read orders:write Log Bill Enable",
        "New secret The old secret works for 7 more days, and any older one ends now The old secret ends now New secret",
        "End everything of this client All its consents, codes and tokens end for good. The client itself stays. End everything of this client",
        "Delete this client The record and everything the client has end for good. To confirm, type the id a . Id Delete this client Clients",
      ].join(" "),
    );
    const fields = { old: "ends" };
    const secretPage = await made.press("newSecret", { clientId: "a", fields });
    expect(wordsIn(secretPage)).toMatch(
      /^New secret of Client a Give it to the client now: it is shown only once, and stored nowhere\. [\w-]{43} Client a$/,
    );
  });
});

describe("markup in records (9700 §4.11, page contents)", () => {
  const markups = [
    `"><script>evil()</script>`,
    `'><img src=x onerror=evil()>`,
    `</title><svg onload=evil()>`,
    `</style><style>*{background:url(//evil.example)}</style>`,
    `&lt;script&gt;evil()`,
    `javascript:evil()`,
    "{name}{time}",
    "`evil`",
  ];

  it.each(markups)("is text: %s", async (markup) => {
    const uri = `https://a.example/${encodeURIComponent("a")}?${markup.replaceAll(/[<>"`{}*\s]/g, "%20")}'&amp=1`;
    const record = confidential("a", {
      name: markup,
      redirectUris: [uri],
      subscriptions: { [markup]: { scopes: [markup] } },
    });
    const made = staffOf([record], { links: () => [{ href: `/${markup}`, text: markup }] });
    made.person = () => ({ kind: "authenticated", subject: markup, displayName: markup });
    const shown = [
      await made.get(),
      await made.page("a"),
      await made.get({ path: `/apps?q=${encodeURIComponent(markup)}` }),
      await made.press("delete", { clientId: "a", fields: { id: markup } }),
      await made.press("newSecret", { clientId: "a" }),
    ];
    for (const { status, text } of shown) {
      expect([200, 409]).toContain(status);
      expect(text).not.toMatch(/<script|<svg|<img|href="javascript|<\/style><style/i);
      expect(text.match(/<style>/g)).toHaveLength(1);
      for (const tag of text.match(/<[a-z][^>]*>/g) ?? [])
        expect(tag.replaceAll(/"[^"]*"/g, "")).not.toMatch(/\son/);
    }
  });
});

describe("awkward ids", () => {
  const ids = [
    `'"<>&`,
    "100%",
    "%41",
    "a+b",
    "?client=web&do=x#y",
    "a=b;c",
    "x".repeat(255),
    "__proto__",
    "constructor",
    "../..",
    "\\",
  ];

  it.each(ids)("%s has a page, buttons, a secret, and an end", async (clientId) => {
    const made = staffOf([confidential(clientId), confidential("other")]);
    const [href = ""] = linksIn(
      await made.get(),
      `<bdi>Client ${clientId.replaceAll(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c] ?? c)}</bdi>`,
    );
    const path = `/apps${href.replaceAll("&amp;", "&")}`;
    const page = await made.get({ path });
    expect(buttonsIn(page)).toEqual(["disable", "newSecret", "end", "delete"]);
    const off = await made.press("disable", { clientId, page });
    expect(await made.get({ path: `/apps${off.headers["location"] as string}` }).then(buttonsIn)).toContain(
      "enable",
    );
    expect(secretIn(await made.press("newSecret", { clientId }))).toBeDefined();
    expect((await made.press("delete", { clientId, fields: { id: clientId } })).status).toBe(303);
    expect(rowsIn(await made.get())).toEqual(["Client other other"]);
    expect(made.changes.map((change) => change.clientId)).toEqual([clientId, clientId, clientId]);
  });

  it.each(["__proto__", "constructor", "ü", "😀", "", "a b", "\0", "x".repeat(256)])(
    "%j is nobody",
    async (clientId) => {
      const made = staffOf([clients.web]);
      const page = await made.page(clientId);
      expect([page.status, buttonsIn(page)]).toEqual([200, []]);
      const sent = await made.press("disable", { clientId });
      expect([sent.status, made.changes]).toEqual([409, []]);
    },
  );
});

describe("secrets, digests and keys", () => {
  it("are in no page, event, failure or onChange, but for the new secret in the one answer that shows it", async () => {
    const { jwks, privateKey } = generateClientKey();
    const keyed = {
      clientId: "k",
      name: "K",
      confidential: true,
      redirectUris: [],
      subscriptions: {},
      jwks,
    } as const;
    const host = hostOf([clients.web, keyed]);
    const made = staffHost({}, { host });
    const written: string[] = [];
    const secrets: string[] = [];
    for (const clientId of ["web", "k"])
      for (const button of ["disable", "enable", "newSecret", "newSecret", "end", "delete"]) {
        const page = await made.page(clientId);
        const answer = await made.press(button, {
          clientId,
          page,
          fields: { id: button === "delete" ? clientId : "" },
        });
        const again = await made.press(button, { clientId, page, fields: { id: "wrong" } });
        const secret = secretIn(answer);
        if (secret !== undefined) secrets.push(secret);
        const once = secret === undefined ? answer.text : answer.text.replace(secret, "");
        written.push(page.text, once, again.text, JSON.stringify([answer.headers, again.headers]));
      }
    written.push((await made.get()).text, deepText([made.changes, host.events, made.failures]));
    expect(secrets).toHaveLength(2);
    const digests = [
      webSecret.digest,
      ...secrets.map((secret) => createHash("sha256").update(secret).digest("base64url")),
    ];
    const keys = [String(jwks.keys[0]?.["x"]), JSON.stringify(privateKey)];
    const all = written.join("\n");
    for (const hidden of [webSecret.secret, ...secrets, ...digests, ...keys])
      expect(all).not.toContain(hidden);
    expect(all).not.toMatch(/sha256:|scrypt:/);
  });
});

/** A host whose table fails in this method, when something is about to be changed. */
function failing(method: string, fail: () => unknown): StaffHost {
  const storage: Storage = memoryStorage({ clients: Object.values(clients) });
  const table = { ...storage.clients };
  const host = testHost({ storage: { ...storage, clients: table } });
  let isDown = false;
  const given = Reflect.get(table, method) as (...args: unknown[]) => unknown;
  const options = {
    baseUrl: "https://host.example/login",
    apis: {},
    storage: {
      ...storage,
      clients: { ...table, [method]: (...args: unknown[]) => (isDown ? fail() : given(...args)) },
    },
  };
  const made = staffHost({ options }, { host });
  return Object.assign(made, {
    person: ({ change }: { change: boolean }) => {
      isDown = change || method === "list";
      return { kind: "authenticated" as const, subject: "alice" };
    },
  });
}

describe("storage that fails", () => {
  const ways: readonly (readonly [string, () => unknown])[] = [
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["rejects with nothing", () => Promise.reject()],
  ];

  it.each(ways)("%s: the host's error handler is told, and nobody is told of a change", async (_, fail) => {
    expect((await failing("list", fail).get()).status).toBe(500);
    for (const [method, button] of [
      ["find", "disable"],
      ["replace", "disable"],
      ["replace", "newSecret"],
      ["delete", "delete"],
    ] as const) {
      const made = failing(method, fail);
      const answer = await made.press(button, { clientId: "web", fields: { id: "web" } });
      expect([answer.status, answer.text]).toEqual([500, "the host's own error page"]);
      expect(made.changes).toEqual([]);
      expect(made.failures).toHaveLength(1);
      expect(await made.table.find("web")).toEqual(clients.web);
    }
  });

  it("did what it was asked, and did not hear so: the change counts, with its secret", async () => {
    const storage = memoryStorage({ clients: [clients.web] });
    const replace: typeof storage.clients.replace = async (step) => {
      await storage.clients.replace(step);
      return storage.clients.replace(step);
    };
    const table = { ...storage.clients, replace };
    const host = testHost({ storage: { ...storage, clients: table } });
    const made = staffHost({}, { host });
    expect(secretIn(await made.press("newSecret", { clientId: "web" }))).toBeDefined();
    expect((await made.press("disable", { clientId: "web" })).status).toBe(303);
    expect(made.changes).toHaveLength(2);
  });
});

describe("what is told of changes", () => {
  it("goes to onChange, whose failure is the host's while the change stays", async () => {
    const made = staffOf([clients.web], { onChange: () => Promise.reject(new Error("no audit log")) });
    expect((await made.press("disable", { clientId: "web" })).status).toBe(500);
    expect(await made.table.find("web")).toHaveProperty("disabled", true);
    expect((await made.get({ path: pathOf("web") })).status).toBe(200);
  });
});
