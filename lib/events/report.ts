/** Warnings in place of events when the host passes no `onEvent`, so that no failure is silent. */
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

/** How long a line is not repeated. */
const repeatSeconds = 60;
/** Lines contain client ids, so their number must be limited. */
const maxLines = 100;

const hint = "Pass onEvent to createAuthServer to handle events yourself.";

/** A refusal or a note with its reason, or `undefined` for an event that needs no attention. */
function refusalLine(event: NewEvent): string | undefined {
  // the refusal that follows has the same reason
  if (!("reason" in event) || event.kind === "client-authentication-failed") return undefined;
  const error = "error" in event ? ` (${event.error})` : "";
  const issuer = event.issuer === undefined ? "" : ` at ${event.issuer}`;
  const client = event.clientId === undefined ? "" : `, client ${event.clientId}`;
  return `${event.kind}${error}${issuer}${client}: ${event.reason}. ${hint}`;
}

function kindOfError(cause: unknown): string {
  const { name, code } = (cause ?? {}) as { name?: unknown; code?: unknown };
  const known = [name, code].filter((text) => typeof text === "string" && /^[\w-]{1,64}$/.test(text));
  return known.length === 0 ? "an error" : known.join(" ");
}

/** An emitter that warns about refusals in development, and about failures everywhere. */
export function eventReporter({ warn, isProduction, clock }: ReportOptions): EmitEvent {
  const reportedAt = new Map<string, number>();

  /** False for a line that was reported recently. */
  function isNews(line: string): boolean {
    const [now, before] = [clock(), reportedAt.get(line)];
    if (before !== undefined && (isProduction || Math.abs(now - before) < repeatSeconds)) return false;
    if (reportedAt.size >= maxLines) reportedAt.clear();
    reportedAt.set(line, now);
    return true;
  }

  function report(event: NewEvent): void {
    if (event.kind === "server-error") {
      const line = `server-error: storage or a callback failed with ${kindOfError(event.cause)}. ${hint}`;
      const { stack = String(event.cause) } = (event.cause ?? {}) as { stack?: string };
      if (isNews(line)) warn("AUTHMOUNT_SERVER_ERROR", line, isProduction ? undefined : stack);
      return;
    }
    const line = refusalLine(event);
    if (line !== undefined && isNews(line)) warn("AUTHMOUNT_REFUSED", line);
  }

  return (event) => {
    // most events need no attention, and must cost nothing
    if (event.kind !== "server-error" && (isProduction || !("reason" in event))) return;
    try {
      report(event);
    } catch {
      // a cause that cannot be printed must not break the request
    }
  };
}
