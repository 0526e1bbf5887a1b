// @ts-check
/** Forms that another site cannot send: each contains a token of the session, which only our pages know. */
const { randomBytes, timingSafeEqual } = require("node:crypto");
const { html } = require("./page");

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

/**
 * Mount this in front of every route that accepts a form. A form without the session's token changes nothing: another site has sent it, or
 * it was sent twice, or the person has signed in in another tab since. The browser is sent on, to the next page or to a new form.
 *
 * @type {(options: { auth: import("authmount").AuthServer, home: string }) => import("express").RequestHandler}
 */
const requireFormToken =
  ({ auth, home }) =>
  (req, res, next) => {
    if (["GET", "HEAD"].includes(req.method) || hasFormToken(req)) next();
    // authmount asks who is signed in by now, and shows the next page
    else if (req.query["interaction"] !== undefined) auth.resume(req, res);
    else res.redirect(303, req.session.person ? home : "/sign-in?again=1");
  };

module.exports = { field, formToken, requireFormToken };
