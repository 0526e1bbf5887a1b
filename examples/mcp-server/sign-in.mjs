// @ts-check
/** Two people who may sign in, with the session and the pages of the example own-sign-in. */
import { randomUUID } from "node:crypto";
import express from "express";
import { requireFormToken } from "../own-sign-in/form.js";
import { look, pageHeaders } from "../own-sign-in/page.js";
import { newPeople } from "../own-sign-in/people.js";
import { homePage, sessions, signInPages as pagesFor } from "../own-sign-in/sign-in.js";

export { account } from "../own-sign-in/sign-in.js";

const passwords = { alice: randomUUID(), bob: randomUUID() };

/** The browser's session. Mount it before `auth.router`. */
export const session = sessions({ secure: false });

/** The sign-in page. Mount it last. @param {import("authmount").AuthServer} auth */
export function signInPages(auth) {
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
