/** Runs the actions of a story, one after the other. */
import { browserApp } from "./browser-app.mjs";
import { isIssuer } from "./choices.mjs";
import { addSteps, hasToken, wantsStepUp } from "./happened.mjs";
import { recordedFetch } from "./recorded-fetch.mjs";
import { delay, openWindow, visitInFrame, visitInWindow } from "./visit.mjs";

export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error("The demo does not know this page: reload it.");
  return response.json();
}

/** A client program that runs on the server. It takes the answer at its own redirect URI. */
const serverProgram = (clientId) => ({
  run: (action, choices) => post(`/programs/${clientId}/${action}`, choices),
  newRequest: async (choices) => ({
    url: (await post(`/programs/${clientId}/start`, choices)).url,
    take: () => undefined,
  }),
});

const fetchSteps = async () => addSteps(await post("/steps"));

/** Takes the browser through an authorization request, if there is an authorization server. */
async function start(program, { choices, noPage, signal, onWait }) {
  if (choices.clientId === "machine") return program.run("clientCredentials", choices);
  if (!(await isIssuer(choices))) return open(program, { choices });
  const { url, take } = await program.newRequest(choices);
  const isSilent = noPage || choices.prompt === "none";
  const how = { signal, onMoment: fetchSteps, onWait: (isOpen) => onWait(isOpen ? undefined : url) };
  await take(await (isSilent ? visitInFrame : visitInWindow)(url, how));
}

/** Sends the authorization request with fetch, because the answer is an error page without a way back. */
async function open(program, { choices }) {
  const { url } = await program.newRequest(choices);
  await recordedFetch({ by: "Browser", record: (step) => addSteps([step]), method: "GET", url });
}

/** The person opens the client's link, here in a window, and the client polls every five seconds. */
async function device(program, { choices, signal, onWait }) {
  const { url } = await program.run("askAsDevice", choices);
  if (!url) return;
  let { isWaiting } = await program.run("poll", choices);
  onWait(openWindow(url) ? undefined : url);
  for (let moment = 1; isWaiting; moment += 1) {
    await Promise.all([fetchSteps(), delay(500)]);
    signal.throwIfAborted();
    // the interval is five seconds, and the picture grows meanwhile
    if (moment % 11 === 0) ({ isWaiting } = await program.run("poll", choices));
  }
}

/** What the person or an administrator does at the host itself. It is no part of OAuth. */
async function changePerson(change) {
  const url = new URL(`/person/${change}`, location.href).href;
  await recordedFetch({ by: "Browser", record: (step) => addSteps([step]), method: "POST", url });
}

/** All other actions belong to a client program. */
const actions = {
  start,
  device,
  open,
  disable: () => changePerson("disable"),
  enable: () => changePerson("enable"),
  otherOrganization: () => changePerson("other-organization"),
  signOutEverywhere: () => changePerson("sign-out-everywhere"),
  askAgain: (program, story) => start(program, { ...story, noPage: true }),
  signOut: () => fetch("/signout", { method: "POST" }),
  silentRefresh: (program, { choices, ...story }) =>
    start(program, { ...story, choices: { ...choices, prompt: "none" } }),
  stepUp: (program, { choices, ...story }) =>
    start(program, { ...story, choices: { ...choices, stepUp: true } }),
  callOtherApi: (program, { choices }) =>
    program.run("call", { ...choices, api: choices.api === "orders" ? "reports" : "orders" }),
};

/** `onWait` is called when a window waits for the person, with its URL if the browser did not open it. */
export async function play(story) {
  const { choices, signal } = story;
  const program = choices.clientId === "browser" ? browserApp : serverProgram(choices.clientId);
  // what was recorded before this story, on the account page for example, is no part of it
  await post("/steps");
  for (const action of story.actions) {
    await (actions[action]?.(program, story) ?? program.run(action, choices));
    signal.throwIfAborted();
    await fetchSteps();
    if (["start", "device"].includes(action) && !hasToken()) return;
    if (action === "orderMuch" && !wantsStepUp()) return;
  }
}
