import { randomBytes } from "node:crypto";
import { parseUserCode, userCodeOf } from "../../lib/protocol/device";
import { digestToken } from "../../lib/protocol/token-value";

const letters = "BCDFGHJKLMNPQRSTVWXZ";

const digestOf = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, "0"), "hex").toString("base64url");

describe("the user code of a device code (RFC 8628 §6.1)", () => {
  it("is eight of twenty consonants, and always the same", () => {
    const digest = digestToken("a device code");
    expect(userCodeOf(digest)).toMatch(new RegExp(`^[${letters}]{4}-[${letters}]{4}$`));
    expect(userCodeOf(digest)).toBe(userCodeOf(digest));
  });

  it("is written in base 20, the lowest place first", () => {
    expect(userCodeOf(digestOf(0n))).toBe("BBBB-BBBB");
    expect(userCodeOf(digestOf(19n + 20n))).toBe("ZCBB-BBBB");
    expect(userCodeOf(digestOf(20n ** 8n - 1n))).toBe("ZZZZ-ZZZZ");
    expect(userCodeOf(digestOf(20n ** 8n))).toBe("BBBB-BBBB");
  });

  it("has each letter at each place about equally often", () => {
    const counts = new Map<string, number>();
    const rounds = 20_000;
    for (let round = 0; round < rounds; round += 1)
      for (const [place, letter] of userCodeOf(randomBytes(32).toString("base64url")).split("").entries())
        if (letter !== "-") counts.set(`${place} ${letter}`, (counts.get(`${place} ${letter}`) ?? 0) + 1);
    expect(counts.size).toBe(8 * letters.length);
    // a thousand are expected of each: six deviations and a half away
    for (const count of counts.values()) expect(Math.abs(count - rounds / letters.length)).toBeLessThan(200);
  });

  it.each([
    "WDJB-MJHT",
    "wdjbmjht",
    " Wd Jb-mJ hT ",
    "WDJB–MJHT",
    "WDJB — MJHT\t",
    "w-d-j-b-m-j-h-t",
    "WDJB\u00a0MJHT",
  ])("is read from %j", (typed) => {
    expect(parseUserCode(typed)).toBe("WDJB-MJHT");
  });

  it.each([
    "",
    "WDJB-MJH",
    "WDJB-MJHTT",
    "WDJB-MJHA",
    "WDJB-MJHY",
    "WDJB_MJHT",
    "WDJB-MJH7",
    "ẀDJB-MJHT",
    "<b>",
  ])("is not read from %j", (typed) => {
    expect(parseUserCode(typed)).toBeUndefined();
  });
});
