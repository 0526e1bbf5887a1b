import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import {
  assertionAlgorithms,
  claimsProblem,
  type ClientAssertion,
  type ExpectedClaims,
  parseClientAssertion,
  usedAssertion,
} from "../../lib/protocol/client-assertion";
import { issuer } from "../hosts/apis";
import { type AssertionChanges, assertionOf, part } from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { issuerRecord } from "../records/records";

const clock = stopClockForEachTest();

function read(assertion: string): ClientAssertion {
  const parsed = parseClientAssertion(assertion);
  if (parsed.kind === "unreadable") throw new Error(parsed.problem);
  return parsed;
}

/** Why the text is refused before anybody looks at the client. */
function unreadable(text: string): string | undefined {
  const parsed = parseClientAssertion(text);
  return parsed.kind === "unreadable" ? parsed.problem : undefined;
}

const unreadableBy = (changes: AssertionChanges): string | undefined => unreadable(assertionOf(changes));

/** Why the claims are refused, at a server of the issuer `password` and `orders`. */
function problem(claims: object, expected: Partial<ExpectedClaims> = {}): string | undefined {
  return claimsProblem(read(assertionOf({ claims })).claims, {
    issuer: issuerRecord(),
    clientId: "keyed",
    allowTokenEndpointAudience: false,
    now: clock.now(),
    ...expected,
  });
}

describe("the issuer of an assertion is the client (RFC 7523 §3)", () => {
  it("takes the client id", () => {
    expect(problem({})).toBeUndefined();
  });

  it.each(["other", "Keyed", "keyed ", issuer])("refuses iss %s", (iss) => {
    expect(problem({ iss })).toBe("assertion-iss-or-sub-wrong");
  });

  it.each([[undefined], [5], [null], [["keyed"]], [{ keyed: true }], [true]])("refuses iss %p", (iss) => {
    expect(unreadableBy({ claims: { iss } })).toBe("assertion-iss-or-sub-wrong");
  });
});

describe("the subject of an assertion is the client (RFC 7523 §3, 7521 §4.2)", () => {
  it("refuses another one", () => {
    expect(problem({ sub: "other" })).toBe("assertion-iss-or-sub-wrong");
    expect(problem({ sub: "other", iss: "other" })).toBe("assertion-iss-or-sub-wrong");
  });

  it.each([[undefined], [5], [null], [["keyed"]]])("refuses sub %p", (sub) => {
    expect(unreadableBy({ claims: { sub } })).toBe("assertion-iss-or-sub-wrong");
  });
});

describe("the audience of an assertion is this issuer alone (RFC 7523 §3)", () => {
  it.each([[issuer], [[issuer]]])("takes %p", (aud) => {
    expect(problem({ aud })).toBeUndefined();
  });

  it.each([
    `${issuer}/`,
    `${issuer}/revoke`,
    `${issuer}/introspect`,
    issuer.toUpperCase(),
    issuer.replace("password", "otp"),
    issuer.replace("orders", "reports"),
    "https://host.example",
    "https://host.example/login",
    "https://other.example/login/auth/password/api/orders",
    "https://api.example/orders",
    "keyed",
    "",
  ])("refuses %s", (aud) => {
    expect(problem({ aud })).toBe("assertion-aud-wrong");
    expect(problem({ aud }, { allowTokenEndpointAudience: true })).toBeDefined();
  });

  it.each([[undefined], [[]], [5], [null], [[5]], [[[issuer]]], [{ 0: issuer }], [[issuer, issuer]]])(
    "refuses %p",
    (aud) => {
      expect(unreadableBy({ claims: { aud } })).toBe("assertion-aud-not-one-text");
    },
  );

  it.each([
    [issuer, "https://other.example"],
    ["https://other.example", issuer],
    [issuer, `${issuer}/token`],
  ])("refuses a list of two: %s and %s", (...aud) => {
    expect(unreadableBy({ claims: { aud } })).toBe("assertion-aud-not-one-text");
  });

  it.each([[`${issuer}/token`], [[`${issuer}/token`]]])("takes %p only if the client may send it", (aud) => {
    expect(problem({ aud })).toBe("assertion-aud-token-endpoint");
    expect(problem({ aud }, { allowTokenEndpointAudience: true })).toBeUndefined();
  });
});

