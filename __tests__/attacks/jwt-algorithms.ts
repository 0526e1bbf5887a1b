/** Every algorithm that a JWT may name, with keys of an attacker, and the ways to write a JWT otherwise without its key. */
import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { type Json, type Sign, tokenPart } from "../requests/forged-tokens";

const ec = (namedCurve: string): KeyObject => generateKeyPairSync("ec", { namedCurve }).privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

/** The curve of each ECDSA algorithm. */
const curves: Readonly<Record<string, string>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  ES256K: "secp256k1",
};

/** New private keys, by algorithm, that nobody else has. */
export const attackersKeys: Readonly<Record<string, KeyObject>> = {
  ...Object.fromEntries(Object.entries(curves).map(([alg, curve]) => [alg, ec(curve)])),
  ...Object.fromEntries(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((alg) => [alg, rsa] as const),
  ),
  EdDSA: generateKeyPairSync("ed25519").privateKey,
  Ed25519: generateKeyPairSync("ed25519").privateKey,
  Ed448: generateKeyPairSync("ed448").privateKey,
};

/** The names of all asymmetric algorithms. */
export const asymmetric: readonly string[] = Object.keys(attackersKeys);

/** The names of the symmetric ones. */
export const symmetric = ["HS256", "HS384", "HS512"] as const;

/** Names that mean no signature, or nothing at all. */
export const meaningless: readonly unknown[] = [
  "none",
  "None",
  "NONE",
  "nOnE",
  " none",
  "none\u0000",
  "",
  "es256",
  "ES256 ",
  "ES-256",
  "SHA256",
  "A128KW",
  "RSA1_5",
  "RSA-OAEP",
  "dir",
  "ECDH-ES",
  "ML-DSA-44",
  "__proto__",
  "constructor",
  "toString",
  null,
  0,
  1,
  true,
  [],
  ["ES256"],
  ["none"],
  {},
  { alg: "ES256" },
];

