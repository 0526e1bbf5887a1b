/** The shape of the options, and what a host developer is told of a wrong one. */
import { Ajv, type ErrorObject } from "ajv";
import { pageTextNames } from "./interaction/page-texts";
import { logoPattern } from "./protocol/logo";

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

/** What to write instead, where more than the shape may be wrong. */
export const fixes: Readonly<Record<"audience" | "schemes" | "secret" | "secrets" | "signingKeys", string>> =
  {
    audience: 'Write the API\'s URL, such as "https://api.example.com/orders".',
    schemes: 'Write a list of lower-case schemes that apps have made up, such as ["cursor"] for cursor://.',
    secret: "Write random text, such as the output of: openssl rand -base64 32.",
    secrets: "Write a list of secrets, the newest first.",
    signingKeys: "Write a list of private keys, the active one first.",
  };

const listOf = (description: string, ofItem = description): object => ({
  type: "array",
  items: { type: "string", description: ofItem },
  description,
});

const languageTag = {
  pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$",
  maxLength: 35,
  description: "Write languages as en or de-AT.",
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
  properties: { text: sentence, implies: listOf("Write a list of scope names of this API.") },
};

const lifetimes = {
  type: "object",
  additionalProperties: false,
  description: "Write an object of lifetimes in seconds.",
  properties: {
    authorizationCodeSeconds: seconds(1, 600),
    interactionSeconds: seconds(30, 3_600),
    refreshTokenIdleSeconds: seconds(1, year),
    refreshTokenSeconds: seconds(1, year),
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
    authMethods: { ...listOf("Write a list of ids of authMethods, at least one."), minItems: 1 },
    scopes: {
      type: "object",
      additionalProperties: {
        if: { type: "object", anyOf: [{ required: ["text"] }, { required: ["implies"] }] },
        // eslint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: scopeOptions,
        else: sentence,
      },
      description: 'Write scope names with a sentence each: { "orders:read": "See your orders" }.',
    },
    defaultScopes: listOf("Write a list of scope names of this API."),
    accessTokenSeconds: seconds(1, 86_400),
    accessTokenFormat: choice("jwt", "opaque"),
    redirectUri: choice("required", "optional"),
    scope: choice("required", "optional"),
    unknownScopes: choice("refuse", "ignore"),
    lifetimes,
  },
};

const storagePorts = {
  clients: methods(["find", "isBrowserOrigin"], "Write a ClientStore."),
  consents: methods(["find", "save", "list", "delete"], "Write a ConsentStore."),
  authorizations: methods(["create", "find", "revoke", "revokeAll"], "Write an AuthorizationStore."),
  authorizationCodes: methods(["create", "find", "consume"], "Write an AuthorizationCodeStore."),
  refreshTokens: methods(["create", "find", "rotate"], "Write a RefreshTokenStore."),
  accessTokens: methods(["create", "find", "revoke", "isRevoked"], "Write an AccessTokenStore."),
  endMarks: methods(
    ["find", "save"],
    "Write an EndMarkStore. An adapter for 0.1 also needs the new consents.delete and authorizations.revokeAll: CHANGELOG, upgrade steps.",
  ),
};

const optionSchema = {
  type: "object",
  additionalProperties: false,
  required: ["baseUrl", "storage", "authMethods", "apis"],
  properties: {
    baseUrl: {
      type: "string",
      description: 'Write the public URL of the mount point, such as "https://host/login".',
    },
    secrets: { ...listOf(fixes.secrets, fixes.secret), minItems: 1 },
    signingKeys: { type: "array", minItems: 1, description: fixes.signingKeys },
    storage: {
      type: "object",
      required: Object.keys(storagePorts),
      properties: storagePorts,
      description: "Write a Storage, such as memoryStorage({ clients }).",
    },
    authMethods: {
      type: "object",
      minProperties: 1,
      additionalProperties: methods(
        ["authenticate"],
        "Write an AuthMethod: { authenticate(request) { … } }.",
      ),
      description: "Write at least one authentication method: { password: { authenticate } }.",
    },
    apis: {
      type: "object",
      minProperties: 1,
      additionalProperties: apiSchema,
      description: "Write at least one API: { orders: { audience, authMethods, scopes } }.",
    },
    consent: methods(["decide"], "Write a ConsentAdapter: { decide(request) { … } }."),
    pages: {
      type: "object",
      additionalProperties: false,
      description: "Write an object of name, logo, accentColor, texts and render.",
      properties: {
        name: { type: "string", description: "Write the name that people know you by." },
        logo: {
          type: "string",
          pattern: logoPattern.source,
          maxLength: 24_576,
          description: "Write a data:image/…;base64, URI of at most 24 KB: pages request nothing.",
        },
        accentColor: { type: "string", pattern: "^#[0-9a-fA-F]{6}$", description: "Write #rrggbb." },
        texts: {
          type: "object",
          propertyNames: languageTag,
          description: "Write language (such as de) → texts.",
          additionalProperties: {
            type: "object",
            additionalProperties: false,
            description: "Write an object of texts.",
            properties: Object.fromEntries(
              pageTextNames.map((name) => [
                name,
                { type: "string", minLength: 1, description: "Write a text." },
              ]),
            ),
          },
        },
        render: { isFunction: true, description: "Write a function from page content to HTML." },
      },
    },
    lifetimes,
    revocationLagSeconds: seconds(0, 300),
    redirectSchemes: listOf(fixes.schemes),
    onEvent: { isFunction: true, description: "Write a function that takes an event." },
  },
};

// compiled when it is first used, and not checked against the schema of schemas: both would delay every start
const ajv = new Ajv({
  verbose: true,
  allowUnionTypes: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
});
ajv.addKeyword({
  keyword: "isFunction",
  validate: (_: unknown, value: unknown) => typeof value === "function",
});
ajv.addKeyword({
  keyword: "hasMethods",
  validate: (names: readonly string[], value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
});

interface DescribedSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, DescribedSchema>>;
}

/** What is wrong with an option, and what to write instead. */
export interface OptionProblem {
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** What a failed rule of the schema means to the host developer. */
function describeSchemaError({
  instancePath,
  keyword,
  params,
  parentSchema,
  message,
}: ErrorObject): OptionProblem {
  const at = instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  const { properties = {}, description = "" } = (parentSchema ?? {}) as DescribedSchema;
  if (keyword === "required") {
    const name = String(params["missingProperty"]);
    return { path: joinPath(at, name), problem: "is missing", fix: properties[name]?.description ?? "" };
  }
  if (keyword === "additionalProperties") {
    const path = joinPath(at, String(params["additionalProperty"]));
    return { path, problem: "is not an option", fix: `Known here: ${Object.keys(properties).join(", ")}.` };
  }
  const problem =
    keyword === "hasMethods" ? "lacks a method" : keyword === "isFunction" ? "must be a function" : message;
  return { path: at === "" ? "options" : at, problem: problem ?? "is wrong", fix: description };
}

/** The first way in which the options have a wrong shape. */
export function shapeProblem(options: unknown): OptionProblem | undefined {
  return !ajv.validate(optionSchema, options) && ajv.errors?.[0]
    ? describeSchemaError(ajv.errors[0])
    : undefined;
}
