// Tokens and assertions that the right key has signed, and that are strange all the same: another part of the host, or a careless client,
// may have written them. Some must be refused, some must count; which, is decided by RFC 7515, 7519, 7523 and 9068.
import request from "supertest";
import { generateSigningKey } from "../../lib";
import { readPrivateKey } from "../../lib/signing/signing-key";
import {
  assertionOf,
  goodClaims,
  keyedHost,
  part,
  privateKeys,
  signatureOf,
  tokenBy,
} from "../requests/client-assertions";
import { postAbout } from "../requests/client-requests";
import { stopClock } from "../hosts/clock";
import { es256, type Genuine, issuedAt, type Json, readToken, writeToken } from "../requests/forged-tokens";
import { callApi, obtainTokens } from "../browser/journey";
import { attackersKeys, foreignKeys, meaningless, rewritings, signAs } from "./jwt-algorithms";
import { type RemoteApi, remoteApi, type RemoteServer, remoteServer } from "../resource-server/remote";

const key = generateSigningKey();
const sign = es256(readPrivateKey(key).privateKey);
let server: RemoteServer;
let api: RemoteApi;
let own: Genuine;

beforeAll(async () => {
  stopClock(issuedAt);
  server = await remoteServer({ signingKeys: [key], revocationLagSeconds: 0 });
  api = remoteApi(server);
  own = readToken((await obtainTokens(server.host, { client: "web" })).access_token);
});
beforeEach(() => void stopClock(issuedAt));
afterEach(() => jest.restoreAllMocks());
afterAll(() => server.stop());

async function verdictsOn(token: string): Promise<readonly unknown[]> {
  const atServer = await callApi(server.host, "/orders", token);
  const apart = await request(api.app).get("/orders").set("Authorization", `Bearer ${token}`);
  const { body } = await postAbout(server.host, { endpoint: "introspect", token });
  return [atServer.status, apart.status, (body as { active?: boolean }).active];
}

const refused = [401, 401, false];
const accepted = [200, 200, true];

const text = (value: Json): string => JSON.stringify(value);
/** The text with these members in front of its own, so that a name may stand twice. */
const before = (members: string, value: Json): string => `{${members},${text(value).slice(1)}`;
const behind = (value: Json, members: string): string => `${text(value).slice(0, -1)},${members}}`;

/** Signs parts exactly as they are. */
function signed(header: string, claims: string): string {
  return `${header}.${claims}.${sign(`${header}.${claims}`).toString("base64url")}`;
}

/** The same bytes with other bits where base64url has none: the last character of a part with a rest. */
function loose(value: string): string {
  // a blank at the end changes nothing in JSON, and gives the part the length that leaves bits unused
  const [long] = [value, `${value} `, `${value}  `].filter((each) => Buffer.byteLength(each) % 3 === 1);
  const encoded = part(long ?? value);
  return `${encoded.slice(0, -1)}${String.fromCharCode((encoded.at(-1) ?? "A").charCodeAt(0) + 1)}`;
}

type Written = (genuine: Genuine) => string;
const withHeader =
  (members: Json): Written =>
  ({ header, claims }) =>
    writeToken({ ...header, ...members }, claims, sign);
const withClaims =
  (members: Json): Written =>
  ({ header, claims }) =>
    writeToken(header, { ...claims, ...members }, sign);