describe("the audience is text where the API has assertionAudience (FAPI 2.0 Security Profile §5.3.2.1)", () => {
  const strict = issuerRecord({ assertionAudience: "text" });

  it.each<[string, unknown, boolean, string | undefined]>([
    ["the issuer", strict.identifier, false, undefined],
    ["a list with the issuer", [strict.identifier], false, "assertion-aud-in-list"],
    ["the token endpoint", `${strict.identifier}/token`, true, "assertion-aud-token-endpoint"],
  ])("%s", (_, aud, allowTokenEndpointAudience, expected) => {
    expect(problem({ aud }, { issuer: strict, allowTokenEndpointAudience })).toBe(expected);
  });
});

describe("an assertion expires (RFC 7523 §3)", () => {
  it.each([1, 60, 300, 0, -29])("is taken when exp is %i seconds ahead", (seconds) => {
    expect(problem({ exp: clock.now() + seconds, iat: undefined })).toBeUndefined();
  });

  it.each([-30, -31, -1e9])(
    "is refused when exp is %i seconds ahead, beyond the difference of clocks",
    (seconds) => {
      expect(problem({ exp: clock.now() + seconds, iat: undefined })).toBe("assertion-expired");
    },
  );

  it.each([[undefined], ["2000000000"], [null], [true], [[2_000_000_000]]])(
    "is refused with exp %p",
    (exp) => {
      expect(unreadableBy({ claims: { exp } })).toBe("assertion-exp-malformed");
    },
  );

  it("is refused when exp is too large for a number", () => {
    const text = assertionOf({ claims: { exp: 1 } });
    const [header, , signature] = text.split(".");
    const claims = `{"iss":"keyed","sub":"keyed","aud":"${issuer}","jti":"a","exp":1e999}`;
    expect(unreadable(`${header}.${part(claims)}.${signature}`)).toBe("assertion-exp-malformed");
  });
});

describe("an assertion lives for five minutes at most (RFC 7523 §3)", () => {
  it("may end five minutes and the difference of clocks from now", () => {
    expect(problem({ exp: clock.now() + 330, iat: undefined })).toBeUndefined();
    expect(problem({ exp: clock.now() + 331, iat: undefined })).toBe("assertion-lives-too-long");
  });

  it.each([100, 3_300, 1e9])(
    "is taken for five minutes from its iat, with exp %i seconds ahead",
    (seconds) => {
      const exp = clock.now() + seconds;
      expect(problem({ exp, iat: clock.now() - 329 })).toBeUndefined();
      expect(problem({ exp, iat: clock.now() - 330 })).toBe("assertion-too-old");
    },
  );

  it("is refused from its exp on, if that comes before five minutes from its iat", () => {
    expect(problem({ exp: clock.now() - 29, iat: clock.now() - 60 })).toBeUndefined();
    expect(problem({ exp: clock.now() - 30, iat: clock.now() - 60 })).toBe("assertion-expired");
  });

  it.each(["iat", "nbf"])("is refused when %s is in the future, beyond the difference of clocks", (name) => {
    expect(problem({ [name]: clock.now() + 30 })).toBeUndefined();
    expect(problem({ [name]: clock.now() + 31 })).toBe("assertion-from-the-future");
  });

  it("needs neither iat nor nbf", () => {
    expect(problem({ iat: undefined, nbf: undefined })).toBeUndefined();
  });

  it.each([
    ["iat", null],
    ["iat", "1800000000"],
    ["nbf", null],
    ["nbf", [1]],
  ])("is refused with %s %p", (name, value) => {
    expect(unreadableBy({ claims: { [name]: value } })).toBe("assertion-times-malformed");
  });
});

