/** What some standard asks for, though no host need change it: rules with their ids. RFC 9700 §2; OAuth 2.1; FAPI 2.0 Security Profile §5.3. */
import { scopesOf } from "../pages/identity-scopes";
import { isKeyClient } from "../protocol/client";
import { codesOverAMinute, type Find, inApis, inClients, option, subscriptions } from "./find";

/** The id of such a rule. It never changes its meaning. */
export type StandardCode =
  | "authorization-codes-over-a-minute"
  | "access-tokens-over-an-hour"
  | "token-endpoint-audience-of-strangers"
  | "consent-by-host"
  | "public-client"
  | "client-secret"
  | "client-with-all-grants"
  | "client-with-all-scopes";

/** What is so, and where. It only matters to a standard. */
export interface StandardRule {
  /** The end of a sentence that begins with the option's path. It quotes no secret and no key. */
  readonly problem: string;
  readonly find: Find;
}

/** The rules, in the order in which they are told. */
export const standardRules: Readonly<Record<StandardCode, StandardRule>> = {
  "authorization-codes-over-a-minute": { problem: "is more than 60 seconds", find: codesOverAMinute },
  "access-tokens-over-an-hour": {
    problem: "is more than 3600 seconds",
    find: inApis(({ accessTokenSeconds = 0 }) => (accessTokenSeconds > 3_600 ? ["accessTokenSeconds"] : [])),
  },
  "token-endpoint-audience-of-strangers": {
    // what its function answers cannot be seen beforehand
    problem: "may accept assertions for the token endpoint",
    find: inApis(({ clientMetadataDocuments: on }) => (on ? ["clientMetadataDocuments"] : [])),
  },
  "consent-by-host": {
    problem: "may say yes without asking the person",
    find: option("consent", ({ consent }) => consent !== undefined),
  },
  "public-client": {
    problem: "is false",
    find: inClients(({ confidential }) => (confidential ? [] : ["confidential"])),
  },
  "client-secret": {
    problem: "means that it sends a secret",
    find: inClients((client) => (client.confidential && !isKeyClient(client) ? ["secretDigests"] : [])),
  },
  "client-with-all-grants": {
    problem: "names no grantTypes, which means all",
    find: subscriptions(({ grantTypes }, _, { confidential }) => confidential && grantTypes === undefined),
  },
  "client-with-all-scopes": {
    problem: "names no scopes, which means all",
    find: subscriptions(
      ({ scopes }, api) => scopes === undefined && api !== undefined && Object.keys(scopesOf(api)).length > 1,
    ),
  },
};
