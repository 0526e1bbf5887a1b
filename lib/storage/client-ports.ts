/** The storage ports of what clients bring along: assertions that they have signed, requests that wait for a person, and their own registrations. RFC 7523 §3, 7591 §3, 8628 §3.3, 9126 §4. */
import type { Authorization } from "../protocol/authorization";
import type { Client } from "../protocol/client";
import type { EpochSeconds } from "../protocol/time";
import type { TokenDigest, TokenHandle } from "../protocol/token-value";

/** A text that may be used only once: so far, a signed assertion by which a client has proved who it is. @rfc 7523 §3 */
export interface UsedAssertion {
  /** Stands for the text: for an assertion, the client's id together with the `jti` that the client chose. Other kinds of text never have the same digest. */
  readonly digest: TokenDigest;
  /** The client that has signed it. The server always passes it; an adapter need not store it. */
  readonly clientId?: string;
  /** From then on the text is refused because of its age, so it need not be remembered. */
  readonly expiresAt: EpochSeconds;
}

/**
 * Texts that may be used only once, such as client assertions. The adapter looks at nothing but digest and time, removes expired ones, and
 * must never lose an unexpired one.
 */
export interface ClientAssertionStore {
  /**
   * Compare-and-set: of any number of simultaneous calls with the same digest in any number of processes, exactly one gets `"used"`.
   * All others get `"used-before"`, and so do all later ones until the `expiresAt` of that one. After that, either answer is right.
   */
  use(assertion: UsedAssertion, now: EpochSeconds): Promise<"used" | "used-before">;
}

/** What a device asks for until a person has answered. @rfc 8628 §3.1 */
export interface DeviceRequest extends Pick<Authorization, "issuer" | "authMethodId" | "apiId"> {
  /** The authorization that it will be, and the digest of the device code. */
  readonly code: TokenHandle;
  readonly scopes: readonly string[];
  /** What these imply and is granted with them. */
  readonly impliedScopes: readonly string[];
}

/** A request that waits for a person, or was answered by one: a device's, or a pushed one. @rfc 8628 §3.3, 9126 §4 */
export interface ParkedRequest {
  /** Stands for the request: a digest of the user code, or of the pushed request's random id. */
  readonly key: TokenDigest;
  /** The client that asks. */
  readonly owner: string;
  readonly state: "open" | "approved" | "denied";
  /** Stands for what has answered it: text of the server that names nobody. Left out while it is open. */
  readonly by?: string;
  /** Left out for pushed requests, which are stored once they are approved. */
  readonly device?: DeviceRequest;
  /** From then on the request is refused because of its age, so it need not be remembered. */
  readonly expiresAt: EpochSeconds;
}

/**
 * Requests of devices, and pushed requests that were answered with a yes, so that each one is answered only once. The adapter removes
 * expired ones, and must never lose an unexpired one. A storage may leave this port out: only those two kinds of request need it.
 */
export interface ParkedRequestStore {
  /**
   * Stores it, unless one with this key is there: of any number of simultaneous calls in any number of processes, exactly one gets
   * `"created"`. All others get `"taken"`, and so do all later ones until the `expiresAt` of that one. After that, either answer is right.
   * Each answer is as lasting as the first: an adapter that waits for replicas waits again. One that is open is stored only if its owner
   * has fewer than `limit` (left out: no limit) that are open and have not expired at `now`. Otherwise the answer is `"full"`; where its
   * key is taken too, either is right. Simultaneous calls may store a few too many.
   */
  create(
    request: ParkedRequest,
    bound: { readonly limit?: number; readonly now: EpochSeconds },
  ): Promise<"created" | "taken" | "full">;
  /** The one with this key, with every field, unless it has expired at `now`. Whoever was told `"taken"` finds it until then. */
  find(key: TokenDigest, now: EpochSeconds): Promise<ParkedRequest | undefined>;
  /**
   * Compare-and-set: answers the one with this key, which then has this state and `by`. Of any number of simultaneous calls in any number
   * of processes, exactly one gets `"closed"`. All others get `"not-open"`, and so do calls for one that is not there, is not open, or has
   * expired at `now`. Each answer is as lasting as the first.
   */
  close(
    step: { readonly key: TokenDigest; readonly as: "approved" | "denied"; readonly by: string },
    now: EpochSeconds,
  ): Promise<"closed" | "not-open">;
}

/** A client that has registered itself. @rfc 7591 §3 */
export interface ClientRegistration {
  readonly client: Client;
  /** From then on the client is unknown. */
  readonly expiresAt: EpochSeconds;
}

/**
 * Clients that have registered themselves, apart from those of `clients`. The adapter removes expired ones. Nothing else depends on
 * a registration that is lost: its client is unknown and has to register again.
 */
export interface ClientRegistrationStore {
  /**
   * Stores a new registration, whose client id has never been stored before. Then at most `limit` unexpired ones are stored: of those that
   * were never extended, as many of the oldest go as necessary. New registrations all live equally long, so an adapter may take the one
   * that ends first for the oldest. If extended ones leave fewer than `reserved` places (left out: 1), nothing changes, and the answer is
   * `"full"`: otherwise the last new registrations would push out each other before anyone approves one. Simultaneous calls may leave a few
   * too many until the next call.
   */
  create(
    registration: ClientRegistration,
    bound: { readonly limit: number; readonly reserved?: number; readonly now: EpochSeconds },
  ): Promise<"created" | "full">;
  /** The client with exactly this id, with every field, unless its registration has expired at `now`. */
  find(clientId: string, now: EpochSeconds): Promise<Client | undefined>;
  /**
   * Moves the end of an unexpired registration to `expiresAt`, never to an earlier time. From then on it is an extended one, whenever it
   * expires, and no `create` removes it. False when there is none.
   */
  extend(
    registration: { readonly clientId: string; readonly expiresAt: EpochSeconds },
    now: EpochSeconds,
  ): Promise<boolean>;
}
