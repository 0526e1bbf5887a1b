// @ts-check
/** The requests whose latency is measured, for logins all over the store. */
"use strict";
const { call } = require("../call");
const terms = require("../terms");
const { loginOf, shapes } = require("./logins");

/**
 * @typedef {import("../child").RunningServer} RunningServer
 * @typedef {import("../types").RequestTemplate} RequestTemplate
 * @typedef {{ readonly server: RunningServer; readonly logins: IterableIterator<import("./logins").Login> }} Bed
 *   A server on a filled store, and logins that nobody has used yet.
 * @typedef {{
 *   readonly title: string; readonly template: RequestTemplate; readonly values?: (count: number) => Promise<string[]>;
 * }} Work
 *   `values` replace `{value}`: so many, or fewer if they may be sent again.
 */

/** Logins of the first shape, from all over the store and each only once. @param {import("./logins").Population} population */
function* unusedLogins(population) {
  const step = 611_953;
  for (let index = 0; index < population.count; index += 1) {
    const login = loginOf((index * step) % population.count, population);
    if (login.shape === shapes[0]) yield login;
  }
  throw new Error(
    "all logins were used: choose more --authorizations, or fewer --refreshes, --seconds or --per-second",
  );
}

/** @template T @param {IterableIterator<T>} from @param {number} count @returns {T[]} */
const take = (from, count) => Array.from({ length: count }, () => from.next().value);

const together = 16;

/** Sends the request with each value, and returns what is read from the answers. @param {RunningServer} server @param {{ template: RequestTemplate; values: readonly string[]; read: (answer: Awaited<ReturnType<typeof call>>) => string | null | undefined }} how */
async function obtain(server, { template, values, read }) {
  /** @type {string[]} */
  const obtained = [];
  const left = values.values();
  async function worker() {
    for (const value of left) {
      const answer = await call(server, template, value);
      const text = read(answer);
      if (!text) throw new Error(`${template.path}: ${JSON.stringify(answer)}`);
      obtained.push(text);
    }
  }
  await Promise.all(Array.from({ length: together }, worker));
  return obtained;
}

/** @param {RequestTemplate | undefined} template @returns {RequestTemplate} */
function present(template) {
  if (!template) throw new Error("the server has no such route");
  return template;
}

const inTurn = 1_000;

/** @param {Bed} bed @param {number} perSecond @returns {readonly Work[]} */
function worksOf({ server, logins }, perSecond) {
  const { clientCredentials, exchange, introspect, protected: bearer, ...routes } = server.routes;
  const cookie = { cookie: `${terms.cookieOf}{value}` };
  const [authorize, silent] = [
    { ...present(routes.authorize), headers: cookie },
    { ...present(routes.silent), headers: cookie },
  ];
  const refresh = present(routes.refresh);
  const subjects = async () => take(logins, Math.min(inTurn, 10 * perSecond)).map(({ subject }) => subject);
  const tokens = async (/** @type {number} */ count) =>
    take(logins, count).map(({ refreshToken }) => refreshToken);
  /** @type {Promise<string[]> | undefined} */
  let accessTokens;
  const obtainAccessTokens = async () =>
    // each comes again after ten seconds, when the server has forgotten what it knew of it
    (accessTokens ??= obtain(server, {
      template: refresh,
      values: await tokens(Math.min(inTurn, 10 * perSecond)),
      read: ({ body }) => body.access_token,
    }));
  const codes = async (/** @type {number} */ count) => {
    const people = await subjects();
    const values = Array.from({ length: count }, (_, index) => people[index % people.length] ?? "");
    return obtain(server, {
      template: authorize,
      values,
      read: ({ location }) => location?.searchParams.get("code"),
    });
  };
  return [
    { title: "client credentials", template: present(clientCredentials) },
    { title: "authorize, consent remembered", template: authorize, values: subjects },
    { title: "authorize with `prompt=none`", template: silent, values: subjects },
    { title: "code exchange", template: present(exchange), values: codes },
    { title: "refresh", template: refresh, values: tokens },
    { title: "bearer token, opaque", template: present(bearer), values: obtainAccessTokens },
    { title: "introspection", template: present(introspect), values: obtainAccessTokens },
  ];
}

module.exports = { take, unusedLogins, worksOf };
