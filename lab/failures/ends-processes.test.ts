// Clients poll at every process of the host while one process ends what they have, or deletes the client. Once that has resolved and
// the lag has passed, nothing older works in any process, and what others have still does.
import { setTimeout as delay } from "node:timers/promises";
import {
  type Answer,
  type ApiId,
  ask,
  type ClientAt,
  codeOf,
  type EndName,
  endNames,
  type Engine,
  engines,
  type HostProcess,
  type HostProcesses,
  lengthOf,
  type Question,
  startHosts,
  type TokenPair,
  tokensOf,
} from "../../__tests__/servers/cluster-processes";
import { describeWith } from "../../__tests__/servers/server-process";

const processCount = 4;
/** Of each end. */
const rounds = lengthOf({ short: 6, long: 200 });
/** After each of these groups the lag is waited for, in the short form once for each end. */
const roundsAtOnce = lengthOf({ short: 6, long: 3 });
const visits = 6;
const revocationLagSeconds = 1;

jest.setTimeout(lengthOf({ short: 600_000, long: 3_600_000 }));

/** The tokens of an answer of the token endpoint, `undefined` when it is refused. */
function boughtBy(answer: Answer): TokenPair | undefined {
  return answer.status === 200 ? tokensOf(answer) : undefined;
}

function accessTokenOf({ status, body }: Answer): string {
  if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
  return String(body["access_token"]);
}

function silentCode({ location }: Answer): string | undefined {
  return new URL(location ?? "none:").searchParams.get("code") ?? undefined;
}

/** What a client has collected of one person. */
interface Loot {
  readonly codes: string[];
  readonly accessTokens: string[];
  /** The newest of their families. */
  readonly refreshTokens: string[];
  /** Used already; an honest client could repeat them, as its answer may have been lost. */
  readonly usedTokens: string[];
}

const newLoot = (): Loot => ({ codes: [], accessTokens: [], refreshTokens: [], usedTokens: [] });

interface Race {
  readonly hosts: readonly HostProcess[];
  readonly at: ClientAt;
  readonly subject: string;
  readonly loot: Loot;
}

function hostAt(hosts: readonly HostProcess[], index: number): HostProcess {
  const host = hosts[index % processCount];
  if (!host) throw new Error("no process");
  return host;
}

/** The same question to every process. */
function everywhere(hosts: readonly HostProcess[], question: Question): Promise<readonly Answer[]> {
  return Promise.all(hosts.map((host) => host.send(question)));
}

/** One visit, and what can be bought by its code: nothing, tokens, or tokens that are refreshed at another process. */
async function visit({ hosts, at, subject, loot }: Race, turn: number): Promise<"allowed" | "refused"> {
  const code = silentCode(await hostAt(hosts, turn).send(ask.silentCode(at, subject)));
  if (code === undefined) return "refused";
  if (turn % 3 === 0) {
    loot.codes.push(code);
    return "allowed";
  }
  const tokens = boughtBy(await hostAt(hosts, turn + 1).send(ask.tokensOf(at, code)));
  if (!tokens) return "allowed";
  loot.accessTokens.push(tokens.accessToken);
  const refresh = ask.refreshOf(at, tokens.refreshToken);
  const refreshed = turn % 3 === 1 ? undefined : boughtBy(await hostAt(hosts, turn + 2).send(refresh));
  if (!refreshed) {
    loot.refreshTokens.push(tokens.refreshToken);
    return "allowed";
  }
  loot.usedTokens.push(tokens.refreshToken);
  loot.accessTokens.push(refreshed.accessToken);
  loot.refreshTokens.push(refreshed.refreshToken);
  return "allowed";
}

async function poll(race: Race, poller: number): Promise<void> {
  for (let number = 0; number < visits; number += 1)
    if ((await visit(race, poller + number)) === "refused") return;
}

