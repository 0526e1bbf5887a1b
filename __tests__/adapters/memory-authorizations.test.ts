import { type Authorization, memoryStorage, type Storage } from "../../lib";
import { maxAuthorizations } from "../../lib/storage/port";
import { authorizationRecord, codeRecord } from "../records/records";
import { type Looks, watchedEnd } from "./watched-end";

const now = 1_000;
type Store = Storage["authorizations"];

/** A store with an authorization for each of these. */
async function storeOf(...records: readonly Partial<Authorization>[]): Promise<Store> {
  const { authorizations } = memoryStorage({ clients: [] });
  for (const record of records) await authorizations.create(authorizationRecord(record), now);
  return authorizations;
}

/** Alice's ids, page after page. */
async function pages(store: Store, limit: number): Promise<readonly (readonly string[])[]> {
  const found: string[][] = [];
  for (let page = [""]; page.length > 0;) {
    const after = found.at(-1)?.at(-1);
    const listed = await store.list("alice", { limit, ...(after !== undefined && { after }) }, now);
    page = listed.map(({ authorizationId }) => authorizationId);
    found.push(page);
  }
  return found.slice(0, -1);
}

/** As many authorizations as these, which end one after the other, the first one first. */
const several = (count: number, changes: Partial<Authorization> = {}): readonly Partial<Authorization>[] =>
  Array.from({ length: count }, (_, index) => ({
    authorizationId: `${index}`.padStart(3, "0"),
    expiresAt: 8_000 + index,
    ...changes,
  }));

/** Of these ids, those that are revoked. */
async function revokedOf(store: Store, ids: readonly (string | undefined)[]): Promise<readonly unknown[]> {
  const found = await Promise.all(ids.map((id = "") => store.find(id, now)));
  return found.flatMap((one) => (one?.revoked === true ? one.authorizationId : []));
}

describe("a list of authorizations in memory (RFC 7009 §2.1)", () => {
  const mixed = [
    { authorizationId: "b", expiresAt: 5_000 },
    { authorizationId: "a", expiresAt: 7_000 },
    { authorizationId: "d", expiresAt: 5_000 },
    { authorizationId: "c", expiresAt: 5_000 },
    { authorizationId: "e", expiresAt: 3_000 },
  ];

  it.each([
    [1, [["a"], ["d"], ["c"], ["b"], ["e"]]],
    [2, [["a", "d"], ["c", "b"], ["e"]]],
    [9, [["a", "d", "c", "b", "e"]]],
  ])(
    "begins with the one that expires last, in pages of %i that follow each other",
    async (limit, expected) => {
      expect(await pages(await storeOf(...mixed), limit)).toEqual(expected);
      expect(await pages(await storeOf(...mixed.toReversed()), limit)).toEqual(expected);
    },
  );

  it("says when one was used, and nothing of it before that", async () => {
    const storage = memoryStorage({ clients: [] });
    const code = { ...authorizationRecord(), digest: "D".repeat(43), redirectUri: "https://web.example/" };
    await storage.authorizations.create(authorizationRecord(), now);
    const listed = (): Promise<readonly object[]> => storage.authorizations.list("alice", { limit: 9 }, now);
    expect(await listed()).toStrictEqual([authorizationRecord()]);
    await storage.authorizationCodes.create({ ...code, redeemBefore: 1_060, consumed: false }, now);
    await storage.authorizationCodes.consume(code, 1_010);
    expect(await listed()).toStrictEqual([{ ...authorizationRecord(), lastUsedAt: 1_010 }]);
  });

  it("says the latest of the uses that it is told, which come in any order", async () => {
    const store = await storeOf({});
    const { authorizationId } = authorizationRecord();
    const listed = (): Promise<readonly object[]> => store.list("alice", { limit: 9 }, now);
    await store.noteUse("gone", 1_050);
    expect(await listed()).toStrictEqual([authorizationRecord()]);
    for (const at of [1_010, 1_030, 1_020]) await store.noteUse(authorizationId, at);
    expect(await listed()).toStrictEqual([{ ...authorizationRecord(), lastUsedAt: 1_030 }]);
  });

  it("goes on to say it when a part of the scopes is taken back", async () => {
    const grantedScopes = ["orders:read", "orders:write"];
    const storage = memoryStorage({ clients: [] });
    const [used, unused] = ["used", "unused"].map((authorizationId) =>
      authorizationRecord({ authorizationId, grantedScopes }),
    );
    for (const one of [used, unused]) if (one) await storage.authorizations.create(one, now);
    const code = { authorizationId: "used", digest: "D".repeat(43), redirectUri: "https://web.example/" };
    const times = { redeemBefore: 1_060, expiresAt: 1_600, consumed: false };
    await storage.authorizationCodes.create({ ...code, ...times }, now);
    await storage.authorizationCodes.consume(code, 1_010);
    const step = { selection: { subject: "alice" }, scopes: ["orders:read"] };
    expect(await storage.authorizations.narrowAll(step, now)).toBe(2);
    const narrow = { grantedScopes: ["orders:read"], approvedScopes: grantedScopes };
    expect(await storage.authorizations.list("alice", { limit: 9 }, now)).toStrictEqual([
      { ...used, ...narrow, lastUsedAt: 1_010 },
      { ...unused, ...narrow },
    ]);
  });

  it.each([
    ["is gone", "gone"],
    ["is another person's", "bob's"],
    ["has expired", "expired"],
  ])("is empty behind one that %s", async (_, after) => {
    const store = await storeOf(
      { authorizationId: "alice's" },
      { authorizationId: "bob's", subject: "bob" },
      { authorizationId: "expired", expiresAt: now },
    );
    expect(await store.list("alice", { after, limit: 9 }, now)).toEqual([]);
  });

  it("goes on behind one that was revoked", async () => {
    const store = await storeOf(...several(3));
    await store.revoke("001", now);
    expect(await store.list("alice", { after: "001", limit: 9 }, now)).toMatchObject([
      { authorizationId: "000" },
    ]);
  });
});

