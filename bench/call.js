// @ts-check
/** Sends one request from a template, outside of any measurement. */
"use strict";

/**
 * @param {import("./child").RunningServer} server
 * @param {import("./types").RequestTemplate} template
 * @param {string} [value] what replaces `{value}`
 * @returns {Promise<{ status: number; location: URL | undefined; body: any }>}
 */
async function call({ url }, { method, path, headers = {}, body }, value = "") {
  const filled = Object.entries(headers).map(([name, text]) => [name, text.replace("{value}", value)]);
  const answer = await fetch(url + path.replace("{value}", value), {
    method,
    headers: Object.fromEntries(filled),
    redirect: "manual",
    ...(body !== undefined && { body: body.replace("{value}", value) }),
  });
  const location = answer.headers.get("location");
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  return {
    status: answer.status,
    location: location === null ? undefined : new URL(location, url),
    body: isJson && text !== "" ? JSON.parse(text) : text,
  };
}

/**
 * Obtains a code of the signed-in person.
 *
 * @param {import("./child").RunningServer} server
 */
async function obtainCode(server) {
  const { authorize } = server.routes;
  if (!authorize) throw new Error(`${server.name} has no authorize route`);
  const { location, body } = await call(server, authorize);
  const code = location?.searchParams.get("code");
  if (!code) throw new Error(`${server.name}: no code in ${location?.href ?? JSON.stringify(body)}`);
  return code;
}

/**
 * Returns the answer of the token endpoint to a new code.
 *
 * @param {import("./child").RunningServer} server
 */
async function obtainTokens(server) {
  const { exchange } = server.routes;
  if (!exchange) throw new Error(`${server.name} has no exchange route`);
  const { status, body } = await call(server, exchange, encodeURIComponent(await obtainCode(server)));
  if (status !== 200) throw new Error(`${server.name}: ${JSON.stringify(body)}`);
  return body;
}

/**
 * Obtains access tokens that the server's protected route accepts.
 *
 * @param {import("./child").RunningServer} server
 * @param {number} count
 * @returns {Promise<readonly string[]>}
 */
async function obtainAccessTokens(server, count) {
  if (server.accessTokens) return server.accessTokens.slice(0, count);
  const { clientCredentials } = server.routes;
  const obtain = async () =>
    (clientCredentials ? (await call(server, clientCredentials)).body : await obtainTokens(server))
      .access_token;
  /** @type {string[]} */
  const tokens = [];
  while (tokens.length < count) tokens.push(...(await Promise.all(Array.from({ length: 50 }, obtain))));
  return tokens.slice(0, count);
}

module.exports = { call, obtainAccessTokens, obtainCode, obtainTokens };
