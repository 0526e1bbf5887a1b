/** What happened: one story after the other, each with its own picture and its own count of steps. */
import { element, find } from "./dom.mjs";
import { summaryOf } from "./rules.mjs";
import { drawSequence } from "./sequence.mjs";
import { tokenView } from "./token-view.mjs";

/** They survive a visit to the account page. */
let stories = JSON.parse(sessionStorage.getItem("stories") ?? "[]");
/** Story → its element. */
const sections = new WeakMap();

export const latestStory = () => stories.at(-1);
export const toldStories = () => stories;

function sectionOf(story) {
  const known = sections.get(story);
  if (known) return known;
  const content = [element("h3", [story.title]), element("p", [story.note]), element("ol", [], "sequence")];
  const section = element("section", content, "story");
  sections.set(story, section);
  find("told").append(section);
  return section;
}

/** What is new comes into view: softly, unless the person wants less motion. */
function follow(section) {
  const row = section.querySelector(".sequence").lastElementChild ?? section;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  row.scrollIntoView({ block: "nearest", behavior: isCalm ? "instant" : "smooth" });
  if (!isCalm) row.animate([{ translate: "0 0.75rem" }, { translate: "0" }], 250);
}

export function showStories() {
  const allSteps = stories.flatMap(({ steps }) => steps);
  for (const story of stories) {
    const list = sectionOf(story).querySelector(".sequence");
    list.hidden = story.steps.length === 0;
    drawSequence(list, story, allSteps);
  }
  const token = tokenView(allSteps);
  find("token").replaceChildren(...token);
  find("token").hidden = token.length === 0;
  find("said").textContent = latestStory()?.said ?? "";
  find("intro").hidden = stories.length > 0;
  find("clear").hidden = stories.length === 0;
}

/** `name` is that of its button; `link` is the hash of the page; `said` tells that it runs with other choices; `names` are those of the four places, from left to right. */
export function beginStory(story) {
  stories.push({ ...story, steps: [] });
  showStories();
  follow(sectionOf(latestStory()));
}

/** Steps of the server and steps of this page arrive separately, so they are sorted by time. */
export function addSteps(added) {
  const story = latestStory();
  if (added.length === 0 || !story) return;
  story.steps = [...story.steps, ...added].toSorted((a, b) => a.at - b.at).slice(-50);
  sessionStorage.setItem("stories", JSON.stringify(stories));
  showStories();
  follow(sectionOf(story));
}

export function forgetStories() {
  stories = [];
  sessionStorage.removeItem("stories");
  find("told").replaceChildren();
  showStories();
}

export const summary = () =>
  latestStory()
    ? summaryOf(
        latestStory().steps,
        stories.flatMap(({ steps }) => steps),
      )
    : "";

/** True when the last token request of the latest story brought a token. */
export const hasToken = () =>
  latestStory().steps.findLast(({ url }) => url.endsWith("/token"))?.status === 200;

/** True when the API refused the latest request for its sign-in. */
export const wantsStepUp = () =>
  latestStory().steps.at(-1).headers["www-authenticate"].includes("acr_values");
