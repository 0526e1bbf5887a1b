import { memoryStorage } from "../../lib";
import type { Authorization } from "../../lib/protocol/authorization";
import { clientEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import { authorizationStands, isBornUnderClient } from "../../lib/tokens/authorization-stands";
import { authorizationRecord } from "../records/records";

const now = 2_000;
const before = "b".repeat(22);
const after = "a".repeat(22);
const ofClient = clientEndKey("web");
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
    const remembered = { endMark };
    expect(await isBornUnderClient({ storage }, { born, clientId: "web", remembered, now })).toBe(expected);
    const isPlain = born.length === 0 || born[0] === endMark;
    expect(asked).toEqual(isPlain ? [] : [[ofClient]]);
  });
});

describe("an authorization (RFC 7009 §2.1)", () => {
  const registered = { endMark: undefined };
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
    expect(await authorizationStands({ storage }, { authorization, registered, now })).toBe(expected);
    expect(asked).toEqual([]);
  });

  const kinds: readonly (readonly [string, Authorization])[] = [
    ["born under no mark", authorizationRecord({ endMarks: [] })],
    ["born under another mark", authorizationRecord({ endMarks: [before] })],
  ];

  it.each(kinds)("has ended when its client was deleted: %s", async (_, authorization) => {
    const { storage, asked } = await storageWith({});
    const by = { authorization, registered: undefined, now };
    expect(await authorizationStands({ storage }, by)).toBe(false);
    expect(asked).toEqual([]);
  });

  it.each(kinds)("has ended with everything of its client: %s", async (_, authorization) => {
    const { storage, asked } = await storageWith({ [ofClient]: after });
    const by = { authorization, registered: { endMark: after }, now };
    expect(await authorizationStands({ storage }, by)).toBe(false);
    expect(asked).toEqual(authorization.endMarks[0] === before ? [[ofClient]] : []);
  });
});
