// @ts-check
/** The playground: choices and stories at the left, what happened at the right. public/demo.mjs does the rest. */
const { html, page, wholePage } = require("./page");
const { groups } = require("./stories");

/** @typedef {readonly [value: string, text: string, note: string]} Choice */
/** @typedef {import("./page").Html} Html */

/** Radio buttons, with a note about the chosen one. @type {(legend: string, name: string, choices: readonly Choice[]) => Html} */
function choose(legend, name, choices) {
  const radios = choices.map(([value, text, note], index) => {
    const checked = index === 0 ? html`checked` : "";
    return html`<label class="pill">
      <input type="radio" name="${name}" value="${value}" data-note="${note}" ${checked} />${text}
    </label>`;
  });
  return html`<fieldset>
    <legend>${legend}</legend>
    ${radios}
    <p class="note" id="${name}-note"></p>
  </fieldset>`;
}

/** @type {(entry: [string, import("./stories").Story]) => Html} */
function storyButton([name, { text, note, outcome, ...story }]) {
  return html`<li>
    <button id="${name}" data-story="${JSON.stringify(story)}" aria-describedby="${name}-note">
      <span>${text}</span>${outcome && html`<code>${outcome}</code>`}
    </button>
    <p class="note" id="${name}-note">${note}</p>
  </li>`;
}

/** @type {(group: import("./types").StoryGroup) => Html} */
const storyGroup = ({ name, title, stories }) =>
  html`<section class="stories ${name}" aria-labelledby="${name}-title">
    <h2 id="${name}-title">${title}</h2>
    <p class="as" id="${name}-as"></p>
    <ul>
      ${Object.entries(stories).map(storyButton)}
    </ul>
  </section>`;

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
  ["web", "Web Shop", "Confidential: it runs on a server and has a secret."],
  ["portal", "Company Portal", "Confidential and trusted: nobody is asked for consent."],
  ["native", "Phone App", "Public: it has no secret, so PKCE protects its code."],
  ["browser", "Browser App", "Public: it lives in this page and gets no refresh token."],
  ["machine", "Night Job", "Confidential, a machine: no person is involved."],
]);
const method = choose("People sign in with", "method", [
  ["password", "Password", "alice: down the rabbit hole"],
  ["otp", "One-time code", "Printed on the console."],
]);
const api = choose("API", "api", [
  ["orders", "Orders", "JWT, 10 minutes, has a default scope."],
  ["reports", "Reports", "Opaque, 2 minutes, needs a one-time code."],
]);
const request = html`<details id="request">
  <summary>Authorization request</summary>
  <fieldset>
    <legend>Parameters</legend>
    <label class="field">scope <input name="scope" autocomplete="off" spellcheck="false" /></label>
    <label class="field">
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
</details>`;

/** @param {{ passwords: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>> }} known */
const topBar = ({ passwords, secrets }) =>
  html`<header class="bar">
    <h1>OAuth playground</h1>
    <p class="tagline">Run a flow, watch each message, let it fail.</p>
    <details id="secrets">
      <summary>Passwords and client secrets</summary>
      <div class="sheet">
        <p>
          <strong>This is a demo, so it shows secrets:</strong> passwords, client secrets, codes and tokens,
          and the reasons that otherwise only the host's log contains. They are useless elsewhere. A real host
          shows none of them.
        </p>
        ${secretList("People", passwords)} ${secretList("Confidential clients", secrets)}
      </div>
    </details>
    <p class="person">Signed in: <strong id="person">nobody</strong></p>
    <a href="/account">Account page</a>
  </header>`;

const happened = html`<section class="happened" aria-labelledby="happened">
  <div class="report">
    <h2 id="happened" tabindex="-1">What happened</h2>
    <p id="status" role="status"></p>
    <button id="clear" hidden>Clear</button>
  </div>
  <div id="lanes" class="lanes"></div>
  <div id="intro">
    <p>
      Four parties take part. <strong>Run the flow</strong>, and each message appears here as it is sent. What a
      message carries has a colour of its own:
    </p>
    <dl id="legend"></dl>
  </div>
  <div id="told"></div>
  <section id="token" hidden></section>
</section>`;

/** @param {{ passwords: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>> }} known */
const startPage = (known) =>
  wholePage({
    title: "OAuth playground: authmount",
    head: html`<link rel="stylesheet" href="/playground.css" />
      <link rel="stylesheet" href="/sequence.css" />
      <script type="module" src="/demo.mjs"></script>`,
    body: html`${topBar(known)}
      <main class="bench">
        <div class="controls">
          <noscript><p class="notice">This page needs JavaScript.</p></noscript>
          <form id="choices">
            ${[client, method, api]}
            <p id="issuer" class="note" aria-live="polite"></p>
            ${request}
          </form>
          ${groups.map(storyGroup)}
        </div>
        ${happened}
      </main>`,
  });

/** Where a window or a hidden iframe ends. It tells the playground and closes itself. */
const backPage = page({
  title: "Back at the client",
  head: html`<script type="module" src="/back.mjs"></script>`,
  main: html`<p>You can close this window, or go back to the <a href="/">playground</a>.</p>`,
});

module.exports = { backPage, startPage };
