/** What is chosen at the left, and what a story makes of it. */
import { find } from "./dom.mjs";

const fields = find("choices").elements;
const names = ["clientId", "method", "api", "scope", "prompt", "pkce", "sendRedirectUri"];
const defaultScopes = { orders: "orders:read orders:write", reports: "reports:read" };

const readChoice = (name) => (fields[name].type === "checkbox" ? fields[name].checked : fields[name].value);
export const readChoices = () => Object.fromEntries(names.map((name) => [name, readChoice(name)]));

const radioOf = (name, value) => [...fields[name]].find((each) => each.value === value);
/** What the page calls the chosen client, way to sign in or API. */
export const labelOf = (name, value) => radioOf(name, value).parentElement.textContent.trim();

const issuerOf = ({ method, api }) => `${location.origin}/login/auth/${method}/api/${api}`;

/** Each API publishes its valid pairs. RFC 9728. */
export async function isIssuer({ method, api }) {
  const metadata = await (await fetch(`/.well-known/oauth-protected-resource/api/${api}`)).json();
  return metadata.authorization_servers.includes(issuerOf({ method, api }));
}

function showChoices(choices) {
  for (const [name, value] of Object.entries(choices)) {
    if (fields[name].type === "checkbox") fields[name].checked = value;
    else fields[name].value = value;
  }
}

/** Says what the choices mean, and remembers them. */
async function explainChoices() {
  const choices = readChoices();
  sessionStorage.setItem("choices", JSON.stringify(choices));
  for (const name of ["clientId", "method", "api"]) {
    find(`${name}-note`).textContent = radioOf(name, choices[name]).dataset.note;
  }
  if (choices.clientId === "machine")
    find("method-note").textContent = "Nobody signs in; it only names the server.";
  const isValid = await isIssuer(choices);
  find("issuer").className = isValid ? "note" : "note bad";
  find("issuer").textContent = isValid
    ? `Authorization server: ${new URL(issuerOf(choices)).pathname}`
    : `${labelOf("api", choices.api)} does not accept ${labelOf("method", choices.method)}: not a valid pair.`;
}

/** Chooses what there is of a link's choices. */
export function choose(choices) {
  for (const name of ["clientId", "method", "api"]) radioOf(name, choices[name])?.click();
}

/** Calls `onChange` now and whenever something else was chosen. */
export async function watchChoices(onChange) {
  showChoices({ scope: defaultScopes.orders, ...JSON.parse(sessionStorage.getItem("choices") ?? "{}") });
  find("choices").addEventListener("submit", (event) => event.preventDefault());
  find("choices").addEventListener("change", ({ target }) => {
    if (target.name === "api") fields.scope.value = defaultScopes[target.value];
    onChange();
    return explainChoices();
  });
  onChange();
  await explainChoices();
}

/** Why a story cannot go on from the latest one; `undefined` if it can. */
export function whyNot({ isNew, clients, apis, because }, latest) {
  if (isNew) return undefined;
  if (!latest) return "Run the flow first: this continues with its token.";
  const { clientId, api } = latest.choices;
  if (clients && !clients.includes(clientId))
    return `Not for the ${labelOf("clientId", clientId)}. ${because}`;
  if (apis && !apis.includes(api)) return `Not at ${labelOf("api", api)}. ${because}`;
  return undefined;
}

/** The choices that a new story runs with, and what to say if they are not the person's own. */
export async function choicesFor({ clients, anyPair, because, choices }) {
  const chosen = readChoices();
  const used = { ...chosen, ...choices };
  const said = [];
  if (used.api !== chosen.api && !choices?.scope) used.scope = defaultScopes[used.api];
  if (clients && !clients.includes(chosen.clientId)) {
    [used.clientId] = clients;
    const [own, other] = [chosen, used].map(({ clientId }) => labelOf("clientId", clientId));
    said.push(`${because} So this story runs with ${other}. Your choice is still ${own}.`);
  }
  // every API accepts people who sign in with a one-time code
  if (!anyPair && !(await isIssuer(used))) {
    used.method = "otp";
    const [own, name] = [labelOf("method", chosen.method), labelOf("api", used.api)];
    said.push(`${name} needs a one-time code, so this story signs in with one. Your choice is still ${own}.`);
  }
  return { choices: used, said: said.join(" ") };
}
