// The attacker writes access tokens: each algorithm against each key of the server, with each trick in the header, with parts that are
// cut, doubled or written otherwise. They are tried at the server itself, at an API in another process that has the published keys,
// and at introspection and revocation. Nothing that the attacker writes counts, and nothing is fetched because of it.
import type { KeyObject } from "node:crypto";
import { generateKeyPairSync } from "node:crypto";
import request from "supertest";
import type { PrivateJwk } from "../../lib";
import { postAbout } from "../requests/client-requests";
import { stopClock } from "../hosts/clock";
import {
  type Genuine,
  issuedAt,
  type Json,
  readToken,
  type Sign,
  tokenPart,
  unsigned,
  writeToken,
} from "../requests/forged-tokens";
import { callApi, obtainTokens } from "../browser/journey";
import {
  asymmetric,
  attackersKeys,
  foreignKeys,
  meaningless,
  publicTexts,
  rewritings,
  signAs,
  symmetric,
} from "./jwt-algorithms";
import { type RemoteApi, remoteApi, type RemoteServer, remoteServer } from "../resource-server/remote";

/** A key of the server for each kind and for each way to use an RSA key. */
const curveOf = { ES256: "P-256", ES384: "P-384", ES512: "P-521" } as const;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const serverKeys: readonly (readonly [string, KeyObject])[] = [
  ...Object.entries(curveOf).map(
    ([alg, namedCurve]) => [alg, generateKeyPairSync("ec", { namedCurve }).privateKey] as const,
  ),
  ...["RS256", "RS512", "PS256", "PS384"].map((alg) => [alg, rsa] as const),
];

let server: RemoteServer;
let api: RemoteApi;
let own: Genuine;

async function startWith(alg: string, key: KeyObject): Promise<void> {
  stopClock(issuedAt);
  const jwk = { ...key.export({ format: "jwk" }), alg, kid: "server" } as unknown as PrivateJwk;
  server = await remoteServer({ signingKeys: [jwk], revocationLagSeconds: 0 });
  api = remoteApi(server);
  own = readToken((await obtainTokens(server.host, { client: "web" })).access_token);
}

/** What each of those who read tokens says of one. */
async function verdictsOn(token: string): Promise<object> {
  const [atServer, apart, introspected] = await Promise.all([
    callApi(server.host, "/orders", token),
    Promise.resolve(request(api.app).get("/orders").set("Authorization", `Bearer ${token}`)),
    postAbout(server.host, { endpoint: "introspect", token }),
  ]);
  return {
    // 400 where the text could not even be a token
    server: atServer.status === 400 ? 401 : atServer.status,
    apart: apart.status === 400 ? 401 : apart.status,
    active: (introspected.body as { active?: boolean }).active,
  };
}

const refused = { server: 401, apart: 401, active: false };
const accepted = { server: 200, apart: 200, active: true };

/** Each is refused everywhere, ends nothing when it is revoked, and has nobody ask elsewhere. */
async function expectRefused(forgeries: Readonly<Record<string, string>>): Promise<void> {
  await verdictsOn(own.token);
  const asked = server.asked.length;
  for (const [name, token] of Object.entries(forgeries)) {
    expect([name, await verdictsOn(token)]).toEqual([name, refused]);
    const { status, body } = await postAbout(server.host, { endpoint: "revoke", token });
    expect([name, status, body as object]).toEqual([name, 200, {}]);
  }
  expect(await verdictsOn(own.token)).toEqual(accepted);
  // a kid that is unknown may ask for the server's own keys again, once in 30 seconds
  expect(new Set(server.asked.slice(asked))).toEqual(
    new Set(server.asked.slice(asked).filter((line) => line === "GET /login/jwks")),
  );
  expect(server.asked.length - asked).toBeLessThanOrEqual(1);
}

function byName<T>(names: readonly T[], forge: (name: T) => string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [JSON.stringify(name), forge(name)]));
}

/** The genuine token but for these members of its header, signed by this. */
const forge = (header: Json, by: Sign): string => writeToken({ ...own.header, ...header }, own.claims, by);

