// @ts-check
/** Checks what a server must do before it is measured: a fast server that checks nothing would not be a fair comparison. */
"use strict";
const terms = require("./terms");
const { call, obtainAccessTokens, obtainCode, obtainTokens } = require("./call");
const { forge } = require("./forge");

/** @typedef {import("./child").RunningServer} RunningServer */

/**
 * @param {RunningServer} server
 * @param {string} what
 * @param {boolean} isTrue
 */
function expect(server, what, isTrue) {
  if (!isTrue) throw new Error(`${server.name} (${server.format}): ${what}`);
}

const isRefusal = (/** @type {{ status: number }} */ { status }) => status >= 400 && status < 500;

/** @param {import("./types").RequestTemplate} template @param {string} name @param {string} wrong */
function withWrong(template, name, wrong) {
  return {
    ...template,
    body: (template.body ?? "").replace(new RegExp(`${name}=[^&]+`), `${name}=${wrong}`),
  };
}

/** @param {RunningServer} server @param {unknown} token */
function expectFormat(server, token) {
  const isJwt = typeof token === "string" && token.split(".").length === 3;
  expect(server, "an access token has the requested format", isJwt === (server.format === "jwt"));
}

/** @param {RunningServer} server */
async function checkClientCredentials(server) {
  const { clientCredentials } = server.routes;
  if (!clientCredentials) return;
  const { status, body } = await call(server, clientCredentials);
  expect(server, "client credentials are answered", status === 200);
  expectFormat(server, body.access_token);
  const wrong = withWrong(clientCredentials, "client_secret", "a-wrong-secret");
  expect(server, "a wrong secret is refused", isRefusal(await call(server, wrong)));
}

/** @param {RunningServer} server */
async function checkCodes(server) {
  const { authorize, exchange, refresh } = server.routes;
  if (!authorize || !exchange) return;
  const code = await obtainCode(server);
  const wrong = withWrong(exchange, "code_verifier", "a-wrong-verifier-0123456789-0123456789-0123456789");
  expect(server, "a wrong verifier is refused", isRefusal(await call(server, wrong, code)));
  const tokens = await obtainTokens(server);
  expectFormat(server, tokens.access_token);
  if (!refresh) return;
  const first = tokens.refresh_token;
  const { status, body } = await call(server, refresh, first);
  expect(server, "a refresh token is exchanged for tokens", status === 200);
  expectFormat(server, body.access_token);
  expect(
    server,
    "the refresh token is rotated",
    typeof body.refresh_token === "string" && body.refresh_token !== first,
  );
  expect(server, "a used refresh token is refused", isRefusal(await call(server, refresh, first)));
}

/** @param {RunningServer} server */
async function checkProtected(server) {
  const { protected: route } = server.routes;
  if (!route) return;
  const tokens = await obtainAccessTokens(server, 2);
  for (const token of tokens) {
    const { status, body } = await call(server, route, token);
    expect(server, "a good token passes", status === 200 && body.message === terms.greeting.message);
  }
  expect(server, "no token is refused", isRefusal(await call(server, { ...route, headers: {} })));
  for (const token of forge(tokens)) {
    expect(server, "a forged token is refused", (await call(server, route, token)).status === 401);
  }
}

/** @param {RunningServer} server */
async function checkSilent(server) {
  const { silent } = server.routes;
  if (!silent) return;
  const { location } = await call(server, silent);
  expect(server, "prompt=none returns a code", location?.searchParams.has("code") === true);
  const { location: refused } = await call(server, { ...silent, headers: {} });
  expect(
    server,
    "prompt=none without a session returns login_required",
    refused?.searchParams.get("error") === "login_required",
  );
}

/** @param {RunningServer} server @throws Error that names the first check that fails */
async function check(server) {
  await checkClientCredentials(server);
  await checkCodes(server);
  await checkProtected(server);
  await checkSilent(server);
}

module.exports = { check };
