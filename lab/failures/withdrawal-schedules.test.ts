// A client polls silently, or holds a consent page open, while the person takes their consent back. The order in which storage
// answers is drawn by chance. Whatever it is, nothing that is older than the withdrawal may work after it.
import { type Consent, memoryStorage, type Storage } from "../../lib";
import { withdrawConsent } from "../../lib/end-user/ends";
import { confidentialRecord, issuerRecord } from "../../__tests__/records/records";
import { type Answer, ruleServer, type ShownPage } from "../../__tests__/hosts/rule-server";
import { randomOf, scheduled } from "./schedule";

const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Date.now() % 2 ** 31);
/** Of each of the four stories. */
const schedules = Number(process.env["AUTHMOUNT_SCHEDULES"] ?? 2_500);
const now = 1_800_000_000;
const client = confidentialRecord();
const issuer = issuerRecord();
const selection = { subject: "alice", clientId: client.clientId, apiId: "orders" };

/** The server's rules over this storage, without HTTP, and what Alice does at her account page. */
function newServer(storage: Storage) {
  const server = ruleServer(storage, { client, issuer, now });
  return {
    ...server,
    redeem: async (code: string) => (await server.redeem(code))?.refresh_token,
    refresh: async (refreshToken: string) => (await server.refresh(refreshToken))?.refresh_token,
    withdraw: () => withdrawConsent(server.ports, { selection, longestLifeSeconds: 1_000_000 }),
    consents: (): Promise<readonly Consent[]> => storage.consents.list("alice", now),
  };
}

type Server = ReturnType<typeof newServer>;

/** What a thief, or a client that does not want to let go, has collected. */
interface Loot {
  readonly codes: string[];
  readonly refreshTokens: string[];
}

async function allow(server: Server, scope: string): Promise<Answer> {
  const page = await server.show(scope);
  if (!page) throw new Error("no page was shown");
  return server.allow(page);
}

/** Keeps what a visit gives; half of the codes are redeemed at once. */
async function collect(server: Server, loot: Loot, visit: Promise<Answer>): Promise<void> {
  const { code } = await visit;
  if (code === undefined) return;
  loot.codes.push(code);
  if (loot.codes.length % 2 === 0) return;
  const refreshToken = await server.redeem(code);
  if (refreshToken !== undefined) loot.refreshTokens.push(refreshToken);
}

/** What of the loot still buys something. */
async function alive(server: Server, { codes, refreshTokens }: Loot): Promise<readonly string[]> {
  const bought: string[] = [];
  for (const refreshToken of refreshTokens)
    if ((await server.refresh(refreshToken)) !== undefined) bought.push("a refresh token");
  for (const code of codes) if ((await server.redeem(code)) !== undefined) bought.push("a code");
  return bought;
}

interface Story {
  readonly server: Server;
  readonly loot: Loot;
  readonly random: () => number;
  readonly run: (operations: readonly (() => Promise<void>)[]) => Promise<void>;
}

interface Chance {
  readonly failures?: boolean;
}

function newStory(number: number, { failures = false }: Chance = {}): Story {
  const random = randomOf(seed + number);
  const fails = (name: string): boolean =>
    failures &&
    /^(?:endMarks\.save|authorizations\.revokeAll|consents\.delete)$/.test(name) &&
    random() < 0.3;
  const { storage, run } = scheduled(memoryStorage({ clients: [client] }), { random, fails });
  return { server: newServer(storage), loot: { codes: [], refreshTokens: [] }, random, run };
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

async function tellFirst(tell: (number: number) => Promise<string | undefined>): Promise<void> {
  process.stderr.write(`withdrawal schedules, seed ${seed}\n`);
  for (const number of numbers(schedules)) {
    const wrong = await tell(number);
    if (wrong !== undefined) throw new Error(`seed ${seed}, schedule ${number}: ${wrong}`);
  }
}

describe("a withdrawal while approvals are under way (RFC 7009 §2.1), storage answers in any order", () => {
  it(`ends what silent visits get from the consent that it takes back, ${schedules} schedules`, async () => {
    await tellFirst(async (number) => {
      const { server, loot, random, run } = newStory(number);
      await collect(server, loot, allow(server, "orders:read"));
      const visits = numbers(1 + Math.floor(random() * 3)).map(
        () => () => collect(server, loot, server.silent()),
      );
      await run([...visits, () => server.withdraw()]);
      const [works, remembered, next] = [
        await alive(server, loot),
        await server.consents(),
        await server.silent(),
      ];
      if (works.length > 0) return `alive: ${works.join(", ")}`;
      if (remembered.length > 0) return "the consent is still listed";
      return next.error === "consent_required"
        ? undefined
        : `the next silent visit: ${next.error ?? "a code"}`;
    });
  });

  it(`ends what a page that was shown before gets, and brings no scope back, ${schedules} schedules`, async () => {
    await tellFirst(async (number) => {
      const { server, loot, random, run } = newStory(number);
      await collect(server, loot, allow(server, "orders:read"));
      const page = (await server.show("orders:read orders:write")) as ShownPage;
      await run([
        () => collect(server, loot, server.allow(page)),
        ...(random() < 0.5 ? [() => collect(server, loot, server.silent())] : []),
        () => server.withdraw(),
        ...(random() < 0.3 ? [() => server.withdraw()] : []),
      ]);
      const [works, next] = [await alive(server, loot), await server.silent()];
      if (works.length > 0) return `alive: ${works.join(", ")}`;
      if ((await server.consents()).length > 0) return "a consent is still listed";
      return next.error === "consent_required"
        ? undefined
        : `the next silent visit: ${next.error ?? "a code"}`;
    });
  });

  it(`lets a yes count that was asked for afterwards, for what its page showed alone, ${schedules} schedules`, async () => {
    await tellFirst(async (number) => {
      const { server, loot, run } = newStory(number);
      await collect(server, loot, allow(server, "orders:read"));
      const late: Answer[] = [];
      await run([
        async () => {
          const page = await server.show("orders:write");
          if (page) late.push(await server.allow(page));
        },
        () => server.withdraw(),
      ]);
      const [works, remembered] = [await alive(server, loot), await server.consents()];
      if (works.length > 0) return `alive: ${works.join(", ")}`;
      const scopes = remembered.flatMap((consent) => consent.scopes);
      if (scopes.includes("orders:read")) return "a withdrawn scope came back";
      const [code] = late.flatMap((answer) => answer.code ?? []);
      const lives = code !== undefined && (await server.redeem(code)) !== undefined;
      // what lives on is listed, so that the person can end it
      if (lives && remembered.length === 0) return "an authorization lives that no consent tells of";
      return undefined;
    });
  });

  it(`fails so that it can be repeated: what may live on stays listed, ${schedules} schedules`, async () => {
    await tellFirst(async (number) => {
      const { server, loot, run } = newStory(number, { failures: true });
      await collect(server, loot, allow(server, "orders:read"));
      let resolved = false;
      await run([
        () => collect(server, loot, server.silent()),
        () =>
          server.withdraw().then(
            () => void (resolved = true),
            () => undefined,
          ),
      ]);
      const listed = await server.consents();
      if (!resolved && listed.length > 0) await server.withdraw();
      const works = await alive(server, loot);
      return works.length === 0 ? undefined : `alive: ${works.join(", ")}, ${listed.length} listed`;
    });
  });
});