/** Authorizations of two people, in every state. */
async function aliceAndBob(): Promise<Store> {
  const store = await storeOf(
    { authorizationId: "living" },
    { authorizationId: "revoked" },
    { authorizationId: "expired", expiresAt: 1_010 },
    { authorizationId: "bob's", subject: "bob" },
    { authorizationId: "bob's revoked", subject: "bob" },
  );
  for (const id of ["revoked", "bob's revoked"]) await store.revoke(id, now);
  return store;
}

describe("erased authorizations in memory (RFC 7009 §2.1)", () => {
  const ids = ["living", "revoked", "expired", "bob's", "bob's revoked"];

  it.each<[string, { subject: string; authorizationId?: string }, readonly string[]]>([
    ["all of one person, whatever their state", { subject: "alice" }, ["living", "revoked", "expired"]],
    ["none of a person who has none", { subject: "carol" }, []],
    ["one that lives", { subject: "alice", authorizationId: "living" }, ["living"]],
    ["one that was revoked", { subject: "alice", authorizationId: "revoked" }, ["revoked"]],
    ["one that has expired", { subject: "alice", authorizationId: "expired" }, ["expired"]],
    ["none with the id of another person's", { subject: "alice", authorizationId: "bob's" }, []],
    ["none with an id that is not there", { subject: "alice", authorizationId: "gone" }, []],
  ])("are %s", async (_, target, erased) => {
    const store = await aliceAndBob();
    expect(await store.erase(target, 1_020)).toBe(erased.length);
    const found = await Promise.all(ids.map((id) => store.find(id, now)));
    expect(ids.filter((__, index) => found[index] === undefined)).toEqual(erased);
  });
});

