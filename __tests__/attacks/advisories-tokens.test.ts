// Published defects of other servers and libraries at the token, revocation and introspection endpoints, and in how APIs read tokens. Each
// is tried here as it was done there. docs/security.md lists them all.
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import type { Response } from "supertest";
import { type Client, createAuthServer, memoryStorage } from "../../lib";
import { authorize } from "../browser/authorize";
import { assertionOf, keyedHost, tokenBy } from "../requests/client-assertions";
import { introspect, ownToken, postToken, redeem, revoke } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import {
  attackersEcKey,
  ecKey,
  es256,
  type Genuine,
  genuineToken,
  hs256,
  issuedAt,
  signingHost,
  tokenPart,
  unsigned,
  writeToken,
} from "../requests/forged-tokens";
import { signedIn, testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { goodOptions } from "../records/options";
import { intercept } from "../storage/slow-storage";

const clock = stopClockForEachTest(issuedAt);

const noPkce = { code_challenge: undefined, code_challenge_method: undefined };

/** Nothing is issued, and the code is good for nothing else. */
function expectNoToken({ status, body }: Response, error = "invalid_grant"): void {
  expect([status, (body as { error?: string }).error]).toEqual([
    error === "invalid_client" ? 401 : 400,
    error,
  ]);
  expect(body).not.toHaveProperty("access_token");
}

describe("proof key for code exchange (RFC 7636 §4.6, 9700 §2.1.1)", () => {
  it("CVE-2017-18924 node-oauth2-server: redeem a stolen code of a public client, because there is no PKCE", async () => {
    const response = await authorize(testHost().browser(), { client: "native", fields: noPkce });
    expect(String(response.headers["location"])).toContain("error=invalid_request");
  });

  it.each([
    [
      "CVE-2025-4144 workers-oauth-provider: leave the challenge out, and the check of the verifier is left out",
      "native",
    ],
    [
      "CVE-2024-23647 authentik: remove the challenge from the request of another person, and inject the code",
      "spa",
    ],
    [
      "CVE-2024-22258 Spring Authorization Server: remove the challenge of a confidential client, and inject the code",
      "web",
    ],
  ] as const)("%s", async (_, client) => {
    const host = testHost();
    if (client !== "web") {
      const response = await authorize(host.browser(), { client, fields: noPkce });
      expect(String(response.headers["location"])).toContain("error=invalid_request");
      return;
    }
    // the victim's client sends its verifier, to which the injected code has no challenge
    expectNoToken(await redeem(host, { client, code: await obtainCode(host, { client, fields: noPkce }) }));
  });

  it("CVE-2023-48228 authentik: redeem a code that has a challenge by leaving the verifier out", async () => {
    for (const client of ["web", "native", "spa"] as const) {
      const host = testHost();
      for (const code_verifier of [undefined, "", "a".repeat(43)]) {
        const code = await obtainCode(host, { client });
        const { status, body } = await redeem(host, { client, code, fields: { code_verifier } });
        expect([status, body as object]).toEqual([
          400,
          expect.not.objectContaining({ access_token: expect.anything() as unknown }),
        ]);
      }
    }
  });
});

describe("codes, assertions and the client's own tokens (RFC 6749 §4.1.3, §4.4; 7523 §3)", () => {
  it("CVE-2026-28513 Pocket ID: redeem the code of another client, or one that has expired", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expectNoToken(await redeem(host, { client: "other", code }));
    expectNoToken(await redeem(host, { client: "native", code }));
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    const late = await obtainCode(host, { client: "web" });
    clock.advance(601);
    expectNoToken(await redeem(host, { client: "web", code: late }));
  });

  it.each([
    ["CVE-2020-15222 fosite: send an assertion of a client again"],
    ["CVE-2020-5300 Hydra: send an assertion of a client again until it expires"],
  ])("%s", async () => {
    const host = keyedHost();
    const assertion = assertionOf();
    expect((await tokenBy(host, { assertion })).status).toBe(200);
    for (const seconds of [0, 1, 50]) {
      clock.advance(seconds);
      expectNoToken(await tokenBy(host, { assertion }), "invalid_client");
    }
  });

  it("CVE-2024-52287 authentik: get scopes that the client does not have, with its own token", async () => {
    const host = testHost();
    for (const scope of ["orders:write", "orders:read orders:write", "admin", "orders:read admin"])
      expectNoToken(await ownToken(host, { client: "machine", scope }), "invalid_scope");
    const { body } = await ownToken(host, { client: "machine" });
    expect(body).toMatchObject({ scope: "orders:read" });
  });

  it("CVE-2026-39976 Laravel Passport: pass as the person whose id is the id of a client, with the client's own token", async () => {
    const host = testHost();
    const { access_token } = (await ownToken(host, { client: "machine" })).body as Tokens;
    const { body } = await callApi(host, "/orders", access_token);
    expect(body).toMatchObject({ clientId: "machine" });
    expect(body).not.toHaveProperty("subject");
    host.session = { ...signedIn, subject: "machine" };
    const response = await authorize(host.browser(), { client: "web" });
    expect(String(response.headers["location"])).not.toContain("code=");
  });

  it("CVE-2025-69196 FastMCP: use a token for one resource at another one of the same server", async () => {
    const host = testHost();
    const { access_token } = await obtainTokens(host, {
      client: "web",
      fields: { resource: "https://api.example/orders" },
    });
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    expect((await callApi(host, "/files", access_token)).status).toBe(401);
    for (const resource of ["https://api.example/files", "https://evil.example/"]) {
      const response = await authorize(host.browser(), { client: "web", fields: { resource } });
      expect(String(response.headers["location"])).toContain("error=invalid_target");
      const fields = { grant_type: "client_credentials", ...credentials("machine"), resource };
      expectNoToken(await postToken(host, { fields }), "invalid_target");
    }
  });
});

