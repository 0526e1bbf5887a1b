// The attacker has a stolen access token, and bends DPoP proofs: those of the client, and others that are signed with keys of the attacker.
// Every part is cut, doubled, written otherwise or of another type. Each is refused by the rule that it breaks, and nothing is thrown.
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import { verifyProof } from "../../lib/clients/verify-proof";
import { type ExpectedProof, proofAlgorithms, type ProofProblem } from "../../lib/protocol/dpop-proof";
import { stopClockForEachTest } from "../hosts/clock";
import { jwkOf, part } from "../requests/client-assertions";
import { hashOf, proofKeys, proofOf, type ProofChanges } from "../requests/dpop-proofs";
import {
  asymmetric,
  attackersKeys,
  meaningless,
  publicTexts,
  rewritings,
  signAs,
  symmetric,
} from "./jwt-algorithms";

const clock = stopClockForEachTest();

const token = "an.access.token";
const url = "https://api.example/orders/7";

function expected(changes: Partial<ExpectedProof> = {}): ExpectedProof {
  return { method: "POST", url, now: clock.now(), accessToken: token, ...changes };
}

/** A good proof for the request that is expected, unless something is changed. */
function proof(changes: ProofChanges = {}): string {
  return proofOf({ method: "POST", url, token, ...changes });
}

/** The rule that a text breaks, or `proven`. */
function codeOf(text: string, request: Partial<ExpectedProof> = {}): string {
  const verdict = verifyProof([text], expected(request));
  return verdict.kind === "invalid" ? verdict.code : verdict.kind;
}

type Bent = readonly (readonly [what: string, changes: ProofChanges])[];

/** A name for any value. */
function nameOf(value: unknown): string {
  return value === undefined ? "left out" : JSON.stringify(value).slice(0, 60);
}

/** The same claim with each of these values. */
function claimed(name: string, values: readonly unknown[]): Bent {
  return values.map((value) => [`${name} ${nameOf(value)}`, { claims: { [name]: value } }]);
}

/** The same member of the header with each of these values. */
function headed(name: string, values: readonly unknown[]): Bent {
  return values.map((value) => [`${name} ${nameOf(value)}`, { header: { [name]: value } }]);
}

function expectRefused(bent: Bent, code: ProofProblem): void {
  const found = bent.map(([what, changes]) => [what, codeOf(proof(changes))]);
  expect(found).toEqual(bent.map(([what]) => [what, code]));
}

describe("good DPoP proofs (RFC 9449 §4.3)", () => {
  it.each(proofAlgorithms)("of %s pass", (alg) => {
    expect(codeOf(proof({ alg }))).toBe("proven");
  });

  it.each(proofAlgorithms)("of %s that jose has made pass", async (alg) => {
    const key = proofKeys[alg];
    const made = await new SignJWT({ htm: "POST", htu: url, ath: hashOf(token) })
      .setProtectedHeader({ typ: "dpop+jwt", alg, jwk: jwkOf(createPublicKey(key)) })
      .setJti("one")
      .setIssuedAt(clock.now())
      .sign(key);
    expect(codeOf(made)).toBe("proven");
  });

  it("pass with what is not looked at", () => {
    const header = { kid: "mine", jku: "https://evil.example/jwks", x5c: ["MIIB"] };
    expect(codeOf(proof({ header, claims: { nonce: "n", nbf: "soon", custom: {} } }))).toBe("proven");
  });

  it("need no ath without an access token", () => {
    expect(
      verifyProof([proofOf({ method: "POST", url })], { method: "POST", url, now: clock.now() }),
    ).toMatchObject({
      kind: "proven",
    });
  });
});

describe("the header of a bent proof (RFC 9449 §4.2, §4.3)", () => {
  it("has another typ", () => {
    const others = [
      "JWT",
      "jwt",
      "at+jwt",
      "DPoP+JWT",
      "dpop+jwt ",
      " dpop+jwt",
      "application/dpop+jwt",
      "dpop",
      "",
    ];
    const values = [undefined, null, 1, {}, ["dpop+jwt"], ...others];
    expectRefused(headed("typ", values), "proof-typ-wrong");
  });

  it("has an alg that means nothing", () => {
    expectRefused(headed("alg", [undefined, ...meaningless]), "proof-alg-unsupported");
  });

  it("has an alg that is not taken, be it signed with it", () => {
    const known: readonly string[] = proofAlgorithms;
    const others = asymmetric.filter((alg) => !known.includes(alg));
    const bent = others.map((alg) => {
      const key = attackersKeys[alg] as KeyObject;
      const text = [{ typ: "dpop+jwt", alg, jwk: jwkOf(createPublicKey(key)) }, {}].map(part).join(".");
      return [alg, codeOf(`${text}.${signAs(alg, key)(text).toString("base64url")}`)];
    });
    expect(bent).toEqual(others.map((alg) => [alg, "proof-alg-unsupported"]));
  });

  it("has an alg whose secret is the public key", () => {
    for (const alg of symmetric)
      for (const secret of Object.values(publicTexts(proofKeys.ES256))) {
        const text = [{ typ: "dpop+jwt", alg, jwk: jwkOf(createPublicKey(proofKeys.ES256)) }, {}]
          .map(part)
          .join(".");
        const signed = `${text}.${signAs(alg, secret)(text).toString("base64url")}`;
        expect(codeOf(signed)).toBe("proof-alg-unsupported");
      }
  });

  it("has crit", () => {
    expectRefused(headed("crit", [[], ["exp"], ["b64"], null, "exp", {}]), "proof-with-crit");
  });
});

