/**
 * Tries every order of calls, depth first: each schedule is a list of choices, and is run from the start. Sleep sets leave out orders that
 * differ only in neighbouring calls that do not collide, so that one of each class of equal orders is run (Godefroid 1996).
 */
import type { Fault, HeldCall, Scheduler } from "./scheduler";
import { collide, type Touch } from "./touches";

/** A world in which operations are about to begin. */
export interface World {
  readonly scheduler: Scheduler;
  readonly operations: readonly (() => Promise<void>)[];
  /** How it went, in words that are the same for equal orders. */
  readonly summary: () => string;
  /** Notes that a fault is injected at this call. */
  readonly noteFault: (call: HeldCall) => void;
  /**
   * What is wrong when nothing waits any more but calls that are late, or nothing.
   *
   * @param lateCalls lets these do their work.
   */
  readonly judge: (lateCalls: () => Promise<void>) => Promise<readonly string[]>;
}

/** A call that was let go, and what went wrong with it. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly fault?: Fault;
}

/** Something wrong, and how to see it again. */
export interface Finding {
  readonly problems: readonly string[];
  readonly choices: readonly Choice[];
}

/** What was explored. */
export interface Explored {
  /** The schedules that were run to their end. */
  readonly schedules: number;
  /** Beginnings that were given up, because all that could follow was run in another order. */
  readonly pruned: number;
  /** The schedules with a fault. */
  readonly withFaults: number;
  readonly findings: readonly Finding[];
  /** The different ways in which it went, without faults. */
  readonly summaries: ReadonlySet<string>;
  /** False when a bound has ended the search. */
  readonly isComplete: boolean;
}

/** Calls that need not be chosen: an equal order has been run. */
type Asleep = ReadonlyMap<string, readonly Touch[]>;

interface Node {
  readonly waiting: readonly HeldCall[];
  readonly asleep: Asleep;
  readonly done: Map<string, readonly Touch[]>;
  chosen: HeldCall;
}

/** A schedule in one line: what `replayOf` reads. */
export function lineOf(choices: readonly Choice[]): string {
  return choices.map(({ id, fault }) => id + (fault === undefined ? "" : ` (${fault})`)).join(", ");
}

/** A schedule for people: one call in each line. */
export function describeChoices(choices: readonly Choice[]): string {
  return choices
    .map(({ id, name, fault }) => `  ${id.padEnd(10)} ${name}${fault === undefined ? "" : `  <- ${fault}`}`)
    .join("\n");
}

/** The choices of a line. */
export function choicesOf(line: string): readonly Pick<Choice, "id" | "fault">[] {
  return line.split(", ").map((text) => {
    const [, id = "", fault] = /^([\d.]+(?: late)?)(?: \((.+)\))?$/.exec(text) ?? [];
    return { id, ...(fault !== undefined && { fault: fault as Fault }) };
  });
}

function sleepAfter(parent: Node): Asleep {
  const { touches } = parent.chosen;
  return new Map([...parent.asleep, ...parent.done].filter(([, asleep]) => !collide(asleep, touches)));
}

function nextOf(node: Pick<Node, "waiting" | "asleep" | "done">): HeldCall | undefined {
  return node.waiting.find(({ id }) => !node.asleep.has(id) && !node.done.has(id));
}

/** Runs the path and goes on from its end. Undefined when the rest would repeat another order. */
async function descend(
  world: World,
  { path, orders }: { path: Node[]; orders: Bounds["orders"] },
): Promise<readonly Choice[] | undefined> {
  const { scheduler, operations } = world;
  await scheduler.start(operations);
  for (let depth = 0; ; depth += 1) {
    const waiting = scheduler.waiting();
    if (waiting.length === 0) break;
    if (depth === path.length) {
      const parent = path[depth - 1];
      const asleep: Asleep = parent && orders === "different ones" ? sleepAfter(parent) : new Map();
      const chosen = nextOf({ waiting, asleep, done: new Map() });
      if (!chosen) return undefined;
      path.push({ waiting, asleep, done: new Map(), chosen });
    }
    await scheduler.step((path[depth] as Node).chosen.id);
  }
  scheduler.stop();
  return path.map(({ chosen: { id, name } }) => ({ id, name }));
}

/** Makes the deepest choice that is left. False when there is none. */
function backtrack(path: Node[]): boolean {
  for (;;) {
    const last = path.at(-1);
    if (!last) return false;
    last.done.set(last.chosen.id, last.chosen.touches);
    const next = nextOf(last);
    if (next) {
      last.chosen = next;
      return true;
    }
    path.pop();
  }
}

