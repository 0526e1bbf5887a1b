/** The options that weaken what a standard asks for: found by the rules about weak options, and by limits that only a standard has. */
import type { ApiOptions } from "../options/options";
import { resolveLifetimes } from "../options/resolve";
import { type Client, isKeyClient } from "../protocol/client";
import type { Facts, Weakener, Weakening } from "./requirement";

/** What the rules about weak options have found, if it is of this kind. */
function foundBy(option: string, isMeant: (found: Weakening) => boolean): Weakener {
  return {
    option,
    find: ({ weaknesses }) => weaknesses.filter(isMeant).map(({ path, problem }) => ({ path, problem })),
  };
}

/** What they have found at these paths. */
function foundAt(option: string, paths: RegExp): Weakener {
  return foundBy(option, ({ path }) => paths.test(path));
}

/** `baseUrl` or an audience is http, on this machine. */
export const plainHttp: Weakener = foundBy(
  "baseUrl or audience with http",
  ({ path, problem }) => /^(?:baseUrl|apis\..+\.audience)$/.test(path) && problem.startsWith("is http"),
);

/** Records are lost at a restart, or may be lost with a crash of the database. */
export const memoryStorage: Weakener = foundAt(
  "storage in memory, or in a database that may lose what it has acknowledged",
  /^storage/,
);

/** Secrets that somebody may guess. */
export const guessableSecrets: Weakener = foundAt("secrets that look chosen", /^secrets\.\d+$/);

/** Each start makes a secret of its own. */
export const temporarySecrets: Weakener = foundAt("no secrets", /^secrets$/);

/** Each start makes a key of its own. */
export const temporaryKeys: Weakener = foundAt("no signingKeys", /^signingKeys$/);

/** A revoked token is accepted for long. */
export const slowRevocation: Weakener = foundAt("long revocationLagSeconds", /^revocationLagSeconds$/);

/** Keys and documents of clients may be on this machine. */
export const loopbackFetches: Weakener = foundAt("insecureLoopbackClients", /^insecureLoopbackClients$/);

/** A refresh token may be used a second time for a while. */
export const refreshRetries: Weakener = foundAt("refreshRetrySeconds", /lifetimes\.refreshRetrySeconds$/);

/** Codes that live for long. */
export const longCodes: Weakener = foundAt(
  "long authorizationCodeSeconds",
  /lifetimes\.authorizationCodeSeconds$/,
);

/** Access tokens that live for long. */
export const longAccessTokens: Weakener = foundAt(
  "long accessTokenSeconds",
  /^apis\..+\.accessTokenSeconds$/,
);

/** Access tokens that live for more than the hour that RFC 6750 §5.3 advises. */
export const accessTokensOverAnHour: Weakener = {
  option: "accessTokenSeconds above 3600",
  find: ({ options }) =>
    Object.entries(options.apis).flatMap(([apiId, { accessTokenSeconds: seconds = 0 }]) => {
      const problem = `is ${seconds} seconds, more than 3600`;
      return seconds > 3_600 ? [{ path: `apis.${apiId}.accessTokenSeconds`, problem }] : [];
    }),
};

/** Sign-ins that can be finished long after they began. */
export const longInteractions: Weakener = foundAt(
  "long interactionSeconds",
  /lifetimes\.interactionSeconds$/,
);

/** Refresh tokens that live for long, used or not. */
export const longRefreshTokens: Weakener = foundAt(
  "long refreshTokenSeconds or refreshTokenIdleSeconds",
  /lifetimes\.refreshToken(?:Idle)?Seconds$/,
);

/** Consents that are remembered for long. */
export const longConsents: Weakener = foundAt("long consentSeconds", /lifetimes\.consentSeconds$/);

/** Schemes that two apps may have invented: of the server and of clients. */
export const inventedSchemes: Weakener = foundBy(
  "redirectSchemes",
  ({ path, problem }) => path === "redirectSchemes" || problem === "has a scheme without a dot",
);

/** Clients that are no native apps, with an http redirect to the person's own machine. */
export const httpRedirects: Weakener = foundBy(
  "redirectUris with http of clients that are not native",
  ({ problem }) => problem === "is on the machine of whoever signs in",
);

