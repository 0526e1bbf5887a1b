// @ts-check
/**
 * The logins that fill a store. Login number n is always the same: its ids and tokens are made from n. All its times lie at a fixed
 * distance from its beginning, so that one login can be copied into many.
 */
"use strict";
const { hash } = require("node:crypto");
const terms = require("../terms");

/**
 * @typedef {import("../..").Storage} Storage
 * @typedef {{
 *   readonly share: number; readonly clientId: string; readonly apiId: string; readonly hasConsent: boolean;
 *   readonly contextKey?: string; readonly isRevoked?: boolean;
 * }} Shape
 *   `share` is in percent.
 * @typedef {{
 *   readonly shape: Shape; readonly authorizationId: string; readonly subject: string; readonly createdAt: number;
 *   readonly spentDigest: string; readonly refreshToken: string; readonly digest: string;
 * }} Login
 *   `refreshToken` is the one that can be used, and `digest` is its digest; the one before was spent for it.
 * @typedef {{ readonly count: number; readonly beginning: (number: number) => number }} Population
 *   `count`: how many logins live; those with higher numbers are of other people. `beginning` returns when one was created.
 */

const day = 86_400;
/** Between the sign-in and the first refresh. */
const refreshedAfter = 3_600;
const refreshSeconds = 14 * day;
const authorizationSeconds = 90 * day;
/** What the server adds to an authorization, so that it outlives the access tokens. */
const afterRefreshing = 3_600;
/** How long storage keeps what has expired. */
const keptSeconds = 300;
const loginsOfPerson = 2.5;

/** @type {readonly [Shape, ...Shape[]]} */
const shapes = [
  { share: 55, clientId: terms.clientId, apiId: "orders", hasConsent: true },
  { share: 15, clientId: terms.clientId, apiId: "orders", hasConsent: false },
  { share: 12, clientId: "mobile-app", apiId: "orders", hasConsent: true },
  { share: 8, clientId: "mobile-app", apiId: "invoices", hasConsent: true },
  { share: 6, clientId: terms.clientId, apiId: "orders", hasConsent: true, contextKey: "organization-4711" },
  { share: 4, clientId: terms.clientId, apiId: "orders", hasConsent: false, isRevoked: true },
];

/** One shape for each number below 100. */
const shapeOfHundred = shapes.flatMap((shape) => Array.from({ length: shape.share }, () => shape));

/** @param {string} kind @param {number} number */
const textOf = (kind, number) => hash("sha256", `${kind} ${number}`, "base64url");
/** @param {string} kind @param {number} number */
const idOf = (kind, number) => textOf(kind, number).slice(0, 22);

/** People have two or three logins each. @param {number} number @param {Population} population */
function subjectOf(number, { count }) {
  const people = Math.ceil(count / loginsOfPerson);
  return idOf("person", number < count ? (number * 7_919) % people : number);
}

/** @param {number} number @param {Population} population @returns {Login} */
function loginOf(number, population) {
  const shape = shapeOfHundred[number % 100] ?? shapes[0];
  const authorizationId = idOf("authorization", number);
  const refreshToken = `${authorizationId}.${textOf("refresh token", number)}`;
  return {
    shape,
    authorizationId,
    subject: subjectOf(number, population),
    createdAt: population.beginning(number),
    spentDigest: textOf("spent token", number),
    refreshToken,
    digest: hash("sha256", refreshToken, "base64url"),
  };
}

/** Living logins, which began one hour to 13 days ago. @param {number} count @param {number} now @returns {Population} */
function livingLogins(count, now) {
  const beginning = (/** @type {number} */ number) =>
    now - refreshedAfter - 60 - ((number * 104_729) % (13 * day - refreshedAfter));
  return { count, beginning };
}

/** Logins that storage may forget at this moment, with everything that belongs to them. @param {number} count @param {number} moment @returns {Population} */
function endingLogins(count, moment) {
  const beginning = () => moment - authorizationSeconds - afterRefreshing - keptSeconds;
  return { count, beginning };
}

/** @param {Login} login */
function authorizationOf({ shape, authorizationId, subject, createdAt }) {
  const { clientId, apiId, contextKey } = shape;
  return {
    authorizationId,
    issuer: `https://host.example/auth/password/api/${apiId}`,
    authMethodId: "password",
    apiId,
    clientId,
    subject,
    grantedScopes: [terms.scope],
    ...(contextKey !== undefined && { context: { key: contextKey, data: { role: "buyer" } } }),
    createdAt,
    expiresAt: createdAt + authorizationSeconds + afterRefreshing,
    revoked: false,
    endMarks: [],
    refreshableUntil: createdAt + authorizationSeconds,
  };
}

/** Stores a login by the adapter, as the server does: the sign-in, one refresh, and for some a revocation. @param {Storage} storage @param {Login} login */
async function storeLogin({ authorizations, consents, refreshTokens }, login) {
  const { shape, authorizationId, subject, createdAt } = login;
  const { clientId, apiId, contextKey, hasConsent, isRevoked } = shape;
  if (hasConsent) {
    const ends = { grantedAt: createdAt, expiresAt: createdAt + authorizationSeconds };
    const key = { subject, clientId, apiId, ...(contextKey !== undefined && { contextKey }) };
    await consents.save({ ...key, scopes: [terms.scope], ...ends, endMarks: [] }, createdAt);
  }
  await authorizations.create(authorizationOf(login), createdAt);
  const expiresAt = createdAt + refreshSeconds;
  const spent = { authorizationId, digest: login.spentDigest, expiresAt, used: false };
  await refreshTokens.create(spent, createdAt);
  const at = createdAt + refreshedAfter;
  const to = { authorizationId, digest: login.digest, expiresAt: at + refreshSeconds, used: false };
  await refreshTokens.rotate({ from: spent, to }, at);
  if (isRevoked === true) await authorizations.revoke(authorizationId, at);
}

module.exports = { endingLogins, livingLogins, loginOf, shapes, storeLogin };
