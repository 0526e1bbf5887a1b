/** A host one of whose storage calls fails, before its work or after it, when only the answer is lost. */
import type { Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { origin, type Pair } from "../../__tests__/hosts/apis";
import { authorize, redirectParameters } from "../../__tests__/browser/authorize";
import { redeem, refresh } from "../../__tests__/requests/client-requests";
import { clients } from "../../__tests__/hosts/clients";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { callApi, type Tokens } from "../../__tests__/browser/journey";
import { begunBeside, intercept } from "../../__tests__/storage/slow-storage";

/** What the call fails with. */
export const failure = new Error("the database says: password=hunter2");

/** When it fails: before its work, or after it. */
export const moments = ["before", "after"] as const;

/** One of them. */
export type Moment = (typeof moments)[number];

interface FaultyStorage {
  readonly storage: Storage;
  /** The calls since `arm`, in their order. */
  readonly calls: string[];
  /** The calls among them that have changed something. */
  readonly written: string[];
  /** From now on calls are counted, and the one at this index, counted from 0, fails. */
  arm(index: number, moment: Moment): void;
  fix(): void;
}

const isRead = (call: string): boolean => /\.(find|list|isRevoked|isBrowserOrigin)$/.test(call);

function faultyStorage(storage: Storage): FaultyStorage {
  const calls: string[] = [];
  const written: string[] = [];
  let fault: { readonly index: number; readonly moment: Moment } | undefined;
  const faulty = intercept(storage, async (name, call) => {
    const failing = fault?.index === calls.length ? fault : undefined;
    calls.push(name);
    if (failing?.moment === "before") throw failure;
    const answer = await call();
    if (!isRead(name)) written.push(name);
    if (failing) throw failure;
    return answer;
  });
  return {
    storage: faulty,
    calls,
    written,
    arm(index, moment) {
      calls.length = 0;
      written.length = 0;
      fault = { index, moment };
    },
    fix: () => void (fault = undefined),
  };
}

/** The host and what makes it fail. */
export interface Bed {
  readonly host: TestHost;
  readonly faulty: FaultyStorage;
}

/** A host whose every look-up is a storage call. */
export function newBed(options: { trusted?: boolean; ownPage?: boolean } = {}): Bed {
  const records = Object.values(clients).map((client) => ({ ...client, trusted: options.trusted ?? false }));
  const faulty = faultyStorage(memoryStorage({ clients: records }));
  const host = testHost({
    storage: faulty.storage,
    revocationLagSeconds: 0,
    ...(options.ownPage && { consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } }),
  });
  return { host, faulty };
}

/** Tokens of the same client and end user at another API than the flows use, so that no consent is remembered for these. */
export async function acknowledgedTokens(host: TestHost): Promise<Tokens> {
  const pair: Pair = { api: "files" };
  const browser = host.browser();
  const first = await authorize(browser, { client: "web", pair });
  const last =
    first.status === 200
      ? await browser.answer(first, "approve")
      : first.headers["location"]?.startsWith("/ask")
        ? await browser.post("/allow", { interaction: interactionOf(first) })
        : first;
  const { code = "" } = redirectParameters(last);
  return (await redeem(host, { client: "web", code, pair })).body as Tokens;
}

/** The pending interaction that a redirect names. */
export function interactionOf(response: Response): string {
  return new URL(String(response.headers["location"]), origin).searchParams.get("interaction") ?? "";
}

/** Whether what was acknowledged is as good as it was. */
export async function statusesOf(host: TestHost, acknowledged: Tokens): Promise<readonly number[]> {
  const { access_token: accessToken, refresh_token: refreshToken = "" } = acknowledged;
  const call = await callApi(host, "/files", accessToken);
  const next = await refresh(host, { client: "web", refreshToken, pair: { api: "files" } });
  return [call.status, next.status];
}

/** What the calls up to the fault have changed. */
export function writtenUntil(
  calls: readonly string[],
  { index, moment }: { index: number; moment: Moment },
): string[] {
  const done = calls.slice(0, moment === "after" ? index + 1 : index);
  return [...done, ...begunBeside(calls, index)].filter((call) => !isRead(call));
}

/** Each call of each flow, failing at each moment. */
export function rowsOf<Flow extends { readonly calls: readonly string[] }>(
  flows: Readonly<Record<string, Flow>>,
) {
  return Object.entries(flows).flatMap(([name, flow]) =>
    flow.calls.flatMap((call, index) => moments.map((moment) => ({ name, flow, call, index, moment }))),
  );
}

/** What is left of a request that failed, without the host. */
export function outcomeAfter({ host, faulty, response }: Bed & { readonly response: Response }) {
  const { status, headers, text } = response;
  return {
    response: { status, headers, text, body: response.body as unknown },
    events: [...host.events],
    calls: [...faulty.calls],
    written: [...faulty.written],
  };
}

/** The same, done once for each: for several looks at one outcome. */
export function onceEach<Row extends object, T>(run: (row: Row) => Promise<T>): (row: Row) => Promise<T> {
  const outcomes = new Map<Row, Promise<T>>();
  return (row) => {
    const outcome = outcomes.get(row) ?? run(row);
    outcomes.set(row, outcome);
    return outcome;
  };
}

/** What the client or the page is told. */
export const internalError = {
  error: "server_error",
  error_description: "The server could not answer this request.",
};

/** The host was told of the failure once, and of no success. */
export function expectReported(events: TestHost["events"]): void {
  const reported = events.filter((event) => event.kind === "server-error");
  expect(reported).toEqual([expect.objectContaining({ cause: failure })]);
  const successes = [
    "authorization-granted",
    "token-issued",
    "token-refreshed",
    "token-revoked",
    "consent-revoked",
  ];
  expect(events.filter(({ kind }) => successes.includes(kind))).toEqual([]);
}

/** What a browser got, in a word or two. */
export function outcomeOf(response: Pick<Response, "status" | "headers" | "text">): string {
  const { location } = response.headers as { location?: string };
  if (location === undefined) return response.status === 200 ? "consent page" : `page ${response.status}`;
  if (location.startsWith("/ask?interaction=")) return "own page";
  if (location.startsWith("/signin?interaction=")) return "sign-in page";
  const { code, error = "nothing" } = redirectParameters(response);
  return code === undefined ? error : "code";
}
