/** What is weak about the clients that are known from the start, such as those of `memoryStorage`. RFC 8252 §7, §8; 9700 §2.1. */
import { listedClients } from "../clients/client-lookup";
import { type Client, isKeyClient, type KeyClient } from "../protocol/client";
import type { AuthServerOptions } from "./options";
import type { Weakness, WeaknessRule } from "./weakness";

type About = Omit<Weakness, "path">;

/** A rule about one client. */
type ClientRule = (
  client: Client,
  options: AuthServerOptions,
) => readonly (About & { readonly at: string })[];

const trusted: ClientRule = ({ trusted: everywhere, subscriptions }) => {
  const places = [
    ...(everywhere ? ["trusted"] : []),
    ...Object.entries(subscriptions).flatMap(([apiId, at]) =>
      at.trusted ? [`subscriptions.${apiId}.trusted`] : [],
    ),
  ];
  return places.map((at) => ({
    at,
    level: "note",
    problem: "is true",
    why: "People are not asked whether this client may act for them.",
    fix: "Write it for your own clients only.",
  }));
};

interface UriKind {
  readonly applies: (uri: string, client: Client) => boolean;
  readonly about: About;
}

const isHere = (uri: string): boolean =>
  /^http:\/\/(?:(?:[^/?]+\.)?localhost|127\.0\.0\.1|\[::1\])(?:[:/?]|$)/.test(uri);
const isNative = (client: Client): boolean => !client.confidential && client.platform === "native";

const uriKinds: readonly UriKind[] = [
  {
    applies: (uri, client) => isHere(uri) && !isNative(client),
    about: {
      level: "weak",
      problem: "is on the machine of whoever signs in",
      why: "Whatever program listens there gets the code.",
      fix: "In production, write the https address of the client. Only native clients are on the person's own machine.",
    },
  },
  {
    applies: (uri, client) => uri.startsWith("http://localhost") && isNative(client),
    about: {
      level: "note",
      problem: "names localhost",
      why: "The name may lead to another network interface than the client listens at (RFC 8252 §8.3).",
      fix: "Write http://127.0.0.1 or http://[::1], unless the client only knows localhost.",
    },
  },
  {
    applies: (uri, client) => isNative(client) && /^[^.:/]+:/.test(uri) && !/^https?:/.test(uri),
    about: {
      level: "weak",
      problem: "has a scheme without a dot",
      why: "Another app may have invented the same scheme, and then gets the code. PKCE keeps it from using the code.",
      fix: "Write a scheme that begins with a reversed domain name, such as com.example.app:/callback, or an https address.",
    },
  },
];

const redirects: ClientRule = (client) =>
  client.redirectUris.flatMap((uri, index) =>
    uriKinds
      .filter(({ applies }) => applies(uri, client))
      .map(({ about }) => ({ at: `redirectUris.${index}`, ...about })),
  );

const strayWords: ClientRule = ({ subscriptions }, { apis }) =>
  Object.entries(subscriptions).flatMap(([apiId, { scopes = [] }]) => {
    const at = `subscriptions.${apiId}`;
    const why = "It may be misspelt. The client gets nothing for it.";
    const weakness = { level: "weak", why } as const;
    const api = Object.hasOwn(apis, apiId) ? apis[apiId] : undefined;
    if (!api)
      return {
        ...weakness,
        at,
        problem: "is not an id in apis",
        fix: `Write one of: ${Object.keys(apis).join(", ")}.`,
      };
    const fix = `Write scopes of this API: ${Object.keys(api.scopes).join(", ")}.`;
    return scopes.every((scope) => Object.hasOwn(api.scopes, scope))
      ? []
      : { ...weakness, at: `${at}.scopes`, problem: "names a scope that the API does not have", fix };
  });

const chosenSecrets: ClientRule = (client) => {
  if (!client.confidential || isKeyClient(client)) return [];
  return client.secretDigests.flatMap((digest, index) =>
    digest.startsWith("scrypt:")
      ? {
          at: `secretDigests.${index}`,
          level: "note",
          problem: "is of a secret that a person may have chosen",
          why: "It may be guessed, and each check takes a tenth of a second.",
          fix: "Make a random one with: npx authmount client-secret.",
        }
      : [],
  );
};

const foreignAssertions: ClientRule = (client) =>
  client.confidential && (client as Partial<KeyClient>).allowTokenEndpointAudience
    ? [
        {
          at: "allowTokenEndpointAudience",
          level: "note",
          problem: "is true",
          why: "An assertion that was made for another server may count here.",
          fix: "Leave it out as soon as the client can send the issuer.",
        },
      ]
    : [];

const ofClient: readonly ClientRule[] = [trusted, redirects, strayWords, chosenSecrets, foreignAssertions];

/** The rules about clients. Those of a database are not looked at, as nothing connects to it. */
export const clientRules: readonly WeaknessRule[] = ofClient.map(
  (rule): WeaknessRule =>
    (options) =>
      listedClients(options.storage.clients).flatMap((client) =>
        rule(client, options).map(({ at, ...about }) => ({
          ...about,
          path: `client "${client.clientId}": ${at}`,
        })),
      ),
);
