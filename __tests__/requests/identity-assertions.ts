/** A host where an identity provider vouches for people, and requests of clients with its assertions. */
import type { Response } from "supertest";
import { assertionGrant } from "../../lib/protocol/client";
import type { AuthServerOptions, Client, IdentityAssertions } from "../../lib";
import type { Fields } from "../browser/browser";
import type { Pair } from "../hosts/apis";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { signedOut, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import type { IdentityProvider } from "../servers/identity-provider";
import { postToken } from "./client-requests";
import { refusal } from "./json-answers";

/** The one answer to an assertion that buys nothing. */
export const invalidAssertion = refusal(
  400,
  "invalid_grant",
  "The assertion is invalid, expired, used or not for this client.",
);

const grantTypes = ["authorization_code", "refresh_token", assertionGrant] as const;

/** `web` and `other` may present assertions at orders and files, `spa` and `native` ask in vain. */
export const vouchedClients: readonly Client[] = Object.values(clients).map((client: Client) => ({
  ...client,
  subscriptions: { orders: { grantTypes }, files: { grantTypes }, reports: { grantTypes } },
}));

/** Who is who: the subject at the provider without what stands before the dash. */
export const acceptEverybody: IdentityAssertions["accept"] = ({ subject }) => ({
  kind: "authenticated",
  subject: subject.replace(/^.*-/, ""),
});

const authenticate = () => signedOut;

/** The authentication methods of the test host, with the provider at `password`. */
export function methodsWith(
  provider: Pick<IdentityProvider, "listed">,
  accept: IdentityAssertions["accept"] = acceptEverybody,
): AuthServerOptions["authMethods"] {
  const identityAssertions = { issuers: provider.listed, accept };
  return { password: { authenticate, identityAssertions }, otp: { authenticate }, sso: { authenticate } };
}

/** A host whose method `password` has the provider. */
export function vouchedHost(
  provider: Pick<IdentityProvider, "listed">,
  { accept, ...options }: TestHostOptions & { readonly accept?: IdentityAssertions["accept"] } = {},
): TestHost {
  return testHost({
    clients: vouchedClients,
    authMethods: methodsWith(provider, accept),
    insecureLoopbackClients: true,
    ...options,
  });
}

/** Presents an assertion. */
export function present(
  host: TestHost,
  {
    assertion,
    client = "web",
    fields,
    pair = {},
  }: { assertion: string; client?: ClientName; fields?: Fields; pair?: Pair },
): Promise<Response> {
  const sent = { grant_type: assertionGrant, assertion, ...credentials(client), ...fields };
  return postToken(host, { pair, fields: sent });
}
