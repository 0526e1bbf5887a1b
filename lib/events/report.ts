/** Warnings in place of events when the host passes no `onEvent`, so that no failure is silent. */
import { inspect } from "node:util";
import { idOf } from "../protocol/mistake";
import type { Clock } from "../protocol/time";
import type { EmitEvent, NewEvent } from "./port";

/** Where the warnings go, and how much they say. */
export interface ReportOptions {
  /** @param detail additional lines for the developer. */
  readonly warn: (code: string, message: string, detail?: string) => void;
  /** In production only failures are reported, once for each kind of error, and never with the thrown value. */
  readonly isProduction: boolean;
  readonly clock: Clock;
}

/** How long a line is not repeated, in seconds: shorter while somebody watches the console. */
const repeatSeconds = { development: 60, production: 3_600 };
/** Lines contain client ids and messages of errors, so their number and length must be limited. */
const maxLines = 100;
const maxDetail = 10_000;

const hint = "Pass onEvent to handle events yourself.";

/** A refusal or a note with its reason and its id, or `undefined` for an event that needs no attention. */
function refusalWarning(event: NewEvent): { readonly code: string; readonly line: string } | undefined {
  // the refusal that follows has the same reason
  if (!("reason" in event) || event.kind === "client-authentication-failed") return undefined;
  const error = "error" in event ? ` (${event.error})` : "";
  const issuer = event.issuer === undefined ? "" : ` at ${event.issuer}`;
  const client = event.clientId === undefined ? "" : `, client ${event.clientId}`;
  const line = `${event.kind}${error}${issuer}${client}: ${event.reason.replace(/\.$/, "")}. ${hint}`;
  return { code: event.code, line };
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
export function eventReporter({ warn, isProduction, clock }: ReportOptions): EmitEvent {
  const reportedAt = new Map<string, number>();
  const quietSeconds = isProduction ? repeatSeconds.production : repeatSeconds.development;

  /** False for a line that was reported recently. */
  function isNews(line: string): boolean {
    const [now, before] = [clock(), reportedAt.get(line)];
    if (before !== undefined && Math.abs(now - before) < quietSeconds) return false;
    if (reportedAt.size >= maxLines) reportedAt.clear();
    reportedAt.set(line, now);
    return true;
  }

  function reportFailure(cause: unknown): void {
    const id = idOf(cause);
    const line = `server-error: ${failureText(cause, { id, isProduction })}. ${hint}`;
    // in production a kind of error is enough, and what was thrown may contain anything
    const detail = isProduction ? undefined : detailOf(cause);
    if (!isNews(`${line}${detail?.split("\n", 1)[0] ?? ""}`)) return;
    warn(id ?? "storage-or-callback-failed", line, detail);
  }

  return (event) => {
    if (event.kind === "server-error") return reportFailure(event.cause);
    // most events need no attention, and must cost nothing
    const refusal = isProduction || !("reason" in event) ? undefined : refusalWarning(event);
    if (refusal && isNews(refusal.line)) warn(refusal.code, refusal.line);
  };
}
