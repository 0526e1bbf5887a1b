import {
  type Client,
  type Consent,
  memoryStorage,
  type RefreshToken,
  type Storage,
  type StoredAccessToken,
} from "../../lib";
import { digestToken } from "../../lib/protocol/token-value";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  publicRecord,
  refreshTokenRecord,
} from "../records/records";
import { intercept, slowStorage } from "../storage/slow-storage";

const now = 1_000;

function storageWith(options: { clients?: readonly Client[]; maxEntries?: number } = {}): Storage {
  return memoryStorage({ clients: [], ...options });
}

describe("memoryStorage clients (RFC 6749 §2)", () => {
  const web = confidentialRecord();
  const spa = publicRecord("browser", { redirectUris: ["https://spa.example/a", "http://localhost:3000/"] });
  const phone = publicRecord("native", { redirectUris: ["https://phone.example/a"] });

  it("finds a client by its id and no other", async () => {
    const { clients } = storageWith({ clients: [web, spa] });
    expect(await clients.find("web")).toEqual(web);
    expect(await clients.find("spa")).toEqual(spa);
    for (const id of ["WEB", "we", "", "constructor", "__proto__"])
      expect(await clients.find(id)).toBeUndefined();
  });

  it.each([
    ["https://spa.example", true],
    ["http://localhost:3000", true],
    ["http://localhost", false],
    ["http://spa.example", false],
    ["https://SPA.example", false],
    ["https://spa.example/", false],
    ["https://phone.example", false],
    ["https://web.example", false],
    ["null", false],
    ["", false],
  ])("knows the origins of browser clients: %s %s", async (origin, expected) => {
    const { clients } = storageWith({ clients: [web, spa, phone] });
    expect(await clients.isBrowserOrigin(origin)).toBe(expected);
  });

  it("does not mind what the host does to its list afterwards", async () => {
    const records: Client[] = [web];
    const { clients } = memoryStorage({ clients: records });
    records.push(spa);
    expect(await clients.find("spa")).toBeUndefined();
  });
});

describe("memoryStorage consents (RFC 6749 §10.2)", () => {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };
  const exceptEndMark = "a mark";
  const consent: Consent = {
    ...key,
    scopes: ["orders:read"],
    grantedAt: now,
    endMarks: [],
    expiresAt: 2_000,
  };

  it("finds a consent until it expires", async () => {
    const { consents } = storageWith();
    await consents.save(consent, now);
    expect(await consents.find(key, 1_999)).toEqual(consent);
    expect(await consents.find(key, 2_000)).toBeUndefined();
  });

  it.each([
    ["subject", { ...key, subject: "bob" }],
    ["client", { ...key, clientId: "other" }],
    ["API", { ...key, apiId: "files" }],
    ["arrangement of the same texts", { subject: "web", clientId: "alice", apiId: "orders" }],
  ])("keeps one for each %s", async (_, other) => {
    const { consents } = storageWith();
    await consents.save(consent, now);
    expect(await consents.find(other, now)).toBeUndefined();
    await consents.save({ ...consent, ...other, scopes: ["orders:write"] }, now);
    expect((await consents.find(key, now))?.scopes).toEqual(["orders:read"]);
    expect((await consents.find(other, now))?.scopes).toEqual(["orders:write"]);
  });

  it.each([",", ":", "|", "/", " ", "\n", "\0", '","', "\\", "undefined", ""])(
    "never takes one key for another that is only divided elsewhere, at %j",
    async (between) => {
      const { consents } = storageWith();
      const parts = ["a", "b", "c", "d"];
      const divided = [1, 2, 3].map((at) => {
        const [subject = "", clientId = "", apiId = ""] = parts.flatMap((part, index) =>
          index === at ? [] : index === at - 1 ? [part + between + parts[at]] : [part],
        );
        return { subject, clientId, apiId };
      });
      for (const [index, one] of divided.entries())
        await consents.save({ ...consent, ...one, scopes: [`scope-${index}`] }, now);
      const found = await Promise.all(divided.map((one) => consents.find(one, now)));
      expect(found.map((each) => each?.scopes)).toEqual([["scope-0"], ["scope-1"], ["scope-2"]]);
    },
  );

  it("replaces the consent with the same key", async () => {
    const { consents } = storageWith();
    await consents.save(consent, now);
    await consents.save({ ...consent, scopes: ["orders:write"], expiresAt: 3_000 }, now);
    expect(await consents.list("alice", 2_500)).toEqual([
      { ...consent, scopes: ["orders:write"], expiresAt: 3_000 },
    ]);
  });

  it("replaces a consent by one that ends earlier", async () => {
    const { consents } = storageWith();
    await consents.save(consent, now);
    await consents.save({ ...consent, expiresAt: 1_500 }, now);
    expect(await consents.find(key, 1_499)).toBeDefined();
    expect(await consents.find(key, 1_500)).toBeUndefined();
  });

  it("lists those of one end user that have not expired", async () => {
    const { consents } = storageWith();
    const files = { ...consent, apiId: "files", expiresAt: 1_500 };
    await consents.save(consent, now);
    await consents.save(files, now);
    await consents.save({ ...consent, subject: "bob" }, now);
    expect(await consents.list("alice", now)).toEqual([consent, files]);
    expect(await consents.list("alice", 1_500)).toEqual([consent]);
    expect(await consents.list("carol", now)).toEqual([]);
  });

  it("forgets a consent, and does nothing when there is none", async () => {
    const { consents } = storageWith();
    await consents.delete({ selection: key, exceptEndMark }, now);
    await consents.save(consent, now);
    await consents.save({ ...consent, apiId: "files" }, now);
    await consents.delete({ selection: key, exceptEndMark }, now);
    await consents.delete({ selection: key, exceptEndMark }, now);
    expect(await consents.find(key, now)).toBeUndefined();
    expect(await consents.find({ ...key, apiId: "files" }, now)).toBeDefined();
  });
});

