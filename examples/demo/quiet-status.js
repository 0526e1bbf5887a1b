// @ts-check
/**
 * A browser writes every status from 400 on into its console. The playground shows them itself, so its scripts ask for the
 * status in a header. Only a demo does this: other clients get the real status.
 */

/** @type {import("express").RequestHandler} */
const quietStatus = (req, res, next) => {
  const end = res.end.bind(res);
  /** @param {[]} content */
  function endQuietly(...content) {
    if (!res.headersSent && res.statusCode >= 400) {
      res.setHeader("Demo-Status", res.statusCode);
      res.statusCode = 200;
    }
    return end(...content);
  }
  if (req.headers["demo-status"] === "in a header")
    res.end = /** @type {import("express").Response["end"]} */ (endQuietly);
  next();
};

module.exports = { quietStatus };
