// @ts-check
/** Defects within one call of an adapter: in the order of its steps, and in what a second try needs. */
"use strict";

const tests = ["lab/failures/inside-one-call"];

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "Redis: a client is saved before its origins",
    file: "lib/adapters/redis/clients.ts",
    find: '      await addToIndexes();\n      await sendReplicated(key, ["SET", key, record]);',
    replace: '      await sendReplicated(key, ["SET", key, record]);\n      await addToIndexes();',
    only: "Redis",
    tests,
  },
  {
    name: "Redis: a client is deleted before its end mark is there",
    file: "lib/adapters/redis/clients.ts",
    find: "      if (exists) await endMarks.save(first, now);\n",
    replace: "",
    only: "Redis",
    tests,
  },
  {
    name: "Redis: a deletion that has failed is not finished by the next one",
    file: "lib/adapters/redis/clients.ts",
    find: "const isEnded = exists || (await endMarks.find([first.key], now))[0] !== undefined;",
    replace: "const isEnded = exists;",
    only: "Redis",
    tests,
  },
  {
    name: "Redis: an authorization leaves the person's list before it is erased",
    file: "lib/adapters/redis/authorizations.ts",
    find: "  const count = await records.delete(ids);\n  const entries",
    replace:
      "  await indexes.remove(indexes.ofSubject(subject), { ids, now });\n  const count = await records.delete(ids);\n  const entries",
    only: "Redis",
    tests,
  },
  {
    name: "MySQL: a client is deleted before its end mark is there",
    file: "lib/adapters/mysql/clients.ts",
    find: "      await endClient(query, { clientId, clock });\n      await query(({ clients }) => `DELETE",
    replace: "      await query(({ clients }) => `DELETE",
    only: "MariaDB",
    tests,
  },
  {
    name: "MySQL: a deleted client has the mark that somebody read before",
    file: "lib/adapters/mysql/clients.ts",
    find: "WHERE client_id = ?`, [clientId]);\n      await endClient(query, { clientId, clock });",
    replace: "WHERE client_id = ?`, [clientId]);",
    only: "MariaDB",
    tests,
  },
];

module.exports = { defects };
