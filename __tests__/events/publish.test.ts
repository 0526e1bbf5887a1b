// The emitter that also publishes, over a channel that the test makes.
import { type EventChannel, publishingEmitter } from "../../lib/events/publish";

const event = { kind: "token-refreshed", issuer: "https://host.example", scopes: ["a"] } as const;

function emitter({ hasSubscribers }: Pick<EventChannel, "hasSubscribers">) {
  const steps: unknown[] = [];
  const channel = { hasSubscribers, publish: (told: unknown) => steps.push(["published", told]) };
  const clock = (): number => {
    steps.push("clock");
    return 1_000;
  };
  return { steps, emit: publishingEmitter((told) => steps.push(["emitted", told]), { channel, clock }) };
}

describe("the channel of events", () => {
  it("gets each event with its time, before the handler of the host", () => {
    const { steps, emit } = emitter({ hasSubscribers: true });
    emit(event);
    expect(steps).toEqual(["clock", ["published", { at: 1_000, ...event }], ["emitted", event]]);
  });

  it("gets a copy: a subscriber that changes its event changes nobody else's", () => {
    const { steps, emit } = emitter({ hasSubscribers: true });
    emit(event);
    const [, [, published]] = steps as [unknown, [string, { scopes: readonly string[] }]];
    expect(published.scopes).not.toBe(event.scopes);
  });

  it("costs nothing while nobody subscribes: the clock is not read, and no copy is made", () => {
    const { steps, emit } = emitter({ hasSubscribers: false });
    emit(event);
    expect(steps).toEqual([["emitted", event]]);
  });
});
