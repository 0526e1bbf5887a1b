// @ts-check
/** Copies the stored text of one login into that of another: ids and digests are replaced, and every time is moved. */
"use strict";

/**
 * @typedef {import("./logins").Login} Login
 * @typedef {string | { readonly name: number } | { readonly after: number }} Part
 *   Fixed text, or the name with this index, or a time so many seconds after the beginning of the login.
 */

/** What differs between two logins of one shape, except for their times. @param {Login} login @returns {readonly string[]} */
const namesOf = ({ authorizationId, subject, spentDigest, digest }) => [
  authorizationId,
  subject,
  spentDigest,
  digest,
];

/** The digits of a time of these years. */
const time = "(?<![0-9A-Za-z_-])1[789][0-9]{8}(?![0-9A-Za-z_-])";

/** Divides stored text of a login at what differs between logins. @param {string} text @param {Login} login @returns {readonly Part[]} */
function partsOf(text, login) {
  const names = namesOf(login);
  return text
    .split(new RegExp(`(${names.join("|")}|${time})`))
    .filter((part) => part !== "")
    .map((part) => {
      if (names.includes(part)) return { name: names.indexOf(part) };
      return new RegExp(`^${time}$`).test(part) ? { after: Number(part) - login.createdAt } : part;
    });
}

/** Puts the names and times of a login into the parts. @param {readonly Part[]} parts @param {Login} login */
function textOf(parts, login) {
  const names = namesOf(login);
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") text += part;
    else text += "name" in part ? names[part.name] : login.createdAt + part.after;
  }
  return text;
}

module.exports = { namesOf, partsOf, textOf };
