// @ts-check
/** The host's people and sessions: authmount has neither. */
const { randomBytes, randomInt, scrypt, timingSafeEqual } = require("node:crypto");

/** @typedef {"password" | "otp"} Method */
/** @typedef {import("express").Request} Request */
/** @typedef {Extract<import("authmount").Authentication, { kind: "authenticated" }>} SignedIn */
/** @typedef {ReturnType<typeof newPeople>} People */
/** @typedef {ReturnType<typeof newSessions>} Sessions */

/** @type {(password: string, salt: Buffer) => Promise<Buffer>} */
function hashPassword(password, salt) {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

/** By id. Everybody here belongs to both; a real host looks into its own table. */
const organizations = { teahouse: "Tea House", toolshed: "Tool Shed" };
/** @typedef {keyof typeof organizations} Organization */
const organizationIds = /** @type {Organization[]} */ (Object.keys(organizations));

/** What people read. @param {string} id */
const organizationName = (id) => organizations[/** @type {Organization} */ (id)] ?? id;

/** The one that a form names, if there is such a one. @param {string | undefined} id */
const chooseOrganization = (id) => organizationIds.find((each) => each === id) ?? "teahouse";

function newPerson(password = "") {
  const salt = randomBytes(16);
  return { salt, hash: hashPassword(password, salt) };
}

/** @param {Readonly<Record<string, string>>} passwords by name */
function newPeople(passwords) {
  const people = new Map(Object.entries(passwords).map(([name, password]) => [name, newPerson(password)]));
  const nobody = newPerson();
  /** @type {Set<string>} */
  const disabled = new Set();
  /** @type {Map<string, { name: string, code: string, triesLeft: number, expiresAt: number }>} */
  const sentCodes = new Map();
  return {
    /** @param {string} name */
    isActive: (name) => people.has(name) && !disabled.has(name),
    /** @param {string} name */
    disable: (name) => void disabled.add(name),
    /** @param {string} name */
    enable: (name) => void disabled.delete(name),
    /** May manage the clients. A real host keeps this in its own table. @param {string} name */
    isStaff: (name) => name === "sam" && !disabled.has(name),
    /** What the person pays for: a fact that the APIs want to know. @param {string} name */
    planOf: (name) => (name === "alice" ? "gold" : "basic"),
    /** What other apps may learn when the person signs in there; nothing of somebody who is gone. @param {string} name */
    claimsOf: (name) =>
      people.has(name) ? { name, email: `${name}@example.com`, email_verified: true } : undefined,
    /** Takes just as long for a name that does not exist. */
    async passwordMatches(name = "", password = "") {
      // scrypt pads a short password with NULs, so the same password with NULs at its end would also match
      if (/\p{Cc}/u.test(password)) return false;
      const { salt, hash } = people.get(name) ?? nobody;
      return timingSafeEqual(await hashPassword(password, salt), await hash) && people.has(name);
    },
    /** Sends a one-time code, here to the console. Returns the id that must come back with the code. */
    sendCode(name = "") {
      for (const [old, { expiresAt }] of sentCodes) if (expiresAt <= Date.now()) sentCodes.delete(old);
      const id = randomBytes(16).toString("base64url");
      const code = String(randomInt(1_000_000)).padStart(6, "0");
      sentCodes.set(id, { name, code, triesLeft: 5, expiresAt: Date.now() + 300_000 });
      // a real host also limits how many codes it sends to a person in an hour
      if (people.has(name)) console.log(`One-time code for ${name}: ${code}`);
      return id;
    },
    /** Whether the code was neither used nor guessed at too often, as far as is known. */
    isCodeWaiting: (id = "") => sentCodes.has(id),
    /** The name that the code was sent to, if the code is right. */
    redeemCode(id = "", code = "") {
      const sent = sentCodes.get(id);
      if (!sent) return undefined;
      sent.triesLeft -= 1;
      const inTime = sent.triesLeft >= 0 && Date.now() < sent.expiresAt;
      const matches = /^\d{6}$/.test(code) && timingSafeEqual(Buffer.from(code), Buffer.from(sent.code));
      if (matches || !inTime) sentCodes.delete(id);
      return matches && inTime && people.has(sent.name) ? sent.name : undefined;
    },
  };
}

const cookieName = "demo_session";
const acr = { password: "pwd", otp: "otp" };

/** @param {{ secure: boolean }} options */
function newSessions({ secure }) {
  /** @type {Map<string, { subject: string, organization: Organization, authTimes: Partial<Record<Method, number>> }>} */
  const sessions = new Map();
  /** @param {Request} req */
  const find = (req) => sessions.get(req.cookies[cookieName]);
  return {
    find,
    /** @type {(req: Request, method: Method) => SignedIn | undefined} */
    authentication(req, method) {
      const session = find(req);
      const { password = 0, otp = 0 } = session?.authTimes ?? {};
      // where a password is enough, a later one-time code is too
      const proved = otp >= password ? "otp" : method;
      const authTime = session?.authTimes[proved];
      if (!session || authTime === undefined) return undefined;
      const { subject, organization } = session;
      const how = { authTime, amr: [acr[proved]], acr: acr[proved] };
      return { kind: "authenticated", subject, ...how, context: { key: organization } };
    },
    /**
     * Starts a new session under a new id. It keeps the earlier sign-ins of the same person.
     *
     * @type {(exchange: import("./types").Exchange, proved: import("./types").Proved) => void}
     */
    begin({ req, res }, { subject, method, organization }) {
      const before = find(req);
      sessions.delete(req.cookies[cookieName]);
      const authTimes = before?.subject === subject ? before.authTimes : {};
      const id = randomBytes(32).toString("base64url");
      const now = Math.floor(Date.now() / 1000);
      sessions.set(id, { subject, organization, authTimes: { ...authTimes, [method]: now } });
      res.cookie(cookieName, id, { httpOnly: true, sameSite: "lax", secure });
    },
    /** The person goes on in their other organization. @param {Request} req */
    switchOrganization(req) {
      const session = find(req);
      const other = organizationIds.find((id) => id !== session?.organization);
      if (session && other) session.organization = other;
    },
    /** @param {Request} req */
    end: (req) => sessions.delete(req.cookies[cookieName]),
    /** In every browser. @param {string} subject */
    endAll(subject) {
      for (const [id, session] of sessions) if (session.subject === subject) sessions.delete(id);
    },
  };
}

module.exports = { chooseOrganization, newPeople, newSessions, organizationName, organizations };
