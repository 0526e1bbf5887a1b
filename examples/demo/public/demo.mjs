/** The start page: reads the choices, does what the buttons say, shows the steps. */
import { browserApp } from "./browser-app.mjs";
import { addSteps, clearSteps } from "./steps.mjs";

const find = (id) => document.querySelector(`#${id}`);
const fields = find("choices").elements;
const names = ["clientId", "method", "api", "scope", "prompt", "pkce", "sendRedirectUri"];
const defaultScopes = { orders: "orders:read orders:write", reports: "reports:read" };

const readChoice = (name) => (fields[name].type === "checkbox" ? fields[name].checked : fields[name].value);
const readChoices = () => Object.fromEntries(names.map((name) => [name, readChoice(name)]));

/** The choices outlive the redirects of a flow. */
function restoreChoices() {
  const kept = JSON.parse(sessionStorage.getItem("choices") ?? "{}");
  for (const [name, value] of Object.entries({ scope: defaultScopes.orders, ...kept })) {
    if (fields[name].type === "checkbox") fields[name].checked = value;
    else fields[name].value = value;
  }
}

async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error("The demo knows nothing of this page: reload it.");
  return response.json();
}

/** A client program that runs on the server. */
const serverProgram = (clientId) => ({
  run: (action, choices) => post(`/programs/${clientId}/${action}`, choices),
  start: async (choices) => (await post(`/programs/${clientId}/start`, choices)).url,
  silentRefresh: () =>
    Promise.reject(new Error("Only a client that lives in a page refreshes in an iframe.")),
});

const issuerOf = ({ method, api }) => `${location.origin}/login/auth/${method}/api/${api}`;

/** The valid pairs are published per API. RFC 9728. */
async function isIssuer({ method, api }) {
  const metadata = await (await fetch(`/.well-known/oauth-protected-resource/api/${api}`)).json();
  return metadata.authorization_servers.includes(issuerOf({ method, api }));
}

/** Sends the browser to the authorization endpoint; where there is none, its answer is fetched from here. */
async function start(program, choices) {
  const url = await program.start(choices);
  if (!(await isIssuer(choices))) return fetch(url);
  location.assign(url);
  // the steps are for the page that comes after this one
  return new Promise(() => {});
}

const actions = {
  start: (program, choices) =>
    choices.clientId === "machine" ? program.run("clientCredentials", choices) : start(program, choices),
  startWithoutPkce: (program, choices) => start(program, { ...choices, pkce: false }),
  async promptNoneSignedOut(program, choices) {
    await fetch("/signout", { method: "POST" });
    await start(program, { ...choices, prompt: "none" });
  },
  silentRefresh: (program, choices) => program.silentRefresh(choices),
  callOtherApi: (program, choices) =>
    program.run("call", { ...choices, api: choices.api === "orders" ? "reports" : "orders" }),
  clear: () => clearSteps(),
};

async function showNewSteps() {
  find("person").textContent = (await post("/person")).subject ?? "nobody";
  addSteps(await post("/steps"));
}

/** Does something and shows the steps it took. */
async function attempt(work) {
  find("status").textContent = "";
  try {
    await work();
  } catch (error) {
    find("status").textContent = error.message;
  }
  await showNewSteps();
}

function act(action) {
  const choices = readChoices();
  const program = choices.clientId === "browser" ? browserApp : serverProgram(choices.clientId);
  return attempt(() => (actions[action] ? actions[action](program, choices) : program.run(action, choices)));
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
  sessionStorage.setItem("choices", JSON.stringify(readChoices()));
  return showIssuer();
}

async function main() {
  restoreChoices();
  find("choices").addEventListener("change", onChange);
  find("choices").addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-action]")) {
    button.addEventListener("click", () => act(button.dataset.action));
  }
  await Promise.all([showIssuer(), attempt(() => browserApp.finish())]);
}

// in the hidden iframe the answer belongs to the page around it
if (window.parent === window) await main();
else window.parent.postMessage(location.search, location.origin);
