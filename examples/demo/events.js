// @ts-check
/** The host's own events. Each is printed on the console, and the demo also sends it along with the answer that it belongs to. */
const { AsyncLocalStorage } = require("node:async_hooks");

/** @param {Parameters<import("authmount").OnEvent>[0]} event */
function logEvent(event) {
  const { kind, clientId = "", subject = "" } = event;
  if (kind === "started") return console.log("metadata", event.rootDocuments.join(" "));
  const reason = "reason" in event ? event.reason : "";
  console.log(["event", kind, clientId, subject, reason].filter(Boolean).join("  "));
  if (kind === "server-error") console.error(event.cause);
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
