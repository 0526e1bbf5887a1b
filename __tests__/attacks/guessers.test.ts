// The attacker guesses the secret of one client, or tries to have that client locked out. They know its id, hold no credential, and can
// write a request in every way that the server reads. The host counts failed authentications by address and claimed client.
import crypto from "node:crypto";
import request, { type Response } from "supertest";
import { type Client, memoryStorage, type RateLimit } from "../../lib";
import { pairPath } from "../hosts/apis";
import { assertionOf, keyed, presenting } from "../requests/client-assertions";
import { clients, credentials } from "../hosts/clients";
import { testHost, type TestHost } from "../hosts/host";
import { listeners, ways } from "../hosts/in-front";
import { everythingUnderWay, newLatch } from "../storage/latch";
import * as raw from "../requests/raw-connections";
import { intercept } from "../storage/slow-storage";

const { allConnectionsEnded, connectTo, form, serverOf, talk } = raw;
raw.closeServersAfterEachTest();

const most = 5;

/** Refuses a client at an address that has failed too often there. */
function countingFailures(): RateLimit {
  const failed = new Map<string, number>();
  return ({ ip, clientId = "" }) => {
    const key = `${ip} ${clientId}`;
    const times = failed.get(key) ?? 0;
    if (times >= most) return { kind: "limited", retryAfterSeconds: 60 };
    return {
      kind: "allowed",
      answered({ oauthError }) {
        if (oauthError === "invalid_client") failed.set(key, (failed.get(key) ?? 0) + 1);
      },
    };
  };
}

/** The same, but what is under way counts as failed: guesses that arrive at the same moment are not answered either. */
function countingAttempts(): RateLimit {
  const counts = new Map<string, number>();
  const add = (key: string, by: number): void => void counts.set(key, (counts.get(key) ?? 0) + by);
  return ({ ip, clientId = "" }) => {
    const key = `${ip} ${clientId}`;
    if ((counts.get(key) ?? 0) >= most) return { kind: "limited", retryAfterSeconds: 60 };
    add(key, 1);
    return {
      kind: "allowed",
      answered: ({ oauthError }) => void (oauthError === "invalid_client" || add(key, -1)),
    };
  };
}

function guardedHost(records: readonly Client[] = [...Object.values(clients), keyed]): TestHost {
  return testHost({
    clients: records,
    rateLimit: countingFailures(),
    before: (app) => void app.set("trust proxy", 1),
  });
}

interface Ask {
  readonly from: string;
  readonly fields?: object;
  readonly endpoint?: "token" | "revoke" | "introspect";
  readonly authorization?: string;
}

const guesser = "198.51.100.7";
const honest = "192.0.2.1";

function ask(
  host: TestHost,
  { from, fields = {}, endpoint = "token", authorization }: Ask,
): Promise<Response> {
  const sent = request(host.app).post(`${pairPath()}/${endpoint}`).set("X-Forwarded-For", from).type("form");
  if (authorization !== undefined) sent.set("Authorization", authorization);
  return Promise.resolve(sent.send({ grant_type: "client_credentials", token: "x", ...fields }));
}

const wrong = { client_id: "web", client_secret: "a guess" };

async function statusesOf(host: TestHost, asked: readonly Ask[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const each of asked) statuses.push((await ask(host, each)).status);
  return statuses;
}

const guesses = (count: number): Ask[] =>
  Array.from({ length: count }, () => ({ from: guesser, fields: wrong }));
const stopped = [...Array<number>(most).fill(401), 429];

