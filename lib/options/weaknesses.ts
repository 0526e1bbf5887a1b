/** What is weak about options that are accepted: rules as data. RFC 6819 §5, 9700 §2. */
import { isInMemory } from "../storage/memory/in-memory";
import { storagePortNames } from "../storage/port";
import { lossOfRecords, risksOf } from "../storage/risks";
import type { ApiOptions, AuthServerOptions } from "./options";
import { clientRules } from "./client-weaknesses";
import { lifetimeRules } from "./lifetime-weaknesses";
import type { Weakness, WeaknessRule } from "./weakness";

function ofApis(
  { apis }: AuthServerOptions,
  rule: (path: string, api: ApiOptions) => readonly Weakness[],
): readonly Weakness[] {
  return Object.entries(apis).flatMap(([apiId, api]) => rule(`apis.${apiId}`, api));
}

const temporaryKeys: WeaknessRule = ({ secrets, signingKeys }) => {
  const weakness = { level: "weak", problem: "is missing: each start makes a temporary one" } as const;
  const ofSecrets = {
    ...weakness,
    path: "secrets",
    why: "A restart, or an answer by another process, loses the sign-ins in progress. In production it is refused.",
    fix: "Make a secret with: npx authmount secret.",
  };
  const ofKeys = {
    ...weakness,
    path: "signingKeys",
    why: "Tokens that were signed before a restart, or by another process, are refused. In production it is refused.",
    fix: "Make a key with: npx authmount signing-key.",
  };
  return [secrets ? [] : ofSecrets, signingKeys ? [] : ofKeys].flat();
};

/** Fewer different characters than random text of 32 characters ever has. */
const fewCharacters = 8;

/** What random text contains less than once in a million. */
const chosenText =
  /\s|secret|password|change.?me|example|01234567|12345678|abcdefgh|qwertz|qwerty|^(.+)\1+$/i;

function chosenProblem(secret: string): string | undefined {
  if (new Set(secret).size < fewCharacters) return `has fewer than ${fewCharacters} different characters`;
  return chosenText.test(secret) ? "contains white space, a common word or a pattern" : undefined;
}

const guessableSecrets: WeaknessRule = ({ secrets = [] }) =>
  secrets.flatMap((secret, index) => {
    const problem = chosenProblem(secret);
    if (problem === undefined) return [];
    return {
      level: "weak",
      path: `secrets.${index}`,
      problem,
      why: "It looks chosen by a person. Whoever guesses it can forge sign-ins in progress.",
      fix: "Make a random one with: npx authmount secret.",
    };
  });

const storageInMemory: WeaknessRule = ({ storage }) => {
  const names = storagePortNames.filter((name) => isInMemory(storage[name]));
  if (names.length === 0) return [];
  const all = names.length === storagePortNames.length - 1;
  return [
    {
      level: "weak",
      path: all ? "storage" : `storage.${names.join(", storage.")}`,
      problem: "is in the memory of the process",
      why: "A restart loses it, and revocations with it. A second process does not see it, so a code could be used twice.",
      fix: "Write sqliteStorage for one machine, postgresStorage or redisStorage for several. Memory is for tests and development.",
    },
  ];
};

const storageAtRisk: WeaknessRule = ({ storage }) => {
  const risks = storagePortNames.flatMap((name) => risksOf(storage[name]));
  const all = (of: "problem" | "fix", between: string): string =>
    [...new Set(risks.map((risk) => risk[of]))].join(between);
  return risks.length === 0
    ? []
    : [
        {
          level: "weak",
          path: "storage",
          problem: `may lose what it has acknowledged: ${all("problem", ", ")}`,
          why: lossOfRecords,
          fix: all("fix", " "),
        },
      ];
};

const plainHttp: WeaknessRule = (options) => {
  const urls = [
    ["baseUrl", options.baseUrl] as const,
    ...Object.entries(options.apis).map(
      ([apiId, { audience }]) => [`apis.${apiId}.audience`, audience] as const,
    ),
  ];
  return urls
    .filter(([, url]) => url.startsWith("http:"))
    .map(([path]) => ({
      level: "weak",
      path,
      problem: "is http, on this machine",
      why: "No other machine can reach it, and tokens and codes are not encrypted on their way.",
      fix: "In production, write the public https URL.",
    }));
};

