import { fetchReasons } from "../../lib/fetching/read-document";
import { because } from "../../lib/protocol/oauth-error";
import { documentMemory } from "../../lib/fetching/document-memory";
import type { FetchedDocument } from "../../lib/fetching/fetch-document";

const url = "https://client.example/client.json";
const day = 86_400;

const down: FetchedDocument = { kind: "failed", ...because(fetchReasons, "no-connection") };
const refused: FetchedDocument = { kind: "refused", ...because(fetchReasons, "host-not-public") };

function document(maxAgeSeconds?: number): FetchedDocument {
  return { kind: "fetched", text: "{}", maxAgeSeconds };
}

/** A memory that has noted this, each at its second, and what it says some seconds later. */
function remembered(noted: readonly (readonly [second: number, outcome: FetchedDocument])[]) {
  const clock = { now: 0 };
  const memory = documentMemory(() => clock.now);
  for (const [second, outcome] of noted) {
    clock.now = second;
    memory.note(url, { at: memory.now(), outcome });
  }
  function at<T>(second: number, ask: (of: typeof memory) => T): T {
    clock.now = second;
    return ask(memory);
  }
  return { at, clock, memory };
}

describe("a document that gets old (RFC 9111 §4.2)", () => {
  it.each([
    [undefined, 225],
    [0, 45],
    [60, 45],
    [100, 75],
    [3_600, 2_700],
    [2 ** 31, 2_700],
  ])("with max-age %p does so after %i seconds: three quarters of its time", (maxAge, seconds) => {
    const { at } = remembered([[1_000, document(maxAge)]]);
    const isAgeing = (second: number) => at(second, (memory) => memory.isAgeing(url));
    expect(isAgeing(1_000)).toBe(false);
    expect(isAgeing(1_000 + seconds - 1)).toBe(false);
    expect(isAgeing(1_000 + seconds)).toBe(true);
    expect(isAgeing(1_000 + seconds * 2)).toBe(seconds * 2 < day);
  });

  it.each([
    ["nothing is known", []],
    ["no document ever came", [[1_000, down] as const]],
    ["a new one has just come", [[0, document()] as const, [1_000, document()] as const]],
    ["the last good one is a day old", [[1_000 - day, document()] as const]],
  ])("does not if %s", (_, noted) => {
    expect(remembered(noted).at(1_000, (memory) => memory.isAgeing(url))).toBe(false);
  });
});

describe("a URL that fails", () => {
  it.each([
    ["the server was down", [down], true],
    ["the address was refused", [refused], true],
    ["there is a document from before", [document(), down], true],
    ["it failed again", [down, down], true],
    ["a document came", [document()], false],
    ["a document came at last", [down, document()], false],
    ["nobody has asked", [], false],
  ])("does so for a minute if its last attempt was in vain: %s", (_, outcomes, expected) => {
    const noted = outcomes.map((outcome, index) => [1_000 + index * 100, outcome] as const);
    const { at } = remembered(noted);
    const [last] = noted.at(-1) ?? [1_000];
    const isFailing = (second: number) => at(second, (memory) => memory.isFailing(url));
    expect([last, last + 59, last + 60].map(isFailing)).toEqual([expected, expected, false]);
  });
});

describe("a clock that is set back (RFC 9111 §4.2.3)", () => {
  it("makes no document stale that is asked for from that moment on", () => {
    const { clock, memory } = remembered([[1_000, document()]]);
    clock.now = 500;
    const at = memory.now();
    expect(memory.fresh(url)).toBeUndefined();
    memory.note(url, { at, outcome: document() });
    expect(memory.fresh(url)).toEqual(document());
    clock.now += 299;
    expect(memory.fresh(url)).toEqual(document());
    clock.now += 1;
    expect(memory.fresh(url)).toBeUndefined();
  });
});
