/** The shape of client records. RFC 6749 §2. */
import { clientFlags, clientIdPattern, grantTypes, responseModes } from "../protocol/client";
import type { NamedSchema } from "../schemas/compile";

/** JSON Schema of a logo: an image in a `data:` URI, because pages load nothing. RFC 7591 §2 (`logo_uri`). */
export const logoSchema = {
  type: "string",
  pattern: "^data:image/(?:png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$",
  maxLength: 24_576,
};

const strings = { type: "array", items: { type: "string" } };
/** https without control characters or spaces, for links on pages. */
export const linkPattern = "^https://[\\x21-\\x7e]+$";
/** http only on this machine, where keys are fetched from only with `insecureLoopbackClients`. */
const keySetUri = {
  type: "string",
  pattern: "^(?:https://|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])[:/])[\\x21-\\x7e]+$",
  maxLength: 2_000,
};
const link = { type: "string", pattern: linkPattern };
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
  responseModes: { type: "array", minItems: 1, items: { enum: responseModes } },
  postLogoutRedirectUris: strings,
  trusted: { type: "boolean" },
  subscriptions: { type: "object", additionalProperties: subscription },
  logo: logoSchema,
  clientUri: link,
  policyUri: link,
  tosUri: link,
  disabled: { type: "boolean" },
  ...Object.fromEntries(clientFlags.map((flag) => [flag, { type: ["boolean", "null"] }])),
  // other servers have these for a whole client; overlooked here, they would narrow nothing
  scopes: false,
  grantTypes: false,
};

const secretClient = {
  $id: "secretClient",
  type: "object",
  required: [...required, "secretDigests"],
  properties: {
    ...properties,
    secretDigests: { ...strings, minItems: 1, maxItems: 2 },
    oldSecretUntil: { type: "integer" },
  },
};
const publicKey = { type: "object", required: ["kty"], properties: { kty: { type: "string" } } };
const keyClient = {
  $id: "keyClient",
  type: "object",
  required,
  properties: {
    ...properties,
    jwks: {
      type: "object",
      required: ["keys"],
      properties: { keys: { type: "array", minItems: 1, maxItems: 10, items: publicKey } },
    },
    jwksUri: keySetUri,
    allowTokenEndpointAudience: { type: "boolean" },
    secretDigests: false,
    oldSecretUntil: false,
  },
  oneOf: [{ required: ["jwks"] }, { required: ["jwksUri"] }],
};
const publicClient = {
  $id: "publicClient",
  type: "object",
  required: [...required, "platform"],
  properties: {
    ...properties,
    platform: { enum: ["native", "browser"] },
    secretDigests: false,
    oldSecretUntil: false,
    jwks: false,
    jwksUri: false,
  },
};
const anyClient = {
  $id: "anyClient",
  type: "object",
  required: ["confidential"],
  properties: { confidential: { type: "boolean" } },
};

/** The JSON Schemas of records, by what is known of them. */
export const clientSchemas: Readonly<Record<"any" | "secret" | "key" | "public", NamedSchema>> = {
  any: anyClient,
  secret: secretClient,
  key: keyClient,
  public: publicClient,
};
