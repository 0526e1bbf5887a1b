// A stranger's server answers with bent bytes when its metadata document or its keys are fetched, and names bent URLs.
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { type Client, memoryStorage } from "../../lib";
import { apis, pairPath } from "../../__tests__/hosts/apis";
import { authorizationParameters } from "../../__tests__/browser/authorization-request";
import { assertionOf, keyedByUri, presenting, publicKeys } from "../../__tests__/requests/client-assertions";
import { clients } from "../../__tests__/hosts/clients";
import { bentBytes } from "./fuzz-bytes";
import { type FuzzConnection, fuzzConnection } from "./fuzz-connection";
import { type Dice, newDice } from "./fuzz-dice";
import { type FuzzHost, fuzzHost } from "./fuzz-host";
import { offenceOf } from "./fuzz-oracles";
import { bentRequest, type FuzzRequest, pairsOf, wireOf } from "./fuzz-requests";
import { hearTroubles, takeTroubles, tell, wish } from "./fuzz-run";
import { documentFetcher } from "../../lib/fetching/fetch-document";
import { isFetchableUrl } from "../../lib/fetching/fetchable-url";

hearTroubles();

const perHost = 500;
const count = Math.ceil(wish.count / (wish.isLong ? 1 : 4));

/** Path → what is sent back. Then the connection is closed: nothing here waits for a time to pass. */
const answers = new Map<string, string>();
let strange: Server;
let base = "";

beforeAll(async () => {
  strange = createServer((socket: Socket) => {
    socket.setEncoding("latin1").on("error", () => undefined);
    socket.once("data", (head: string) => {
      const [, path = ""] = head.split(" ");
      socket.end(answers.get(path) ?? "", "latin1");
    });
  });
  await new Promise<void>((listens) => strange.listen(0, "127.0.0.1", listens));
  base = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((closed) => strange.close(closed)));

/** This JSON in a good answer. The body is bent as metadata of a registration are, or the whole answer as bytes are. */
function bentAnswer(dice: Dice, json: string): string {
  const good: FuzzRequest = {
    method: "POST",
    path: "/",
    query: [],
    headers: [["Content-Type", "application/json"]],
    body: json,
  };
  const bent = dice.oneIn(2) ? bentRequest(dice, [good]) : good;
  const [, sent = ""] = wireOf({ ...bent, method: "POST" }, (text) => text).split(/^[^\r]*\r\n/);
  const answer = `HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n${sent}`;
  return dice.oneIn(2) ? bentBytes(dice, answer) : answer;
}

/** What is asked of the server, and what it finds at a URL of the stranger on its way. */
interface Question {
  readonly path: string;
  readonly json: string;
  readonly request: FuzzRequest;
}

/** A person at the browser of a client with a metadata document. */
function documentQuestion(dice: Dice, number: number): Question {
  const path = `/${number}/client.json`;
  const clientId = base + path;
  const document = {
    client_id: clientId,
    client_name: 'A <x"> Stranger',
    client_uri: `${base}/about`,
    logo_uri: `${base}/logo`,
    redirect_uris: ["http://127.0.0.1/callback"],
    response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: dice.pick(["none", "private_key_jwt"]),
    jwks_uri: `${base}/keys`,
    scope: "orders:read",
  };
  const fields = {
    ...authorizationParameters("native"),
    client_id: clientId,
    redirect_uri: "http://127.0.0.1/callback",
  };
  const headers = [["Cookie", "session=alice"]] as const;
  const request = {
    method: "GET",
    path: `${pairPath()}/authorize`,
    query: pairsOf(fields),
    headers,
    body: undefined,
  };
  return { path, json: JSON.stringify(document), request };
}

/** A client that proves itself with a key that it publishes. */
function keysQuestion(dice: Dice, number: number): Question {
  const clientId = `keyed-${number}`;
  const [alg, kid] = dice.pick([
    ["ES256", "ec"],
    ["PS256", "rsa"],
    ["EdDSA", "ed25519"],
  ] as const);
  const header = dice.pick([{ kid }, {}, { kid: "another" }]);
  const assertion = assertionOf({ alg, header, claims: { iss: clientId, sub: clientId } });
  const fields = { grant_type: "client_credentials", ...presenting(assertion) };
  const headers = [["Content-Type", "application/x-www-form-urlencoded"]] as const;
  const request = {
    method: "POST",
    path: `${pairPath()}/token`,
    query: [],
    headers,
    body: pairsOf(fields),
  };
  return { path: `/${number}/keys`, json: JSON.stringify({ keys: publicKeys }), request };
}

/** Each client `keyed-<number>` has keys at a URL of its own. */
function keyedClient(clientId: string): Client | undefined {
  const [, number] = /^keyed-(\d+)$/.exec(clientId) ?? [];
  return number === undefined ? undefined : { ...keyedByUri, clientId, jwksUri: `${base}/${number}/keys` };
}

function openHost(): Promise<FuzzHost> {
  const orders = {
    ...apis["orders"]!,
    clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) as const },
  };
  const memory = memoryStorage({ clients: Object.values(clients) });
  const find = (clientId: string) => keyedClient(clientId) ?? memory.clients.find(clientId);
  return fuzzHost("in Express", {
    apis: { ...apis, orders },
    insecureLoopbackClients: true,
    storage: { ...memory, clients: { ...memory.clients, find: async (clientId) => find(clientId) } },
  });
}

