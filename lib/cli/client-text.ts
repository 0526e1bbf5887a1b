/** What is told of a client: no secret, no digest, and nothing that could move the cursor of a terminal. RFC 6749 §2. */
import { ownClient } from "../clients/client-record";
import { type Client, type ConfidentialClient, isKeyClient, withCurrentSecrets } from "../protocol/client";
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

/** What is shown of a client: how many of its secrets work at this time, in place of their digests. */
export function shownRecord(client: Client, now: EpochSeconds): object {
  const own = withCurrentSecrets(ownClient(client), now);
  const { secretDigests, oldSecretUntil, ...shown } = own as Client & Partial<ConfidentialClient>;
  if (!secretDigests) return shown;
  const until = secretDigests.length > 1 && oldSecretUntil !== undefined && timeInWords(oldSecretUntil);
  return { ...shown, secrets: secretDigests.length, ...(until && { oldSecretUntil: until }) };
}
