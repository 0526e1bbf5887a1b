/** The kinds of token for tests. RFC 6750 §3.1. */
import type { TestTokenRequest } from "./token-request";

/** The kinds of token that every route must refuse with 401 `invalid_token`: each is a function of `TestTokens`. */
export const refusedKinds: readonly ["expired", "revoked", "withdrawn", "foreign"] = [
  "expired",
  "revoked",
  "withdrawn",
  "foreign",
];

/** A kind of token that every route must refuse. */
export type RefusedKind = (typeof refusedKinds)[number];

/**
 * Mints one token. The promise rejects with a `TypeError` when the server would not issue it: an unknown API, client or scope, no
 * subscription. It is so for refused tokens too: without its one fault, each of them would be accepted.
 */
export type MintToken = (request: TestTokenRequest) => Promise<string>;