describe("revocation and what is remembered (RFC 7009 §2, 7662 §4)", () => {
  it.each([
    [
      "CVE-2016-6582 doorkeeper: keep a token that a public client has revoked, and revoke tokens of other clients",
      "spa",
    ],
    ["CVE-2018-1000211 doorkeeper: keep an access token that a public client has revoked", "native"],
  ] as const)("%s", async (_, client) => {
    const host = testHost({ revocationLagSeconds: 0 });
    const { access_token: token } = await obtainTokens(host, { client });
    expect((await revoke(host, { client: "web", token })).status).toBe(200);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    expect((await revoke(host, { client, token })).status).toBe(200);
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });

  it("CVE-2020-15223 fosite: be told that a token was revoked although storage has failed", async () => {
    const stored = memoryStorage({ clients: Object.values(clients) satisfies readonly Client[] });
    let isDown = false;
    const storage = intercept(stored, (name, call) =>
      isDown && /revoke/i.test(name) ? Promise.reject(new Error("down")) : call(),
    );
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "web" });
    isDown = true;
    for (const token of [access_token, refresh_token]) {
      const { status, body } = await revoke(host, { token });
      expect([status, body as object]).toEqual([500, expect.objectContaining({ error: "server_error" })]);
    }
  });

  it("CVE-2021-32701 Oathkeeper: use a token at a route whose scope it lacks, while it is remembered from another route", async () => {
    const host = testHost({ revocationLagSeconds: 60 });
    const { access_token } = await obtainTokens(host, { client: "web" });
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
      expect((await callApi(host, "/orders/changes", access_token)).status).toBe(403);
    }
  });
});

it("CVE-2023-37260 league/oauth2-server: read the private key in the message of an error", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const encrypted = privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  }) as string;
  const plain = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  for (const key of [encrypted, plain.slice(0, -40), plain.replace("BEGIN", "BEGYN")]) {
    let thrown: unknown;
    try {
      createAuthServer({ ...goodOptions, signingKeys: [key] });
    } catch (error) {
      thrown = error;
    }
    const { message, stack } = thrown as Error;
    expect(message).toMatch(/signingKeys\.0/);
    for (const line of key.split("\n").filter((text) => text.length > 20 && !text.startsWith("-")))
      expect(message + String(stack) + String((thrown as Error).cause)).not.toContain(line);
  }
});

const publicPem = createPublicKey(ecKey).export({ type: "spki", format: "pem" }) as string;

/** Refused by the API, unknown to introspection, and good for ending nothing. */
async function expectForged(
  host: TestHost,
  { own, forged }: { own: Genuine; forged: string },
): Promise<void> {
  expect([400, 401]).toContain((await callApi(host, "/orders", forged)).status);
  expect((await introspect(host, { token: forged })).body).toEqual({ active: false });
  await revoke(host, { token: forged });
  expect((await callApi(host, "/orders", own.token)).status).toBe(200);
}

const bob = (claims: Genuine["claims"]): Genuine["claims"] => ({ ...claims, sub: "bob" });