/** What of the loot still works, at any process. */
async function alive({ hosts, at, loot }: Race): Promise<readonly string[]> {
  const { codes, accessTokens, refreshTokens, usedTokens } = loot;
  const works: string[] = [];
  for (const [index, accessToken] of accessTokens.entries()) {
    const calls = await everywhere(hosts, ask.call(at.apiId, accessToken));
    if (calls.some(({ status }) => status !== 401)) works.push("an access token");
    const said = await hostAt(hosts, index).send(ask.introspect(at.apiId, accessToken));
    if (said.status !== 200 || said.body["active"] !== false) works.push("an introspected access token");
  }
  const kinds = {
    "a code": codes.map((code) => ask.tokensOf(at, code)),
    "a refresh token": refreshTokens.map((token) => ask.refreshOf(at, token)),
    "a used refresh token": usedTokens.map((token) => ask.refreshOf(at, token)),
  };
  for (const [kind, questions] of Object.entries(kinds)) {
    for (const [index, question] of questions.entries()) {
      const { status, body } = await hostAt(hosts, index).send(question);
      if (status !== 400 || body["error"] !== "invalid_grant") works.push(`${kind}: ${status}`);
    }
  }
  return works;
}

/** A token that must go on working, and what the client can refresh it with. */
interface Bystander {
  readonly name: string;
  readonly at: ClientAt;
  readonly accessToken: string;
  readonly refreshToken?: string;
}

async function family(hosts: readonly HostProcess[], at: ClientAt, subject: string): Promise<TokenPair> {
  const code = codeOf(await hostAt(hosts, 0).send(ask.silentCode(at, subject)));
  return tokensOf(await hostAt(hosts, 1).send(ask.tokensOf(at, code)));
}

async function brokenOf(
  hosts: readonly HostProcess[],
  { name, at, accessToken, refreshToken }: Bystander,
): Promise<readonly string[]> {
  const calls = await everywhere(hosts, ask.call(at.apiId, accessToken));
  const broken = calls.some(({ status }) => status !== 200) ? [`${name}: the access token`] : [];
  if (refreshToken === undefined) return broken;
  const refreshed = boughtBy(await hostAt(hosts, 3).send(ask.refreshOf(at, refreshToken)));
  return refreshed ? broken : [...broken, `${name}: the refresh token`];
}

/** What has to be looked at after the lag. */
interface Aftermath {
  readonly dead: Race;
  readonly bystanders: readonly Bystander[];
  readonly wrong: string[];
}

/** What every end leaves alone, and what it must not. */
async function bystandersOf(
  hosts: readonly HostProcess[],
  { end, at, subject, other }: { end: EndName; at: ClientAt; subject: string; other: string },
): Promise<readonly Bystander[]> {
  const shop = { ...at, clientId: "shop" };
  const ofShop = { name: "the same person at another client", at: shop };
  const ofOther = { name: "another person at the client", at };
  const own = { name: "the client itself", at };
  const [sameElsewhere, otherHere, ownToken] = [
    { ...ofShop, ...(await family(hosts, shop, subject)) },
    { ...ofOther, ...(await family(hosts, at, other)) },
    { ...own, accessToken: accessTokenOf(await hostAt(hosts, 2).send(ask.ownTokens(at))) },
  ];
  if (end === "auth.clients.revoke") return [sameElsewhere];
  return end === "auth.consents.revoke" ? [sameElsewhere, otherHere, ownToken] : [otherHere, ownToken];
}

async function raceEnd(
  hosts: readonly HostProcess[],
  { end, number }: { end: EndName; number: number },
): Promise<Aftermath> {
  const name = `${endNames.indexOf(end)}-${number}`;
  const apiId: ApiId = number % 2 === 0 ? "orders" : "reports";
  const at = { clientId: `client-${name}`, apiId };
  const [subject, other] = [`person-${name}`, `other-${name}`];
  await hostAt(hosts, number).send(ask.register(at.clientId));
  for (const person of [subject, other]) await hostAt(hosts, number).send(ask.allow(at, person));
  const bystanders = await bystandersOf(hosts, { end, at, subject, other });
  const race: Race = { hosts, at, subject, loot: newLoot() };
  for (let turn = 0; turn < 3; turn += 1) await visit(race, turn);
  const ownBefore = accessTokenOf(await hostAt(hosts, 1).send(ask.ownTokens(at)));
  const polls = hosts.map((_, poller) => poll(race, poller));
  await delay(Math.random() * 20);
  // revoking those that are listed says nothing of those that come after
  const before = structuredClone(race.loot);
  const { status } = await hostAt(hosts, number + 1).send(ask.end(end, { ...at, subject }));
  const wrong = status === 200 ? [] : [`the end: ${status}`];
  const endsAll = end !== "auth.authorizations.revoke";
  const next = await everywhere(hosts, ask.silentCode(at, subject));
  if (endsAll && next.some(silentCode)) wrong.push("the next silent visit got a code");
  await Promise.all(polls);
  const loot = endsAll ? race.loot : before;
  if (end === "auth.clients.revoke") loot.accessTokens.push(ownBefore);
  return { dead: { ...race, loot }, bystanders, wrong };
}

