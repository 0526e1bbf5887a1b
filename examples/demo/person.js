// @ts-check
/** The person at the browser, as the host knows them: what the playground shows and changes. No part of OAuth. */
const { Router } = require("express");
const { signOutEverywhere } = require("./host-pages");
const { organizationName } = require("./people");

/** @typedef {import("express").Request} Request */

/** @param {import("./types").Host} host */
function personRoutes(host) {
  const { people, sessions } = host;
  const router = Router();

  /** What a person or an administrator does. Anybody may do it to themselves here, because it is a demo. */
  const changes = new Map(
    /** @type {[string, (subject: string, req: Request) => void | Promise<void>][]} */ ([
      ["disable", (subject) => people.disable(subject)],
      ["enable", (subject) => people.enable(subject)],
      ["other-organization", (_subject, req) => sessions.switchOrganization(req)],
      ["sign-out-everywhere", (subject) => signOutEverywhere(host, subject)],
    ]),
  );

  /** @param {Request} req */
  function describePerson(req) {
    const { subject, organization } = sessions.find(req) ?? {};
    const active = subject !== undefined && people.isActive(subject);
    return { subject, active, organization: organization && organizationName(organization) };
  }

  router.post("/person", (req, res) => void res.json(describePerson(req)));
  router.post("/person/:change", async (req, res) => {
    const change = changes.get(req.params.change);
    if (!change) return void res.sendStatus(404);
    const subject = sessions.find(req)?.subject;
    if (subject === undefined)
      return void res.status(409).json({ error: "signed_out", error_description: "Nobody is signed in." });
    await change(subject, req);
    res.json(describePerson(req));
  });
  return router;
}

module.exports = { personRoutes };
