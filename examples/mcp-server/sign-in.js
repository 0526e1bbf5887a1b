// @ts-check
/** Two people who may sign in, with the session and the pages of the example own-sign-in. */
const { randomUUID } = require("node:crypto");
const express = require("express");
const { requireFormToken } = require("../own-sign-in/form");
const { look, pageHeaders } = require("../own-sign-in/page");
const { newPeople } = require("../own-sign-in/people");
const { homePage, password, sessions, signInPages: pagesFor } = require("../own-sign-in/sign-in");

const passwords = { alice: randomUUID(), bob: randomUUID() };

/** The browser's session. Mount it before `auth.router`. */
const session = sessions({ secure: false });

/** The sign-in page. Mount it last. @param {import("authmount").AuthServer} auth */
function signInPages(auth) {
  const people = newPeople([
    { subject: "person-1", name: "alice", password: passwords.alice },
    { subject: "person-2", name: "bob", password: passwords.bob },
  ]);
  const pages = people.then((found) => pagesFor({ auth, people: found, home: "/" }));
  console.log(`People and their passwords:\n  alice ${passwords.alice}\n  bob ${passwords.bob}`);
  return express
    .Router()
    .use(look, pageHeaders, express.urlencoded({ extended: false }))
    .use(requireFormToken({ auth, home: "/" }))
    .get("/", homePage)
    .use(async (req, res, next) => (await pages)(req, res, next));
}

module.exports = { password, session, signInPages };