describe("memoryStorage authorizations (RFC 6749 §1.3, 9700 §4.14.2)", () => {
  const id = authorizationRecord().authorizationId;

  it("finds an authorization until it expires", async () => {
    const { authorizations } = storageWith();
    await authorizations.create(authorizationRecord(), now);
    expect(await authorizations.find(id, 8_999)).toEqual(authorizationRecord());
    expect(await authorizations.find(id, 9_000)).toBeUndefined();
    expect(await authorizations.find(id.toLowerCase(), now)).toBeUndefined();
  });

  it("keeps a revoked one findable, changed in nothing else", async () => {
    const { authorizations } = storageWith();
    await authorizations.create(authorizationRecord(), now);
    await authorizations.revoke(id, now);
    expect(await authorizations.find(id, 8_999)).toEqual(authorizationRecord({ revoked: true }));
    expect(await authorizations.find(id, 9_000)).toBeUndefined();
  });

  it("revokes for good, however often", async () => {
    const { authorizations } = storageWith();
    await authorizations.create(authorizationRecord(), now);
    await authorizations.revoke(id, now);
    await authorizations.revoke(id, now + 1);
    expect((await authorizations.find(id, now + 1))?.revoked).toBe(true);
  });

  it("revokes that one and no other", async () => {
    const { authorizations } = storageWith();
    await authorizations.create(authorizationRecord(), now);
    await authorizations.create(authorizationRecord({ authorizationId: "other" }), now);
    await authorizations.revoke(id, now);
    expect((await authorizations.find("other", now))?.revoked).toBe(false);
  });

  it("does nothing when there is none to revoke", async () => {
    const { authorizations } = storageWith();
    await authorizations.revoke(id, now);
    expect(await authorizations.find(id, now)).toBeUndefined();
    await authorizations.create(authorizationRecord(), now);
    expect((await authorizations.find(id, now))?.revoked).toBe(false);
  });

  it("revokes all of one end user for one client at one API, at every authentication method", async () => {
    const { authorizations } = storageWith();
    const records = [
      authorizationRecord({ authorizationId: "one" }),
      authorizationRecord({ authorizationId: "two", authMethodId: "otp" }),
      authorizationRecord({ authorizationId: "bob's", subject: "bob" }),
      authorizationRecord({ authorizationId: "other client's", clientId: "other" }),
      authorizationRecord({ authorizationId: "other API's", apiId: "files" }),
    ];
    for (const record of records) await authorizations.create(record, now);
    await authorizations.revokeAll({ subject: "alice", clientId: "web", apiId: "orders" }, now);
    const found = await Promise.all(
      records.map(({ authorizationId }) => authorizations.find(authorizationId, now)),
    );
    expect(found.map((record) => record?.revoked)).toEqual([true, true, false, false, false]);
  });
});

