// The attacker holds a code or a refresh token with every proof that it takes (the client itself is one such), and sends it
// many times at the same moment, to one process or to several. They did not get a second success.
import { memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../../__tests__/hosts/apis";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { type ClientName, clients, credentials } from "../../__tests__/hosts/clients";
import { stopClock } from "../../__tests__/hosts/clock";
import { testHost, type TestHost } from "../../__tests__/hosts/host";
import { obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { newLatch } from "../../__tests__/storage/latch";
import { type Answer, listen, type ListeningApp } from "../../__tests__/hosts/listening";
import { intercept, slowStorage } from "../../__tests__/storage/slow-storage";

const simultaneous = 64;
/** It was 100. What a round adds is another order of timers; the worst order is tried by itself, with `gathered`. */
const rounds = 30;

const refused = {
  error: "invalid_grant",
  error_description: "The code or refresh token is unknown, expired, used or not for this client.",
};

/** Servers that share one storage, each on a port of its own. */
interface Place {
  readonly host: TestHost;
  readonly others: readonly TestHost[];
  readonly apps: readonly ListeningApp[];
}

let open: ListeningApp[] = [];

beforeEach(() => void stopClock());

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.map((app) => app.close()));
  open = [];
});

async function openPlace(storages: readonly Storage[]): Promise<Place> {
  const hosts = storages.map((storage) => testHost({ storage, revocationLagSeconds: 0 }));
  open = await Promise.all(hosts.map(({ app }) => listen(app)));
  const [host, ...others] = hosts;
  if (!host) throw new Error("no storage");
  return { host, others, apps: open };
}

const newStorage = (): Storage => memoryStorage({ clients: Object.values(clients) });

function redemption(client: ClientName, code: string): Record<string, string> {
  return { grant_type: "authorization_code", ...credentials(client), code, code_verifier: codeVerifier };
}

function refreshing(client: ClientName, refreshToken: string | undefined): Record<string, string> {
  return { grant_type: "refresh_token", ...credentials(client), refresh_token: refreshToken ?? "" };
}

function post(app: ListeningApp | undefined, form: Record<string, string>): Promise<Answer> {
  if (!app) throw new Error("no server");
  return app.send({ path: `${pairPath()}/token`, form });
}

/** The same request so many times at once, spread over the servers. */
async function race(apps: readonly ListeningApp[], form: Record<string, string>): Promise<readonly Answer[]> {
  const requests = Array.from({ length: simultaneous }, (_, index) => post(apps[index % apps.length], form));
  return Promise.all(requests);
}

/** Does it so many times, a few at once: most of a round is waiting for slow storage. */
async function inRounds(count: number, round: () => Promise<void>): Promise<void> {
  let begun = 0;
  async function lane(): Promise<void> {
    while ((begun += 1) <= count) await round();
  }
  await Promise.all(Array.from({ length: 4 }, lane));
}

/** Exactly one success; every other answer is the refusal that tells nothing. */
function theWinner(answers: readonly Answer[]): Tokens {
  const won = answers.filter(({ status }) => status === 200);
  const lost = answers.filter(({ status }) => status !== 200);
  expect(won).toHaveLength(1);
  for (const { status, body } of lost) expect({ status, body }).toEqual({ status: 400, body: refused });
  return won[0]?.body as unknown as Tokens;
}

async function callStatus({ apps }: Place, accessToken: string): Promise<number> {
  const headers = { Authorization: `Bearer ${accessToken}` };
  return (await apps[0]?.send({ path: "/orders", headers }))?.status ?? 0;
}

/** Neither token buys anything any more. */
async function expectRevoked(place: Place, { access_token, refresh_token }: Tokens): Promise<void> {
  expect(await callStatus(place, access_token)).toBe(401);
  const again = await post(place.apps[0], refreshing("web", refresh_token));
  expect({ status: again.status, body: again.body }).toEqual({ status: 400, body: refused });
}

/** How many compare-and-sets were lost: races that were decided there and not before. */
function countLost(storage: Storage): { readonly storage: Storage; readonly lost: () => number } {
  let lost = 0;
  const counted = intercept(storage, async (_, call) => {
    const answer = await call();
    if (answer === "not-consumed" || answer === "not-rotated") lost += 1;
    return answer;
  });
  return { storage: counted, lost: () => lost };
}

/** Holds every call of this name until so many have come. */
function gathered(storage: Storage, { name, calls }: { name: string; calls: number }): Storage {
  let arrived = 0;
  const all = newLatch();
  return intercept(storage, async (called, call) => {
    if (called === name) {
      arrived += 1;
      if (arrived === calls) all.open();
      await all.opened;
    }
    return call();
  });
}

/** Redeems a new code many times at once: one wins, and what it won ends, because the others are replays. */
async function raceForCode(here: Place): Promise<void> {
  const code = await obtainCode(here.host, { client: "web" });
  const tokens = theWinner(await race(here.apps, redemption("web", code)));
  await expectRevoked(here, tokens);
}

