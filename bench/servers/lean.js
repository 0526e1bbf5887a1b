// @ts-check
/**
 * The lean floor: one hand-written handler in Express that does the work of authmount's token and authorization endpoints and nothing
 * else. It has its own form reader, signs in one call, stores what must be stored in plain maps, and answers with `writeHead` and `end`.
 */
"use strict";
const { createHmac, hash, randomFillSync, sign, timingSafeEqual } = require("node:crypto");
const express = require("express");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const { silent: _silent, protected: _protected, introspect: _introspect, ...routes } = allRoutes();
const audience = "https://host.example/orders";
const secretDigest = hash("sha256", terms.clientSecret, "buffer");
const successorKey = hash("sha256", "the key of the successors", "buffer");
const seconds = { code: 60, access: 3_600, idle: 14 * 86_400, all: 90 * 86_400 };

/** @param {string} text */
const digest = (text) => hash("sha256", text, "base64url");
const now = () => Math.floor(Date.now() / 1000);
/** @param {unknown} value */
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

const block = Buffer.alloc(4_096);
let used = block.length;
/** Random bytes come in blocks, because one draw costs as much as a hundred values. @param {number} bytes */
function random(bytes) {
  if (used + bytes > block.length) used = randomFillSync(block) && 0;
  return block.toString("base64url", used, (used += bytes));
}

/** Records as authmount stores them, by digest or id. */
const stored = {
  /** @type {Map<string, { subject: string, scope: string, createdAt: number, expiresAt: number, revoked: boolean }>} */
  authorizations: new Map(),
  /** @type {Map<string, { id: string, redirectUri: string, challenge: string, expiresAt: number, used: boolean }>} */
  codes: new Map(),
  /** @type {Map<string, { id: string, expiresAt: number, used: boolean, salt: string }>} */
  refreshTokens: new Map(),
  /** @type {Map<string, object>} */
  accessTokens: new Map(),
};

/** @typedef {URLSearchParams} Form @typedef {{ id?: string, scope: string, refreshToken?: string }} Issue */

/** Reads a form of at most 64 KB. @param {import("node:http").IncomingMessage} req @param {(form: Form) => void} then */
function readForm(req, then) {
  /** @type {Buffer[]} */
  const chunks = [];
  let bytes = 0;
  req.on("data", (chunk) => (bytes += chunk.length) <= 65_536 && chunks.push(chunk));
  req.on("end", () => then(new URLSearchParams(Buffer.concat(chunks).toString())));
}

/** @param {import("node:http").ServerResponse} res @param {number} status @param {object} body */
function answer(res, status, body) {
  const text = JSON.stringify(body);
  res.writeHead(status, [
    "X-Content-Type-Options",
    "nosniff",
    "Cache-Control",
    "no-store",
    "Pragma",
    "no-cache",
    "Vary",
    "Origin",
    "Content-Type",
    "application/json",
    "Content-Length",
    String(Buffer.byteLength(text)),
  ]);
  res.end(text);
}

/** @param {Form} form */
function isClient(form) {
  const presented = hash("sha256", form.get("client_secret") ?? "", "buffer");
  return form.get("client_id") === terms.clientId && timingSafeEqual(presented, secretDigest);
}

/** The first refresh token of an authorization, or the successor of the one that was presented. @param {string} id @param {string} [presented] */
function newRefreshToken(id, presented) {
  const salt = presented === undefined ? "" : random(16);
  const secret = salt
    ? createHmac("sha256", successorKey).update(`${presented}${salt}`).digest("base64url")
    : random(32);
  const token = `${id}.${secret}`;
  stored.refreshTokens.set(digest(token), { id, expiresAt: now() + seconds.idle, used: false, salt });
  return token;
}

/** @param {Form} form @returns {Issue | undefined} */
function redeemCode(form) {
  const code = stored.codes.get(digest(form.get("code") ?? ""));
  const authorization = code && stored.authorizations.get(code.id);
  if (!code || !authorization || code.used || authorization.revoked || code.expiresAt <= now())
    return undefined;
  const challenge = Buffer.from(digest(form.get("code_verifier") ?? ""));
  if (
    form.get("redirect_uri") !== code.redirectUri ||
    !timingSafeEqual(challenge, Buffer.from(code.challenge))
  )
    return undefined;
  code.used = true;
  return { id: code.id, scope: authorization.scope, refreshToken: newRefreshToken(code.id) };
}