describe("memoryStorage authorization codes (RFC 6749 §4.1.2, 9700 §4.14)", () => {
  const code = codeRecord();

  it("finds a code, consumed or not, until storage may forget it", async () => {
    const { authorizationCodes } = storageWith();
    await authorizationCodes.create(code, now);
    expect(await authorizationCodes.find(code, 1_659)).toEqual(code);
    expect(await authorizationCodes.consume(code, now)).toBe("consumed");
    expect(await authorizationCodes.find(code, 1_659)).toEqual({ ...code, consumed: true });
    expect(await authorizationCodes.find(code, 1_660)).toBeUndefined();
  });

  it("does not find a code by another digest", async () => {
    const { authorizationCodes } = storageWith();
    await authorizationCodes.create(code, now);
    const { authorizationId } = code;
    const other = { authorizationId, digest: digestToken("another") };
    expect(await authorizationCodes.find(other, now)).toBeUndefined();
    expect(await authorizationCodes.consume(other, now)).toBe("not-consumed");
    expect(await authorizationCodes.consume(code, now)).toBe("consumed");
  });

  it("consumes a code once", async () => {
    const { authorizationCodes } = storageWith();
    await authorizationCodes.create(code, now);
    expect(await authorizationCodes.consume(code, now)).toBe("consumed");
    expect(await authorizationCodes.consume(code, now)).toBe("not-consumed");
    expect(await authorizationCodes.consume(code, now + 1)).toBe("not-consumed");
  });

  it("consumes no code that is not there or has expired", async () => {
    const { authorizationCodes } = storageWith();
    expect(await authorizationCodes.consume(code, now)).toBe("not-consumed");
    expect(await authorizationCodes.find(code, now)).toBeUndefined();
    await authorizationCodes.create(code, now);
    expect(await authorizationCodes.consume(code, 1_660)).toBe("not-consumed");
  });

  it("consumes each of two codes", async () => {
    const { authorizationCodes } = storageWith();
    const other = codeRecord("another code");
    await authorizationCodes.create(code, now);
    await authorizationCodes.create(other, now);
    expect(await authorizationCodes.consume(code, now)).toBe("consumed");
    expect(await authorizationCodes.consume(other, now)).toBe("consumed");
  });
});

describe("memoryStorage refresh tokens (RFC 6749 §6, 9700 §4.14.2)", () => {
  const from = refreshTokenRecord();
  const to = refreshTokenRecord("the next one", { expiresAt: 2_500 });

  it("finds a token, used or not, until it expires", async () => {
    const { refreshTokens } = storageWith();
    await refreshTokens.create(from, now);
    expect(await refreshTokens.find(from, 1_999)).toEqual(from);
    expect(await refreshTokens.find(from, 2_000)).toBeUndefined();
    expect(await refreshTokens.rotate({ from, to }, now)).toBe("rotated");
    expect(await refreshTokens.find(from, 1_999)).toEqual({ ...from, used: true });
    expect(await refreshTokens.find(from, 2_000)).toBeUndefined();
    expect(await refreshTokens.find(to, 2_499)).toEqual(to);
  });

  it("rotates a token once, and stores nothing for those who come later", async () => {
    const { refreshTokens } = storageWith();
    const late = refreshTokenRecord("too late");
    await refreshTokens.create(from, now);
    expect(await refreshTokens.rotate({ from, to }, now)).toBe("rotated");
    expect(await refreshTokens.rotate({ from, to: late }, now)).toBe("not-rotated");
    expect(await refreshTokens.find(late, now)).toBeUndefined();
    expect(await refreshTokens.find(to, now)).toEqual(to);
  });

  it.each([
    ["is not there", refreshTokenRecord("unknown"), now],
    ["has expired", from, 2_000],
  ])("does not rotate a token that %s, and stores nothing", async (_, absent, at) => {
    const { refreshTokens } = storageWith();
    await refreshTokens.create(from, now);
    expect(await refreshTokens.rotate({ from: absent, to }, at)).toBe("not-rotated");
    expect(await refreshTokens.find(to, at)).toBeUndefined();
  });

  it("rotates on, token after token", async () => {
    const { refreshTokens } = storageWith();
    const last = refreshTokenRecord("the last one");
    await refreshTokens.create(from, now);
    expect(await refreshTokens.rotate({ from, to }, now)).toBe("rotated");
    expect(await refreshTokens.rotate({ from: to, to: last }, now)).toBe("rotated");
    expect((await refreshTokens.find(last, now))?.used).toBe(false);
  });
});