/** Clients that nobody has registered are let in. */
export const strangers: Weakener = foundAt(
  "clientRegistration or clientMetadataDocuments",
  /\.(?:clientRegistration|clientMetadataDocuments)$/,
);

/** Clients for which nobody is asked. */
export const trustedClients: Weakener = foundAt(
  "trusted clients",
  /^client ".*": (?:subscriptions\..+\.)?trusted$/,
);

/** Secrets of clients that a person may have chosen. */
export const chosenSecrets: Weakener = foundAt(
  "secretDigests of secrets that a person chose",
  /^client ".*": secretDigests\.\d+$/,
);

/** Assertions that name the token endpoint count. */
export const foreignAssertions: Weakener = foundAt(
  "allowTokenEndpointAudience",
  /^client ".*": allowTokenEndpointAudience$/,
);

/** The same for clients with a metadata document, where the host's policy says so. What it answers cannot be seen beforehand. */
export const foreignAssertionsOfStrangers: Weakener = {
  option: "clientMetadataDocuments",
  find: ({ options }) =>
    Object.entries(options.apis).flatMap(([apiId, { clientMetadataDocuments }]) =>
      clientMetadataDocuments
        ? [
            {
              path: `apis.${apiId}.clientMetadataDocuments`,
              problem: "may accept assertions for the token endpoint",
            },
          ]
        : [],
    ),
};

/** A request may leave out where the answer goes. */
export const optionalRedirectUri: Weakener = foundAt("redirectUri", /^apis\..+\.redirectUri$/);

/** The host answers for its people. */
export const consentByHost: Weakener = {
  option: "consent",
  find: ({ options }) =>
    options.consent ? [{ path: "consent", problem: "may say yes without asking the person" }] : [],
};

function codePath(apiId: string, { lifetimes }: ApiOptions): string {
  const isOwn = lifetimes?.authorizationCodeSeconds !== undefined;
  return isOwn ? `apis.${apiId}.lifetimes.authorizationCodeSeconds` : "lifetimes.authorizationCodeSeconds";
}

/** Codes that live longer than a standard allows. */
export function codesLongerThan(most: number): Weakener {
  return {
    option: `authorizationCodeSeconds above ${most}`,
    find: ({ options }) =>
      Object.entries(options.apis).flatMap(([apiId, api]) => {
        const { authorizationCodeSeconds: seconds } = resolveLifetimes(options, api);
        const problem = `is ${seconds} seconds, more than ${most}`;
        return seconds > most ? [{ path: codePath(apiId, api), problem }] : [];
      }),
  };
}

function ofClients(
  option: string,
  rule: (client: Client, options: Facts["options"]) => readonly Weakening[],
): Weakener {
  return {
    option,
    find: ({ clients, options }) =>
      clients.flatMap((client) =>
        rule(client, options).map(({ path, problem }) => ({
          path: `client "${client.clientId}": ${path}`,
          problem,
        })),
      ),
  };
}

/** Clients without a secret and without a key. */
export const publicClients: Weakener = ofClients("public clients", ({ confidential }) =>
  confidential ? [] : [{ path: "confidential", problem: "is false" }],
);

/** Clients that prove themselves with a secret. */
export const clientsWithSecrets: Weakener = ofClients("clients with a secret", (client) =>
  client.confidential && !isKeyClient(client)
    ? [{ path: "secretDigests", problem: "means that it sends a secret" }]
    : [],
);

/** Clients that may use every grant of their kind, needed or not. */
export const allGrants: Weakener = ofClients(
  "confidential clients without grantTypes",
  ({ confidential, subscriptions }) =>
    Object.entries(subscriptions)
      .filter(([, { grantTypes }]) => confidential && grantTypes === undefined)
      .map(([apiId]) => ({
        path: `subscriptions.${apiId}`,
        problem: "names no grantTypes, which means all",
      })),
);

/** Clients that may ask for every scope, needed or not. */
export const allScopes: Weakener = ofClients("clients without scopes", ({ subscriptions }, { apis }) =>
  Object.entries(subscriptions)
    .filter(([apiId, { scopes }]) => {
      const api = Object.hasOwn(apis, apiId) ? apis[apiId] : undefined;
      return scopes === undefined && api !== undefined && Object.keys(api.scopes).length > 1;
    })
    .map(([apiId]) => ({ path: `subscriptions.${apiId}`, problem: "names no scopes, which means all" })),
);