function ec(namedCurve: string): object {
  return generateKeyPairSync("ec", { namedCurve }).publicKey.export({ format: "jwk" });
}

function rsa(modulusLength: number): object {
  return generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
}

/** An odd number of so many bits. */
function big(bits: number): string {
  const bytes = [Buffer.from([128]), Buffer.alloc(bits / 8 - 2, 7), Buffer.from([1])];
  return Buffer.concat(bytes).toString("base64url");
}

describe("the key of a bent proof (RFC 9449 §4.3, 7517 §4, 7518 §6)", () => {
  const own = jwkOf(createPublicKey(proofKeys.ES256));
  const { x, y } = own as unknown as { x: string; y: string };

  it("is none", () => {
    const none = [
      undefined,
      null,
      "",
      "key",
      1,
      true,
      [],
      {},
      [own],
      { keys: [own] },
      { kty: 1 },
      { kty: "EC" },
    ];
    expectRefused(headed("jwk", none), "proof-key-unusable");
  });

  it("is of another kind than alg", () => {
    const others = [
      ec("P-384"),
      ec("P-521"),
      ec("secp256k1"),
      rsa(2048),
      jwkOf(createPublicKey(proofKeys.EdDSA)),
    ];
    expectRefused(headed("jwk", others), "proof-key-unusable");
    const ed448 = generateKeyPairSync("ed448").publicKey.export({ format: "jwk" });
    for (const alg of ["EdDSA", "Ed25519"])
      for (const jwk of [ed448, own, generateKeyPairSync("x25519").publicKey.export({ format: "jwk" })])
        expect([alg, jwk, codeOf(proof({ alg, header: { jwk } }))]).toEqual([alg, jwk, "proof-key-unusable"]);
  });

  it("is not on its curve, or not written as a key", () => {
    const bent = [
      { ...own, x: y, y: x },
      { ...own, x: "" },
      { ...own, x: undefined },
      { ...own, y: undefined },
      { ...own, y: x },
      { ...own, x: Buffer.alloc(32).toString("base64url"), y: Buffer.alloc(32).toString("base64url") },
      { ...own, x: 1 },
      { ...own, crv: "p-256" },
      { ...own, crv: "P-384" },
      { ...own, crv: undefined },
      { ...own, kty: "ec" },
      { ...own, kty: "RSA" },
      { ...own, kty: "oct" },
      { ...own, kty: "__proto__" },
    ];
    expectRefused(headed("jwk", bent), "proof-key-unusable");
  });

  it("is meant for something else", () => {
    const bent = [
      { ...own, use: "enc" },
      { ...own, key_ops: ["sign"] },
      { ...own, key_ops: [] },
      { ...own, key_ops: "verify" },
      { ...own, alg: "ES384" },
      { ...own, alg: "ECDH-ES" },
    ];
    expectRefused(headed("jwk", bent), "proof-key-unusable");
  });

  it("has a private part", () => {
    const names = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];
    const bent = [...names.map((name) => ({ ...own, [name]: "AQAB" })), { kty: "oct", k: "c2VjcmV0" }];
    expectRefused(headed("jwk", bent), "proof-key-private");
    for (const alg of proofAlgorithms)
      expect(codeOf(proof({ alg, header: { jwk: proofKeys[alg].export({ format: "jwk" }) } }))).toBe(
        "proof-key-private",
      );
  });

  it("is an RSA key that is weak, huge, or has an odd exponent", () => {
    const { n } = jwkOf(createPublicKey(proofKeys.PS256)) as unknown as { n: string };
    const bent = [
      rsa(1024),
      { kty: "RSA", n: big(8_200), e: "AQAB" },
      { kty: "RSA", n: big(16_384), e: "AQAB" },
      { kty: "RSA", n, e: "AQ" },
      { kty: "RSA", n, e: "Ag" },
      { kty: "RSA", n, e: "" },
      { kty: "RSA", n, e: big(2_048) },
      { kty: "RSA", n: "", e: "AQAB" },
      { kty: "RSA", n: "AQ", e: "AQAB" },
      { kty: "RSA", e: "AQAB" },
      { kty: "RSA", n },
    ];
    for (const jwk of bent)
      expect([nameOf(jwk), codeOf(proof({ alg: "PS256", header: { jwk } }))]).toEqual([
        nameOf(jwk),
        "proof-key-unusable",
      ]);
  });

  it("is the client's, and somebody else has signed", () => {
    for (const alg of proofAlgorithms) {
      const jwk = jwkOf(createPublicKey(proofKeys[alg]));
      const key = alg.startsWith("Ed")
        ? generateKeyPairSync("ed25519").privateKey
        : (attackersKeys[alg] as KeyObject);
      expect([alg, codeOf(proof({ alg, header: { jwk }, key }))]).toEqual([alg, "proof-signature-wrong"]);
    }
  });

  it("signs with another algorithm than the header says", () => {
    const text = proof({ alg: "PS256" }).split(".").slice(0, 2).join(".");
    for (const alg of ["RS256", "PS384", "PS512"]) {
      const signature = signAs(alg, proofKeys.PS256)(text).toString("base64url");
      expect([alg, codeOf(`${text}.${signature}`)]).toEqual([alg, "proof-signature-wrong"]);
    }
  });
});

