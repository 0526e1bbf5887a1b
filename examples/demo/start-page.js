// @ts-check
/** The page where a client, a way to sign in and an API are chosen; public/demo.mjs does the rest. */
const { html, page } = require("./page");

/** @typedef {readonly [value: string, text: string, note: string]} Choice */

/** @type {(legend: string, name: string, choices: readonly Choice[]) => import("./page").Html} */
function choose(legend, name, choices) {
  const radios = choices.map(([value, text, note], index) => {
    const checked = index === 0 ? html`checked` : "";
    return html`<label>
      <input type="radio" name="${name}" value="${value}" ${checked} /> ${text} <small>${note}</small>
    </label>`;
  });
  return html`<fieldset>
    <legend>${legend}</legend>
    ${radios}
  </fieldset>`;
}

/** @type {(legend: string, actions: Readonly<Record<string, string>>) => import("./page").Html} */
function buttons(legend, actions) {
  const all = Object.entries(actions).map(([id, text]) => html`<button data-action="${id}">${text}</button>`);
  return html`<h2>${legend}</h2>
    <p class="buttons">${all}</p>`;
}

const client = choose("Client", "clientId", [
  ["web", "Web Shop", "confidential"],
  ["portal", "Company Portal", "confidential, trusted: nobody is asked"],
  ["native", "Phone App", "public, native"],
  ["browser", "Browser App", "public, lives in this page"],
  ["machine", "Night Job", "confidential, no person involved"],
]);
const method = choose("People sign in with", "method", [
  ["password", "a password", "alice or bob, see the console"],
  ["otp", "a one-time code", "printed on the console"],
]);
const api = choose("API", "api", [
  ["orders", "Orders", "JWT, 10 minutes, default scope"],
  ["reports", "Reports", "opaque, 2 minutes, scope required, one-time code only"],
]);

const startPage = page({
  title: "authmount demo",
  script: "/demo.mjs",
  main: html`<p>
      Every valid pair of a way to sign in and an API is an authorization server of its own. Choose a pair and
      a client, run a flow, and read each HTTP step as it happened.
    </p>
    <p>Signed in: <strong id="person">nobody</strong>. <a href="/account">Account page</a></p>
    <form id="choices">
      ${[client, method, api]}
      <fieldset>
        <legend>Request</legend>
        <label>scope <input name="scope" autocomplete="off" spellcheck="false" /></label>
        <label>
          prompt
          <select name="prompt">
            <option value="">not sent</option>
            <option>none</option>
            <option>login</option>
            <option>consent</option>
          </select>
        </label>
        <label><input type="checkbox" name="pkce" checked /> with PKCE</label>
        <label><input type="checkbox" name="sendRedirectUri" checked /> with redirect_uri</label>
      </fieldset>
    </form>
    <p id="issuer" aria-live="polite"></p>
    ${buttons("Run", {
      start: "Get a token",
      call: "Call the API",
      change: "Order something",
      refresh: "Refresh",
      silentRefresh: "Refresh silently, in a hidden iframe",
      clientCredentials: "Client credentials",
    })}
    ${buttons("Provoke", {
      replayCode: "Replay the code",
      reuseRefreshToken: "Reuse the old refresh token",
      callOtherApi: "Take the token to the other API",
      startWithoutPkce: "Ask without PKCE",
      promptNoneSignedOut: "prompt=none while signed out",
    })}
    <p id="status" role="status"></p>
    ${buttons("What happened, newest first", { clear: "Clear" })}
    <ol id="steps"></ol>`,
});

module.exports = { startPage };
