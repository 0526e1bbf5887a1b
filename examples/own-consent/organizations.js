// @ts-check
/** The organizations that people act for: who belongs to them, and how the choice becomes a claim of each token. */

/** @typedef {import("./types").Organization} Organization */

/** In a real app, these are in your database. @type {readonly Organization[]} */
const organizations = [
  { id: "org-tea", name: "Tea Traders", members: ["person-1"] },
  { id: "org-bikes", name: "Bike Builders", members: ["person-1", "person-2"] },
];

/** @param {string} subject */
const organizationsOf = (subject) => organizations.filter(({ members }) => members.includes(subject));

/**
 * The organization with this id, if the person belongs to it. An id that comes from a form or a session must pass here: the form may be
 * forged, and the person may have left.
 *
 * @type {(subject: string, id: string | undefined) => Organization | undefined}
 */
const organizationOf = (subject, id) =>
  organizationsOf(subject).find((organization) => organization.id === id);

/** @param {string} id */
const organizationName = (id) => organizations.find((organization) => organization.id === id)?.name;

/** @type {(organization: Organization) => import("authmount").AuthorizationContext} */
const contextOf = ({ id, name }) => ({ key: id, data: { name } });

/**
 * Adds the organization that the person has chosen last in this session. Without it, nobody could be answered silently.
 *
 * @type {(method: import("authmount").AuthMethod) => import("authmount").AuthMethod}
 */
const withOrganization = (method) => ({
  async authenticate(request) {
    const answer = await method.authenticate(request);
    if (answer.kind !== "authenticated") return answer;
    const organization = organizationOf(answer.subject, request.req.session.organizationId);
    return organization ? { ...answer, context: contextOf(organization) } : answer;
  },
});

/** @type {import("authmount").TokenAdapter} */
const tokens = {
  decide({ subject = "", authorization }) {
    const context = authorization?.context;
    if (!context) return { kind: "issue" };
    // an authorization keeps its context for life, but people leave organizations
    if (!organizationOf(subject, context.key)) return { kind: "refuse", revoke: true };
    return { kind: "issue", claims: { org: { id: context.key, ...context.data } } };
  },
};

module.exports = { contextOf, organizationName, organizationOf, organizationsOf, tokens, withOrganization };
