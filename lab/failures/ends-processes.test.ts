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
/** Of the end of an API, which leaves no other race there. */
const apiRounds = lengthOf({ short: 2, long: 60 });
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

/** One race; what it gives says what is wrong after the lag. */
type RunRace = (number: number) => Promise<() => Promise<readonly string[]>>;

/** Rounds of a race; what was wrong in any of them. */
async function roundsOf(race: RunRace): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let first = 0; first < rounds; first += roundsAtOnce) {
    const numbers = Array.from({ length: roundsAtOnce }, (_, index) => first + index);
    const all = await Promise.all(numbers.map(race));
    await lag();
    for (const look of all) wrong.push(...(await look()));
  }
  return wrong;
}

/** What an access token may do at each process, and what introspection says of it there. */
async function scopesOf(
  hosts: readonly HostProcess[],
  { at, accessToken }: Pick<Bystander, "at" | "accessToken">,
): Promise<readonly string[]> {
  const calls = await everywhere(hosts, ask.call(at.apiId, accessToken));
  const said = await everywhere(hosts, ask.introspect(at.apiId, accessToken));
  return [
    ...calls.map(({ status, body }) => (status === 401 ? "nothing" : String(body["scopes"]))),
    ...said.map(({ body }) => (body["active"] === false ? "nothing" : String(body["scope"]))),
  ];
}

/** What the loot can do at any process, but for what it may. */
async function unlike(
  allowed: readonly ("read" | "nothing")[],
  { hosts, at, loot }: Race,
): Promise<readonly string[]> {
  const { codes, accessTokens, refreshTokens, usedTokens } = loot;
  const found: string[] = [];
  const tokens = [...accessTokens];
  const questions = [
    ...codes.map((code) => ask.tokensOf(at, code)),
    // the other way round, a repeated one would end its family
    ...[...usedTokens, ...refreshTokens].map((token) => ask.refreshOf(at, token)),
  ];
  for (const [index, question] of questions.entries()) {
    const answer = await hostAt(hosts, index).send(question);
    const bought = boughtBy(answer);
    if (bought) tokens.push(bought.accessToken);
    else found.push(answer.body["error"] === "invalid_grant" ? "nothing" : JSON.stringify(answer));
  }
  for (const accessToken of tokens) found.push(...(await scopesOf(hosts, { at, accessToken })));
  return found.filter((each) => !(allowed as readonly string[]).includes(each));
}

/** What came after the rest. */
function laterOf(all: Loot, earlier: Loot): Loot {
  const later = (kind: keyof Loot): string[] => all[kind].slice(earlier[kind].length);
  return {
    codes: later("codes"),
    accessTokens: later("accessTokens"),
    refreshTokens: later("refreshTokens"),
    usedTokens: later("usedTokens"),
  };
}

/** Narrows to `read` what a client polls for, which can read and write. */
async function raceNarrow(
  hosts: readonly HostProcess[],
  number: number,
): Promise<() => Promise<readonly string[]>> {
  const apiId: ApiId = number % 2 === 0 ? "orders" : "reports";
  const at = { clientId: `narrowed-${number}`, apiId, scope: "read write" };
  const [subject, other] = [`narrowed-person-${number}`, `narrowed-other-${number}`];
  await hostAt(hosts, number).send(ask.register(at.clientId));
  for (const person of [subject, other]) await hostAt(hosts, number).send(ask.allow(at, person));
  const kept = { name: "another person at the client", at, ...(await family(hosts, at, other)) };
  const race: Race = { hosts, at, subject, loot: newLoot() };
  for (let turn = 0; turn < 3; turn += 1) await visit(race, turn);
  const earlier = structuredClone(race.loot);
  const polls = hosts.map((_, poller) => poll(race, poller));
  await delay(Math.random() * 20);
  const { status } = await hostAt(hosts, number + 1).send(
    ask.end("auth.consents.narrow", { ...at, subject }),
  );
  const wrong = status === 200 ? [] : [`narrowing: ${status}`];
  const wide = await everywhere(hosts, ask.silentCode(at, subject));
  if (wide.some(silentCode)) wrong.push("the next silent visit got a code for what was taken back");
  await Promise.all(polls);
  return async () => {
    const later = laterOf(race.loot, earlier);
    const all = [...wrong, ...(await unlike(["read"], { ...race, loot: earlier }))];
    // an approval under way may be refused
    all.push(...(await unlike(["read", "nothing"], { ...race, loot: later })));
    const still = await everywhere(hosts, ask.silentCode({ ...at, scope: "read" }, subject));
    if (!still.every(silentCode)) all.push("a silent visit got no code for what has stayed");
    const others = await scopesOf(hosts, kept);
    if (!others.every((each) => /^read[, ]write$/.test(each)))
      all.push(`another person's token: ${others.join(" ")}`);
    return [...all, ...(await brokenOf(hosts, kept))];
  };
}

