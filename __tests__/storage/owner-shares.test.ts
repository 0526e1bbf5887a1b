import { ownerShares } from "../../lib/storage/memory/owner-shares";

describe("the shares of owners (RFC 9700 §4.14)", () => {
  it("count what each holds", () => {
    const shares = ownerShares();
    for (const owner of ["a", "a", "b"]) shares.add(shares.of(owner));
    expect(["a", "b", "c"].map((owner) => shares.of(owner))).toEqual([
      { owner: "a", entries: 2 },
      { owner: "b", entries: 1 },
      { owner: "c", entries: 0 },
    ]);
    expect(shares.size).toBe(2);
  });

  it("forget an owner that holds nothing any more, and no other", () => {
    const shares = ownerShares();
    for (const owner of ["a", "a", "b"]) shares.add(shares.of(owner));
    shares.drop(shares.of("a"));
    expect([shares.of("a").entries, shares.size]).toEqual([1, 2]);
    shares.drop(shares.of("a"));
    expect([shares.of("a").entries, shares.size]).toEqual([0, 1]);
    shares.add(shares.of("a"));
    expect([shares.of("a").entries, shares.size]).toEqual([1, 2]);
  });
});
