/** A host with its router in Express, and the same host with `auth.inFrontOf`. */
import type { RequestListener } from "node:http";
import { memoryStorage, type Storage } from "../../lib";
import { clients } from "./clients";
import { type TestHost, testHost, type TestHostOptions } from "./host";
import { type Latch, newLatch } from "../storage/latch";
import { serverOf, statusesOf, talk } from "../requests/raw-connections";
import { intercept } from "../storage/slow-storage";

/** The two ways in which a server may get its requests. */
export const listeners: Record<"in Express" | "in front of Express", (host: TestHost) => RequestListener> = {
  "in Express": ({ app }) => app,
  "in front of Express": ({ app, auth }) => auth.inFrontOf(app),
};

/** The names of both. */
export const ways = Object.keys(listeners) as (keyof typeof listeners)[];

/** A host that does not tell of Express in its headers. */
export function plainHost({ before, ...options }: TestHostOptions = {}): TestHost {
  return testHost({
    ...options,
    before(app) {
      app.disable("x-powered-by");
      before?.(app);
    },
  });
}

/** Of an answer, what is the same whenever and however often it is given. */
function withoutChance(received: string): string {
  return received
    .replaceAll(/^Date: .*\r\n/gm, "")
    .replaceAll(
      /"(access_token|refresh_token|jti|authorization_id)":"([^"]*)"/g,
      (_, name: string, value: string) => `"${name}":${value.length}`,
    );
}

/** Status, and how the request is made: a code or token that it spends is another one each time. */
export type Row = readonly [status: number, prepare: (host: TestHost) => string | Promise<string>];

/** Sends the same to both and gives what was answered, what the host was told, and the status. */
export async function answersOf(prepare: Row[1], options?: TestHostOptions) {
  const answers = [];
  for (const way of ways) {
    const host = plainHost(options);
    const text = await prepare(host);
    host.events.length = 0;
    const answer = withoutChance(await talk(await serverOf(listeners[way](host)), text));
    answers.push({ answer, events: host.events.map(({ kind }) => kind), status: statusesOf(answer).at(-1) });
  }
  return answers;
}

/** A test a row: both ways answer with this status, and alike. */
export function itAnswersAlike(rows: Readonly<Record<string, Row>>): void {
  it.each(Object.entries(rows))("%s", async (_, [status, prepare]) => {
    const [inExpress, inFront] = await answersOf(prepare);
    expect(inExpress).toHaveProperty("status", status);
    expect(inFront).toEqual(inExpress);
  });
}

/** Storage that waits in one call. */
export interface StuckStorage {
  readonly storage: Storage;
  /** Opens when the call is under way. */
  readonly entered: Latch;
  /** Lets it go on. */
  readonly answer: Latch;
}

/** Memory in which one method waits until it is let go. */
export function stuckAt(name: string): StuckStorage {
  const [entered, answer] = [newLatch(), newLatch()];
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (called, call) => {
    if (called !== name) return call();
    entered.open();
    await answer.opened;
    return call();
  });
  return { storage, entered, answer };
}

/** The kinds of events that the host was told of. */
export function eventKinds({ events }: TestHost): string[] {
  return events.map(({ kind }) => kind);
}
