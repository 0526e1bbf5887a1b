// @ts-check
/** The requests that are sent to the servers. */
"use strict";
const terms = require("./terms");

const form = { "content-type": "application/x-www-form-urlencoded" };
const code = `code={value}&code_verifier=${terms.verifier}&redirect_uri=${encodeURIComponent(terms.redirectUri)}`;
const asked = new URLSearchParams({
  response_type: "code",
  client_id: terms.clientId,
  redirect_uri: terms.redirectUri,
  scope: terms.scope,
  state: terms.state,
  code_challenge: terms.challenge,
  code_challenge_method: "S256",
}).toString();

/**
 * Returns the routes of a server that supports everything; other servers leave some out.
 *
 * @param {{ authorizePath?: string; tokenPath?: string; pushPath?: string; introspectPath?: string; userinfoPath?: string; clientSecret?: string; cookie?: string }} [server]
 * @returns {Required<Omit<import("./types").Routes, "accessTokens" | "authorizeOne">>}
 */
function allRoutes({
  authorizePath = "/authorize",
  tokenPath = "/token",
  pushPath = "/request",
  introspectPath = "/introspect",
  userinfoPath = "/me",
  clientSecret = terms.clientSecret,
  cookie = terms.cookie,
} = {}) {
  const credentials = `client_id=${terms.clientId}&client_secret=${clientSecret}`;
  /** @param {string} grant @returns {import("./types").RequestTemplate} */
  const token = (grant) => ({
    method: "POST",
    path: tokenPath,
    headers: form,
    body: `grant_type=${grant}&${credentials}`,
  });
  /** @type {import("./types").RequestTemplate} */
  const authorize = { method: "GET", path: `${authorizePath}?${asked}`, headers: { cookie } };
  return {
    clientCredentials: token(`client_credentials&scope=${terms.scope}`),
    authorize,
    push: {
      ...token("unused"),
      path: pushPath,
      body: `${credentials}&${asked.replace(/client_id=[^&]*&/, "")}`,
    },
    authorizePushed: {
      ...authorize,
      path: `${authorizePath}?client_id=${terms.clientId}&request_uri={value}`,
    },
    exchange: token(`authorization_code&${code}`),
    refresh: token("refresh_token&refresh_token={value}"),
    silent: { ...authorize, path: `${authorize.path}&prompt=none` },
    introspect: {
      method: "POST",
      path: introspectPath,
      headers: form,
      body: `${credentials}&token={value}`,
    },
    protected: {
      method: "GET",
      path: terms.openid ? userinfoPath : "/orders",
      headers: { authorization: "Bearer {value}" },
    },
  };
}

module.exports = { allRoutes };