describe("the claims of a bent proof (RFC 9449 §4.2, §4.3)", () => {
  it("have another jti", () => {
    const values = [undefined, null, "", 1, true, {}, ["id"], "x".repeat(256)];
    expectRefused(claimed("jti", values), "proof-jti-malformed");
    expect(codeOf(proof({ claims: { jti: "x".repeat(255) } }))).toBe("proven");
  });

  it("have another method", () => {
    const values: readonly unknown[] = [
      undefined,
      null,
      "",
      "GET",
      "post",
      "Post",
      "POST ",
      "POSTS",
      1,
      {},
      ["POST"],
      { toString: "x" },
    ];
    expectRefused(claimed("htm", values), "proof-htm-wrong");
  });

  it("have another URL", () => {
    const notText: readonly unknown[] = [undefined, null, 1, {}, [url], { toString: "x" }];
    const others = [
      "",
      "/orders/7",
      "//api.example/orders/7",
      "api.example/orders/7",
      "http://api.example/orders/7",
      "https://api.example:8443/orders/7",
      "https://api.example.evil.example/orders/7",
      "https://evil.example/orders/7",
      "https://api.example./orders/7",
      "https://user@api.example/orders/7",
      "https://user:password@api.example/orders/7",
      "https://api.example@evil.example/orders/7",
      "https://evil.example?https://api.example/orders/7",
      "https://api.example",
      "https://api.example/",
      "https://api.example/orders",
      "https://api.example/orders/",
      "https://api.example/orders/7/",
      "https://api.example/orders/70",
      "https://api.example/orders/8",
      "https://api.example/Orders/7",
      "https://api.example/orders//7",
      "https://api.example//orders/7",
      "https://api.example/orders%2F7",
      "https://api.example/orders%2f7",
      "https://api.example/orders%252F7",
      "https://api.example/orders/7%20",
      "https://api.example/orders/7;v=1",
      "https://api.example/orders/../7",
      "https://api.example/orders/7/..",
      "wss://api.example/orders/7",
      "javascript:https://api.example/orders/7",
      "https://",
      "https://[",
      "not a URL",
    ];
    expectRefused(claimed("htu", [...notText, ...others]), "proof-htu-wrong");
  });

  it("may write the URL in another way (RFC 3986 §6.2.2, §6.2.3)", () => {
    const same = [
      "HTTPS://API.EXAMPLE/orders/7",
      "https://api.example:443/orders/7",
      "https://api.example/orders/7?a=b",
      "https://api.example/orders/7#top",
      "https://api.example/orders/7?",
      "https://api.example/%6Frders/%37",
      "https://api.example/%6frders/7",
      "https://api.example/./orders/7",
      "https://api.example/x/../orders/7",
      "https://api.example/x/%2E%2e/orders/7",
    ];
    expect(same.map((htu) => codeOf(proof({ claims: { htu } })))).toEqual(same.map(() => "proven"));
  });

  it("never have a slash for %2F, on either side", () => {
    const [slash, encoded] = ["https://api.example/a/b", "https://api.example/a%2Fb"];
    const lower = "https://api.example/a%2fb";
    expect(codeOf(proof({ url: encoded }), { url: slash })).toBe("proof-htu-wrong");
    expect(codeOf(proof({ url: slash }), { url: encoded })).toBe("proof-htu-wrong");
    expect(codeOf(proof({ url: lower }), { url: encoded })).toBe("proven");
  });

  it("fit no request whose URL is none", () => {
    for (const htu of ["not a URL", "", undefined])
      expect(codeOf(proof({ claims: { htu } }), { url: "not a URL" })).toBe("proof-htu-wrong");
  });

  it("have a time that is none", () => {
    expectRefused(claimed("iat", [undefined, null, "1800000000", true, {}, [1], ""]), "proof-iat-malformed");
  });

  it("are too old, or from the future", () => {
    const at = (difference: number): string => codeOf(proof({ claims: { iat: clock.now() + difference } }));
    for (const late of [-61, -60.5, -3_600, -Number.MAX_VALUE])
      expect([late, at(late)]).toEqual([late, "proof-too-old"]);
    for (const early of [31, 30.5, 3_600, clock.now() * 999])
      expect([early, at(early)]).toEqual([early, "proof-from-the-future"]);
    for (const good of [-60, -59.5, 0, 0.5, 30]) expect([good, at(good)]).toEqual([good, "proven"]);
    const header = proof().split(".")[0];
    const endless = part(`{"jti":"a","htm":"POST","htu":"${url}","iat":1e999}`);
    expect(codeOf(`${header}.${endless}.AAAA`)).toBe("proof-from-the-future");
  });

  it("are for another access token", () => {
    const hash = hashOf(token);
    const values: readonly unknown[] = [
      undefined,
      null,
      "",
      token,
      `${hash}=`,
      hash.slice(1),
      hash.toLowerCase(),
      hashOf("another"),
      1,
      {},
      [hash],
    ];
    expectRefused(claimed("ath", values), "proof-ath-wrong");
  });
});

