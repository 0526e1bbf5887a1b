// @ts-check
/** The host's people and sessions: authmount has neither. */
const { randomBytes, randomInt, scrypt, timingSafeEqual } = require("node:crypto");

/** @typedef {"password" | "otp"} Method */
/** @typedef {import("express").Request} Request */
/** @typedef {ReturnType<typeof newPeople>} People */
/** @typedef {ReturnType<typeof newSessions>} Sessions */

/** @type {(password: string, salt: Buffer) => Promise<Buffer>} */
function hashPassword(password, salt) {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

function newPerson(password = "") {
  const salt = randomBytes(16);
  return { salt, hash: hashPassword(password, salt) };
}

/** @param {Readonly<Record<string, string>>} passwords by name */
function newPeople(passwords) {
  const people = new Map(Object.entries(passwords).map(([name, password]) => [name, newPerson(password)]));
  const nobody = newPerson();
  /** @type {Map<string, { name: string, code: string, triesLeft: number, expiresAt: number }>} */
  const sentCodes = new Map();
  return {
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
const amr = { password: ["pwd"], otp: ["otp"] };

/** @param {{ secure: boolean }} options */
function newSessions({ secure }) {
  /** @type {Map<string, { subject: string, authTimes: Partial<Record<Method, number>> }>} */
  const sessions = new Map();
  /** @param {Request} req */
  const find = (req) => sessions.get(req.cookies[cookieName]);
  return {
    find,
    /** @type {(req: Request, method: Method) => import("authmount").Authentication | undefined} */
    authentication(req, method) {
      const session = find(req);
      const authTime = session?.authTimes[method];
      if (!session || authTime === undefined) return undefined;
      return { kind: "authenticated", subject: session.subject, authTime, amr: amr[method] };
    },
    /**
     * Starts a new session under a new id. It keeps the earlier sign-ins of the same person.
     *
     * @type {(exchange: import("./types").Exchange, proved: import("./types").Proved) => void}
     */
    begin({ req, res }, { subject, method }) {
      const before = find(req);
      sessions.delete(req.cookies[cookieName]);
      const authTimes = before?.subject === subject ? before.authTimes : {};
      const id = randomBytes(32).toString("base64url");
      sessions.set(id, { subject, authTimes: { ...authTimes, [method]: Math.floor(Date.now() / 1000) } });
      res.cookie(cookieName, id, { httpOnly: true, sameSite: "lax", secure });
    },
    /** @param {Request} req */
    end: (req) => sessions.delete(req.cookies[cookieName]),
  };
}

module.exports = { newPeople, newSessions };
