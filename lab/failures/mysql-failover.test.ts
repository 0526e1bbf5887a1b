/** How MariaDB loses what was acknowledged although it waits for its replica. */
import { mariadb } from "../../__tests__/servers/mariadb-server";
import { describeWith } from "../../__tests__/servers/server-process";
import { failOver, purchasesOf, thirtyTwoAtOnce, usableOnce } from "./failover-bed";
import { startReplicatedMariadb } from "./mysql-replication";
import { hostOver, withPair } from "./replication";

describeWith(mariadb, {
  name: "MariaDB that forgets what its replica has confirmed (RFC 6749 §4.1.2, 9700 §4.14.2)",
  tests() {
    it("rpl_semi_sync_master_timeout ends the wait: what is acknowledged then is usable once more", () =>
      withPair(startReplicatedMariadb("synchronous"), async (pair) => {
        const host = await hostOver(await pair.openStorage());
        const purchases = await purchasesOf(host);
        const pool = pair.primary.pool({ connectionLimit: 1 });
        await pool.query("SET GLOBAL rpl_semi_sync_master_timeout = 100");
        pair.link.freeze();
        for (const { attempt } of purchases) expect((await attempt()).status).toBe(200);
        await failOver(pair);
        for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
      }));

    it("STOP SLAVE makes a replica forget what it has received and not applied", () =>
      withPair(startReplicatedMariadb("synchronous"), async (pair) => {
        const host = await hostOver(await pair.openStorage());
        const purchases = await purchasesOf(host);
        await pair.untilReplicated();
        await pair.pauseReplay();
        for (const { attempt } of purchases) expect((await attempt()).status).toBe(200);
        await pair.losePrimary();
        await pair.standby.pool({ connectionLimit: 1 }).query("STOP SLAVE");
        await pair.promote();
        for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
      }));
  },
});
