// The attacker opens the URL of a pushed request in many browsers at the same moment, at all processes of the host. They did not get a
// second code. RFC 9126 §4.
import {
  type Answer,
  ask,
  codeOf,
  type Engine,
  engines,
  type HostProcesses,
  startHosts,
} from "../../__tests__/servers/cluster-processes";
import { describeWith } from "../../__tests__/servers/server-process";

const [processCount, simultaneous, rounds] = [4, 64, 5];

jest.setTimeout(120_000);

/** What the client is told of a visit. */
function toldBy({ location }: Answer): string {
  const { searchParams } = new URL(location ?? "none:");
  return searchParams.has("code") ? "a code" : (searchParams.get("error") ?? "nothing");
}

function races(engine: Engine): void {
  let hosts: HostProcesses | undefined;

  afterAll(() => hosts?.close());

  it(`give one code to ${simultaneous} browsers over ${processCount} processes, ${rounds} times`, async () => {
    hosts = await startHosts(engine, processCount);
    const at = (index: number) => hosts?.processes[index % processCount];
    for (let round = 0; round < rounds; round += 1) {
      const pushed = await at(round)?.send(ask.push());
      const visit = ask.pushedCode(String(pushed?.body["request_uri"]));
      const visits = Array.from({ length: simultaneous }, async (_, index) => at(index)?.send(visit));
      const answers = (await Promise.all(visits)).filter((answer) => answer !== undefined);
      const told = answers.map(toldBy);
      expect(told.filter((each) => each !== "a code")).toEqual(
        Array.from({ length: simultaneous - 1 }, () => "invalid_request_uri"),
      );
      const code = answers.filter((answer) => toldBy(answer) === "a code").map(codeOf)[0] ?? "";
      expect((await at(round + 1)?.send(ask.tokens("orders", code)))?.status).toBe(200);
    }
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `approvals of one pushed request over ${engine.name} (RFC 9126 §4)`,
    tests: () => races(engine),
  });
}
