import { type ClientRegistration, memoryStorage } from "../../lib";
import { newAssertion, newRegistration } from "../../lib/testing/contract/records";

const now = 1_000;

/** Registrations that end ten minutes after their creation, one for each name. */
function registrationsOf(names: string): readonly ClientRegistration[] {
  return names.split("").map((clientId) => newRegistration(now, { clientId }));
}

/** Storage with a registration for each letter, and what the tests ask it. */
async function registered(names: string, limit = 10) {
  const { clientRegistrations: store } = memoryStorage({ clients: [] });
  const create = (clientId: string, bound: { limit: number; now: number }, expiresAt = bound.now + 600) =>
    store.create(newRegistration(bound.now, { clientId, expiresAt }), bound);
  for (const registration of registrationsOf(names)) await store.create(registration, { limit, now });
  const found = async (asked: string, at = now): Promise<string> => {
    const known = await Promise.all(asked.split("").map((clientId) => store.find(clientId, at)));
    return known.map((client) => client?.clientId ?? "-").join("");
  };
  return { store, create, found };
}

describe("memoryStorage registrations (RFC 7591 §3)", () => {
  it("gives out records that nobody can change, and keeps none of the caller's", async () => {
    const { store } = await registered("");
    const { client } = newRegistration(now, { clientId: "a" });
    const own = structuredClone(client);
    await store.create({ client: own, expiresAt: 2_000 }, { limit: 1, now });
    Object.assign(own, { name: "another" });
    const found = await store.find("a", now);
    expect(found).toEqual(client);
    expect(
      [found, found?.redirectUris, found?.subscriptions, found?.subscriptions["orders"]].every(
        Object.isFrozen,
      ),
    ).toBe(true);
  });

  it("lets expired ones make room before any other goes, whichever was created first", async () => {
    const { create, found } = await registered("abc", 4);
    await create("d", { limit: 4, now }, 1_100);
    await create("e", { limit: 4, now: 1_100 });
    expect(await found("abcde", 1_100)).toBe("abc-e");
  });

  it("lets expired ones make room first, also where some were extended", async () => {
    const { store, create, found } = await registered("ab");
    await store.extend({ clientId: "a", expiresAt: 5_000 }, now);
    await create("c", { limit: 10, now }, 1_100);
    await create("d", { limit: 3, now: 1_100 });
    expect(await found("abcd", 1_100)).toBe("ab-d");
  });

  it("never moves an end to an earlier time", async () => {
    const { store, found } = await registered("a");
    for (const expiresAt of [2_000, 1_500]) await store.extend({ clientId: "a", expiresAt }, now);
    expect([await found("a", 1_999), await found("a", 2_000)]).toEqual(["a", "-"]);
  });

  it("gives no room to one that has ended already, also where it has just looked for expired ones", async () => {
    const { create, found } = await registered("a", 1);
    await create("b", { limit: 1, now });
    await create("c", { limit: 3, now }, now);
    await create("d", { limit: 2, now });
    expect(await found("abcd")).toBe("-b-d");
  });

  it("takes one that has ended already, gives it to nobody, and has the same room for others", async () => {
    const { create, found } = await registered("a", 2);
    expect(await create("b", { limit: 2, now }, now)).toBe("created");
    expect(await create("c", { limit: 2, now })).toBe("created");
    expect(await found("abc")).toBe("a-c");
  });

  it("keeps what lives when its clock was ahead while there was room, and is set back", async () => {
    const { create, found } = await registered("abc", 10);
    await create("d", { limit: 10, now: 90_000 });
    expect(await found("abc", 90_000)).toBe("---");
    await create("e", { limit: 10, now: 1_001 });
    expect(await found("abcde", 1_001)).toBe("abcde");
  });

  it("is full with as many extended ones as a limit that has shrunk, and changes nothing then", async () => {
    const { store, create, found } = await registered("abcd");
    for (const clientId of ["a", "b"]) await store.extend({ clientId, expiresAt: 5_000 }, now);
    expect(await create("e", { limit: 2, now })).toBe("full");
    expect(await create("e", { limit: 0, now })).toBe("full");
    expect(await found("abcde")).toBe("abcd-");
    expect(await create("e", { limit: 3, now })).toBe("created");
    expect(await found("abcde")).toBe("ab--e");
  });

  it("looks at no other registration in a flood, once a second apart", async () => {
    const { clientRegistrations: store } = memoryStorage({ clients: [] });
    let looks = 0;
    const end = { valueOf: () => ((looks += 1), 9_000) } as unknown as number;
    const create = (at: number) =>
      store.create(newRegistration(at, { expiresAt: end }), { limit: 1_000, now: at });
    for (let n = 0; n < 1_000; n += 1) await create(now);
    await create(1_001);
    looks = 0;
    for (let n = 0; n < 1_000; n += 1) await create(1_001);
    // its own end alone
    expect(looks).toBe(1_000);
  });
});

describe("memoryStorage used assertions (RFC 7523 §3)", () => {
  it("refuses further ones when it is full of those that live, and drops expired ones", async () => {
    const { clientAssertions } = memoryStorage({ clients: [], maxEntries: 2 });
    const [first, second, third] = [1, 2, 3].map((n) => newAssertion(now, { clientId: `client-${n}` })) as [
      ReturnType<typeof newAssertion>,
      ReturnType<typeof newAssertion>,
      ReturnType<typeof newAssertion>,
    ];
    await clientAssertions.use(first, now);
    await clientAssertions.use(second, now);
    await expect(clientAssertions.use(third, now)).rejects.toMatchObject({ code: "memory-full" });
    expect(await clientAssertions.use(first, now)).toBe("used-before");
    expect(await clientAssertions.use({ ...third, expiresAt: 1_600 }, first.expiresAt)).toBe("used");
  });

  it("lets no client take the room of all others (decision 0025)", async () => {
    const { clientAssertions } = memoryStorage({ clients: [], maxEntries: 8 });
    const use = (clientId: string) => clientAssertions.use(newAssertion(now, { clientId }), now);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => use("greedy")));
    expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(2);
    expect(await use("another")).toBe("used");
  });

  it("does not forget one when its clock was ahead for a moment", async () => {
    const { clientAssertions } = memoryStorage({ clients: [] });
    const assertion = newAssertion(now);
    await clientAssertions.use(assertion, now);
    await clientAssertions.use(newAssertion(90_000), 90_000);
    expect(await clientAssertions.use(assertion, 1_010)).toBe("used-before");
  });
});
