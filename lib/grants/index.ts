/** The grants of the token endpoint. RFC 6749 §4.1.3, §4.4.2, §6; 8693 §2.1. */
import { assertionGrant, deviceGrant, exchangeGrant, type GrantType } from "../protocol/client";
import { authorizationCodeGrant } from "./authorization-code";
import { clientCredentialsGrant } from "./client-credentials";
import type * as DeviceCode from "./device-code";
import type { Grant } from "./grant";
import type * as Identity from "./identity-assertion";
import { refreshTokenGrant } from "./refresh-token";
import type * as TokenExchange from "./token-exchange";

/**
 * Every grant by its `grant_type`. The compiler refuses this record if a grant type is missing. Those that an option brings are loaded when
 * they are first used.
 */
export const grants: Readonly<Record<GrantType, Grant>> = {
  authorization_code: authorizationCodeGrant,
  refresh_token: refreshTokenGrant,
  client_credentials: clientCredentialsGrant,
  [assertionGrant]: {
    presents: ["assertion"],
    exchange(ports, request) {
      const { exchangeIdentityAssertion } = require("./identity-assertion") as typeof Identity;
      return exchangeIdentityAssertion(ports, request);
    },
  },
  [deviceGrant]: {
    // its codes are of registered clients, so no document is to be fetched for one
    presents: [],
    bodyOnly: ["device_code"],
    exchange(ports, request) {
      const { redeemDeviceCode } = require("./device-code") as typeof DeviceCode;
      return redeemDeviceCode(ports, request);
    },
  },
  [exchangeGrant]: {
    presents: [],
    bodyOnly: ["subject_token", "actor_token"],
    exchange(ports, request) {
      const { exchangeToken } = require("./token-exchange") as typeof TokenExchange;
      return exchangeToken(ports, request);
    },
  },
};
