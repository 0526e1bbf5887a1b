// A stranger's server answers with bent bytes when its metadata document or its keys are fetched, and names bent URLs.
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { apis, pairPath } from "../fixture/apis";
import { authorizationParameters } from "../fixture/authorization-request";
import { bentBytes } from "../fixture/fuzz-bytes";
import { type FuzzConnection, fuzzConnection } from "../fixture/fuzz-connection";
import { type Dice, newDice } from "../fixture/fuzz-dice";
import { type FuzzHost, fuzzHost } from "../fixture/fuzz-host";
import { offenceOf } from "../fixture/fuzz-oracles";
import { bentRequest, type FuzzRequest, pairsOf, wireOf } from "../fixture/fuzz-requests";
import { hearTroubles, takeTroubles, tell, wish } from "../fixture/fuzz-run";
import { documentFetcher } from "../../lib/fetching/fetch-document";
import { isFetchableUrl } from "../../lib/fetching/fetchable-url";

hearTroubles();

const perHost = 500;
const count = Math.ceil(wish.count / (wish.isLong ? 1 : 4));

/** Path → what is sent back. Then the connection is closed: nothing here waits for a time to pass. */
const planned = new Map<string, string>();
let strange: Server;
let base = "";

beforeAll(async () => {
  strange = createServer((socket: Socket) => {
    socket.setEncoding("latin1").on("error", () => undefined);
    socket.once("data", (head: string) => {
      const [, path = ""] = head.split(" ");
      socket.end(planned.get(path) ?? "", "latin1");
    });
  });
  await new Promise<void>((listens) => strange.listen(0, "127.0.0.1", listens));
  base = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((closed) => strange.close(closed)));

/** The document of a client at this URL, in a good answer. The body is bent as metadata of a registration are. */
function bentAnswer(dice: Dice, clientId: string): string {
  const document: FuzzRequest = {
    method: "POST",
    path: "/",
    query: [],
    headers: [["Content-Type", "application/json"]],
    body: JSON.stringify({
      client_id: clientId,
      client_name: 'A <x"> Stranger',
      client_uri: `${base}/about`,
      logo_uri: `${base}/logo`,
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: dice.pick(["none", "private_key_jwt"]),
      jwks_uri: `${base}/keys`,
      scope: "orders:read",
    }),
  };
  const bent = dice.oneIn(2) ? bentRequest(dice, [document]) : document;
  const [, sent = ""] = wireOf({ ...bent, method: "POST" }, (text) => text).split(/^[^\r]*\r\n/);
  const answer = `HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n${sent}`;
  return dice.oneIn(2) ? bentBytes(dice, answer) : answer;
}

function openHost(): Promise<FuzzHost> {
  const orders = {
    ...apis["orders"]!,
    clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) as const },
  };
  return fuzzHost("in Express", { apis: { ...apis, orders }, insecureLoopbackClients: true });
}

async function ask({ fuzzed, connection }: { fuzzed: FuzzHost; connection: FuzzConnection }, number: number) {
  const path = `/${number}/client.json`;
  const clientId = base + path;
  planned.set(path, bentAnswer(newDice(wish.seed, number), clientId));
  const fields = {
    ...authorizationParameters("native"),
    client_id: clientId,
    redirect_uri: "http://127.0.0.1/callback",
  };
  const request: FuzzRequest = {
    method: "GET",
    path: `${pairPath()}/authorize`,
    query: pairsOf(fields),
    headers: [["Cookie", "session=alice"]],
    body: undefined,
  };
  const bytes = wireOf(request, (text) => text);
  const answer = await connection.exchange(bytes);
  const { events } = fuzzed.host;
  const failure = events.find(({ kind }) => kind === "server-error");
  events.length = 0;
  const offence =
    offenceOf(bytes, answer, fuzzed.secrets) ?? (failure && "server-error") ?? takeTroubles()[0];
  if (offence !== undefined) {
    throw new Error(
      `${offence}\n${JSON.stringify(planned.get(path)).slice(0, 4_000)}\nAgain: AUTHMOUNT_FUZZ_SEED=${wish.seed} AUTHMOUNT_FUZZ_ONLY=${number}`,
    );
  }
  planned.delete(path);
  return answer?.status ?? 0;
}

describe(`documents of strangers, seed ${wish.seed}`, () => {
  it("in bent answers break no rule", async () => {
    const statuses: Record<string, number> = {};
    const begin = performance.now();
    const [start, end] = wish.only === undefined ? [0, count] : [Number(wish.only), Number(wish.only) + 1];
    for (let from = start; from < end; from += perHost) {
      const fuzzed = await openHost();
      const connection = fuzzConnection(fuzzed.server);
      for (let number = from; number < Math.min(end, from + perHost); number += 1) {
        const status = await ask({ fuzzed, connection }, number);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      connection.close();
      await fuzzed.close();
    }
    const perSecond = Math.round(((end - start) * 1_000) / (performance.now() - begin));
    if (wish.isLong) tell("documents", { inputs: end - start, perSecond, statuses });
    expect(Object.keys(statuses).length).toBeGreaterThan(wish.only === undefined ? 1 : 0);
  });

  it("at bent URLs are never looked for at an address that is not public", async () => {
    const lookedUp: string[] = [];
    const network = {
      addressesOf: async (host: string) => {
        lookedUp.push(host);
        return ["127.0.0.1", "10.0.0.1", "::ffff:169.254.169.254"];
      },
      connect: () => {
        throw new Error("it has connected");
      },
      startTimer: () => () => undefined,
    };
    const fetchDocument = documentFetcher({ insecureLoopback: false, network });
    const good = [
      "https://client.example/client.json?a=b",
      "https://xn--bcher-kva.example/",
      "https://127.0.0.1.example/x",
      "https://[::1]/",
      "https://localhost/",
      "http://127.1:80/",
      "https://0x7f.1/",
    ];
    for (let number = 0; number < wish.count; number += 1) {
      const dice = newDice(wish.seed, number);
      const url = bentBytes(dice, dice.pick(good));
      const answer = await fetchDocument(url);
      expect(answer.kind).toBe("refused");
      if (isFetchableUrl(url, { insecureLoopback: false })) expect(new URL(url).href).toBe(url);
    }
    expect(takeTroubles()).toEqual([]);
    expect(lookedUp.length).toBeGreaterThan(wish.count / 50);
    expect(lookedUp.filter((host) => /^[\d.]*$|localhost$|[^\w.-]/.test(host))).toEqual([]);
  });
});
