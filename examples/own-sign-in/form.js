// @ts-check
/** Forms that another site cannot send: each contains a token of the session, which only our pages know. */
const { randomBytes, timingSafeEqual } = require("node:crypto");
const { html, page } = require("./page");

/** @typedef {import("express").Request} Request */

/** The value of a field, or `undefined` if the form does not have it. @type {(req: Request, name: string) => string | undefined} */
function field(req, name) {
  const value = /** @type {Record<string, unknown> | undefined} */ (req.body)?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Put this into every form. @param {Request} req */
function formToken({ session }) {
  session.formToken ??= randomBytes(32).toString("base64url");
  return html`<input type="hidden" name="form_token" value="${session.formToken}" />`;
}

/** @param {Request} req */
function hasFormToken(req) {
  const expected = Buffer.from(req.session.formToken ?? "");
  const sent = Buffer.from(field(req, "form_token") ?? "");
  return sent.length > 0 && sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** Mount this in front of every route that accepts a form. @type {import("express").RequestHandler} */
const requireFormToken = (req, res, next) => {
  if (["GET", "HEAD"].includes(req.method) || hasFormToken(req)) next();
  else {
    const main = html`<p>It was not sent from our page, or the page was too old. Nothing has happened.</p>`;
    res.status(403).send(page("This form cannot be used", main));
  }
};

module.exports = { field, formToken, requireFormToken };
