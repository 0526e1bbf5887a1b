/** Codes and refresh tokens, each of which buys tokens once. */
import type { Response } from "supertest";
import { redeem, refresh } from "../../__tests__/requests/client-requests";
import type { Pair } from "../../__tests__/hosts/apis";
import type { TestHost } from "../../__tests__/hosts/host";
import { obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { opaque } from "./outage-bed";
import { findClient } from "../../__tests__/storage/slow-storage";

/** Something that buys tokens once. */
export interface Purchase {
  readonly attempt: () => Promise<Response>;
  readonly secrets: readonly string[];
  /** Tokens of the same family that were acknowledged before. */
  readonly family?: Tokens;
}

/** A purchase that can be repeated. */
export interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  /** The call that spends the code or token. */
  readonly spends: string;
  /** Where its tokens are good; left out for `opaque`. */
  readonly pair?: Pair;
  readonly prepare: (host: TestHost) => Promise<Purchase>;
}

/** A code. */
export const codeJourney: Journey = {
  calls: [
    ...findClient,
    "authorizationCodes.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.create",
    "authorizationCodes.consume",
  ],
  spends: "authorizationCodes.consume",
  async prepare(host) {
    const code = await obtainCode(host, { client: "web", pair: opaque });
    return { attempt: () => redeem(host, { client: "web", code, pair: opaque }), secrets: [code] };
  },
};

const jwt: Pair = { api: "orders" };

/** A code that is redeemed in one step. The step is one command where no access token is stored. */
export const stepJourney: Journey = {
  calls: [...findClient, "authorizationCodes.find", "authorizations.find", "atOnce.redeem"],
  spends: "atOnce.redeem",
  pair: jwt,
  async prepare(host) {
    const code = await obtainCode(host, { client: "web", pair: jwt });
    return { attempt: () => redeem(host, { client: "web", code, pair: jwt }), secrets: [code] };
  },
};

/** A refresh token. */
export const refreshTokenJourney: Journey = {
  calls: [
    ...findClient,
    "refreshTokens.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.rotate",
  ],
  spends: "refreshTokens.rotate",
  async prepare(host) {
    const family = await obtainTokens(host, { client: "native", pair: opaque });
    const { refresh_token: refreshToken = "" } = family;
    return {
      attempt: () => refresh(host, { client: "native", refreshToken, pair: opaque }),
      secrets: [refreshToken, family.access_token],
      family,
    };
  },
};

/** Both, by name. */
export const journeys: Readonly<Record<string, Journey>> = {
  "a code": codeJourney,
  "a refresh token": refreshTokenJourney,
};
