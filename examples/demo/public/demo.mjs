/** The playground: what its buttons do. */
import { choicesFor, choose, labelOf, readChoices, watchChoices, whyNot } from "./choices.mjs";
import { element, find } from "./dom.mjs";
import { beginStory, forgetStories, latestStory, showStories, summary, toldStories } from "./happened.mjs";
import { forgetName, namedStory, nameStory } from "./link.mjs";
import { play, post } from "./play.mjs";

const buttons = [...document.querySelectorAll("[data-story]")];
const storyOf = (button) => JSON.parse(button.dataset.story);

const say = (...content) => find("status").replaceChildren(...content);

/** The four places of the picture, from left to right. */
function placesOf({ clientId, method, api }) {
  const kind = { web: "has a secret", portal: "has a secret, trusted", machine: "has a secret, no person" };
  const isMachine = clientId === "machine";
  const signIn = isMachine ? "" : `${labelOf("method", method)}, `;
  return [
    ["Browser", isMachine ? "takes no part" : "with a person"],
    [labelOf("clientId", clientId), `client, ${kind[clientId] ?? "public"}`],
    ["Authorization server", `${signIn}for ${labelOf("api", api)}`],
    ["API", "checks the token"],
  ];
}

/** Shows who takes part, and what can go on from here. */
function showWho() {
  const latest = latestStory();
  const choices = latest?.choices ?? readChoices();
  const places = placesOf(choices).map(([name, role]) =>
    element("p", [element("strong", [name]), element("span", [role])]),
  );
  find("lanes").replaceChildren(...places);
  find("further-as").textContent = latest ? `As ${labelOf("clientId", choices.clientId)}` : "After a flow";
  for (const button of buttons) {
    const story = storyOf(button);
    const problem = whyNot(story, latest);
    button.ariaDisabled = problem ? "true" : null;
    const note = find(`${button.id}-note`);
    note.dataset.own ??= note.textContent;
    const own = (readChoices().clientId === "machine" && story.machineNote) || note.dataset.own;
    note.textContent = problem ?? own;
    button.title = note.textContent;
  }
}

async function showPerson() {
  const { subject, active, organization } = await post("/person");
  const who = `${subject} at ${organization}${active ? "" : ", disabled"}`;
  find("person").textContent = subject ? who : "nobody";
}

const linkTo = (url) => {
  const link = element("a", ["Open the sign-in window"]);
  link.href = url;
  link.target = "authmount-person";
  return link;
};

/** A window waits for the person. If the browser did not open it, a link does. */
const onWait = (url) =>
  url
    ? say("Your browser has blocked the window. ", linkTo(url))
    : say("Waiting for you in the other window…");

let running = new AbortController();

async function tell(button) {
  const story = storyOf(button);
  const problem = whyNot(story, latestStory());
  if (problem) {
    say(problem);
    return find("status").scrollIntoView({ block: "nearest" });
  }
  running.abort(new Error("Another story was started."));
  running = new AbortController();
  const { signal } = running;
  say("Running…");
  const { choices, said } = story.isNew ? await choicesFor(story) : latestStory();
  if (story.isNew) {
    forgetStories();
    nameStory(button.id);
  }
  const names = placesOf(choices).map(([name]) => name);
  const title = button.firstElementChild.textContent;
  const told = { name: button.id, link: location.hash, title, note: button.title };
  beginStory({ ...told, said, choices, names });
  showWho();
  const end = await play({ ...story, choices, signal, onWait }).then(summary, (error) => error.message);
  if (signal.aborted) return;
  say(end);
  await showPerson();
}

for (const button of buttons) button.addEventListener("click", () => tell(button));
find("clear").addEventListener("click", () => {
  running.abort(new Error("Cleared."));
  forgetStories();
  forgetName();
  say();
  showWho();
});

/** A link chooses and offers its story. It only runs a recording: a window needs a click to open. */
function followLink() {
  const { story, ...choices } = namedStory();
  const button = buttons.find(({ id }) => id === story);
  if (!button) return;
  choose(choices);
  if ("recorded" in document.documentElement.dataset) return tell(button);
  const run = element("button", [`Run “${button.firstElementChild.textContent}”`], "copy");
  run.addEventListener("click", () => tell(button));
  say("This link leads to a story. ", run);
}

showStories();
say(summary());
await Promise.all([watchChoices(showWho), showPerson()]);
addEventListener("hashchange", followLink);
if (toldStories()[0]?.link !== location.hash) await followLink();