describe("headers that the right key has signed (RFC 7515 §4, §5.2; 8725 §3.10, §3.11; 9068 §4)", () => {
  it.each<readonly [string, unknown, Written]>([
    ["crit of something unknown", refused, withHeader({ crit: ["bork"], bork: 1 })],
    ["crit of a registered claim", refused, withHeader({ crit: ["exp"], exp: issuedAt + 600 })],
    ["crit of the binding to a key", refused, withHeader({ crit: ["cnf"], cnf: { jkt: "x" } })],
    ["an empty crit", refused, withHeader({ crit: [] })],
    ["crit that is a text", refused, withHeader({ crit: "alg" })],
    ["crit that is null", refused, withHeader({ crit: null })],
    ["crit that is false", refused, withHeader({ crit: false })],
    ["unencoded claims (7797)", refused, withHeader({ b64: false, crit: ["b64"] })],
    ["typ JWT", refused, withHeader({ typ: "JWT" })],
    ["no typ", refused, withHeader({ typ: undefined })],
    ["typ null", refused, withHeader({ typ: null })],
    ["typ of another kind of token", refused, withHeader({ typ: "secevent+jwt" })],
    ["typ of a client assertion", refused, withHeader({ typ: "client-authentication+jwt" })],
    ["typ with a parameter", refused, withHeader({ typ: "at+jwt;charset=utf-8" })],
    ["typ with a blank", refused, withHeader({ typ: " at+jwt" })],
    ["typ of another tree", refused, withHeader({ typ: "text/at+jwt" })],
    ["typ application/at+jwt", accepted, withHeader({ typ: "application/at+jwt" })],
    ["typ in capitals", accepted, withHeader({ typ: "AT+JWT" })],
    [
      "members that mean nothing here",
      accepted,
      withHeader({ zip: "DEF", cty: "JWT", x: 1, enc: "A128GCM" }),
    ],
    [
      "the address of a key, which nobody asks",
      accepted,
      withHeader({ jku: "https://evil.example/", x5u: "x" }),
    ],
    [
      "alg twice, the last one right",
      accepted,
      ({ header, claims }) => writeToken(before('"alg":"none"', header), claims, sign),
    ],
    [
      "alg twice, the last one wrong",
      refused,
      ({ header, claims }) => writeToken(behind(header, '"alg":"none"'), claims, sign),
    ],
    [
      "kid twice, the last one wrong",
      refused,
      ({ header, claims }) => writeToken(behind(header, '"kid":"x"'), claims, sign),
    ],
    [
      "typ twice, the last one wrong",
      refused,
      ({ header, claims }) => writeToken(behind(header, '"typ":"JWT"'), claims, sign),
    ],
    [
      "crit behind a prototype",
      accepted,
      ({ header, claims }) => writeToken(before('"__proto__":{"crit":["x"]}', header), claims, sign),
    ],
    [
      "typ behind a prototype",
      refused,
      ({ header, claims }) =>
        writeToken(before('"__proto__":{"typ":"at+jwt"}', { ...header, typ: undefined }), claims, sign),
    ],
    [
      "blanks in the JSON",
      accepted,
      ({ header, claims }) => writeToken(` ${JSON.stringify(header, null, 2)}\n`, claims, sign),
    ],
    [
      "names in escapes",
      accepted,
      ({ header, claims }) => writeToken(text(header).replace('"alg"', String.raw`"\u0061lg"`), claims, sign),
    ],
    [
      "a value in escapes",
      accepted,
      ({ header, claims }) =>
        writeToken(text(header).replace('"ES256"', String.raw`"\u0045S256"`), claims, sign),
    ],
    ["a byte order mark", refused, ({ header, claims }) => writeToken(`\ufeff${text(header)}`, claims, sign)],
    [
      "a comma too many",
      refused,
      ({ header, claims }) => writeToken(text(header).replace("}", ",}"), claims, sign),
    ],
    ["a comment", refused, ({ header, claims }) => writeToken(`/**/${text(header)}`, claims, sign)],
    ["a list", refused, ({ header, claims }) => writeToken(`[${text(header)}]`, claims, sign)],
    ["text", refused, ({ header, claims }) => writeToken(JSON.stringify(text(header)), claims, sign)],
    ["null", refused, ({ claims }) => writeToken("null", claims, sign)],
    ["nothing", refused, ({ claims }) => writeToken("", claims, sign)],
  ])("%s: %j", async (_, expected, write) => {
    const asked = server.asked.length;
    expect(await verdictsOn(write(own))).toEqual(expected);
    expect(server.asked.slice(asked).filter((line) => line !== "GET /login/jwks")).toEqual(
      expect.not.arrayContaining([expect.stringContaining("evil")]),
    );
  });
});

describe("parts that are no base64url, though the right key has signed them (RFC 7515 §2, §5.2; 7519 §7.2)", () => {
  it.each<readonly [string, (genuine: Genuine) => string]>([
    ["unused bits in the header", ({ header, claims }) => signed(loose(text(header)), part(claims))],
    ["unused bits in the claims", ({ header, claims }) => signed(part(header), loose(text(claims)))],
    [
      "a sign of no alphabet in the header",
      ({ header, claims }) => signed(part(header).replace(/^./, "$&~"), part(claims)),
    ],
    [
      "a sign of no alphabet in the claims",
      ({ header, claims }) => signed(part(header), part(claims).replace(/^./, "$&~")),
    ],
    [
      "base64 in the claims",
      ({ header, claims }) =>
        signed(
          part(header),
          part({ ...claims, x: "???>>>" })
            .replaceAll("_", "/")
            .replaceAll("-", "+"),
        ),
    ],
    [
      "claims that are no UTF-8",
      ({ header, claims }) =>
        signed(part(header), Buffer.from(text({ ...claims, x: "\u00e9" }), "latin1").toString("base64url")),
    ],
    [
      "a header that is no UTF-8",
      ({ header, claims }) =>
        signed(Buffer.from(text({ ...header, x: "\u00e9" }), "latin1").toString("base64url"), part(claims)),
    ],
    [
      "claims in UTF-16",
      ({ header, claims }) =>
        signed(part(header), Buffer.from(text(claims), "utf16le").toString("base64url")),
    ],
    [
      "claims behind a byte order mark",
      ({ header, claims }) => signed(part(header), part(`\ufeff${text(claims)}`)),
    ],
    ["a token inside a token", ({ header, token }) => signed(part({ ...header, cty: "JWT" }), part(token))],
    ["claims that are a list", ({ header, claims }) => signed(part(header), part(`[${text(claims)}]`))],
  ])("%s", async (_, write) => {
    expect(await verdictsOn(write(own))).toEqual(refused);
  });
});

