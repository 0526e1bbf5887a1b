/** The shape of a client record, checked wherever one comes in. RFC 6749 §2. */
import { Ajv, type ErrorObject } from "ajv";
import {
  type Client,
  clientIdPattern,
  type ConfidentialClient,
  grantTypes,
  isClientId,
  type PublicClient,
} from "../protocol/client";
import { parseSecretDigest } from "./client-secret";
import { isRegistrableRedirectUri } from "../protocol/redirect-uri";

/** A picture within its own URI: pages request nothing. RFC 7591 §2 (`logo_uri`). */
export const logoSchema = {
  type: "string",
  pattern: "^data:image/(?:png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$",
  maxLength: 24_576,
};

const strings = { type: "array", items: { type: "string" } };
const link = { type: "string", pattern: "^https://[\\x21-\\x7e]+$" };
const subscription = {
  type: "object",
  additionalProperties: false,
  properties: {
    scopes: strings,
    trusted: { type: "boolean" },
    grantTypes: { type: "array", items: { enum: grantTypes } },
  },
};
const required = ["clientId", "name", "redirectUris", "subscriptions"];
const properties = {
  clientId: { type: "string", pattern: clientIdPattern.source },
  name: { type: "string", minLength: 1 },
  redirectUris: strings,
  trusted: { type: "boolean" },
  subscriptions: { type: "object", additionalProperties: subscription },
  logo: logoSchema,
  clientUri: link,
  policyUri: link,
  tosUri: link,
};

const confidentialClient = {
  type: "object",
  required: [...required, "secretDigests"],
  properties: { ...properties, secretDigests: { ...strings, minItems: 1, maxItems: 2 } },
};
const publicClient = {
  type: "object",
  required: [...required, "platform"],
  properties: { ...properties, platform: { enum: ["native", "browser"] }, secretDigests: false },
};
const anyClient = {
  type: "object",
  required: ["confidential"],
  properties: { confidential: { type: "boolean" } },
};

// a schema is compiled when it is first used, and not checked against the schema of schemas: both would delay every start
const ajv = new Ajv({ ownProperties: true, meta: false, validateSchema: false, code: { optimize: false } });

/** The first rule of the shape that a value breaks. */
function firstError(value: unknown): ErrorObject | undefined {
  if (!ajv.validate(anyClient, value)) return ajv.errors?.[0];
  const schema = (value as Client).confidential ? confidentialClient : publicClient;
  return ajv.validate(schema, value) ? undefined : ajv.errors?.[0];
}

function shapeProblem(value: unknown): string | undefined {
  const failed = firstError(value);
  if (!failed) return undefined;
  const { instancePath, keyword, message, params } = failed;
  const path = instancePath.slice(1).replaceAll("/", ".");
  switch (keyword) {
    case "false schema":
      return `${path} is not for a public client: it cannot keep a secret`;
    case "enum":
      return `${path} ${message}: ${(params["allowedValues"] as readonly string[]).join(", ")}`;
    case "additionalProperties":
      return `${path} must NOT have ${path}.${params["additionalProperty"]}: known are scopes, trusted and grantTypes`;
    default:
      return `${path} ${message}`.trim();
  }
}

const narrowing = ["scopes", "grantTypes", "trusted"];

/** A missing key means everything that the kind of client may have, so one that is there has a value. */
function undefinedProblem(client: Client): string | undefined {
  const subscriptions = Object.entries(client.subscriptions);
  const records = subscriptions.map(([apiId, atApi]) => [`subscriptions.${apiId}.`, atApi] as const);
  for (const [path, record] of [["", client] as const, ...records]) {
    const name = narrowing.find((key) => key in record && Reflect.get(record, key) === undefined);
    const value = name === "trusted" ? "true or false" : "a list";
    if (name !== undefined) return `${path}${name} is undefined: leave the key out, or write ${value}`;
    // the copy that is kept would lose it
    const inherited = narrowing.find((key) => key in record && !Object.hasOwn(record, key));
    if (inherited !== undefined) return `${path}${inherited} is inherited: give plain objects`;
  }
  return undefined;
}

function valueProblem(client: Client): string | undefined {
  const unsafe = client.redirectUris.findIndex(
    (uri) => !isRegistrableRedirectUri(client, { uri, dotless: "any" }),
  );
  if (unsafe >= 0) {
    return `redirectUris.${unsafe} must be https (http only on loopback; a native client may have a scheme of its own that no browser knows), in ASCII, without fragment, user name or wildcard`;
  }
  if (!client.confidential) return undefined;
  const unknown = client.secretDigests.findIndex((digest) => !parseSecretDigest(digest));
  return unknown < 0
    ? undefined
    : `secretDigests.${unknown} must be a digest from generateClientSecret() or digestClientSecret()`;
}

/**
 * The same client, known to have no scheme without a dot but those of the server's option: a storage does not know it.
 *
 * @throws TypeError that names the property and the option.
 */
export function checkRedirectSchemes(client: Client, redirectSchemes: readonly string[]): Client {
  const unlisted = client.redirectUris.findIndex(
    (uri) => !isRegistrableRedirectUri(client, { uri, dotless: redirectSchemes }),
  );
  if (unlisted < 0) return client;
  throw new TypeError(
    `client "${client.clientId}": redirectUris.${unlisted} has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot.`,
  );
}

/**
 * The same value, known to be a client record.
 *
 * @throws TypeError that names the property and what to write instead, never a value.
 */
export function checkClient(value: unknown): Client {
  const problem = shapeProblem(value) ?? undefinedProblem(value as Client) ?? valueProblem(value as Client);
  if (problem === undefined) return value as Client;
  const { clientId } = (value ?? {}) as { clientId?: unknown };
  const named = typeof clientId === "string" && isClientId(clientId);
  throw new TypeError(`client ${named ? `"${clientId}"` : "record"}: ${problem}.`);
}

/** All that is kept of a record; the host's may have more. */
const kept: Readonly<Record<keyof ConfidentialClient | keyof PublicClient, true>> = {
  clientId: true,
  name: true,
  redirectUris: true,
  trusted: true,
  subscriptions: true,
  logo: true,
  clientUri: true,
  policyUri: true,
  tosUri: true,
  confidential: true,
  secretDigests: true,
  platform: true,
};

/** A copy, down to the last list: what the host changes in its own record later was not checked. */
export function ownClient(client: Client): Client {
  const parts = Object.entries(client).filter(([name]) => Object.hasOwn(kept, name));
  return JSON.parse(JSON.stringify(Object.fromEntries(parts))) as Client;
}
