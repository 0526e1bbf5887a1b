/** What the server reports by itself where the host has given no `onEvent`: a failure must not be silent. */
import type { AuthServerEvent, OnEvent } from "./port";

/** Where reports go, and for whom they are. */
export interface ReportOptions {
  /** @param detail more lines, for a developer. */
  readonly warn: (code: string, message: string, detail?: string) => void;
  /** In production only failures are reported, once for each kind of error, and nothing that was thrown is printed. */
  readonly isProduction: boolean;
}

/** A line that was reported is not repeated for so long. */
const repeatSeconds = 60;
/** Texts of clients are in the lines: they must not fill the memory. */
const maxLines = 100;

const hint = "Pass onEvent to createAuthServer to handle events yourself.";

/** A refusal or a note with its reason, or `undefined` for an event that is no news to a developer. */
function lineOf(event: AuthServerEvent): string | undefined {
  // the refusal that follows gives the same reason
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

/** A handler that warns of refusals in development, and of failures everywhere. */
export function eventReporter({ warn, isProduction }: ReportOptions): OnEvent {
  const reportedAt = new Map<string, number>();

  /** False for a line that was reported a moment ago. */
  function isNews(line: string, at: number): boolean {
    const before = reportedAt.get(line);
    if (before !== undefined && (isProduction || Math.abs(at - before) < repeatSeconds)) return false;
    if (reportedAt.size >= maxLines) reportedAt.clear();
    reportedAt.set(line, at);
    return true;
  }

  return (event) => {
    if (event.kind === "server-error") {
      const line = `server-error: storage or a callback failed with ${kindOfError(event.cause)}. ${hint}`;
      if (!isNews(line, event.at)) return;
      const { stack = String(event.cause) } = (event.cause ?? {}) as { stack?: string };
      warn("AUTHMOUNT_SERVER_ERROR", line, isProduction ? undefined : stack);
      return;
    }
    const line = isProduction ? undefined : lineOf(event);
    if (line !== undefined && isNews(line, event.at)) warn("AUTHMOUNT_REFUSED", line);
  };
}