/** All operations have ended or crashed: otherwise one waits for something that never comes. */
function stuck({ scheduler, operations }: World): readonly string[] {
  const over = new Set([...scheduler.ended(), ...scheduler.crashed()]);
  return operations.flatMap((_, number) => (over.has(number) ? [] : [`operation ${number} never ends`]));
}

async function problemsOf(world: World): Promise<readonly string[]> {
  const { scheduler, judge } = world;
  scheduler.stop();
  const never = stuck(world);
  if (never.length > 0) return never;
  return judge(async () => {
    for (const { id } of scheduler.waiting()) await scheduler.step(id);
  });
}

const isLate = ({ id }: { readonly id: string }): boolean => id.endsWith("late");

/**
 * Runs these choices again. Choices whose call does not wait (a fault has changed what follows) are passed over. What is left at the end
 * goes in the order of operations, and calls that are late do their work at the very end.
 */
export async function replay(
  world: World,
  choices: readonly Pick<Choice, "id" | "fault">[],
): Promise<Finding> {
  const { scheduler, operations } = world;
  const made: Choice[] = [];
  await scheduler.start(operations);
  async function step({ id, fault }: Pick<Choice, "id" | "fault">): Promise<void> {
    const held = scheduler.waiting().find((one) => one.id === id);
    if (!held) return;
    made.push({ id, name: held.name, ...(fault && { fault }) });
    if (fault) world.noteFault(held);
    await scheduler.step(id, fault);
  }
  for (const choice of choices) await step(choice);
  const next = (): HeldCall | undefined => scheduler.waiting().find((held) => !isLate(held));
  for (let held = next(); held; held = next()) await step(held);
  return { problems: await problemsOf(world), choices: made };
}

/** How much is tried. */
export interface Bounds {
  readonly maxSchedules: number;
  /** Whether equal orders are left out. */
  readonly orders: "different ones" | "all";
  /** The faults at the call with this number of the schedule with this number. */
  readonly faultsAt: (schedule: number, step: number) => readonly Fault[];
}

/** These choices with a fault at one of them. A late call does its work after everything else, or half-way. */
function broken(
  choices: readonly Choice[],
  { step, fault }: { step: number; fault: Fault },
): readonly (readonly Choice[])[] {
  const choice = choices[step];
  if (!choice) return [];
  const before = [...choices.slice(0, step), { ...choice, fault }];
  const rest = choices.slice(step + 1);
  if (fault !== "late") return [[...before, ...rest]];
  const half = Math.ceil(rest.length / 2);
  const lateOne = { ...choice, id: `${choice.id} late` };
  return [
    [...before, ...rest],
    [...before, ...rest.slice(0, half), lateOne, ...rest.slice(half)],
  ];
}

async function exploreFaults(
  newWorld: () => Promise<World>,
  { choices, faultsAt }: { choices: readonly Choice[]; faultsAt: (step: number) => readonly Fault[] },
): Promise<{ runs: number; findings: readonly Finding[] }> {
  const findings: Finding[] = [];
  const all = choices.flatMap((_, step) =>
    faultsAt(step).flatMap((fault) => broken(choices, { step, fault })),
  );
  for (const one of all) {
    const finding = await replay(await newWorld(), one);
    if (finding.problems.length > 0) findings.push(finding);
  }
  return { runs: all.length, findings };
}

/** Tries every order of the operations of such worlds, and each again with faults. Ends at the first finding. */
export async function explore(
  newWorld: () => Promise<World>,
  { maxSchedules, orders, faultsAt }: Bounds,
): Promise<Explored> {
  const path: Node[] = [];
  const summaries = new Set<string>();
  let [schedules, pruned, withFaults] = [0, 0, 0];
  let findings: readonly Finding[] = [];
  let isComplete = false;
  while (schedules + pruned < maxSchedules && !isComplete && findings.length === 0) {
    const world = await newWorld();
    const choices = await descend(world, { path, orders });
    if (choices) {
      summaries.add(world.summary());
      const problems = await problemsOf(world);
      const number = schedules;
      const faulty = await exploreFaults(newWorld, {
        choices,
        faultsAt: (step) => (problems.length > 0 ? [] : faultsAt(number, step)),
      });
      schedules += 1;
      withFaults += faulty.runs;
      findings = problems.length > 0 ? [{ problems, choices }] : faulty.findings;
    } else pruned += 1;
    isComplete = !backtrack(path);
  }
  return { schedules, pruned, withFaults, findings, summaries, isComplete };
}