describe("memoryStorage access tokens (RFC 7662 §4)", () => {
  it("finds an opaque token by its digest until it expires", async () => {
    const { accessTokens } = storageWith();
    const token: StoredAccessToken = { ...accessTokenRecord(), digest: digestToken("opaque") };
    await accessTokens.create(token, now);
    expect(await accessTokens.find(token.digest, 1_599)).toEqual(token);
    expect(await accessTokens.find(token.digest, 1_600)).toBeUndefined();
    expect(await accessTokens.find("opaque", now)).toBeUndefined();
  });
});

describe("memoryStorage revoked access tokens (RFC 7009 §2.1)", () => {
  const revoked = { tokenId: "T".repeat(22), expiresAt: 1_600 };

  it("are remembered by their id until they expire", async () => {
    const { accessTokens } = storageWith();
    await accessTokens.revoke(revoked, now);
    expect(await accessTokens.isRevoked(revoked.tokenId, now)).toBe(true);
    expect(await accessTokens.isRevoked(revoked.tokenId, 1_599)).toBe(true);
    expect(await accessTokens.isRevoked(revoked.tokenId, 1_600)).toBe(false);
  });

  it("are revoked for good, however often", async () => {
    const { accessTokens } = storageWith();
    for (let times = 0; times < 3; times += 1) await accessTokens.revoke(revoked, now);
    await Promise.all(sixtyFour.map(() => accessTokens.revoke(revoked, now + 1)));
    expect(await accessTokens.isRevoked(revoked.tokenId, 1_599)).toBe(true);
    expect(await accessTokens.isRevoked(revoked.tokenId, 1_600)).toBe(false);
  });

  it("are those and no others", async () => {
    const { accessTokens } = storageWith();
    await accessTokens.revoke(revoked, now);
    for (const tokenId of ["t".repeat(22), "", "__proto__", "constructor"])
      expect(await accessTokens.isRevoked(tokenId, now)).toBe(false);
  });

  it("stay findable when they are opaque", async () => {
    const { accessTokens } = storageWith();
    const token: StoredAccessToken = { ...accessTokenRecord(), digest: digestToken("opaque") };
    await accessTokens.create(token, now);
    await accessTokens.revoke(token, now);
    expect(await accessTokens.find(token.digest, now)).toEqual(token);
    expect(await accessTokens.isRevoked(token.tokenId, now)).toBe(true);
  });

  it("take room that no access token needs, and are not forgotten when it is used up", async () => {
    const { accessTokens } = storageWith({ maxEntries: 1 });
    const token: StoredAccessToken = { ...accessTokenRecord(), digest: digestToken("opaque") };
    await accessTokens.create(token, now);
    await accessTokens.revoke(revoked, now);
    await expect(accessTokens.revoke({ tokenId: "another", expiresAt: 1_600 }, now)).rejects.toThrow();
    await accessTokens.revoke(revoked, now);
    expect(await accessTokens.isRevoked(revoked.tokenId, now)).toBe(true);
  });
});

async function answersOf(attempts: Promise<string>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const answer of await Promise.all(attempts)) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

const sixtyFour = Array.from({ length: 64 }, (_, index) => index);

/** Lets every call begin before any of them does its work, then does the work in a turn of its own each. */
function scrambled(storage: Storage): Storage {
  return intercept(storage, async (_, call) => {
    await Promise.resolve();
    const answer = await call();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return answer;
  });
}