const wrongTypes = [null, true, 7, "", [], {}, ["x"], { x: 1 }, [null]] as const;
/** What is wrong for each claim. A text that says something else is a matter of other tests. */
const wrong: Readonly<Record<string, readonly unknown[]>> = {
  iss: [...wrongTypes, [issuedAt]],
  aud: [
    ...wrongTypes,
    ["https://api.example/orders", "https://api.example/files"],
    "https://api.example/orders/",
  ],
  sub: wrongTypes.filter((value) => value !== ""),
  client_id: wrongTypes.filter((value) => value !== ""),
  jti: wrongTypes.filter((value) => value !== ""),
  iat: wrongTypes.filter((value) => value !== 7),
  exp: wrongTypes,
  scope: wrongTypes.filter((value) => value !== ""),
  authorization_id: wrongTypes.filter((value) => value !== ""),
};

describe("claims of a wrong type, though the right key has signed them (RFC 9068 §2.2, §4; 7519 §4.1)", () => {
  it.each(Object.entries(wrong))("%s that is one of %j", async (name, values) => {
    for (const value of values)
      expect([value, await verdictsOn(withClaims({ [name]: value })(own))]).toEqual([value, refused]);
    const twice = writeToken(own.header, behind(own.claims, `"${name}":null`), sign);
    expect(await verdictsOn(twice)).toEqual(refused);
  });

  it.each<readonly [string, unknown, Written]>([
    ["exp at this moment", refused, withClaims({ exp: issuedAt })],
    ["exp a moment ago", refused, withClaims({ exp: issuedAt - 0.001 })],
    ["exp in a second", accepted, withClaims({ exp: issuedAt + 1 })],
    ["exp in half a second", accepted, withClaims({ exp: issuedAt + 0.5 })],
    ["exp as text", refused, withClaims({ exp: String(issuedAt + 600) })],
    [
      "exp with an exponent",
      accepted,
      ({ header, claims }) => writeToken(header, behind(claims, '"exp":1.9e9'), sign),
    ],
    ["exp in milliseconds", accepted, withClaims({ exp: (issuedAt + 600) * 1000 })],
    [
      "exp beyond numbers",
      refused,
      ({ header, claims }) => writeToken(header, behind(claims, '"exp":1e999'), sign),
    ],
    [
      "exp below numbers",
      refused,
      ({ header, claims }) => writeToken(header, behind(claims, '"exp":-1e999'), sign),
    ],
    ["exp minus one", refused, withClaims({ exp: -1 })],
    ["exp zero", refused, withClaims({ exp: 0 })],
    ["no exp", refused, withClaims({ exp: undefined })],
    [
      "exp behind a prototype",
      refused,
      ({ header, claims }) =>
        writeToken(header, behind({ ...claims, exp: undefined }, '"__proto__":{"exp":9999999999}'), sign),
    ],
    ["nbf in a second", refused, withClaims({ nbf: issuedAt + 1 })],
    ["nbf as text", refused, withClaims({ nbf: "0" })],
    // RFC 7519 §4.1.6 and RFC 9068 §4 have no rule about the future: the clock of the server that issued it may be ahead
    ["iat in the future", accepted, withClaims({ iat: issuedAt + 60 })],
    ["iat as a fraction", accepted, withClaims({ iat: issuedAt - 0.5 })],
  ])("%s: %j", async (_, expected, write) => {
    expect(await verdictsOn(write(own))).toEqual(expected);
  });
});

async function statusOf(assertion: string): Promise<number> {
  return (await tokenBy(keyedHost(), { assertion })).status;
}