describe("the text of a bent proof (RFC 7515 §5.2, 9449 §4.3)", () => {
  const formal: readonly string[] = ["proof-not-a-jwt", "proof-too-long", "proof-signature-wrong"];

  it("is written otherwise by somebody without the key", () => {
    const good = proof();
    for (const [name, text] of Object.entries(rewritings(good))) {
      const code = codeOf(text);
      // some of these change what the header or the claims say
      const isRefused = formal.includes(code) || code.startsWith("proof-");
      expect([name, isRefused && code !== "proven"]).toEqual([name, true]);
    }
    expect(codeOf(good)).toBe("proven");
  });

  it("is none of a JWT", () => {
    const [header = "", claims = "", signature = ""] = proof().split(".");
    const texts = [
      "",
      " ",
      ".",
      "..",
      "...",
      "a.b.c",
      "null",
      `${header}.${claims}.${signature}, ${header}.${claims}.${signature}`,
      `"${header}.${claims}.${signature}"`,
      ` ${header}.${claims}.${signature}`,
      `${header}.${claims}.${signature} `,
      `DPoP ${header}.${claims}.${signature}`,
      `${part("[]")}.${claims}.${signature}`,
      `${part("null")}.${claims}.${signature}`,
      `${header}.${part('"text"')}.${signature}`,
      `${header}.${part("{")}.${signature}`,
      `${header}.${part("\uFEFF{}")}.${signature}`,
      `${header}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("base64url")}.${signature}`,
    ];
    expect(texts.map((text) => [text, codeOf(text)])).toEqual(texts.map((text) => [text, "proof-not-a-jwt"]));
  });

  it("is longer than 8 KB", () => {
    const long = (length: number): string => codeOf(proof({ claims: { pad: "x".repeat(length) } }));
    expect(long(5_000)).toBe("proven");
    expect([long(6_200), codeOf("x".repeat(100_000))]).toEqual(["proof-too-long", "proof-too-long"]);
  });

  it("comes twice", () => {
    const verdict = verifyProof([proof(), proof()], expected());
    expect(verdict).toMatchObject({ kind: "invalid", code: "proof-several-headers" });
  });
});

describe("the reason of a refusal", () => {
  it("names both URLs, without query and user, in visible ASCII", () => {
    const htu = "https://user:secret@api.example/ö\n\u0000?code=secret#secret";
    const verdict = verifyProof([proof({ claims: { htu } })], expected({ url: `${url}?token=secret` }));
    if (verdict.kind !== "invalid") throw new Error(verdict.kind);
    expect(verdict.reason).toContain('htu of the proof is "https://...@api.example/\\u00f6\\n\\u0000?..."');
    expect(verdict.reason).toContain(`the request is for "${url}?..."`);
    expect(verdict.reason).not.toContain("secret");
  });

  it("never quotes more than 200 characters of a proof", () => {
    for (const claims of [{ htm: "M".repeat(3_000) }, { htu: `https://api.example/${"x".repeat(3_000)}` }]) {
      const verdict = verifyProof([proof({ claims })], expected());
      expect(verdict.kind === "invalid" && verdict.reason.length).toBeLessThan(700);
    }
  });
});