/** @param {Form} form @returns {Issue | undefined} */
function rotate(form) {
  const text = form.get("refresh_token") ?? "";
  const token = stored.refreshTokens.get(digest(text));
  const authorization = token && stored.authorizations.get(token.id);
  if (!token || !authorization || authorization.revoked || token.expiresAt <= now()) return undefined;
  if (token.used) authorization.revoked = true;
  if (token.used) return undefined;
  token.used = true;
  return { id: token.id, scope: authorization.scope, refreshToken: newRefreshToken(token.id, text) };
}

/** @type {Readonly<Record<string, (form: Form) => Issue | undefined>>} */
const grants = {
  client_credentials: (form) => (form.get("scope") === terms.scope ? { scope: terms.scope } : undefined),
  authorization_code: redeemCode,
  refresh_token: rotate,
};

/** @param {import("node:crypto").KeyObject} key @param {string} header @param {object} claims */
function jwtOf(key, header, claims) {
  const input = `${header}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

/** @param {Issue} issue */
function claimsOf({ id, scope }) {
  const iat = now();
  const sub = id === undefined ? terms.clientId : stored.authorizations.get(id)?.subject;
  const common = { iss: "https://host.example/login", aud: audience, sub, client_id: terms.clientId };
  return { ...common, jti: random(16), iat, exp: iat + seconds.access, scope, authorization_id: id };
}

/** @param {object} claims */
function newOpaqueToken(claims) {
  const token = random(32);
  stored.accessTokens.set(digest(token), claims);
  return token;
}

/** Redirects a person who has signed in and consented. @param {import("node:http").ServerResponse} res @param {Form} asked */
function redirectWithCode(res, asked) {
  const [id, createdAt] = [random(16), now()];
  const record = { subject: terms.subject, scope: asked.get("scope") ?? "", createdAt, revoked: false };
  stored.authorizations.set(id, { ...record, expiresAt: createdAt + seconds.all });
  const code = `${id}.${random(32)}`;
  const challenge = asked.get("code_challenge") ?? "";
  const [redirectUri, expiresAt] = [terms.redirectUri, createdAt + seconds.code];
  stored.codes.set(digest(code), { id, redirectUri, challenge, expiresAt, used: false });
  const state = asked.get("state") ?? "";
  const parameters = new URLSearchParams({ code, state, iss: "https://host.example/login" });
  res.writeHead(302, [
    "Cache-Control",
    "no-store",
    "Location",
    `${redirectUri}?${parameters.toString()}`,
    "Content-Length",
    "0",
  ]);
  res.end();
}

/** @param {import("node:http").IncomingMessage} req @param {import("node:http").ServerResponse} res */
function authorize({ url = "/", headers }, res) {
  const asked = new URL(url, audience).searchParams;
  const isTheirs = headers.cookie === terms.cookie && asked.get("client_id") === terms.clientId;
  if (isTheirs && asked.get("redirect_uri") === terms.redirectUri) redirectWithCode(res, asked);
  else answer(res, 400, {});
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "the lean floor",
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const key = terms.newSigningKey();
    const header = encode({ alg: "ES256", typ: "at+jwt", kid: "bench" });
    const app = express();
    app.get("/authorize", authorize);
    app.post("/token", (req, res) => {
      readForm(req, (form) => {
        if (!isClient(form)) return answer(res, 401, { error: "invalid_client" });
        const issue = grants[form.get("grant_type") ?? ""]?.(form);
        if (!issue) return answer(res, 400, { error: "invalid_grant" });
        const claims = claimsOf(issue);
        const access_token = format === "jwt" ? jwtOf(key, header, claims) : newOpaqueToken(claims);
        const { scope, refreshToken: refresh_token } = issue;
        const common = { access_token, token_type: "bearer", expires_in: seconds.access };
        answer(res, 200, { ...common, refresh_token, scope });
      });
    });
    return { listener: app, routes };
  },
};