async function afterwards({ dead, bystanders, wrong }: Aftermath): Promise<readonly string[]> {
  const all = [...wrong, ...(await alive(dead))];
  for (const bystander of bystanders) all.push(...(await brokenOf(dead.hosts, bystander)));
  const own = accessTokenOf(await hostAt(dead.hosts, 0).send(ask.ownTokens(dead.at)));
  const renewed = { name: "a new token of the client itself", at: dead.at, accessToken: own };
  return [...all, ...(await brokenOf(dead.hosts, renewed))];
}

const lag = (): Promise<void> => delay(revocationLagSeconds * 1_000 + 100);

/** Rounds of this end; what was wrong in any of them. */
async function roundsOf(hosts: readonly HostProcess[], end: EndName): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let first = 0; first < rounds; first += roundsAtOnce) {
    const numbers = Array.from({ length: roundsAtOnce }, (_, index) => first + index);
    const all = await Promise.all(numbers.map((number) => raceEnd(hosts, { end, number })));
    await lag();
    for (const each of all) wrong.push(...(await afterwards(each)));
  }
  return wrong;
}

/** A client that nobody trusts, with everything that it can have of a person and for itself at one API. */
interface Holding {
  readonly race: Race;
  readonly own: string;
}

async function holdingOf(
  hosts: readonly HostProcess[],
  { at, subject }: { at: ClientAt; subject: string },
): Promise<Holding> {
  await hostAt(hosts, 0).send(ask.allow(at, subject));
  const race: Race = { hosts, at, subject, loot: newLoot() };
  for (let turn = 0; turn < 3; turn += 1) await visit(race, turn);
  const own = accessTokenOf(await hostAt(hosts, 3).send(ask.ownTokens(at)));
  const { accessTokens } = race.loot;
  accessTokens.push(own);
  // every process remembers the tokens and the client from now on
  for (const token of accessTokens) {
    const calls = await everywhere(hosts, ask.call(at.apiId, token));
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  }
  return { race, own };
}

/** The access tokens of the holding that any process still takes. */
async function takenOf({ race: { hosts, at, loot } }: Holding): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const token of loot.accessTokens) {
    const calls = await everywhere(hosts, ask.call(at.apiId, token));
    const said = await everywhere(hosts, ask.introspect(at.apiId, token));
    if (calls.some(({ status }) => status !== 401)) taken.push("requireBearer");
    if (said.some(({ status, body }) => status !== 200 || body["active"] !== false))
      taken.push("introspection");
  }
  return taken;
}

const apiIds = ["orders", "reports"] as const;

/** What is wrong after the client's id was registered again: it must have inherited nothing, and begin anew. */
async function inheritedBy({ race }: Holding): Promise<readonly string[]> {
  const { hosts, at, subject } = race;
  const inherited = [...(await alive(race))];
  const silent = await everywhere(hosts, ask.silentCode(at, subject));
  if (silent.some(silentCode)) inherited.push("a consent");
  const own = accessTokenOf(await hostAt(hosts, 1).send(ask.ownTokens(at)));
  return [...inherited, ...(await brokenOf(hosts, { name: "its own new token", at, accessToken: own }))];
}

