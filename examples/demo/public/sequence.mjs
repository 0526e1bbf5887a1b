/**
 * The sequence picture of a story, as a list of steps. Each step is drawn as two arrows: its request and its answer.
 * Steps that happened before the answer are inside, so that the arrows are in their true order.
 */
import { inAnswer, inRequest, issuedTokens, wordFor } from "./carried.mjs";
import { element } from "./dom.mjs";
import { exchangeOf } from "./exchanges.mjs";
import { refusalOf } from "./rules.mjs";
import { refusalCard, stepPanel } from "./step-view.mjs";

/** The path without the issuer, which is the same in every step. */
const shortPath = (url) => url.replace(/^\/login\/auth\/[^/]+\/api\/[^/]+/, "");

const chip = (thing, issued) =>
  element("span", [wordFor(thing, issued)], thing.kind ? `chip ${thing.kind}` : "chip");

/** An arrow from one place to another, with a label above it. */
function message({ from, to, label, carried, className }, { names, issued }) {
  const arrow = element("span", [], "arrow");
  const route = element("span", [`${names[from]} → ${names[to]} `], "route");
  // the spaces are for those who hear or copy it
  const chips = carried.flatMap((thing) => [" ", chip(thing, issued)]);
  const line = element("span", [route, element("span", label, "label"), ...chips, arrow]);
  line.className = from < to ? "line forth" : "line back";
  // columns of the grid: one before the first place, one between each two places
  line.style.setProperty("--columns", `${Math.min(from, to) + 2} / ${Math.max(from, to) + 2}`);
  return element("span", [line], className);
}

function request(step, { number, ...story }) {
  const { from, to } = exchangeOf(step);
  const label = [element("code", [`${step.method} ${shortPath(step.url)}`])];
  const row = message({ from, to, label, carried: inRequest(step), className: "message" }, story);
  row.prepend(element("span", [String(number)], "number"));
  return row;
}

function answer(step, { isRefused, ...story }) {
  const { from, to } = exchangeOf(step);
  const { pathname } = new URL(step.headers.location || "/", location.href);
  const target = step.headers.location ? [" to ", element("code", [shortPath(pathname)])] : [];
  const label = [element("code", [String(step.status)]), ...target];
  const className = isRefused ? "message answer refused" : "message answer";
  return message({ from: to, to: from, label, carried: inAnswer(step), className }, story);
}

/** Elements are kept, so that an open step stays open when others arrive. */
const kept = new WeakMap();

function stepItem({ step, number, inside }, { names, steps, issued }) {
  const refusal = refusalOf(step, steps);
  const told = { number, names, issued, isRefused: refusal !== undefined };
  const waits = inside.length > 0;
  const arrows = waits ? [request(step, told)] : [request(step, told), answer(step, told)];
  const panel = stepPanel(step, { refusal, why: exchangeOf(step).why });
  const details = element("details", [element("summary", arrows), panel]);
  const meanwhile = waits ? [element("ol", []), answer(step, told)] : [];
  const item = element("li", [details, ...meanwhile, ...(refusal ? [refusalCard(refusal)] : [])]);
  if (waits) item.className = `waits place-${exchangeOf(step).to}`;
  return item;
}

/** Steps with the steps that were sent and answered before their own answer. */
function nest(steps) {
  const outermost = [];
  let open = [];
  for (const [index, step] of steps.entries()) {
    open = open.filter((outer) => outer.step.until > step.at);
    const entry = { step, number: index + 1, inside: [] };
    (open.at(-1)?.inside ?? outermost).push(entry);
    open.push(entry);
  }
  return outermost;
}

function itemOf(entry, story) {
  const key = `${entry.number} ${entry.inside.length > 0}`;
  const known = kept.get(entry.step);
  const item = known?.key === key ? known.item : stepItem(entry, story);
  kept.set(entry.step, { key, item });
  const inner = item.querySelector(":scope > ol");
  if (inner) fillList(inner, entry.inside, story);
  return item;
}

/** Moves nothing that is already in its place, because a moved element loses the focus. */
function fillList(list, entries, story) {
  for (const [index, entry] of entries.entries()) {
    const item = itemOf(entry, story);
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  }
  while (list.children.length > entries.length) list.lastElementChild.remove();
}

/**
 * Brings the list up to date. The `steps` of the story are in the order in which they were sent; `allSteps` are those of
 * the stories before, too.
 */
export const drawSequence = (list, { names, steps }, allSteps) =>
  fillList(list, nest(steps), { names, steps: allSteps, issued: issuedTokens(allSteps) });
