// @ts-check
/** The host's own events. The demo sends each along with the answer that it belongs to; `--events` prints them as well. */
const { AsyncLocalStorage } = require("node:async_hooks");

const isPrinted = process.argv.includes("--events");

/** @param {Parameters<import("authmount").OnEvent>[0]} event */
function logEvent(event) {
  if (event.kind === "server-error") return console.error("server-error", event.cause);
  if (!isPrinted) return;
  const { kind } = event;
  if (kind === "started") return console.log("metadata", event.rootDocuments.join(" "));
  const { clientId = "", subject = "" } = event;
  const reason = "reason" in event ? event.reason : "";
  console.log(["event", kind, clientId, subject, reason].filter(Boolean).join("  "));
}

function newEventLog() {
  /** The answer to the current request. @type {AsyncLocalStorage<import("express").Response>} */
  const answers = new AsyncLocalStorage();

  /** @type {import("express").RequestHandler} */
  const tieEvents = (_req, res, next) => answers.run(res, next);

  /** Events contain no tokens and no secrets. @type {import("authmount").OnEvent} */
  function onEvent(event) {
    logEvent(event);
    const res = answers.getStore();
    if (!res || res.headersSent || event.kind === "server-error") return;
    const { at: _at, issuer: _issuer, authorizationId: _authorizationId, ...facts } = event;
    // a reason helps whoever reads the log, but it also helps an attacker: only a demo sends it along
    res.append("Demo-Event", encodeURIComponent(JSON.stringify(facts)));
  }
  return { tieEvents, onEvent };
}

module.exports = { newEventLog };