describe.each(serverKeys)("a server that signs with %s (RFC 8725 §2.1, §3.1; 7515 §5.2)", (alg, key) => {
  beforeAll(() => startWith(alg, key));
  beforeEach(() => void stopClock(issuedAt));
  afterAll(async () => {
    jest.restoreAllMocks();
    await server.stop();
  });

  const ownSign = signAs(alg, key);
  /** The algorithms that a key of this type could be used with. */
  const family = alg.startsWith("E") ? /^ES\d+$/ : /^[RP]S/;

  it("is understood by those who read its tokens", async () => {
    expect(own.header).toEqual({ alg, typ: "at+jwt", kid: "server" });
    expect(await verdictsOn(own.token)).toEqual(accepted);
    expect(await verdictsOn(forge({}, ownSign))).toEqual(accepted);
  });

  it("refuses every algorithm by the attacker's key", async () => {
    await expectRefused(
      byName(asymmetric, (name) => forge({ alg: name }, signAs(name, attackersKeys[name] ?? ""))),
    );
  });

  it("refuses every signature by the attacker's key under the server's algorithm", async () => {
    await expectRefused(byName(asymmetric, (name) => forge({}, signAs(name, attackersKeys[name] ?? ""))));
  });

  it("refuses its own key under every other algorithm, and every other algorithm of its key under its name", async () => {
    const others = asymmetric.filter((name) => name !== alg && family.test(name));
    expect(others.length).toBeGreaterThan(1);
    await expectRefused(byName(others, (name) => forge({ alg: name }, signAs(name, key))));
    await expectRefused(byName(others, (name) => forge({}, signAs(name, key))));
    await expectRefused(byName(others, (name) => forge({ alg: name }, ownSign)));
  });

  it("refuses HMAC with anything that is public, under the name of an HMAC and under its own", async () => {
    const texts = Object.entries(publicTexts(key));
    for (const name of symmetric) {
      const by = (header: Json): Record<string, string> =>
        Object.fromEntries(
          texts.map(([what, secret]) => [`${name} ${what}`, forge(header, signAs(name, secret))]),
        );
      await expectRefused(by({ alg: name }));
      await expectRefused(by({}));
    }
  });

  it("refuses an alg that means nothing, without a signature and with the right one", async () => {
    await expectRefused(byName(meaningless, (name) => forge({ alg: name }, unsigned)));
    await expectRefused(byName(meaningless, (name) => forge({ alg: name }, ownSign)));
    await expectRefused({
      "no alg": forge({ alg: undefined }, ownSign),
      "no alg, unsigned": forge({ alg: undefined }, unsigned),
    });
  });

  it("refuses keys that the header names, and fetches none", async () => {
    const attackers = attackersKeys[alg];
    if (!attackers) throw new Error(`no key for ${alg}`);
    const headers = Object.entries(foreignKeys(attackers));
    const by = (sign: Sign): Record<string, string> =>
      Object.fromEntries(headers.map(([what, header]) => [what, forge(header, sign)]));
    await expectRefused(by(signAs(alg, attackers)));
    await expectRefused(by(unsigned));
  });

  it("refuses each writing of a genuine token by somebody without the key", async () => {
    await expectRefused(rewritings(own.token));
  });

  it("refuses a DER signature, and one over other bytes than the text", async () => {
    const { header, claims } = own;
    const parts = `${JSON.stringify(header)}.${JSON.stringify(claims)}`;
    await expectRefused({
      "over the decoded parts": `${tokenPart(header)}.${tokenPart(claims)}.${ownSign(parts).toString("base64url")}`,
      "over the claims alone": forge({}, () => ownSign(tokenPart(claims))),
      "over the header alone": forge({}, () => ownSign(tokenPart(header))),
      "over a hash": forge({}, (input) => ownSign(Buffer.from(input).toString("hex"))),
      "over unencoded claims (7797)": forge({ b64: false }, () =>
        ownSign(`${tokenPart({ ...header, b64: false })}.${JSON.stringify(claims)}`),
      ),
    });
  });
});
