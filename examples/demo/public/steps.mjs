/** The list of steps. Every value is written as text, never as HTML. */
const list = document.querySelector("#steps");
let steps = JSON.parse(sessionStorage.getItem("steps") ?? "[]");

function element(name, content, className = "") {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

/** Header or claims of a JWT. */
function decodePart(part) {
  const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.codePointAt(0))));
}

function decodeJwt(text) {
  const [, ...parts] = /^(?:Bearer )?(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+$/.exec(text) ?? [];
  return parts.map((part) => JSON.stringify(decodePart(part), null, 2));
}

function fieldList(fields) {
  const rows = Object.entries(fields).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const content = [element("code", [text]), ...decodeJwt(text).map((part) => element("pre", [part]))];
    return [element("dt", [name]), element("dd", content)];
  });
  return element("dl", rows);
}

/** A redirect is easier to read with its query as fields. */
function readable({ location: target, ...fields }) {
  if (target === undefined) return fields;
  const { origin, pathname, searchParams } = new URL(target, location.href);
  return {
    Location: (origin === location.origin ? "" : origin) + pathname,
    ...Object.fromEntries(searchParams),
  };
}

function stepItem({ by, method, url, sent, status, answer }, isOpen) {
  const fields = readable(answer);
  const verdict = element("strong", [String(status)], status >= 400 || fields.error ? "bad" : "good");
  const summary = element("summary", [`${by} `, element("code", [`${method} ${url}`]), " → ", verdict]);
  const details = element("details", [
    summary,
    element("h3", ["Sent"]),
    fieldList(sent),
    element("h3", ["Answer"]),
    fieldList(fields),
  ]);
  details.open = isOpen;
  return element("li", [details]);
}

function show() {
  const items = steps.map((step, index) => stepItem(step, index === steps.length - 1));
  list.replaceChildren(...items.toReversed());
  sessionStorage.setItem("steps", JSON.stringify(steps));
}

/** The steps of the server and those of this page come apart; the newest is shown first. */
export function addSteps(added) {
  if (added.length > 0) steps = [...steps, ...added].toSorted((a, b) => a.at - b.at).slice(-50);
  show();
}

export function clearSteps() {
  steps = [];
  show();
}
