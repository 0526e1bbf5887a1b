/** What the processes of one server share: storage, the host's table and sessions, time, keys and secrets. */
import { hash } from "node:crypto";
import { type Client, defaultLifetimes, generateSigningKey, memoryStorage, type Storage } from "../../lib";
import type { ClientLookup } from "../../lib/clients/client-lookup";
import { clientSecretVerifier, generateClientSecret } from "../../lib/clients/client-secret";
import { readSigningKeys } from "../../lib/options/signing-keys";
import { grantTypes } from "../../lib/protocol/client";
import type { ApiOpenId, Issuer } from "../../lib/protocol/issuer";
import { standardClaims } from "../../lib/protocol/openid";
import { type KeyRing, keyRing } from "../../lib/signing/jwt-signer";
import { newClientEnd } from "../../lib/storage/end-marks";
import { refreshSuccessors } from "../../lib/tokens/refresh-successor";
import { apiRecord, confidentialRecord, issuerRecord } from "../../__tests__/records/records";
import { boundClient } from "./bound-client";
import { exchangingClient, stockIssuer } from "./exchanging-client";
import { keyedClient } from "./keyed-client";
import { newScheduler, type Scheduler } from "./scheduler";

/** When everything begins. */
export const start = 1_800_000_000;

const [oldSecret, newSecret] = [generateClientSecret(), generateClientSecret()];

/** What the client proves itself with. */
export const clientSecret = oldSecret.secret;

/** The client whose family all operations are about. */
export const client: Client = confidentialRecord({
  secretDigests: [oldSecret.digest],
  subscriptions: { orders: { grantTypes } },
});

/** The same client, with a new secret beside the old one, and without the right to write. */
export const changedClient: Client = {
  ...client,
  secretDigests: [newSecret.digest, oldSecret.digest],
  subscriptions: { orders: { grantTypes, scopes: ["orders:read"] } },
};

/** The form of access tokens: opaque ones are stored, JWTs are not. With `openid` they are opaque, and there are ID tokens too. */
export type Format = "opaque" | "jwt" | "openid";

/** A refresh whose answer was lost can be repeated. */
const lifetimes = { ...defaultLifetimes, refreshRetrySeconds: 30 };

/** Clients may have their tokens bound to a key. */
const dpop = { required: false };

/** And people may answer devices. */
const deviceAuthorization = true;

const openid: ApiOpenId = { claims: standardClaims, idTokenAlgorithm: "ES256", audiences: [] };

/** With `openid`, people sign in to the client. */
const signInScopes = { openid: "Know who you are", email: "See your e-mail address" };

/** What Alice allows the client, and what its code is for. */
export const familyScopes: Readonly<Record<Format, { readonly all: string; readonly ofCode: string }>> = {
  opaque: { all: "orders:read orders:write", ofCode: "orders:read" },
  jwt: { all: "orders:read orders:write", ofCode: "orders:read" },
  openid: { all: "openid orders:read orders:write email", ofCode: "openid orders:read email" },
};

/** An issuer where an identity provider vouches for people. */
const vouchedIssuer = (api: Parameters<typeof issuerRecord>[0]): Issuer => ({
  ...issuerRecord(api),
  identityAssertions: true,
});

/** The issuer whose access tokens have this form. */
export const issuers: Readonly<Record<Format, Issuer>> = {
  opaque: vouchedIssuer({ accessTokenFormat: "opaque", lifetimes, dpop, deviceAuthorization }),
  jwt: vouchedIssuer({ accessTokenFormat: "jwt", lifetimes, dpop, deviceAuthorization }),
  openid: vouchedIssuer({
    dpop,
    deviceAuthorization,
    accessTokenFormat: "opaque",
    lifetimes,
    openid,
    scopes: { ...apiRecord().scopes, ...signInScopes },
  }),
};

const [firstKey, nextKey] = [generateSigningKey(), generateSigningKey()];
const reading = { by: "rotateKeys", now: start } as const;
const keysBefore = readSigningKeys([firstKey], reading);
const keysAfter = readSigningKeys([firstKey, { key: nextKey, signsFrom: start }], reading);

/** Whose random values are drawn now, so that they do not depend on the order of operations. */
let drawing: () => string = () => "";
const successorsBefore = refreshSuccessors(["a secret of the test"], () => drawing());
const successorsAfter = refreshSuccessors(["a newer secret", "a secret of the test"], () => drawing());