const slowRevocation: WeaknessRule = ({ revocationLagSeconds = 0 }) =>
  revocationLagSeconds <= 30
    ? []
    : [
        {
          level: "weak",
          path: "revocationLagSeconds",
          problem: `is ${revocationLagSeconds} seconds`,
          why: "A revoked token is accepted, and a client that you have removed is served, for up to that long.",
          fix: "Write 30 or less; the default is 5.",
        },
      ];

const developmentOnly: WeaknessRule = ({ insecureLoopbackClients }) =>
  insecureLoopbackClients
    ? [
        {
          level: "weak",
          path: "insecureLoopbackClients",
          problem: "is true",
          why: "Strangers' metadata documents can make this server send requests to programs on its own machine.",
          fix: "Leave it out, except in tests and development. In production it is refused.",
        },
      ]
    : [];

const silentProduction: WeaknessRule = ({ onEvent }) =>
  onEvent
    ? []
    : [
        {
          level: "note",
          path: "onEvent",
          problem: "is missing",
          why: "In production only failures are printed then. Refusals, replays and sign-ins leave no trace.",
          fix: "Write a function that logs events, and raises an alarm for server-error and replay-detected.",
        },
      ];

const inventedSchemes: WeaknessRule = ({ redirectSchemes = [] }) =>
  redirectSchemes.length === 0
    ? []
    : [
        {
          level: "note",
          path: "redirectSchemes",
          problem: "allows schemes without a dot",
          why: "Two apps may have invented the same one, and then either may get the codes of the other (RFC 8252 §7.1).",
          fix: "List only schemes of clients that you need and that can have no other.",
        },
      ];

const strangers: WeaknessRule = (options) =>
  ofApis(options, (path, { clientRegistration, clientMetadataDocuments }) => {
    const adapters = Object.entries({ clientRegistration, clientMetadataDocuments });
    return adapters.flatMap(([name, adapter]) =>
      adapter === undefined
        ? []
        : {
            level: "note",
            path: `${path}.${name}`,
            problem: "lets in clients that nobody has registered",
            why: "Anybody may write a name that people trust. People are always asked for consent.",
            fix: "Make sure that its function refuses what you do not want, and put a rate limit in front of it.",
          },
    );
  });

const lenientApis: WeaknessRule = (options) =>
  ofApis(options, (path, { unknownScopes, redirectUri }) => [
    ...(unknownScopes === "ignore"
      ? [
          {
            level: "note" as const,
            path: `${path}.unknownScopes`,
            problem: 'is "ignore"',
            why: "A client may get fewer scopes than it asked for, and must look at the answer to know.",
            fix: 'Leave it out, unless clients ask for scopes that you do not have, such as "openid".',
          },
        ]
      : []),
    ...(redirectUri === "optional"
      ? [
          {
            level: "note" as const,
            path: `${path}.redirectUri`,
            problem: 'is "optional"',
            why: "OpenID Connect and FAPI 2.0 ask for it in every request, so some clients and reviews expect that.",
            fix: "Leave it out, unless an old client does not send it.",
          },
        ]
      : []),
  ]);

const apisElsewhere: WeaknessRule = (options) => {
  const { origin } = new URL(options.baseUrl);
  return ofApis(options, (path, { audience }) =>
    new URL(audience).origin === origin
      ? []
      : [
          {
            level: "note",
            path: `${path}.audience`,
            problem: "is at another origin than baseUrl",
            why: "Clients look for the metadata of this API at its own origin (RFC 9728 §3.1), which this server does not answer for.",
            fix: "Mount auth.wellKnown there too, serve the document there, or tell clients the issuer.",
          },
        ],
  );
};

/** Every rule. Each looks at options that are accepted, and connects to nothing. */
const rules: readonly WeaknessRule[] = [
  temporaryKeys,
  guessableSecrets,
  storageInMemory,
  storageAtRisk,
  plainHttp,
  slowRevocation,
  ...lifetimeRules,
  developmentOnly,
  ...clientRules,
  strangers,
  lenientApis,
  inventedSchemes,
  apisElsewhere,
  silentProduction,
];

/** What is weak, and then what is worth knowing, about options that `createAuthServer` accepts. */
export function weaknessesOf(options: AuthServerOptions): readonly Weakness[] {
  const found = rules.flatMap((rule) => rule(options));
  return [...found.filter(({ level }) => level === "weak"), ...found.filter(({ level }) => level === "note")];
}
