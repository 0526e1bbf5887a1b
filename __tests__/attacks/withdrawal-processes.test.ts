// A client polls silently at one process while the person takes their consent back at another one.
import {
  type Answer,
  ask,
  codeOf,
  type Engine,
  engines,
  type HostProcess,
  type HostProcesses,
  lengthOf,
  startHosts,
  type TokenPair,
} from "../fixture/cluster-processes";
import { describeWith } from "../fixture/server-process";

const rounds = lengthOf({ short: 40, long: 1_000 });
const pollers = 4;

jest.setTimeout(lengthOf({ short: 300_000, long: 1_800_000 }));

/** The tokens of an answer of the token endpoint, `undefined` when it is refused. */
function boughtBy({ status, body }: Answer): TokenPair | undefined {
  if (status !== 200) return undefined;
  const { access_token: accessToken, refresh_token: refreshToken } = body;
  return { accessToken: String(accessToken), refreshToken: String(refreshToken) };
}

function silentCode({ location }: Answer): string | undefined {
  return new URL(location ?? "none:").searchParams.get("code") ?? undefined;
}

interface Loot {
  readonly codes: string[];
  readonly tokens: TokenPair[];
}

/** Visits until it is refused; every other code is redeemed at once. */
async function poll(host: HostProcess, { subject, loot }: { subject: string; loot: Loot }): Promise<void> {
  for (let visit = 0; visit < 12; visit += 1) {
    const code = silentCode(await host.send(ask.silentCode(subject)));
    if (code === undefined) return;
    const tokens = visit % 2 === 0 ? boughtBy(await host.send(ask.silentTokens(code))) : undefined;
    if (tokens) loot.tokens.push(tokens);
    else loot.codes.push(code);
  }
}

/** What still works of the loot, at either process. */
async function alive(hosts: readonly HostProcess[], { codes, tokens }: Loot): Promise<readonly string[]> {
  const works: string[] = [];
  for (const [index, { accessToken, refreshToken }] of tokens.entries()) {
    const host = hosts[index % 2] as HostProcess;
    if ((await host.send(ask.call("orders", accessToken))).status !== 401) works.push("an access token");
    if (boughtBy(await host.send(ask.silentRefresh(refreshToken)))) works.push("a refresh token");
  }
  for (const code of codes)
    if (boughtBy(await (hosts[0] as HostProcess).send(ask.silentTokens(code)))) works.push("a code");
  return works;
}

async function round(hosts: readonly HostProcess[], subject: string): Promise<readonly string[]> {
  const [first, second] = hosts as readonly [HostProcess, HostProcess];
  await first.send(ask.allow(subject));
  const loot: Loot = { codes: [codeOf(await first.send(ask.silentCode(subject)))], tokens: [] };
  const visits = Array.from({ length: pollers }, (_, poller) =>
    poll(poller % 2 === 0 ? first : second, { subject, loot }),
  );
  await new Promise((resolve) => void setTimeout(resolve, Math.random() * 20));
  const { status, body } = await second.send(ask.withdraw(subject));
  await Promise.all(visits);
  const wrong = [...(await alive(hosts, loot))];
  if (status !== 200 || body["listed"] !== 0) wrong.push(`withdrawal: ${status} ${JSON.stringify(body)}`);
  if (silentCode(await first.send(ask.silentCode(subject)))) wrong.push("the next silent visit got a code");
  return wrong;
}

function withdrawals(engine: Engine): void {
  let hosts: HostProcesses | undefined;

  afterAll(() => hosts?.close());

  it(`ends all that is older, over two processes, ${rounds} rounds`, async () => {
    hosts = await startHosts(engine, 2);
    const wrong: string[] = [];
    for (let number = 0; number < rounds; number += 1)
      wrong.push(...(await round(hosts.processes, `person-${number}`)));
    expect(wrong).toEqual([]);
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `a withdrawal while a client polls silently, over ${engine.name} (RFC 7009 §2.1)`,
    tests: () => withdrawals(engine),
  });
}