/** Checks secrets; it remembers nothing of those that are used here. */
export const verifySecret = clientSecretVerifier();

/** What is looked at for ID tokens and userinfo, beside the check of the token itself. */
export interface IdentityLooks {
  readonly storage: Storage;
  readonly clients: Pick<ClientLookup, "findRegistered" | "findHolder" | "isBrowserOrigin">;
}

/** A record that an operation or the preparation has written. */
export interface Write {
  readonly port: keyof Storage;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** What processes share. */
export interface Host {
  readonly scheduler: Scheduler;
  readonly issuer: Issuer;
  /** The issuer of the other API, whose resource server exchanges tokens. */
  readonly stock: Issuer;
  /** The storage itself, whose calls are not held. */
  readonly storage: Storage;
  /** What each process makes of its storage. */
  readonly plant: (storage: Storage) => Storage;
  /** What each process makes of its looks for ID tokens and userinfo. */
  readonly plantIdentity: (looks: IdentityLooks) => IdentityLooks;
  readonly ring: KeyRing;
  readonly now: () => number;
  readonly advance: (seconds: number) => void;
  readonly isSignedIn: () => boolean;
  readonly signIn: (how: "in" | "out") => void;
  readonly rotateKeys: () => void;
  readonly rotateSecrets: () => void;
  /** Changes all but whether it is disabled, as each change of one record is a compare-and-set. */
  readonly saveClient: (client: Client) => void;
  /** Nothing happens where the client is deleted. */
  readonly setDisabled: (disabled: boolean) => void;
  readonly removeClient: () => void;
  /** The secret parts of successors, with the random values of one process. */
  readonly successorsOf: (draw: () => string) => typeof successorsBefore;
}

/** The form of access tokens, and a mistake to be found. */
export interface HostOptions {
  readonly format: Format;
  /** Turns the storage of a process into one with a mistake. */
  readonly plant?: Host["plant"] | undefined;
  readonly plantIdentity?: Host["plantIdentity"] | undefined;
}

/** The same texts for each process in each run: the number of the draw decides. */
export function drawOf(process: string, length: number): () => string {
  let count = 0;
  return () => {
    count += 1;
    return hash("sha256", `${process}:${length}:${count}`, "base64url").slice(0, length);
  };
}

/** Storage with a client table that can be written. */
function storageOver(clients: Map<string, Client>): Storage {
  return {
    ...memoryStorage({ clients: [] }),
    clients: { find: async (clientId) => clients.get(clientId), isBrowserOrigin: async () => false },
  };
}

/** A host at which nothing has happened yet. */
export function newHost({
  format,
  plant = (storage) => storage,
  plantIdentity = (looks) => looks,
}: HostOptions): Host {
  const records = [client, keyedClient, boundClient, exchangingClient([oldSecret.digest])];
  const clients = new Map(records.map((record) => [record.clientId, record]));
  const issuer = issuers[format];
  const { accessTokenSeconds: tokenSeconds, openid: tells } = issuer.api;
  const ring = keyRing({
    keys: keysBefore,
    tokenSeconds,
    ...(tells && { idAlgorithms: [tells.idTokenAlgorithm] }),
  });
  let now = start;
  let isSignedIn = true;
  let successors = successorsBefore;
  return {
    scheduler: newScheduler(),
    issuer,
    stock: stockIssuer(issuer),
    storage: storageOver(clients),
    plant,
    plantIdentity,
    ring,
    now: () => now,
    advance: (seconds) => void (now += seconds),
    isSignedIn: () => isSignedIn,
    signIn: (how) => void (isSignedIn = how === "in"),
    rotateKeys: () => ring.replace(keysAfter),
    rotateSecrets: () => void (successors = successorsAfter),
    saveClient(changed) {
      const { disabled = false } = clients.get(changed.clientId) ?? {};
      clients.set(changed.clientId, { ...changed, disabled });
    },
    setDisabled(disabled) {
      const record = clients.get(client.clientId);
      if (record) clients.set(client.clientId, { ...record, disabled });
    },
    removeClient: () => void clients.delete(client.clientId),
    successorsOf: (draw) => ({
      derive(presented, at) {
        drawing = draw;
        return successors.derive(presented, at);
      },
      deriveAgain: (presented, use) => successors.deriveAgain(presented, use),
    }),
  };
}

/** The mark that a client table stores before it deletes the client. */
export const clientEnd = (now: number): ReturnType<typeof newClientEnd> => newClientEnd(client.clientId, now);
