import { fetchReasons } from "../../lib/fetching/read-document";
import { because } from "../../lib/protocol/oauth-error";
import type { FetchedDocument } from "../../lib/fetching/fetch-document";
import { type Asker, rememberedDocuments } from "../../lib/fetching/remembered-documents";
import { everythingUnderWay } from "../storage/latch";

const url = "https://client.example/client.json";
const day = 86_400;

function document(name: string, maxAgeSeconds?: number): FetchedDocument {
  return { kind: "fetched", text: JSON.stringify({ name }), maxAgeSeconds };
}

const down: FetchedDocument = { kind: "failed", ...because(fetchReasons, "no-connection") };
const tooMany = { kind: "too-many", ...because(fetchReasons, "too-many-fetches") };

/** A document with this name, new or not. */
function found(name: string): unknown {
  const value = { name };
  return expect.objectContaining({ kind: "found", value, text: JSON.stringify(value) });
}

/** Another URL of the same host. */
const other = (index: number): string => `${url}?${index}`;

/** A memory whose fetches wait to be answered, one by one. */
function watchedMemory() {
  const clock = { now: 1_800_000_000 };
  const asked: { readonly url: string; readonly answer: (outcome: FetchedDocument) => void }[] = [];
  const documents = rememberedDocuments({
    clock: () => clock.now,
    fetchDocument: (from) => new Promise((answer) => void asked.push({ url: from, answer })),
  });
  /** What `find` or `refresh` gives when every fetch that it begins ends like this. */
  async function ask(
    outcome: FetchedDocument,
    {
      how = "find",
      from = url,
      asker = "known",
    }: { readonly how?: "find" | "refresh"; readonly from?: string; readonly asker?: Asker } = {},
  ) {
    const before = asked.length;
    const answer = documents[how](from, asker);
    for (const { answer: give } of asked.slice(before)) give(outcome);
    return { answer: await answer, fetches: asked.length - before };
  }
  return { clock, asked, documents, ask };
}

