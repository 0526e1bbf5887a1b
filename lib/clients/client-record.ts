/** The rules for client records, checked wherever one comes in. RFC 6749 §2. */
import { isDeepStrictEqual } from "node:util";
import { isFetchableUrl } from "../fetching/fetchable-url";
import { isNear, typeForms } from "../host/plain";
import {
  type Client,
  type ClientFlag,
  clientFlags,
  isClientId,
  isKeyClient,
  type KeyClient,
  type PublicClient,
  type ConfidentialClient,
} from "../protocol/client";
import { mistakesOf } from "../protocol/mistake";
import { keySetProblem } from "./client-key";
import { clientSchemas, linkPattern } from "./client-schema";
import { parseSecretDigest } from "./client-secret";
import { hasOrigin } from "../protocol/issuer";
import { isRegistrableRedirectUri, redirectUriProblem } from "../protocol/redirect-uri";
import { parseUrl } from "../protocol/parsed-url";
import { type NamedSchema, type SchemaError, schemaErrors } from "../schemas/compile";

const mistake = mistakesOf({
  "wrong-client-record": (client: string, problem: string) => `client ${client}: ${problem}.`,
  "unlisted-redirect-scheme": (clientId: string, path: string) =>
    `client "${clientId}": ${path} has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot.`,
});

/** True for a link that a stranger may put on the consent page: no user name, which could look like another host, no reserved origin. */
export function isClientLink(value: unknown, reserved: readonly string[] = []): value is string {
  if (typeof value !== "string" || value.length > 2_000 || !new RegExp(linkPattern).test(value)) return false;
  const url = parseUrl(value);
  return url?.username === "" && url.password === "" && !hasOrigin(value, reserved);
}

/** The schema for a record of this kind. A confidential one without any proof lacks its secret. */
function schemaOf(client: Client): NamedSchema {
  if (!client.confidential) return clientSchemas.public;
  const { jwks, jwksUri } = client as Partial<KeyClient>;
  return jwks === undefined && jwksUri === undefined ? clientSchemas.secret : clientSchemas.key;
}

/** The first rule of the schema that a value breaks. */
function firstError(value: unknown, schema: NamedSchema): SchemaError | undefined {
  return schemaErrors(value, { kind: "records", schema })[0];
}

function isFlag(name: string): name is ClientFlag {
  return clientFlags.some((flag) => flag === name);
}

/** What databases and their models give, which no schema can name. */
function modelProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("confidential" in value && !Object.hasOwn(value, "confidential"))
    return "is an instance of a model, whose values are not its own properties: give a plain object, such as instance.get({ plain: true }) of Sequelize or document.toObject() of Mongoose";
  const empty = Object.entries(value).find(
    ([name, held]) => held === null && Object.hasOwn(kept, name) && !isFlag(name),
  )?.[0];
  return empty === undefined ? undefined : `${empty} is null: write a value, or leave the key out`;
}

/**
 * A key that is most likely misspelt: it would be overlooked, because records of the host may have keys of their own. Short keys are near
 * to too many words.
 */
function misspeltProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(kept, name)) continue;
    const meant = Object.keys(kept).find(
      (known) => known.length > 5 && !Object.hasOwn(value, known) && isNear(name, known),
    );
    if (meant !== undefined) return `${name} is not a known key: write ${meant}, or rename the key`;
  }
  return undefined;
}

const link = "an https URL";
const yesOrNo = "true or false";
const flags = clientFlags.map((flag) => [flag, yesOrNo] as const);
/** What a property of a record is, by its path. */
const forms: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "": "an object",
    clientId: "1 to 255 visible ASCII characters",
    name: "the name that people read, at least one character",
    redirectUris: "a list of URIs, empty for a client that has none",
    postLogoutRedirectUris: "a list of URIs",
    subscriptions: "an object with an entry for each API that the client may use, such as { orders: {} }",
    confidential: "true for a client that keeps a secret or a key, otherwise false",
    platform: '"native" or "browser", or confidential: true',
    responseModes: 'a list with "query", "form_post" or both',
    secretDigests: "a list of one or two digests from generateClientSecret()",
    "secretDigests.*": "a string: is an await missing before digestClientSecret?",
    jwks: "an object with keys",
    "jwks.keys": "a list of 1 to 10 public keys",
    jwksUri: "an https URL of at most 2000 characters",
    logo: "a PNG, JPEG, GIF, WebP or SVG image of at most 24576 characters, as data:image/…;base64,…",
    clientUri: link,
    policyUri: link,
    tosUri: link,
    ...Object.fromEntries(flags),
  }),
);

function shapeProblem(value: unknown): string | undefined {
  const failed = firstError(value, clientSchemas.any) ?? firstError(value, schemaOf(value as Client));
  if (!failed) return undefined;
  const { instancePath, keyword, message, params } = failed;
  const path = instancePath.slice(1).replaceAll("/", ".");
  switch (keyword) {
    case "false schema":
      if (path === "scopes" || path === "grantTypes")
        return `${path} belongs to an API: write subscriptions.<api>.${path}`;
      return (value as Client).confidential
        ? `${path} is not allowed beside jwks or jwksUri: a client has either secrets or keys`
        : `${path} is not allowed for a public client, which cannot keep a secret`;
    case "oneOf":
      return "has jwks and jwksUri: write one of them";
    case "enum":
      return `${path} must be one of ${(params["allowedValues"] as readonly string[]).join(", ")}`;
    case "additionalProperties":
      return `${path}.${String(params["additionalProperty"])} is not a known key: write scopes, trusted or grantTypes`;
    case "required": {
      const missing = [path, params["missingProperty"]].filter(Boolean).join(".");
      const form = forms.get(missing);
      return `${missing} is missing${form === undefined ? "" : `: write ${form}`}`;
    }
    default: {
      const form = forms.get(path.replace(/\.\d+$/, ".*")) ?? typeForms[String(params["type"])];
      return form === undefined ? `${path} ${message}` : `${path} must be ${form}`.trim();
    }
  }
}

