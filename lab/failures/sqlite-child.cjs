/** Uses a SQLite file in a process of its own, which its parent kills. Its argument says what it does; it prints what is done, one line each. */
"use strict";

const { createHash, randomBytes } = require("node:crypto");
const { writeSync } = require("node:fs");
const { setTimeout: delay } = require("node:timers/promises");
const Database = require("better-sqlite3");
const { sqliteStorage } = require("../../dist/sqlite");

const { file, act, killBefore, code: held } = JSON.parse(process.argv[2]);
const lanes = 8;
const now = Math.floor(Date.now() / 1000);
const expiresAt = now + 3_600;

/** At once, whole, and in order: what is printed is known even if the process ends in the next moment. */
const print = (line) => void writeSync(1, `${JSON.stringify(line)}\n`);

const newId = () => randomBytes(16).toString("base64url");
const newDigest = () => createHash("sha256").update(randomBytes(32)).digest("base64url");

/** The same handle; `before` is told of each statement. */
function watched(handle, before) {
  const told = (sql, call) => {
    before(sql);
    return call();
  };
  return {
    exec: (sql) => told(sql, () => handle.exec(sql)),
    prepare(sql) {
      const statement = handle.prepare(sql);
      return {
        all: (...values) => told(sql, () => statement.all(...values)),
        run: (...values) => told(sql, () => statement.run(...values)),
      };
    },
  };
}

let statements = 0;

function endAtStatement() {
  if (statements === killBefore) process.kill(process.pid, "SIGKILL");
  statements += 1;
}

/** Stands still with the lock of the writer, until it is killed; if nobody does, it ends itself. */
function standStillBeforeCommit(sql) {
  if (sql !== "COMMIT") return;
  print({ step: "holds" });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  process.exit(1);
}

/** Prints that the step begins, and that it was acknowledged. */
async function does(step, call) {
  print({ ...step, acknowledged: false });
  await call();
  print({ ...step, acknowledged: true });
}

/** One authorization from its code to its end. */
async function live(storage, { lane, turn }) {
  const { authorizations, authorizationCodes, refreshTokens, accessTokens, endMarks } = storage;
  const authorizationId = newId();
  const owned = () => ({ authorizationId, digest: newDigest() });
  const [subject, clientId, issuer] = [newId(), "shop", "https://host.example/login"];
  const approval = { issuer, authMethodId: "password", apiId: "orders", clientId, subject };
  const authorization = {
    ...approval,
    authorizationId,
    grantedScopes: ["read"],
    endMarks: [],
    createdAt: now,
    expiresAt,
  };
  await does({ step: "authorize", authorizationId }, () =>
    authorizations.create({ ...authorization, revoked: false }, now),
  );
  const code = owned();
  await does({ step: "code", code }, () =>
    authorizationCodes.create({ ...code, redeemBefore: expiresAt, expiresAt, consumed: false }, now),
  );
  let token = owned();
  await Promise.all([
    does({ step: "consume", code }, () => authorizationCodes.consume(code, now)),
    does({ step: "token", token }, () => refreshTokens.create({ ...token, expiresAt, used: false }, now)),
  ]);
  for (let rotation = 0; rotation < 3; rotation += 1) {
    const [from, to] = [token, owned()];
    await does({ step: "rotate", from, to }, () =>
      refreshTokens.rotate({ from, to: { ...to, expiresAt, used: false } }, now),
    );
    token = to;
  }
  const [tokenId, digest] = [newId(), newDigest()];
  await Promise.all([
    does({ step: "revoke access token", tokenId }, () => accessTokens.revoke({ tokenId, expiresAt }, now)),
    does({ step: "use assertion", digest }, () =>
      storage.clientAssertions.use({ digest, clientId, expiresAt }, now),
    ),
    does({ step: "park", key: digest }, () =>
      storage.parkedRequests.create(
        { key: digest, owner: clientId, state: "approved", by: subject, expiresAt },
        { now },
      ),
    ),
    does({ step: "end mark", key: `lane-${lane}`, mark: `${process.pid}-${turn}` }, () =>
      endMarks.save({ key: `lane-${lane}`, mark: `${process.pid}-${turn}`, expiresAt }, now),
    ),
  ]);
  if (turn % 2 === 0)
    await does({ step: "revoke", authorizationId }, () => authorizations.revoke(authorizationId, now));
}

const acts = {
  /** As fast as it can, until it is killed. */
  async write(storage) {
    await storage.migrate();
    async function lane(_, number) {
      for (let turn = 0; ; turn += 1) await live(storage, { lane: number, turn });
    }
    await Promise.all(Array.from({ length: lanes }, lane));
  },
  migrate: (storage) => storage.migrate(),
  deleteExpired: (storage) => storage.deleteExpired(),
  /** Begins to consume the code, and never ends. */
  hold: (storage) => storage.authorizationCodes.consume(held, now),
  consume: (storage) => storage.authorizationCodes.consume(held, now),
  /** A program of somebody else, which writes for long. */
  async lock(_, handle) {
    handle.exec("BEGIN IMMEDIATE");
    print({ step: "holds" });
    await delay(2 ** 31 - 1);
  },
};

async function start() {
  const handle = new Database(file);
  const before = act === "hold" ? standStillBeforeCommit : endAtStatement;
  const storage = sqliteStorage({ handle: watched(handle, before) });
  await acts[act](storage, handle);
  print({ step: "done", statements });
}

process.stdin.resume().once("end", () => process.exit());
start().then(
  () => process.exit(),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