describe("jti is needed, and bounded (RFC 7523 §3, 7519 §4.1.7)", () => {
  it.each(["a", "é🔑", "x".repeat(255), "\ud800", "__proto__"])("takes one text: %p", (jti) => {
    expect(read(assertionOf({ claims: { jti } })).claims.jti).toBe(jti);
  });

  it.each([[undefined], [""], ["x".repeat(256)], [5], [null], [["a"]]])("refuses %p", (jti) => {
    expect(unreadableBy({ claims: { jti } })).toBe("assertion-jti-malformed");
  });
});

function digestOf(sub: string, jti: string): string {
  return usedAssertion(read(assertionOf({ claims: { sub, jti } })).claims).digest;
}

describe("what is stored of a used assertion (RFC 7523 §3)", () => {
  it("stands for the client and its jti together", () => {
    expect(digestOf("keyed", "a")).toBe(digestOf("keyed", "a"));
    const digests = [
      ["keyed", "a"],
      ["other", "a"],
      ["keyed", "b"],
      ["keyeda", "b"],
      ["keyed", "ab"],
      ['keyed","a', "b"],
      ["keyed", 'a","b'],
    ].map(([sub = "", jti = ""]) => digestOf(sub, jti));
    expect(new Set(digests).size).toBe(digests.length);
    for (const digest of digests) expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it.each([60, 60.5, 330, -29])(
    "is kept until the assertion is refused, with exp %d seconds ahead",
    (seconds) => {
      const claims = { exp: clock.now() + seconds, iat: undefined };
      const { expiresAt } = usedAssertion(read(assertionOf({ claims })).claims);
      expect(Number.isSafeInteger(expiresAt)).toBe(true);
      expect(problem(claims, { now: expiresAt })).toBe("assertion-expired");
      expect(problem(claims, { now: expiresAt - 1 })).toBeUndefined();
    },
  );

  it.each([3_600, 3_600.5, 1e12])(
    "is kept for as long as its iat lets it count, with a life of %d seconds",
    (life) => {
      const iat = clock.now() - 0.25;
      const claims = { exp: iat + life, iat };
      const { expiresAt } = usedAssertion(read(assertionOf({ claims })).claims);
      expect(expiresAt).toBe(clock.now() + 330);
      expect(problem(claims, { now: expiresAt })).toBe("assertion-too-old");
      expect(problem(claims, { now: expiresAt - 1 })).toBeUndefined();
    },
  );
});

describe("the type of an assertion (RFC 7515 §4.1.9, 8725 §3.11, 7523 §3)", () => {
  it.each([
    [undefined],
    ["JWT"],
    ["jwt"],
    ["application/jwt"],
    ["client-authentication+jwt"],
    ["Client-Authentication+JWT"],
    ["application/client-authentication+jwt"],
  ])("takes %p", (typ) => {
    expect(unreadableBy({ header: { typ } })).toBeUndefined();
  });

  it.each([["at+jwt"], ["dpop+jwt"], [""], ["application/"], ["text/jwt"], ["jwt "], [null], [5], [["JWT"]]])(
    "refuses %p",
    (typ) => {
      expect(unreadableBy({ header: { typ } })).toBe("assertion-typ-wrong");
    },
  );
});

describe("the header of an assertion (RFC 7515 §4.1, 7523 §5)", () => {
  it.each(assertionAlgorithms)("takes alg %s", (alg) => {
    expect(read(assertionOf({ alg })).algorithm).toBe(alg);
  });

  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  it.each([
    ["none"],
    ["HS256"],
    ["ES384"],
    ["ES256K"],
    ["RS1"],
    ["es256"],
    [undefined],
    [null],
    [["ES256"]],
    [{}],
  ])("refuses alg %p", (alg) => {
    expect(unreadableBy({ header: { alg }, key })).toBe("assertion-alg-unsupported");
  });

  it.each([[["exp"]], [[]], [null], [["b64"]]])("refuses crit %p", (crit) => {
    expect(unreadableBy({ header: { crit } })).toBe("assertion-with-crit");
  });

  it.each([[5], [null], [["ec"]], [{ kid: "ec" }], [true]])("refuses kid %p", (kid) => {
    expect(unreadableBy({ header: { kid } })).toBe("assertion-kid-not-text");
  });
});

describe("the form of an assertion (RFC 7515 §7.1, 7519 §4, §7.2)", () => {
  const notJwt = "assertion-not-a-jwt";
  const [header = "", claims = "", signature = ""] = assertionOf().split(".");

  it.each([
    ["nothing", ""],
    ["one word", "assertion"],
    ["two parts", `${header}.${claims}`],
    ["four parts", `${header}.${claims}.${signature}.${signature}`],
    ["five parts, as if encrypted", `${header}.${claims}.${signature}.${signature}.${signature}`],
    ["an empty header", `.${claims}.${signature}`],
    ["padding", `${header}.${claims}.${signature}==`],
    ["a line feed", `${header}.${claims}.${signature}\n`],
    ["base64 instead of base64url", `${header}.${claims}.${signature.slice(0, -2)}+/`],
    ["bits that nobody needs", `${header}.${claims}.${signature.slice(0, -1)}B`],
    ["claims that are a list", `${header}.${part([])}.${signature}`],
    ["claims that are null", `${header}.${part("null")}.${signature}`],
    ["claims that are text", `${header}.${part('"keyed"')}.${signature}`],
    ["claims that are no JSON", `${header}.${part("{iss:'keyed'}")}.${signature}`],
    ["a header that is a list", `${part([{ alg: "ES256" }])}.${claims}.${signature}`],
    ["claims behind a byte order mark", `${header}.${part("\ufeff{}")}.${signature}`],
    [
      "claims that are not UTF-8",
      `${header}.${Buffer.from('{"a":"ÿ"}', "latin1").toString("base64url")}.${signature}`,
    ],
  ])("refuses %s", (_, text) => {
    expect(unreadable(text)).toBe(notJwt);
  });

  it("takes the last of two claims with one name, as every reader of it does here", () => {
    const now = clock.now();
    const twice = `{"iss":"other","iss":"keyed","sub":"keyed","aud":"${issuer}","jti":"a","exp":${now + 9}}`;
    expect(read(`${header}.${part(twice)}.${signature}`).claims.iss).toBe("keyed");
  });

  it("is read into its parts: what is signed is the text before the signature", () => {
    const changes = { jti: "a", exp: clock.now() + 60, iat: undefined };
    const text = assertionOf({ header: { kid: "ec" }, claims: changes });
    const dot = text.lastIndexOf(".");
    expect(read(text)).toEqual({
      kind: "assertion",
      algorithm: "ES256",
      keyId: "ec",
      claims: { iss: "keyed", sub: "keyed", aud: issuer, isAudList: false, nbf: undefined, ...changes },
      signed: text.slice(0, dot),
      signature: Buffer.from(text.slice(dot + 1), "base64url"),
    });
  });

  it("reads 8,192 characters", () => {
    expect(unreadable("x".repeat(8_192))).toBe(notJwt);
    expect(unreadable("x".repeat(8_193))).toBe("assertion-too-long");
  });

  it("refuses more than 8,192 characters before it reads them", () => {
    const long = assertionOf({ claims: { padding: "x".repeat(8_192) } });
    expect(unreadable(long)).toBe("assertion-too-long");
  });

  it("never throws, whatever is in the parts", () => {
    const content = fc.oneof(fc.json(), fc.string({ unit: "binary" }), fc.constant('{"alg":"ES256"}'));
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 4 }), (parts) => {
        expect(parseClientAssertion(parts.map(part).join("."))).toHaveProperty("kind");
        expect(parseClientAssertion(parts.join(".")).kind).toBe("unreadable");
      }),
    );
  });

  it("reads JSON as deep as the longest assertion can be", () => {
    const deep = `${"[".repeat(2_900)}${"]".repeat(2_900)}`;
    expect(unreadable(`${header}.${part(`{"a":${deep}}`)}.${signature}`)).toBe("assertion-iss-or-sub-wrong");
    expect(unreadable(`${header}.${part(`{"iss":${deep}}`)}.${signature}`)).toBe(
      "assertion-iss-or-sub-wrong",
    );
  });
});
