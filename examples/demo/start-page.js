// @ts-check
/** The page where you choose a client, a way to sign in and an API. public/demo.mjs does the rest. */
const { html, page } = require("./page");
const { failures, flow, furtherSteps } = require("./stories");

/** @typedef {readonly [value: string, text: string, note: string]} Choice */
/** @typedef {import("./page").Html} Html */

/** @type {(legend: string, name: string, choices: readonly Choice[]) => Html} */
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

/** @type {(stories: import("./stories").Stories) => Html} */
function buttons(stories) {
  const all = Object.entries(stories).map(
    ([name, { text, note, ...story }]) =>
      html`<li>
        <button id="${name}" data-story="${JSON.stringify(story)}" aria-describedby="${name}-note">
          ${text}
        </button>
        <small id="${name}-note">${note}</small>
      </li>`,
  );
  return html`<ul class="stories">
    ${all}
  </ul>`;
}

/** @type {(title: string, secrets: Readonly<Record<string, string>>) => Html} */
function secretList(title, secrets) {
  const rows = Object.entries(secrets).map(
    ([name, secret]) =>
      html`<dt>${name}</dt>
        <dd><code>${secret}</code></dd>`,
  );
  return html`<h2>${title}</h2>
    <dl>${rows}</dl>`;
}

const client = choose("Client", "clientId", [
  ["web", "Web Shop", "confidential"],
  ["portal", "Company Portal", "confidential, trusted: nobody is asked"],
  ["native", "Phone App", "public, native"],
  ["browser", "Browser App", "public, lives in this page"],
  ["machine", "Night Job", "confidential, a machine: no person involved"],
]);
const method = choose("People sign in with", "method", [
  ["password", "a password", "alice or bob, see below"],
  ["otp", "a one-time code", "printed on the console"],
]);
const api = choose("API", "api", [
  ["orders", "Orders", "JWT, 10 minutes, default scope"],
  ["reports", "Reports", "opaque, 2 minutes, scope required, only with a one-time code"],
]);
const request = html`<fieldset>
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
</fieldset>`;

/** @param {{ passwords: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>> }} known */
const startPage = ({ passwords, secrets }) =>
  page({
    title: "authmount demo",
    head: html`<link rel="stylesheet" href="/start-page.css" />
      <script type="module" src="/demo.mjs"></script>`,
    main: html`<p>
        Every valid pair of a way to sign in and an API is a separate authorization server. Choose a pair and
        a client, run the flow, and read each HTTP step as it happened.
      </p>
      <p class="notice">
        <strong>This is a demo, so it shows secrets:</strong> passwords, client secrets, codes and tokens, and
        the reasons that otherwise only the host's log contains. They are useless elsewhere. A real host shows
        none of them.
      </p>
      <details>
        <summary>Passwords and client secrets</summary>
        ${secretList("People", passwords)} ${secretList("Confidential clients", secrets)}
      </details>
      <p>Signed in: <strong id="person">nobody</strong>. <a href="/account">Account page</a></p>
      <noscript><p class="notice">This page needs JavaScript.</p></noscript>
      <h2>Choose</h2>
      <form id="choices">${[client, method, api, request]}</form>
      <p id="issuer" aria-live="polite"></p>
      <h2>Run</h2>
      ${buttons(flow)}
      <h3>Continue with the result</h3>
      ${buttons(furtherSteps)}
      <h2>Let it fail</h2>
      <p>Each runs as the client chosen above, or as another client if that one cannot.</p>
      ${buttons(failures)}
      <h2 id="happened" tabindex="-1">What happened</h2>
      <p id="status" role="status"></p>
      <figure id="picture" hidden></figure>
      <section id="token" hidden></section>
      <section id="story" hidden>
        <h3>Step by step</h3>
        <ol id="steps"></ol>
        <p><button id="clear">Clear</button></p>
      </section>`,
  });

module.exports = { startPage };