describe("client assertions (RFC 7523 §3, 7515 §5.2, 8725 §3)", () => {
  const es = privateKeys["ES256"];
  const attackers = attackersKeys["ES256"];
  if (!es || !attackers) throw new Error("a key is missing");
  const signedAs = (header: string, claims: string): string =>
    `${header}.${claims}.${signatureOf(`${header}.${claims}`, { alg: "ES256", key: es }).toString("base64url")}`;
  const good = (): string => text(goodClaims());
  const header = text({ alg: "ES256" });

  it("refuses every algorithm by an attacker's key", async () => {
    for (const [alg, each] of Object.entries(attackersKeys)) {
      const written = `${part({ alg })}.${part(good())}`;
      expect([alg, await statusOf(`${written}.${signAs(alg, each)(written).toString("base64url")}`)]).toEqual(
        [alg, 401],
      );
    }
  });

  it("refuses an alg that means nothing, with the right signature and with none", async () => {
    for (const alg of meaningless) {
      expect([alg, await statusOf(signedAs(part({ alg }), part(good())))]).toEqual([alg, 401]);
      expect([alg, await statusOf(`${part({ alg })}.${part(good())}.`)]).toEqual([alg, 401]);
    }
  });

  it("refuses keys that the header names", async () => {
    for (const [name, members] of Object.entries(foreignKeys(attackers)))
      expect([name, await statusOf(assertionOf({ key: attackers, header: members }))]).toEqual([name, 401]);
  });

  it("refuses each writing by somebody without the key", async () => {
    for (const [name, assertion] of Object.entries(rewritings(assertionOf())))
      expect([name, await statusOf(assertion)]).toEqual([name, 401]);
  });

  it.each<readonly [string, number, () => string]>([
    ["as it should be", 200, () => signedAs(part(header), part(good()))],
    ["unused bits in the header", 401, () => signedAs(loose(header), part(good()))],
    ["unused bits in the claims", 401, () => signedAs(part(header), loose(good()))],
    ["a sign of no alphabet", 401, () => signedAs(part(header), part(good()).replace(/^./, "$&~"))],
    ["padding behind the header", 401, () => signedAs(`${part('{"alg":"ES256" }')}=`, part(good()))],
    ["a line break in the claims", 401, () => signedAs(part(header), part(good()).replace(/^./, "$&\n"))],
    [
      "claims that are no UTF-8",
      401,
      () =>
        signedAs(
          part(header),
          Buffer.from(text(goodClaims({ x: "\u00e9" })), "latin1").toString("base64url"),
        ),
    ],
    ["a byte order mark", 401, () => signedAs(part(header), part(`\ufeff${good()}`))],
    ["blanks and escapes", 200, () => signedAs(part(String.raw` {"\u0061lg" : "ES256"}`), part(good()))],
    [
      "alg twice, the last one right",
      200,
      () => signedAs(part('{"alg":"none","alg":"ES256"}'), part(good())),
    ],
    [
      "alg twice, the last one wrong",
      401,
      () => signedAs(part('{"alg":"ES256","alg":"none"}'), part(good())),
    ],
    ["alg behind a prototype", 401, () => signedAs(part('{"__proto__":{"alg":"ES256"}}'), part(good()))],
    [
      "sub twice, the last one another's",
      401,
      () => signedAs(part(header), part(behind(goodClaims(), '"sub":"web"'))),
    ],
    [
      "jti behind a prototype",
      401,
      () => signedAs(part(header), part(behind(goodClaims({ jti: undefined }), '"__proto__":{"jti":"x"}'))),
    ],
    ["exp beyond numbers", 401, () => signedAs(part(header), part(behind(goodClaims(), '"exp":1e999')))],
    // what counts is five minutes from iat
    ["exp in milliseconds", 200, () => assertionOf({ claims: { exp: (issuedAt + 60) * 1000 } })],
    [
      "exp in milliseconds, without iat",
      401,
      () => assertionOf({ claims: { iat: undefined, exp: (issuedAt + 60) * 1000 } }),
    ],
    [
      "iat and exp in milliseconds",
      401,
      () => assertionOf({ claims: { iat: issuedAt * 1000, exp: (issuedAt + 60) * 1000 } }),
    ],
    ["exp as text", 401, () => assertionOf({ claims: { exp: String(issuedAt + 60) } })],
    [
      "exp at the end of what clocks may differ by",
      401,
      () => assertionOf({ claims: { iat: undefined, exp: issuedAt - 30 } }),
    ],
    ["exp just inside it", 200, () => assertionOf({ claims: { iat: undefined, exp: issuedAt - 29 } })],
    ["iat ahead by what clocks may differ by", 200, () => assertionOf({ claims: { iat: issuedAt + 30 } })],
    ["iat beyond it", 401, () => assertionOf({ claims: { iat: issuedAt + 31 } })],
    ["nbf beyond it", 401, () => assertionOf({ claims: { nbf: issuedAt + 31 } })],
    [
      "an aud of two issuers",
      401,
      () => assertionOf({ claims: { aud: [goodClaims()["aud"], "https://evil.example"] } }),
    ],
    ["a crit", 401, () => assertionOf({ header: { crit: [] } })],
    ["unencoded claims", 401, () => assertionOf({ header: { b64: false, crit: ["b64"] } })],
    ["the typ of an access token", 401, () => assertionOf({ header: { typ: "at+jwt" } })],
  ])("%s: %i", async (_, expected, write) => {
    expect(await statusOf(write())).toBe(expected);
  });
});