describe("guesses of one client's secret (RFC 6749 §2.3.1, §10.10)", () => {
  it("end after the host's number of them, and the right one is not looked at then", async () => {
    const host = guardedHost();
    expect(await statusesOf(host, guesses(most + 1))).toEqual(stopped);
    expect((await ask(host, { from: guesser, fields: credentials("web") })).status).toBe(429);
  });

  it("count as one client's, however they are written and wherever they are sent", async () => {
    const written: readonly Omit<Ask, "from">[] = [
      { fields: wrong, endpoint: "revoke" },
      { fields: wrong, endpoint: "introspect" },
      { authorization: `Basic ${btoa("web:a+guess")}` },
      { authorization: `basic  ${btoa("%77e%62:a+guess")}` },
      { fields: presenting(assertionOf({ claims: { iss: "web", sub: "web" } })) },
      { authorization: `Basic ${btoa("web:another")}`, fields: { client_id: "web" } },
    ];
    const host = guardedHost();
    expect(
      await statusesOf(
        host,
        written.map((each) => ({ ...each, from: guesser })),
      ),
    ).toEqual(stopped);
  });

  it("are not more when they arrive at the same moment", async () => {
    const everyoneAsked = newLatch();
    const count = countingAttempts();
    let asked = 0;
    const host = testHost({
      rateLimit(attempt) {
        asked += 1;
        if (asked === 20) everyoneAsked.open();
        return count(attempt);
      },
      // nobody has failed before everybody has asked
      storage: intercept(memoryStorage({ clients: Object.values(clients) }), async (_, call) => {
        await everyoneAsked.opened;
        return call();
      }),
    });
    const answers = await Promise.all(guesses(20).map((each) => ask(host, each)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(most);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20 - most);
  });

  it.each(ways)("count when the guesser hangs up before the answer, %s", async (way) => {
    const goOn = newLatch();
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (_, call) => {
      await goOn.opened;
      return call();
    });
    let asked = newLatch();
    const count = countingFailures();
    const rateLimit: RateLimit = (attempt) => {
      asked.open();
      return count(attempt);
    };
    const server = await serverOf(listeners[way](testHost({ storage, rateLimit })));
    const sent = form({ grant_type: "client_credentials", ...wrong });
    for (let guessed = 0; guessed < most; guessed += 1) {
      asked = newLatch();
      const socket = await connectTo(server);
      socket.write(sent);
      await asked.opened;
      socket.destroy();
    }
    await allConnectionsEnded(server);
    goOn.open();
    await everythingUnderWay();
    expect(raw.statusesOf(await talk(server, sent))).toEqual([429]);
  });

  it("cost no derivation once they are limited", async () => {
    const salt = crypto.randomBytes(16);
    const hash = crypto.scryptSync("a secret that a person chose", salt, 32, { N: 2 ** 14, r: 8, p: 1 });
    const digest = `scrypt:ln=14,r=8,p=1:${salt.toString("base64url")}:${hash.toString("base64url")}`;
    const host = guardedHost([{ ...clients.web, secretDigests: [digest] }]);
    const derived = jest.spyOn(crypto, "scrypt");
    expect(await statusesOf(host, guesses(most + 20))).toEqual([...stopped, ...Array<number>(19).fill(429)]);
    expect(derived).toHaveBeenCalledTimes(most);
  });

  it("of a code or refresh token by a client that is proven are no failed authentications", async () => {
    const host = guardedHost();
    const fields = { ...credentials("web"), grant_type: "refresh_token", refresh_token: "a guess" };
    const answers = await statusesOf(
      host,
      Array.from({ length: most + 5 }, () => ({ from: guesser, fields })),
    );
    expect(new Set(answers)).toEqual(new Set([400]));
  });
});

describe("who is not the guesser", () => {
  it("goes on: the client itself at another address, and other clients at the guesser's", async () => {
    const host = guardedHost();
    await statusesOf(host, guesses(most + 5));
    expect((await ask(host, { from: honest, fields: credentials("web") })).status).toBe(200);
    expect((await ask(host, { from: guesser, fields: credentials("other") })).status).toBe(200);
  });

  it("cannot be locked out by a claim of its id in a request that authentication does not read", async () => {
    const host = guardedHost();
    const odd = Array.from({ length: most + 5 }, () => ({
      from: guesser,
      authorization: `Basic ${btoa("other:a guess")}`,
      fields: { client_id: "web" },
    }));
    expect(new Set(await statusesOf(host, odd))).toEqual(new Set([400]));
    expect((await ask(host, { from: guesser, fields: credentials("web") })).status).toBe(200);
  });

  it("cannot be locked out by an id that is made to look like another key of the host", async () => {
    const host = guardedHost();
    const fields = { client_id: `${honest} web`, client_secret: "a guess" };
    await statusesOf(
      host,
      Array.from({ length: most }, () => ({ from: guesser, fields })),
    );
    expect((await ask(host, { from: honest, fields: credentials("web") })).status).toBe(200);
  });
});
