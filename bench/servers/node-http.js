// @ts-check
/** The floors without Express: they show what `node:http` itself costs. */
"use strict";
const jwt = require("jsonwebtoken");
const terms = require("../terms");

/**
 * @param {import("node:http").ServerResponse} res
 * @param {object} body
 */
function answer(res, body) {
  const text = JSON.stringify(body);
  res.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  res.end(text);
}

/**
 * @param {import("node:http").IncomingMessage} req
 * @param {(form: URLSearchParams) => void} then
 */
function readForm(req, then) {
  /** @type {Buffer[]} */
  const chunks = [];
  req.on("data", (chunk) => void chunks.push(chunk));
  req.on("end", () => then(new URLSearchParams(Buffer.concat(chunks).toString())));
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "bare node:http",
  formats: ["jwt"],
  async start() {
    const key = terms.newSigningKey();
    return {
      routes: {},
      listener(req, res) {
        if (req.url === "/f1") return answer(res, terms.greeting);
        readForm(req, () => {
          if (req.url === "/f2") return answer(res, terms.tokenAnswer);
          const claims = { iss: "https://host.example", sub: terms.clientId, scope: terms.scope };
          const token = jwt.sign(claims, key, { algorithm: "ES256", expiresIn: 3600 });
          answer(res, { ...terms.tokenAnswer, access_token: token });
        });
      },
    };
  },
};
