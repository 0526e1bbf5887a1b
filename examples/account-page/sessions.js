// @ts-check
/** Sessions that can be ended from anywhere: whoever signs out everywhere must not get new tokens from a session that is still open. */
const { account } = require("../own-sign-in/sign-in");

/** @typedef {import("../own-sign-in/people").People} People */

/** Forgets who is signed in if their sessions were ended. @type {(req: import("express").Request, people: People) => void} */
function forgetIfEnded({ session }, people) {
  if (session.person && !people.isStillSignedIn(session.person)) delete session.person;
}

/**
 * Asks the table of people each time. express-session has read the session when the request began; if the person signs out everywhere
 * while the request is under way, authmount calls `authenticate` once more, and that call must notice.
 *
 * @type {(people: People) => import("authmount").AuthMethod}
 */
const endableAccount = (people) => ({
  authenticate(request) {
    forgetIfEnded(request.req, people);
    // the stored session does not know of the table
    if (!request.req.session.person) return { kind: "interaction", url: "/sign-in" };
    return account.authenticate(request);
  },
});

/** Mount this in front of every page that reads `req.session.person`. @type {(people: People) => import("express").RequestHandler} */
const forgetEndedSessions = (people) => (req, _res, next) => {
  forgetIfEnded(req, people);
  next();
};

module.exports = { endableAccount, forgetEndedSessions };
