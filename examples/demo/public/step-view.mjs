/** One step: the request, the answer, and why it was refused. */
import { element, fieldList } from "./dom.mjs";
import { refusalOf } from "./refusal.mjs";

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

const part = (title, fields, className = "part") => {
  const list = fieldList(fields);
  return list.childElementCount > 0 ? [element("div", [element("h4", [title]), list], className)] : [];
};

export function stepItem(step, { number, isLast }) {
  const { by, method, url, sent, status, headers, body, events } = step;
  const refusal = refusalOf(step);
  const verdict = element("strong", [String(status)], refusal ? "bad" : "good");
  const summary = [`${number}. ${by} `, element("code", [`${method} ${url}`]), " → ", verdict];
  const details = element("details", [
    element("summary", refusal?.error ? [...summary, ` ${refusal.error}`] : summary),
    ...(refusal ? part("Why it was refused", refusal, "part refusal") : []),
    ...part("Request", { method, URL: url }),
    ...part("Sent", readableSent(sent)),
    ...part("Answer", { status, ...readableHeaders(headers) }),
    ...part("Body", body),
    ...events.flatMap((event) => part("The host's own event", event)),
  ]);
  details.open = isLast || refusal !== undefined;
  return element("li", [details]);
}
