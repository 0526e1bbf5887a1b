/** The rules of OpenID Connect without a server. OpenID Connect Core §2, §5.1, §5.4. */
import {
  idTokenClaims,
  identityClaimsProblem,
  isIdTokenSubject,
  isSignIn,
  openedClaims,
  withoutPeople,
} from "../../lib/protocol/openid";
import { authorizationRecord, issuerRecord } from "../records/records";

const openid = {
  claims: { openid: [], email: ["email", "email_verified"], __proto__x: ["x"] },
  idTokenAlgorithm: "RS256",
  audiences: [],
};

describe("the scope of a sign-in (OpenID Connect Core §3.1.2.1)", () => {
  it("is openid, at an API with openid", () => {
    expect([isSignIn({ openid }, "openid"), isSignIn({ openid }, "email"), isSignIn({}, "openid")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe("the subject of an ID token (OpenID Connect Core §2)", () => {
  it.each<[string, boolean]>([
    ["alice", true],
    ["a b~", true],
    ["x".repeat(255), true],
    ["x".repeat(256), false],
    ["", false],
    ["éa", false],
    ["aé", false],
    ["a\n", false],
    ["\u007f", false],
  ])("may be %j: %j", (subject, isOne) => {
    expect(isIdTokenSubject(subject)).toBe(isOne);
  });
});

/** An object of so many bytes as JSON. */
const sized = (bytes: number) => ({ x: "é".repeat((bytes - 8) / 2) });

describe("claims about a person (OpenID Connect Core §5.1, §5.4)", () => {
  const email = { email: "a@example.org", email_verified: false };

  it("are those that the scopes open", () => {
    const claims = { ...email, name: "Alice", x: 1 };
    expect(openedClaims(claims, { scopes: ["openid", "email"], openid })).toEqual(email);
    expect(openedClaims(claims, { scopes: ["constructor", "toString"], openid })).toEqual({});
  });

  it("have 4,096 bytes as JSON at most", () => {
    expect(identityClaimsProblem(sized(4_096))).toBeUndefined();
    expect(identityClaimsProblem(sized(4_098))).toBe("the claims must not be larger than 4096 bytes as JSON");
  });

  it.each([
    ["__proto__", JSON.parse('{"__proto__":1}') as object],
    ["iss", { iss: "x" }],
    ["act", { act: {} }],
  ])("are not %s, which the server states", (name, claims) => {
    expect(identityClaimsProblem(claims as Record<string, unknown>)).toBe(
      `${name} is a claim that only the server may set`,
    );
  });

  it("may have any name that no standard takes", () => {
    expect(
      identityClaimsProblem({ constructor: 1, groups: ["a"], picture: "https://a.example/" }),
    ).toBeUndefined();
  });
});

describe("the payload of an ID token (OpenID Connect Core §2)", () => {
  it("has what is known of the sign-in, as JSON", () => {
    const authorization = authorizationRecord({ authTime: 5, acr: "gold", amr: ["pwd"] });
    const { issuer: iss, subject: sub, clientId: aud } = authorization;
    const life = { issuedAt: 10, expiresAt: 20 };
    const payload = idTokenClaims({ authorization, ...life, nonce: "n", claims: { name: "Alice" } });
    const always = { iss, sub, aud, iat: 10, exp: 20 };
    expect(payload).toEqual({
      ...always,
      auth_time: 5,
      acr: "gold",
      amr: ["pwd"],
      nonce: "n",
      name: "Alice",
    });
    const least = idTokenClaims({
      authorization: authorizationRecord(),
      ...life,
      nonce: undefined,
      claims: {},
    });
    expect(JSON.parse(JSON.stringify(least))).toEqual(always);
  });
});

describe("an issuer as a client sees it that acts for itself (RFC 6749 §4.4)", () => {
  it("has the scopes of the API alone, with their sentences", () => {
    const issuer = issuerRecord({ scopes: { openid: "a", email: "b", read: "Read" }, openid });
    expect(withoutPeople(issuer).api.scopes).toEqual({ read: "Read" });
    const plain = issuerRecord();
    expect(withoutPeople(plain)).toBe(plain);
  });
});
