/** What a step opens to: why it is sent, the request and the answer. And the card of a refusal. */
import { copyButton, curlOf, isComplete } from "./copy.mjs";
import { element, fieldList } from "./dom.mjs";

/** HTTP Basic is easier to read decoded. RFC 6749 §2.3.1 */
function readableSent({ Authorization: header, ...sent }) {
  const [, credentials] = /^Basic (.+)$/.exec(header ?? "") ?? [];
  return { Authorization: header, ...(credentials && { "which says": atob(credentials) }), ...sent };
}

/** A redirect is easier to read with its query as fields. */
function readableHeaders({ location: target, ...headers }) {
  if (!target) return headers;
  const { origin, pathname, searchParams } = new URL(target, location.href);
  const fields = [...searchParams].map(([name, value]) => [`… with ${name}`, value]);
  return {
    location: (origin === location.origin ? "" : origin) + pathname,
    ...Object.fromEntries(fields),
    ...headers,
  };
}

const part = (title, content, className) =>
  element("section", [element("h4", [title]), ...content], className);

export function stepPanel(step, { refusal, why }) {
  const { method, url, sent, status, headers, body, events } = step;
  const { error, description, reason } = refusal ?? {};
  const refused = refusal ? [element("p", ["It was refused, as explained below."])] : [];
  const logged = events.flatMap((event) => [element("h5", ["The host's own event"]), fieldList(event)]);
  const copy = isComplete(step) ? [copyButton("Copy as curl", curlOf(step))] : [];
  const request = [fieldList({ [method]: url, ...readableSent(sent) }), ...copy];
  const answer = [fieldList({ status: String(status), ...readableHeaders(headers), ...body })];
  const told = refusal ? [fieldList({ error, error_description: description, reason })] : [];
  return element(
    "div",
    [
      part("Why", [element("p", [why]), ...refused], "why"),
      part("Request", request, "sent"),
      part("Answer", [...answer, ...(reason === undefined ? told : []), ...logged], "answered"),
    ],
    "panel",
  );
}

const text = (content) => content && element("span", [content]);

/** A refusal: what the client is told, the rule, where it is written, and the fix. */
export function refusalCard({ error, description, reason, rule, source, fix }) {
  const fields = {
    Rule: rule && element("span", [`${rule} `, element("cite", [source])]),
    Fix: text(fix),
    "Host's log": text(reason),
  };
  const heading = element("p", [element("strong", [error]), ` ${description ?? ""}`]);
  return element("div", [heading, fieldList(fields)], "refusal");
}
