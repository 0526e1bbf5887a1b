/**
 * A real database whose connections break at random while requests are under way. With `AUTHMOUNT_LONG=1` this runs for
 * `AUTHMOUNT_LONG_SECONDS` (default 70) per client.
 */
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import type { Response } from "supertest";
import { authorize, redirectParameters } from "../../__tests__/browser/authorize";
import { redeem, refresh } from "../../__tests__/requests/client-requests";
import { alice, type TestHost } from "../../__tests__/hosts/host";
import type { Tokens } from "../../__tests__/browser/journey";
import {
  type Bed,
  databases,
  describeDatabase,
  isGood,
  opaque,
  shortenTimeLimit,
  shortMilliseconds,
  startAgain,
  untilServed,
} from "./outage-bed";
import { randomOf } from "./schedule";

afterEach(() => jest.restoreAllMocks());

const isLong = process.env["AUTHMOUNT_LONG"] === "1";

const loadSeconds = isLong ? Number(process.env["AUTHMOUNT_LONG_SECONDS"] ?? 70) : 2;

/** A code or refresh token, and every answer that it got. */
interface Sent {
  readonly send: () => Promise<Response>;
  readonly statuses: number[];
}

interface Family {
  readonly accessTokens: string[];
  /** The refresh token that was acknowledged last and never sent. */
  unsent: string | undefined;
  /** Set when a code or refresh token of the family was sent again: it may be a replay. */
  resent: boolean;
}

/** What the clients know at the end. */
interface Ledger {
  /** How many requests the database has served. */
  served: number;
  readonly sent: Sent[];
  readonly families: Family[];
}

/** Sends it once, or up to four times until the database answers. */
async function buy(
  ledger: Ledger,
  { family, send, isStubborn }: { family: Family; send: Sent["send"]; isStubborn: boolean },
): Promise<Tokens | undefined> {
  const entry: Sent = { send, statuses: [] };
  ledger.sent.push(entry);
  for (let attempt = 0; attempt < (isStubborn ? 4 : 1); attempt += 1) {
    if (attempt > 0) family.resent = true;
    const { status, body } = await send();
    entry.statuses.push(status);
    if (status < 500) ledger.served += 1;
    if (status === 200) return body as Tokens;
    if (status < 500) return undefined;
  }
  return undefined;
}

/** One end user's visit, and what its client does afterwards. */
async function live(
  host: TestHost,
  { ledger, random }: { ledger: Ledger; random: () => number },
): Promise<void> {
  const isStubborn = random() < 0.5;
  const visit = await authorize(host.browser(), { client: "web", pair: opaque });
  const location: string | undefined = visit.headers["location"];
  const { code } = location === undefined ? {} : redirectParameters(visit);
  if (code === undefined) return;
  ledger.served += 1;
  const family: Family = { accessTokens: [], unsent: undefined, resent: false };
  ledger.families.push(family);
  let send: Sent["send"] = () => redeem(host, { client: "web", code, pair: opaque });
  for (let step = 0; step < 5; step += 1) {
    const tokens = await buy(ledger, { family, send, isStubborn });
    if (!tokens) return;
    const { access_token: accessToken, refresh_token: refreshToken = "" } = tokens;
    family.accessTokens.push(accessToken);
    family.unsent = refreshToken;
    if (random() < 0.2) return;
    family.unsent = undefined;
    send = () => refresh(host, { client: "web", refreshToken, pair: opaque });
  }
}

async function disturb({ proxy, server }: Bed, random: () => number): Promise<string> {
  const kind = random();
  if (kind < 0.2) proxy.cutAll();
  else if (kind < 0.4) proxy.cutNext("request");
  else if (kind < 0.75) proxy.cutNext("answer");
  else if (kind < 0.85) proxy.cutNext({ afterBytes: 1 + Math.floor(random() * 40) });
  else if (kind < 0.97) {
    proxy.freeze();
    await delay(random() * 2 * shortMilliseconds);
    proxy.thaw();
    return "freeze";
  } else {
    const signal = random() < 0.7 ? "SIGKILL" : "SIGINT";
    await server.stop(signal);
    await startAgain(server);
    return signal;
  }
  return "cut";
}

