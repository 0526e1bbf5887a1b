/** What docs/upgrading.md promises, as far as a test can hold it: nothing of these lists goes away unseen. More may be added. */
import { readFileSync } from "node:fs";
import path from "node:path";
import * as main from "../lib";
import * as postgres from "../lib/postgres";
import * as redis from "../lib/redis";
import * as sqlite from "../lib/sqlite";
import { tablesIn } from "../lib/storage/postgres/names";
import { schemaVersions } from "../lib/storage/postgres/schema";
import * as testing from "../lib/testing";

const read = (name: string): string => readFileSync(path.resolve(__dirname, "..", name), "utf8");

/** A page of the reference, which is made from the code; a test holds it up to date. */
const reference = (page: string): string => read(`docs/reference/${page}.md`);

const without = (all: readonly string[], found: readonly string[]): readonly string[] =>
  all.filter((each) => !found.includes(each));

/** Every kind of event so far, and what it has of its own. */
const eventsSoFar = [
  "started: rootDocuments",
  "authorization-requested: scopes",
  "scopes-ignored: scopes, count",
  "authorization-granted: scopes",
  "sign-in-repeated: reason",
  "authorization-denied: error, reason",
  "token-issued: grantType, scopes",
  "token-refreshed: scopes",
  "refresh-retried: scopes",
  "token-refused: error, reason",
  "token-revoked: revoked",
  "authorization-ended: ",
  "revocation-refused: error, reason",
  "introspection-refused: error, reason",
  "replay-detected: replayed",
  "client-authentication-failed: reason",
  "consent-revoked: apiId",
  "nothing-to-revoke: apiId?",
  "subject-ended: ",
  "subject-erased: ",
  "client-document-refused: reason",
  "client-registered: ",
  "registration-refused: error, reason",
  "client-ended: ",
  "bearer-refused: apiId, reason",
  "server-error: cause",
];

const exportsSoFar: readonly (readonly [string, object, readonly string[]])[] = [
  [
    "authmount",
    main,
    [
      "browserOriginsOf",
      "createAuthServer",
      "defaultLifetimes",
      "digestClientSecret",
      "generateClientKey",
      "generateClientSecret",
      "generateSigningKey",
      "maxAuthorizations",
      "memoryStorage",
    ],
  ],
  ["authmount/postgres", postgres, ["postgresMigrations", "postgresStorage"]],
  ["authmount/redis", redis, ["redisStorage"]],
  ["authmount/sqlite", sqlite, ["sqliteStorage"]],
  ["authmount/testing", testing, ["storageContract"]],
];

const optionsSoFar = [
  "baseUrl",
  "secrets",
  "signingKeys",
  "storage",
  "authMethods",
  "apis",
  "tokens",
  "consent",
  "pages",
  "lifetimes",
  "revocationLagSeconds",
  "onEvent",
];

const portsSoFar = [
  "AccessTokenStore.create",
  "AccessTokenStore.find",
  "AccessTokenStore.revoke",
  "AccessTokenStore.isRevoked",
  "AuthorizationCodeStore.create",
  "AuthorizationCodeStore.find",
  "AuthorizationCodeStore.consume",
  "AuthorizationStore.create",
  "AuthorizationStore.find",
  "AuthorizationStore.revoke",
  "AuthorizationStore.revokeAll",
  "AuthorizationStore.list",
  "AuthorizationStore.erase",
  "ClientStore.find",
  "ConsentStore.find",
  "ConsentStore.save",
  "ConsentStore.list",
  "ConsentStore.delete",
  "EndMarkStore.find",
  "EndMarkStore.save",
  "RefreshTokenStore.create",
  "RefreshTokenStore.find",
  "RefreshTokenStore.rotate",
];

describe("what docs/upgrading.md promises", () => {
  it.each(exportsSoFar)("%s still exports its names", (_, entry, names) => {
    expect(without(names, Object.keys(entry))).toEqual([]);
  });

  it("every event still has its kind and its properties", () => {
    const rows = reference("events").matchAll(/^\| \[`([\w-]+)`\]\([^)]*\) \| ([^|]*) \|/gm);
    const events = [...rows].map(([, kind = "", own = ""]) => `${kind}: ${own.replaceAll("`", "").trim()}`);
    expect(events.length).toBeGreaterThan(20);
    expect(without(eventsSoFar, events)).toEqual([]);
  });

  it.each([
    ["option", "options", optionsSoFar],
    ["method of the ports", "ports", portsSoFar],
  ])("every %s is still there", (_, page, names) => {
    const headings = [...reference(page).matchAll(/^### (\S+)$/gm)].map(([, name = ""]) => name);
    expect(without(names, headings)).toEqual([]);
  });

  it("migrate() adds, and takes nothing from processes of the version before", () => {
    const statements = schemaVersions(tablesIn("public")).flat();
    const adding = /^(?:CREATE (?:TABLE|INDEX|UNIQUE INDEX) IF NOT EXISTS|ALTER TABLE \S+\s+ADD COLUMN)/;
    expect(statements.filter((each) => !adding.test(each))).toEqual([]);
    expect(statements.filter((each) => /\b(?:DROP|RENAME|TYPE|SET NOT NULL)\b/.test(each))).toEqual([]);
  });

  it("a name that is deprecated says what to write instead", () => {
    const comments = [...reference("functions").matchAll(/deprecated[^\n]*/gi)].map(([text]) => text);
    expect(comments.filter((text) => !text.includes("`"))).toEqual([]);
  });

  it("the page names the support of Node.js and Express that package.json has", () => {
    const { engines, peerDependencies } = JSON.parse(read("package.json")) as {
      engines: { node: string };
      peerDependencies: { express: string };
    };
    expect(engines.node).toBe(">=20.19");
    expect(peerDependencies.express).toBe("^4.21.0 || ^5.0.0");
    expect(read("docs/upgrading.md")).toContain("4.21 and newer, and 5.");
  });
});
