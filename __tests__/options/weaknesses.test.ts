/** What is weak about options that are accepted. RFC 6819 §5, 9700 §2. */
import { type AuthServerOptions, defaultLifetimes } from "../../lib";
import { refusals } from "../../lib/options/problems";
import type { Weakness } from "../../lib/options/weakness";
import { weaknessesOf } from "../../lib/options/weaknesses";
import { confidentialRecord, publicRecord } from "../fixture/records";
import {
  emptyStorage,
  strongOptions,
  strongWith,
  strongWithApi,
  strongWithClients,
} from "../fixture/options";

const { secrets = [], storage } = strongOptions;

type Row = readonly [level: Weakness["level"], path: string, options: AuthServerOptions, texts: Texts];
type Texts = readonly [problem: string, why: string, fix: string];

const temporary = "is missing: each start makes a temporary one";
const chosen: Texts = [
  "has fewer than 8 different characters",
  "It looks chosen by a person. Whoever guesses it can forge sign-ins in progress.",
  "Make a random one with: npx authmount secret.",
];
const inMemory: Texts = [
  "is in the memory of the process",
  "A restart loses it, and revocations with it. A second process does not see it, so a code could be used twice.",
  "Write sqliteStorage for one machine, postgresStorage or redisStorage for several. Memory is for tests and development.",
];
const openDoor: Texts = [
  "lets in clients that nobody has registered",
  "Anybody may write a name that people trust. People are always asked for consent.",
  "Make sure that its function refuses what you do not want, and put a rate limit in front of it.",
];

const rows: readonly Row[] = [
  [
    "weak",
    "secrets",
    strongWith({ secrets: undefined }),
    [
      temporary,
      "A restart, or an answer by another process, loses the sign-ins in progress. In production it is refused.",
      "Make a secret with: npx authmount secret.",
    ],
  ],
  [
    "weak",
    "signingKeys",
    strongWith({ signingKeys: undefined }),
    [
      temporary,
      "Tokens that were signed before a restart, or by another process, are refused. In production it is refused.",
      "Make a key with: npx authmount signing-key.",
    ],
  ],
  ["weak", "secrets.1", strongWith({ secrets: [...secrets, "abcdefg".repeat(5)] }), chosen],
  ["weak", "storage", strongWith({ storage: emptyStorage }), inMemory],
  [
    "weak",
    "storage.endMarks",
    strongWith({ storage: { ...storage, endMarks: emptyStorage.endMarks } }),
    inMemory,
  ],
  [
    "weak",
    "storage.consents, storage.endMarks",
    strongWith({ storage: { ...storage, endMarks: emptyStorage.endMarks, consents: emptyStorage.consents } }),
    inMemory,
  ],
  [
    "weak",
    "revocationLagSeconds",
    strongWith({ revocationLagSeconds: 31 }),
    [
      "is 31 seconds",
      "A revoked token is accepted, and a client that you have removed is served, for up to that long.",
      "Write 30 or less; the default is 5.",
    ],
  ],
  [
    "weak",
    "insecureLoopbackClients",
    strongWith({ insecureLoopbackClients: true }),
    [
      "is true",
      "Strangers' metadata documents can make this server send requests to programs on its own machine.",
      "Leave it out, except in tests and development. In production it is refused.",
    ],
  ],
  [
    "note",
    "onEvent",
    strongWith({ onEvent: undefined }),
    [
      "is missing",
      "In production only failures are printed then. Refusals, replays and sign-ins leave no trace.",
      "Write a function that logs events, and raises an alarm for server-error and replay-detected.",
    ],
  ],
  [
    "note",
    "redirectSchemes",
    strongWith({ redirectSchemes: ["cursor"] }),
    [
      "allows schemes without a dot",
      "Two apps may have invented the same one, and then either may get the codes of the other (RFC 8252 §7.1).",
      "List only schemes of clients that you need and that can have no other.",
    ],
  ],
  [
    "note",
    "apis.orders.unknownScopes",
    strongWithApi({ unknownScopes: "ignore" }),
    [
      'is "ignore"',
      "A client may get fewer scopes than it asked for, and must look at the answer to know.",
      'Leave it out, unless clients ask for scopes that you do not have, such as "openid".',
    ],
  ],
  [
    "note",
    "apis.orders.redirectUri",
    strongWithApi({ redirectUri: "optional" }),
    [
      'is "optional"',
      "OpenID Connect and FAPI 2.0 ask for it in every request, so some clients and reviews expect that.",
      "Leave it out, unless an old client does not send it.",
    ],
  ],
  [
    "note",
    "apis.orders.audience",
    strongWithApi({ audience: "https://api.example/orders" }),
    [
      "is at another origin than baseUrl",
      "Clients look for the metadata of this API at its own origin (RFC 9728 §3.1), which this server does not answer for.",
      "Mount auth.wellKnown there too, serve the document there, or tell clients the issuer.",
    ],
  ],
  [
    "note",
    "apis.orders.clientRegistration",
    strongWithApi({ clientRegistration: { approve() {} } }),
    openDoor,
  ],
  [
    "note",
    "apis.orders.clientMetadataDocuments",
    strongWithApi({ clientMetadataDocuments: { accept() {} } }),
    openDoor,
  ],
];

describe("what is weak", () => {
  it.each<readonly [string, AuthServerOptions]>([
    ["strong options", strongOptions],
    ["the default lifetimes", strongWith({ lifetimes: defaultLifetimes })],
    [
      "a secret with eight different characters",
      strongWith({ secrets: ["aDgf7b_c".repeat(3) + "gDcab_f7"] }),
    ],
    ["half a minute until a revocation counts", strongWith({ revocationLagSeconds: 30 })],
    [
      "what is written as it would be anyway",
      strongWithApi({ unknownScopes: "refuse", redirectUri: "required" }),
    ],
  ])("is nothing of %s", (_, options) => {
    expect(weaknessesOf(options)).toEqual([]);
  });

  it.each(rows)("is told, with why and what to write: %s %s", (level, path, options, [problem, why, fix]) => {
    expect(refusals(options, 1_800_000_000)).toEqual([]);
    expect(weaknessesOf(options)).toEqual([{ level, path, problem, why, fix }]);
  });

  it("is http on this machine, at each place", () => {
    const options = {
      ...strongWithApi({ audience: "http://localhost:3000/" }),
      baseUrl: "http://localhost:3000/login",
    };
    const texts = {
      level: "weak",
      problem: "is http, on this machine",
      why: "No other machine can reach it, and tokens and codes are not encrypted on their way.",
      fix: "In production, write the public https URL.",
    };
    expect(weaknessesOf(options)).toEqual([
      { ...texts, path: "baseUrl" },
      { ...texts, path: "apis.orders.audience" },
    ]);
  });

  it("comes before what is only worth knowing, whatever it is about", () => {
    const client = publicRecord("native", { subscriptions: {}, redirectUris: ["cursor:/callback"] });
    const trusted = confidentialRecord({ trusted: true });
    const options = { ...strongWithClients(trusted, client), redirectSchemes: ["cursor"] };
    expect(weaknessesOf(options).map(({ level, path }) => `${level} ${path}`)).toEqual([
      'weak client "phone": redirectUris.0',
      'note client "web": trusted',
      "note redirectSchemes",
    ]);
  });

  it("is said without any secret", () => {
    const options = strongWith({ secrets: ["ab".repeat(20)], signingKeys: undefined, storage: emptyStorage });
    const weaknesses = weaknessesOf(options);
    expect(weaknesses).toHaveLength(3);
    expect(JSON.stringify(weaknesses)).not.toContain("abab");
  });
});
