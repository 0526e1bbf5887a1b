// Bytes on raw sockets: requests behind each other, cut off, with broken chunks and with headers twice.
import { connectTo } from "../../__tests__/requests/raw-connections";
import { bentBytes, inPackets } from "./fuzz-bytes";
import { readAnswer, type WireAnswer } from "./fuzz-connection";
import { newDice } from "./fuzz-dice";
import { type FuzzHost, fuzzHost, goodRequests } from "./fuzz-host";
import { offenceOf } from "./fuzz-oracles";
import { bentRequest, wireOf } from "./fuzz-requests";
import { heapBytes, hearTroubles, takeTroubles, tell, wish } from "./fuzz-run";
import { type listeners, ways } from "../../__tests__/hosts/in-front";

hearTroubles();

const requests = Object.values(goodRequests).flat();
const perHost = 2_000;

/** Up to three requests behind each other, bent as bytes. */
function packetsOf(fuzzed: FuzzHost, number: number): readonly string[] {
  const dice = newDice(wish.seed, number);
  const count = 1 + dice.below(3);
  const wires = Array.from({ length: count }, () =>
    wireOf(dice.oneIn(3) ? bentRequest(dice, requests) : dice.pick(requests), (text) =>
      fuzzed.fill(text, number),
    ),
  );
  return inPackets(dice, bentBytes(dice, wires.join("")));
}

/** Everything that comes back when the client sends no more. */
async function received(fuzzed: FuzzHost, packets: readonly string[]): Promise<string> {
  const socket = await connectTo(fuzzed.server);
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (more: string) => void (text += more));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
    for (const packet of packets) socket.write(packet);
    socket.end();
  });
}

/** Node writes this of a request behind another one into the middle of its final answer. */
const interim = "HTTP/1.1 100 Continue\r\n\r\n";

/** The answers, as far as they are HTTP and of requests with a body. */
function answersOf(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let rest = text.replaceAll(interim, ""); rest !== "";) {
    // an answer to HEAD has a length, and no body: the next one follows at once
    const asHead = readAnswer(rest, "HEAD");
    if (!asHead) return answers;
    const follows = rest.slice(asHead.length);
    const answer = /^(?:HTTP\/1\.1 \d|$)/.test(follows) ? asHead : readAnswer(rest, "GET")!;
    answers.push(answer);
    rest = rest.slice(answer.length);
  }
  return answers;
}

function failureOf({ host: { events }, secrets }: FuzzHost, text: string): string | undefined {
  const failure = events.find(({ kind }) => kind === "server-error");
  events.length = 0;
  const [trouble] = takeTroubles();
  if (trouble !== undefined) return trouble;
  if (failure?.kind === "server-error") return `server-error: ${String(failure.cause)}`;
  if (text !== "" && !text.startsWith("HTTP/1.1 ")) return "the answer is not HTTP";
  // which request an answer belongs to is not known here, so the rules for some paths do not hold
  const isTold = (answer: WireAnswer): string | undefined => offenceOf("", answer, { secrets });
  return answersOf(text)
    .map(isTold)
    .find((offence) => offence !== undefined);
}

async function fuzzSockets(way: keyof typeof listeners): Promise<{ inputs: number; answers: number }> {
  const begin = performance.now();
  const [start, end] = wish.only === undefined ? [0, wish.count] : [Number(wish.only), Number(wish.only) + 1];
  let [answers, heapAtStart] = [0, 0];
  for (let from = start; from < end; from += perHost) {
    const fuzzed = await fuzzHost(way);
    for (let number = from; number < Math.min(end, from + perHost); number += 1) {
      const packets = packetsOf(fuzzed, number);
      const text = await received(fuzzed, packets);
      answers += answersOf(text).length;
      const offence = failureOf(fuzzed, text);
      if (offence === undefined) continue;
      const again = `AUTHMOUNT_FUZZ_SEED=${wish.seed} AUTHMOUNT_FUZZ_ONLY=${number}`;
      throw new Error(`${offence}\n${JSON.stringify(packets).slice(0, 4_000)}\nAgain: ${again}`);
    }
    await fuzzed.close();
    if (from === 4 * perHost) heapAtStart = await heapBytes();
  }
  const perSecond = Math.round(((end - start) * 1_000) / (performance.now() - begin));
  const heapGrowth = heapAtStart === 0 ? 0 : (await heapBytes()) - heapAtStart;
  if (wish.isLong) tell(`sockets ${way}`, { inputs: end - start, answers, perSecond, heapGrowth });
  return { inputs: end - start, answers };
}

describe(`bytes on raw sockets, seed ${wish.seed}`, () => {
  it.each(ways)("break no rule, and every connection ends: %s", async (way) => {
    const { inputs, answers } = await fuzzSockets(way);
    expect(answers).toBeGreaterThan(wish.only === undefined ? inputs / 4 : -1);
  });
});
