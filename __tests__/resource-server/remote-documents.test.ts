import { type RemoteDocuments, remoteDocuments, wrong } from "../../lib/resource-server/remote-documents";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { trustedServers } from "./trusted-answers";

afterEach(() => void jest.restoreAllMocks());

const url = "https://host.example/keys";
const day = 86_400;
const bad = "it has no name";

/** What a document says, an object of its own for each parsing. */
interface Named {
  readonly name: unknown;
}

/** Documents that must have a name, over a server that has one at `url`, and a clock that the test moves. */
function watchedDocuments() {
  const clock = { now: 1_000 };
  const servers = trustedServers({ [url]: { name: "old" } });
  const parse = jest.fn((value: object) => {
    const { name } = value as Named;
    return name === undefined ? wrong(bad) : ({ kind: "parsed", value: { name } } as const);
  });
  const documents: RemoteDocuments<Named> = remoteDocuments({
    name: "the key set",
    clock: () => clock.now,
    parse,
  });
  return {
    clock,
    servers,
    parse,
    documents,
    publish: (body: unknown, status = 200) => void servers.replies.set(url, { body, status }),
  };
}

/** The error when there is no document. */
function unusable(reason: string): object {
  return { message: `the key set at ${url} can't be used: ${reason}`, code: "key-set-unusable" };
}

describe("a document of the authorization server (RFC 8414 §3.2)", () => {
  it("is parsed with its URL, and given", async () => {
    const { documents, parse, servers } = watchedDocuments();
    expect(await documents.find(url)).toEqual({ name: "old" });
    expect(parse.mock.calls).toEqual([[{ name: "old" }, url]]);
    expect(servers.asked).toEqual([url]);
  });

  it.each(["7", '"text"', "null", "true"])("is a JSON object, so not %s", async (body) => {
    const { documents, parse, publish } = watchedDocuments();
    publish(body);
    await expect(documents.find(url)).rejects.toMatchObject(unusable("it is no JSON object"));
    expect(parse).not.toHaveBeenCalled();
  });

  it.each<["find" | "refresh"]>([["find"], ["refresh"]])(
    "that is wrong counts as one that did not arrive: %s",
    async (how) => {
      const { documents, publish } = watchedDocuments();
      publish({});
      await expect(documents[how](url)).rejects.toMatchObject(unusable(bad));
    },
  );

  it("that is wrong leaves the last good one in use, for a day", async () => {
    const { clock, documents, publish } = watchedDocuments();
    const good = await documents.find(url);
    publish({});
    clock.now += day - 1;
    expect(await documents.refresh(url)).toBe(good);
    clock.now += 30;
    await expect(documents.find(url)).rejects.toMatchObject(unusable(bad));
  });

  it("that does not arrive is missed after a day, and the error says why", async () => {
    const { clock, documents, publish } = watchedDocuments();
    await documents.find(url);
    publish({}, 500);
    clock.now += day;
    await expect(documents.find(url)).rejects.toMatchObject(unusable("the answer has status 500"));
  });

  it("that says the same keeps its value, so that keys stay the same objects", async () => {
    const { clock, documents, parse, publish } = watchedDocuments();
    const first = await documents.find(url);
    clock.now += 31;
    expect(await documents.refresh(url)).toBe(first);
    expect(parse).toHaveBeenCalledTimes(1);
    clock.now += 31;
    publish({ name: "new" });
    expect(await documents.refresh(url)).toEqual({ name: "new" });
  });
});

describe("what a parser says of a document that is wrong", () => {
  it("is that it is wrong, and why", () => {
    expect(wrong(bad)).toEqual({ kind: "wrong", reason: bad });
  });
});

describe("a fresh document", () => {
  it("is answered from memory, for 300 seconds when its headers say nothing", async () => {
    const { clock, documents, servers } = watchedDocuments();
    expect(documents.fresh(url)).toBeUndefined();
    const found = await documents.find(url);
    clock.now += 299;
    expect(documents.fresh(url)).toBe(found);
    clock.now += 1;
    expect(documents.fresh(url)).toBeUndefined();
    await everythingUnderWay();
    // by the first call, and by the one when it was old
    expect(servers.asked).toEqual([url, url]);
  });

  it.each([
    [224, 1],
    [225, 2],
  ])("is asked for ahead of time when three quarters have passed: %i s, %i fetches", async (age, fetches) => {
    const { clock, documents, publish, servers } = watchedDocuments();
    const found = await documents.find(url);
    publish({ name: "new" });
    clock.now += age;
    expect(await documents.find(url)).toBe(found);
    await everythingUnderWay();
    expect(servers.asked.length).toBe(fetches);
    expect(documents.fresh(url)).toEqual({ name: fetches === 1 ? "old" : "new" });
  });
});

describe("a document that is no longer fresh", () => {
  it("is fetched again", async () => {
    const { clock, documents, publish } = watchedDocuments();
    await documents.find(url);
    publish({ name: "new" });
    clock.now += 300;
    expect(await documents.find(url)).toEqual({ name: "new" });
  });

  it("is used during an outage without waiting for the server, which is asked meanwhile", async () => {
    const { clock, documents, publish, servers } = watchedDocuments();
    const found = await documents.find(url);
    publish({}, 503);
    clock.now += 300;
    expect(await documents.find(url)).toBe(found);
    const answered = newLatch();
    servers.hold = answered.opened;
    clock.now += 30;
    publish({ name: "new" });
    expect(await documents.find(url)).toBe(found);
    expect(servers.asked.length).toBe(3);
    answered.open();
    await everythingUnderWay();
    expect(documents.fresh(url)).toEqual({ name: "new" });
  });

  it("that was never there is not found during an outage either", async () => {
    const { clock, documents, publish, servers } = watchedDocuments();
    publish({}, 503);
    for (const asked of [1, 1, 2]) {
      await expect(documents.find(url)).rejects.toMatchObject(unusable("the answer has status 503"));
      expect(servers.asked.length).toBe(asked);
      clock.now += 15;
    }
  });
});
