/**
 * The tables behind the model of `@node-oauth/oauth2-server`, with plain `pg`. They follow the examples in its documentation of the
 * model (`docs/api/model.md`): a table for clients, codes, access tokens and refresh tokens each, one statement where the example asks
 * its imaginary database, and a deletion that tells whether there was something to delete. Unlike there, a code or token brings its
 * client and user along as ids, without a statement for each: nothing here needs more of them.
 */
"use strict";

const schema = `
  CREATE TABLE IF NOT EXISTS oauth_clients (
    client_id text PRIMARY KEY, client_secret text NOT NULL, redirect_uris text[] NOT NULL, grants text[] NOT NULL
  );
  CREATE TABLE IF NOT EXISTS oauth_authorization_codes (
    authorization_code text PRIMARY KEY, expires_at timestamptz NOT NULL, redirect_uri text NOT NULL, scope text[] NOT NULL,
    client_id text NOT NULL, user_id text NOT NULL, code_challenge text, code_challenge_method text
  );
  CREATE TABLE IF NOT EXISTS oauth_access_tokens (
    access_token text PRIMARY KEY, expires_at timestamptz NOT NULL, scope text[] NOT NULL, client_id text NOT NULL, user_id text NOT NULL
  );
  CREATE TABLE IF NOT EXISTS oauth_refresh_tokens (
    refresh_token text PRIMARY KEY, expires_at timestamptz NOT NULL, scope text[] NOT NULL, client_id text NOT NULL, user_id text NOT NULL
  );`;

/**
 * A table with the three methods of a `Map` that the model uses. `columns` says which property is in which column; the first one is
 * the key. `client` and `user` are objects with an `id`.
 */
function newTable(pool, name, columns) {
  const names = Object.values(columns);
  const places = names.map((_, index) => `$${index + 1}`).join();
  const insert = `INSERT INTO ${name} (${names.join()}) VALUES (${places})`;
  const select = `SELECT * FROM ${name} WHERE ${names[0]} = $1`;
  const remove = `DELETE FROM ${name} WHERE ${names[0]} = $1`;
  return {
    async get(key) {
      const [row] = (await pool.query(select, [key])).rows;
      if (!row) return undefined;
      const found = Object.entries(columns).map(([property, column]) => [property, row[column]]);
      const { client, user, ...record } = Object.fromEntries(found);
      return { ...record, ...(client && { client: { id: client }, user: { id: user } }) };
    },
    async set(_key, { client, user, ...record }) {
      const given = { ...record, client: client?.id, user: user?.id };
      await pool.query(
        insert,
        Object.keys(columns).map((property) => given[property]),
      );
    },
    delete: async (key) => (await pool.query(remove, [key])).rowCount === 1,
  };
}

const owners = { client: "client_id", user: "user_id" };

/** Creates the tables. @returns what the model stores its records in */
async function openPostgresTables(pool) {
  await pool.query(schema);
  // an earlier run on this database may have left it
  await pool.query("DELETE FROM oauth_clients");
  return {
    clients: newTable(pool, "oauth_clients", {
      id: "client_id",
      secret: "client_secret",
      redirectUris: "redirect_uris",
      grants: "grants",
    }),
    codes: newTable(pool, "oauth_authorization_codes", {
      authorizationCode: "authorization_code",
      expiresAt: "expires_at",
      redirectUri: "redirect_uri",
      scope: "scope",
      codeChallenge: "code_challenge",
      codeChallengeMethod: "code_challenge_method",
      ...owners,
    }),
    accessTokens: newTable(pool, "oauth_access_tokens", {
      accessToken: "access_token",
      accessTokenExpiresAt: "expires_at",
      scope: "scope",
      ...owners,
    }),
    refreshTokens: newTable(pool, "oauth_refresh_tokens", {
      refreshToken: "refresh_token",
      refreshTokenExpiresAt: "expires_at",
      scope: "scope",
      ...owners,
    }),
  };
}

module.exports = { openPostgresTables };