interface LoadReport extends Ledger {
  readonly disturbances: readonly string[];
}

/** Eight clients at once while the connections break at random, until the time is over. */
async function runUnderLoad(bed: Bed, random: () => number): Promise<LoadReport> {
  const ledger: Ledger = { served: 0, sent: [], families: [] };
  // another person after each 25: once one person has more than 100 authorizations, the earliest end
  bed.host.session = () => ({ ...alice(), subject: `person-${Math.floor(ledger.families.length / 25)}` });
  const disturbances: string[] = [];
  const over = new AbortController();
  async function work(): Promise<void> {
    while (!over.signal.aborted) await live(bed.host, { ledger, random });
  }
  const workers = Array.from({ length: 8 }, work);
  // on a slow machine nothing would be served before the first connection breaks
  while (ledger.served < 20) await delay(2);
  const end = Date.now() + loadSeconds * 1_000;
  while (Date.now() < end) {
    disturbances.push(await disturb(bed, random));
    const enough = ledger.served + random() * 40;
    while (ledger.served < enough && Date.now() < end) await delay(2);
  }
  over.abort();
  bed.proxy.disarm();
  await Promise.all(workers);
  return { ...ledger, disturbances };
}

function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Does it for each, eight at once. */
async function forEachAtOnce<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const each of left) await work(each);
    }),
  );
}

/** The families of which something was lost although nothing of them was sent twice. */
async function lostFamilies(host: TestHost, families: readonly Family[]): Promise<readonly Family[]> {
  const lost: Family[] = [];
  const kept = families.filter(({ resent }) => !resent);
  await forEachAtOnce(kept, async (family) => {
    const { accessTokens, unsent } = family;
    const good = [];
    for (const token of accessTokens) good.push(await isGood(host, token));
    if (unsent !== undefined) {
      const ask = (): Promise<Response> =>
        refresh(host, { client: "web", refreshToken: unsent, pair: opaque });
      good.push((await untilServed(ask)).status === 200);
    }
    if (good.includes(false)) lost.push(family);
  });
  return lost;
}

function underLoad(bed: () => Bed): void {
  const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

  it(
    `lets nothing buy twice and loses nothing that was acknowledged (seed ${seed})`,
    async () => {
      const { host } = bed();
      shortenTimeLimit();
      const { sent, families, disturbances } = await runUnderLoad(bed(), randomOf(seed));
      // from here on nothing breaks, and a slow answer must not be asked for twice
      jest.restoreAllMocks();
      const lost = await lostFamilies(host, families);
      const before = sent.flatMap(({ statuses }) => statuses);
      await forEachAtOnce(sent, async ({ send, statuses }) => {
        statuses.push((await untilServed(send)).status);
      });
      const boughtTwice = sent.filter(
        ({ statuses }) => statuses.filter((status) => status === 200).length > 1,
      );
      if (isLong) {
        const figures = {
          disturbances: tally(disturbances),
          answers: tally(before),
          families: families.length,
        };
        const held = families.filter(({ resent }) => !resent).length;
        process.stderr.write(
          `${bed().database.name}: ${inspect({ seed, ...figures, held, lost: lost.length })}\n`,
        );
      }
      expect({ boughtTwice: boughtTwice.length, lost: lost.length }).toEqual({ boughtTwice: 0, lost: 0 });
      expect(before).toContain(200);
    },
    60_000 + loadSeconds * 4_000,
  );
}

for (const database of databases) {
  describeDatabase(database, (bed) => {
    describe("connections that break at random under load (RFC 9700 §4.14.2)", () => underLoad(bed));
  });
}
