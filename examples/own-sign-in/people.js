// @ts-check
/** The host's people and the hashes of their passwords. In a real app, these are in your database. */
const { randomBytes, scrypt, timingSafeEqual } = require("node:crypto");

/** @typedef {import("./types").Person} Person */
/** @typedef {import("./types").SignedIn} SignedIn */
/** @typedef {Awaited<ReturnType<typeof newPeople>>} People */

/** Each guess costs 16 MiB and a few tenths of a second. */
const cost = { N: 2 ** 14, r: 8, p: 5 };

/** @type {(password: string, salt: Buffer) => Promise<Buffer>} */
function hashPassword(password, salt) {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, cost, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

/**
 * scrypt pads a short password with NULs, so the same password with NULs at its end would also match. Nobody types control
 * characters, so they are refused.
 *
 * @param {string} password
 */
const isPassword = (password) => !/\p{Cc}/u.test(password);

/** Each password gets its own salt, so that equal passwords have different hashes. @param {string} password */
async function saltedHash(password) {
  const salt = randomBytes(16);
  return { salt, hash: await hashPassword(password, salt) };
}

const newSessionsId = () => randomBytes(16).toString("base64url");

/** @param {readonly (Person & { password: string })[]} list */
async function newPeople(list) {
  const records = new Map();
  /** @param {string} subject */
  const recordOf = (subject) => [...records.values()].find(({ person }) => person.subject === subject);
  for (const { password, ...person } of list) {
    if (!isPassword(password)) throw new TypeError(`The password of ${person.name} has a control character.`);
    records.set(person.name, {
      person: { ...person, sessionsId: newSessionsId() },
      ...(await saltedHash(password)),
    });
  }
  const nobody = { person: undefined, ...(await saltedHash("")) };
  return {
    /** The person, if the password is right. Takes just as long for a name that does not exist. */
    async findByPassword(name = "", password = "") {
      if (!isPassword(password)) return undefined;
      const { person, salt, hash } = records.get(name) ?? nobody;
      const matches = timingSafeEqual(await hashPassword(password, salt), hash);
      return matches ? /** @type {SignedIn | undefined} */ (person) : undefined;
    },
    /** False once the sessions of the person were ended, wherever they are, or the person was removed. @param {SignedIn} signedIn */
    isStillSignedIn: ({ subject, sessionsId }) => recordOf(subject)?.person.sessionsId === sessionsId,
    /** Ends every session of the person, also one that is just beginning. @param {string} subject */
    endSessions(subject) {
      const record = recordOf(subject);
      if (record) record.person = { ...record.person, sessionsId: newSessionsId() };
    },
    /** Deletes the person, and with them every session. @param {string} subject */
    remove(subject) {
      const record = recordOf(subject);
      if (record) records.delete(record.person.name);
    },
  };
}

module.exports = { newPeople };
