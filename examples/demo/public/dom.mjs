/** Elements of the page. Every value is written as text, never as HTML. */

export const find = (id) => document.querySelector(`#${id}`);

/** An element with its content: texts or elements. */
export function element(name, content, className = "") {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...content);
  return made;
}

function textOf(value) {
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  if (isList) return value.join(" ");
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}

/** Names and values; empty ones are left out. A value may be an element. */
export function fieldList(fields) {
  const rows = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => {
      const content = value instanceof Element ? value : element("code", [textOf(value)]);
      return [element("dt", [name]), element("dd", [content])];
    });
  return element("dl", rows.flat());
}