/** Signs as this algorithm says, with any key of the right type. */
export function signAs(alg: string, key: KeyObject | string | Buffer): Sign {
  const hash = `sha${/\d{3}/.exec(alg)?.[0] ?? "256"}`;
  return (input) => {
    const data = Buffer.from(input);
    if (alg.startsWith("HS")) return createHmac(hash, key).update(data).digest();
    if (typeof key === "string" || Buffer.isBuffer(key)) throw new Error(`${alg} needs a private key`);
    if (alg.startsWith("Ed")) return sign(undefined, data, key);
    if (alg.startsWith("ES")) return sign(hash, data, { key, dsaEncoding: "ieee-p1363" });
    if (alg.startsWith("RS")) return sign(hash, data, key);
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    return sign(hash, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  };
}

/** The texts of a public key that a careless server could take for the secret of an HMAC. */
export function publicTexts(key: KeyObject): Readonly<Record<string, string | Buffer>> {
  const publicKey = createPublicKey(key);
  const pem = publicKey.export({ type: "spki", format: "pem" }) as string;
  const jwk = publicKey.export({ format: "jwk" });
  return {
    PEM: pem,
    "PEM without its last line break": pem.trimEnd(),
    "PEM in one line": pem.replaceAll("\n", ""),
    DER: publicKey.export({ type: "spki", format: "der" }),
    JWK: JSON.stringify(jwk),
    "a member of the JWK": String(jwk.x ?? jwk.n),
    "an empty text": "",
  };
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The text with other unused bits in its last character, when there are any. */
function otherLastCharacter(part: string): string {
  const bytes = Buffer.from(part, "base64url");
  const other = alphabet.split("").find((last) => {
    const text = part.slice(0, -1) + last;
    return text !== part && Buffer.from(text, "base64url").equals(bytes);
  });
  return other === undefined ? `${part}.` : part.slice(0, -1) + other;
}

function flipped(part: string): string {
  const bytes = Buffer.from(part, "base64url");
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  return bytes.toString("base64url");
}

const join = (...parts: readonly string[]): string => parts.join(".");

/** A JWT written otherwise by somebody who does not have its key. None of these may count. */
export function rewritings(token: string): Readonly<Record<string, string>> {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const half = bytes.length >> 1;
  const write = (changed: Buffer): string => join(header, claims, changed.toString("base64url"));
  return {
    "without signature": join(header, claims, ""),
    "without signature and dot": join(header, claims),
    "without claims": join(header, "", signature),
    "without header": join("", claims, signature),
    "header alone": header,
    "four parts": join(header, claims, signature, ""),
    "four parts, one twice": join(header, claims, signature, signature),
    "five parts, as of a JWE": join(header, "", claims, signature, signature),
    "a dot in front": `.${token}`,
    "a dot behind": `${token}.`,
    twice: `${token}.${token}`,
    "parts exchanged": join(claims, header, signature),
    "header twice": join(header, header, signature),
    "a changed bit in the header": join(flipped(header), claims, signature),
    "a changed bit in the claims": join(header, flipped(claims), signature),
    "a changed bit in the signature": join(header, claims, flipped(signature)),
    "other unused bits in the signature": join(header, claims, otherLastCharacter(signature)),
    "other unused bits in the header": join(otherLastCharacter(header), claims, signature),
    "other unused bits in the claims": join(header, otherLastCharacter(claims), signature),
    "padding behind the signature": `${token}=`,
    "more padding": `${token}==`,
    "padding behind the header": join(`${header}=`, claims, signature),
    "a sign that base64url does not have": join(header, claims, `${signature}~`),
    "one in the middle": join(header, claims, `${signature.slice(0, 9)}~${signature.slice(9)}`),
    "a signature in base64": join(header, claims, bytes.toString("base64")),
    "a signature in hexadecimal": join(header, claims, bytes.toString("hex")),
    "a longer signature": write(Buffer.concat([bytes, Buffer.from([0])])),
    "a longer signature in front": write(Buffer.concat([Buffer.from([0]), bytes])),
    "a shorter signature": write(bytes.subarray(0, -1)),
    "a signature of one byte": write(bytes.subarray(0, 1)),
    "half a signature": write(bytes.subarray(0, half)),
    "halves exchanged": write(Buffer.concat([bytes.subarray(half), bytes.subarray(0, half)])),
    zeros: write(Buffer.alloc(bytes.length)),
    "r is zero": write(Buffer.concat([Buffer.alloc(half), bytes.subarray(half)])),
    "s is zero": write(Buffer.concat([bytes.subarray(0, half), Buffer.alloc(half)])),
    ones: write(Buffer.alloc(bytes.length, 255)),
    one: write(Buffer.concat([Buffer.alloc(bytes.length - 1), Buffer.from([1])])),
    "a huge signature": write(Buffer.alloc(4_000, 1)),
    "a huge header": join(tokenPart({ alg: "none", x: "x".repeat(4_000) }), claims, signature),
    "JSON serialization": Buffer.from(
      JSON.stringify({ protected: header, payload: claims, signature }),
    ).toString("base64url"),
    "nested in a JWT without signature": join(tokenPart({ alg: "none", cty: "JWT" }), tokenPart(token), ""),
    "the signature of the claims alone": join("", claims, signature),
  };
}

/** Headers that name a key of the sender, or ask for one to be fetched. */
export function foreignKeys(key: KeyObject): Readonly<Record<string, Json>> {
  const jwk = createPublicKey(key).export({ format: "jwk" });
  return {
    jwk: { jwk },
    "jwk and no kid": { jwk, kid: undefined },
    "jwk with a private key": { jwk: key.export({ format: "jwk" }) },
    "a list of jwk": { jwk: [jwk] },
    jwks: { jwks: { keys: [jwk] } },
    jku: { jku: "https://evil.example/jwks" },
    "jku of a data: URL": { jku: `data:application/json,${JSON.stringify({ keys: [jwk] })}` },
    "jku of a file": { jku: "file:///dev/null" },
    "jku that begins like the server": { jku: "https://host.example@evil.example/jwks" },
    "jku of the server's logs": { jku: "https://host.example/login/../uploads/jwks" },
    x5u: { x5u: "https://evil.example/x5u" },
    x5c: { x5c: ["MIIB"] },
    x5t: { x5t: "AAAA", "x5t#S256": "AAAA" },
    "a kid that is a path": { kid: "../../../../dev/null" },
    "a kid that is a URL": { kid: "https://evil.example/key" },
    "a kid that is SQL": { kid: "x' UNION SELECT 'secret" },
    "a kid that is a command": { kid: "x|id" },
    "a kid that is LDAP": { kid: "*)(uid=*" },
    "a kid that every object has": { kid: "__proto__" },
    "a kid that is a method": { kid: "hasOwnProperty" },
    "a kid with a NUL": { kid: "\u0000" },
    "a kid that is very long": { kid: "k".repeat(3_000) },
    "a kid that is empty": { kid: "" },
    "a kid that is a list": { kid: ["x"] },
    "a kid that is an object": { kid: { toString: "x" } },
    "a kid that is a number": { kid: 0 },
    "a kid that is null": { kid: null },
    "a kid that is true": { kid: true },
  };
}
