/** The machine's clock, random values and warnings, and the process's channel for events. The rules receive them, so tests can set them. RFC 6749 §10.10. */
import { channel } from "node:diagnostics_channel";
import { randomFillSync } from "node:crypto";
import { type EmitEvent, eventEmitter, type OnEvent, timed } from "./events/port";
import { eventReporter } from "./events/report";
import type { EpochSeconds } from "./protocol/time";

/** The current time of the system clock, in whole epoch seconds. */
export function systemClock(): EpochSeconds {
  return Math.floor(Date.now() / 1000);
}

/** Warns the host developer, as Node does for deprecations: on stderr, and as the `warning` event of the process. */
export function warn(code: string, message: string, detail?: string): void {
  process.emitWarning(message, { type: "AuthmountWarning", code, detail });
}

/** Events of every server of this process, for all who subscribe to this name. They share one copy, which no other code has. */
const published = channel("authmount:event");

/** Without the message, which may contain what the handler was about to log. */
function warnOfLostEvents(thrown: unknown): void {
  const name = thrown instanceof Error ? thrown.constructor.name : typeof thrown;
  warn("events-lost", `onEvent has failed with ${name}: events are lost. Handle errors inside onEvent.`);
}

/** Reports events to the host's handler, or as warnings when there is none, and to subscribers, who may be a tool that nobody reads. */
export function hostEmitter({
  onEvent,
  isProduction,
}: {
  readonly onEvent: OnEvent | undefined;
  readonly isProduction: boolean;
}): EmitEvent {
  const clock = systemClock;
  const heard = onEvent
    ? eventEmitter(onEvent, { clock, onFailure: warnOfLostEvents })
    : eventReporter({ warn, isProduction, clock });
  return (event) => {
    // node catches what a subscriber throws, and rethrows it outside of the request
    if (published.hasSubscribers) published.publish(timed(event, clock));
    heard(event);
  };
}

/** Random values that nobody can guess: tokens, codes and ids are made of them. */
export interface RandomValues {
  /** 256 random bits as 43 base64url characters. */
  readonly randomToken: () => string;
  /** 128 random bits as 22 base64url characters. */
  readonly randomId: () => string;
}

/** Random values, drawn from the system in blocks, because one draw costs as much as about a hundred values. */
export function randomValues(): RandomValues {
  const block = Buffer.alloc(4_096);
  let used = block.length;
  function draw(bytes: number): string {
    if (used + bytes > block.length) {
      randomFillSync(block);
      used = 0;
    }
    const end = used + bytes;
    const value = block.toString("base64url", used, end);
    // the block must not keep a copy of a secret that was handed out
    block.fill(0, used, end);
    used = end;
    return value;
  }
  return { randomToken: () => draw(32), randomId: () => draw(16) };
}
