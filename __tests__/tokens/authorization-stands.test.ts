import { memoryStorage } from "../../lib";
import type { Authorization } from "../../lib/protocol/authorization";
import { apiEndKey, clientEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import { authorizationStands, isBornUnderClient } from "../../lib/tokens/authorization-stands";
import { authorizationRecord } from "../records/records";

const now = 2_000;
const before = "b".repeat(22);
const after = "a".repeat(22);
const ofClient = clientEndKey("web");
const audience = "https://api.example/orders";
const ofApi = apiEndKey(audience);
const none = new Map<string, string>();
const ofPerson = subjectEndKey("alice");

/** Storage with these marks, and a list of the keys that were asked for. */
async function storageWith(marks: Readonly<Record<string, string>>) {
  const { endMarks } = memoryStorage({ clients: [] });
  for (const [key, mark] of Object.entries(marks)) await endMarks.save({ key, mark, expiresAt: 9_000 }, now);
  const asked: (readonly string[])[] = [];
  const storage = {
    endMarks: {
      ...endMarks,
      find(keys: readonly string[], at: number) {
        asked.push(keys);
        return endMarks.find(keys, at);
      },
    },
  };
  return { storage, asked };
}

describe("what was issued to a client, everything of which was ended (RFC 7009 §2.1)", () => {
  it.each([
    ["stands when it was born under the mark in force", [after], after, {}, true],
    ["stands when nothing was ended", [], undefined, {}, true],
    ["has ended when it was born before", [before], after, { [ofClient]: after }, false],
    ["has ended when it was born under no mark", [], after, { [ofClient]: after }, false],
    ["stands when only the remembered client is older", [after], before, { [ofClient]: after }, true],
    // the mark was remembered and has expired since: no proof that the token is younger
    ["has ended when storage knows no mark any more", [before], after, {}, false],
  ] as const)("%s", async (_, born, endMark, marks, expected) => {
    const { storage, asked } = await storageWith(marks);
    const remembered = { endMark, apiEnds: none };
    const question = { born, clientId: "web", audience, remembered, now };
    expect(await isBornUnderClient({ storage }, question)).toBe(expected);
    const isPlain = born.length === 0 || born[0] === endMark;
    expect(asked).toEqual(isPlain ? [] : [[ofClient, ofApi]]);
  });
});

describe("what was issued for an API, everything of which was ended (RFC 7009 §2.1)", () => {
  interface Case {
    readonly born: readonly string[];
    /** What is remembered of the client, and of the API. */
    readonly client?: string;
    readonly api?: string;
    readonly marks?: Readonly<Record<string, string>>;
    readonly isAsked?: boolean;
  }
  const [ofClientNow, ofClientThen] = ["c".repeat(22), "d".repeat(22)];

  it.each<[string, Case, boolean]>([
    ["stands when it was born under the mark in force", { born: [after], api: after }, true],
    ["has ended when it was born under no mark", { born: [], api: after }, false],
    [
      "has ended when it was born before",
      { born: [before], api: after, marks: { [ofApi]: after }, isAsked: true },
      false,
    ],
    [
      "stands when only what is remembered of the API is older",
      { born: [after], api: before, marks: { [ofApi]: after }, isAsked: true },
      true,
    ],
    // the mark was remembered and is gone since: no proof that the token is younger
    ["has ended when storage knows no mark any more", { born: [before], api: after, isAsked: true }, false],
    ["stands under both marks", { born: [ofClientNow, after], client: ofClientNow, api: after }, true],
    [
      "has ended with the API, though not with its client",
      {
        born: [ofClientNow],
        client: ofClientNow,
        api: after,
        marks: { [ofClient]: ofClientNow },
        isAsked: true,
      },
      false,
    ],
    [
      "has ended with its client, though not with the API",
      { born: [after], client: ofClientNow, api: after, marks: { [ofApi]: after }, isAsked: true },
      false,
    ],
    [
      "stands when both were ended since the client was read, and it was issued after that",
      {
        born: [ofClientNow, after],
        client: ofClientThen,
        api: before,
        marks: { [ofClient]: ofClientNow, [ofApi]: after },
        isAsked: true,
      },
      true,
    ],
    [
      "has ended with its client, whose newer mark is found when the API's is looked for",
      {
        born: [ofClientThen, after],
        client: ofClientThen,
        api: before,
        marks: { [ofClient]: ofClientNow, [ofApi]: after },
        isAsked: true,
      },
      false,
    ],
    [
      "has ended with its client, whose mark is gone, though the API's is the newest",
      { born: [after], client: ofClientNow, api: before, marks: { [ofApi]: after }, isAsked: true },
      false,
    ],
  ])("%s", async (_, { born, client: endMark, api, marks = {}, isAsked = false }, expected) => {
    const { storage, asked } = await storageWith(marks);
    const remembered = { endMark, apiEnds: new Map([[audience, api]]) };
    const question = { born, clientId: "web", audience, remembered, now };
    expect(await isBornUnderClient({ storage }, question)).toBe(expected);
    expect(asked).toEqual(isAsked ? [[ofClient, ofApi]] : []);
  });

  it("stands when another API was ended", async () => {
    const { storage, asked } = await storageWith({});
    const remembered = { endMark: undefined, apiEnds: new Map([["https://api.example/files", after]]) };
    const question = { born: [], clientId: "web", audience, remembered, now };
    expect(await isBornUnderClient({ storage }, question)).toBe(true);
    expect(asked).toEqual([]);
  });
});

describe("an authorization (RFC 7009 §2.1)", () => {
  const registered = { endMark: undefined, apiEnds: none };
  it.each<[string, Authorization | undefined, Readonly<Record<string, string>>, boolean]>([
    ["stands without an end", authorizationRecord({ endMarks: [] }), {}, true],
    ["has ended when it is missing", undefined, {}, false],
    ["has ended when it was revoked", authorizationRecord({ endMarks: [], revoked: true }), {}, false],
    [
      "was flagged by its person's end, so the mark is not asked for",
      authorizationRecord({ endMarks: [] }),
      { [ofPerson]: after },
      true,
    ],
  ])("%s", async (_, authorization, marks, expected) => {
    const { storage, asked } = await storageWith(marks);
    expect(await authorizationStands({ storage }, { authorization, audience, registered, now })).toBe(
      expected,
    );
    expect(asked).toEqual([]);
  });

  const kinds: readonly (readonly [string, Authorization])[] = [
    ["born under no mark", authorizationRecord({ endMarks: [] })],
    ["born under another mark", authorizationRecord({ endMarks: [before] })],
  ];

  it.each(kinds)("has ended when its client was deleted: %s", async (_, authorization) => {
    const { storage, asked } = await storageWith({});
    const by = { authorization, audience, registered: undefined, now };
    expect(await authorizationStands({ storage }, by)).toBe(false);
    expect(asked).toEqual([]);
  });

  it.each(kinds)("has ended with everything of its client: %s", async (_, authorization) => {
    const { storage, asked } = await storageWith({ [ofClient]: after });
    const by = { authorization, audience, registered: { endMark: after, apiEnds: none }, now };
    expect(await authorizationStands({ storage }, by)).toBe(false);
    expect(asked).toEqual(authorization.endMarks[0] === before ? [[ofClient, ofApi]] : []);
  });

  it.each(kinds)("has ended with everything of its API: %s", async (_, authorization) => {
    const { storage, asked } = await storageWith({ [ofApi]: after });
    const ofEndedApi = { endMark: undefined, apiEnds: new Map([[audience, after]]) };
    const by = { authorization, audience, registered: ofEndedApi, now };
    expect(await authorizationStands({ storage }, by)).toBe(false);
    expect(asked).toEqual(authorization.endMarks[0] === before ? [[ofClient, ofApi]] : []);
  });
});
