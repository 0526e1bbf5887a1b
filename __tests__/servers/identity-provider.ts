/** An identity provider of a company on this machine, made with jose: it vouches for people, and serves its keys. */
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import type { PublicJwk } from "../../lib";
import { jwkOf } from "../requests/client-assertions";
import { issuer as password } from "../hosts/apis";
import { documentServer, type DocumentServer } from "./document-server";

/** What is different from a good assertion. A claim or a member that is undefined is left out. */
export interface IdentityChanges {
  readonly header?: object;
  readonly claims?: object;
  /** The key that signs, in place of the provider's own for `alg`. */
  readonly key?: KeyObject | Uint8Array;
}

/** The provider. */
export interface IdentityProvider {
  readonly server: DocumentServer;
  /** Its `iss`. */
  readonly issuer: string;
  /** What the host writes about it. */
  readonly listed: Readonly<Record<string, { readonly jwksUri: string }>>;
  /** The URLs of its keys that were asked for. */
  readonly asked: readonly string[];
  /** An assertion for the client `web` at the issuer of password and orders. */
  vouch(changes?: IdentityChanges): Promise<string>;
  /** A new key in place of that for ES256, with this `kid`. */
  rotate(kid: string): void;
  close(): Promise<void>;
}

const keysPath = "/keys";
interface Pair {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: PublicJwk;
}

function pair(keys: { privateKey: KeyObject; publicKey: KeyObject }, kid: string): Pair {
  return { kid, privateKey: keys.privateKey, jwk: jwkOf(keys.publicKey, { kid }) };
}

const ecPair = (kid: string): Pair => pair(generateKeyPairSync("ec", { namedCurve: "P-256" }), kid);
// made once: it takes long
const rsa = pair(generateKeyPairSync("rsa", { modulusLength: 2048 }), "rsa");

/** Starts one on a free port. */
export async function identityProvider(): Promise<IdentityProvider> {
  const server = await documentServer();
  const pairs: Record<string, Pair> = {
    ES256: ecPair("ec"),
    RS256: rsa,
    PS256: rsa,
    EdDSA: pair(generateKeyPairSync("ed25519"), "ed"),
  };
  const publish = (): void => {
    const keys = [...new Set(Object.values(pairs))].map(({ jwk }) => jwk);
    server.documents.set(keysPath, { body: { keys } });
  };
  publish();
  const issuer = server.url("");
  return {
    server,
    issuer,
    listed: { [issuer]: { jwksUri: server.url(keysPath) } },
    asked: server.asked,
    async vouch({ header, claims, key } = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = { alg: "ES256", typ: "oauth-id-jag+jwt", ...header } as { alg: string; kid?: string };
      const own = pairs[all.alg];
      const payload = {
        iss: issuer,
        sub: "U-alice",
        aud: password,
        client_id: "web",
        jti: randomUUID(),
        iat: now,
        exp: now + 300,
        ...claims,
      };
      return new SignJWT(JSON.parse(JSON.stringify(payload)) as object as Record<string, unknown>)
        .setProtectedHeader({ kid: own?.kid ?? "ec", ...all })
        .sign(key ?? own?.privateKey ?? new Uint8Array(32));
    },
    rotate(kid) {
      pairs["ES256"] = ecPair(kid);
      publish();
    },
    close: () => server.close(),
  };
}
