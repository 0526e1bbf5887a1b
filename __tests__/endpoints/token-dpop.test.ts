// DPoP proofs at the token endpoint, and what is bound to their keys (RFC 9449 §5, §6), over HTTP.
import { createPublicKey } from "node:crypto";
import request from "supertest";
import { memoryStorage } from "../../lib";
import { proofAlgorithms } from "../../lib/protocol/dpop-proof";
import { digestToken } from "../../lib/protocol/token-value";
import { thumbprintOf } from "../../lib/clients/verify-proof";
import { authorize, redirectParameters } from "../browser/authorize";
import { issuer, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { obtainCode } from "../browser/journey";
import {
  boundApis,
  boundHost,
  claimsOf,
  otherKey,
  ownBound,
  ownKey,
  ownThumbprint,
  redeemBound,
  tokenProof,
} from "../requests/bound-requests";
import { assertionOf, keyed, presenting, tokenBy } from "../requests/client-assertions";
import { introspect, revoke } from "../requests/client-requests";
import { type ProofChanges, proofKeys } from "../requests/dpop-proofs";
import { apisWithRegistration, codeFor, nativeMetadata, registered } from "../requests/registration";
import { answerOf, refusal } from "../requests/json-answers";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const invalidProof = (description: unknown = expect.any(String)) =>
  refusal(400, "invalid_dpop_proof", description);
const required = () => boundHost({ apis: boundApis({ tokens: "required" }) });
const dpopBound = { ...clients.web, dpopBound: true };

/** Why the last token request was refused. */
function lastReason({ events }: TestHost): string {
  const event = events.findLast(({ kind }) => kind === "token-refused");
  return event && "code" in event ? event.code : "";
}

describe("tokens for the key of a proof (RFC 9449 §5, §6.1)", () => {
  it.each(proofAlgorithms)("are bound to it: %s", async (alg) => {
    const key = proofKeys[alg];
    const answer = await ownBound(boundHost(), { proofs: [tokenProof({ alg, key })] });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    const { cnf } = claimsOf(tokensOf(answer).access_token);
    expect(cnf).toEqual({ jkt: thumbprintOf(createPublicKey(key)) });
  });

  it("are bound by the code grant, too", async () => {
    const host = boundHost();
    const code = await obtainCode(host, { client: "native" });
    const answer = await redeemBound(host, { code, key: ownKey });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    expect(claimsOf(tokensOf(answer).access_token)["cnf"]).toEqual({ jkt: ownThumbprint });
  });

  it("are bound where they are opaque: in storage, and in introspection (RFC 9449 §6.2)", async () => {
    const host = boundHost();
    const pair = { api: "reports" } as const;
    const answer = await ownBound(host, { pair, key: ownKey, fields: { scope: "reports:read" } });
    const { access_token: token } = tokensOf(answer);
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    const stored = await host.storage.accessTokens.find(digestToken(token), clock.now());
    expect(stored).toMatchObject({ boundKey: ownThumbprint });
    const told = await introspect(host, { pair, token });
    expect(told.body).toMatchObject({ active: true, token_type: "DPoP", cnf: { jkt: ownThumbprint } });
  });

  it("say so in introspection where they are JWTs", async () => {
    const host = boundHost();
    const { access_token: token } = tokensOf(await ownBound(host, { key: ownKey }));
    const told = await introspect(host, { token });
    expect(told.body).toMatchObject({ active: true, token_type: "DPoP", cnf: { jkt: ownThumbprint } });
  });

  it("are bearer tokens for a client without a proof", async () => {
    const host = boundHost();
    const answer = await ownBound(host);
    expect(answer.body).toMatchObject({ token_type: "bearer" });
    const { access_token: token } = tokensOf(answer);
    expect(claimsOf(token)).not.toHaveProperty("cnf");
    expect((await introspect(host, { token })).body).toMatchObject({ token_type: "bearer" });
  });

  it("are bearer tokens at an API without dpop, whatever the header says", async () => {
    const host = boundHost();
    const pair = { api: "files" } as const;
    for (const proofs of [[tokenProof({ pair })], ["nonsense"], ["", ""]]) {
      const answer = await ownBound(host, { pair, proofs, fields: { scope: "files:read" } });
      expect(answer.body).toMatchObject({ token_type: "bearer" });
      expect(claimsOf(tokensOf(answer).access_token)).not.toHaveProperty("cnf");
    }
  });
});

describe("proofs at the token endpoint (RFC 9449 §4.3, §5)", () => {
  it.each<[string, () => readonly string[], string]>([
    ["two of them", () => [tokenProof(), tokenProof()], "proof-several-headers"],
    ["two of them in one header", () => [`${tokenProof()}, ${tokenProof()}`], "proof-several-headers"],
    ["an empty one", () => [""], "proof-not-a-jwt"],
    ["one that is no JWT", () => ["nonsense"], "proof-not-a-jwt"],
    ["an old one", () => [tokenProof({ claims: { iat: clock.now() - 61 } })], "proof-too-old"],
    ["one for GET", () => [tokenProof({ method: "GET" })], "proof-htm-wrong"],
    ["one for an API", () => [tokenProof({ url: "https://api.example/orders" })], "proof-htu-wrong"],
    ["one for another issuer", () => [tokenProof({ pair: { method: "otp" } })], "proof-htu-wrong"],
    ["one for the issuer itself", () => [tokenProof({ url: issuer })], "proof-htu-wrong"],
    ["one for another endpoint", () => [tokenProof({ url: `${issuer}/revoke` })], "proof-htu-wrong"],
    [
      "one that another key has signed",
      () => [
        tokenProof({ key: otherKey, header: { jwk: createPublicKey(ownKey).export({ format: "jwk" }) } }),
      ],
      "proof-signature-wrong",
    ],
  ])("refuse %s", async (_, proofs, code) => {
    const host = boundHost();
    const sent = proofs();
    expect(answerOf(await ownBound(host, { proofs: sent }))).toEqual(
      invalidProof("The DPoP proof is malformed, too old, or not for this request."),
    );
    expect(lastReason(host)).toBe(code);
    for (const proof of sent.filter((one) => one.length > 20))
      expect(JSON.stringify(host.events)).not.toContain(proof.slice(-40));
  });

  it("are for the URL by baseUrl, whatever Host says", async () => {
    const host = boundHost();
    const headers = { Host: "evil.example", "X-Forwarded-Host": "evil.example" };
    const evil = tokenProof({ url: `https://evil.example${pairPath()}/token` });
    expect((await ownBound(host, { headers, proofs: [evil] })).status).toBe(400);
    expect((await ownBound(host, { headers, key: ownKey })).status).toBe(200);
  });

  it("count again when they are replayed: what is issued is for their key (RFC 9449 §11.1)", async () => {
    const host = boundHost();
    const proofs = [tokenProof()];
    expect((await ownBound(host, { proofs })).status).toBe(200);
    expect((await ownBound(host, { proofs })).status).toBe(200);
  });

  it("come before client authentication: a bad one uses up no assertion (RFC 7523 §3)", async () => {
    const host = boundHost({ clients: [keyed] });
    const assertion = assertionOf();
    const fields = { client_id: "keyed", ...presenting(assertion) };
    const bent: ProofChanges = { method: "GET" };
    const bad = await ownBound(host, { fields, client: "native", proofs: [tokenProof(bent)] });
    expect(answerOf(bad)).toEqual(invalidProof());
    expect(host.events.map(({ kind }) => kind)).toEqual(["token-refused"]);
    expect((await tokenBy(host, { assertion })).status).toBe(200);
  });

  it("do not stand in for client authentication", async () => {
    const fields = { client_secret: "wrong" };
    expect((await ownBound(boundHost(), { key: ownKey, fields })).status).toBe(401);
  });
});

describe("APIs with dpop.tokens: required (RFC 9449 §5)", () => {
  it("issue no token without a proof, by no grant", async () => {
    const host = required();
    const code = await obtainCode(host, { client: "native" });
    for (const answer of [await ownBound(host), await redeemBound(host, { code })]) {
      expect(answerOf(answer)).toEqual(invalidProof("A DPoP proof is required."));
      expect(lastReason(host)).toBe("dpop-proof-missing");
    }
    expect((await redeemBound(host, { code, key: ownKey })).body).toMatchObject({ token_type: "DPoP" });
  });

  it("use up no assertion then", async () => {
    const host = boundHost({ apis: boundApis({ tokens: "required" }), clients: [keyed] });
    const assertion = assertionOf();
    expect(answerOf(await tokenBy(host, { assertion }))).toEqual(invalidProof());
    const fields = { client_id: "keyed", ...presenting(assertion) };
    expect((await ownBound(host, { client: "native", fields, key: ownKey })).status).toBe(200);
  });

  it("need no proof for introspection and revocation", async () => {
    const host = required();
    const { access_token: token } = tokensOf(await ownBound(host, { key: ownKey }));
    expect((await introspect(host, { token })).body).toMatchObject({ active: true });
    expect((await revoke(host, { token })).status).toBe(200);
    expect((await introspect(host, { token })).body).toEqual({ active: false });
  });
});

describe("clients with dpopBound (RFC 9449 §5.2)", () => {
  it("get no token without a proof", async () => {
    const host = boundHost({ clients: [dpopBound] });
    expect(answerOf(await ownBound(host))).toEqual(invalidProof("A DPoP proof is required."));
    expect(lastReason(host)).toBe("dpop-proof-missing");
    expect((await ownBound(host, { key: ownKey })).body).toMatchObject({ token_type: "DPoP" });
  });

  it("are refused at an API without dpop: at the token endpoint, and at authorize", async () => {
    const host = boundHost({ clients: [dpopBound] });
    const pair = { api: "files" } as const;
    const answer = await ownBound(host, { pair, key: ownKey, fields: { scope: "files:read" } });
    expect(answerOf(answer)).toEqual(
      refusal(400, "invalid_request", "This API cannot do what the client's registration demands."),
    );
    expect(lastReason(host)).toBe("client-flag-refused");
    const back = redirectParameters(await authorize(host.browser(), { client: "web", pair }));
    expect(back).toMatchObject({ error: "invalid_request" });
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-denied", code: "client-flag-refused" });
  });

  it.each([[false], [null]])("are others where a row says %s", async (flag) => {
    const row = { ...clients.web, dpopBound: flag };
    const { clients: _, ...storage } = memoryStorage({ clients: [] });
    const table = { find: async () => row as never, isBrowserOrigin: async () => false };
    const host = boundHost({ storage: { ...storage, clients: table } });
    expect((await ownBound(host)).status).toBe(200);
    const pair = { api: "files" } as const;
    expect((await ownBound(host, { pair, fields: { scope: "files:read" } })).status).toBe(200);
  });

  it("need no proof for revocation and introspection", async () => {
    const host = boundHost({ clients: [dpopBound] });
    const { access_token: token } = tokensOf(await ownBound(host, { key: ownKey }));
    expect((await introspect(host, { token })).body).toMatchObject({ active: true });
    expect((await revoke(host, { token })).status).toBe(200);
  });
});

describe("clients that nobody registered (RFC 9449 §5.2)", () => {
  const { orders, ...others } = apisWithRegistration({});
  const strangers = (api: object, options: TestHostOptions = {}): TestHost =>
    testHost({ ...(orders && { apis: { ...others, orders: { ...orders, ...api } } }), ...options });
  const asked = { ...nativeMetadata, dpop_bound_access_tokens: true };

  it("are held to a proof by what they have registered", async () => {
    const host = strangers({ dpop: {} });
    const client = await registered(host, asked);
    const { client_id } = client;
    expect(client).toMatchObject({ dpop_bound_access_tokens: true });
    const code = await codeFor(host, client);
    expect(answerOf(await redeemBound(host, { code, fields: { client_id } }))).toEqual(
      invalidProof("A DPoP proof is required."),
    );
    const answer = await redeemBound(host, { code, fields: { client_id }, key: ownKey });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
  });

  it("are told that an API without dpop has not registered it, and get bearer tokens there", async () => {
    const host = strangers({});
    const client = await registered(host, asked);
    const { client_id } = client;
    expect(client).not.toHaveProperty("dpop_bound_access_tokens");
    const code = await codeFor(host, client);
    const answer = await redeemBound(host, { code, fields: { client_id } });
    expect(answer.body).toMatchObject({ token_type: "bearer" });
  });

  it("are not refused once the API has no dpop any more", async () => {
    const before = strangers({ dpop: {} });
    const client = await registered(before, asked);
    const { client_id } = client;
    const host = strangers({}, { storage: before.storage });
    const code = await codeFor(host, client);
    const answer = await redeemBound(host, { code, fields: { client_id } });
    expect(answer.body).toMatchObject({ token_type: "bearer" });
  });
});

describe("scripts of pages (RFC 9449 §8.2, Fetch standard)", () => {
  const spa = "https://spa.example";
  const exposed = "access-control-expose-headers";

  it("may send a proof, and see the headers about it", async () => {
    const host = boundHost();
    const code = await obtainCode(host, { client: "spa" });
    const asked = await request(host.app).options(`${pairPath()}/token`).set({
      Origin: spa,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "dpop",
    });
    expect(asked.headers["access-control-allow-headers"]).toBe("dpop");
    const answer = await redeemBound(host, { client: "spa", code, key: ownKey, headers: { Origin: spa } });
    expect(answer.body).toMatchObject({ token_type: "DPoP" });
    expect(answer.headers[exposed]).toBe("Retry-After, DPoP-Nonce, WWW-Authenticate");
  });

  it("see what they always see at an API without dpop", async () => {
    const host = boundHost();
    const pair = { api: "files" } as const;
    const code = await obtainCode(host, { client: "spa", pair });
    const answer = await redeemBound(host, { client: "spa", pair, code, headers: { Origin: spa } });
    expect(answer.headers[exposed]).toBe("Retry-After");
  });
});

describe("metadata (RFC 9449 §5.1)", () => {
  it("lists the algorithms of proofs where the API has dpop, and nowhere else", async () => {
    const host = boundHost();
    const documentOf = async (api: "orders" | "files"): Promise<object> => {
      const { body } = await request(host.app).get(
        `${pairPath({ api })}/.well-known/oauth-authorization-server`,
      );
      return body as object;
    };
    expect(await documentOf("orders")).toMatchObject({ dpop_signing_alg_values_supported: proofAlgorithms });
    expect(await documentOf("files")).not.toHaveProperty("dpop_signing_alg_values_supported");
  });
});

describe("a host without dpop", () => {
  it("answers proofs as it always has", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const answer = await redeemBound(host, { code, proofs: ["nonsense", "more"] });
    expect(answer.body).toMatchObject({ token_type: "bearer" });
    expect(claimsOf(tokensOf(answer).access_token)).not.toHaveProperty("cnf");
  });
});
