/** What is told of a client: no secret, no digest, and nothing that could move the cursor of a terminal. RFC 6749 §2. */
import { ownClient } from "../clients/client-record";
import { type Client, type ConfidentialClient, isKeyClient, type Subscription } from "../protocol/client";
import type { EpochSeconds } from "../protocol/time";
import { timeInWords } from "./duration";
import { printable } from "./wording";

/** A client in a list. A record that the server would refuse may lack any of it. */
export interface ListedClient {
  readonly clientId: string;
  readonly name: string;
  readonly kind: "secret" | "key" | "native" | "browser" | "wrong";
  readonly apis: readonly string[];
  readonly disabled: boolean;
}

function kindOf(client: Client): ListedClient["kind"] {
  if (client.confidential) return isKeyClient(client) ? "key" : "secret";
  return client.platform === "native" || client.platform === "browser" ? client.platform : "wrong";
}

/** The client as it stands in a list. */
export function listed(client: Client): ListedClient {
  const { clientId, name, subscriptions, disabled } = client as Partial<Client>;
  return {
    clientId: String(clientId),
    name: String(name),
    kind: kindOf(client),
    apis: Object.keys(subscriptions ?? {}),
    disabled: disabled === true,
  };
}

/** The same as a line, whose parts are separated by tabs. */
export function listedText({ clientId, name, kind, apis, disabled }: ListedClient): string {
  const parts = [clientId, name, kind, apis.join(",") || "-", disabled ? "disabled" : "enabled"];
  return `${parts.map(printable).join("\t")}\n`;
}

/** What is shown of a client as JSON: how many secrets it has in place of their digests. */
export function shownRecord(client: Client): object {
  const { secretDigests, ...shown } = ownClient(client) as Client & Partial<ConfidentialClient>;
  return secretDigests ? { ...shown, secrets: secretDigests.length } : shown;
}

function secretsInWords(client: Client, now: EpochSeconds): string {
  const { secretDigests = [], oldSecretUntil: until } = client as Partial<ConfidentialClient>;
  if (secretDigests.length < 2) return "one";
  if (until === undefined) return "two; the old one works until its digest is removed";
  const time = timeInWords(until);
  return now < until ? `two; the old one works until ${time}` : `one; the old one ended at ${time}`;
}

const kinds: Readonly<Record<ListedClient["kind"], string>> = {
  secret: "confidential, with a secret",
  key: "confidential, with a key",
  native: "native",
  browser: "browser",
  wrong: "wrong",
};

function atApi({ scopes, grantTypes, trusted }: Subscription): string {
  const parts = [
    scopes ? `scopes ${scopes.join(" ")}` : "all scopes",
    ...(grantTypes ? [`grants ${grantTypes.join(" ")}`] : []),
    ...(trusted ? ["trusted"] : []),
  ];
  return parts.join("; ");
}

/** What is shown of a client, line by line. */
export function shownText(client: Client, now: EpochSeconds): string {
  const { clientId, name, redirectUris, subscriptions, trusted, disabled } = client;
  const kind = kindOf(client);
  const lines = [
    `id: ${clientId}`,
    `name: ${name}`,
    `kind: ${kinds[kind]}`,
    `state: ${disabled ? "disabled" : "enabled"}`,
    ...(trusted ? ["trusted: at every API"] : []),
    ...redirectUris.map((uri) => `redirect URI: ${uri}`),
    ...Object.entries(subscriptions).map(([apiId, at]) => `API ${apiId}: ${atApi(at)}`),
    ...(kind === "secret" ? [`secrets: ${secretsInWords(client, now)}`] : []),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}
