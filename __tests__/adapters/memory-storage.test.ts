import { type Client, type ClientStore, memoryStorage, type MemoryStorage, type Storage } from "../../lib";
import type { ListedClients } from "../../lib/clients/client-lookup";
import {
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  consentRecord,
  publicRecord,
} from "../records/records";

const now = 1_000;
const full = { code: "memory-full" };

describe("the clients of memoryStorage (RFC 6749 §2)", () => {
  const web = confidentialRecord();
  const spa = publicRecord("browser", { redirectUris: ["https://spa.example/a"] });

  it("must have different ids", () => {
    expect(() => memoryStorage({ clients: [web, spa, { ...spa, clientId: "web" }] })).toThrow(
      expect.objectContaining({ name: "TypeError", code: "memory-clients-with-one-id" }),
    );
    expect(() => memoryStorage({ clients: [web, spa] })).not.toThrow();
  });

  it("are listed as they are now, but not to code that iterates over the port", async () => {
    const { clients } = memoryStorage({ clients: [web, spa] });
    const { records } = clients as ClientStore as ListedClients;
    expect(records).toEqual([web, spa]);
    expect(Object.keys(clients)).toEqual(["find", "isBrowserOrigin", "save", "replace", "delete", "list"]);
    await clients.save({ ...spa, name: "Another name" });
    await clients.delete("web");
    expect((clients as ClientStore as ListedClients).records).toEqual([{ ...spa, name: "Another name" }]);
  });

  it("are not changed by a wrong record, which is refused with a TypeError", async () => {
    const { clients } = memoryStorage({ clients: [web] });
    for (const wrong of [{ ...web, redirectUris: ["javascript:alert(1)"] }, undefined] as Client[]) {
      await expect(clients.save(wrong)).rejects.toThrow(TypeError);
      await expect(clients.replace({ from: web, to: wrong })).rejects.toThrow(TypeError);
    }
    expect(await clients.list({ limit: 10 })).toEqual([web]);
  });

  it("stay when there is no room for the end mark that their deletion needs", async () => {
    const { clients, endMarks } = memoryStorage({ clients: [web], maxEntries: 1 });
    await endMarks.save({ key: "a.b", mark: "a mark", expiresAt: Number.MAX_SAFE_INTEGER }, now);
    await expect(clients.delete("web")).rejects.toMatchObject(full);
    expect(await clients.find("web")).toEqual(web);
  });

  it("have the origins of their browser clients", async () => {
    const { clients } = memoryStorage({ clients: [web, spa] });
    expect(await clients.isBrowserOrigin("https://spa.example")).toBe(true);
    expect(await clients.isBrowserOrigin("https://web.example")).toBe(false);
  });
});

describe("withdrawn consents in memoryStorage (RFC 7009 §2.1)", () => {
  const selection = { subject: "alice", clientId: "web", apiId: "orders" };

  it.each([
    ["before it", {}, true],
    ["under another mark", { endMarks: ["an older mark"] }, true],
    ["under its mark", { endMarks: ["an older mark", "the mark"] }, false],
  ])("end what was saved %s", async (_, changes, isWithdrawn) => {
    const { consents } = memoryStorage({ clients: [] });
    await consents.save(consentRecord(changes), now);
    expect(await consents.delete({ selection, exceptEndMark: "the mark" }, now)).toBe(isWithdrawn);
    expect(await consents.list("alice", now)).toHaveLength(isWithdrawn ? 0 : 1);
  });
});

