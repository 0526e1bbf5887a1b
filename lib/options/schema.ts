/** The shape of the options, and what a host developer should write instead of a wrong value. */
import { pageTextNames } from "../pages/merge-texts";
import { logoSchema } from "../clients/client-schema";
import type { NamedSchema } from "../schemas/compile";
import { signingAlgorithms } from "../signing/verification-key";
import { storageMethods, type StoragePortName, storagePortNames } from "../storage/port";

const year = 31_536_000;
const seconds = (minimum: number, maximum: number): object => ({
  type: "integer",
  minimum,
  maximum,
  description: `Write whole seconds from ${minimum} to ${maximum}.`,
});
const choice = (...values: readonly string[]): object => ({
  enum: values,
  description: `Write one of: ${values.join(", ")}.`,
});
const methods = (names: readonly string[], description: string): object => ({
  hasMethods: names,
  description,
});

/** The texts that say what to write instead, for options that `check.ts` checks beyond their shape. */
export const fixes: Readonly<
  Record<
    | "acrValues"
    | "audience"
    | "identityIssuer"
    | "jwksUri"
    | "exchange"
    | "origins"
    | "parkedRequests"
    | "publicUrl"
    | "schemes"
    | "secret"
    | "secrets"
    | "signingKeys",
    string
  >
> = {
  acrValues: 'Write a list of acr values without spaces, such as ["pwd", "otp"].',
  audience: 'Write the API\'s URL, such as "https://api.example.com/orders".',
  identityIssuer:
    'Write identity providers by their iss: { "https://acme.idp.example": { jwksUri: "https://acme.idp.example/keys" } }.',
  jwksUri:
    "Write { jwksUri } with an https URL without port, user name and fragment, whose host is a name with a dot, as new URL(text).href has it.",
  exchange:
    'Write { orders: { clients: ["orders-api"], scopes: { "orders:write": ["stock:reserve"] } } }, for tokens of API orders.',
  origins: 'Write a list of origins, such as ["https://app.example"].',
  parkedRequests: "Write a ParkedRequestStore.",
  publicUrl:
    'Write the public URL of the root of the app without a trailing slash, such as "https://api.example.com".',
  schemes: 'Write a list of lower-case custom schemes, such as ["cursor"] for cursor://.',
  secret: "Write random text, such as the output of: npx authmount secret.",
  secrets: "Write a list of secrets, the newest first.",
  signingKeys:
    "Write a list of private keys, the active one first. Where it comes from the environment, the variable may not be set.",
};

const listOf = (description: string, ofItem = description): object => ({
  type: "array",
  items: { type: "string", description: ofItem },
  description,
});

const languageTag = {
  pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$",
  maxLength: 35,
  description: "Write language tags such as en or de-AT.",
};
const sentenceFix = "Write the sentence that people read, or a sentence for each language.";
const sentence = {
  type: ["string", "object"],
  minLength: 1,
  minProperties: 1,
  propertyNames: languageTag,
  additionalProperties: { type: "string", minLength: 1, description: sentenceFix },
  description: sentenceFix,
};
const scopeOptions = {
  type: "object",
  additionalProperties: false,
  required: ["text"],
  properties: {
    text: sentence,
    explanation: sentence,
    implies: listOf("Write a list of scope names of this API."),
  },
};

const exchangeSource = {
  type: "object",
  additionalProperties: false,
  required: ["clients", "scopes"],
  description: fixes.exchange,
  properties: {
    clients: { ...listOf("Write a list of client ids."), minItems: 1 },
    scopes: {
      type: "object",
      minProperties: 1,
      additionalProperties: { ...listOf("Write a list of scopes of this API."), minItems: 1 },
      description: fixes.exchange,
    },
  },
};

const lifetimes = {
  type: "object",
  additionalProperties: false,
  description: "Write an object of lifetimes in seconds.",
  properties: {
    // the maximum that RFC 6749 §4.1.2 recommends
    authorizationCodeSeconds: seconds(1, 600),
    interactionSeconds: seconds(30, 3_600),
    refreshTokenIdleSeconds: seconds(1, year),
    refreshTokenSeconds: seconds(1, year),
    refreshRetrySeconds: seconds(0, 60),
    // 0 remembers no consent: people are asked every time
    consentSeconds: seconds(0, 10 * year),
  },
};