type Ask = (dice: Dice, number: number) => Question;

async function tryOne(
  { fuzzed, connection }: { fuzzed: FuzzHost; connection: FuzzConnection },
  { ask, number }: { ask: Ask; number: number },
): Promise<number> {
  const dice = newDice(wish.seed, number);
  const { path, json, request } = ask(dice, number);
  const planned = bentAnswer(dice, json);
  answers.set(path, planned);
  const bytes = wireOf(request, (text) => text);
  const answer = await connection.exchange(bytes);
  answers.delete(path);
  const { events } = fuzzed.host;
  const failure = events.find(({ kind }) => kind === "server-error");
  events.length = 0;
  const { status = 0 } = answer ?? {};
  // 503 with temporarily_unavailable: the document or the keys cannot be had
  const isUnavailable = status === 503 && answer?.body.includes("temporarily_unavailable") === true;
  const offence =
    (isUnavailable ? undefined : (offenceOf(bytes, answer, fuzzed) ?? (failure && "server-error"))) ??
    takeTroubles()[0];
  if (offence === undefined) return status;
  throw new Error(
    `${offence}\n${JSON.stringify(planned).slice(0, 4_000)}\nAgain: AUTHMOUNT_FUZZ_SEED=${wish.seed} AUTHMOUNT_FUZZ_ONLY=${number}`,
  );
}

/** Asks for everything that the run wants. Returns how often each status was the answer. */
async function fuzzFetching(name: string, ask: Ask): Promise<Readonly<Record<string, number>>> {
  const statuses: Record<string, number> = {};
  const begin = performance.now();
  const [start, end] = wish.only === undefined ? [0, count] : [Number(wish.only), Number(wish.only) + 1];
  for (let from = start; from < end; from += perHost) {
    const fuzzed = await openHost();
    const connection = fuzzConnection(fuzzed.server);
    for (let number = from; number < Math.min(end, from + perHost); number += 1) {
      const status = await tryOne({ fuzzed, connection }, { ask, number });
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    connection.close();
    await fuzzed.close();
  }
  const perSecond = Math.round(((end - start) * 1_000) / (performance.now() - begin));
  if (wish.isLong) tell(name, { inputs: end - start, perSecond, statuses });
  return statuses;
}

describe(`documents of strangers, seed ${wish.seed}`, () => {
  it.each([
    ["metadata", documentQuestion, ["200", "400"]],
    ["keys", keysQuestion, ["200", "401", "503"]],
  ] as const)("%s in bent answers break no rule", async (name, ask, expected) => {
    const statuses = await fuzzFetching(`${name} of strangers`, ask);
    if (wish.only === undefined) expect(Object.keys(statuses)).toEqual(expect.arrayContaining([...expected]));
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