describe("forged access tokens (RFC 8725 §2, §3; 7515 §5.2)", () => {
  it.each<readonly [string, (own: Genuine) => readonly string[]]>([
    [
      "CVE-2016-10555 jwt-simple: choose HMAC in the header, with the public key as its secret",
      ({ header, claims }) => [writeToken({ ...header, alg: "HS256" }, bob(claims), hs256(publicPem))],
    ],
    [
      "CVE-2024-37568 Authlib: sign by HMAC with a public key that is not RSA",
      ({ header, claims }) =>
        [
          publicPem,
          publicPem.trimEnd(),
          JSON.stringify(createPublicKey(ecKey).export({ format: "jwk" })),
        ].map((secret) => writeToken({ ...header, alg: "HS256" }, bob(claims), hs256(secret))),
    ],
    [
      "CVE-2015-9235 jsonwebtoken: have an HMAC accepted where an asymmetric key signs",
      ({ header, claims }) => [
        writeToken({ ...header, alg: "none" }, bob(claims), unsigned),
        writeToken({ ...header, alg: "HS512" }, bob(claims), hs256(publicPem)),
      ],
    ],
    [
      "CVE-2018-0114 node-jose: sign with a key of one's own, and put it into the header",
      ({ header, claims }) => {
        const jwk = createPublicKey(attackersEcKey).export({ format: "jwk" });
        return [header["kid"], undefined].map((kid) =>
          writeToken({ ...header, kid, jwk }, bob(claims), es256(attackersEcKey)),
        );
      },
    ],
    [
      "CVE-2022-21449 Java: sign with zeros",
      ({ header, claims }) => [writeToken(header, bob(claims), () => Buffer.alloc(64))],
    ],
    [
      "CVE-2020-28042 ServiceStack: sign with a signature that is cut short",
      ({ header, claims, token }) =>
        [0, 1, 16, 32, 63].flatMap((length) => [
          writeToken(header, bob(claims), () => Buffer.alloc(length)),
          `${token.slice(0, token.lastIndexOf(".") + 1)}${Buffer.from(token.split(".")[2] ?? "", "base64url")
            .subarray(0, length)
            .toString("base64url")}`,
        ]),
    ],
    [
      "CVE-2022-39227 python-jwt: mix a genuine signature with other claims, in another serialization",
      ({ header, claims, token }) => {
        const [protectedHeader = "", payload = "", signature = ""] = token.split(".");
        const forged = tokenPart(bob(claims));
        const mixed = `{"  ${protectedHeader}.${forged}.":"","protected":"${protectedHeader}","payload":"${payload}","signature":"${signature}"}`;
        return [mixed, tokenPart(mixed), `${tokenPart(header)}.${forged}.${signature}`].map((text) =>
          text.replaceAll(/[^\w.-]/g, ""),
        );
      },
    ],
    [
      "CVE-2024-42461 elliptic: write a genuine signature otherwise, as BER or DER",
      ({ token, header, claims }) => [
        writeToken(header, claims, (input) => sign("sha256", Buffer.from(input), ecKey)),
        `${token}AA`,
      ],
    ],
    [
      "CVE-2025-59420 Authlib: pass a token whose critical extension nobody understands",
      ({ header, claims }) =>
        [["bork"], ["cnf"], ["exp"], []].map((crit) =>
          writeToken({ ...header, crit, bork: 1, cnf: { jkt: "x" } }, claims, es256(ecKey)),
        ),
    ],
    [
      "CVE-2025-30144 fast-jwt: pass a token with a list of issuers, one of them right",
      ({ header, claims }) => [
        writeToken(header, { ...claims, iss: ["https://evil.example", claims["iss"]] }, es256(ecKey)),
        writeToken(header, { ...claims, iss: [claims["iss"]] }, es256(ecKey)),
      ],
    ],
    [
      "CVE-2025-61920 Authlib: exhaust the server by a huge header or signature",
      ({ header, claims, token }) => [
        writeToken({ ...header, x: "x".repeat(8_000) }, claims, unsigned),
        `${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(12_000)}`,
      ],
    ],
    [
      "CVE-2025-62706 Authlib: exhaust the server by compressed text that grows when it is unpacked",
      ({ header, claims }) => {
        const packed = deflateRawSync(Buffer.alloc(4_000_000, " ")).toString("base64url");
        const jwe = { ...header, alg: "dir", enc: "A128GCM", zip: "DEF" };
        return [
          `${tokenPart(jwe)}..AAAAAAAAAAAAAAAA.${packed}.AAAAAAAAAAAAAAAAAAAAAA`,
          `${tokenPart({ ...header, zip: "DEF" })}.${packed}.${"A".repeat(86)}`,
          writeToken(
            { ...header, zip: "DEF" },
            deflateRawSync(JSON.stringify(claims)).toString("latin1"),
            es256(ecKey),
          ),
        ];
      },
    ],
  ])("%s", async (_, forge) => {
    const host = signingHost();
    const own = await genuineToken(host);
    for (const forged of forge(own)) await expectForged(host, { own, forged });
  });
});
