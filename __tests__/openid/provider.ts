/** The test host as an OpenID provider: people with claims at the API `orders`, and what a relying party does with an ID token. */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import {
  type AuthServerOptions,
  changeClient,
  type OpenIdOptions,
  type Storage,
  type WritableClients,
} from "../../lib";
import { apis, issuer } from "../hosts/apis";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";

/** A key for access tokens, and one for ID tokens. */
export const accessKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
/** RSA, as Core §15.1 asks for. */
export const idKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

/** All that the host knows of Alice. */
export const aliceClaims = {
  name: "Alice Adams",
  email: "alice@example.org",
  email_verified: true,
  phone_number: "+1 555 0100",
  phone_number_verified: false,
  address: { country: "NZ" },
  updated_at: 1_700_000_000,
  groups: ["staff"],
  salary: 100,
} as const;

/** What a test may change. */
export interface ProviderOptions extends TestHostOptions {
  readonly openid?: Partial<OpenIdOptions>;
  readonly api?: Partial<AuthServerOptions["apis"][string]>;
}

/** A host whose API `orders` has `openid`, with the scope `groups` of its own. */
export function provider({ openid, api, ...options }: ProviderOptions = {}): TestHost {
  const orders = apis["orders"] as AuthServerOptions["apis"][string];
  return testHost({
    signingKeys: [accessKey, idKey],
    apis: {
      ...apis,
      orders: {
        ...orders,
        scopes: { ...orders.scopes, groups: "See your groups" },
        ...api,
        openid: { claims: () => aliceClaims, scopes: { groups: ["groups"] }, ...openid },
      },
    },
    ...options,
  });
}

/** The claims of an ID token, checked as Core §3.1.3.7 says for the client `web`. */
export function readIdToken(
  token: string | undefined,
  { nonce, audience = "web" }: { nonce?: string; audience?: string } = {},
): jwt.JwtPayload {
  const checks = { algorithms: ["RS256" as const], issuer, audience, ...(nonce !== undefined && { nonce }) };
  return jwt.verify(token ?? "", createPublicKey(idKey), checks) as jwt.JwtPayload;
}

/** The host disables the client `web` in its table. */
export async function disableWeb({ storage }: { readonly storage: Storage }): Promise<void> {
  const table = storage.clients as Storage["clients"] & WritableClients;
  await changeClient(table, "web", (client) => ({ ...client, disabled: true }));
}
