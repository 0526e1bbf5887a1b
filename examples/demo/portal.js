// @ts-check
/** The two pages of `authmount/portal`, and what the host says for them: who is at the browser, and who is staff. */
const { Router } = require("express");
const { accountPages, staffPages } = require("authmount/portal");
const { organizationName } = require("./people");

/** @param {Pick<import("./types").Host, "auth" | "people" | "sessions"> & { options: import("authmount").AuthServerOptions }} host */
function portalPages({ auth, options, people, sessions }) {
  /** @type {import("authmount/portal").AccountPagesOptions["person"]} */
  function person({ req }) {
    const subject = sessions.find(req)?.subject;
    // the account page offers both ways to sign in
    return subject === undefined
      ? { kind: "interaction", url: "/account" }
      : { kind: "authenticated", subject };
  }
  const pages = { auth, options, person };
  return Router()
    .use("/account/apps", accountPages({ ...pages, contextName: organizationName }))
    .use(
      "/staff/clients",
      staffPages({
        ...pages,
        mayManage: ({ subject }) => people.isStaff(subject),
        links: (clientId) => [
          { href: `/#story=run&clientId=${encodeURIComponent(clientId)}`, text: "Try it in the playground" },
        ],
      }),
    );
}

module.exports = { portalPages };
