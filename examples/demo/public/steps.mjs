/** The steps so far, and everything that shows them. */
import { sequencePicture } from "./picture.mjs";
import { summaryOf } from "./refusal.mjs";
import { stepItem } from "./step-view.mjs";
import { tokenView } from "./token-view.mjs";

const find = (id) => document.querySelector(`#${id}`);
let steps = JSON.parse(sessionStorage.getItem("steps") ?? "[]");

function fill(id, content) {
  find(id).replaceChildren(...content);
  find(id).hidden = content.length === 0;
}

export function showSteps() {
  fill("picture", sequencePicture(steps));
  fill("token", tokenView(steps));
  const items = steps.map((step, index) =>
    stepItem(step, { number: index + 1, isLast: index === steps.length - 1 }),
  );
  find("steps").replaceChildren(...items);
  find("story").hidden = steps.length === 0;
}

/** Steps of the server and steps of this page arrive separately, so they are sorted by time. */
export function addSteps(added) {
  if (added.length === 0) return;
  steps = [...steps, ...added].toSorted((a, b) => a.at - b.at).slice(-50);
  sessionStorage.setItem("steps", JSON.stringify(steps));
}

export function clearSteps() {
  steps = [];
  sessionStorage.removeItem("steps");
}

export const summary = () => (steps.length === 0 ? "" : summaryOf(steps));

/** True when the last token request brought a token. */
export const hasToken = () => steps.findLast(({ url }) => url.endsWith("/token"))?.status === 200;