describe("the limit of authorizations in memory (RFC 9700 §4.14.2)", () => {
  const full = several(maxAuthorizations);
  const contexts = [{ key: "family" }, undefined] as const;

  it.each(contexts)(
    "revokes the one that expires first when there is one too many, in context %j",
    async (context) => {
      const changes = context && { context };
      const others = [
        { authorizationId: "other client's", clientId: "other" },
        { authorizationId: "other API's", apiId: "files" },
        { authorizationId: "other context's", ...(context ? {} : { context: { key: "work" } }) },
        { authorizationId: "bob's", subject: "bob" },
      ].map((one) => ({ expiresAt: 2_000, ...one }));
      const store = await storeOf(...others, ...several(maxAuthorizations, changes));
      const ids = [...others, ...full].map(({ authorizationId }) => authorizationId);
      expect(await revokedOf(store, ids)).toEqual([]);
      await store.create(authorizationRecord({ authorizationId: "new", ...changes }), now);
      expect(await revokedOf(store, [...ids, "new"])).toEqual(["000"]);
    },
  );

  it("never revokes the new one, also where it expires first", async () => {
    const store = await storeOf(...full, { authorizationId: "new", expiresAt: 1_010 });
    expect(await revokedOf(store, ["new", "000", "001"])).toEqual(["000"]);
  });

  it("counts what was used apart: of that, the one used longest ago goes, and of the rest the oldest", async () => {
    const storage = memoryStorage({ clients: [] });
    const { authorizations: store, authorizationCodes } = storage;
    const use = async (authorizationId: string, at: number): Promise<void> => {
      const code = { ...codeRecord(authorizationId), authorizationId };
      await authorizationCodes.create(code, now);
      await authorizationCodes.consume(code, at);
    };
    const create = (authorizationId: string, record: Partial<Authorization>) =>
      store.create(authorizationRecord({ authorizationId, ...record }), now);
    for (const { authorizationId = "", ...record } of full) {
      await create(authorizationId, { ...record, createdAt: 1 });
      await use(authorizationId, authorizationId === "007" ? 1_001 : 1_002);
    }
    // the older one expires later
    await create("young", { createdAt: 20, expiresAt: 5_000 });
    await create("old", { createdAt: 10, expiresAt: 7_000 });
    const waiting = several(maxAuthorizations - 2).map(({ authorizationId = "" }) => `w${authorizationId}`);
    for (const id of waiting) await create(id, { createdAt: 30 });
    const ids = ["young", "old", ...full.map((one) => one.authorizationId), ...waiting];
    expect(await revokedOf(store, ids)).toEqual([]);
    await create("next", { createdAt: 40, expiresAt: 1_500 });
    expect(await revokedOf(store, ids)).toEqual(["old"]);
    await use("next", 1_003);
    await create("last", { createdAt: 50, expiresAt: 1_300 });
    expect(await revokedOf(store, [...ids, "next"])).toEqual(["old", "007"]);
  });

  it("revokes the first to expire of those that are equally old", async () => {
    const store = await storeOf(...full.toReversed(), { authorizationId: "new" });
    expect(await revokedOf(store, ["000", "001", "099", "new"])).toEqual(["000"]);
  });

  it("revokes none for one that has expired already", async () => {
    const store = await storeOf(...full, { authorizationId: "new", expiresAt: now });
    expect(await revokedOf(store, ["000", "001", "099"])).toEqual([]);
  });

  it("counts no others that a person has allowed", async () => {
    const store = await storeOf(...full, { authorizationId: "other client's", clientId: "other" });
    expect(await revokedOf(store, ["000", "001", "other client's"])).toEqual([]);
  });

  it("looks at none of what a person has allowed other clients, APIs and contexts", async () => {
    const looks: Looks = { count: 0 };
    const expiresAt = watchedEnd(looks);
    const others = several(3 * maxAuthorizations).map(({ authorizationId = "" }, index) => {
      const other = [
        { clientId: authorizationId },
        { apiId: authorizationId },
        { context: { key: authorizationId } },
      ];
      return { authorizationId, expiresAt, ...other[index % 3] };
    });
    const store = await storeOf(...others);
    looks.count = 0;
    for (const record of several(maxAuthorizations))
      await store.create(
        authorizationRecord({ ...record, authorizationId: `own ${record.authorizationId}` }),
        now,
      );
    await store.create(authorizationRecord({ authorizationId: "one too many" }), now);
    expect(looks.count).toBe(0);
  });
});
