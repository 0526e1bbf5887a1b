/** Warnings for the developer, and in place of events when the host passes no `onEvent`, so that no failure is silent. */
import { inspect } from "node:util";
import { idOf } from "../protocol/mistake";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { EmitEvent, NewEvent } from "./port";

/** Where the warnings go, and how much they say. */
export interface ReportOptions {
  /** @param detail additional lines for the developer. */
  readonly warn: (code: string, message: string, detail?: string) => void;
  /** In production only failures are reported, once for each kind of error, and never with the thrown value. */
  readonly isProduction: boolean;
  readonly clock: Clock;
}

/** How long a line is not repeated in full, in seconds: shorter while somebody watches the console. */
const repeatSeconds = { development: 60, production: 3_600 };
/** Lines contain client ids and messages of errors, so their number and length must be limited. */
const maxLines = 100;
const maxDetail = 10_000;

const hint = "Pass onEvent to handle events yourself.";

/** A warning, and what is left of it when it comes again soon. */
interface Line {
  readonly code: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly short: string;
  /** Lines with the same key are one that comes again. */
  readonly key: string;
}

/**
 * Prints lines. In development, one that comes again is printed in short, so that a second try does not look as if nothing had arrived;
 * once a second at most, so that a loop can be read.
 */
function linePrinter({ warn, isProduction, clock }: ReportOptions): (line: Line) => void {
  /** When each was printed in full and in short, and how often it has come since. */
  const lines = new Map<string, { at: EpochSeconds; shortAt?: EpochSeconds; times: number }>();
  const quietSeconds = isProduction ? repeatSeconds.production : repeatSeconds.development;

  return ({ key, code, message, detail, short }) => {
    const [now, before] = [clock(), lines.get(key)];
    if (!before || Math.abs(now - before.at) >= quietSeconds) {
      if (lines.size >= maxLines) lines.clear();
      lines.set(key, { at: now, times: 0 });
      return warn(code, message, detail);
    }
    before.times += 1;
    if (isProduction || before.shortAt === now) return;
    warn(code, `again${before.times > 1 ? `, ${before.times} times` : ""}: ${short}`);
    lines.set(key, { at: before.at, shortAt: now, times: 0 });
  };
}

/** Prints advice to the developer: what comes again with the same code, up to the first colon or full stop. */
export function adviser(options: ReportOptions): (code: string, message: string) => void {
  const print = linePrinter(options);
  return (code, message) =>
    print({ key: code, code, message, short: message.split(/\. |: (?!")/, 1)[0] ?? message });
}

/** A refusal or a note with its reason and its id, or `undefined` for an event that needs no attention. */
function refusalLine(event: NewEvent): Line | undefined {
  // the refusal that follows has the same reason
  if (!("reason" in event) || event.kind === "client-authentication-failed") return undefined;
  const error = "error" in event ? ` (${event.error})` : "";
  const issuer = event.issuer === undefined ? "" : ` at ${event.issuer}`;
  const client = event.clientId === undefined ? "" : `, client ${event.clientId}`;
  const about = `${event.kind}${error}${issuer}${client}`;
  const message = `${about}: ${event.reason.replace(/\.$/, "")}. ${hint}`;
  return { key: message, code: event.code, message, short: about };
}

/** The name and code of an error, never its message: that may contain anything. */
function kindOfError(cause: unknown): string {
  try {
    const { name, code } = cause as { name?: unknown; code?: unknown };
    const known = [name, code].filter((text) => typeof text === "string" && /^[\w-]{1,64}$/.test(text));
    return known.length === 0 ? "an error" : known.join(" ");
  } catch {
    // undefined, null, or a property that throws
    return "an error";
  }
}

/** What has failed, in words. An error of this library says it best, but its text may contain anything too. */
function failureText(
  cause: unknown,
  { id, isProduction }: { id: string | undefined; isProduction: boolean },
): string {
  if (id === undefined) return `storage or a callback failed with ${kindOfError(cause)}`;
  if (isProduction || !(cause instanceof Error)) return `a request failed with ${kindOfError(cause)}`;
  return cause.message.replace(/\.$/, "").slice(0, maxDetail);
}

/** What was thrown, with its stack and its causes. */
function detailOf(cause: unknown): string {
  try {
    return inspect(cause).slice(0, maxDetail);
  } catch {
    return "(the thrown value cannot be printed)";
  }
}

/** An emitter that warns about refusals in development, and about failures everywhere. */
export function eventReporter(options: ReportOptions): EmitEvent {
  const { isProduction } = options;
  const print = linePrinter(options);

  function reportFailure(cause: unknown): void {
    const id = idOf(cause);
    const short = `server-error: ${failureText(cause, { id, isProduction })}`;
    // in production a kind of error is enough, and what was thrown may contain anything
    const detail = isProduction ? undefined : detailOf(cause);
    const key = `${short}${detail?.split("\n", 1)[0] ?? ""}`;
    print({ key, code: id ?? "storage-or-callback-failed", message: `${short}. ${hint}`, detail, short });
  }

  return (event) => {
    if (event.kind === "server-error") return reportFailure(event.cause);
    // most events need no attention, and must cost nothing
    const line = isProduction || !("reason" in event) ? undefined : refusalLine(event);
    if (line) print(line);
  };
}
