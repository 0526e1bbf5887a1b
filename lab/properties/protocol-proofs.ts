/** How clients of the protocol model prove themselves, by a secret or an assertion, and their keys. RFC 6749 §2.3.1; 7523 §2.2; 9449 §4.2. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import type { Fields } from "../../__tests__/browser/browser";
import { type ProofChanges, proofOf } from "../../__tests__/requests/dpop-proofs";
import { hostParties, type Party, strayKey } from "./protocol-clients";
import type { Caller, KeyName } from "./protocol-steps";

/** Who asks, and how they prove it. */
export interface Credentials extends Pick<Caller, "proof" | "by"> {
  readonly client: Party;
  /** The key that is proved. */
  readonly proves?: KeyName | undefined;
}

/** Where an assertion is for, and when it is signed. */
interface Signing {
  readonly key: KeyObject;
  readonly id: string;
  readonly audience: string;
  readonly now: number;
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function assertionBy({ key, id, audience, now }: Signing): string {
  const claims = { iss: id, sub: id, aud: audience, jti: randomUUID(), iat: now, exp: now + 60 };
  const signed = `${part({ alg: "ES256" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

const keys: Readonly<Record<KeyName, KeyObject>> = {
  first: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  second: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
};

/** What names this key (RFC 7638 §3). */
export function thumbprintOf(name: KeyName): string {
  const { crv, kty, x, y } = keys[name].export({ format: "jwk" });
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

/** The header with a new proof of this key, if it is one (RFC 9449 §4.1). */
export function proofHeader(
  name: KeyName | undefined,
  request: Pick<ProofChanges, "method" | "url" | "token">,
): { readonly DPoP?: string } {
  return name ? { DPoP: proofOf({ ...request, key: keys[name] }) } : {};
}

/** A secret that is not this client's. */
const wrongSecret = `${(hostParties.get("web")?.secret ?? "").slice(0, -4)}0000`;

/** What Basic sends (RFC 6749 §2.3.1). */
export function basicOf({ client: { id, secret }, proof }: Credentials): string {
  const sent = proof === "right" ? (secret ?? wrongSecret) : wrongSecret;
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${sent}`).toString("base64")}`;
}

/**
 * What the form sends. A wrong proof is a wrong secret, any secret of a public client, or a signature with another key. `used` and
 * `for another` are assertions, whoever sends them; the caller uses up the former.
 */
export function formProof(
  { client, proof }: Credentials,
  at: { readonly issuer: string; readonly another: string; readonly now: number },
): Fields {
  const { id, secret, key } = client;
  const isAssertion = key !== undefined || proof === "used" || proof === "for another";
  if (isAssertion) {
    const signer = proof === "wrong" ? strayKey : (key ?? strayKey);
    const audience = proof === "for another" ? at.another : at.issuer;
    return {
      client_id: id,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: assertionBy({ key: signer, id, audience, now: at.now }),
    };
  }
  const sent = proof === "right" ? secret : wrongSecret;
  return { client_id: id, ...(sent !== undefined && { client_secret: sent }) };
}