function tests(engine: Engine): void {
  let started: HostProcesses;
  let hosts: readonly HostProcess[];

  beforeAll(async () => {
    started = await startHosts(engine, processCount, { revocationLagSeconds, refreshRetrySeconds: 60 });
    hosts = started.processes;
  });
  afterEach(() => expect(started.failures).toEqual([]));
  afterAll(() => started?.close());

  it.each(endNames)(
    `%s, while clients poll at ${processCount} processes: nothing older works, what others have does, ${rounds} rounds`,
    async (end) => {
      expect(await roundsOf(hosts, end)).toEqual([]);
    },
  );

  it("ClientRegistry.delete: nothing works after the lag, and the id registered again inherits nothing", async () => {
    const clientId = "deleted";
    await hostAt(hosts, 0).send(ask.register(clientId));
    await hostAt(hosts, 0).send(ask.register("kept"));
    const holdings: Holding[] = [];
    const kept: Bystander[] = [];
    for (const apiId of apiIds) {
      holdings.push(await holdingOf(hosts, { at: { clientId, apiId }, subject: "holder" }));
      const at = { clientId: "kept", apiId };
      await hostAt(hosts, 1).send(ask.allow(at, "holder"));
      kept.push({ name: "another client", at, ...(await family(hosts, at, "holder")) });
    }

    expect((await hostAt(hosts, 2).send(ask.delete(clientId))).status).toBe(200);
    await lag();
    for (const holding of holdings) {
      expect(await takenOf(holding)).toEqual([]);
      const { at, loot } = holding.race;
      for (const token of loot.refreshTokens) {
        const refused = await everywhere(hosts, ask.refreshOf(at, token));
        expect(refused.map(({ body }) => body["error"])).toEqual(Array(processCount).fill("invalid_client"));
      }
    }

    expect((await hostAt(hosts, 3).send(ask.register(clientId))).status).toBe(200);
    for (const holding of holdings) {
      expect(await takenOf(holding)).toEqual([]);
      expect(await inheritedBy(holding)).toEqual([]);
    }
    for (const each of kept) expect(await brokenOf(hosts, each)).toEqual([]);
  });

  it("an id that is deleted and registered again at once inherits nothing after the lag", async () => {
    const clientId = "replaced";
    await hostAt(hosts, 0).send(ask.register(clientId));
    const holdings: Holding[] = [];
    for (const apiId of apiIds)
      holdings.push(await holdingOf(hosts, { at: { clientId, apiId }, subject: "heir" }));
    await hostAt(hosts, 2).send(ask.delete(clientId));
    await hostAt(hosts, 1).send(ask.register(clientId));
    await lag();
    for (const holding of holdings) {
      expect(await takenOf(holding)).toEqual([]);
      expect(await inheritedBy(holding)).toEqual([]);
    }
    // the new client begins anew
    await hostAt(hosts, 0).send(ask.register(clientId, { trusted: true }));
    await lag();
    for (const apiId of apiIds) {
      const at = { clientId, apiId };
      const renewed = { name: "a new person's tokens", at, ...(await family(hosts, at, "heir")) };
      expect(await brokenOf(hosts, renewed)).toEqual([]);
    }
  });

  it.each(apiIds)(
    "a subscription to %s that is removed: its tokens stop within the lag, those of the other API do not",
    async (apiId) => {
      const clientId = `unsubscribed-${apiId}`;
      const otherApi = apiId === "orders" ? "reports" : "orders";
      await hostAt(hosts, 0).send(ask.register(clientId));
      const lost = await holdingOf(hosts, { at: { clientId, apiId }, subject: "subscriber" });
      const at = { clientId, apiId: otherApi } as const;
      await hostAt(hosts, 1).send(ask.allow(at, "subscriber"));
      const kept = { name: "the other API", at, ...(await family(hosts, at, "subscriber")) };
      await hostAt(hosts, 2).send(ask.register(clientId, { apiIds: otherApi }));
      await lag();
      expect(await takenOf(lost)).toEqual([]);
      for (const token of lost.race.loot.refreshTokens) {
        const refused = await everywhere(hosts, ask.refreshOf(lost.race.at, token));
        expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
      }
      const ownTokens = await everywhere(hosts, ask.ownTokens(lost.race.at));
      expect(ownTokens.map(({ body }) => body["error"])).toEqual(
        Array(processCount).fill("unauthorized_client"),
      );
      expect(await brokenOf(hosts, kept)).toEqual([]);
    },
  );
}

for (const engine of engines) {
  describeWith(engine, {
    name: `ends over ${processCount} processes and ${engine.name} (RFC 7009 §2.1, 6749 §10.2)`,
    tests: () => tests(engine),
  });
}
