/** The sequence picture: browser, client, authorization server and API, with an arrow there and back for each step. */
import { element, shape } from "./dom.mjs";
import { refusalOf } from "./refusal.mjs";

const lanes = [70, 300, 530, 730];
const width = 800;
const top = 50;
const stepHeight = 56;

const sourceOf = ({ by }) => (by === "Browser" ? 0 : 1);
function targetOf({ url }) {
  if (url.startsWith("/api/")) return 3;
  return url.endsWith("/callback") ? 1 : 2;
}

/** The path without the issuer, which is the same in every step. */
const shortPath = (url) => url.replace(/^\/login\/auth\/[^/]+\/api\/[^/]+/, "");

function arrow({ from, to, y, text, className }) {
  const [start, end] = [lanes[from], lanes[to]];
  const back = end > start ? -8 : 8;
  return shape("g", { class: className }, [
    shape("path", { class: "shaft", d: `M${start} ${y}H${end}` }),
    shape("path", { class: "head", d: `M${end} ${y}l${back} -4v8z` }),
    shape("text", { x: (start + end) / 2, y: y - 5, "text-anchor": "middle" }, [text]),
  ]);
}

function stepArrows(step, index) {
  const y = top + 30 + index * stepHeight;
  const [from, to] = [sourceOf(step), targetOf(step)];
  const refusal = refusalOf(step);
  const there = {
    from,
    to,
    y,
    text: `${index + 1}. ${step.method} ${shortPath(step.url)}`,
    className: "there",
  };
  const back = {
    from: to,
    to: from,
    y: y + stepHeight / 2 - 6,
    text: [step.status, refusal?.error].filter(Boolean).join(" "),
    className: refusal ? "back refused" : "back",
  };
  return [arrow(there), arrow(back)];
}

/** Empty while nothing has happened. */
export function sequencePicture(steps) {
  if (steps.length === 0) return [];
  const client = steps.find(({ by }) => by !== "Browser")?.by ?? "Client";
  const names = ["Browser", client, "Authorization server", "API"];
  const height = top + 20 + steps.length * stepHeight;
  const lines = lanes.map((x, lane) =>
    shape("g", { class: "lane" }, [
      shape("text", { x, y: 24, "text-anchor": "middle" }, [names[lane]]),
      shape("path", { d: `M${x} 34V${height}` }),
    ]),
  );
  const told = steps.map((step, index) => {
    const path = `${step.method} ${shortPath(step.url)}`;
    return `${index + 1}. ${names[sourceOf(step)]} to ${names[targetOf(step)]}: ${path}, answered ${step.status}.`;
  });
  const attributes = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told.join(" ") };
  const picture = shape("svg", attributes, [...lines, ...steps.flatMap(stepArrows)]);
  // on a narrow screen the picture is wider than the page, so it must be scrollable with the keyboard
  const frame = element("div", [picture], "scroll");
  frame.tabIndex = 0;
  frame.role = "region";
  frame.ariaLabel = "Sequence picture";
  return [element("figcaption", ["Who asked whom. The numbers match the steps below."]), frame];
}
