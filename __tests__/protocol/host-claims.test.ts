import { hostClaimsProblem, ownHostClaims } from "../../lib/protocol/host-claims";

describe("claims that the host adds (RFC 9068 §2.2.3, 7519 §4.3)", () => {
  // the text of the rest, {"a":""}, has 8 bytes
  it.each([
    ["4,096 bytes", "x".repeat(4_088), undefined],
    ["4,097 bytes", "x".repeat(4_089), "claims must not be larger than 4096 bytes as JSON"],
    [
      "fewer characters, but more bytes",
      "ä".repeat(2_045),
      "claims must not be larger than 4096 bytes as JSON",
    ],
  ])("may have 4,096 bytes as JSON: %s", (_, a, problem) => {
    expect(hostClaimsProblem({ a })).toBe(problem);
  });

  it.each(["sub", "scope", "cnf", "authorization_id"])(
    "may not be %s, which only the server sets",
    (name) => {
      expect(hostClaimsProblem({ [name]: "x" })).toBe(
        `claims.${name} is a claim that only the server may set (docs/tokens.md lists them)`,
      );
    },
  );

  it.each(["roles", "groups", "entitlements"])("%s are lists of names (RFC 9068 §2.2.3.1)", (name) => {
    const problem = `claims.${name} must be a list of at most 100 texts of 1 to 255 characters (RFC 9068 §2.2.3.1)`;
    const many = Array.from({ length: 100 }, (_, index) => `role ${index}`);
    for (const right of [[], ["admin"], many, ["ä".repeat(255)]])
      expect(hostClaimsProblem({ [name]: right })).toBeUndefined();
    for (const wrong of [
      "admin",
      null,
      5,
      {},
      [""],
      [5],
      [{ value: "admin" }],
      [...many, "one"],
      ["x".repeat(256)],
    ])
      expect(hostClaimsProblem({ [name]: wrong })).toBe(problem);
  });

  it.each([
    ["nothing", undefined],
    ["an empty object", {}],
  ])("are left out of the token when storage has %s", (_, stored) => {
    expect(ownHostClaims(stored)).toBeUndefined();
  });

  it("are copies that nobody can change, not what storage keeps", () => {
    const stored = { org: { id: "acme" } };
    const own = ownHostClaims(stored) as typeof stored;
    expect(own).toEqual(stored);
    expect(own.org).not.toBe(stored.org);
    expect(Object.isFrozen(own.org)).toBe(true);
  });
});