/** Stores codes, each of an authorization of its own, and counts those that were refused. */
async function refusedCodes(clientOf: (index: number) => string | undefined): Promise<number> {
  const { authorizations, authorizationCodes } = memoryStorage({ clients: [], maxEntries: 8 });
  const outcomes: string[] = [];
  for (let index = 0; index < 6; index += 1) {
    const [clientId, authorizationId] = [clientOf(index), `id ${index}`];
    // a host may keep authorizations in another storage
    if (clientId !== undefined)
      await authorizations.create(
        authorizationRecord({ authorizationId, clientId, expiresAt: 1_000 + index + 1 }),
        1_000 + index,
      );
    const code = codeRecord(`code ${index}`, { authorizationId });
    const kept = authorizationCodes.create(code, 1_000 + index);
    outcomes.push(await kept.then(() => "kept", String));
  }
  return outcomes.filter((outcome) => outcome !== "kept").length;
}

describe("the clients of memoryStorage (RFC 6749 §2)", () => {
  it.each([undefined, {}, { clients: {} }, { clients: "web" }])("must be a list: %j", (options) => {
    expect(() => memoryStorage(options as never)).toThrow(
      expect.objectContaining({ name: "TypeError", code: "memory-clients-not-a-list" }),
    );
  });
});

describe("maxEntries of memoryStorage (RFC 9700 §4.14)", () => {
  it.each([1, 2 ** 24])("may be %i", (maxEntries) => {
    expect(() => memoryStorage({ clients: [], maxEntries })).not.toThrow();
  });

  it.each([0, -1, 1.5, Infinity, Number.NaN, 2 ** 24 + 1, "9" as unknown as number])(
    "is refused: %p",
    (maxEntries) => {
      expect(() => memoryStorage({ clients: [], maxEntries })).toThrow(
        expect.objectContaining({ name: "TypeError", code: "memory-max-entries-wrong" }),
      );
    },
  );

  it.each<[string, (storage: Storage, name: string) => Promise<unknown>]>([
    ["consents", ({ consents }, subject) => consents.save(consentRecord({ subject }), now)],
    ["end marks", ({ endMarks }, key) => endMarks.save({ key, mark: "M", expiresAt: 9_000 }, now)],
  ])("bounds %s", async (_, save) => {
    const storage = memoryStorage({ clients: [], maxEntries: 2 });
    for (const name of ["a", "b", "a"]) await save(storage, name);
    await expect(save(storage, "c")).rejects.toMatchObject(full);
  });

  it("lets no client fill the room of codes for everyone, whatever authorizations they are of", async () => {
    expect(await refusedCodes(() => "greedy")).toBe(1);
    expect(await refusedCodes((index) => `client ${index}`)).toBe(0);
  });

  it("counts each authorization as an owner where the client is not known", async () => {
    expect(await refusedCodes(() => undefined)).toBe(0);
  });

  it.each<[string, (storage: MemoryStorage, name: string, clientId?: string) => Promise<unknown>]>([
    [
      "revoked tokens",
      ({ accessTokens }, tokenId, clientId) =>
        accessTokens.revoke({ tokenId, ...(clientId !== undefined && { clientId }), expiresAt: 9_000 }, now),
    ],
    [
      "used assertions",
      ({ clientAssertions }, digest, clientId) =>
        clientAssertions.use({ digest, ...(clientId !== undefined && { clientId }), expiresAt: 9_000 }, now),
    ],
    [
      "parked requests",
      ({ parkedRequests }, key, owner = key) =>
        parkedRequests.create({ key, owner, state: "approved", by: "an answer", expiresAt: 9_000 }, { now }),
    ],
  ])("lets no client fill the room of %s, but may be filled by those of nobody", async (_, save) => {
    const own = memoryStorage({ clients: [], maxEntries: 4 });
    for (const name of ["a", "b", "c"]) await save(own, name, "greedy");
    await expect(save(own, "d", "greedy")).rejects.toMatchObject({
      code: "memory-share-used-up",
      message: expect.stringContaining('"greedy"') as string,
    });
    await save(own, "d", "another");
    const nobodys = memoryStorage({ clients: [], maxEntries: 4 });
    for (const name of ["a", "b", "c", "d"]) await save(nobodys, name);
    await expect(save(nobodys, "e")).rejects.toMatchObject(full);
  });
});
