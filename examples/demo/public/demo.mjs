/** The start page: reads the choices, runs what the buttons say, and shows the steps. */
import { browserApp } from "./browser-app.mjs";
import { recordedFetch } from "./recorded-fetch.mjs";
import { addSteps, clearSteps, hasToken, showSteps, summary } from "./steps.mjs";

const find = (id) => document.querySelector(`#${id}`);
const fields = find("choices").elements;
const names = ["clientId", "method", "api", "scope", "prompt", "pkce", "sendRedirectUri"];
const defaultScopes = { orders: "orders:read orders:write", reports: "reports:read" };

const readChoice = (name) => (fields[name].type === "checkbox" ? fields[name].checked : fields[name].value);
const readChoices = () => Object.fromEntries(names.map((name) => [name, readChoice(name)]));

function showChoices(choices) {
  for (const [name, value] of Object.entries(choices)) {
    if (fields[name].type === "checkbox") fields[name].checked = value;
    else fields[name].value = value;
  }
  sessionStorage.setItem("choices", JSON.stringify(readChoices()));
}

async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error("The demo does not know this page: reload it.");
  return response.json();
}

/** A client program that runs on the server. */
const serverProgram = (clientId) => ({
  run: (action, choices) => post(`/programs/${clientId}/${action}`, choices),
  requestUrl: async (choices) => (await post(`/programs/${clientId}/start`, choices)).url,
  silentRefresh: () =>
    Promise.reject(new Error("Only a client that lives in a page refreshes in an iframe.")),
});

const issuerOf = ({ method, api }) => `${location.origin}/login/auth/${method}/api/${api}`;

/** Each API publishes its valid pairs. RFC 9728. */
async function isIssuer({ method, api }) {
  const metadata = await (await fetch(`/.well-known/oauth-protected-resource/api/${api}`)).json();
  return metadata.authorization_servers.includes(issuerOf({ method, api }));
}

/** Sends the browser to the authorization endpoint, if there is one. */
async function start(program, choices) {
  if (choices.clientId === "machine") return program.run("clientCredentials", choices);
  if (!(await isIssuer(choices))) return open(program, choices);
  location.assign(await program.requestUrl(choices));
  // the rest happens in the page that is loaded next
  return new Promise(() => {});
}

/** Sends the authorization request with fetch, because the answer is an error page without a way back. */
async function open(program, choices) {
  const url = await program.requestUrl(choices);
  await recordedFetch({ by: "Browser", record: (step) => addSteps([step]), method: "GET", url });
}

/** All other actions belong to a client program. */
const actions = {
  start,
  open,
  signOut: () => fetch("/signout", { method: "POST" }),
  silentRefresh: (program, choices) => program.silentRefresh(choices),
  callOtherApi: (program, choices) =>
    program.run("call", { ...choices, api: choices.api === "orders" ? "reports" : "orders" }),
};

async function fetchSteps() {
  find("person").textContent = (await post("/person")).subject ?? "nobody";
  addSteps(await post("/steps"));
}

/** Runs one action after the other. The remaining actions are stored, so they outlive the redirects of a flow. */
async function play([action, ...rest], choices) {
  if (action === undefined) return;
  const program = choices.clientId === "browser" ? browserApp : serverProgram(choices.clientId);
  sessionStorage.setItem("rest", JSON.stringify([rest, choices]));
  await (actions[action]?.(program, choices) ?? program.run(action, choices));
  await fetchSteps();
  if (action !== "start" || hasToken()) await play(rest, choices);
}

/** Back from the authorization server: continues if the flow has brought a token. */
async function goOn() {
  const [rest, choices] = JSON.parse(sessionStorage.getItem("rest") ?? "[[]]");
  await browserApp.finish();
  await fetchSteps();
  if (rest.length > 0 && hasToken()) await play(rest, choices);
}

/** Runs something and shows its steps. */
async function attempt(work) {
  find("status").textContent = "";
  let problem;
  try {
    await work();
  } catch (error) {
    problem = error.message;
  }
  sessionStorage.removeItem("rest");
  showSteps();
  find("status").textContent = problem ?? summary();
}

/** The choices that a story runs with: another client or pair if the chosen one cannot run it. */
async function choicesFor({ clients, isNew, anyPair, choices }) {
  const chosen = { ...readChoices(), ...choices };
  if (clients && !clients.includes(chosen.clientId)) [chosen.clientId] = clients;
  // every API accepts people who sign in with a one-time code
  if (isNew && !anyPair && !(await isIssuer(chosen))) chosen.method = "otp";
  return chosen;
}

function lookAtEnd() {
  find("happened").focus({ preventScroll: true });
  find("happened").scrollIntoView();
}

async function tell(story) {
  const choices = await choicesFor(story);
  const { clientId, method, api } = choices;
  if (api !== readChoices().api) showChoices({ scope: defaultScopes[api] });
  showChoices({ clientId, method, api });
  await showIssuer();
  if (story.isNew) clearSteps();
  await attempt(() => play(story.actions, choices));
  lookAtEnd();
}

async function showIssuer() {
  const choices = readChoices();
  const verdict = (await isIssuer(choices))
    ? "Authorization server"
    : "Not a valid pair, so no authorization server";
  find("issuer").textContent = `${verdict}: ${issuerOf(choices)}`;
}

function onChange({ target }) {
  if (target.name === "api") fields.scope.value = defaultScopes[target.value];
  showChoices(readChoices());
  return showIssuer();
}

async function main() {
  showChoices({ scope: defaultScopes.orders, ...JSON.parse(sessionStorage.getItem("choices") ?? "{}") });
  find("choices").addEventListener("change", onChange);
  find("choices").addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-story]")) {
    button.addEventListener("click", () => tell(JSON.parse(button.dataset.story)));
  }
  find("clear").addEventListener("click", () => attempt(clearSteps));
  const isBack = sessionStorage.getItem("rest") !== null;
  await Promise.all([showIssuer(), attempt(goOn)]);
  if (isBack) lookAtEnd();
}

// in the hidden iframe, pass the answer to the page around it
if (window.parent === window) await main();
else window.parent.postMessage(location.search, location.origin);
