// @ts-check
/** The host's people and the hashes of their passwords. Yours are in your database. */
const { randomBytes, scrypt, timingSafeEqual } = require("node:crypto");

/** @typedef {import("./types").Person} Person */
/** @typedef {Awaited<ReturnType<typeof newPeople>>} People */

/** 16 MiB and some tenths of a second for each guess. */
const cost = { N: 2 ** 14, r: 8, p: 5 };

/** @type {(password: string, salt: Buffer) => Promise<Buffer>} */
function hashPassword(password, salt) {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, cost, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

/**
 * scrypt fills a short password up with NULs, so one with NULs at its end would be the same. No key types a control character.
 *
 * @param {string} password
 */
const isPassword = (password) => !/\p{Cc}/u.test(password);

/** A salt of their own for each, so that equal passwords have different hashes. @param {string} password */
async function saltedHash(password) {
  const salt = randomBytes(16);
  return { salt, hash: await hashPassword(password, salt) };
}

/** @param {readonly (Person & { password: string })[]} list */
async function newPeople(list) {
  const records = new Map();
  for (const { password, ...person } of list) {
    if (!isPassword(password)) throw new TypeError(`The password of ${person.name} has a control character.`);
    records.set(person.name, { person, ...(await saltedHash(password)) });
  }
  const nobody = { person: undefined, ...(await saltedHash("")) };
  return {
    /** Who this is, if the password is right. Takes as long for a name that does not exist. */
    async findByPassword(name = "", password = "") {
      if (!isPassword(password)) return undefined;
      const { person, salt, hash } = records.get(name) ?? nobody;
      const matches = timingSafeEqual(await hashPassword(password, salt), hash);
      return matches ? /** @type {Person | undefined} */ (person) : undefined;
    },
  };
}

module.exports = { newPeople };
