// Ends fail at any of their calls, before or after its work, and are repeated until they succeed, as the documentation asks. Meanwhile
// a client goes on. Once an end has succeeded, nothing that is older works, and what is not ended is still listed.
import { memoryStorage } from "../../lib";
import { endApi, endClient, endSubject, type SubjectEnd, withdrawConsent } from "../../lib/end-user/ends";
import { confidentialRecord, issuerRecord } from "../../__tests__/records/records";
import { ruleServer, ruleServerOfAlice } from "../../__tests__/hosts/rule-server";
import { randomOf, scheduled } from "./schedule";
import { intercept } from "../../__tests__/storage/slow-storage";

const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Date.now() % 2 ** 31);
/** Of each end. */
const schedules = Number(process.env["AUTHMOUNT_SCHEDULES"] ?? 60);
const now = 1_800_000_000;
const client = confidentialRecord();
const issuer = issuerRecord({ accessTokenFormat: "opaque" });
const consent = { subject: "alice", clientId: client.clientId, apiId: issuer.api.apiId };
const longestLifeSeconds = 1_000_000;

/** A server at which Alice has allowed everything and holds a page open. Calls fail now and then once something runs. */
async function newScene(number: number) {
  const random = randomOf(seed + number);
  const { storage, run } = scheduled(memoryStorage({ clients: [client] }), {
    random,
    fails: (name) => /^(?:consents|authorizations|endMarks)\./.test(name) && random() < 0.2,
  });
  const { server, signOut } = ruleServerOfAlice(storage, { client, issuer, now });
  const first = await server.show("orders:read");
  const loot = [(first && (await server.allow(first)).code) ?? "", (await server.silent()).code ?? ""];
  const page = await server.show("orders:write");
  if (!page) throw new Error("no page was shown");
  const visits = [
    async () => void loot.push((await server.allow(page)).code ?? ""),
    async () => void loot.push((await server.silent()).code ?? ""),
  ];
  return { server, storage, run, loot, visits, signOut };
}

type Scene = Awaited<ReturnType<typeof newScene>>;

async function untilItSucceeds(end: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await end();
    } catch (error) {
      if (!/failed (?:before|after) its work$/.test((error as Error).message)) throw error;
    }
  }
}

const subjectEnd =
  (end: SubjectEnd) =>
  ({ server, signOut }: Scene): Promise<void> => {
    signOut();
    return endSubject(server.ports, { subject: "alice", end, longestLifeSeconds });
  };

const ends = {
  "auth.consents.revoke": ({ server }: Scene) =>
    withdrawConsent(server.ports, { selection: consent, longestLifeSeconds }),
  "auth.subjects.revoke": subjectEnd("keep-consents"),
  "auth.subjects.revoke with consents": subjectEnd("revoke-consents"),
  "auth.subjects.erase": subjectEnd("erase"),
  "auth.clients.revoke": ({ server }: Scene) => endClient(server.ports, client.clientId),
  "auth.apis.revoke": ({ server }: Scene) => endApi(server.ports, { apiId: "orders", apis: [issuer.api] }),
};

describe(`ends that fail and are repeated (RFC 7009 §2.1), seed ${seed}`, () => {
  it.each(Object.entries(ends))("%s ends everything in the end", async (_, end) => {
    for (let number = 0; number < schedules; number += 1) {
      const scene = await newScene(number);
      const { server, run, loot, visits } = scene;
      await run([...visits, () => untilItSucceeds(() => end(scene))]);
      const bought = await Promise.all(loot.filter((code) => code !== "").map(server.redeem));
      const living = bought.filter((tokens) => tokens !== undefined);
      expect({ number, living }).toEqual({ number, living: [] });
    }
  });

  it("auth.subjects.erase leaves no consent of an approval that cannot erase its authorization", async () => {
    const memory = memoryStorage({ clients: [client] });
    let beforeSave: (() => Promise<void>) | undefined;
    let isBroken = false;
    const storage = intercept(memory, async (name, call) => {
      if (name === "consents.save") await beforeSave?.();
      if (name === "authorizations.erase" && isBroken) throw new Error("the database is gone");
      return call();
    });
    const server = ruleServer(storage, { client, issuer, now });
    const page = await server.show("orders:read");
    beforeSave = async () => {
      await endSubject(server.ports, { subject: "alice", end: "erase", longestLifeSeconds });
      isBroken = true;
    };
    expect(page && (await server.allow(page))).toMatchObject({ code: undefined, error: "server_error" });
    expect(await memory.consents.list("alice", now)).toEqual([]);
  });
});