/** The keys that can narrow what a client may do, and what they are. */
const narrowing: Readonly<Record<string, string>> = {
  scopes: "a list",
  grantTypes: "a list",
  responseModes: "a list",
  trusted: yesOrNo,
  disabled: yesOrNo,
  ...Object.fromEntries(flags),
  oldSecretUntil: "seconds since 1970",
};

/** A key that is present must not be undefined: a misspelt constant would silently widen what the client may do. */
function undefinedProblem(client: Client): string | undefined {
  const subscriptions = Object.entries(client.subscriptions);
  const records = subscriptions.map(([apiId, atApi]) => [`subscriptions.${apiId}.`, atApi] as const);
  for (const [path, record] of [["", client] as const, ...records]) {
    const names = Object.keys(narrowing).filter((key) => key in record);
    const name = names.find((key) => Reflect.get(record, key) === undefined);
    if (name !== undefined)
      return `${path}${name} is undefined: leave the key out, or write ${narrowing[name]}`;
    // the copy that is kept has only own properties: an inherited restriction would be lost
    const inherited = names.find((key) => !Object.hasOwn(record, key));
    if (inherited !== undefined) return `${path}${inherited} is inherited: use plain objects`;
  }
  return undefined;
}

function prefixed(path: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${path}${problem}`;
}

function keyProblem({ jwks, jwksUri = "" }: KeyClient): string | undefined {
  if (jwks) return prefixed("jwks.", keySetProblem(jwks));
  // a record is made before the server, and does not know whether that one allows loopback
  return isFetchableUrl(jwksUri, { insecureLoopback: true })
    ? undefined
    : "jwksUri can never be fetched: write an https URL without port, user name and fragment, whose host is a name with a dot, as new URL(text).href has it (on loopback also http, and any port)";
}

const uriLists = ["redirectUris", "postLogoutRedirectUris"] as const;

function valueProblem(client: Client): string | undefined {
  for (const name of uriLists)
    for (const [index, uri] of client[name]?.entries() ?? []) {
      const problem = redirectUriProblem(client, { uri, redirectSchemes: "any" });
      if (problem !== undefined) return `${name}.${index} ${problem}`;
    }
  if (!client.confidential)
    return client.responseModes?.includes("form_post")
      ? "responseModes has form_post, which is for confidential clients: leave it out"
      : undefined;
  if (isKeyClient(client)) return keyProblem(client);
  if (client.oldSecretUntil !== undefined && client.secretDigests.length < 2)
    return "oldSecretUntil is about a second digest, and secretDigests has one: leave it out";
  const unknown = client.secretDigests.findIndex((digest) => !parseSecretDigest(digest));
  return unknown < 0
    ? undefined
    : `secretDigests.${unknown} must be a digest from generateClientSecret() or digestClientSecret()`;
}

/**
 * The same client, if its schemes without a dot are all in the server's option. A separate check, because a storage is created
 * before the server and does not know the option.
 *
 * @throws TypeError that names the property and the option.
 */
export function checkRedirectSchemes(client: Client, redirectSchemes: readonly string[]): Client {
  for (const name of uriLists) {
    const uris = client[name] ?? [];
    const unlisted = uris.findIndex((uri) => !isRegistrableRedirectUri(client, { uri, redirectSchemes }));
    if (unlisted >= 0) throw mistake("unlisted-redirect-scheme", client.clientId, `${name}.${unlisted}`);
  }
  return client;
}

/**
 * The same value, if it is a valid client record.
 *
 * @throws TypeError that names the property and what to write instead. It never quotes a value, except the client's id.
 */
export function checkClient(value: unknown): Client {
  const problem =
    modelProblem(value) ??
    misspeltProblem(value) ??
    shapeProblem(value) ??
    undefinedProblem(value as Client) ??
    valueProblem(value as Client);
  if (problem === undefined) return value as Client;
  const { clientId } = (value ?? {}) as { clientId?: unknown };
  const named = typeof clientId === "string" && isClientId(clientId);
  throw mistake("wrong-client-record", named ? `"${clientId}"` : "record", problem);
}

/** The properties that are kept of a record. The host's records may have more. */
const kept: Readonly<
  Record<Exclude<keyof ConfidentialClient | keyof KeyClient | keyof PublicClient, "selfDescription">, true>
> = {
  clientId: true,
  name: true,
  redirectUris: true,
  responseModes: true,
  postLogoutRedirectUris: true,
  trusted: true,
  requirePushedRequests: true,
  subscriptions: true,
  logo: true,
  clientUri: true,
  policyUri: true,
  tosUri: true,
  disabled: true,
  dpopBound: true,
  confidential: true,
  secretDigests: true,
  oldSecretUntil: true,
  jwks: true,
  jwksUri: true,
  allowTokenEndpointAudience: true,
  platform: true,
};

/** A deep copy: if the host changes its own record later, that change has not been checked. A flag that is `null` is left out. */
export function ownClient(client: Client): Client {
  const parts = Object.entries(client).filter(([name, held]) => Object.hasOwn(kept, name) && held !== null);
  return JSON.parse(JSON.stringify(Object.fromEntries(parts))) as Client;
}

/** Tells whether a stored record has the values that this one has now, in whatever order its keys are. `undefined`: there is none. */
export function sameRecordAs(client: Client | undefined): (stored: Client | undefined) => boolean {
  const copy = client && (JSON.parse(JSON.stringify(client)) as Client);
  return (stored) => isDeepStrictEqual(stored, copy);
}
