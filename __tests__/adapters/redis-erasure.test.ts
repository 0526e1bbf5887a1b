// Who: nobody with bad intentions. A connection is lost while a person is erased, and the host calls `auth.subjects.erase` again.
import { endSubject } from "../../lib/end-user/ends";
import type { RedisClient } from "../../lib/redis";
import { redisStorage } from "../../lib/redis";
import { newAuthorization, newConsent, newId } from "../../lib/testing/contract/records";
import { redis } from "../servers/redis-server";
import { type Bed, clockDriftSeconds, keysOf, now, openBed, type Sender } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

/** When the connection is lost: at this command, before or after the server has executed it. */
interface Loss {
  readonly at: number;
  readonly isExecuted: boolean;
}

/** A client that loses its connection once, and how many commands it was asked for. */
function losing(client: Sender, { at, isExecuted }: Loss) {
  const asked = { count: 0 };
  const sendCommand = async (args: string[]): Promise<unknown> => {
    asked.count += 1;
    const isLost = asked.count === at;
    if (isLost && !isExecuted) throw new Error("the connection was lost");
    const answer = await client.sendCommand(args);
    if (isLost) throw new Error("the connection was lost");
    return answer;
  };
  return { asked, sendCommand };
}

type Shape = (sendCommand: Sender["sendCommand"]) => RedisClient;

/** The same server, as a client of one server and as one of a cluster, where no command may use two keys. */
const shapes: Readonly<Record<string, Shape>> = {
  "one server": (sendCommand) => ({ sendCommand }),
  "a cluster": (sendCommand) => ({
    masters: [{ address: "the server" }],
    slots: [],
    nodeClient: () => ({ sendCommand }),
    sendCommand: (_, __, args) => sendCommand(args),
  }),
};

/** Stores what a person has at two clients. */
async function storePerson(bed: Bed) {
  const { storage, prefix } = bed.fresh({ allowEviction: true });
  const [subject, clientId] = [newId(), newId()];
  const own = [{ clientId }, { clientId }, { clientId, expiresAt: now + 900 }, {}].map((changes) =>
    newAuthorization(now, { subject, ...changes }),
  );
  for (const one of own) await storage.authorizations.create(one, now);
  for (const _ of [1, 2]) await storage.consents.save(newConsent(now, { subject }), now);
  const left = async (): Promise<readonly string[]> => {
    const names = [subject, ...own.map(({ authorizationId }) => authorizationId)];
    return (await keysOf(bed.client, prefix)).filter((key) => names.some((name) => key.includes(name)));
  };
  return { storage, prefix, subject, own, left };
}

type Person = Awaited<ReturnType<typeof storePerson>>;

/** What is erased: everything of the person, or one authorization after the other. */
const erasures: Readonly<Record<string, (person: Person, storage: Person["storage"]) => Promise<void>>> = {
  everything: ({ subject }, storage) =>
    endSubject(
      { storage, emit: () => undefined, clock: () => now, randomId: newId },
      { subject, end: "erase", longestLifeSeconds: 900 },
    ),
  "one by one": async ({ subject, own }, storage) => {
    for (const { authorizationId } of own)
      await storage.authorizations.erase({ subject, authorizationId }, now);
    for (const { clientId, apiId } of await storage.consents.list(subject, 0)) {
      const selection = { subject, clientId, apiId };
      await storage.consents.delete({ selection, exceptEndMark: "M" }, now);
    }
  },
};

/** Erases with this loss and, if it has failed, again. Returns whether it has failed, and what is left. */
async function eraseTwice(bed: Bed, { shape, loss, by }: { shape: Shape; loss: Loss; by: string }) {
  const person = await storePerson(bed);
  const { sendCommand } = losing(bed.client, loss);
  const lossy = redisStorage({
    client: shape(sendCommand),
    prefix: person.prefix,
    allowEviction: true,
  });
  const erase = erasures[by] ?? (() => Promise.reject(new Error("no such erasure")));
  const failed = await erase(person, lossy).then(
    () => false,
    () => true,
  );
  const again = shape((args) => bed.client.sendCommand(args));
  if (failed)
    await erase(person, redisStorage({ client: again, prefix: person.prefix, allowEviction: true }));
  return { failed, left: await person.left() };
}

function repeated(bed: () => Bed): void {
  const cases = Object.keys(shapes).flatMap((name) =>
    Object.keys(erasures).flatMap((by) =>
      [false, true].map((isExecuted) => ({ name, by, isExecuted, when: isExecuted ? "after" : "before" })),
    ),
  );

  it.each(cases)(
    "leaves nothing that names the person, with $name, $by, lost $when any command",
    async ({ name, by, isExecuted }) => {
      const shape = shapes[name] as Shape;
      let at = 1;
      for (let hasFailed = true; hasFailed; at += 1) {
        const { failed, left } = await eraseTwice(bed(), { shape, loss: { at, isExecuted }, by });
        expect({ at, left }).toEqual({ at, left: [] });
        hasFailed = failed;
      }
      expect(at).toBeGreaterThan(10);
    },
  );

  it("erases what Redis has not removed yet, though it ended long ago by the caller's clock", async () => {
    const { storage, subject, left } = await storePerson(bed());
    expect(await storage.authorizations.erase({ subject }, now + 900 + clockDriftSeconds + 1)).toBe(4);
    expect((await left()).filter((key) => !key.includes("consents:"))).toEqual([]);
  });

  it("keeps what says where the entries are no longer than they are kept", async () => {
    const person = await storePerson(bed());
    const { sendCommand } = losing(bed().client, { at: 8, isExecuted: true });
    const { prefix, subject } = person;
    const lossy = redisStorage({ client: { sendCommand }, prefix, allowEviction: true });
    await expect(lossy.authorizations.erase({ subject }, now)).rejects.toThrow("the connection was lost");
    const left = await person.left();
    expect(left).toContain(`${prefix}authorizations:${JSON.stringify([subject, "erased"])}`);
    const ends = await Promise.all(left.map((key) => bed().expiryOf(key)));
    expect(Math.max(...ends)).toBe(now + 900 + clockDriftSeconds);
  });
}

describeWith(redis, {
  name: "redisStorage erases again what it has erased half-way (RFC 7009 §2.1)",
  tests() {
    const bed = openBed();
    describe("a repeated erasure", () => repeated(bed));
  },
});