describe("a remembered document (RFC 9111 §4.2)", () => {
  it.each([
    [300, undefined],
    [60, 0],
    [60, 59],
    [61, 61],
    [3_600, 3_600],
    [3_600, day],
    [3_600, 2 ** 31],
  ])("is fresh for %i seconds when its headers say %p", async (seconds, maxAge) => {
    const { ask, clock } = watchedMemory();
    expect(await ask(document("old", maxAge))).toEqual({ answer: found("old"), fetches: 1 });
    clock.now += seconds - 1;
    expect(await ask(document("new"))).toEqual({ answer: found("old"), fetches: 0 });
    clock.now += 1;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("counts from when its fetch began", async () => {
    const { ask, asked, clock, documents } = watchedMemory();
    const first = documents.find(url);
    clock.now += 5;
    asked[0]?.answer(document("old", 60));
    expect(await first).toEqual(found("old"));
    clock.now += 55;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("belongs to one URL", async () => {
    const { ask } = watchedMemory();
    await ask(document("a"));
    expect(await ask(document("b"), { from: `${url}?b` })).toEqual({ answer: found("b"), fetches: 1 });
    expect(await ask(down)).toEqual({ answer: found("a"), fetches: 0 });
  });

  it("is a copy for each reader", async () => {
    const { ask, documents } = watchedMemory();
    const { answer } = await ask(document("good"));
    if (answer.kind === "found") Object.assign(answer.value as object, { name: "changed" });
    expect(answer).toEqual(found("good"));
    expect((await ask(down)).answer).toEqual(found("good"));
    expect(documents.peek(url)).toEqual(found("good"));
  });

  it.each([
    '{"__proto__":{"admin":true},"name":"x"}',
    '{"__proto__":1,"name":"x","__proto__":{"admin":true}}',
    '{"name":"x","\\u005f_proto__":{"admin":true}}',
  ])("has no member that changes the prototype of a copy: %s", async (text) => {
    const { ask } = watchedMemory();
    const { answer } = await ask({ kind: "fetched", text, maxAgeSeconds: undefined });
    const value = answer.kind === "found" ? (answer.value as object) : {};
    expect(Object.keys(value)).toEqual(["name"]);
    expect(Object.assign({}, value)).not.toHaveProperty("admin");
    expect({}).not.toHaveProperty("admin");
  });
});

describe("a stale document (RFC 9111 §4.2.4)", () => {
  it("is used when there is no new one, for a day from its fetch", async () => {
    const { ask, clock } = watchedMemory();
    await ask(document("old"));
    for (let hour = 1; hour < 24; hour += 1) {
      clock.now += 3_600;
      expect(await ask(down)).toEqual({ answer: found("old"), fetches: 1 });
    }
    clock.now += 3_599;
    expect(await ask(down)).toEqual({ answer: found("old"), fetches: 1 });
    clock.now += 1;
    expect(await ask(down)).toEqual({ answer: down, fetches: 0 });
    clock.now += 30;
    expect(await ask(down)).toEqual({ answer: down, fetches: 1 });
  });

  it("is used without asking again for 30 seconds after an attempt failed", async () => {
    const { ask, clock } = watchedMemory();
    await ask(document("old"));
    clock.now += 300;
    expect(await ask(down)).toEqual({ answer: found("old"), fetches: 1 });
    clock.now += 29;
    expect(await ask(document("new"))).toEqual({ answer: found("old"), fetches: 0 });
    clock.now += 1;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("is used while too many fetches are under way", async () => {
    const { ask, clock, documents } = watchedMemory();
    await ask(document("old"));
    clock.now += 300;
    for (let index = 0; index < 32; index += 1) void documents.find(other(index));
    expect(await documents.find(url)).toEqual(found("old"));
    expect(await documents.refresh(url)).toEqual(found("old"));
  });

  it("is not used when it becomes a day old while its host is asked", async () => {
    const { asked, ask, clock, documents } = watchedMemory();
    await ask(document("old"));
    clock.now += day - 1;
    const answer = documents.find(url);
    clock.now += 1;
    asked[1]?.answer(down);
    expect(await answer).toEqual(down);
  });
});

describe("a failure (house rule: it is not kept as an answer)", () => {
  it("is what callers get for 30 seconds, then the host is asked again", async () => {
    const { ask, clock } = watchedMemory();
    expect(await ask(down)).toEqual({ answer: down, fetches: 1 });
    clock.now += 29;
    expect(await ask(document("new"))).toEqual({ answer: down, fetches: 0 });
    expect(await ask(document("new"), { how: "refresh" })).toEqual({ answer: down, fetches: 0 });
    clock.now += 1;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("shortens the life of no document", async () => {
    const { ask, clock } = watchedMemory();
    await ask(document("old", 3_600));
    clock.now += 60;
    expect(await ask(down, { how: "refresh" })).toEqual({ answer: found("old"), fetches: 1 });
    clock.now += 60;
    expect(await ask(down)).toEqual({ answer: found("old"), fetches: 0 });
  });
});

describe("refresh (for a kid that is not in the document, RFC 7517 §4.5)", () => {
  it("asks again although the document is fresh, but not within 30 seconds", async () => {
    const { ask, clock } = watchedMemory();
    await ask(document("old"));
    clock.now += 29;
    expect(await ask(document("new"), { how: "refresh" })).toEqual({ answer: found("old"), fetches: 0 });
    clock.now += 1;
    expect(await ask(document("new"), { how: "refresh" })).toEqual({ answer: found("new"), fetches: 1 });
    expect(await ask(document("newest"), { how: "refresh" })).toEqual({ answer: found("new"), fetches: 0 });
  });

  it("joins a fetch that is under way, and find gives what is fresh meanwhile", async () => {
    const { ask, asked, clock, documents } = watchedMemory();
    await ask(document("old"));
    clock.now += 30;
    const waiting = [documents.refresh(url), documents.refresh(url)];
    expect(await documents.find(url)).toEqual(found("old"));
    expect(asked).toHaveLength(2);
    asked[1]?.answer(document("new"));
    expect(await Promise.all(waiting)).toEqual([found("new"), found("new")]);
  });
});

describe("peek (bearer checks and introspection never cause a fetch)", () => {
  it("gives what is remembered, fresh or stale, and nothing after a day", async () => {
    const { ask, asked, clock, documents } = watchedMemory();
    expect(documents.peek(url)).toBeUndefined();
    await ask(document("old"));
    expect(documents.peek(url)).toEqual(found("old"));
    clock.now += day - 1;
    expect(documents.peek(url)).toEqual(found("old"));
    clock.now += 1;
    expect(documents.peek(url)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it("gives nothing for a URL that has failed", async () => {
    const { ask, documents } = watchedMemory();
    await ask(down);
    expect(documents.peek(url)).toBeUndefined();
  });
});

describe("a document that is looked at without asking", () => {
  it("is given while it is fresh, and gets old before it is not", async () => {
    const { ask, asked, clock, documents } = watchedMemory();
    const looked = () => ({ fresh: documents.fresh(url), isAgeing: documents.isAgeing(url) });
    expect(looked()).toEqual({ fresh: undefined, isAgeing: false });
    await ask(document("good"));
    expect(looked()).toEqual({ fresh: found("good"), isAgeing: false });
    clock.now += 299;
    expect(looked()).toEqual({ fresh: found("good"), isAgeing: true });
    clock.now += 1;
    expect(looked()).toEqual({ fresh: undefined, isAgeing: true });
    expect(asked).toHaveLength(1);
  });

  it("fails after an attempt in vain", async () => {
    const { ask, asked, documents } = watchedMemory();
    expect(documents.isFailing(url)).toBe(false);
    await ask(down);
    expect(documents.isFailing(url)).toBe(true);
    expect(asked).toHaveLength(1);
  });
});

const isNew = (answer: unknown): unknown => (answer as { readonly isNew?: unknown }).isNew;

describe("a document that is new (for a kid that is not in it, RFC 7517 §4.5)", () => {
  it.each(["find", "refresh"] as const)("was fetched for the one who asks: %s", async (how) => {
    const { ask, clock, documents } = watchedMemory();
    expect(isNew((await ask(document("old"), { how })).answer)).toBe(true);
    expect([documents.fresh(url), documents.peek(url)].map(isNew)).toEqual([false, false]);
    clock.now += 29;
    expect(isNew((await ask(document("new"), { how })).answer)).toBe(false);
    clock.now += 300;
    expect(isNew((await ask(down, { how })).answer)).toBe(false);
    clock.now += 30;
    expect(isNew((await ask(document("new"), { how })).answer)).toBe(true);
  });

  it("is not what came of a fetch that others had begun: it may have been answered before", async () => {
    const { asked, documents } = watchedMemory();
    const waiting = [documents.find(url), documents.find(url), documents.refresh(url)];
    asked[0]?.answer(document("good"));
    expect((await Promise.all(waiting)).map(isNew)).toEqual([true, false, false]);
  });

  it("is not the last good one, where too many fetches are under way", async () => {
    const { ask, clock, documents } = watchedMemory();
    await ask(document("old"));
    clock.now += 300;
    for (let index = 0; index < 32; index += 1) void documents.find(other(index));
    expect(isNew(await documents.refresh(url))).toBe(false);
  });
});

describe("a clock that is set back (RFC 9111 §4.2.3)", () => {
  it.each([1, 299, 3_600, 10 * day])("by %i seconds has every document asked for again", async (step) => {
    const { ask, clock } = watchedMemory();
    await ask(document("old", day));
    clock.now += 60;
    expect(await ask(down)).toEqual({ answer: found("old"), fetches: 0 });
    clock.now -= step;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("again and again keeps nothing longer than a day", async () => {
    const { ask, clock } = watchedMemory();
    await ask(document("old"));
    for (let step = 0; step < 23; step += 1) {
      clock.now += 3_600;
      expect((await ask(down)).answer).toEqual(found("old"));
      clock.now -= 3_600;
      expect((await ask(down)).answer).toEqual(found("old"));
    }
    clock.now += 3_600;
    expect((await ask(down)).answer).toEqual(down);
  });

  it("during a fetch makes what it brings stale", async () => {
    const { ask, asked, clock, documents } = watchedMemory();
    const first = documents.find(url);
    clock.now -= 1_000;
    expect(documents.peek(url)).toBeUndefined();
    asked[0]?.answer(document("old", day));
    expect(await first).toEqual(found("old"));
    clock.now += 30;
    expect(await ask(document("new"))).toEqual({ answer: found("new"), fetches: 1 });
  });

  it("keeps the 30 seconds between attempts", async () => {
    const { ask, clock } = watchedMemory();
    await ask(down);
    clock.now -= 1_000;
    expect((await ask(down)).fetches).toBe(0);
    clock.now += 30;
    expect((await ask(down)).fetches).toBe(1);
  });
});

describe("many requests at once (RFC 9728 §7.7)", () => {
  it("for one URL share one fetch: 64 of them", async () => {
    const { asked, documents } = watchedMemory();
    const waiting = Array.from({ length: 64 }, () => documents.find(url));
    expect(asked).toHaveLength(1);
    asked[0]?.answer(document("good"));
    const answers = await Promise.all(waiting);
    expect(answers).toEqual(Array.from({ length: 64 }, () => found("good")));
    expect(new Set(answers.map((answer) => answer.kind === "found" && answer.value)).size).toBe(64);
  });

  it("share a failure, and nobody asks again for 30 seconds", async () => {
    const { asked, documents } = watchedMemory();
    const waiting = Array.from({ length: 64 }, () => documents.find(url));
    asked[0]?.answer(down);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([down]));
    expect(await documents.find(url)).toEqual(down);
    expect(asked).toHaveLength(1);
  });

  it("for 1,000 URLs have 32 fetches under way, and the rest is told so and may come back at once", async () => {
    const { ask, asked, documents } = watchedMemory();
    const waiting = Array.from({ length: 1_000 }, (_, index) => documents.find(`${url}?${index}`));
    await everythingUnderWay();
    expect(asked).toHaveLength(32);
    expect(await Promise.all(waiting.slice(32))).toEqual(Array.from({ length: 968 }, () => tooMany));
    asked[0]?.answer(document("good"));
    expect(await waiting[0]).toEqual(found("good"));
    expect(await ask(document("late"), { from: `${url}?999` })).toEqual({
      answer: found("late"),
      fetches: 1,
    });
    for (const { answer } of asked) answer(down);
    await Promise.all(waiting);
    for (let index = 2_000; index < 2_032; index += 1) void documents.find(`${url}?${index}`);
    expect(asked).toHaveLength(33 + 32);
  });

  it("keep 1,000 documents, those that were used last", async () => {
    const { ask, documents } = watchedMemory();
    await ask(document("used"));
    for (let index = 0; index < 2_000; index += 1) {
      await ask(document(`${index}`), { from: `${url}?${index}` });
      documents.peek(url);
    }
    const kept = Array.from({ length: 2_000 }, (_, index) => documents.peek(`${url}?${index}`));
    expect(kept.filter((each) => each !== undefined)).toHaveLength(999);
    expect(documents.peek(url)).toEqual(found("used"));
    expect(kept[1_999]).toEqual(found("1999"));
  });

  it("push no document out by failing, and no more than 1,000 failures are kept", async () => {
    const { ask, documents } = watchedMemory();
    await ask(document("good"));
    for (let index = 0; index < 1_500; index += 1) await ask(down, { from: `${url}?${index}` });
    expect(documents.peek(url)).toEqual(found("good"));
    expect((await ask(down, { from: `${url}?1499` })).fetches).toBe(0);
    expect((await ask(down, { from: `${url}?499` })).fetches).toBe(1);
  });
});

describe("documents that anybody can have fetched (client id metadata documents §8)", () => {
  const asker = "anyone" as const;

  it("are remembered as others are", async () => {
    const { ask, clock } = watchedMemory();
    expect(await ask(document("old"), { asker })).toEqual({ answer: found("old"), fetches: 1 });
    expect(await ask(document("new"), { asker })).toEqual({ answer: found("old"), fetches: 0 });
    clock.now += 300;
    expect(await ask(down, { asker })).toEqual({ answer: found("old"), fetches: 1 });
  });

  it("push out none that is kept, though they are fetched anew, and 1,000 of them are remembered", async () => {
    const { ask, clock, documents } = watchedMemory();
    await ask(document("kept"));
    clock.now += 300;
    await ask(document("kept, and new"), { asker });
    for (let index = 0; index < 1_500; index += 1)
      await ask(document(`${index}`), { asker, from: other(index) });
    expect(documents.peek(url)).toEqual(found("kept, and new"));
    expect([documents.peek(other(499)), documents.peek(other(500))]).toEqual([undefined, found("500")]);
  });

  it.each(["find", "refresh"] as const)("are kept from the first %s on", async (how) => {
    const { ask, documents } = watchedMemory();
    await ask(document("good"), { asker });
    expect([documents.fresh(url, asker), documents.fresh(url)]).toEqual([found("good"), undefined]);
    expect(await ask(down, { how })).toEqual({ answer: found("good"), fetches: 0 });
    expect(documents.fresh(url)).toEqual(found("good"));
    for (let index = 0; index < 1_000; index += 1)
      await ask(document("other"), { asker, from: other(index) });
    expect(documents.peek(url)).toEqual(found("good"));
  });

  it("are kept if they arrive for both", async () => {
    const { asked, documents } = watchedMemory();
    const waiting = [documents.find(url, asker), documents.find(url)];
    expect(asked).toHaveLength(1);
    asked[0]?.answer(document("good"));
    expect(await Promise.all(waiting)).toEqual([found("good"), found("good")]);
    expect(documents.fresh(url)).toEqual(found("good"));
  });

  it("are no longer kept once they are a day old and did not come again", async () => {
    const { ask, clock, documents } = watchedMemory();
    await ask(document("old"));
    clock.now += day;
    await ask(down);
    clock.now += 30;
    await ask(document("new"), { asker });
    expect([documents.fresh(url, asker), documents.fresh(url)]).toEqual([found("new"), undefined]);
  });

  it("come in eight fetches from one host, and 32 from all, and leave 32 for others", async () => {
    const { asked, documents } = watchedMemory();
    const refused: unknown[] = [];
    const askFor = (host: number, index: number): void =>
      void documents.find(`https://${host}.example/${index}`, asker).then((answer) => refused.push(answer));
    for (let index = 0; index < 9; index += 1) askFor(1, index);
    await everythingUnderWay();
    expect([asked.length, refused]).toEqual([8, [tooMany]]);
    for (let host = 2; host < 6; host += 1) for (let index = 0; index < 8; index += 1) askFor(host, index);
    await everythingUnderWay();
    expect([asked.length, refused.length]).toEqual([32, 9]);
    for (let index = 0; index < 33; index += 1) void documents.find(`https://1.example/own/${index}`);
    await everythingUnderWay();
    expect(asked).toHaveLength(64);
  });

  it("make room for others of their host when they arrive", async () => {
    const { asked, ask, documents } = watchedMemory();
    for (let index = 0; index < 8; index += 1) void documents.find(other(index), asker);
    expect((await ask(document("late"), { asker })).answer).toEqual(tooMany);
    asked[0]?.answer(down);
    await everythingUnderWay();
    expect((await ask(document("late"), { asker })).answer).toEqual(found("late"));
  });
});
