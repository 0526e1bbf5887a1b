/** Events on a channel of `node:diagnostics_channel`, beside the host's handler. */
import type { Clock } from "../protocol/time";
import { type EmitEvent, timed } from "./port";

/** What is used of a channel. */
export interface EventChannel {
  readonly hasSubscribers: boolean;
  /** Calls every subscriber. Node catches what one throws, and rethrows it outside of the request. */
  publish(event: unknown): void;
}

/** An emitter that also publishes each event. The subscribers share one copy, which nobody else has. */
export function publishingEmitter(
  emit: EmitEvent,
  { channel, clock }: { readonly channel: EventChannel; readonly clock: Clock },
): EmitEvent {
  return (event) => {
    if (channel.hasSubscribers) channel.publish(timed(event, clock));
    emit(event);
  };
}