/** The same with a refresh token. */
async function raceForRefresh(here: Place): Promise<void> {
  const first = await obtainTokens(here.host, { client: "web" });
  const second = theWinner(await race(here.apps, refreshing("web", first.refresh_token)));
  await expectRevoked(here, first);
  await expectRevoked(here, second);
}

/** Such races in rounds, on storage that is slow enough for some of them to lose there. Somebody else's tokens stay good. */
async function raceOnSlowStorage(raceOnce: (here: Place) => Promise<void>): Promise<void> {
  const { storage, lost } = countLost(newStorage());
  const here = await openPlace([slowStorage(storage, 5)]);
  const bystander = await obtainTokens(here.host, { client: "web" });
  await inRounds(rounds, () => raceOnce(here));
  expect(lost()).toBeGreaterThan(0);
  expect(await callStatus(here, bystander.access_token)).toBe(200);
  expect((await post(here.apps[0], refreshing("web", bystander.refresh_token))).status).toBe(200);
}

describe("simultaneous redemptions of one code (RFC 6749 §4.1.2, §10.5; 9700 §4.14.2)", () => {
  it(`succeed exactly once of ${simultaneous} on slow storage, ${rounds} rounds, and end as a replay`, async () => {
    await raceOnSlowStorage(raceForCode);
  });

  it("succeed exactly once over two servers that share one storage", async () => {
    const shared = newStorage();
    const here = await openPlace([slowStorage(shared, 5), slowStorage(shared, 5)]);
    const bystander = await obtainTokens(here.host, { client: "web" });
    await inRounds(20, () => raceForCode(here));
    expect(await callStatus(here, bystander.access_token)).toBe(200);
  });

  it("succeed exactly once when all of them reach the compare-and-set together", async () => {
    const shared = newStorage();
    const gate = gathered(shared, { name: "authorizationCodes.consume", calls: simultaneous });
    const here = await openPlace([gate, gate]);
    await raceForCode(here);
    const replays = [here.host, ...here.others]
      .flatMap(({ events }) => events)
      .filter(({ kind }) => kind === "replay-detected");
    expect(replays).toHaveLength(simultaneous - 1);
  });

  it("revoke what the winner gets although the replay was noticed before the winner knew that it had won", async () => {
    const shared = newStorage();
    const revocation = newLatch();
    const late = intercept(shared, async (name, call) => {
      const answer = await call();
      if (answer === "consumed") await revocation.opened;
      if (name === "authorizations.revoke") revocation.open();
      return answer;
    });
    const here = await openPlace([late]);
    const code = await obtainCode(here.host, { client: "web" });
    const answers = await Promise.all([
      post(here.apps[0], redemption("web", code)),
      post(here.apps[0], redemption("web", code)),
    ]);
    await expectRevoked(here, theWinner(answers));
  });
});

describe("simultaneous uses of one refresh token (RFC 6749 §10.4, 9700 §4.14.2)", () => {
  it(`succeed exactly once of ${simultaneous} on slow storage, ${rounds} rounds, and end as a replay`, async () => {
    await raceOnSlowStorage(raceForRefresh);
  });

  it("succeed exactly once over two servers that share one storage", async () => {
    const shared = newStorage();
    const here = await openPlace([slowStorage(shared, 5), slowStorage(shared, 5)]);
    await inRounds(20, () => raceForRefresh(here));
  });

  it("succeed exactly once when all of them reach the compare-and-set together", async () => {
    const shared = newStorage();
    const gate = gathered(shared, { name: "refreshTokens.rotate", calls: simultaneous });
    const here = await openPlace([gate, gate]);
    await raceForRefresh(here);
  });
});

describe("a revocation at the same moment as a refresh (RFC 7009 §2.1)", () => {
  it("leaves nothing alive, whichever comes first, 20 rounds over two servers", async () => {
    const shared = newStorage();
    const here = await openPlace([slowStorage(shared, 5), slowStorage(shared, 5)]);
    const bystander = await obtainTokens(here.host, { client: "web" });
    const [one, other] = here.apps;
    await inRounds(20, async () => {
      const first = await obtainTokens(here.host, { client: "web" });
      const revocation = { ...credentials("web"), token: first.refresh_token ?? "" };
      const [refreshed, revoked] = await Promise.all([
        post(one, refreshing("web", first.refresh_token)),
        other?.send({ path: `${pairPath()}/revoke`, form: revocation }),
      ]);
      expect({ status: revoked?.status, body: revoked?.body }).toEqual({ status: 200, body: {} });
      if (refreshed.status === 200) await expectRevoked(here, refreshed.body as unknown as Tokens);
      await expectRevoked(here, first);
    });
    expect(await callStatus(here, bystander.access_token)).toBe(200);
  });
});
