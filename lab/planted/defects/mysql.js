// @ts-check
/** Defects of the adapter for MySQL: single use, what drivers count and send, and what ends when. */
"use strict";

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "MySQL: the loser of a race for a token is told that it has won",
    file: "lib/adapters/mysql/database.ts",
    find: 'if (errorNumber(error) === errors.duplicate) return "taken";',
    replace: 'if (errorNumber(error) === errors.duplicate) return "inserted";',
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: INSERT IGNORE into the marks, which hides that a token is taken",
    file: "lib/adapters/mysql/tokens.ts",
    find: "`INSERT INTO ${tables.spent_tokens}",
    replace: "`INSERT IGNORE INTO ${tables.spent_tokens}",
    only: "MariaDB",
    tests: ["testing/contract/contract"],
  },
  {
    name: "MySQL: a mark ends with the first of the token and its successor",
    file: "lib/adapters/mysql/tokens.ts",
    find: "SELECT alive.digest, GREATEST(alive.expires_at, ?)",
    replace: "SELECT alive.digest, LEAST(alive.expires_at, ?)",
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: a successor lives as long as the mark that carries it",
    file: "lib/adapters/mysql/tokens.ts",
    find: "WHERE ${token}digest = ? AND ${token}expires_at > ?`",
    replace: "WHERE ${token}digest = ? AND token.expires_at > ?`",
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: last uses go with the marks that told them",
    file: "lib/adapters/mysql/storage.ts",
    find: 'if (table === "spent_tokens") await carryUses(query, span);',
    replace: "",
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: deleteExpired has no patience with clocks that are behind",
    file: "lib/adapters/mysql/storage.ts",
    find: "end: now - clockDriftSeconds",
    replace: "end: now",
    tests: ["adapters/mysql-sweep"],
  },
  {
    name: "MySQL: deleteExpired takes a time ahead of the database's clock",
    file: "lib/adapters/mysql/storage.ts",
    find: 'if (now <= Number(rows[0]?.["now"]) + clockDriftSeconds) return;',
    replace: "if (rows.length > 0) return;",
    tests: ["adapters/mysql-sweep"],
  },
  {
    name: "MySQL: deleteExpired stops after its first batch",
    file: "lib/adapters/mysql/storage.ts",
    find: "if (rows.length === 0) return deleted;",
    replace: "if (deleted <= batchRows) return deleted;",
    tests: ["adapters/mysql-sweep"],
  },
  {
    name: "MySQL: an equal record counts as not replaced by drivers that count changes",
    file: "lib/adapters/mysql/clients.ts",
    find: "SET record = ?, turn = turn + 1 WHERE client_id = ? AND record = ?`",
    replace: "SET record = ? WHERE client_id = ? AND record = ?`",
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: a registration that was extended makes room for others",
    file: "lib/adapters/mysql/clients.ts",
    find: "`DELETE FROM ${registrations} WHERE client_id IN (${marks}) AND extended = 0`",
    replace: "`DELETE FROM ${registrations} WHERE client_id IN (${marks})`",
    tests: ["adapters/mysql-sweep"],
  },
  {
    name: "MySQL: a statement is sent again after its connection was lost",
    file: "lib/adapters/mysql/database.ts",
    find: "return undone.has(errorNumber(error) ?? 0) && !isConnectionLost(error);",
    replace: "return undone.has(errorNumber(error) ?? 0);",
    tests: ["adapters/mysql"],
  },
  {
    name: "MySQL: text goes in the character set of the connection",
    file: "lib/adapters/mysql/database.ts",
    find: '(typeof value === "string" ? Buffer.from(value) : value)',
    replace: "(value)",
    tests: ["adapters/mysql"],
  },
];

module.exports = { defects };