/** Ends an API while several clients poll there, and each has as much at the other API. */
async function raceApi(hosts: readonly HostProcess[], number: number): Promise<readonly string[]> {
  const [apiId, otherApi] =
    number % 2 === 0 ? (["orders", "reports"] as const) : (["reports", "orders"] as const);
  const subject = `person-of-api-${number}`;
  const races: Race[] = [];
  const bystanders: Bystander[] = [];
  for (let client = 0; client < 3; client += 1) {
    const at = { clientId: `of-api-${number}-${client}`, apiId };
    const elsewhere = { ...at, apiId: otherApi };
    await hostAt(hosts, client).send(ask.register(at.clientId));
    for (const place of [at, elsewhere]) await hostAt(hosts, client).send(ask.allow(place, subject));
    const race = { hosts, at, subject, loot: newLoot() };
    for (let turn = 0; turn < 3; turn += 1) await visit(race, turn);
    race.loot.accessTokens.push(accessTokenOf(await hostAt(hosts, client).send(ask.ownTokens(at))));
    races.push(race);
    const own = accessTokenOf(await hostAt(hosts, client).send(ask.ownTokens(elsewhere)));
    bystanders.push(
      { name: "the other API", at: elsewhere, ...(await family(hosts, elsewhere, subject)) },
      { name: "the client itself at the other API", at: elsewhere, accessToken: own },
    );
  }
  const polls = races.flatMap((race) => hosts.map((_, poller) => poll(race, poller)));
  await delay(Math.random() * 20);
  const end = ask.end("auth.apis.revoke", { clientId: "any", apiId, subject });
  const { status } = await hostAt(hosts, number + 1).send(end);
  const wrong = status === 200 ? [] : [`the end: ${status}`];
  for (const { at } of races)
    if ((await everywhere(hosts, ask.silentCode(at, subject))).some(silentCode))
      wrong.push("the next silent visit got a code");
  await Promise.all(polls);
  await lag();
  for (const race of races) wrong.push(...(await alive(race)));
  for (const bystander of bystanders) wrong.push(...(await brokenOf(hosts, bystander)));
  for (const { at } of races) {
    await hostAt(hosts, 0).send(ask.allow(at, subject));
    const renewed = { name: "what is allowed after the end", at, ...(await family(hosts, at, subject)) };
    const accessToken = accessTokenOf(await hostAt(hosts, 2).send(ask.ownTokens(at)));
    const own = { name: "a new token of the client itself", at, accessToken };
    for (const each of [renewed, own]) wrong.push(...(await brokenOf(hosts, each)));
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
      const wrong = await roundsOf(async (number) => {
        const aftermath = await raceEnd(hosts, { end, number });
        return () => afterwards(aftermath);
      });
      expect(wrong).toEqual([]);
    },
  );

  it(`auth.consents.narrow, while clients poll: nothing older does more, all of it does what has stayed, ${rounds} rounds`, async () => {
    expect(await roundsOf((number) => raceNarrow(hosts, number))).toEqual([]);
  });

  it(`auth.apis.revoke, while clients poll: nothing older works there, everything does at the other API, ${apiRounds} rounds`, async () => {
    for (let number = 0; number < apiRounds; number += 1) expect(await raceApi(hosts, number)).toEqual([]);
  });

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
