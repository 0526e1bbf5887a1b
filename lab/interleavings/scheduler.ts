/** Holds every call back until it is chosen. One call goes on at a time, and everything that follows from it, up to the next calls. */
import { lateError } from "../../lib/protocol/oauth-error";
import { type Touch, touchesOf } from "./touches";

/** What may go wrong at a call. */
export const faults = [
  "crash before", // the process stops, and the call was never made
  "crash after", // the call does its work, and nobody hears of it: the process has stopped
  "fails", // the call does nothing, and its operation hears an error
  "lost answer", // the call does its work, and its operation hears an error
  "late", // its operation hears that it takes too long; it does its work later, whenever the scheduler likes
] as const;

/** One of these. */
export type Fault = (typeof faults)[number];

/** The message of the errors that are injected. */
export const injected = "the database is gone (injected)";

/** A call that waits. */
export interface HeldCall {
  /** Which operation, and which of its calls: `0.3`. A call that is late and still has to do its work ends in `late`. */
  readonly id: string;
  readonly operation: number;
  readonly name: string;
  readonly touches: readonly Touch[];
}

interface Held extends HeldCall {
  readonly call: () => Promise<unknown>;
  readonly settle: { readonly answer: (value: unknown) => void; readonly fail: (error: unknown) => void };
}

/** A scheduler of operations. */
export interface Scheduler {
  /** What waits now, in the order of operations and of their calls. */
  readonly waiting: () => readonly HeldCall[];
  /** Makes this call, by which the operations `0`, `1`, … are told apart. Before `start` it is not held. */
  readonly hold: (
    operation: number,
    call: { name: string; args: readonly unknown[]; call: () => Promise<unknown> },
  ) => Promise<unknown>;
  readonly start: (operations: readonly (() => Promise<void>)[]) => Promise<void>;
  /** Lets one call go on. */
  readonly step: (id: string, fault?: Fault) => Promise<void>;
  /** The operations that have ended; those that crashed never do. */
  readonly ended: () => readonly number[];
  readonly crashed: () => readonly number[];
  /** The number of the step in which the operation has made its last call of this name, or the last before a step; none when it never has. */
  readonly stepOf: (operation: number, name: string, before?: number) => number | undefined;
  /** From now on calls are not held. */
  readonly stop: () => void;
}

/** Everything that can go on has gone on: no operation waits for anything but held calls. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const nobody = { answer: (): void => undefined, fail: (): void => undefined };

/** A scheduler with nothing to do. */
export function newScheduler(): Scheduler {
  let waiting: Held[] = [];
  let isRunning = false;
  const counts = new Map<number, number>();
  const crashed = new Set<number>();
  const ended = new Set<number>();
  const made = new Map<string, readonly number[]>();
  let steps = 0;

  function crash(operation: number): void {
    crashed.add(operation);
    waiting = waiting.filter((held) => held.operation !== operation || held.id.endsWith("late"));
  }

  async function work({ call, settle }: Held): Promise<void> {
    await call().then(settle.answer, settle.fail);
  }

  async function go(held: Held, fault: Fault | undefined): Promise<void> {
    const { operation, settle } = held;
    switch (fault) {
      case undefined:
        return work(held);
      case "crash before":
        return crash(operation);
      case "crash after":
        await work({ ...held, settle: nobody });
        return crash(operation);
      case "fails":
        return settle.fail(new Error(injected));
      case "lost answer":
        await work({ ...held, settle: nobody });
        return settle.fail(new Error(injected));
      case "late":
        waiting.push({ ...held, id: `${held.id} late`, settle: nobody });
        return settle.fail(lateError("injected-failure", injected));
    }
  }

  return {
    waiting: () => waiting.toSorted((a, b) => a.operation - b.operation),
    hold(operation, { name, args, call }) {
      if (!isRunning) return call();
      const count = counts.get(operation) ?? 0;
      counts.set(operation, count + 1);
      return new Promise((answer, fail) => {
        if (crashed.has(operation)) return;
        const touches = touchesOf(name, args);
        const id = `${operation}.${count}`;
        waiting.push({ id, operation, name, touches, call, settle: { answer, fail } });
      });
    },
    async start(operations) {
      isRunning = true;
      for (const [number, operation] of operations.entries()) void operation().then(() => ended.add(number));
      await settled();
    },
    async step(id, fault) {
      const held = waiting.find((one) => one.id === id);
      if (!held) throw new Error(`no call ${id} waits: ${waiting.map((one) => one.id).join(", ")}`);
      waiting = waiting.filter((one) => one !== held);
      steps += 1;
      const call = `${held.operation} ${held.name}`;
      made.set(call, [...(made.get(call) ?? []), steps]);
      await go(held, fault);
      await settled();
    },
    ended: () => [...ended],
    crashed: () => [...crashed],
    stepOf: (operation, name, before = Infinity) =>
      made.get(`${operation} ${name}`)?.findLast((step) => step < before),
    stop: () => void (isRunning = false),
  };
}
