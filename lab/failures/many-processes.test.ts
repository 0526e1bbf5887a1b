// The attacker holds a code or a refresh token with every proof that it takes, and sends it to all processes of the host at the
// same moment. They did not get a second success, nor keep the first one.
import {
  type Answer,
  type ApiId,
  ask,
  codeOf,
  type Engine,
  engines,
  type HostProcesses,
  lengthOf,
  type Question,
  startHosts,
  type TokenPair,
  tokensOf,
} from "../../__tests__/servers/cluster-processes";
import { describeWith } from "../../__tests__/servers/server-process";

const processCount = 4;
const lanes = 6;

jest.setTimeout(lengthOf({ short: 600_000, long: 1_800_000 }));

/** What came of the rounds, for one `expect` at the end. */
interface Tally {
  requests: number;
  codesRedeemedOnce: number;
  refreshTokensUsedOnce: number;
  /** Everything else: two successes or none, another answer to a loser, a token that lives on. */
  readonly wrong: string[];
}

interface Place {
  readonly hosts: HostProcesses;
  readonly tally: Tally;
}

function at(place: Place, index: number): (question: Question) => Promise<Answer> {
  const host = place.hosts.processes[index % processCount];
  if (!host) throw new Error("no process");
  return (question) => {
    place.tally.requests += 1;
    return host.send(question);
  };
}

function everywhere(place: Place, question: Question): Promise<readonly Answer[]> {
  return Promise.all(Array.from({ length: processCount }, (_, index) => at(place, index)(question)));
}

const isRefusal = ({ status, body }: Answer): boolean => status === 400 && body["error"] === "invalid_grant";

/** The tokens of the only success, if all others were refused. */
function onlyWinner({ tally }: Place, answers: readonly Answer[]): TokenPair | undefined {
  const won = answers.filter(({ status }) => status === 200);
  const lost = answers.filter(isRefusal);
  if (won.length === 1 && lost.length === processCount - 1) return won.map(tokensOf)[0];
  tally.wrong.push(`${won.length} successes: ${JSON.stringify(answers)}`);
  return undefined;
}

interface Won {
  readonly api: ApiId;
  readonly round: number;
  readonly tokens: TokenPair;
}

/** The replay has revoked what the winner got, and every process knows it. */
async function checkDead(place: Place, { api, round, tokens }: Won): Promise<void> {
  const [refresh, calls] = await Promise.all([
    at(place, round)(ask.refresh(api, tokens.refreshToken)),
    everywhere(place, ask.call(api, tokens.accessToken)),
  ]);
  const alive = calls.filter(({ status }) => status !== 401);
  if (!isRefusal(refresh) || alive.length > 0) {
    place.tally.wrong.push(`lives on: ${JSON.stringify([refresh, ...calls])}`);
  }
}

async function raceCode(place: Place, { api, round }: { api: ApiId; round: number }): Promise<void> {
  const code = codeOf(await at(place, round)(ask.code(api)));
  const tokens = onlyWinner(place, await everywhere(place, ask.tokens(api, code)));
  if (!tokens) return;
  place.tally.codesRedeemedOnce += 1;
  await checkDead(place, { api, round, tokens });
}

async function raceRefreshToken(place: Place, { api, round }: { api: ApiId; round: number }): Promise<void> {
  const code = codeOf(await at(place, round)(ask.code(api)));
  const { refreshToken } = tokensOf(await at(place, round + 1)(ask.tokens(api, code)));
  const tokens = onlyWinner(place, await everywhere(place, ask.refresh(api, refreshToken)));
  if (!tokens) return;
  place.tally.refreshTokensUsedOnce += 1;
  await checkDead(place, { api, round, tokens });
}

async function race(place: Place, rounds: number): Promise<void> {
  let begun = 0;
  async function lane(): Promise<void> {
    while (begun < rounds) {
      const round = begun;
      begun += 1;
      const api = round % 2 === 0 ? "orders" : "reports";
      await Promise.all([raceCode(place, { api, round }), raceRefreshToken(place, { api, round })]);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
}

function races(engine: Engine): void {
  const rounds = lengthOf({ short: 250, long: engine.longRounds });
  let hosts: HostProcesses | undefined;

  afterAll(() => hosts?.close());

  it(`succeeds exactly once over ${processCount} processes, ${rounds} rounds, and ends as a replay`, async () => {
    hosts = await startHosts(engine, processCount);
    const tally: Tally = { requests: 0, codesRedeemedOnce: 0, refreshTokensUsedOnce: 0, wrong: [] };
    const place = { hosts, tally };
    const bystander = tokensOf(
      await at(place, 1)(ask.tokens("orders", codeOf(await at(place, 0)(ask.code("orders"))))),
    );
    const before = Date.now();
    await race(place, rounds);
    const seconds = ((Date.now() - before) / 1000).toFixed(1);
    process.stderr.write(`${engine.name}: ${rounds} rounds, ${tally.requests} requests, ${seconds} s\n`);
    expect([tally.wrong.length, tally.wrong.slice(0, 3)]).toEqual([0, []]);
    expect([tally.codesRedeemedOnce, tally.refreshTokensUsedOnce]).toEqual([rounds, rounds]);
    const calls = await everywhere(place, ask.call("orders", bystander.accessToken));
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    tokensOf(await at(place, 2)(ask.refresh("orders", bystander.refreshToken)));
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `one code or refresh token in many processes over ${engine.name} (RFC 6749 §4.1.2, 9700 §4.14.2)`,
    tests: () => races(engine),
  });
}
