// Processes use one code or refresh token at the same moment, and the server refuses to go on where a row has changed since a statement
// began (error 1020): MariaDB from 11.6 on does so by default.
import { newCode, newDigest, newRefreshToken } from "../../lib/testing/contract/records";
import { mysqlStorage, type MysqlStorage } from "../../lib/mysql";
import { mariadb, type MariadbServer, startMariadb } from "../../__tests__/servers/mariadb-server";
import { describeWith } from "../../__tests__/servers/server-process";

const [simultaneous, rounds] = [8, 100];

/** What each of the rounds is told, sorted. */
async function race(round: () => Promise<() => Promise<unknown>>): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  for (let count = 0; count < rounds; count += 1) {
    const use = await round();
    const answers = await Promise.all(Array.from({ length: simultaneous }, use));
    told.add(answers.map(String).toSorted().join(" "));
  }
  return told;
}

/** One winner, and this for everybody else. */
function once(winner: string, loser: string): ReadonlySet<string> {
  const losers = Array.from({ length: simultaneous - 1 }, () => loser);
  return new Set([[...losers, winner].toSorted().join(" ")]);
}

describeWith(mariadb, {
  name: "innodb_snapshot_isolation of MariaDB (RFC 6749 §4.1.2, 9700 §4.14.2)",
  tests() {
    let server: MariadbServer;
    beforeAll(async () => {
      server = await startMariadb(["--innodb-snapshot-isolation=ON"]);
    });
    afterAll(() => server.close());

    describe.each(["READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"])("%s", (level) => {
      const at = Math.floor(Date.now() / 1000);
      let storage: MysqlStorage;
      const changed: string[] = [];

      beforeAll(async () => {
        await server.pool({ connectionLimit: 1 }).query(`SET GLOBAL tx_isolation = '${level}'`);
        const pool = server.pool({ connectionLimit: simultaneous });
        storage = mysqlStorage({
          pool: {
            execute: (text, values) =>
              pool.execute(text, values).catch((error: { readonly errno?: number }) => {
                if (error.errno === 1020) changed.push(text);
                throw error;
              }),
          },
        });
        await storage.migrate();
      });

      it("lets a code be consumed once, and every other use be told so", async () => {
        const told = await race(async () => {
          const code = newCode(at);
          await storage.authorizationCodes.create(code, at);
          return () => storage.authorizationCodes.consume(code, at);
        });
        expect(told).toEqual(once("consumed", "not-consumed"));
      });

      it("lets a refresh token be rotated once, and every other use be told so", async () => {
        const told = await race(async () => {
          const from = newRefreshToken(at);
          await storage.refreshTokens.create(from, at);
          return () => storage.refreshTokens.rotate({ from, to: { ...from, digest: newDigest() } }, at);
        });
        expect(told).toEqual(once("rotated", "not-rotated"));
        // otherwise nothing was repeated
        if (level !== "REPEATABLE-READ") expect(changed).not.toEqual([]);
      });
    });
  },
});