describe.each<[string, (storage: Storage) => Storage]>([
  ["at once", (storage) => storage],
  ["behind a slow connection", (storage) => slowStorage(storage, 10)],
  ["in turns", scrambled],
])("64 simultaneous calls %s (RFC 6749 §10.5, 9700 §4.14.2)", (_, wrap) => {
  it("consume a code exactly once", async () => {
    const { authorizationCodes } = wrap(storageWith());
    const code = codeRecord();
    await authorizationCodes.create(code, now);
    const counts = await answersOf(sixtyFour.map(() => authorizationCodes.consume(code, now)));
    expect(counts).toEqual({ consumed: 1, "not-consumed": 63 });
    expect((await authorizationCodes.find(code, now))?.consumed).toBe(true);
  });

  it("rotate a refresh token exactly once, and store the next token of the one that won", async () => {
    const { refreshTokens } = wrap(storageWith());
    const from = refreshTokenRecord();
    const next = sixtyFour.map((index) => refreshTokenRecord(`next ${index}`));
    await refreshTokens.create(from, now);
    const answers = await Promise.all(next.map((to) => refreshTokens.rotate({ from, to }, now)));
    const stored = await Promise.all(next.map((to) => refreshTokens.find(to, now)));
    expect(answers.filter((answer) => answer === "rotated")).toHaveLength(1);
    expect(stored.map((token) => (token ? "rotated" : "not-rotated"))).toEqual(answers);
    expect((await refreshTokens.find(from, now))?.used).toBe(true);
  });

  it("revoke an authorization, and none of them fails", async () => {
    const { authorizations } = wrap(storageWith());
    const { authorizationId } = authorizationRecord();
    await authorizations.create(authorizationRecord(), now);
    await Promise.all(sixtyFour.map(() => authorizations.revoke(authorizationId, now)));
    expect((await authorizations.find(authorizationId, now))?.revoked).toBe(true);
  });
});

describe("memoryStorage maxEntries (RFC 9700 §4.14)", () => {
  const full = { code: "memory-full" };
  const codes = ["one", "two"].map((token) => codeRecord(token, { expiresAt: 1_100 }));

  async function fullOfCodes(): Promise<Storage> {
    const storage = storageWith({ maxEntries: 2 });
    for (const code of codes) await storage.authorizationCodes.create(code, now);
    return storage;
  }

  it("refuses a record more and loses none", async () => {
    const { authorizationCodes } = await fullOfCodes();
    const third = codeRecord("three");
    await expect(authorizationCodes.create(third, now)).rejects.toMatchObject(full);
    expect(await authorizationCodes.find(third, now)).toBeUndefined();
    for (const code of codes) expect(await authorizationCodes.consume(code, now)).toBe("consumed");
  });

  it("bounds each kind of record by itself", async () => {
    const { authorizations, refreshTokens } = await fullOfCodes();
    await authorizations.create(authorizationRecord(), now);
    await refreshTokens.create(refreshTokenRecord(), now);
    expect(await refreshTokens.find(refreshTokenRecord(), now)).toBeDefined();
  });

  it("lets the old token live when there is no room for the next one", async () => {
    const { refreshTokens } = storageWith({ maxEntries: 1 });
    const [from, to] = [refreshTokenRecord(), refreshTokenRecord("next")] as [RefreshToken, RefreshToken];
    await refreshTokens.create(from, now);
    await expect(refreshTokens.rotate({ from, to }, now)).rejects.toMatchObject(full);
    expect(await refreshTokens.find(to, now)).toBeUndefined();
    expect(await refreshTokens.find(from, now)).toEqual(from);
  });

  const consent = {
    subject: "a",
    clientId: "b",
    apiId: "c",
    scopes: [],
    grantedAt: 1,
    endMarks: [],
    expiresAt: 9_000,
  };

  it("still changes records when it is full", async () => {
    const { authorizations, consents } = storageWith({ maxEntries: 1 });
    const { authorizationId } = authorizationRecord();
    await authorizations.create(authorizationRecord(), now);
    await authorizations.revoke(authorizationId, now);
    expect((await authorizations.find(authorizationId, now))?.revoked).toBe(true);
    await consents.save(consent, now);
    await consents.save({ ...consent, scopes: ["orders:read"] }, now);
    expect((await consents.list("a", now)).map(({ scopes }) => scopes)).toEqual([["orders:read"]]);
  });

  it("has room again when what filled it has expired", async () => {
    const { authorizationCodes } = await fullOfCodes();
    const third = codeRecord("three");
    await authorizationCodes.create(third, 1_200);
    expect(await authorizationCodes.find(third, 1_200)).toEqual(third);
  });

  it("has room again when something was deleted", async () => {
    const { consents } = storageWith({ maxEntries: 1 });
    await consents.save(consent, now);
    await consents.delete({ selection: consent, exceptEndMark: "a mark" }, now);
    await consents.save({ ...consent, subject: "d" }, now);
    expect(await consents.list("d", now)).toHaveLength(1);
  });
});
