// The attacker opens the URL of a pushed request in many browsers at the same moment, at all processes of the host. They did not get a
// second code. Or they have the code of a device, and answer yes at the moment at which its owner answers no: all processes tell the same
// of it. RFC 8628 §3.3, 9126 §4.
import { newDeviceRequest, newId } from "../../lib/testing/contract/records";
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

const [processCount, simultaneous, rounds, answerRounds] = [4, 64, 5, 20];

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
    hosts ??= await startHosts(engine, processCount);
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

  it(`let one of ${simultaneous} people answer a device over ${processCount} processes, ${answerRounds} times`, async () => {
    hosts ??= await startHosts(engine, processCount);
    const { processes } = hosts;
    const winners = new Set<string>();
    for (let round = 0; round < answerRounds; round += 1) {
      const request = newDeviceRequest(Math.floor(Date.now() / 1000), { owner: "shop" });
      const stored = await processes[round % processCount]?.send(ask.park(request));
      expect(stored?.body).toEqual({ outcome: "created" });
      const answers = Array.from({ length: simultaneous }, (_, index) => ({
        as: (index + round) % 2 === 0 ? "approved" : "denied",
        by: newId(),
      }));
      const told = await Promise.all(
        answers.map(async (answer, index) =>
          processes[index % processCount]?.send(ask.close(request.key, answer)),
        ),
      );
      const outcomes = told.map((each) => each?.body["outcome"]);
      const [winner] = answers.filter((_, index) => outcomes[index] === "closed");
      expect(outcomes.filter((outcome) => outcome === "not-open")).toHaveLength(simultaneous - 1);
      for (const host of processes)
        expect((await host.send(ask.parked(request.key))).body["request"]).toMatchObject({
          state: winner?.as,
          by: winner?.by,
        });
      winners.add(winner?.as ?? "nobody");
    }
    expect(winners).toEqual(new Set(["approved", "denied"]));
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `answers to one request over ${engine.name} (RFC 8628 §3.3, 9126 §4)`,
    tests: () => races(engine),
  });
}