const apiSchema = {
  type: "object",
  additionalProperties: false,
  required: ["audience", "authMethods", "scopes"],
  description: "Write an object with audience, authMethods and scopes.",
  properties: {
    name: { type: "string", minLength: 1, description: "Write the name that people read." },
    audience: { type: "string", description: fixes.audience },
    authMethods: { ...listOf("Write a list of at least one id from authMethods."), minItems: 1 },
    scopes: {
      type: "object",
      additionalProperties: {
        // `{ text, … }`, or sentences by language: told apart first, so that the error speaks of the form that was meant
        if: {
          type: "object",
          anyOf: [{ required: ["text"] }, { required: ["explanation"] }, { required: ["implies"] }],
        },
        // eslint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: scopeOptions,
        else: sentence,
      },
      description: 'Write scope names with a sentence each: { "orders:read": "See your orders" }.',
    },
    defaultScopes: listOf("Write a list of scope names of this API."),
    acrValues: {
      ...listOf(fixes.acrValues),
      items: { type: "string", pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$", description: fixes.acrValues },
    },
    accessTokenSeconds: seconds(1, 86_400),
    accessTokenFormat: choice("jwt", "opaque"),
    redirectUri: choice("required", "optional"),
    scope: choice("required", "optional"),
    pushedRequests: choice("optional", "required"),
    deviceAuthorization: { enum: [true], description: "Write true, or leave it out." },
    profile: choice("fapi2"),
    unknownScopes: choice("refuse", "ignore"),
    refreshTokenExpiry: choice("omit", "state"),
    clientMetadataDocuments: {
      type: "object",
      ...methods(["accept"], "Write an adapter: { accept(clientId) { … } }."),
      properties: { browserOrigins: listOf(fixes.origins) },
    },
    clientRegistration: {
      type: "object",
      ...methods(["approve"], "Write an adapter: { approve(req, metadata) { … } }."),
      properties: { browserOrigins: listOf(fixes.origins) },
    },
    openid: {
      type: "object",
      additionalProperties: false,
      required: ["claims"],
      description: "Write { claims(request) { … } }.",
      properties: {
        claims: { isFunction: true, description: "Write a function that returns the claims about a person." },
        scopes: {
          type: "object",
          additionalProperties: listOf("Write the names of the claims that the scope opens."),
          description: 'Write scope names with their claims: { groups: ["groups"] }.',
        },
        idTokenAlgorithm: choice(...signingAlgorithms),
      },
    },
    dpop: {
      type: "object",
      additionalProperties: false,
      description: "Write {}, or an object with any of tokens and publicUrl.",
      properties: {
        tokens: choice("optional", "required"),
        publicUrl: { type: "string", description: fixes.publicUrl },
      },
    },
    tokenExchange: {
      type: "object",
      minProperties: 1,
      additionalProperties: exchangeSource,
      description: fixes.exchange,
    },
    lifetimes,
  },
};

/** What to write when a port of the storage is missing or lacks a method. */
const storageFixes: Readonly<Record<StoragePortName, string>> = {
  clients: "Write a ClientStore.",
  consents: "Write a ConsentStore.",
  authorizations: "Write an AuthorizationStore.",
  authorizationCodes: "Write an AuthorizationCodeStore.",
  refreshTokens: "Write a RefreshTokenStore.",
  accessTokens: "Write an AccessTokenStore.",
  endMarks: "Write an EndMarkStore.",
  clientAssertions: "Write a ClientAssertionStore.",
  clientRegistrations: "Write a ClientRegistrationStore.",
  parkedRequests: fixes.parkedRequests,
};
const storagePorts = Object.fromEntries(
  storagePortNames.map((name) => [name, methods(Object.keys(storageMethods[name]), storageFixes[name])]),
);

const stepsAtOnce = {
  type: "object",
  required: ["of"],
  properties: { of: { type: "object" }, approve: { isFunction: true }, redeem: { isFunction: true } },
  description:
    "Write { of, approve?, redeem? }, where of has the ports whose calls these are, or leave it out.",
};

const serverSchema = {
  $id: "server",
  type: "object",
  additionalProperties: false,
  required: ["baseUrl", "storage", "authMethods", "apis"],
  properties: {
    baseUrl: {
      type: "string",
      description: 'Write the public URL of the mount point, such as "https://host/oauth".',
    },
    secrets: { ...listOf(fixes.secrets, fixes.secret), minItems: 1 },
    signingKeys: { type: "array", minItems: 1, description: fixes.signingKeys },
    storage: {
      type: "object",
      required: storagePortNames.filter((name) => name !== "parkedRequests"),
      properties: { ...storagePorts, atOnce: stepsAtOnce },
      description: "Write a Storage, such as memoryStorage({ clients }).",
    },
    authMethods: {
      type: "object",
      minProperties: 1,
      additionalProperties: {
        type: "object",
        ...methods(["authenticate"], "Write an AuthMethod: { authenticate(request) { … } }."),
        properties: {
          signOut: { isFunction: true, description: "Write signOut(request) { … }, or leave it out." },
          identityAssertions: {
            type: "object",
            additionalProperties: false,
            required: ["issuers", "accept"],
            description: "Write { issuers, accept(assertion) { … } }, or leave it out.",
            properties: {
              issuers: {
                type: "object",
                minProperties: 1,
                additionalProperties: {
                  type: "object",
                  additionalProperties: false,
                  required: ["jwksUri"],
                  properties: { jwksUri: { type: "string", description: fixes.jwksUri } },
                  description: fixes.jwksUri,
                },
                description: fixes.identityIssuer,
              },
              accept: { isFunction: true, description: "Write a function that says who a person is here." },
            },
          },
        },
      },
      description: "Write at least one authentication method: { password: { authenticate } }.",
    },
    apis: {
      type: "object",
      minProperties: 1,
      additionalProperties: apiSchema,
      description: "Write at least one API: { orders: { audience, authMethods, scopes } }.",
    },
    tokens: methods(["decide"], "Write a TokenAdapter: { decide(request) { … } }."),
    consent: methods(["decide"], "Write a ConsentAdapter: { decide(request) { … } }."),
    rateLimit: { isFunction: true, description: "Write a function that takes an attempt." },
    pages: {
      type: "object",
      additionalProperties: false,
      description: "Write an object with any of name, logo, accentColor, texts and render.",
      properties: {
        name: { type: "string", description: "Write the name that people know you by." },
        logo: {
          ...logoSchema,
          description:
            "Write a data:image/…;base64, URI of at most 24 KB: pages load nothing from the network.",
        },
        accentColor: { type: "string", pattern: "^#[0-9a-fA-F]{6}$", description: "Write #rrggbb." },
        texts: {
          type: "object",
          propertyNames: languageTag,
          description: "Write an object that maps languages (such as de) to texts.",
          additionalProperties: {
            type: "object",
            additionalProperties: false,
            description: "Write an object of texts.",
            properties: Object.fromEntries(
              pageTextNames.map((name) => [
                name,
                { type: "string", minLength: 1, description: "Write a non-empty text." },
              ]),
            ),
          },
        },
        render: {
          isFunction: true,
          description: "Write a function that takes page content and returns HTML.",
        },
      },
    },
    lifetimes,
    revocationLagSeconds: seconds(0, 300),
    lastUses: choice("refresh", "calls"),
    redirectSchemes: listOf(fixes.schemes),
    insecureLoopbackClients: { type: "boolean", description: "Write true only in tests and development." },
    onEvent: { isFunction: true, description: "Write a function that takes an event." },
  },
};

/** The options of `createAuthServer` as JSON Schema. Each `description` says what to write instead of a wrong value. */
export const optionSchema: NamedSchema = serverSchema;
